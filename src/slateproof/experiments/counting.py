"""Noise of continual counting against the number of ticks: tree and square-root mechanism, and what they leave of k-hat and e-hat.

Scope: measurements on simulated subjects; nothing here is a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from slateproof import privacy as pv
from slateproof.experiments.private_inputs import DELTA, share
from slateproof.types.columns import Floats

__all__ = ["counting_rows"]


def counting_rows(
    ticks: Sequence[int] = (8, 20, 50, 80, 200), epsilons: Sequence[float] = (1.0, 4.0), delta: float = DELTA, seed: int = 0
) -> list[dict[str, Any]]:
    """Noise of the two mechanisms against T, and the errors they leave in k-hat and e-hat after T ticks.

    ``worst`` and ``last`` are standard deviations of the noise in each count per noise multiplier, the largest over all ticks
    and the one at tick T; ``independent`` is √T, that of fresh noise at every tick. The errors are mean absolute ones of 4,000
    simulated subjects with k, e ~ U(0, 1), against their raw shares.
    """
    out = []
    for count in ticks:
        draw = np.random.default_rng([seed, count])
        chance = draw.random((2, 4_000))
        attempted, correct = ((draw.random((count, 4_000)) < one).astype(np.float64) for one in chance)
        for mechanism in (pv.Factorisation.tree(count), pv.Factorisation.square_root(count)):
            noise = mechanism.deviations("round")
            row = {"ticks": count, "mechanism": mechanism.name, "worst": float(noise.max()), "last": float(noise[-1])}
            row["independent"] = math.sqrt(count)
            for epsilon in epsilons:
                errors = _stream_errors(mechanism, attempted, correct, epsilon, delta, (seed, count, 1))
                row[f"knowledge_error_{epsilon:g}"], row[f"engagement_error_{epsilon:g}"] = errors
            out.append(row)
    return out


def _stream_errors(
    mechanism: pv.Factorisation, attempted: Floats, correct: Floats, epsilon: float, delta: float, seed: Sequence[int]
) -> tuple[float, float]:
    multiplier = pv.noise_for(epsilon=epsilon, delta=delta, steps=1, sampling_rate=None)
    rng, subjects = np.random.default_rng(list(seed)), attempted.shape[1]
    stream = pv.StateStream(mechanism, subjects=subjects, noise_multiplier=multiplier, ledger=pv.Ledger(), rng=rng)
    for tried, right in zip(attempted, correct, strict=True):
        state = stream.advance(tried, right)
    tries = attempted.sum(axis=0)
    knowledge = share((attempted * correct).sum(axis=0), tries)
    return float(np.abs(state.knowledge - knowledge).mean()), float(np.abs(state.engagement - tries / mechanism.ticks).mean())
