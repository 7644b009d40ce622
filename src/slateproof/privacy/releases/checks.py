"""What a release refuses before it reads anything.

Scope: none; validation only. A refusal names the offending row, so it is for the operator's eyes, not a private output.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.privacy.ledger import Ledger
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["check_generator", "check_ledger", "codes", "numbered", "positive", "values"]


def check_ledger(ledger: Any) -> Ledger:
    """``ledger``, which must be a ``Ledger``: a release without one is not made."""
    if not isinstance(ledger, Ledger):
        raise InvalidInput("ledger", "must be the Ledger that records the release", type(ledger).__name__)
    return ledger


def check_generator(rng: Any) -> np.random.Generator:
    """``rng``, which must be a ``numpy.random.Generator``."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", type(rng).__name__)
    return rng


def positive(value: Any, field: str) -> float:
    """``value`` as a finite float above 0."""
    number = finite_scalar(value, field, 0.0, math.inf)
    if number == 0.0:
        raise InvalidInput(field, "must be positive", number)
    return number


def numbered(ids: Any, field: str) -> tuple[Ints, int]:
    """A number per row, equal where the ids (integers or strings) are, and how many numbers there are."""
    column = np.asarray(ids)
    if column.ndim != 1 or (column.dtype.kind not in "iuU" and column.size):
        raise InvalidInput(field, "must be one column of integers or of strings", f"{column.dtype} {column.shape}")
    distinct, number = np.unique(column, return_inverse=True)
    return number.astype(np.int64), int(distinct.size)


def codes(column: Any, field: str, size: int, high: int) -> Ints:
    """``size`` whole numbers from 0 to ``high`` - 1."""
    found = np.asarray(column)
    if found.shape != (size,) or (found.dtype.kind not in "iu" and size):
        raise InvalidInput(field, f"must be one column of {size} integers", f"{found.dtype} {found.shape}")
    bad = (found < 0) | (found >= high)
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidInput(field, f"must lie in [0, {high - 1}]", int(found[place]), where=place)
    return found.astype(np.int64)


def values(column: Any, field: str, size: int) -> Floats:
    """``size`` numbers in [0, 1]; booleans count as 0 and 1."""
    try:
        found = np.asarray(column, np.float64)
    except (TypeError, ValueError) as why:
        raise InvalidInput(field, f"must be a column of numbers ({why})") from why
    if found.shape != (size,):
        raise InvalidInput(field, f"must be one column of {size} numbers", found.shape)
    bad = ~((found >= 0.0) & (found <= 1.0))  # NaN is bad
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidInput(field, "must lie in [0, 1]", float(found[place]), where=place)
    return found
