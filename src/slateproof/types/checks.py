"""One compiled pass over the columns of a catalogue pool: the whole validation in a few microseconds.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.types.columns import Floats, Ints

__all__ = [
    "CLEAN",
    "DUPLICATE",
    "NEGATIVE_WIDTH",
    "SCORE",
    "TARGET",
    "UNKNOWN",
    "WIDTH",
    "check_catalog_pool",
    "check_ragged",
    "find_rows",
]

CLEAN, UNKNOWN, SCORE, WIDTH, NEGATIVE_WIDTH, DUPLICATE, TARGET = range(7)


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
def check_numbers(scores: Floats, widths: Floats) -> Any:
    """(What is wrong, at which place) of scores and widths."""
    for i in range(scores.size):
        if not np.isfinite(scores[i]):
            return SCORE, i
    for i in range(widths.size):
        if not np.isfinite(widths[i]):
            return WIDTH, i
        if widths[i] < 0.0:
            return NEGATIVE_WIDTH, i
    return CLEAN, 0


@njit(cache=True, nogil=True, _nrt=False)
def first_repeat(keys: Ints, seen: Ints) -> int:
    """The first place whose key stood before, or -1; an open-addressing table of places in the first part of ``seen``.

    ``seen`` may hold anything; its size is a power of two, at least twice the number of keys.
    """
    mask = 1
    while mask < 2 * keys.size:
        mask *= 2
    mask -= 1
    for slot in range(mask + 1):
        seen[slot] = -1
    for i in range(keys.size):
        slot = (keys[i] * 2654435761) & mask
        while seen[slot] != -1:
            if keys[seen[slot]] == keys[i]:
                return i
            slot = (slot + 1) & mask
        seen[slot] = i
    return -1


@njit(cache=True, nogil=True, _nrt=False)
def check_catalog_pool(rows: Ints, scores: Floats, widths: Floats, facts: Floats, out: Floats, seen: Ints) -> Any:
    """Copy ``facts[rows]`` to ``out``; return (what is wrong, at which place), with ``CLEAN`` where nothing is.

    ``widths`` may be empty, which means that there are none. Duplicates are found with an open-addressing table in ``seen``, whose
    size is a power of two, at least twice the number of rows; any content will do.
    """
    wrong, place = check_numbers(scores, widths)
    if wrong != CLEAN:
        return wrong, place
    place = first_repeat(rows, seen)
    if place >= 0:
        return DUPLICATE, place
    for i in range(rows.size):
        out[i] = facts[rows[i]]
    return CLEAN, 0


@njit(cache=True, nogil=True, _nrt=False)
def check_ragged(
    offsets: Ints, ranks: Ints, scores: Floats, targets: Floats, widths: Floats, seen: Ints, codes: Ints, places: Ints
) -> None:
    """Per pool of a batch: what is wrong first, and at which place of the flat columns. Empty columns are not there."""
    for b in range(offsets.size - 1):
        a, z = offsets[b], offsets[b + 1]
        codes[b], place = check_numbers(scores[a:z], widths[a:z])
        if codes[b] == CLEAN:
            for i in range(a, min(z, targets.size)):
                if not 0.0 <= targets[i] <= 1.0:
                    codes[b], place = TARGET, i - a
                    break
        if codes[b] == CLEAN:
            place = first_repeat(ranks[a:z], seen)
            if place >= 0:
                codes[b] = DUPLICATE
        places[b] = a + place
