"""Attacks on the audit log: single-bit flips anywhere in its files, and SIGKILL at random moments under load.

    python -m benchmarks.attack --flips 1000 --kills 100 --json benchmarks/results/attack.json

A flip passes when ``verify`` reports it, or when every record and the last checkpoint read exactly as before. A kill passes when
everything that was acknowledged is there, the log verifies against the last acknowledged checkpoint, and a writer resumes.
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

import numpy as np
import pyarrow as pa

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


def contents(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Every record and the last checkpoint, as readers get them."""
    log = AuditLog.open(folder)
    rows = pa.Table.from_batches(list(log.store.batches())).to_pylist()
    return [{name: repr(value) for name, value in row.items()} for row in rows], str(log.checkpoint)


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
        original, copy = Path(scratch) / "log", Path(scratch) / "copy"
        checkpoint = write(original, records, 4)
        wanted = contents(original)
        for _ in range(count):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(original, copy)
            path, place, bit = flip_one(copy, rng)
            report = verify_log(copy, checkpoint, key)
            if report.ok:
                verdict = "without effect" if _same(copy, wanted) else "UNDETECTED"
            else:
                verdict = "could not be checked" if report.failure else "detected"
            outcome[verdict] += 1
            by_file[f"{path.parent.name}/*{path.suffix}: {verdict}"] += 1
            if verdict == "UNDETECTED":
                failures.append({"file": str(path.relative_to(copy)), "byte": place, "bit": bit})
    return {"flips": count, "outcome": dict(outcome), "by_file": dict(sorted(by_file.items())), "undetected": failures}


def _same(folder: Path, wanted: tuple[list[dict[str, Any]], str]) -> bool:
    try:
        return contents(folder) == wanted
    except LogError:
        return False


def work(folder: Path) -> None:
    """The victim: append and commit without end, saying what was acknowledged."""
    log = AuditLog.open(folder, key=KEY)
    made = slates(32, len(log))
    log.append(made[0])
    log.commit()
    print("ready", flush=True)
    while True:
        log.append_batch(made[: 1 + len(log) % 32], round_ids=range(1 + len(log) % 32))
        print(json.dumps(str(log.commit())), flush=True)


def kill_once(folder: Path, delay: float) -> tuple[Checkpoint | None, int]:
    """Start a writer, kill it ``delay`` seconds after its first sign of life; the last acknowledged checkpoint, and how many."""
    command = [sys.executable, "-m", "benchmarks.attack", "--work", str(folder)]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, text=True) as victim:
        assert victim.stdout is not None
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
        for turn in range(count):
            acknowledged, number = kill_once(folder, rng.uniform(0.0, 0.5))
            commits += number
            last = acknowledged or last
            report = verify_log(folder, last, key)
            if not report.ok or (last is not None and report.size < last.size):
                failures.append({"turn": turn, "report": report.to_dict()})
            size = report.size
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
