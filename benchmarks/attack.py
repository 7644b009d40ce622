"""Attacks on the audit log: single-bit flips anywhere in its files, and SIGKILL at random moments under load.

    python -m benchmarks.attack --flips 1000 --kills 100 --json benchmarks/results/attack.json

A flip passes when ``verify`` reports it, or when every record and the last checkpoint read exactly as before, through the library
and through DuckDB and Polars, which skip what statistics rule out, with a filter for every text of every text column (a reader
that refuses a file is counted by itself). One flip in ten hits a log of more than a hundred commits, with Delta's snapshot of its
own log. A kill passes when everything that was acknowledged is there, the log verifies against the last acknowledged checkpoint,
and a writer resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from deltalake.exceptions import DeltaError

from slateproof.audit import AuditLog, Checkpoint, LogError, PublicKey, verify_log
from slateproof.audit.keys import private_key
from slateproof.select import GreedySelector
from slateproof.types import Catalog, Levers, Pool, Slate, State, unit

KEY = bytes(range(32))


def slates(count: int, seed: int, candidates: int = 20) -> list[Slate]:
    """Slates of catalogue pools and of pools with their own similarities, in turn."""
    rng = np.random.default_rng(seed)
    size = 200
    catalog = Catalog(range(size), np.linspace(0.0, 1.0, size), vectors=unit(np.random.default_rng(1).normal(size=(size, 8))))
    out = []
    for place in range(count):
        scores, widths = rng.normal(size=candidates), rng.random(candidates)
        if place % 4 == 3:
            names = [f"item {i}" for i in range(candidates)]
            pool = Pool(names, scores, rng.random(candidates), widths, vectors=unit(rng.normal(size=(candidates, 4))))
        else:
            pool = catalog.pool(rng.choice(size, candidates, replace=False), scores, widths)
        out.append(GreedySelector().select(pool, Levers(0.1, 0.3, 0.3, 5), State(shown=(3, 7))))
    return out


def write(folder: Path, records: int, commits: int) -> Checkpoint:
    """A log to attack; returns its last checkpoint."""
    with AuditLog.create(folder, key=KEY) as log:
        for part in np.array_split(np.arange(records), commits):
            log.append_batch(slates(len(part), int(part[0])), subjects=part.tolist())
            checkpoint = log.commit()
    return checkpoint


def contents(folder: Path, texts: dict[str, list[str]] | None = None) -> tuple[Any, ...]:
    """Every record and the last checkpoint, as readers get them; ``texts`` says what others are asked for (None: what is there)."""
    log = AuditLog.open(folder)
    table = pa.Table.from_batches(list(log.store.batches()))
    asked = texts_of(table) if texts is None else texts
    rows = [{name: repr(value) for name, value in row.items()} for row in table.to_pylist()]
    return rows, str(log.checkpoint), asked, through_duckdb(log.store.uris(), asked), through_polars(folder, asked)


def texts_of(table: pa.Table) -> dict[str, list[str]]:
    """The different values of every text column."""
    names = [field.name for field in table.schema if field.type == pa.string()]
    return {name: sorted(table[name].drop_null().unique().to_pylist()) for name in names}


def through_duckdb(files: list[str], asked: dict[str, list[str]]) -> list[Any]:
    """Which records DuckDB finds for every text, and the numbers of all."""
    with duckdb.connect() as base:
        out: list[Any] = base.execute("select index, knowledge, scores from read_parquet(?) order by index", [files]).fetchall()
        for name, values in asked.items():
            for value in values:
                query = f"select index from read_parquet(?) where {name} = ? order by index"
                out.append((name, value, base.execute(query, [files, value]).fetchall()))
    return [repr(value) for value in out]


def through_polars(folder: Path, asked: dict[str, list[str]]) -> list[Any]:
    """The same through Polars, which follows the Delta log; all questions at once."""
    table = pl.scan_delta(str(folder))
    questions = [table.filter(pl.col(name) == value).select("index") for name, values in asked.items() for value in values]
    found = pl.collect_all([table.select("index", "knowledge", "scores"), *questions])
    return [repr(sorted(map(repr, frame.rows()))) for frame in found]


def flip_one(folder: Path, rng: random.Random) -> tuple[Path, int, int]:
    """Flip one random bit of one random file, files weighted by size."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path = rng.choices(files, [file.stat().st_size for file in files])[0]
    place, bit = rng.randrange(path.stat().st_size), rng.randrange(8)
    blob = bytearray(path.read_bytes())
    blob[place] ^= 1 << bit
    path.write_bytes(blob)
    return path, place, bit


