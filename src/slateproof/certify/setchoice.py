"""Certificate of an SCPO slate: one choice among feasible sets, then one ordering of the chosen items.

Exchanging r items moves the difference of two set values by at most 2 r (1-lambda) ||d mu||_inf: each side has r items that the
other lacks, the common ones cancel, and similarities do not move. A set at r exchanges lies at least Gamma_r below the best: the
margin, or what the shaped scores alone say if that is more. So the set stays below min over r of Gamma_r / (2 r (1-lambda)), with
r at most min(K, feasible - K). The slate lists the chosen items by shaped score, so its order has a radius of its own: half the
smallest difference of neighbours. Statement and proof: ``docs/certificates.md``.

All of this is about the best feasible set. The selector returns it where its search completes, and other scores may need more nodes
than the reference did. Where no search of this shape can reach the node budget (``budget_free``) nothing more is asked. Elsewhere
the radii hold for slates that are marked proved, and ``holds`` searches under the scores it is given.

Scope: stability only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify.certificate import Certificate, ItemRadii, asked_radius
from slateproof.certify.checks import share_of_noise
from slateproof.certify.columns import ROOT_TWO_DOWN, margin_down
from slateproof.certify.movement import (
    bonus_move,
    bonus_size,
    largest,
    novelty_move,
    other_rows,
    place_of,
    rest_of,
    rest_up,
    score_move,
    up_all,
)
from slateproof.certify.prospective import subgaussian_bound
from slateproof.certify.rounding import down, down_from, minus_down
from slateproof.certify.setbounds import (
    completes,
    feasible_of,
    largest_search,
    level_of,
    order_radius,
    set_choice,
    set_error,
    set_radii,
    swap,
    towards_runner_up,
)
from slateproof.errors import InvalidInput
from slateproof.select.scpo import choose_set
from slateproof.types import Slate
from slateproof.types.columns import Floats, frozen
from slateproof.types.ids import ItemId

__all__ = ["SetCertificate"]


@dataclass(frozen=True, eq=False, repr=False)
class SetCertificate(Certificate):
    """Certificate of an SCPO slate.

    ``margin`` is best minus second-best feasible set, rounded down; 0 where the search was cut short, +inf where there was one
    feasible set. ``set_radius`` = min over r of Gamma_r / (2 r (1-lambda)), at least margin / (2 R (1-lambda)) with R =
    ``exchanges``, the most items a feasible set can exchange: below it the *set* stays. ``order_radius``: below it the order of
    the chosen items stays. ``radius`` is the smaller of the two: below it the ordered slate stays. It is a lower bound, exact
    where R = 1 or the order decides. The window and the bonuses are held fixed.

    ``budget_free``: no scores whatever can exhaust the node budget (``largest_search``), or lambda = 1, where the search is the
    same for all scores. Where it is False, every radius has a premise: the search under the other scores completes, too, which
    its slate says (``steps.proved``) and ``completes`` finds out; a search cut short may return any set. ``holds`` checks it.

    Scope: stability only.
    """

    exchanges: int
    set_radius: float
    order_radius: float
    budget_free: bool

    @classmethod
    def of(cls, slate: Slate) -> SetCertificate:
        """The certificate of an SCPO slate."""
        steps, inside = set_choice(slate), feasible_of(slate)
        gap = float(minus_down(steps.value, steps.runner_value)) if steps.proved else 0.0
        margin = float(margin_down(gap, set_error(slate, largest(slate))))
        levels = set_radii(slate, steps, inside, margin)
        set_radius, order = min(levels, default=math.inf), order_radius(slate, steps)
        # An exchange of r moves 2 r scores: by Cauchy-Schwarz sqrt(2 r) of the Euclidean norm; an order swap moves two.
        squares = [down_from(down(math.sqrt(2.0 * r)) * level) for r, level in enumerate(levels, 1)]
        euclidean = min([*squares, down_from(order * ROOT_TWO_DOWN)])
        same_search = slate.levers.diversity == 1.0 or largest_search(inside.size, len(slate)) <= slate.rule.node_budget
        free = steps.proved and same_search
        return cls(slate, margin, min(set_radius, order), euclidean, len(levels), set_radius, order, free)

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

        Where the certificate is not ``budget_free`` the scores that pass are searched, and hold only if the search completes;
        other bonuses are then never certified, because the search under them is not known.

        Scope: stability only; ex post, for the scores given.
        """
        others, single = other_rows(self.slate, other_scores)
        same_set = 2.0 * np.atleast_1d(self.movement(others, bonuses, novelty)) < self.margin
        bonus = bonus_move(self.slate, bonuses)
        moved = up_all(score_move(self.slate, others) + bonus)
        if bonuses is None:
            same_set |= moved < self.set_radius
        verdict = same_set & ((moved == 0.0) | (moved < self.order_radius))
        if not self.budget_free:
            for t in np.flatnonzero(verdict & (moved > 0.0)):
                verdict[t] = bonus == 0.0 and completes(self.slate, others[t])
        return bool(verdict[0]) if single else verdict

    def completes(self, other_scores: Any) -> Any:
        """Whether the search under other scores ends within the node budget: the premise of the radii. Without a search if it must.

        Scope: stability only; ex post, for the scores given.
        """
        others, single = other_rows(self.slate, other_scores)
        verdict = np.array([self.budget_free or completes(self.slate, row) for row in others])
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
        Same premise as ``radius``: ``budget_free``, or the search under the other scores completes. All 0 inside the window where
        the slate's own search was cut short.

        Scope: stability only.
        """
        place = place_of(self.slate, item)
        if place not in feasible_of(self.slate):
            return ItemRadii(math.inf, math.inf)
        if self.exchanges > 0 and not set_choice(self.slate).proved:
            return ItemRadii(0.0, 0.0)
        alone = math.inf if self.exchanges == 0 else 2.0 * level_of(self.slate, self.margin)
        if place not in self.slate.indices:
            return ItemRadii(alone, math.inf)
        both = min(alone, down_from(2.0 * self.order_radius))
        return ItemRadii(both, both)

    def flip_bound(self, sigma: float, anchor_weight: float = 0.0) -> float:
        """2 |C| exp(-r^2 / (2 (1-w)^2 sigma^2)) with r = ``radius``: the union over coordinates of |error| >= r, as it is.

        Not the paper's corollary, which is about stepwise margins: the same argument with this certificate's radius. Bounds
        Pr[the ordered slate changes] where every search completes (``budget_free``), else Pr[it changes and its search completed],
        when every coordinate error is two-sided sub-Gaussian with proxy sigma^2, independent or not. Refused: lambda = 1, and no
        margin (a tie between sets, or a search cut short).

        Scope: stability only; prospective.
        """
        if rest_of(self.slate) == 0.0:
            raise InvalidInput("diversity", "the bound assumes lambda < 1 (at 1 scores only order the slate)", 1.0)
        if self.margin == 0.0:
            raise InvalidInput("margin", "the bound assumes that the best set is proved and ahead of the second best", 0.0)
        return subgaussian_bound(self.slate.pool.size, self.radius, sigma, share_of_noise(anchor_weight))

    def witness(self, radius: float | None = None) -> Floats:
        """A perturbation that changes the ordered slate: towards the second-best set, or one swap of neighbours.

        Its norm exceeds ``self.radius`` by rounding alone where the order decides or every item the sets differ in is exchanged.

        Scope: stability only.
        """
        steps = set_choice(self.slate)
        if math.isinf(self.radius) or not steps.proved:
            raise InvalidInput("radius", "is infinite, or the search was cut short: no witness", self.radius)
        options = [option for option in (towards_runner_up(self.slate, steps), swap(self.slate, steps)) if option is not None]
        smallest, lowered, raised = min(options, key=lambda option: option[0])
        size = asked_radius(radius, smallest)
        change = np.zeros(self.slate.pool.size)
        change[lowered], change[raised] = -size, size
        return frozen(change)
