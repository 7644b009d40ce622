"""Private training of the two-tower: what it costs in loss and AUC, and how fast a step is beside Opacus.

    python -m benchmarks.dp_training utility --data ../shared/data
    python -m benchmarks.dp_training speed --peer PYTHON        (see `dp_speed`)

``utility`` trains on the rounds of OULAD's training users and measures on all rounds of its test users, without any update: mean
loss every 50 steps, AUC at the end; for ε in {1, 3, 8, none}, both kinds of side inputs, three seeds. "none" is the same code
with noise and clipping off. d(i) counts training users only. Settings were chosen on a synthetic corpus of the same size, so that
nothing of OULAD entered the choice.

Results go to ``benchmarks/results/dp_utility.json`` and ``dp_speed.json``.

Scope: none; measurements, not private outputs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dp_speed import speed
from slateproof import corpora
from slateproof.cli.timing import machine
from slateproof.corpora import Corpus
from slateproof.learn.dp_config import SIDE_INPUTS, Private
from slateproof.learn.dp_train import PrivateTwoTower
from slateproof.learn.features import training_difficulty
from slateproof.learn.metrics import auc_statistic
from slateproof.learn.modelfile import package_versions
from slateproof.learn.two_tower_data import Log, gather, log_of, neutral, on_device
from slateproof.learn.two_tower_model import Facts, Towers, facts_of, logits

RESULTS = Path(__file__).parent / "results"
DELTA, BATCH, STEPS, EVERY = 1e-5, 512, 1000, 50
EPSILONS: tuple[float | None, ...] = (1.0, 3.0, 8.0, None)
PRIVATE = Private(clip=0.3, learning_rate=2.0)
PLAIN = replace(PRIVATE, noise_multiplier=None, learning_rate=0.4)


def utility(data: Path, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """One row per kind of side inputs, epsilon and seed."""
    corpus = corpora.load("oulad", data)
    corpus = replace(corpus, items=replace(corpus.items, difficulty=training_difficulty(corpus)))
    for side in SIDE_INPUTS:
        for epsilon in EPSILONS:
            for seed in seeds:
                yield trained(corpus, side, epsilon, seed)


def trained(corpus: Corpus, side: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Train once; the loss curve, the AUC, and what the ledger says."""
    how = replace(PLAIN if epsilon is None else PRIVATE, side_inputs=side)
    learner = PrivateTwoTower(private=how, steps=STEPS)
    run = learner.start(corpus, seed)
    learner = replace(learner, sampling_rate=BATCH / run.population)
    if epsilon is not None:
        learner = learner.calibrated(epsilon=epsilon, delta=DELTA)
        run = learner.start(corpus, seed)
    held_out = Test(corpus, side)
    start, curve = time.process_time(), [(0, held_out.loss(run.model))]
    for step in range(1, STEPS + 1):
        run.sampled(learner.sampling_rate)
        if step % EVERY == 0:
            curve.append((step, held_out.loss(run.model)))
    return {
        "corpus": corpus.label, "side_inputs": side, "epsilon_target": epsilon, "seed": seed,
        "epsilon": run.ledger.epsilon(DELTA) if epsilon is not None else None, "delta": DELTA,
        "non_private": run.ledger.non_private,
        "noise_multiplier": learner.private.noise_multiplier, "clip": how.clip, "learning_rate": how.learning_rate,
        "population": run.population, "sampling_rate": learner.sampling_rate, "steps": run.steps,
        "test_rounds": held_out.rounds, "auc": held_out.auc(run.model),
        "auc_at_start": held_out.auc(learner.start(corpus, seed).model),
        "curve": curve, "cpu_seconds": round(time.process_time() - start, 1),
    }  # fmt: skip


class Test:
    """All rounds of the test users, under the side inputs of the training."""

    def __init__(self, corpus: Corpus, side: str) -> None:
        log = log_of(corpus, corpus.split().part == 2, PRIVATE.rows_per_round)
        self.rounds = int(log.first.size)
        self._facts, self._log, self._side = facts_of(corpus, fixed=side == "fixed"), on_device(log), side
        index = np.arange(-(-self.rounds // 2048) * 2048)
        self._parts = jnp.asarray(np.where(index < self.rounds, index, -1).reshape(-1, 2048), jnp.int32)

    def _scored(self, model: Towers) -> tuple[Any, Any]:
        """(labels, scores) of all rows."""
        scores, labels, real = (np.asarray(one) for one in _scores(model, self._facts, self._log, self._parts, self._side))
        return labels[real], scores[real].astype(np.float64)

    def loss(self, model: Towers) -> float:
        """Mean binary cross-entropy of a row."""
        labels, scores = self._scored(model)
        return float((np.logaddexp(0.0, scores) - labels * scores).mean())

    def auc(self, model: Towers) -> float:
        """Pooled over all rows."""
        labels, scores = self._scored(model)
        return float(auc_statistic(labels > 0.5, scores)(None))


@jax.jit
def _one_part(model: Towers, facts: Facts, log: Log, index: Any, fixed: Any) -> tuple[Any, Any, Any]:
    batch = gather(log, index, PRIVATE.rows_per_round)
    batch = jax.tree.map(lambda a, b: jnp.where(fixed, a, b), neutral(batch), batch)
    return logits(model, facts, batch, batch.items), batch.labels, batch.items >= 0


def _scores(model: Towers, facts: Facts, log: Log, parts: Any, side: str) -> tuple[Any, ...]:
    found = [_one_part(model, facts, log, part, side == "fixed") for part in parts]
    return tuple(jnp.concatenate([one[n] for one in found]) for n in range(3))


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean, lowest and highest of the seeds, per side inputs and epsilon."""
    out = []
    for side in SIDE_INPUTS:
        for epsilon in EPSILONS:
            same = [row for row in rows if (row["side_inputs"], row["epsilon_target"]) == (side, epsilon)]
            if same:
                aucs, losses = ([row["auc"] for row in same], [row["curve"][-1][1] for row in same])
                out.append({
                    "side_inputs": side, "epsilon": epsilon, "noise_multiplier": same[0]["noise_multiplier"], "seeds": len(same),
                    "auc": [float(np.mean(aucs)), min(aucs), max(aucs)], "loss": [float(np.mean(losses)), min(losses), max(losses)],
                })  # fmt: skip
    return out


def main() -> None:
    """Run one of the two, and write its JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    one = commands.add_parser("utility")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    two = commands.add_parser("speed")
    two.add_argument("--peer", required=True, help="an interpreter with torch==2.13.0, opacus and numpy")
    given = parser.parse_args()
    facts = {"command": "python -m benchmarks.dp_training " + given.what, "machine": machine(), "versions": package_versions()}
    if given.what == "speed":
        _write("dp_speed.json", {**facts, "command": facts["command"] + " --peer PYTHON", **speed(given.peer)})
        return
    rows: list[dict[str, Any]] = []
    for row in utility(given.data, given.seeds):
        rows.append(row)
        print(f"{row['side_inputs']:12s} ε {row['epsilon_target']} seed {row['seed']}: AUC {row['auc']:.4f}", flush=True)
        _write("dp_utility.json", {**facts, "summary": summary(rows), "rows": rows})


def _write(name: str, value: dict[str, Any]) -> None:
    (RESULTS / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
