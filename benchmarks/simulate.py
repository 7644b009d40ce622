"""How long the closed loop takes, and where the time goes: ``python -m benchmarks.simulate [--json FILE] [--data FOLDER]``.

``--page`` measures nothing: it writes the committed results into docs/simulator.md, between its marks.

Two measurements, each in a process of its own so that peak memory and compilation are theirs:

1. one: 256 sessions x 20 rounds of Adaptive, two-tower updates included; the first run compiles, the next ones are timed.
2. all: all eleven modes, 4 response models x 4 profiles x 16 copies, T = 20, on OULAD and on the EdNet surrogate; learners are
   fitted once before (timed apart), everything else is in the clock: playing, metrics, bootstraps, Parquet.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.marks import DOCS, put, read
from benchmarks.simulate_page import made as page_parts
from benchmarks.timing import machine
from slateproof.experiments.signature import code_version

CORPORA = (("oulad", "oulad"), ("ednet-surrogate", "ednet"))
REPEATS = 5


def setting(name: str, preset: str, data: str, folder: Path, modes: list[str] | None) -> tuple[Any, dict[str, float]]:
    """A prepared run, and how long loading, calibrating and fitting took."""
    from slateproof.simulate import prepare
    from slateproof.simulate.config import read_config

    chosen = {} if modes is None else {"modes": modes, "reference": modes[0]}
    config = read_config({"preset": preset, "corpus": {"name": name, "data": data}, **chosen})
    wall, cpu = time.perf_counter(), time.process_time()
    made = prepare(config, folder)
    return made, {"fitting_wall": time.perf_counter() - wall, "fitting_cpu": time.process_time() - cpu}


def peak() -> int:
    """Peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def one(name: str, preset: str, data: str) -> dict[str, Any]:
    """Adaptive, again and again."""
    from slateproof.simulate import Stopwatch, mode

    with tempfile.TemporaryDirectory() as folder:
        made, _ = setting(name, preset, data, Path(folder) / "out", ["adaptive"])
    runs = []
    for _ in range(REPEATS + 1):
        clock, wall, cpu = Stopwatch(), time.perf_counter(), time.process_time()
        made.play(mode("adaptive"), clock=clock)
        runs.append({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "parts": clock.seconds})
    parts = {part: statistics.median(run["parts"][part] for run in runs[1:]) for part in runs[0]["parts"]}
    return {
        "corpus": made.corpus.label,
        "sessions": len(made.plan.sessions),
        "rounds": made.plan.rounds,
        "first_run_with_compilation": runs[0]["wall"],
        "median_wall": statistics.median(run["wall"] for run in runs[1:]),
        "median_cpu": statistics.median(run["cpu"] for run in runs[1:]),
        "parts": parts,
        "peak_mib": peak(),
    }


def every(name: str, preset: str, data: str) -> dict[str, Any]:
    """All eleven modes, and their report."""
    from slateproof.simulate import play_all

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        made, fitting = setting(name, preset, data, out, None)
        wall, cpu = time.perf_counter(), time.process_time()
        report = play_all(made, out)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    scpo = next(m for m in report.modes if m.mode == "adaptive-scpo")
    return {
        "corpus": report.corpus,
        "manifest": report.digest,
        "sessions": len(report.sessions),
        "rounds": report.rounds,
        **fitting,
        "wall": wall,
        "cpu": cpu,
        "playing": sum(sum(parts.values()) for parts in report.seconds.values()),
        "seconds": report.seconds,
        "peak_mib": peak(),
        "scpo": {"accepted": asdict(scpo.accepted), "shown": asdict(scpo.shown)},
        "window_rate": {
            m.mode: {"accepted": m.means["accepted_window_rate"], "shown": m.means["window_rate"]} for m in report.modes
        },
    }


def processor() -> str | None:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def drift_summary() -> dict[str, Any]:
    """What the committed run of `drift` counted."""
    found: dict[str, Any] = json.loads((DOCS.parent / "results" / "drift.json").read_text(encoding="utf-8"))["summary"]
    return found


def apart(what: str, name: str, preset: str, data: str) -> dict[str, Any]:
    """One measurement in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.simulate", "--part", what, "--corpus", name, "--preset", preset, "--data", data]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--part", choices=["one", "every"])
    parser.add_argument("--corpus")
    parser.add_argument("--preset")
    asked = parser.parse_args()
    if asked.page:
        put(DOCS / "simulator.md", page_parts(read("simulate"), drift_summary()))
        return
    if asked.part:
        print(json.dumps({"one": one, "every": every}[asked.part](asked.corpus, asked.preset, asked.data)))
        return
    result: dict[str, Any] = {"machine": machine() | {"processor": processor()}, "code": code_version(__name__)}
    result |= {"adaptive": [], "all_modes": []}
    for name, preset in CORPORA:
        result["adaptive"].append(apart("one", name, preset, asked.data))
        print(json.dumps(result["adaptive"][-1], indent=1))
        result["all_modes"].append(apart("every", name, preset, asked.data))
        print(json.dumps(result["all_modes"][-1], indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
