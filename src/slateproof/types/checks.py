"""One compiled pass over the columns of a catalogue pool: the whole validation in a few microseconds.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.types.columns import Floats, Ints

__all__ = ["CLEAN", "DUPLICATE", "NEGATIVE_WIDTH", "SCORE", "UNKNOWN", "WIDTH", "check_catalog_pool", "find_rows"]

CLEAN, UNKNOWN, SCORE, WIDTH, NEGATIVE_WIDTH, DUPLICATE = range(6)


@njit(cache=True, nogil=True, _nrt=False)
def find_rows(ids: Ints, low: int, table: Ints, rows: Ints) -> Any:
    """``rows[i] = table[ids[i] - low]``; returns (what is wrong, at which place): UNKNOWN where there is no such row."""
    for i in range(ids.size):
        place = ids[i] - low
        # A difference that overflowed has the sign of its operands' order wrong; comparing first avoids it.
        if ids[i] < low or place < 0 or place >= table.size or table[place] < 0:
            return UNKNOWN, i
        rows[i] = table[place]
    return CLEAN, 0


@njit(cache=True, nogil=True, _nrt=False)
def check_catalog_pool(rows: Ints, scores: Floats, widths: Floats, facts: Floats, out: Floats, seen: Ints) -> Any:
    """Copy ``facts[rows]`` to ``out``; return (what is wrong, at which place), with ``CLEAN`` where nothing is.

    ``widths`` may be empty, which means that there are none. Duplicates are found with an open-addressing table in ``seen``, whose
    size is a power of two, at least twice the number of rows; any content will do.
    """
    n = rows.size
    for i in range(n):
        if not np.isfinite(scores[i]):
            return SCORE, i
    for i in range(widths.size):
        if not np.isfinite(widths[i]):
            return WIDTH, i
        if widths[i] < 0.0:
            return NEGATIVE_WIDTH, i
    mask = seen.size - 1
    for slot in range(seen.size):
        seen[slot] = -1
    for i in range(n):
        row = rows[i]
        slot = (row * 2654435761) & mask
        while seen[slot] != -1:
            if seen[slot] == row:
                return DUPLICATE, i
            slot = (slot + 1) & mask
        seen[slot] = row
        out[i] = facts[row]
    return CLEAN, 0
