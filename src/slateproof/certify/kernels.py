"""Compiled kernels of the certificates: all stepwise gaps, the exact check, and re-selection of many score vectors.

Same arithmetic as ``select/kernels.py``, bit for bit, so a decision taken here is the decision the selector takes.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.select.kernels import LANES, overtakes, similarity_group

__all__ = ["all_similarities", "magnitudes", "reselect", "row_magnitudes", "same_slate", "set_changes", "stepwise"]


MAGNITUDE = np.int64(2**63 - 1)
"""Every bit of a float but its sign."""


@njit(cache=True, nogil=True)
def similarities_to(kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, rows: Any, item: int, out: Any) -> None:
    """Similarity of every candidate to ``item``."""
    n = rows.size
    lanes, fresh = np.empty(LANES, np.int64), np.empty(LANES)
    for start in range(0, n, LANES):
        for lane in range(LANES):
            lanes[lane] = rows[min(start + lane, n - 1)]
        similarity_group(kind, vectors, matrix, stride, ptr, tags, lanes, rows[item], fresh)
        for lane in range(min(LANES, n - start)):
            out[start + lane] = fresh[lane]


@njit(cache=True, nogil=True)
def all_similarities(kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, rows: Any, out: Any) -> None:
    """The dense (n, n) table of similarities of a pool."""
    for item in range(rows.size):
        similarities_to(kind, vectors, matrix, stride, ptr, tags, rows, item, out[item])


@njit(cache=True, nogil=True)
def stepwise(
    base: Any, bonus: Any, chosen: Any, diversity: float, mean: bool,
    kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, rows: Any,
    gap: Any, penalty: Any,
) -> None:  # fmt: skip
    """gap[q, j] = F_q(i_q) - F_q(j) and the similarity to the prefix in it; +inf for i_q itself and for the prefix."""
    n, steps = base.size, chosen.size
    fresh = np.zeros(n)
    running = np.zeros(n) if mean else np.full(n, -np.inf)
    gone = np.zeros(n, np.bool_)
    for q in range(steps):
        if q > 0:
            if kind > 0:
                similarities_to(kind, vectors, matrix, stride, ptr, tags, rows, chosen[q - 1], fresh)
            for j in range(n):
                running[j] = running[j] + fresh[j] if mean else max(running[j], fresh[j])
        winner = chosen[q]
        for j in range(n):
            penalty[q, j] = 0.0 if q == 0 else (running[j] / q if mean else running[j])
        best = (base[winner] - diversity * penalty[q, winner]) + bonus[winner]
        gone[winner] = True
        for j in range(n):
            gap[q, j] = np.inf if gone[j] else best - ((base[j] - diversity * penalty[q, j]) + bonus[j])


@njit(cache=True, nogil=True)
def same_slate(base: Any, bonus: Any, rank: Any, chosen: Any, diversity: float, penalty: Any) -> bool:
    """Whether the selector makes the same ordered choice from other shaped scores.

    If and only if: as long as the prefix is the same, so are the similarities to it, and each step is decided by the very
    floats the selector would compare. The first step that differs ends the induction.
    """
    n = base.size
    gone = np.zeros(n, np.bool_)
    for q in range(chosen.size):
        winner = chosen[q]
        best = (base[winner] - diversity * penalty[q, winner]) + bonus[winner]
        gone[winner] = True
        for j in range(n):
            if not gone[j] and overtakes((base[j] - diversity * penalty[q, j]) + bonus[j], rank[j], best, rank[winner]):
                return False
    return True


@njit(cache=True, nogil=True)
def reselect(base: Any, bonus: Any, rank: Any, table: Any, diversity: float, mean: bool, chosen: Any) -> None:
    """The greedy slate from (1 - lambda) mu-tilde and a dense similarity table, into ``chosen``."""
    n = base.size
    running = np.zeros(n) if mean else np.full(n, -np.inf)
    gone = np.zeros(n, np.bool_)
    for q in range(chosen.size):
        best, top = -1, -np.inf
        for j in range(n):
            if gone[j]:
                continue
            sim = 0.0 if q == 0 else (running[j] / q if mean else running[j])
            value = (base[j] - diversity * sim) + bonus[j]
            if best < 0 or overtakes(value, rank[j], top, rank[best]):
                best, top = j, value
        chosen[q] = best
        gone[best] = True
        row = table[best]
        for j in range(n):
            running[j] = running[j] + row[j] if mean else max(running[j], row[j])


@njit(cache=True, nogil=True)
def set_changes(
    base: Any, moves: Any, bonus: Any, rank: Any, table: Any, diversity: float, mean: bool, chosen: Any, within: Any, out: Any
) -> None:  # fmt: skip
    """out[t] = 1 where the slate from ``base`` + moves[t] has an item that is not ``within`` the reference, else 0."""
    picked = np.empty_like(chosen)
    for t in range(moves.shape[0]):
        reselect(base + moves[t], bonus, rank, table, diversity, mean, picked)
        out[t] = 0.0
        for q in range(picked.size):
            if within[picked[q]] == 0:
                out[t] = 1.0


@njit(cache=True, nogil=True)
def magnitudes(values: Any, starts: Any, out: Any) -> None:
    """out[b] = max |value| over starts[b]:starts[b + 1], of finite values.

    Without its sign bit a finite float is ordered as the integer with the same bits, and a largest integer is found in vector
    instructions, where a largest float, which has to mind NaN, is not.
    """
    bits, largest = values.view(np.int64), out.view(np.int64)
    for b in range(out.size):
        part, most = bits[starts[b] : starts[b + 1]], np.int64(0)
        for i in range(part.size):  # from 0, so that no index can be negative
            most = max(most, part[i] & MAGNITUDE)
        largest[b] = most


@njit(cache=True, nogil=True)
def row_magnitudes(flat: Any, starts: Any, offsets: Any, steps: Any, chosen: Any, out: Any) -> None:
    """out[b] = max |entry| in the rows of the chosen items of slate b, in the matrix of pool b alone."""
    bits, largest = flat.view(np.int64), out.view(np.int64)
    for b in range(out.size):
        width, most = offsets[b + 1] - offsets[b], np.int64(0)
        for q in range(steps[b], steps[b + 1]):
            first = starts[b] + chosen[q] * width
            part = bits[first : first + width]
            for i in range(part.size):
                most = max(most, part[i] & MAGNITUDE)
        largest[b] = most
