"""Private training of the two-tower: what it costs in loss and AUC, and how fast a step is beside Opacus.

    python -m benchmarks.dp_training utility --data ../shared/data
    python -m benchmarks.dp_training clip --data ../shared/data      (``clip_only`` alone, into the same results)
    python -m benchmarks.dp_training speed --peer PYTHON             (see `dp_speed`)

``utility`` trains on the rounds of OULAD's training users (as the learner draws them: ``dp_records.parts``) and measures on all
rounds of its test users, without any update: mean loss every 50 steps, AUC at the end; for ε in {1, 3, 8, none}, both kinds of side
inputs, three seeds. "none" is the same code with noise and clipping off. ``clip_only`` keeps the clip and has next to no noise
(multiplier .001), to tell what the clip costs from what the noise costs. ``constant`` is the loss of one chance for all rows, the
share of positives among training users. d(i) counts training users only. Settings were chosen on a synthetic corpus of the same
size, so that nothing of OULAD entered the choice. Seeds are public here, so that the run can be repeated: every ε is that of the
same training with a secret seed.

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
from scipy.optimize import minimize_scalar

from benchmarks.dp_speed import speed
from slateproof import corpora
from slateproof.cli.timing import machine
from slateproof.corpora import Corpus
from slateproof.learn.dp_config import SIDE_INPUTS, Private
from slateproof.learn.dp_records import facts_for, parts
from slateproof.learn.dp_train import PrivateTwoTower
from slateproof.learn.metrics import auc_statistic
from slateproof.learn.modelfile import package_versions
from slateproof.learn.two_tower_data import Log, gather, log_of, neutral, on_device
from slateproof.learn.two_tower_model import Facts, Towers, logits

RESULTS = Path(__file__).parent / "results"
DELTA, BATCH, STEPS, EVERY = 1e-5, 512, 1000, 50
EPSILONS: tuple[float | None, ...] = (1.0, 3.0, 8.0, None)
PRIVATE = Private(clip=0.3, learning_rate=2.0)
PLAIN = replace(PRIVATE, noise_multiplier=None, learning_rate=0.4)
NEXT_TO_NOTHING = replace(PRIVATE, noise_multiplier=1e-3)
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "jax-privacy", "dp-accounting")


def utility(corpus: Corpus, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """One row per kind of side inputs, epsilon and seed."""
    for side in SIDE_INPUTS:
        for epsilon in EPSILONS:
            for seed in seeds:
                yield trained(corpus, side, PLAIN if epsilon is None else PRIVATE, epsilon, seed)


def constant(corpus: Corpus) -> dict[str, float]:
    """One chance for all rows: the share of positives among training users, and its loss on the rows of the test users."""
    part = parts(corpus)[corpus.user]
    share, tested = float(corpus.positive[part == 0].mean()), float(corpus.positive[part == 2].mean())
    loss = -tested * np.log(share) - (1.0 - tested) * np.log(1.0 - share)
    return {"positive_train": share, "positive_test": tested, "loss": float(loss)}


def trained(corpus: Corpus, side: str, how: Private, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Train once; the loss curve, the AUC, and what the ledger says."""
    how = replace(how, side_inputs=side)
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
        "non_private": run.ledger.non_private, "conditions": list(run.ledger.conditions),
        "noise_multiplier": learner.private.noise_multiplier, "clip": how.clip, "learning_rate": how.learning_rate,
        "population": run.population, "sampling_rate": learner.sampling_rate, "steps": run.steps,
        "test_rounds": held_out.rounds, "auc": held_out.auc(run.model),
        "auc_at_start": held_out.auc(learner.start(corpus, seed).model),
        **held_out.level(run.model), "curve": curve, "cpu_seconds": round(time.process_time() - start, 1),
    }  # fmt: skip


class Test:
    """All rounds of the test users, under the side inputs of the training."""

    def __init__(self, corpus: Corpus, side: str) -> None:
        log = log_of(corpus, parts(corpus) == 2, PRIVATE.rows_per_round)
        self.rounds = int(log.first.size)
        self._facts, self._log, self._side = facts_for(corpus, replace(PRIVATE, side_inputs=side)), on_device(log), side
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

    def level(self, model: Towers) -> dict[str, float]:
        """Mean probability and share of positive rows; the constant that helps every logit best, and the loss with it."""
        labels, scores = self._scored(model)
        best = minimize_scalar(
            lambda shift: (np.logaddexp(0.0, scores + shift) - labels * (scores + shift)).mean(), bounds=(-10.0, 10.0)
        )
        chance = float((1.0 / (1.0 + np.exp(-scores))).mean())
        return {"mean_chance": chance, "positive": float(labels.mean()), "shift": float(best.x), "loss_shifted": float(best.fun)}

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
    for name in ("utility", "clip"):
        one = commands.add_parser(name)
        one.add_argument("--data", type=Path, required=True)
        one.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    two = commands.add_parser("speed")
    two.add_argument("--peer", required=True, help="an interpreter with torch==2.13.0, opacus and numpy")
    given = parser.parse_args()
    facts = {
        "command": "python -m benchmarks.dp_training " + given.what,
        "machine": machine(),
        "versions": package_versions(*PACKAGES),
    }
    if given.what == "speed":
        _write("dp_speed.json", {**facts, "command": facts["command"] + " --peer PYTHON", **speed(given.peer)})
        return
    corpus, rows = corpora.load("oulad", given.data), []
    facts |= {"constant": constant(corpus)}
    facts |= {"clip_only": [trained(corpus, side, NEXT_TO_NOTHING, None, given.seeds[0]) for side in SIDE_INPUTS]}
    if given.what == "clip":
        held = json.loads((RESULTS / "dp_utility.json").read_text(encoding="utf-8"))
        _write("dp_utility.json", {**held, **{key: facts[key] for key in ("constant", "clip_only")}})
        return
    for row in utility(corpus, given.seeds):
        rows.append(row)
        print(f"{row['side_inputs']:12s} ε {row['epsilon_target']} seed {row['seed']}: AUC {row['auc']:.4f}", flush=True)
        _write("dp_utility.json", {**facts, "summary": summary(rows), "rows": rows})


def _write(name: str, value: dict[str, Any]) -> None:
    (RESULTS / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
