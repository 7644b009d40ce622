"""Certificate of an SCPO slate: one choice among feasible sets, then one ordering of the chosen items.

Exchanging r items moves the difference of two set values by at most 2 r (1-lambda) ||d mu||_inf: each side has r items that the
other lacks, the common ones cancel, and similarities do not move. A set at r exchanges lies at least Gamma_r below the best: the
margin, or what the shaped scores alone say if that is more. So the set stays below min over r of Gamma_r / (2 r (1-lambda)), with
r at most min(K, feasible - K). The slate lists the chosen items by shaped score, so its order has a radius of its own: half the
smallest difference of neighbours. Statement and proof: ``docs/certificates.md``.

Scope: stability only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify.certificate import Certificate, ItemRadii, asked_radius
from slateproof.certify.columns import ROOT_TWO_DOWN, margin_down, radius_down
from slateproof.certify.movement import (
    bonus_move,
    bonus_size,
    largest,
    novelty_move,
    other_rows,
    rest_of,
    rest_up,
    score_move,
    up_all,
)
from slateproof.certify.rounding import OPERATIONS, TINY, UNIT, bonus_bound, down, evaluation_error, minus_down, window_error
from slateproof.errors import InvalidInput
from slateproof.select.scpo import choose_set, feasible
from slateproof.types import SetChoice, Slate
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.ids import ItemId

__all__ = ["SetCertificate"]


@dataclass(frozen=True, eq=False, repr=False)
class SetCertificate(Certificate):
    """Certificate of an SCPO slate.

    ``margin`` is best minus second-best feasible set, rounded down; 0 where the search was cut short, +inf where there was one
    feasible set. ``set_radius`` = min over r of Gamma_r / (2 r (1-lambda)), at least margin / (2 R (1-lambda)) with R =
    ``exchanges``, the most items a feasible set can exchange: below it the *set* stays. ``order_radius``: below it the order of
    the chosen items stays. ``radius`` is the smaller of the two: below it the ordered slate stays. It is a lower bound, exact
    where R = 1 or the order decides. The window does not depend on scores.

    Scope: stability only.
    """

    exchanges: int
    set_radius: float
    order_radius: float

    @classmethod
    def of(cls, slate: Slate) -> SetCertificate:
        """The certificate of an SCPO slate."""
        steps = _set_choice(slate)
        inside, _ = _feasible(slate)
        gap = float(minus_down(steps.value, steps.runner_value)) if steps.proved else 0.0
        margin = float(margin_down(gap, set_error(slate, largest(slate))))
        levels = _set_radii(slate, steps, inside, margin)
        set_radius, order = min(levels, default=math.inf), _order_radius(slate, steps)
        # An exchange of r moves 2 r scores: by Cauchy-Schwarz sqrt(2 r) of the Euclidean norm; an order swap moves two.
        squares = [down(down(math.sqrt(2.0 * r)) * level) for r, level in enumerate(levels, 1)]
        euclidean = min([*squares, down(order * ROOT_TWO_DOWN)])
        return cls(slate, margin, min(set_radius, order), euclidean, len(levels), set_radius, order)

    def movement(self, other_scores: Any, bonuses: Any = None, novelty: Any = None) -> Any:
        """M = R (1-lambda)(||mu - mu0||_inf + ||b - b0||_inf), rounded up: the difference of two set values moves by at most 2 M.

        Scope: stability only.
        """
        others, single = other_rows(self.slate, other_scores)
        novelty_move(self.slate, novelty)
        moved = up_all(score_move(self.slate, others) + bonus_move(self.slate, bonuses))
        rest = rest_of(self.slate)
        total = up_all(self.exchanges * up_all(rest_up(rest) * moved))
        error = set_error(self.slate, np.abs(others).max(axis=1), bonus_size(self.slate, bonuses))
        movement = np.where((moved == 0.0) | (rest == 0.0), 0.0, up_all(total + error))
        return float(movement[0]) if single else movement

    def holds(self, other_scores: Any, bonuses: Any = None, novelty: Any = None) -> Any:
        """M < margin / 2, or the set's radius is not reached; and the order's is not: the same ordered slate. Never by rounding.

        Scope: stability only; ex post, for the scores given.
        """
        others, single = other_rows(self.slate, other_scores)
        same_set = 2.0 * np.atleast_1d(self.movement(others, bonuses, novelty)) < self.margin
        moved = up_all(score_move(self.slate, others) + bonus_move(self.slate, bonuses))
        if bonuses is None:
            same_set |= moved < self.set_radius
        verdict = same_set & ((moved == 0.0) | (moved < self.order_radius))
        return bool(verdict[0]) if single else verdict

    def exact(self, other_scores: Any) -> Any:
        """Whether the selector makes the same ordered slate from other scores: by choosing again.

        Scope: stability only; ex post, for the scores given.
        """
        others, single = other_rows(self.slate, other_scores)
        slate = self.slate
        verdict = np.array(
            [
                np.array_equal(
                    choose_set(slate.pool.with_scores(row), slate.rule, slate.levers, slate.target).chosen, slate.indices
                )
                for row in others
            ]
        )
        return bool(verdict[0]) if single else verdict

    def item_radii(self, item: ItemId) -> ItemRadii:
        """Lower bounds on how far one item's score may rise or fall alone: margin / (1-lambda), and twice the order's radius.

        An item outside the window may do as it likes; one inside but not chosen may fall without end; the order does not hold it.

        Scope: stability only.
        """
        place = self.slate.pool.position(item)
        if place not in _feasible(self.slate)[0]:
            return ItemRadii(math.inf, math.inf)
        alone = math.inf if self.exchanges == 0 else 2.0 * _level(self.slate, self.margin)
        if place not in self.slate.indices:
            return ItemRadii(alone, math.inf)
        both = min(alone, down(2.0 * self.order_radius))
        return ItemRadii(both, both)

    def witness(self, radius: float | None = None) -> Floats:
        """A perturbation that changes the ordered slate: towards the second-best set, or one swap of neighbours.

        Its norm exceeds ``self.radius`` by rounding alone where the order decides or every item the sets differ in is exchanged.

        Scope: stability only.
        """
        steps = _set_choice(self.slate)
        if math.isinf(self.radius) or not steps.proved:
            raise InvalidInput("radius", "is infinite, or the search was cut short: no witness", self.radius)
        options = [option for option in (_towards_runner_up(self.slate, steps), _swap(self.slate, steps)) if option is not None]
        smallest, lowered, raised = min(options, key=lambda option: option[0])
        size = asked_radius(radius, smallest)
        change = np.zeros(self.slate.pool.size)
        change[lowered], change[raised] = -size, size
        return frozen(change)


def _level(slate: Slate, margin: float) -> float:
    """margin / (2 (1-lambda)), rounded down for scores within twice that of the reference."""
    rest = rest_of(slate)
    reach = largest(slate) + (margin / rest if rest > 0.0 and math.isfinite(margin) else 0.0)
    return float(radius_down(margin, set_error(slate, reach), rest))


def _set_radii(slate: Slate, steps: SetChoice, inside: Ints, margin: float) -> list[float]:
    """Gamma_r / (2 r (1-lambda)) for r = 1, ..., R, rounded down.

    A set at r exchanges has at most the sum of the best with its r smallest shaped scores replaced by the r largest outside, and
    a largest similarity of at least ``_floor``; the margin bounds it too.
    """
    lam, k = slate.levers.diversity, len(slate)
    most = min(k, inside.size - k)
    lost = np.sort(steps.shaped[steps.chosen])[:most]
    gained = np.sort(steps.shaped[np.setdiff1d(inside, steps.chosen)])[::-1][:most]
    bounds = (1.0 - lam) * (np.cumsum(lost) - np.cumsum(gained)) - lam * (steps.similarity - _floor(slate))
    error = 2.0 * set_error(slate, largest(slate))
    gaps = [max(margin, float(margin_down(bound, error))) for bound in bounds.tolist()]
    levels = [_level(slate, gap) for gap in gaps]
    return [level if r == 1 or level in (0.0, math.inf) else down(level / r) for r, level in enumerate(levels, 1)]


def _floor(slate: Slate) -> float:
    """Below the largest pairwise similarity of any K items: for vectors -max |v|^2 / (K-1), as |sum v|^2 >= 0 (docs/scpo.md)."""
    source, k = slate.pool.similarity, len(slate)
    if k == 1:
        return 0.0
    return source.lower / (k - 1) - 1e-9 if source.kind == "vectors" else source.lower


def _set_choice(slate: Slate) -> SetChoice:
    if not isinstance(slate.steps, SetChoice):
        raise InvalidInput("slate", "was built step by step; its certificate is Certificate", slate.rule.kind)
    return slate.steps


def _feasible(slate: Slate) -> tuple[Ints, float]:
    targets = slate.pool.targets
    if targets is None:
        raise InvalidInput("targets", "the window selector needs a target value d(i) for every candidate")
    return feasible(targets, slate.target, slate.rule.window, len(slate))


def set_error(slate: Slate, largest_score: Any, largest_bonus: float | None = None) -> Any:
    """|V as evaluated - V| for every feasible set: K items, summed in any order, then one product, one penalty, one difference."""
    k, bonus = len(slate), bonus_bound(slate) if largest_bonus is None else largest_bonus
    summed = (1.0 - slate.levers.diversity) * k * (largest_score + bonus)
    return k * evaluation_error(slate, largest_score, bonus) + OPERATIONS * UNIT * k * summed


def _shaped_error(slate: Slate, score: float) -> float:
    """Rounding of mu-tilde alone."""
    return OPERATIONS * UNIT * (score + bonus_bound(slate)) + TINY + window_error(slate.rule)


def _order_radius(slate: Slate, steps: SetChoice) -> float:
    """Half the smallest difference of neighbours in the shaped order, rounded down; +inf for one item."""
    if len(slate) == 1:
        return math.inf
    values, scores = steps.shaped[steps.chosen], largest(slate)
    margin = float(margin_down(minus_down(values[:-1], values[1:]).min(), _shaped_error(slate, scores)))
    return float(radius_down(margin, _shaped_error(slate, scores + margin), 1.0))


def _towards_runner_up(slate: Slate, steps: SetChoice) -> tuple[float, Ints, Ints] | None:
    """(norm, items to lower, items to raise) that lift the second-best set over the best."""
    rest = rest_of(slate)
    if rest == 0.0 or steps.runner_up.size == 0:
        return None
    lowered, raised = np.setdiff1d(steps.chosen, steps.runner_up), np.setdiff1d(steps.runner_up, steps.chosen)
    smallest = (steps.value - steps.runner_value) / (2.0 * rest * lowered.size)
    scores = largest(slate)
    error = set_error(slate, scores + 2.0 * smallest)
    return _proved(smallest, error / (rest * lowered.size), scores), lowered, raised


def _swap(slate: Slate, steps: SetChoice) -> tuple[float, Ints, Ints] | None:
    """(norm, item to lower, item to raise) that swap the two nearest neighbours, or change the set."""
    if len(slate) == 1:
        return None
    values, scores = steps.shaped[steps.chosen], largest(slate)
    q = int(np.argmin(values[:-1] - values[1:]))
    smallest = float(values[q] - values[q + 1]) / 2.0
    return _proved(smallest, _shaped_error(slate, scores + smallest), scores), steps.chosen[q : q + 1], steps.chosen[q + 1 : q + 2]


def _proved(smallest: float, error: float, scores: float) -> float:
    return (smallest * (1.0 + 8.0 * UNIT) + 4.0 * error) + 4.0 * UNIT * (scores + smallest) + 2.0**-1022
