"""The pre-round state s_t and how it follows from the rounds before (the paper's "Pre-round state")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.columns import as_listed, finite_scalar
from slateproof.types.ids import ItemId, as_ids
from slateproof.types.pool import Pool

__all__ = ["Round", "State"]

PRIOR = 0.5
"""Neutral prior of knowledge and engagement before anything was observed (k-hat_1 = e-hat_1 = 1/2)."""


@dataclass(frozen=True, slots=True)
class Round:
    """One past round: the ids shown, in order; whether the round was attempted; whether the response was correct.

    ``correct`` is the paper's tilde-y: without an attempt it is not observed and counts as 0.

    Scope: none; an observation carries no claim.
    """

    shown: tuple[ItemId, ...]
    attempted: bool
    correct: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", as_ids(self.shown, field="shown"))
        for name in ("attempted", "correct"):
            object.__setattr__(self, name, _flag(getattr(self, name), name))

    @classmethod
    def of(cls, value: Round | dict[str, Any] | Sequence[Any]) -> Round:
        """A round from a ``Round``, a mapping with the same names, or ``(shown, attempted, correct)``."""
        if isinstance(value, Round):
            return value
        if isinstance(value, dict):
            unknown = [name for name in value if name not in ("shown", "attempted", "correct")]
            if unknown:
                raise InvalidInput("rounds", "a round has shown, attempted and correct only", unknown[0])
            for name in ("shown", "attempted"):
                if name not in value:
                    raise InvalidInput("rounds", f"a round needs {name}", value)
            return cls(**value)
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or not 2 <= len(value) <= 3:
            raise InvalidInput("rounds", "a round is (shown, attempted, correct)", value)
        return cls(*value)


def _flag(value: Any, name: str) -> bool:
    if value is None and name == "correct":
        return False
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer, float)) and value in (0, 1)):
        return bool(value)
    raise InvalidInput(name, "must be 0 or 1", value)


@dataclass(frozen=True, slots=True)
class State:
    """Selector state s_t = (k-hat, e-hat, u, H): ``knowledge``, ``engagement``, ``uncertainty`` in [0, 1], ``shown`` ids in order.

    ``shown`` is the novelty memory H_t: the last displayed ids, oldest first. An id may stand in it more than once.

    Scope: none; whether the state may support a privacy claim is declared in the policy, not here.
    """

    knowledge: float = PRIOR
    engagement: float = PRIOR
    uncertainty: float = PRIOR
    shown: tuple[ItemId, ...] = ()
    _shown_set: frozenset[ItemId] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "knowledge", finite_scalar(self.knowledge, "knowledge", 0.0, 1.0))
        set_(self, "engagement", finite_scalar(self.engagement, "engagement", 0.0, 1.0))
        set_(self, "uncertainty", finite_scalar(self.uncertainty, "uncertainty", 0.0, 1.0))
        set_(self, "shown", as_ids(self.shown, field="shown"))
        set_(self, "_shown_set", frozenset(self.shown))

    @property
    def shown_set(self) -> frozenset[ItemId]:
        """The ids of the novelty memory, without order."""
        return self._shown_set

    @classmethod
    def from_history(
        cls,
        rounds: Iterable[Round | dict[str, Any] | Sequence[Any]],
        *,
        pool: Pool | None = None,
        width_reference: float | None = None,
        memory: int = 200,
    ) -> State:
        """The deterministic state map U(S_<t, o_<t, C_t).

        ``engagement`` is the share of rounds attempted, ``knowledge`` the share of attempts that were correct, both .5 before
        anything was observed. ``uncertainty`` is the mean over the pool of min(1, width / width_reference); it needs both
        ``pool`` (with widths) and ``width_reference`` > 0, and is .5 when neither is given. ``memory`` is L_H >= 0, the number
        of displayed ids remembered.
        """
        seen = [Round.of(value) for value in as_listed(rounds, "rounds")]
        attempts = sum(r.attempted for r in seen)
        correct = sum(r.attempted and r.correct for r in seen)
        if isinstance(memory, bool) or not isinstance(memory, (int, np.integer)) or memory < 0:
            raise InvalidInput("memory", "must be a whole number, at least 0", memory)
        displayed = [item for r in seen for item in r.shown]
        return cls(
            knowledge=correct / attempts if attempts else PRIOR,
            engagement=attempts / len(seen) if seen else PRIOR,
            uncertainty=_uncertainty(pool, width_reference),
            shown=tuple(displayed[max(0, len(displayed) - int(memory)) :]),
        )


def _uncertainty(pool: Pool | None, width_reference: float | None) -> float:
    """u = mean over the pool of min(1, sigma / sigma_ref), summed in id order so that input order cannot change it."""
    if pool is None and width_reference is None:
        return PRIOR
    if pool is None or width_reference is None:
        missing = "pool" if pool is None else "width_reference"
        raise InvalidInput(missing, "uncertainty needs both a pool with widths and a width_reference")
    if not isinstance(pool, Pool):
        raise InvalidInput("pool", "must be a Pool", type(pool).__name__)
    reference = finite_scalar(width_reference, "width_reference", 0.0)
    if reference == 0.0:
        raise InvalidInput("width_reference", "must be above 0", reference)
    if pool.widths is None:
        raise InvalidInput("widths", "the pool has none, and uncertainty is their mean")
    total = 0.0
    for width in pool.widths[pool.order].tolist():
        total += min(1.0, width / reference)
    return total / pool.size
