"""Greedy selection of one slate: the soft-window selector of the paper, and raw top-K as its plainest case."""

from __future__ import annotations

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select.base import BaseSelector, check_targets
from slateproof.select.kernels import LANES, greedy
from slateproof.select.presets import preset
from slateproof.types import LeverBounds, Levers, Pool, Rule, State, Steps
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.rule import Dissimilarity
from slateproof.types.similarity import NONE

__all__ = ["GreedySelector", "TopKSelector", "overflow"]

EMPTY: Floats = frozen(np.zeros(0))
"""Stands for a column that is not there."""

NO_RANKS: Ints = frozen(np.zeros(0, np.int64))


class GreedySelector(BaseSelector):
    """The paper's default selector ("Formal governed selector").

    mu-tilde(i) = mu(i) + ``target_gain`` prox(d(i), m) + alpha sigma(i), with prox = 1 - min{1, (d - m)^2 / ``window``^2}; then K
    times the item with the largest (1 - lambda) mu-tilde(i) - lambda sim(i, S) + ``novelty`` 1{i not in H}. ``dissimilarity``
    says what sim(i, S) is: the largest similarity to the chosen items ("max", MMR) or their mean ("mean", MSD). Ties go to the
    smallest id.

    Switch a term off with 0: ``target_gain``, ``novelty`` here, ``exploration``, ``diversity`` in the levers. With everything but
    exploration off and size 1 this is LinUCB's rule (Proposition "LinUCB recovery").

    Scope: stability only for margins; privacy is what ``privacy.assess`` says of the inputs.
    """

    __slots__ = ()

    def __init__(
        self,
        target_gain: float = 0.2,
        window: float = 0.3,
        novelty: float = 0.1,
        dissimilarity: Dissimilarity = "max",
        *,
        bounds: LeverBounds | None = None,
        policy_digest: str | None = None,
    ) -> None:
        rule = Rule("greedy", target_gain=target_gain, window=window, novelty=novelty, dissimilarity=dissimilarity)
        super().__init__(rule, bounds, policy_digest)

    @classmethod
    def preset(cls, name: str) -> GreedySelector:
        """The selector constants of a published preset ("oulad", "ednet")."""
        chosen = preset(name)
        return cls(chosen.target_gain, chosen.window, chosen.novelty)

    def _choose(self, pool: Pool, levers: Levers, state: State, target: float) -> Steps:
        rule = self.rule
        check_targets(pool, needed=rule.target_gain != 0.0)
        return run_greedy(pool, rule, levers, target, pool.ranks_of(state.shown_set))


class TopKSelector(BaseSelector):
    """The K candidates with the largest raw scores, in order; ties to the smallest id. Of the levers only ``size`` counts.

    Scope: stability only for margins; privacy is what ``privacy.assess`` says of the inputs.
    """

    __slots__ = ()

    def __init__(self, *, bounds: LeverBounds | None = None, policy_digest: str | None = None) -> None:
        super().__init__(TOP_K, bounds, policy_digest)

    def _choose(self, pool: Pool, levers: Levers, state: State, target: float) -> Steps:
        return run_greedy(pool, TOP_K, Levers(size=levers.size), target, NO_RANKS)


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
        places, numbers, kept, *scratch(n, k),
    )  # fmt: skip
    if wrong >= 0:
        raise overflow(pool, wrong)
    return Steps(k, frozen(places), frozen(numbers), frozen(kept))


def scratch(n: int, k: int) -> tuple[Ints, Floats]:
    """Room for one call of the kernel on up to ``n`` candidates and ``k`` steps."""
    return np.empty(2 * n + n // LANES + LANES + 1, np.int64), np.empty(5 * n + k + LANES)


def overflow(pool: Pool, place: int) -> InvalidInput:
    """The refusal of a pool whose objective leaves the finite numbers."""
    rule = "the objective must stay finite; scores, weights or similarities are too large"
    return InvalidInput("scores", rule, float(pool.scores[place]), where=pool.ids[place])
