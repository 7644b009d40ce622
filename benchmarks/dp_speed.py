"""A private step beside Opacus: the same towers, the same rounds, the same clip, in one run.

    python -m benchmarks.dp_training speed --peer PYTHON

``PYTHON`` is an interpreter with torch==2.13.0, opacus and numpy; it runs ``dp_opacus.py`` in a process of its own. A step is all
that a step is: rounds gathered by index, gradients per round, clip, sum, noise, SGD; on our side the ledger entry too. First both
clip the same rounds at the same parameters, and the run stops unless the sums agree. Then they take turns, batch size by batch
size; a figure is the median over the turns. Opacus runs with one thread and with all cores, and the faster median counts.
``cpu_*`` are the same in seconds of all cores together, which a busy machine disturbs less; ``loaded`` says that it was busy.

The data are synthetic, of OULAD's shape: 188 items, rounds of five rows, histories of 20; 96 hidden, 48 embedding.

Scope: none; measurements.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import synthetic_education
from slateproof.learn.dp_config import Private
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.two_tower import TwoTower, towers_for
from slateproof.learn.two_tower_data import Log, gather, log_of
from slateproof.learn.two_tower_model import Facts, Towers, facts_of
from slateproof.types.columns import Ints

BATCHES = (64, 128, 256, 512, 1024)
REPEATS, SECONDS = 5, 0.3
HOW = Private(clip=0.3, noise_multiplier=1.0, learning_rate=2.0)
ROUNDS = 4096
CHECKED = 64
LOADED = 0.5  # runnable processes per core, before the run
AGREE = 1e-4  # of the largest entry of the sum


class Turns(PrivateSteps):
    """The learner's own step on exactly ``batch`` rounds, one batch after another: a draw of random size cannot be compared."""

    batch, at = 1, 0

    def _draw(self, rate: float) -> Ints:
        index = (np.arange(self.batch) + self.at) % self._rounds
        self.at = (self.at + self.batch) % self._rounds
        return index

    def seconds(self, batch: int, steps: int) -> tuple[float, float]:
        """Of ``steps`` steps, by the clock and of all cores."""
        self.batch = batch
        start, work = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.sampled(batch / self.population)
        jax.block_until_ready(self.model)
        return time.perf_counter() - start, time.process_time() - work


def speed(python: str) -> dict[str, Any]:
    """Agreement of the sums, and one row per batch size."""
    run, load = ours(), os.getloadavg()[0]
    with peer(python, run) as (ask, facts):
        gap = agreement(run, ask({"sum": CHECKED}))
        if gap > AGREE:
            raise SystemExit(f"the clipped sums differ by {gap:.2g} of the largest entry: not the same model")
        rows = [row(run, ask, batch) for batch in BATCHES]
    return {
        "peer": facts,
        "loaded": load > LOADED * (os.cpu_count() or 1),  # other work ran beside it: read cpu_ratio, and measure again
        "largest_difference_of_the_sums": gap,
        "rounds": ROUNDS,
        "rows_per_round": 5,
        "repeats": REPEATS,
        "rows": rows,
    }


def ours() -> Turns:
    """A run on full rounds of a synthetic corpus of OULAD's size."""
    corpus = synthetic_education(users=4000, items=188, per_user=40.0)
    log = log_of(corpus, np.ones(corpus.users, np.bool_), HOW.rows_per_round)
    full = np.flatnonzero(log.count == HOW.rows_per_round)[::2][:ROUNDS]
    log = log._replace(first=log.first[full], count=log.count[full], user=log.user[full])
    return Turns(towers_for(corpus, TwoTower(), 0), facts_of(corpus), log, HOW, seed=0)


def row(run: Turns, ask: Any, batch: int) -> dict[str, Any]:
    """Medians of one batch size; the two take turns."""
    tasks: dict[str, Callable[[int], tuple[float, float]]] = {"ours": partial(run.seconds, batch)}
    for threads in sorted({1, os.cpu_count() or 1}):
        tasks[f"opacus, {threads} threads"] = partial(theirs, ask, batch, threads)
    loops = {}
    for name, task in tasks.items():
        task(2)  # compile, warm up
        loops[name] = max(1, int(SECONDS / task(2)[0] * 2))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for _ in range(REPEATS):
        for name, task in tasks.items():
            taken[name].append(task(loops[name]))
    clock, work = (
        {name: 1e3 * statistics.median(t[kind] for t in one) / loops[name] for name, one in taken.items()} for kind in (0, 1)
    )
    out: dict[str, Any] = {"batch": batch}
    for what, medians in (("", clock), ("cpu_", work)):
        mine, best = medians["ours"], min(value for name, value in medians.items() if name != "ours")
        out |= {f"{what}ours_ms": round(mine, 3), f"{what}opacus_ms": round(best, 3), f"{what}ratio": round(best / mine, 2)}
    print(", ".join(f"{key} {value}" for key, value in out.items()), flush=True)
    return {**out, "steps_per_turn": loops, "medians_ms": clock, "cpu_medians_ms": work}


def theirs(ask: Any, batch: int, threads: int, steps: int) -> tuple[float, float]:
    """Seconds of the peer."""
    clock, work = ask({"batch": batch, "steps": steps, "threads": threads})
    return clock, work


def agreement(run: Turns, theirs: dict[str, list[float]]) -> float:
    """Largest difference of the two clipped sums over all parameters, as a share of the largest entry."""
    mine = leaves(run._sum(np.arange(CHECKED)))
    largest = max(np.abs(one).max() for one in mine.values())
    return float(max(np.abs(mine[name].ravel() - theirs[name]).max() for name in mine) / largest)


@contextmanager
def peer(python: str, run: Turns) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A function that asks the peer, and what the peer is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rounds.npz"
        np.savez(path, **rounds(run._log, run._facts), **{f"model.{name}": one for name, one in leaves(run.model).items()})
        script = str(Path(__file__).with_name("dp_opacus.py"))
        with subprocess.Popen(
            [python, "-P", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            questions, answers = process.stdin, process.stdout

            def ask(question: dict[str, Any]) -> Any:
                questions.write(json.dumps(question) + "\n")
                questions.flush()
                return json.loads(answers.readline())

            yield ask, json.loads(answers.readline())
            questions.close()


def rounds(log: Log, facts: Facts) -> dict[str, np.ndarray]:
    """The rounds as plain columns: what the learner gathers from its log in every step lies ready for the peer."""
    batch = gather(log, jnp.arange(log.first.size), HOW.rows_per_round)
    known = (batch.past >= 0).sum(-1).astype(np.float32)
    columns = {**batch._asdict(), "known": known, "difficulty": facts.difficulty, "tags": facts.tags}
    return {name: np.asarray(one, np.int64 if np.asarray(one).dtype.kind == "i" else np.float32) for name, one in columns.items()}


def leaves(model: Towers) -> dict[str, np.ndarray]:
    """Parameters, or anything of their shape, by name."""
    return {name: np.asarray(getattr(model, name)) for name in Towers.__dataclass_fields__}
