"""Two-tower speed on OULAD: the warm start, and online updates of 256 sessions over 20 rounds. Half a minute on two idle cores.

    python -m benchmarks.online_updates --data ../shared/data

Targets: a warm start under 60 s, 20 rounds of updates under 3 s once compiled. The first warm start is measured from the import of
JAX on, compiling included; the second one, in the same process, must write the same model file, byte for byte. A round shows every
session eight items, the most of the preset; feedback is drawn at random, which no timing depends on. Writes
``benchmarks/results/online_updates.json`` and the figures of ``docs/learners.md``; ``--page`` does only the latter.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.marks import DOCS, RESULTS, put, read, table
from benchmarks.pages import machine_line
from benchmarks.timing import machine
from slateproof import corpora, learn
from slateproof.corpora import Corpus
from slateproof.learn.modelfile import package_versions

SESSIONS, ROUNDS, SHOWN, POOL, REPEATS, SEED = 256, 20, 8, 100, 15, 42
TARGETS = {"warm_start": 60.0, "updates": 3.0}


def timed(task: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What the task gives, its seconds, and the processor's."""
    wall, busy = time.perf_counter(), time.process_time()
    found = task()
    return found, {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - busy}


def warm_starts(corpus: Corpus) -> tuple[Any, dict[str, Any]]:
    """A fitted scorer, and the times of two warm starts with one seed."""
    runs = [timed(lambda: learn.learner("two-tower").fit(corpus, seed=SEED)) for _ in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(place) for place in range(2)]
        for (scorer, _), file in zip(runs, files, strict=True):
            scorer.save(file)
        same = files[0].read_bytes() == files[1].read_bytes()
    return runs[0][0], {"first": runs[0][1], "again": runs[1][1], "same_file": same, "target": TARGETS["warm_start"]}


def updates(scorer: Any, corpus: Corpus, *, scored: bool) -> dict[str, Any]:
    """Times of 20 rounds, the first run compiling; with ``scored`` a pool of 100 is scored before every update."""
    import jax

    rng = np.random.default_rng(SEED)
    context = learn.Context.new(SESSIONS)
    shape, tried = (ROUNDS, SESSIONS, SHOWN), np.ones((SESSIONS, SHOWN), np.bool_)
    shown, right = rng.integers(0, len(corpus.items), shape), rng.random(shape) < 0.5
    pool = np.argsort(rng.random((SESSIONS, len(corpus.items))), axis=1)[:, :POOL]

    def play() -> Any:
        sessions = scorer.begin(context, SEED)
        for round_ in range(ROUNDS):
            if scored:
                scorer.score(sessions, context, pool)
            sessions = scorer.update(sessions, context, learn.Feedback(shown[round_], tried, right[round_]))
        return jax.block_until_ready(sessions)

    runs = [timed(play) for _ in range(REPEATS + 1)]
    after = [run[1]["seconds"] for run in runs[1:]]
    return {
        "first_seconds": runs[0][1]["seconds"],
        "median_seconds": statistics.median(after),
        "slowest_seconds": max(after),
        "same_sessions": len({_digest(run[0]) for run in runs}) == 1,
    }


def _digest(sessions: Any) -> str:
    """SHA-256 of every number of the sessions that learning moves."""
    held = [np.asarray(getattr(sessions, name)) for name in ("offset", "level", "past", "signs", "last")]
    return hashlib.sha256(b"".join(array.tobytes() for array in held)).hexdigest()


def measure(data: Path) -> dict[str, Any]:
    """Everything; the machine is described before it is busy."""
    before = machine()
    corpus = corpora.load("oulad", data)
    scorer, warm = warm_starts(corpus)
    sizes = {"sessions": SESSIONS, "rounds": ROUNDS, "shown": SHOWN, "pool": POOL, "repeats": REPEATS, "target": TARGETS["updates"]}
    return {
        "command": " ".join(["python -m benchmarks.online_updates", *sys.argv[1:]]),
        "machine": before,
        "versions": package_versions("jax", "jaxlib", "optax"),
        "corpus": corpus.label,
        "digest": corpus.digest,
        "warm_start": warm,
        "updates": sizes | {"alone": updates(scorer, corpus, scored=False), "with_scores": updates(scorer, corpus, scored=True)},
    }


def online_table(found: dict[str, Any]) -> str:
    """The figures of the page."""
    warm, more = found["warm_start"], found["updates"]
    alone, both = more["alone"], more["with_scores"]
    task = f"{more['rounds']} rounds of {more['sessions']} sessions, {more['shown']} items each"
    lines = [
        [
            "warm start on OULAD, JAX's import and compiling included",
            f"{warm['first']['seconds']:.1f} s",
            f"{warm['target']:.0f} s",
        ],
        ["the same again, compiled", f"{warm['again']['seconds']:.1f} s", ""],
        [
            f"{task}: updates",
            f"{alone['median_seconds']:.3f} s, slowest {alone['slowest_seconds']:.3f} s",
            f"{more['target']:.0f} s",
        ],
        [
            f"the same, and pools of {more['pool']} scored",
            f"{both['median_seconds']:.3f} s, slowest {both['slowest_seconds']:.3f} s",
            "",
        ],
        ["compiling of update and score, once", f"{alone['first_seconds'] + both['first_seconds']:.1f} s", ""],
    ]
    return f"{machine_line(found)}\n\n{table(('what', 'time', 'target'), lines)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", action="store_true", help="only write the committed figures into the page")
    parser.add_argument("--out", type=Path, default=RESULTS / "online_updates.json")
    asked = parser.parse_args()
    if not asked.page:
        if asked.data is None:
            parser.error("--data names the folder of the corpora")
        result = measure(asked.data)
        asked.out.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(online_table(result))
    if asked.page or asked.out == RESULTS / "online_updates.json":
        put(DOCS / "learners.md", {"online": online_table(read("online_updates"))})


if __name__ == "__main__":
    main()
