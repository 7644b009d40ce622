"""SCPO, the window-enforcing selector of the paper's appendix, and the selector that belongs to a rule."""

from __future__ import annotations

from slateproof.errors import InvalidInput
from slateproof.select.base import BaseSelector
from slateproof.select.batch import batch_targets, run_window_batch, slate_of
from slateproof.select.greedy import GreedySelector, TopKSelector
from slateproof.select.presets import preset
from slateproof.select.scpo import choose_set
from slateproof.types import LeverBounds, Levers, Pool, PoolBatch, Rule, SetChoice, Slate, SlateBatch, State
from slateproof.types.leverbatch import LeverBatch, StateBatch

__all__ = ["WindowSelector", "selector_of"]


class WindowSelector(BaseSelector):
    """The exact maximiser of the SCPO objective under the window (appendix "Window-enforcing selector (SCPO)").

    Among all sets of K candidates with |d(i) - m| <= ``window`` it takes the one with the largest
    (1 - lambda) sum mu-tilde(i) - lambda max sim(i, j); ties go to the lexicographically smallest id set. If fewer than K
    candidates are feasible, the window widens to the smallest w' with K feasible ones, and the slate records it. The slate
    is ordered by shaped score, then id. The search counts nodes, not seconds: past ``node_budget`` it returns the best set
    found, marked as not proved, with a proved bound on how much better another set could be, and claims no margin.

    Scope: stability only for the margin; the drift envelope (Lemma "Selector-side target-value drift") holds with the
    realised window.
    """

    __slots__ = ()

    def __init__(
        self,
        window: float = 0.3,
        target_gain: float = 0.2,
        node_budget: int = 1_000_000,
        *,
        bounds: LeverBounds | None = None,
        policy_digest: str | None = None,
    ) -> None:
        rule = Rule("window", target_gain=target_gain, window=window, novelty=0.0, node_budget=node_budget)
        super().__init__(rule, bounds, policy_digest)

    @classmethod
    def preset(cls, name: str) -> WindowSelector:
        """The selector constants of a published preset ("oulad", "ednet"); SCPO has no novelty term."""
        chosen = preset(name)
        return cls(chosen.window, chosen.target_gain)

    def _choose(self, pool: Pool, levers: Levers, state: State, target: float) -> SetChoice:
        return choose_set(pool, self.rule, levers, target)

    @property
    def _steers(self) -> bool:
        return True

    def _choose_batch(
        self, pools: PoolBatch, levers: LeverBatch, states: StateBatch, trace: bool, threads: int | None
    ) -> SlateBatch:
        target = batch_targets(states, levers)

        def one(b: int) -> SetChoice:
            return choose_set(pools[b], self.rule, levers[b], float(target[b]))

        return run_window_batch(pools, levers, states, self.rule, threads, one, _slate_of_set)


def _slate_of_set(batch: SlateBatch, b: int) -> Slate:
    if batch.choices is None:
        raise InvalidInput("batch", "does not hold choices among sets")
    return slate_of(batch, b, batch.choices[b])


def selector_of(rule: Rule, bounds: LeverBounds | None = None, policy_digest: str | None = None) -> BaseSelector:
    """The selector that a rule describes: what replay uses."""
    if rule.kind == "top-k":
        return TopKSelector(bounds=bounds, policy_digest=policy_digest)
    if rule.kind == "window":
        return WindowSelector(rule.window, rule.target_gain, rule.node_budget, bounds=bounds, policy_digest=policy_digest)
    if rule.kind != "greedy":
        raise InvalidInput("rule.kind", "has no selector", rule.kind)
    terms = (rule.target_gain, rule.window, rule.novelty, rule.dissimilarity)
    return GreedySelector(*terms, bounds=bounds, policy_digest=policy_digest)
