"""The certificate of one slate: how far scores may move before it changes, exactly where that is possible.

Two questions, two kinds of answer. *Ex post*: given other scores, is the slate the same? ``holds`` (the paper's norm check) and
``exact`` (if and only if). *Prospective*: given a noise scale, how likely does it change? ``flip_bound`` (the paper's),
``flip_union`` (tighter), ``flip_probability`` (the probability itself).

Scope: stability only. A certificate says nothing about privacy, quality or fairness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from slateproof.certify.checks import floats, share_of_noise
from slateproof.certify.columns import ROOT_TWO_DOWN, margin_down, radius_down
from slateproof.certify.frame import Frame, Gaps
from slateproof.certify.kernels import same_slate
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
from slateproof.certify.noise import Estimate
from slateproof.certify.pairs import Pairs
from slateproof.certify.prospective import (
    check_sampling,
    flip_probability,
    noise_of,
    pairs_of,
    set_flip_probability,
    subgaussian_bound,
)
from slateproof.certify.rounding import UNIT, down, down_from, evaluation_error, minus_down
from slateproof.errors import InvalidInput
from slateproof.types import SetChoice, Slate
from slateproof.types.columns import Floats, finite_scalar, frozen
from slateproof.types.ids import ItemId

__all__ = ["Certificate", "ItemRadii", "asked_radius"]


class ItemRadii(NamedTuple):
    """How far one item's score may rise (``up``) or fall (``down``) alone before the slate changes; rounded down, +inf: any."""

    up: float
    down: float


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Certificate of a slate built step by step (greedy MMR, MSD, top-K); ``certify(slate)`` makes one.

    ``margin`` is Gamma = min_q Gamma_q of Theorem "Margin-certified selector stability", rounded down, at least 0. ``radius`` is
    the largest r such that no scores with ||mu - mu0||_inf < r change the ordered slate: Gamma / (2 (1-lambda)), exact but for
    rounding down; +inf where scores have no influence (lambda = 1) or there was no alternative. ``radius_l2`` is its Euclidean
    counterpart min over pairs of gap / (sqrt(2) (1-lambda)). Bonuses, novelty, similarities and levers are held fixed.

    What holds for real numbers holds for the floats that the selector computes, and the other way round.

    Scope: stability only.
    """

    slate: Slate
    margin: float
    radius: float
    radius_l2: float

    @classmethod
    def of(cls, slate: Slate) -> Certificate:
        """The certificate of a stepwise slate: O(n) work, no similarity is computed."""
        steps, rest = slate.steps, rest_of(slate)
        if isinstance(steps, SetChoice):
            raise InvalidInput("slate", "SCPO makes one choice among sets; its certificate is SetCertificate", slate.rule.kind)
        gaps = minus_down(steps.chosen_objective, steps.runner_objective)
        scores = largest(slate)
        margin = float(margin_down(gaps.min(), evaluation_error(slate, scores)))
        reach = scores + (margin / rest if rest > 0.0 and math.isfinite(margin) else 0.0)
        radius = float(radius_down(margin, evaluation_error(slate, reach), rest))
        return cls(slate, margin, radius, down_from(radius * ROOT_TWO_DOWN))

    @cached_property
    def frame(self) -> Frame:
        """The round, laid out for kernels."""
        return Frame.of(self.slate)

    @cached_property
    def gaps(self) -> Gaps:
        """All stepwise gaps gap_{qj} = F_q(i_q) - F_q(j): K n similarities, computed when first asked for."""
        return self.frame.gaps()

    def movement(self, other_scores: Any, bonuses: Any = None, novelty: Any = None) -> Any:
        """M of Proposition "Greedy-selector stability under stepwise margin", rounded up.

        (1-lambda)(||mu - mu0||_inf + ||b - b0||_inf) + ||n - n0||_inf, plus the rounding of the objective under the other scores;
        exactly 0 where nothing moved. ``other_scores`` is (n,), or (trials, n) for an array of movements, in the order of
        ``slate.pool.ids``. ``bonuses`` is the other bonus vector b = eta_tg prox + alpha sigma, ``novelty`` the other n (nu or 0
        per item); None: unchanged.

        Scope: stability only.
        """
        others, single = other_rows(self.slate, other_scores)
        score, bonus, novel = score_move(self.slate, others), bonus_move(self.slate, bonuses), novelty_move(self.slate, novelty)
        rest = rest_of(self.slate)
        total = up_all(rest_up(rest) * up_all(score + bonus)) + novel
        error = evaluation_error(self.slate, np.abs(others).max(axis=1), bonus_size(self.slate, bonuses))
        # With lambda = 1 the objective is the same float whatever the scores.
        still = (novel == 0.0) & ((rest == 0.0) | ((score == 0.0) & (bonus == 0.0)))
        movement = np.where(still, 0.0, up_all(up_all(total) + error))
        return float(movement[0]) if single else movement

    def holds(self, other_scores: Any, bonuses: Any = None, novelty: Any = None) -> Any:
        """Theorem "Margin-certified selector stability": Gamma > 0 and M < Gamma / 2, so the ordered slate is the same.

        Sufficient, not necessary: False means not certified. Never True by rounding.

        Scope: stability only; ex post, for the scores given.
        """
        verdict = 2.0 * np.asarray(self.movement(other_scores, bonuses, novelty)) < self.margin
        return bool(verdict) if verdict.ndim == 0 else verdict

    def exact(self, other_scores: Any) -> Any:
        """Whether the selector makes the same ordered slate from other scores: if and only if, pair by pair.

        Every stepwise gap gap_{qj} + (1-lambda)(d_iq - d_j) must stay positive (ties by id). Decided in the selector's own floats:
        along an unchanged prefix the similarities are the same numbers, so each comparison is the one it would make.

        Scope: stability only; ex post, for the scores given.
        """
        others, single = other_rows(self.slate, other_scores)
        frame, penalty = self.frame, self.gaps.penalty
        verdict = np.array(
            [same_slate(frame.base(row), frame.bonus, frame.rank, frame.chosen, frame.diversity, penalty) for row in others]
        )
        return bool(verdict[0]) if single else verdict

    def rates(self, others: Any) -> dict[str, float]:
        """Shares of the rows of ``others`` (trials, n) that the norm check certifies and that leave the slate unchanged."""
        rows = np.atleast_2d(floats(others, "others"))
        return {"trials": float(len(rows)), "norm": float(self.holds(rows).mean()), "exact": float(self.exact(rows).mean())}

    def item_radii(self, item: ItemId) -> ItemRadii:
        """How far the score of ``item`` alone may rise or fall with the ordered slate unchanged; exact but for rounding down.

        An item that was not chosen may fall without end and rise by min_q gap_{q,item} / (1-lambda). An item chosen at step p may
        rise until it wins an earlier step, and fall by Gamma_p / (1-lambda).

        Scope: stability only.
        """
        place = place_of(self.slate, item)
        gap, found = self.gaps.gap, np.flatnonzero(self.frame.chosen == place)
        if found.size == 0:
            return ItemRadii(self._alone(float(gap[:, place].min())), math.inf)
        step = int(found[0])
        before = float(gap[:step, place].min()) if step else math.inf
        return ItemRadii(self._alone(before), self._alone(float(gap[step].min())))

    def witness(self, radius: float | None = None) -> Floats:
        """A perturbation d with ||d||_inf = ``radius`` such that scores + d give another slate: the radius is exact.

        The smallest gap's winner is lowered and its rival raised, nothing else. Default: the smallest norm for which the change is
        proved, which exceeds ``self.radius`` by rounding alone. Refused: a smaller radius, and a certificate whose radius is
        infinite.

        Scope: stability only.
        """
        if math.isinf(self.radius):
            raise InvalidInput("radius", "is infinite: no perturbation changes this slate")
        gap = self.gaps.gap
        step, rival = np.unravel_index(int(gap.argmin()), gap.shape)
        scores, rest = largest(self.slate), rest_of(self.slate)
        smallest = float(gap[step, rival]) / (2.0 * rest)
        error = evaluation_error(self.slate, scores + 2.0 * smallest)
        # Twice the error on each side, the rounding of scores + d, and of this line.
        smallest = (smallest * (1.0 + 8.0 * UNIT) + 4.0 * error / rest) + 4.0 * UNIT * (scores + smallest) + 2.0**-1022
        size = asked_radius(radius, smallest)
        change = np.zeros(self.slate.pool.size)
        change[self.frame.chosen[step]], change[rival] = -size, size
        return frozen(change)

    @cached_property
    def pairs(self) -> Pairs:
        """The stepwise gaps in units of score."""
        return pairs_of(self.frame, self.gaps)

    def flip_bound(self, sigma: float, anchor_weight: float = 0.0) -> float:
        """Corollary "Sub-Gaussian greedy-slate stability": 2 |C| exp(-Gamma^2 / (8 (1-lambda)^2 sigma^2)), as it is.

        Bounds Pr[the ordered slate changes] when every coordinate error is two-sided sub-Gaussian with proxy sigma^2, independent
        or not; with an anchor of weight w sigma arrives as (1-w) sigma, and at w = 1 the bound is 0. Above 1 it says nothing.
        Refused: lambda = 1 and Gamma = 0, which the corollary excludes.

        Scope: stability only; prospective.
        """
        if rest_of(self.slate) == 0.0:
            raise InvalidInput("diversity", "the corollary assumes lambda < 1 (at 1 scores have no influence)", 1.0)
        if self.margin == 0.0:
            raise InvalidInput("margin", "the corollary assumes a positive margin", 0.0)
        return subgaussian_bound(self.slate.pool.size, self.radius, sigma, share_of_noise(anchor_weight))

    def flip_union(self, sigma: Any, anchor_weight: float = 0.0) -> float:
        """Gaussian union bound over all stepwise pairs: sum of Phi(-gap_{qj} / ((1-lambda) sd(xi_j - xi_{i_q}))), as it is.

        ``sigma`` is a number, one per candidate, an (n, n) covariance, or ``LowRank``. Bounds Pr[the ordered slate
        changes] and is within a few percent of it where it is below .2.

        Scope: stability only; prospective.
        """
        return self.pairs.union(noise_of(sigma, self.slate.pool.size, anchor_weight))

    def flip_probability(
        self, sigma: Any, *, tolerance: float | None = None, anchor_weight: float = 0.0, points: int = 4096, seed: int = 0
    ) -> Estimate:
        """Pr[the ordered slate changes] under Gaussian score noise, with its standard error.

        ``sigma`` is a number, one per candidate, an (n, n) covariance, or ``LowRank`` (factor plus diagonal).
        Sequential conditioning and scrambled Sobol points over the chosen items (``certify/sequential.py``); ``tolerance`` asks
        for a relative standard error: points double until it is met, or 2^20 are spent (``.error`` tells). Deterministic for a
        ``seed``.

        Scope: stability only; prospective.
        """
        count, wanted, start = check_sampling(points, tolerance, seed)
        return flip_probability(self.pairs, noise_of(sigma, self.slate.pool.size, anchor_weight), count, wanted, start)

    def set_flip_probability(
        self, sigma: Any, *, tolerance: float | None = None, anchor_weight: float = 0.0, points: int = 4096, seed: int = 0
    ) -> Estimate:
        """Pr[the set of chosen items changes], order aside: at most ``flip_probability``. Builds the pool's (n, n) similarities.

        Same ``sigma`` and ``tolerance`` as there. Where an order swap inside the slate is far likelier than any change of the set,
        ``error`` says what swaps could hide: at least the chance of a swap over the points.

        Scope: stability only; prospective.
        """
        count, wanted, start = check_sampling(points, tolerance, seed)
        noise = noise_of(sigma, self.slate.pool.size, anchor_weight)
        return set_flip_probability(self.frame, self.pairs, noise, count, wanted, start)

    def _alone(self, gap: float) -> float:
        rest, scores = rest_of(self.slate), largest(self.slate)
        if math.isinf(gap) or rest == 0.0:
            return math.inf
        margin = margin_down(down(gap), evaluation_error(self.slate, scores))
        error = evaluation_error(self.slate, scores + gap / rest)
        return float(2.0 * radius_down(margin, error, rest))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.slate.ids)}, margin={self.margin:.6g}, radius={self.radius:.6g})"


def asked_radius(radius: float | None, smallest: float) -> float:
    """The witness's norm: the smallest proved one, or the larger one asked for."""
    if radius is None:
        return smallest
    asked = finite_scalar(radius, "radius")
    if asked < smallest:
        raise InvalidInput("radius", f"a change is proved from {smallest!r} on", asked)
    return asked
