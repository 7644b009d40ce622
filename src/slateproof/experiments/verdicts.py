"""Verdicts on published numbers: computed from the two numbers and a stated rule, never written by hand.

In this order:

1. *not comparable* if there is no number of ours, or if what was measured is another quantity; ``why`` says so.
2. *reproduced* if ours lies in the published interval, or within the tolerance: the largest of an absolute one, a share of the
   published value, and twice the standard error of the difference, as far as we know it, but of that no more than half the
   published value: noise that could double a number, or turn its sign, does not reproduce it.
3. *same direction* if both lie on the same side of their reference (0 for a difference, the unanchored figure for an anchored
   one), or, without a reference, if both have the same sign and agree within a factor of three; shares between 0 and 1 must do so
   in what they leave to 1, too (.99 and .70 do not: one leaves 1 %, the other 30 %).
4. *differs* otherwise.

A cause stands beside a verdict as text and never changes it. ``basis`` says by what a number was reproduced; a published number
that is a formula evaluated (a bound, an ε label) is no measurement and is counted apart.

Scope: none; a verdict compares two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["BASES", "KINDS", "MAGNITUDE", "Ours", "Published", "Verdict", "bases", "count", "judge"]

KINDS = ("reproduced", "same direction", "differs", "not comparable")
MAGNITUDE = 3.0
"""Without a reference, numbers that agree within this factor point the same way."""
NOISE = 0.5
"""Two standard errors reproduce a number only as far as this share of it."""
BASES = {
    "equal": "equal",
    "interval": "in the published interval",
    "tolerance": "within a stated tolerance",
    "noise": "within two standard errors of the difference",
    "formula": "a formula evaluated again, no measurement",
}
"""By what a number is reproduced."""


@dataclass(frozen=True, slots=True)
class Published:
    """A number of the paper: where it stands (``label``), what it is, its interval, how close counts as the same.

    ``tolerance`` is absolute, ``share`` relative to the published value; a printed figure is known to half its last digit only, so
    ``tolerance`` is at least that. ``reference`` is the published figure that gives it a direction. ``bounded``: a share between
    0 and 1. ``formula``: nothing was measured, a formula was evaluated.

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
    bounded: bool = False
    formula: bool = False


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

    ``basis`` is a key of ``BASES`` where the number was reproduced, and empty elsewhere.

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
    basis: str = ""

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
    basis, (kind, rule) = "", _without(ours)
    if not kind:
        basis, rule = _reproduced(published, ours)
        kind, rule = ("reproduced", rule) if basis else _direction(published, ours, rule)
    difference = None if ours.value is None else ours.value - published.value
    shown = None if kind == "reproduced" else cause
    p = published
    basis = "formula" if basis and p.formula else basis
    return Verdict(p.key, p.label, p.what, p.value, p.interval, ours.value, difference, kind, rule, shown, basis)


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many of each kind."""
    counts = dict.fromkeys(KINDS, 0)
    for one in verdicts:
        counts[one.verdict] += 1
    return counts


def bases(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many numbers were reproduced by what."""
    counts = dict.fromkeys(BASES, 0)
    for one in verdicts:
        if one.basis:
            counts[one.basis] += 1
    return counts


def _without(ours: Ours) -> tuple[str, str]:
    """(not comparable, why), or nothing."""
    if ours.value is None or not math.isfinite(ours.value):
        return "not comparable", ours.why or "we have no number"
    return ("not comparable", ours.why) if ours.why is not None else ("", "")


def _reproduced(published: Published, ours: Ours) -> tuple[str, str]:
    """(basis, rule); without a basis the rule says how far off ours is."""
    value, target = ours.value, published.value
    assert value is not None
    if published.interval is not None and published.interval[0] <= value <= published.interval[1]:
        return "interval", f"in the published interval [{published.interval[0]:g}, {published.interval[1]:g}]"
    if value == target:
        return "equal", "equal"
    room, basis, name = _tolerance(published, ours)
    # One unit in the last place: 0.3 - 0.2 is a little less than 0.1.
    if abs(value - target) <= room * (1.0 + 1e-12):
        return basis, f"within {room:.3g} ({name})"
    return "", f"beyond {room:.3g}" if room else "not equal"


def _tolerance(published: Published, ours: Ours) -> tuple[float, str, str]:
    size, noise = abs(published.value), 2.0 * ours.error
    two = "two standard errors of the difference"
    choices = (
        (published.tolerance, "tolerance", "stated tolerance"),
        (published.share * size, "tolerance", f"{published.share:.0%} of the published value"),
        (min(noise, NOISE * size), "noise", two if noise <= NOISE * size else f"{two}, at most half the published value"),
    )
    return max(choices)


def _direction(published: Published, ours: Ours, beyond: str) -> tuple[str, str]:
    value, target = ours.value, published.value
    assert value is not None
    if published.reference is not None and ours.reference is not None:
        theirs, mine = target - published.reference, value - ours.reference
        if theirs * mine > 0.0:
            return "same direction", f"{beyond}; both {'above' if mine > 0.0 else 'below'} their reference"
        return "differs", f"{beyond}; not on the same side of the reference"
    if not _near(value, target):
        return "differs", f"{beyond}; not within a factor of {MAGNITUDE:g}"
    if published.bounded and not _near(1.0 - value, 1.0 - target):
        return "differs", f"{beyond}; what is left to 1 is not within a factor of {MAGNITUDE:g}"
    return "same direction", f"{beyond}; within a factor of {MAGNITUDE:g}"


def _near(value: float, target: float) -> bool:
    return value * target > 0.0 and 1.0 / MAGNITUDE <= value / target <= MAGNITUDE
