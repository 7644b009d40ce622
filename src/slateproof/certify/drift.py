"""Target-value drift between consecutive rounds (Lemma "Selector-side target-value drift").

d-bar(A) is the mean target value of the accepted items. When every accepted item of both rounds lies in its window,

    |d-bar(A_{t+1}) - d-bar(A_t)| <= |m_{t+1} - m_t| + w_t + w_{t+1} <= eta + 2 Delta_max + w_t + w_{t+1}.

A window-enforcing selector (SCPO) gives this on every pair of rounds, with the realised widths w'_t >= w; the soft-window greedy
selector only on the rounds where the event ``in_window`` happened, which is looked at, never assumed.

Scope: stability only; about target values, not about learning or benefit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from slateproof.certify.rounding import UNIT, up
from slateproof.errors import InvalidInput
from slateproof.types import SetChoice, Slate
from slateproof.types.columns import Floats, finite_scalar
from slateproof.types.ids import ItemId

__all__ = [
    "DriftRow",
    "check",
    "envelope",
    "in_window",
    "jump",
    "mean_target",
    "realised_envelope",
    "running_mean_step",
    "window_of",
]

ROOM = 16.0 * UNIT
"""Room for rounding: of the envelope, of two means of numbers in [0, 1], and of the comparison |d - m| <= w."""


def running_mean_step(attempts: int) -> float:
    """eta after ``attempts`` attempts: how far k-hat, a running mean of {0, 1} answers with prior 1/2, can move in one round.

    n = 0: from 1/2 to 0 or 1, so 1/2. n >= 1: |s/n - (s+y)/(n+1)| = |s - n y| / (n (n+1)) <= n / (n (n+1)) = 1/(n+1). A round
    without an attempt does not move it. Rounded up.

    Scope: stability only.
    """
    if isinstance(attempts, bool) or not isinstance(attempts, (int, np.integer)) or attempts < 0:
        raise InvalidInput("attempts", "must be a whole number, at least 0", attempts)
    return 0.5 if attempts == 0 else up(1.0 / (int(attempts) + 1))


def envelope(eta: float, max_shift: float, window: float, next_window: float | None = None) -> float:
    """eta + 2 Delta_max + w_t + w_{t+1} (Lemma "Selector-side target-value drift"), rounded up; one ``window``: 2 w.

    Premises, which the caller vouches for: |k-hat_{t+1} - k-hat_t| <= eta, |Delta| <= max_shift, every accepted item in its
    round's window. ``check`` looks at all of them on real slates.

    Scope: stability only.
    """
    first = _window(window, "window")
    second = first if next_window is None else _window(next_window, "next_window")
    total = finite_scalar(eta, "eta", 0.0, 1.0) + 2.0 * finite_scalar(max_shift, "max_shift", 0.0, 1.0) + first + second
    return up(total * (1.0 + ROOM) + ROOM)


def realised_envelope(target: float, next_target: float, window: float, next_window: float) -> float:
    """|m_{t+1} - m_t| + w_t + w_{t+1}, rounded up: the same lemma with the targets that really stood in the trace; never looser.

    Scope: stability only.
    """
    moved = abs(finite_scalar(next_target, "next_target", 0.0, 1.0) - finite_scalar(target, "target", 0.0, 1.0))
    total = moved + _window(window, "window") + _window(next_window, "next_window")
    return up(total * (1.0 + ROOM) + ROOM)


def window_of(slate: Slate) -> float:
    """The width that the slate's items keep: w'_t as realised by SCPO; the soft window w of a greedy slate (an event)."""
    if isinstance(slate.steps, SetChoice):
        return slate.steps.window
    if slate.rule.kind == "top-k":
        raise InvalidInput("slate", "a top-K slate has no window", slate.rule.kind)
    return slate.rule.window


def in_window(slate: Slate, accepted: Sequence[ItemId] | None = None) -> bool:
    """The event Win_t(w): |d(i) - m_t| <= w for every ``accepted`` item (default: every item shown).

    Scope: stability only.
    """
    return bool((np.abs(_targets(slate, accepted) - slate.target) <= window_of(slate)).all())


def mean_target(slate: Slate, accepted: Sequence[ItemId] | None = None) -> float:
    """d-bar(A_t): mean target value of the ``accepted`` items (default: all shown). Refuses an empty set, which has no mean."""
    values = _targets(slate, accepted)
    return math.fsum(values.tolist()) / values.size


def jump(slate: Slate, following: Slate, accepted: Sequence[ItemId] | None = None, then: Sequence[ItemId] | None = None) -> float:
    """|d-bar(A_{t+1}) - d-bar(A_t)|; ``accepted`` and ``then`` are the accepted items of the two rounds (default: all shown)."""
    return abs(mean_target(following, then) - mean_target(slate, accepted))


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One pair of consecutive rounds. ``applies``: both windows kept; ``envelope`` None where eta or Delta_max was not given.

    ``within`` says whether the jump keeps the realised envelope; None where the lemma does not apply.

    Scope: stability only.
    """

    round: int
    jump: float
    target_move: float
    window: float
    next_window: float
    applies: bool
    realised: float
    eta: float | None
    envelope: float | None
    within: bool | None


