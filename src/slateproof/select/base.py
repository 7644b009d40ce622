"""What every selector has in common: the rule, the checks before a choice, and the shape of the result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, Self

from slateproof.errors import InvalidInput
from slateproof.select.batch import check_sizes
from slateproof.types import LeverBounds, Levers, Pool, PoolBatch, Rule, SetChoice, Slate, SlateBatch, State, Steps
from slateproof.types.leverbatch import LeverBatch, StateBatch
from slateproof.types.slate import slate_from

__all__ = ["BaseSelector", "Selector", "target_of"]


class Selector(Protocol):
    """Operator S: a deterministic map from (pool, levers, state) to a slate. What a user's own selector must offer."""

    @property
    def rule(self) -> Rule:
        """The constants that a trace must name."""
        ...

    def select(self, pool: Pool, levers: Levers, state: State = ...) -> Slate:
        """The slate; the same for the same input, whatever the order of the candidates."""
        ...


NEUTRAL = State()


def target_of(state: State, levers: Levers) -> float:
    """Target value m_t = clip(k-hat + Delta, 0, 1)."""
    shifted = state.knowledge + levers.target_shift
    return 0.0 if shifted <= 0.0 else min(shifted, 1.0)


@dataclass(frozen=True, slots=True, init=False)
class BaseSelector:
    """A rule, with the bounds of the policy that it was built from (None: only the bounds of ``Levers`` itself).

    Scope: none; the claims belong to the slate's trace, certificate and scope.
    """

    rule: Rule
    bounds: LeverBounds | None
    policy_digest: str | None

    def __init__(self, rule: Rule, bounds: LeverBounds | None = None, policy_digest: str | None = None) -> None:
        if bounds is not None and not isinstance(bounds, LeverBounds):
            raise InvalidInput("bounds", "must be LeverBounds", bounds)
        set_ = object.__setattr__
        set_(self, "rule", rule)
        set_(self, "bounds", bounds)
        set_(self, "policy_digest", policy_digest)

    def select(self, pool: Pool, levers: Levers, state: State = NEUTRAL) -> Slate:
        """The slate for one pool, with margins and full trace.

        ``levers`` outside the bounds, a size above the pool's, a pool without the targets that the rule needs, and scores so
        large that the objective overflows are refused. Without ``state`` the neutral priors stand in, with nothing shown.
        """
        if not isinstance(pool, Pool):
            raise InvalidInput("pool", "must be a Pool", type(pool).__name__)
        if not isinstance(levers, Levers):
            raise InvalidInput("levers", "must be Levers (a LeverMap makes them from a state)", type(levers).__name__)
        if not isinstance(state, State):
            raise InvalidInput("state", "must be a State", type(state).__name__)
        if self.bounds is not None:
            self.bounds.check(levers)
        if levers.size > pool.scores.size:
            raise InvalidInput("levers.size", f"must not exceed the pool's {pool.size} candidates", levers.size)
        if pool.targets is None and self._steers:
            raise no_targets()
        target = target_of(state, levers)
        steps = self._choose(pool, levers, state, target)
        return slate_from(pool, levers, state, self.rule, target, steps, self.policy_digest)

    def select_batch(
        self, pools: PoolBatch, levers: Any, states: Any = NEUTRAL, *, trace: bool = True, threads: int | None = None
    ) -> SlateBatch:
        """The slates of a batch, each the one that ``select`` gives, whatever the number of ``threads`` (None: all cores).

        ``levers`` and ``states`` are one value for all pools, a sequence, or columns. With ``trace=False`` the similarities that
        were asked for are not kept (less memory); a single slate asked for later is then selected again.
        """
        if not isinstance(pools, PoolBatch):
            raise InvalidInput("pools", "must be a PoolBatch", type(pools).__name__)
        columns, histories = LeverBatch.of(levers, len(pools)), StateBatch.of(states, len(pools))
        if self.bounds is not None:
            self.bounds.check_columns(columns)
        check_sizes(pools, columns)
        if not pools.has_targets and self._steers:
            raise no_targets()
        return self._choose_batch(pools, columns, histories, trace, threads).named(self.policy_digest)

    @property
    @abstractmethod
    def _steers(self) -> bool: ...

    @abstractmethod
    def _choose_batch(
        self, pools: PoolBatch, levers: LeverBatch, states: StateBatch, trace: bool, threads: int | None
    ) -> SlateBatch: ...

    @abstractmethod
    def _choose(self, pool: Pool, levers: Levers, state: State, target: float) -> Steps | SetChoice: ...

    def within(self, bounds: LeverBounds, policy_digest: str | None = None) -> Self:
        """The same selector, refusing levers outside ``bounds`` and naming the policy in its traces."""
        other = object.__new__(type(self))
        BaseSelector.__init__(other, self.rule, bounds, policy_digest)
        return other


def no_targets() -> InvalidInput:
    """The refusal of pools without targets where the rule steers towards one."""
    return InvalidInput(
        "targets", "the selector steers by target values, and the pool has none (greedy with target_gain=0 needs none)"
    )
