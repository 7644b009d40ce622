"""Verdicts on published numbers: computed from the two numbers and a stated rule, never written by hand.

In this order:

1. *not comparable* if there is no number of ours, or if what was measured is another quantity; ``why`` says so.
2. *reproduced* if ours lies in the published interval, or within the tolerance: the largest of an absolute one, a share of the
   published value, and twice the standard error of the difference, as far as we know it.
3. *same direction* if both lie on the same side of their reference (0 for a difference, the unanchored figure for an anchored
   one), or, without a reference, if both have the same sign and agree within a factor of three.
4. *differs* otherwise.

A cause stands beside a verdict as text and never changes it.

Scope: none; a verdict compares two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["KINDS", "MAGNITUDE", "Ours", "Published", "Verdict", "count", "judge"]

KINDS = ("reproduced", "same direction", "differs", "not comparable")
MAGNITUDE = 3.0
"""Without a reference, numbers that agree within this factor point the same way."""


@dataclass(frozen=True, slots=True)
class Published:
    """A number of the paper: where it stands (``label``), what it is, its interval, how close counts as the same.

    ``tolerance`` is absolute, ``share`` relative to the published value; a printed figure is known to half its last digit only, so
    ``tolerance`` is at least that. ``reference`` is the published figure that gives it a direction.

    Scope: none.
    """

    key: str
    label: str
    what: str
    value: float
    interval: tuple[float, float] | None = None
    tolerance: float = 0.0
    share: float = 0.0
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Ours:
    """Our number: the standard error of its difference to the published one, the reference on our side, and, if it is another
    quantity, why.

    Scope: none.
    """

    value: float | None
    error: float = 0.0
    reference: float | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Both numbers, the difference (ours - published), the verdict, the rule that gave it, and a cause if one was found.

    Scope: none.
    """

    key: str
    label: str
    what: str
    published: float
    interval: tuple[float, float] | None
    ours: float | None
    difference: float | None
    verdict: str
    rule: str
    cause: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "interval": None if self.interval is None else list(self.interval)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Verdict:
        """Read it back."""
        interval = value["interval"]
        return cls(**{**value, "interval": None if interval is None else (interval[0], interval[1])})


def judge(published: Published, ours: Ours, cause: str | None = None) -> Verdict:
    """The verdict on one number; ``cause`` is kept only where the number was not reproduced."""
    kind, rule = _decide(published, ours)
    difference = None if ours.value is None else ours.value - published.value
    shown = None if kind == "reproduced" else cause
    p = published
    return Verdict(p.key, p.label, p.what, p.value, p.interval, ours.value, difference, kind, rule, shown)


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many of each kind."""
    counts = dict.fromkeys(KINDS, 0)
    for one in verdicts:
        counts[one.verdict] += 1
    return counts


def _decide(published: Published, ours: Ours) -> tuple[str, str]:
    if ours.value is None or not math.isfinite(ours.value):
        return "not comparable", ours.why or "we have no number"
    if ours.why is not None:
        return "not comparable", ours.why
    value, target = ours.value, published.value
    if published.interval is not None and published.interval[0] <= value <= published.interval[1]:
        return "reproduced", f"in the published interval [{published.interval[0]:g}, {published.interval[1]:g}]"
    if value == target:
        return "reproduced", "equal"
    room, name = _tolerance(published, ours)
    # One unit in the last place: 0.3 - 0.2 is a little less than 0.1.
    if abs(value - target) <= room * (1.0 + 1e-12):
        return "reproduced", f"within {room:.3g} ({name})"
    return _direction(published, ours, room)


def _tolerance(published: Published, ours: Ours) -> tuple[float, str]:
    choices = (
        (published.tolerance, "stated tolerance"),
        (published.share * abs(published.value), f"{published.share:.0%} of the published value"),
        (2.0 * ours.error, "two standard errors of the difference"),
    )
    return max(choices)


def _direction(published: Published, ours: Ours, room: float) -> tuple[str, str]:
    assert ours.value is not None
    beyond = f"beyond {room:.3g}"
    if published.reference is not None and ours.reference is not None:
        theirs, mine = published.value - published.reference, ours.value - ours.reference
        if theirs * mine > 0.0:
            return "same direction", f"{beyond}; both {'above' if mine > 0.0 else 'below'} their reference"
        return "differs", f"{beyond}; not on the same side of the reference"
    if published.value * ours.value > 0.0 and 1.0 / MAGNITUDE <= ours.value / published.value <= MAGNITUDE:
        return "same direction", f"{beyond}; within a factor of {MAGNITUDE:g}"
    return "differs", f"{beyond}; not within a factor of {MAGNITUDE:g}"
