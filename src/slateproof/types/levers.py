"""The four levers of the governed policy class and the box they may move in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar
from slateproof.types.row import Row, refuse

if TYPE_CHECKING:
    from slateproof.types.leverbatch import LeverBatch

__all__ = ["LeverBounds", "Levers"]


@dataclass(frozen=True, slots=True)
class Levers:
    """Lever vector theta = (Delta, alpha, lambda, K) of the paper's "Formal governed selector".

    ``target_shift`` in [-1, 1] is added to the estimated knowledge to give the target value; ``exploration`` >= 0 weighs the
    uncertainty widths; ``diversity`` in [0, 1] trades shaped relevance against similarity; ``size`` >= 1 is the slate's length.
    Everything else is refused.

    Scope: none; a setting carries no claim.
    """

    target_shift: float = 0.0
    exploration: float = 0.0
    diversity: float = 0.0
    size: int = 10

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "target_shift", finite_scalar(self.target_shift, "target_shift", -1.0, 1.0))
        set_(self, "exploration", finite_scalar(self.exploration, "exploration", 0.0))
        set_(self, "diversity", finite_scalar(self.diversity, "diversity", 0.0, 1.0))
        set_(self, "size", _size(self.size, "size"))


def _size(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidInput(field, "must be a whole number", value)
    if value < 1:
        raise InvalidInput(field, "must be at least 1", int(value))
    return int(value)


def _interval(value: Any, field: str, floor: float, ceiling: float) -> tuple[Any, Any]:
    """(low, high) as given, in a tuple; infinite ends are allowed where the lever itself is unbounded."""
    rule = f"must be an interval inside [{floor:g}, {ceiling:g}]"
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidInput(field, rule, value)
    for end in value:
        if isinstance(end, (bool, np.bool_)) or not isinstance(end, (int, float, np.integer, np.floating)):
            raise InvalidInput(field, rule, value)
    low, high = value
    if not floor <= low <= high <= ceiling:
        raise InvalidInput(field, rule, (low, high))
    return low, high


@dataclass(frozen=True, slots=True)
class LeverBounds:
    """The box Theta_gr: a closed interval per lever, ``low <= high``.

    A lever map clips into it; a selector built from a policy refuses levers outside it.

    Scope: none; a setting carries no claim.
    """

    target_shift: tuple[float, float] = (-1.0, 1.0)
    exploration: tuple[float, float] = (0.0, float("inf"))
    diversity: tuple[float, float] = (0.0, 1.0)
    size: tuple[int, int] = (1, 2**31)

    def __post_init__(self) -> None:
        widest = {
            "target_shift": (-1.0, 1.0),
            "exploration": (0.0, np.inf),
            "diversity": (0.0, 1.0),
            "size": (1, np.inf),
        }
        for name, (floor, ceiling) in widest.items():
            object.__setattr__(self, name, _interval(getattr(self, name), f"bounds.{name}", floor, ceiling))

    def check(self, levers: Levers) -> None:
        """Refuse levers outside the box, naming the first lever and its interval."""
        for name in ("target_shift", "exploration", "diversity", "size"):
            low, high = getattr(self, name)
            value = getattr(levers, name)
            if not low <= value <= high:
                raise InvalidInput(f"levers.{name}", f"the policy allows [{low:g}, {high:g}]", value)

    def check_columns(self, levers: LeverBatch) -> None:
        """The same for the levers of a batch; the rows outside are refused together."""
        for name in ("target_shift", "exploration", "diversity", "size"):
            low, high = getattr(self, name)
            column = getattr(levers, name)
            outside = np.flatnonzero((column < low) | (column > high))
            rule = f"the policy allows [{low:g}, {high:g}]"
            refuse([InvalidInput(f"levers.{name}", rule, column[row].item(), where=Row(int(row))) for row in outside])
