"""The selector's state in columns: the paper's running means, equal to ``State.from_history`` bit for bit.

A round of item-level responses becomes one observation: a_r = 1 where any shown item was attempted; y_r = 1 where moreover at least
half of the attempted items were correct.

Scope: none; a state made from raw responses is a conditioned input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.simulate.responses import Response
from slateproof.types.columns import Floats, Ints

__all__ = ["Observed", "round_of", "uncertainty"]

PRIOR = 0.5


def round_of(response: Response) -> tuple[Any, Any]:
    """(a_r, y_r) of a round, one value per session."""
    tries = response.attempted.sum(axis=1)
    attempted = tries > 0
    return attempted, attempted & (2 * response.correct.sum(axis=1) >= tries)


def uncertainty(widths: Floats | None, reference: float | None, sessions: int) -> Floats:
    """u = mean of min(1, sigma / sigma_ref) over the pool, added in id order; .5 where there are no widths."""
    if widths is None or reference is None:
        return np.full(sessions, PRIOR)
    # cumsum adds one by one, as the scalar state does; sum() would add in pairs.
    return np.asarray(np.cumsum(np.minimum(1.0, widths / reference), axis=1)[:, -1] / widths.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What was observed before a round: counts of ``attempts`` and ``correct`` rounds (S,), how many ``rounds``, and what was
    ``shown`` to each session, oldest first, at most ``memory`` ids; ``seen`` (S, items) says what was ever shown.

    Scope: none.
    """

    attempts: Ints
    correct: Ints
    rounds: int
    shown: tuple[tuple[Any, ...], ...]
    seen: Any
    memory: int

    @classmethod
    def nothing(cls, sessions: int, items: int, memory: int) -> Observed:
        """Before the first round."""
        zero = np.zeros(sessions, np.int64)
        return cls(zero, zero, 0, ((),) * sessions, np.zeros((sessions, items), np.bool_), memory)

    @property
    def knowledge(self) -> Floats:
        """k-hat."""
        return np.where(self.attempts > 0, self.correct / np.maximum(self.attempts, 1), PRIOR)

    @property
    def engagement(self) -> Floats:
        """e-hat."""
        return self.attempts / self.rounds if self.rounds else np.full(self.attempts.size, PRIOR)

    def after(self, items: Ints, ids: list[list[Any]], attempted: Any, correct: Any) -> Observed:
        """With one more round: ``items`` (S, K) codes padded with -1, their ``ids``, and (a_r, y_r)."""
        keep = self.memory
        shown = tuple((old + tuple(new))[-keep:] if keep else () for old, new in zip(self.shown, ids, strict=True))
        seen = self.seen.copy()
        rows, places = np.nonzero(items >= 0)
        seen[rows, items[rows, places]] = True
        return Observed(self.attempts + attempted, self.correct + correct, self.rounds + 1, shown, seen, keep)
