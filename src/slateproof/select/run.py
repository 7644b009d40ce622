"""One call of the greedy kernel: what it needs around it.

Scope: none; arithmetic.
"""

from __future__ import annotations

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select.kernels import LANES, greedy
from slateproof.types import Levers, Pool, Rule, Steps
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.similarity import NONE
from slateproof.types.steps import steps_of

__all__ = ["EMPTY", "NO_RANKS", "TOP_K", "run_greedy", "scratch"]

EMPTY: Floats = frozen(np.zeros(0))
"""Stands for a column that is not there."""

NO_RANKS: Ints = frozen(np.zeros(0, np.int64))


TOP_K = Rule("top-k", target_gain=0.0, window=1.0, novelty=0.0)
"""Raw scores: every term of the greedy objective but the score is off."""


def run_greedy(pool: Pool, rule: Rule, levers: Levers, target: float, shown: Ints) -> Steps:
    """One call of the kernel: allocate, run, freeze."""
    n, k = pool.scores.size, levers.size
    source = NONE if levers.diversity == 0.0 else pool.similarity
    places, numbers, kept = np.empty(2 * k + n, np.int64), np.empty(4 * k + n), np.empty((n, k))
    wrong = greedy(
        pool.scores, EMPTY if pool.targets is None else pool.targets, EMPTY if pool.widths is None else pool.widths,
        pool.rank, pool.rows, shown,
        source.code, source.vectors, source.flat, source.rows, source.tag_ptr, source.tag_ids, source.lower, source.higher,
        target, rule.window, rule.target_gain, rule.novelty, levers.exploration, levers.diversity, rule.dissimilarity == "mean",
        places, numbers, kept, scratch(n, k),
    )  # fmt: skip
    if wrong >= 0:
        raise overflow(pool, wrong)
    return steps_of(k, places, numbers, kept)


def scratch(n: int, k: int) -> Floats:
    """Room for one call of the kernel on up to ``n`` candidates and ``k`` steps, in words of eight bytes."""
    return np.empty(7 * n + k + n // LANES + 2 * LANES + 1)


def overflow(pool: Pool, place: int) -> InvalidInput:
    """The refusal of a pool whose objective leaves the finite numbers."""
    rule = "the objective must stay finite; scores, weights or similarities are too large"
    return InvalidInput("scores", rule, float(pool.scores[place]), where=pool.ids[place])
