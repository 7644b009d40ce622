"""How fast the audit log writes and verifies, and what it takes on disk and in memory.

    python -m benchmarks.audit --records 200000 --json benchmarks/results/audit.json

Pools of 100 candidates from one catalogue with 32-dimensional vectors, slates of 10, scores and widths of full entropy, as a replay
log. Selecting is timed on the same slates with the same number of threads. ``raw floats``: the bytes of all float64 values in the
records' lists. Peak memory is that of a fresh process that does nothing but verify; ``slateproof verify`` is run in a terminal of
its own as well, where it must draw its progress bar.

``other_kinds``: small logs of what goes other roads: pools of 50 to 150 candidates with text ids, which have no common shape; pools
with vectors of their own, of which a log holds the similarities that were asked for; records with certificates and SCPO, which are
checked record by record.

Wall-clock rates need a quiet machine. ``..._cpu_us`` is processor time per record over all threads, which a busy machine disturbs
less; ``verify_over_select_cpu`` compares by it.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.audit import AuditLog, verify_log
from slateproof.certify import certify
from slateproof.select import GreedySelector, WindowSelector
from slateproof.types import Catalog, Levers, Pool, State, unit
from slateproof.types.poolbatch import PoolBatch

CANDIDATES, ITEMS, SIZE, BLOCK = 100, 10_000, 10, 20_000
KEY = bytes(range(32))


def pools(count: int, seed: int) -> PoolBatch:
    """``count`` pools of different items of one catalogue."""
    rng = np.random.default_rng(seed)
    facts = np.random.default_rng(0)
    catalog = Catalog(range(ITEMS), facts.random(ITEMS), vectors=unit(facts.normal(size=(ITEMS, 32))))
    step = ITEMS // CANDIDATES
    ids = np.arange(CANDIDATES) * step + rng.integers(0, step, (count, CANDIDATES))
    offsets = pa.array(np.arange(count + 1) * CANDIDATES, pa.int32())
    columns = {"ids": ids, "scores": rng.normal(size=ids.shape), "widths": rng.random(ids.shape)}
    lists = {name: pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1))) for name, values in columns.items()}
    return PoolBatch.from_arrow(pa.table(lists), catalog)


def timed(task: Any) -> tuple[Any, float, float]:
    """(result, seconds, processor seconds)."""
    wall, processor = time.perf_counter(), time.process_time()
    result = task()
    return result, time.perf_counter() - wall, time.process_time() - processor


def write(folder: Path, records: int) -> dict[str, Any]:
    """Select and write ``records`` slates; rates of both."""
    selector, levers, state = GreedySelector(), Levers(0.1, 0.3, 0.3, SIZE), State(shown=tuple(range(0, 400, 20)))
    batch = pools(BLOCK, 1)
    selector.select_batch(batch, levers, state)
    select = [0.0, 0.0]
    spent = [0.0, 0.0]
    with AuditLog.create(folder, key=KEY) as log:
        log.append_batch(selector.select_batch(batch, levers, state))
        log.commit()
        done = BLOCK
        while done < records:
            slates, *took = timed(lambda: selector.select_batch(batch, levers, state, trace=False))
            select = [a + b for a, b in zip(select, took, strict=True)]
            size = done

            def store(slates: Any = slates, first: int = size) -> None:
                log.append_batch(slates, round_ids=range(first, first + BLOCK))
                log.commit()

            _, *took = timed(store)
            spent = [a + b for a, b in zip(spent, took, strict=True)]
            done += BLOCK
        written = done - BLOCK
        floats = 8 * (3 * CANDIDATES + 5 * SIZE)
        size_on_disk = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        return {
            "records": done,
            "select_per_second": round(written / select[0]),
            "select_cpu_us": round(1e6 * select[1] / written, 2),
            "write_per_second": round(written / spent[0]),
            "write_cpu_us": round(1e6 * spent[1] / written, 2),
            "bytes_per_record": round(size_on_disk / done, 1),
            "raw_float_bytes_per_record": floats,
            "disk_over_raw_floats": round(size_on_disk / done / floats, 3),
        }


def mixed(count: int) -> PoolBatch:
    """Pools of 50 to 150 items of a catalogue with text ids."""
    rng = np.random.default_rng(3)
    names = [f"item {i}" for i in range(ITEMS)]
    catalog = Catalog(names, rng.random(ITEMS), vectors=unit(rng.normal(size=(ITEMS, 32))))
    sizes = rng.integers(50, 151, count)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    ids = pa.array([names[i] for size in sizes.tolist() for i in rng.choice(ITEMS, size, replace=False).tolist()])
    columns = {"ids": ids, **{name: pa.array(rng.random(len(ids))) for name in ("scores", "widths")}}
    return PoolBatch.from_arrow(pa.table({n: pa.ListArray.from_arrays(offsets, v) for n, v in columns.items()}), catalog)


def own_vectors(count: int) -> PoolBatch:
    """Pools of 100 items that no catalogue knows."""
    rng = np.random.default_rng(4)
    shape = (CANDIDATES,)
    return PoolBatch.of(
        [Pool(range(CANDIDATES), rng.normal(size=shape), rng.random(shape), None, vectors=unit(rng.normal(size=(CANDIDATES, 32))))
         for _ in range(count)]
    )  # fmt: skip


def other_kinds(folder: Path) -> dict[str, Any]:
    """Rates of selecting, writing and verifying, per kind of record."""
    levers, state = Levers(0.1, 0.3, 0.3, SIZE), State(shown=tuple(range(0, 400, 20)))
    greedy, sets = GreedySelector(), WindowSelector(window=0.9)
    cases = {
        "mixed_sizes": (greedy, mixed(10_000), False),
        "own_vectors": (greedy, own_vectors(4000), False),
        "certificates": (greedy, pools(3000, 2), True),
        "scpo": (sets, pools(500, 2), False),
    }
    out: dict[str, Any] = {}
    for name, (selector, batch, certified) in cases.items():
        selector.select_batch(batch, levers, state)
        slates, chosen, _ = timed(lambda s=selector, b=batch: s.select_batch(b, levers, state))
        given = [(slate, certify(slate)) for slate in slates] if certified else []
        with AuditLog.create(folder / name, key=KEY) as log:

            def store(log: AuditLog = log, slates: Any = slates, given: Any = given) -> None:
                for slate, certificate in given:
                    log.append(slate, certificate=certificate)
                if not given:
                    log.append_batch(slates)
                log.commit()

            _, written, _ = timed(store)
        checked = verify(folder / name)
        rates = {"select_per_second": chosen, "write_per_second": written}
        out[name] = {what: round(len(batch) / seconds) for what, seconds in rates.items()}
        out[name] |= {what: checked[what] for what in ("verify_per_second", "verify_cpu_us")}
    return out


def verify(folder: Path) -> dict[str, Any]:
    """Verify in this process; its rate and peak memory."""
    report, seconds, processor = timed(lambda: verify_log(folder))
    assert report.ok, report.to_text()
    return {
        "verify_per_second": round(report.size / seconds),
        "verify_cpu_us": round(1e6 * processor / report.size, 2),
        "verify_peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def in_a_terminal(folder: Path) -> dict[str, Any]:
    """``slateproof verify`` as a person runs it: its peak memory, and how many states of the progress bar were seen."""
    ours, theirs = pty.openpty()
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", "from slateproof.cli import main; main()", "verify", str(folder)], stdout=theirs, stderr=theirs
    ) as child:
        os.close(theirs)
        drawn = bytearray()
        try:
            while part := os.read(ours, 1 << 16):
                drawn += part
        except OSError:  # how a terminal says that its last user is gone
            pass
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    os.close(ours)
    assert child.returncode == 0, drawn.decode()
    return {
        "command_seconds": round(time.perf_counter() - started, 1),
        "command_peak_megabytes": round(used.ru_maxrss / 1024),
        "progress_bar_states": len(set(re.findall(rb"[\d,]+ */ *[\d,]+|\d+ ?%", drawn))),
    }


def main() -> None:
    """Write, then verify in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verify", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.verify is not None:
        print(json.dumps(verify(options.verify)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "log"
        result: dict[str, Any] = {"command": f"python -m benchmarks.audit --records {options.records}", "cores": os.cpu_count()}
        result |= write(folder, options.records)
        command = [sys.executable, "-m", "benchmarks.audit", "--verify", str(folder)]
        result |= json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        result |= in_a_terminal(folder)
        result["other_kinds"] = other_kinds(Path(scratch))
    result["verify_over_select_cpu"] = round(result["select_cpu_us"] / result["verify_cpu_us"], 3)
    result["verify_over_select"] = round(result["verify_per_second"] / result["select_per_second"], 3)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
