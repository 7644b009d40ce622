"""Greedy selection: the soft-window selector of the paper, and raw top-K as its plainest case."""

from __future__ import annotations

import numpy as np

from slateproof.select.base import BaseSelector
from slateproof.select.batch import rebuild, run_greedy_batch, slate_of
from slateproof.select.kernels import shape
from slateproof.select.presets import preset
from slateproof.select.run import EMPTY, NO_RANKS, TOP_K, run_greedy
from slateproof.types import LeverBatch, LeverBounds, Levers, Pool, PoolBatch, Rule, Slate, SlateBatch, State, StateBatch, Steps
from slateproof.types.columns import Floats
from slateproof.types.rule import Dissimilarity

__all__ = ["GreedySelector", "TopKSelector"]


class Stepwise(BaseSelector):
    """What greedy and top-K share: slates are built step by step by one kernel."""

    __slots__ = ()

    @property
    def _steers(self) -> bool:
        return self.rule.target_gain != 0.0

    def _choose_batch(
        self, pools: PoolBatch, levers: LeverBatch, states: StateBatch, trace: bool, threads: int | None
    ) -> SlateBatch:
        return run_greedy_batch(pools, levers, states, self.rule, trace, threads, self._slate_of)

    def _slate_of(self, batch: SlateBatch, b: int) -> Slate:
        kept = rebuild(batch, b, self._shaped)
        if kept is not None:
            return slate_of(batch, b, kept)
        return slate_of(batch, b, self._choose(batch.pools[b], batch.levers[b], batch.states[b], float(batch.target[b])))

    def _shaped(self, pool: Pool, levers: Levers, target: float) -> Floats:
        rule, shaped = self.rule, np.empty(pool.size)
        exploration = 0.0 if rule.kind == "top-k" else levers.exploration
        targets, widths = (EMPTY if column is None else column for column in (pool.targets, pool.widths))
        shape(pool.scores, targets, widths, target, rule.window, rule.target_gain, exploration, shaped)
        return shaped


class GreedySelector(Stepwise):
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
        shown = pool.ranks_of(state.shown_set) if state.shown else NO_RANKS
        return run_greedy(pool, self.rule, levers, target, shown)


class TopKSelector(Stepwise):
    """The K candidates with the largest raw scores, in order; ties to the smallest id. Of the levers only ``size`` counts.

    Scope: stability only for margins; privacy is what ``privacy.assess`` says of the inputs.
    """

    __slots__ = ()

    def __init__(self, *, bounds: LeverBounds | None = None, policy_digest: str | None = None) -> None:
        super().__init__(TOP_K, bounds, policy_digest)

    def _choose(self, pool: Pool, levers: Levers, state: State, target: float) -> Steps:
        return run_greedy(pool, TOP_K, Levers(size=levers.size), target, NO_RANKS)
