"""One compiled pass over the columns of a catalogue pool: the whole validation in a few microseconds.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.types.columns import Floats, Ints

__all__ = ["CLEAN", "DUPLICATE", "NEGATIVE_WIDTH", "SCORE", "WIDTH", "check_catalog_pool"]

CLEAN, SCORE, WIDTH, NEGATIVE_WIDTH, DUPLICATE = range(5)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def check_catalog_pool(rows: Ints, scores: Floats, widths: Floats, facts: Floats, out: Floats) -> Any:
    """Copy ``facts[rows]`` to ``out``; return (what is wrong, at which place), with ``CLEAN`` where nothing is.

    ``widths`` may be empty, which means that there are none. Duplicates are found with a small open-addressing table.
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
    mask = 1
    while mask < 2 * n:
        mask *= 2
    table = np.full(mask, -1, np.int64)
    mask -= 1
    for i in range(n):
        row = rows[i]
        slot = (row * 2654435761) & mask
        while table[slot] != -1:
            if table[slot] == row:
                return DUPLICATE, i
            slot = (slot + 1) & mask
        table[slot] = row
        out[i] = facts[row]
    return CLEAN, 0
