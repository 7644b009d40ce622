"""Numbers behind the certificate of an SCPO slate: levels per exchange, the order's radius, rounding, and the size of the search.

Scope: stability only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.certify.columns import margin_down, radius_down
from slateproof.certify.movement import largest, rest_of
from slateproof.certify.rounding import OPERATIONS, TINY, UNIT, bonus_bound, down_from, evaluation_error, minus_down, window_error
from slateproof.errors import InvalidInput
from slateproof.select.scpo import choose_set, feasible
from slateproof.types import SetChoice, Slate
from slateproof.types.columns import Floats, Ints
from slateproof.types.similarity import MEAN_SLACK

__all__ = [
    "completes",
    "feasible_of",
    "largest_search",
    "level_of",
    "order_radius",
    "set_choice",
    "set_error",
    "set_radii",
    "swap",
    "towards_runner_up",
]


def set_choice(slate: Slate) -> SetChoice:
    """The slate's choice among sets; refuses a slate that was built step by step."""
    if not isinstance(slate.steps, SetChoice):
        raise InvalidInput("slate", "was built step by step; its certificate is Certificate", slate.rule.kind)
    return slate.steps


def feasible_of(slate: Slate) -> Ints:
    """Positions of the feasible candidates, whatever their scores."""
    targets = slate.pool.targets
    if targets is None:
        raise InvalidInput("targets", "the window selector needs a target value d(i) for every candidate")
    return feasible(targets, slate.target, slate.rule.window, len(slate))[0]


def largest_search(candidates: int, size: int) -> int:
    """The most nodes that a search for sets of ``size`` among ``candidates`` can count, whatever the scores.

    A node is a path of r <= K items in slate order that leaves at least K - r items after it: C(n - K + r, r) paths of length
    r, together C(n + 1, K) - 1. No path is counted twice, and the search stops only where a path is left that it has not counted.
    One feasible set needs no search.
    """
    return 0 if candidates == size else math.comb(candidates + 1, size) - 1


def completes(slate: Slate, scores: Floats) -> bool:
    """Whether the search under other scores ends within the node budget: by searching."""
    return choose_set(slate.pool.with_scores(scores), slate.rule, slate.levers, slate.target).proved


def level_of(slate: Slate, margin: float) -> float:
    """margin / (2 (1-lambda)), rounded down for scores within twice that of the reference."""
    rest = rest_of(slate)
    reach = largest(slate) + (margin / rest if rest > 0.0 and math.isfinite(margin) else 0.0)
    return float(radius_down(margin, set_error(slate, reach), rest))


def set_radii(slate: Slate, steps: SetChoice, inside: Ints, margin: float) -> list[float]:
    """Gamma_r / (2 r (1-lambda)) for r = 1, ..., R, rounded down; all 0 where the search was cut short.

    A set at r exchanges has at most the sum of the best with its r smallest shaped scores replaced by the r largest outside, and
    a largest similarity of at least ``_floor``; the margin bounds it too.
    """
    lam, k = slate.levers.diversity, len(slate)
    most = min(k, inside.size - k)
    if not steps.proved:
        return [0.0] * most
    lost = np.sort(steps.shaped[steps.chosen])[:most]
    gained = np.sort(steps.shaped[np.setdiff1d(inside, steps.chosen)])[::-1][:most]
    bounds = (1.0 - lam) * (np.cumsum(lost) - np.cumsum(gained)) - lam * (steps.similarity - _floor(slate))
    error = 2.0 * set_error(slate, largest(slate))
    gaps = [max(margin, float(margin_down(bound, error))) for bound in bounds.tolist()]
    levels = [level_of(slate, gap) for gap in gaps]
    return [level if r == 1 or level == math.inf else down_from(level / r) for r, level in enumerate(levels, 1)]


def _floor(slate: Slate) -> float:
    """Below the largest pairwise similarity of any K items: for vectors -max |v|^2 / (K-1), as |sum v|^2 >= 0 (docs/scpo.md)."""
    source, k = slate.pool.similarity, len(slate)
    if k == 1:
        return 0.0
    if source.kind == "vectors":
        return source.lower / (k - 1) - 1e-9
    if source.kind == "matrix" and slate.pool.catalog is None:
        # ``lower`` of a pool in a batch is that of all its matrices, and a certificate must not depend on neighbours.
        lower, higher = float(source.matrix.min()), float(source.matrix.max())
        return source.lower if math.isnan(lower) else lower - MEAN_SLACK * max(-lower, higher)
    return source.lower


def set_error(slate: Slate, largest_score: Any, largest_bonus: float | None = None) -> Any:
    """|V as evaluated - V| for every feasible set: K items, summed in any order, then one product, one penalty, one difference."""
    k, bonus = len(slate), bonus_bound(slate) if largest_bonus is None else largest_bonus
    summed = (1.0 - slate.levers.diversity) * k * (largest_score + bonus)
    return k * evaluation_error(slate, largest_score, bonus) + OPERATIONS * UNIT * k * summed


def _shaped_error(slate: Slate, score: float) -> float:
    """Rounding of mu-tilde alone."""
    return OPERATIONS * UNIT * (score + bonus_bound(slate)) + TINY + window_error(slate.rule)


def order_radius(slate: Slate, steps: SetChoice) -> float:
    """Half the smallest difference of neighbours in the shaped order, rounded down; +inf for one item."""
    if len(slate) == 1:
        return math.inf
    values, scores = steps.shaped[steps.chosen], largest(slate)
    margin = float(margin_down(minus_down(values[:-1], values[1:]).min(), _shaped_error(slate, scores)))
    return float(radius_down(margin, _shaped_error(slate, scores + margin), 1.0))


def towards_runner_up(slate: Slate, steps: SetChoice) -> tuple[float, Ints, Ints] | None:
    """(norm, items to lower, items to raise) that lift the second-best set over the best."""
    rest = rest_of(slate)
    if rest == 0.0 or steps.runner_up.size == 0:
        return None
    lowered, raised = np.setdiff1d(steps.chosen, steps.runner_up), np.setdiff1d(steps.runner_up, steps.chosen)
    smallest = (steps.value - steps.runner_value) / (2.0 * rest * lowered.size)
    scores = largest(slate)
    error = set_error(slate, scores + 2.0 * smallest)
    return _proved(smallest, error / (rest * lowered.size), scores), lowered, raised


def swap(slate: Slate, steps: SetChoice) -> tuple[float, Ints, Ints] | None:
    """(norm, item to lower, item to raise) that swap the two nearest neighbours, or change the set."""
    if len(slate) == 1:
        return None
    values, scores = steps.shaped[steps.chosen], largest(slate)
    q = int(np.argmin(values[:-1] - values[1:]))
    smallest = float(values[q] - values[q + 1]) / 2.0
    return _proved(smallest, _shaped_error(slate, scores + smallest), scores), steps.chosen[q : q + 1], steps.chosen[q + 1 : q + 2]


def _proved(smallest: float, error: float, scores: float) -> float:
    return (smallest * (1.0 + 8.0 * UNIT) + 4.0 * error) + 4.0 * UNIT * (scores + smallest) + 2.0**-1022
