"""The refusals that every scorer shares: item codes, feedback, settings.

Scope: none; validation only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Context, Feedback
from slateproof.types.columns import Floats, Ints

__all__ = ["check_feedback", "check_items", "check_seed", "check_whole", "extra", "finite"]


def check_items(items: Any, context: Context, known: int) -> Ints:
    """``items`` as int64 codes (S, n), each in [0, known); the first code that is not of the corpus is named with its place."""
    codes = _codes(items, context)
    _refuse_outside(codes, 0, known)
    return codes


def check_feedback(feedback: Feedback, context: Context, known: int) -> tuple[Ints, Any]:
    """The item codes of a round, int64 with -1 where nothing was shown, and which of them were attempted (bool).

    Refuses codes that are not of the corpus, and answers to items that were not shown.
    """
    codes = _codes(feedback.items, context)
    _refuse_outside(codes, -1, known)
    attempted = np.asarray(feedback.attempted, np.bool_)
    odd = (attempted & (codes < 0)) | (np.asarray(feedback.correct, np.bool_) & ~attempted)
    if odd.any():
        session, place = (int(v) for v in np.argwhere(odd)[0])
        rule = "must be an attempt at a shown item, and correct only where attempted"
        raise InvalidInput("attempted", rule, int(codes[session, place]), where=(session, place))
    return codes, attempted


def check_seed(seed: Any) -> int:
    """A seed: a whole number, at least 0."""
    return check_whole(seed, "seed", 0)


def check_whole(value: Any, field: str, least: int) -> int:
    """``value`` as an int of at least ``least``; booleans are no numbers."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(field, f"must be a whole number, at least {least}", value)
    return int(value)


def extra(module: str, learner: str) -> Any:
    """A module of the extra ``learn``; where it is not installed, the refusal says what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as why:
        if why.name is None or why.name.startswith("slateproof"):
            raise
        rule = f"{learner} needs the extra 'learn' ({why.name} is missing): pip install 'slateproof[learn]'"
        raise InvalidInput("learner", rule, learner) from why


def finite(values: Floats, field: str) -> Floats:
    """``values``, refused where one is NaN or infinite: what a scorer returns is always a number."""
    good = np.isfinite(values)
    if not good.all():
        place = tuple(int(v) for v in np.argwhere(~good)[0])
        raise InvalidInput(field, "must be finite", float(values[place]), where=place)
    return values


def _codes(items: Any, context: Context) -> Ints:
    codes = np.asarray(items)
    if codes.dtype.kind not in "iu" or codes.ndim != 2 or codes.shape[0] != context.user.size:
        raise InvalidInput("items", f"must be whole numbers, one row per session ({context.user.size})", codes.shape)
    return np.ascontiguousarray(codes, np.int64)


def _refuse_outside(codes: Ints, low: int, known: int) -> None:
    bad = (codes < low) | (codes >= known)
    if bad.any():
        session, place = (int(v) for v in np.argwhere(bad)[0])
        raise InvalidInput(
            "items", f"must be codes of the corpus (0 to {known - 1})", int(codes[session, place]), where=(session, place)
        )