def flips(count: int, seed: int = 0, records: int = 24) -> dict[str, Any]:
    """Flip ``count`` bits, one at a time in a fresh copy; count what verify said."""
    rng = random.Random(seed)
    key = PublicKey.of(private_key(KEY))
    outcome: Counter[str] = Counter()
    by_file: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        originals, copy = (Path(scratch) / "log", Path(scratch) / "long"), Path(scratch) / "copy"
        checkpoints = write(originals[0], records, 4), write(originals[1], LONG, LONG)
        wanted = [contents(original) for original in originals]
        for turn in range(count):
            which = int(turn % 10 == 9)
            checkpoint = checkpoints[which]
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(originals[which], copy)
            path, place, bit = flip_one(copy, rng)
            report = verify_log(copy, checkpoint, key)
            said = "could not be checked" if report.failure else "detected"
            verdict = _effect(copy, wanted[which]) if report.ok else said
            outcome[verdict] += 1
            by_file[f"{path.parent.name}/*{path.suffix}: {verdict}"] += 1
            if verdict == "UNDETECTED":
                failures.append({"file": str(path.relative_to(copy)), "byte": place, "bit": bit})
    return {"flips": count, "outcome": dict(outcome), "by_file": dict(sorted(by_file.items())), "undetected": failures}


LONG = 103
"""Commits of the log that Delta has summed up once."""


_REFUSALS = (LogError, duckdb.Error, DeltaError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def _effect(folder: Path, wanted: tuple[Any, ...]) -> str:
    """What became of a flip that verification let pass: do readers get what they got before? One that refuses is not deceived."""
    log = AuditLog.open(folder)
    if log.store.without_snapshot:
        # Polars needs the snapshot that is damaged; a writer mends it, and then it must read as before.
        with AuditLog.open(folder, key=KEY) as writer:
            writer.compact(1)
    try:
        return "without effect" if contents(folder, wanted[2]) == wanted else "UNDETECTED"
    except _REFUSALS as why:
        print(f"refused: {type(why).__module__}.{type(why).__name__}: {str(why)[:100]!r}", file=sys.stderr)
        return "without effect on records, and another reader refuses"


def work(folder: Path) -> None:
    """The victim: when it is told to, append and commit without end, saying what was acknowledged."""
    print("loaded", flush=True)
    sys.stdin.readline()
    log = AuditLog.open(folder, key=KEY)
    made = slates(32, len(log))
    log.append(made[0])
    log.commit()
    print("ready", flush=True)
    while True:
        log.append_batch(made[: 1 + len(log) % 32], round_ids=range(1 + len(log) % 32))
        print(json.dumps(str(log.commit())), flush=True)


def start(folder: Path) -> subprocess.Popen[str]:
    """A writer that loads what it needs, and waits."""
    command = [sys.executable, "-m", "benchmarks.attack", "--work", str(folder)]
    root = Path(__file__).resolve().parents[1]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True)


def kill_once(victim: subprocess.Popen[str], delay: float) -> tuple[Checkpoint | None, int]:
    """Let a writer go, kill it ``delay`` seconds after its first sign of life; the last acknowledged checkpoint, and how many."""
    with victim:
        assert victim.stdin is not None
        assert victim.stdout is not None
        assert victim.stdout.readline().strip() == "loaded"
        victim.stdin.write("go\n")
        victim.stdin.flush()
        assert victim.stdout.readline().strip() == "ready"
        time.sleep(delay)
        os.kill(victim.pid, signal.SIGKILL)
        lines = victim.stdout.read().split("\n")
    acknowledged = [line for line in lines[:-1] if line]
    return (Checkpoint.parse(json.loads(acknowledged[-1])) if acknowledged else None), len(acknowledged)


def kills(count: int, seed: int = 0) -> dict[str, Any]:
    """Kill ``count`` writers of one log at random moments; check the log after each."""
    rng = random.Random(seed)
    key = PublicKey.of(private_key(KEY))
    failures: list[Any] = []
    commits, size, last = 0, 0, None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "log"
        write(folder, 4, 1)
        waiting = start(folder)
        for turn in range(count):
            # The next one loads while this one works.
            victim, waiting = waiting, start(folder)
            acknowledged, number = kill_once(victim, rng.uniform(0.0, 0.5))
            commits += number
            last = acknowledged or last
            report = verify_log(folder, last, key)
            if not report.ok or (last is not None and report.size < last.size):
                failures.append({"turn": turn, "report": report.to_dict()})
            size = report.size
        waiting.kill()
        waiting.communicate()
    return {"kills": count, "acknowledged_commits": commits, "records": size, "failures": failures}


def main() -> int:
    """Run both attacks; exit 1 when one of them got through."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work)
    started = time.perf_counter()
    result: dict[str, Any] = {"command": f"python -m benchmarks.attack --flips {options.flips} --kills {options.kills}"}
    result |= {"seed": options.seed, "bit_flips": flips(options.flips, options.seed), "sigkill": kills(options.kills, options.seed)}
    result["seconds"] = round(time.perf_counter() - started, 1)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    return int(bool(result["bit_flips"]["undetected"] or result["sigkill"]["failures"]))


if __name__ == "__main__":
    sys.exit(main())