def check(
    slates: Sequence[Slate],
    *,
    attempts: Sequence[int] | None = None,
    max_shift: float | None = None,
    accepted: Sequence[Sequence[ItemId]] | None = None,
) -> list[DriftRow]:
    """The lemma on a sequence of rounds, pair by pair: one row per pair.

    ``attempts[t]`` is the number of attempts before round t, which gives eta by ``running_mean_step``; with ``max_shift``
    (Delta_max) it gives the prospective envelope. Both or neither. Refused, because then a premise is false: a slate whose lever
    exceeds ``max_shift``, a move of k-hat beyond its eta, and a move of the target beyond eta + 2 Delta_max. ``accepted[t]``:
    accepted items of round t (default: all shown).

    Scope: stability only.
    """
    if isinstance(slates, Slate) or not all(isinstance(slate, Slate) for slate in slates):
        raise InvalidInput("slates", "must be a sequence of slates, one per round", type(slates).__name__)
    if len(slates) < 2:
        raise InvalidInput("slates", "drift needs at least two consecutive rounds", len(slates))
    if (attempts is None) != (max_shift is None):
        raise InvalidInput("attempts", "the prospective envelope needs both attempts and max_shift", (attempts, max_shift))
    for name, given in (("attempts", attempts), ("accepted", accepted)):
        if given is not None and len(given) != len(slates):
            raise InvalidInput(name, f"must have one entry per slate ({len(slates)})", len(given))
    rows = []
    for t, (now, then) in enumerate(pairwise(slates)):
        sets = (None, None) if accepted is None else (accepted[t], accepted[t + 1])
        eta = None if attempts is None else running_mean_step(attempts[t])
        rows.append(_row(t, now, then, sets, eta, max_shift))
    return rows


def _row(t: int, now: Slate, then: Slate, sets: Any, eta: float | None, max_shift: float | None) -> DriftRow:
    first, second = window_of(now), window_of(then)
    realised = realised_envelope(now.target, then.target, first, second)
    applies = in_window(now, sets[0]) and in_window(then, sets[1])
    moved = jump(now, then, *sets)
    bound = None
    if eta is not None and max_shift is not None:
        _check_premises(t, now, then, eta, max_shift)
        bound = envelope(eta, max_shift, first, second)
    return DriftRow(
        round=t,
        jump=moved,
        target_move=abs(then.target - now.target),
        window=first,
        next_window=second,
        applies=applies,
        realised=realised,
        eta=eta,
        envelope=bound,
        within=moved <= realised if applies else None,
    )


def _check_premises(t: int, now: Slate, then: Slate, eta: float, max_shift: float) -> None:
    for slate in (now, then):
        if abs(slate.levers.target_shift) > max_shift:
            raise InvalidInput("max_shift", "a round's target lever exceeds it", slate.levers.target_shift, where=t)
    move = abs(then.state.knowledge - now.state.knowledge)
    if move > eta + 4.0 * UNIT:
        raise InvalidInput("attempts", f"knowledge moved by more than eta = {eta:.6g}: not a running mean", move, where=t)
    shift = abs(then.target - now.target)
    if shift > eta + 2.0 * max_shift + ROOM:
        rule = f"moved by more than eta + 2 Delta_max = {eta + 2.0 * max_shift:.6g}: not clip(knowledge + shift, 0, 1)"
        raise InvalidInput("target", rule, shift, where=t)


def _targets(slate: Slate, accepted: Sequence[ItemId] | None) -> Floats:
    if slate.pool.targets is None:
        raise InvalidInput("targets", "drift is about target values, and the pool has none")
    if accepted is None:
        values: Floats = slate.pool.targets[slate.indices]
        return values
    shown = set(slate.ids)
    for item in accepted:
        if item not in shown:
            raise InvalidInput("accepted", "was not shown in this round", item)
    if len(accepted) == 0:
        raise InvalidInput("accepted", "must name at least one item: an empty set has no mean")
    places = [slate.pool.position(item) for item in accepted]
    return slate.pool.targets[places]


def _window(value: Any, field: str) -> float:
    return finite_scalar(value, field, 0.0)
