"""The privacy status of a selector input, as its owner declares it (Definition "Privacy status of selector-side inputs").

Scope: a status is a declaration, not a proof; what follows from a set of them is decided by ``assess``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = ["KINDS", "Kind", "Status", "accounted", "conditioned", "dp_output", "non_private", "public", "status"]

Kind: TypeAlias = Literal["public", "dp-output", "accounted", "conditioned", "non-private"]

KINDS: tuple[Kind, ...] = ("public", "dp-output", "accounted", "conditioned", "non-private")
"""From the strongest declaration to the weakest; the first three can support an end-to-end claim."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is declared about one input: ``kind``, and for ``accounted`` its budget ``(epsilon, delta)``; 0 and 0 otherwise.

    ``epsilon`` >= 0 is finite, ``delta`` in [0, 1). A budget belongs to ``accounted`` alone: everything else is refused. The
    budget is meant for the protected unit and the neighbouring relation of the ledger that it is composed with.

    Scope: a declaration; carries no claim by itself.
    """

    kind: Kind
    epsilon: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput("status", f"must be one of {', '.join(KINDS)}", self.kind)
        object.__setattr__(self, "epsilon", finite_scalar(self.epsilon, "epsilon", 0.0))
        object.__setattr__(self, "delta", finite_scalar(self.delta, "delta", 0.0, 1.0))
        if self.delta == 1.0:
            raise InvalidInput("delta", "must be below 1", self.delta)
        if self.kind != "accounted" and (self.epsilon or self.delta):
            raise InvalidInput("status", "only an accounted input has a budget of its own", self.kind)

    def to_dict(self) -> str | dict[str, str | float]:
        """What a policy file holds: the kind alone, or a table with the budget. ``status`` reads it back."""
        if self.kind == "accounted":
            return {"status": self.kind, "epsilon": self.epsilon, "delta": self.delta}
        return self.kind


def public() -> Status:
    """Type (i): public, or independent of the protected data."""
    return Status("public")


def dp_output() -> Status:
    """Type (ii): an output of the releases in the ledger, or computed from such outputs alone."""
    return Status("dp-output")


def accounted(epsilon: float, delta: float) -> Status:
    """Type (iii): released by a DP mechanism of its own, outside the ledger, whose budget is composed."""
    return Status("accounted", epsilon, delta)


def conditioned() -> Status:
    """Type (iv): fixed by conditioning; a claim that stands on it does not protect it."""
    return Status("conditioned")


def non_private() -> Status:
    """Computed from the protected data without a DP mechanism; ends every end-to-end claim."""
    return Status("non-private")


def status(value: Status | str | Mapping[str, Any]) -> Status:
    """The status that a policy file holds.

    Takes ``"public"``, ``"dp-output"``, ``"conditioned"``, ``"non-private"``, ``{"status": one of these}`` or
    ``{"status": "accounted", "epsilon": e, "delta": d}``; a ``Status`` is returned as it is. Everything else is refused.

    Scope: a declaration.
    """
    if isinstance(value, Status):
        return value
    if isinstance(value, str):
        if value == "accounted":
            raise InvalidInput("status", 'must state its budget: {"status": "accounted", "epsilon": .., "delta": ..}', value)
        return _of_kind(value)
    if not isinstance(value, Mapping):
        raise InvalidInput("status", "must be a name or a table with the key 'status'", value)
    known = {"status", "epsilon", "delta"} if value.get("status") == "accounted" else {"status"}
    for key in value:
        if key not in known:
            raise InvalidInput("status", f"has a key that is not one of {', '.join(sorted(known))}", key)
    for key in sorted(known):
        if key not in value:
            raise InvalidInput("status", f"must have the key '{key}'", dict(value))
    if value["status"] == "accounted":
        return accounted(value["epsilon"], value["delta"])
    return _of_kind(value["status"])


def _of_kind(kind: Any) -> Status:
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput("status", f"must be one of {', '.join(KINDS)}", kind)
    return Status(kind)
