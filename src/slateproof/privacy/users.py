"""From rounds to users: group privacy over a contribution cap (Lemma "User-level lift").

Scope: end-to-end or conditional, whichever the lifted figure was; holds only where the cap was enforced before training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.privacy.accountants import ADD_OR_REMOVE, curve
from slateproof.privacy.events import whole
from slateproof.privacy.ledger import Ledger, check_delta
from slateproof.types.columns import finite_scalar

__all__ = ["UserLevel", "user_level", "user_level_at"]


@dataclass(frozen=True, slots=True)
class UserLevel:
    """A user-level budget. ``max_rounds_per_user`` is the cap it was lifted over, None where the unit was the user already.

    ``delta`` = 1 says that nothing is promised.

    Scope: as the round-level figure, for all rounds of a user together.
    """

    epsilon: float
    delta: float
    max_rounds_per_user: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"epsilon": self.epsilon, "delta": self.delta, "max_rounds_per_user": self.max_rounds_per_user}


def user_level(*, epsilon: float, delta: float, max_rounds_per_user: int) -> UserLevel:
    """Lemma "User-level lift": (Bε, δ (e^{Bε} - 1)/(e^ε - 1)) for at most B rounds per user.

    The quotient is B at ε = 0 and is computed in logarithms, so it neither cancels nor overflows. A second component of 1 or
    more promises nothing; it is returned as 1, because no delta is larger.

    Scope: the regime of ``epsilon``; without a cap enforced on the data before training there is no user-level figure.
    """
    epsilon = finite_scalar(epsilon, "epsilon", 0.0)
    delta = finite_scalar(delta, "delta", 0.0, 1.0)
    cap = whole(max_rounds_per_user, "max_rounds_per_user")
    if cap == 1:
        return UserLevel(epsilon, delta, cap)
    lifted = cap * epsilon
    if not math.isfinite(lifted):
        raise InvalidInput("epsilon", f"times {cap} rounds must be finite", epsilon)
    if delta == 0.0:
        return UserLevel(lifted, 0.0, cap)
    # Below the smallest normal number the quotient of two expm1 is rounding noise, and its value is the limit.
    log_ratio = math.log(cap) if epsilon < 1e-300 else _log_expm1(lifted) - _log_expm1(epsilon)
    return UserLevel(lifted, math.exp(min(0.0, math.log(delta) + log_ratio)), cap)


def _log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0."""
    return math.log(math.expm1(x)) if x < 1.0 else x + math.log1p(-math.exp(-x))


def user_level_at(ledger: Ledger, *, delta: float, max_rounds_per_user: int) -> UserLevel:
    """The user-level budget at a stated ``delta``, accounted for all rounds of a user at once instead of lifted.

    The lemma knows one point (ε, δ) and multiplies; its delta is one that nobody chose, and over 20 rounds often near 1. The
    ledger knows the releases: B units at once move an unsampled sum by B sensitivities and are, under Poisson sampling, a
    binomial mixture of Gaussians, which gives a far smaller budget. Add-or-remove-one only. For a ledger whose unit is the user
    the budget is the ledger's, without a cap.

    Scope: end-to-end for the recorded releases, for data on which the cap was enforced before training.
    """
    delta = check_delta(delta)
    cap = whole(max_rounds_per_user, "max_rounds_per_user")
    if not isinstance(ledger, Ledger):
        raise InvalidInput("ledger", "must be a Ledger", type(ledger).__name__)
    if ledger.unit == "user":
        return UserLevel(ledger.epsilon(delta), delta, None)
    if ledger.neighbouring != ADD_OR_REMOVE:
        raise InvalidInput("neighbouring", f"a group of rounds is accounted under {ADD_OR_REMOVE} only", ledger.neighbouring)
    return UserLevel(curve(ledger.releases, ledger.neighbouring, "pld", cap)(delta), delta, cap)
