"""How far the inputs of the objective moved, rounded up: the parts of M.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.certify.checks import score_rows
from slateproof.certify.frame import Frame
from slateproof.certify.rounding import UNIT, bonus_bound, up
from slateproof.errors import InvalidInput
from slateproof.types import Slate
from slateproof.types.columns import Floats, as_floats

__all__ = [
    "bonus_move",
    "bonus_size",
    "largest",
    "novelty_move",
    "other_rows",
    "place_of",
    "rest_of",
    "rest_up",
    "score_move",
    "up_all",
]


def rest_of(slate: Slate) -> float:
    """1 - lambda: what a unit of score is worth in the objective. 1 for top-K, where lambda does not enter."""
    return 1.0 if slate.rule.kind == "top-k" else 1.0 - slate.levers.diversity


def rest_up(rest: float) -> float:
    """An upper bound of 1 - lambda in real numbers: exact at 0 and 1, the next float above elsewhere."""
    return rest if rest in (0.0, 1.0) else up(rest)


def largest(slate: Slate) -> float:
    """max |mu0(i)| over the candidates."""
    scores = slate.pool.scores
    return float(max(scores.max(), -scores.min()))


def up_all(values: Any) -> Floats:
    """The next floats above; exact zeros stay."""
    values = np.asarray(values, np.float64)
    return np.where(values == 0.0, 0.0, np.nextafter(values, np.inf))


def score_move(slate: Slate, others: Floats) -> Floats:
    """||mu - mu0||_inf per row, rounded up; exactly 0 where the scores are the same."""
    return up_all(np.abs(others - slate.pool.scores).max(axis=1))


def other_rows(slate: Slate, other_scores: Any) -> tuple[Floats, bool]:
    """Other scores as (trials, n), and whether one vector alone was given."""
    others, single = score_rows(other_scores, "other_scores")
    if others.shape[1] != slate.pool.size:
        raise InvalidInput("other_scores", f"must have one score per candidate ({slate.pool.size})", others.shape[1])
    return others, single


def place_of(slate: Slate, item: Any) -> int:
    """The position of a candidate; refuses what is no id, as well as an id that is not in the pool."""
    if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, str, np.integer)):
        raise InvalidInput("id", "must be an id, a whole number or a string", item)
    return slate.pool.position(item if isinstance(item, str) else int(item))


def bonus_move(slate: Slate, bonuses: Any) -> float:
    """||b - b0||_inf, rounded up, with b0 = eta_tg prox + alpha sigma of the slate; 0 for None."""
    if bonuses is None:
        return 0.0
    pool, rule = slate.pool, slate.rule
    if rule.kind == "top-k":
        raise InvalidInput("bonuses", "a top-K slate has none")
    other = as_floats(bonuses, "bonuses", pool.size, pool.ids)
    own = np.zeros(pool.size)
    if pool.targets is not None:
        distance = pool.targets - slate.target
        with np.errstate(over="ignore"):  # a tiny window: far outside, and min(1, .) takes the infinity
            far = np.minimum(1.0, (distance * distance) / (rule.window * rule.window))
        own += rule.target_gain * (1.0 - far)
    if pool.widths is not None:
        own += slate.levers.exploration * pool.widths
    moved = float(np.abs(other - own).max())
    return 0.0 if moved == 0.0 else up(moved + 20.0 * UNIT * (bonus_bound(slate) + float(np.abs(other).max())))


def bonus_size(slate: Slate, bonuses: Any) -> float | None:
    """The largest bonus on either side; None where they did not move."""
    return None if bonuses is None else max(bonus_bound(slate), float(np.abs(np.asarray(bonuses)).max()))


def novelty_move(slate: Slate, novelty: Any) -> float:
    """||n - n0||_inf, rounded up, with n0 the slate's nu 1{i not in H}, and the rounding of larger terms; 0 for None."""
    if novelty is None:
        return 0.0
    if slate.rule.kind != "greedy":
        raise InvalidInput("novelty", f"does not enter a {slate.rule.kind} slate")
    other = as_floats(novelty, "novelty", slate.pool.size, slate.pool.ids)
    moved = float(np.abs(other - Frame.of(slate).bonus).max())
    return 0.0 if moved == 0.0 else up(moved * (1.0 + 20.0 * UNIT) + 20.0 * UNIT * float(np.abs(other).max()))
