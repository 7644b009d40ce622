"""The compiled loop over the pools of a batch: cut the columns, call the kernel of one slate, put the results in their places.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.select.kernels import MATRIX, NONE, compiled, greedy

__all__ = ["greedy_chunk"]


@compiled
def pack(known: Any, kept: Any, asked: Any, out: Any, used: int) -> int:
    """Append ``kept[i, :known[i]]`` of every candidate to ``out[:used]``; return how much of ``out`` is used now.

    Candidates that were asked for nothing are skipped without a branch to mispredict, and whole rows are copied: what lies beyond
    ``known`` is overwritten by the next, so ``out`` needs room for one row more. ``asked`` is scratch.
    """
    count = 0
    for i in range(known.size):
        asked[count] = i
        count += known[i] > 0
    for place in range(count):
        row = kept[asked[place]]
        for p in range(row.size):
            out[used + p] = row[p]
        used += known[asked[place]]
    return used


@compiled
def greedy_chunk(
    first: int, last: int, offsets: Any, starts: Any,
    scores: Any, targets: Any, targets_from: int, widths: Any, rank: Any, rows: Any, shown_starts: Any, shown: Any,
    kind: int, vectors: Any, matrices: Any, matrix_starts: Any, matrix: Any, stride: int, ptr: Any, tags: Any,
    lower: Any, higher: Any,
    target: Any, window: float, gain: float, novelty: float, exploration: Any, diversity: Any, mean: bool, raw: bool,
    out_places: Any, out_numbers: Any, out_wrong: Any, out_known: Any, out_kept: Any,
    places: Any, numbers: Any, kept: Any, spare: Any,
) -> int:  # fmt: skip
    """Slates of pools ``first:last``; returns how many similarities were kept.

    ``out_wrong`` says, per pool, at which place an objective is not finite, or -1. ``matrices`` holds one matrix per pool where
    ``matrix_starts`` says so, and ``lower`` and ``higher`` then one bound each; else ``matrix`` is the one of all. With ``raw`` all
    levers but the size are ignored (top-K). ``targets`` begins with candidate ``targets_from``. The last four arrays are scratch
    for the largest pool.
    """
    used = 0
    for b in range(first, last):
        a, z, s = offsets[b], offsets[b + 1], starts[b]
        n, k = z - a, starts[b + 1] - s
        alpha, lam = (0.0, 0.0) if raw else (exploration[b], diversity[b])
        source = NONE if lam == 0.0 else kind
        own = matrix_starts.size > 0
        low, high = (0.0, 0.0) if lam == 0.0 else (lower[b if own else 0], higher[b if own else 0])
        its_matrix = matrices[matrix_starts[b] : matrix_starts[b + 1]] if own else matrix
        out_wrong[b] = greedy(
            scores[a:z], targets[a - targets_from : z - targets_from], widths[a:z], rank[a:z], rows[0:0] if own else rows[a:z],
            shown[shown_starts[b - first] : shown_starts[b - first + 1]],
            source, vectors, its_matrix, n if own and kind == MATRIX else stride, ptr, tags, low, high,
            target[b], window, gain, novelty, alpha, lam, mean,
            places[: 2 * k + n], numbers[: 4 * k + n], kept[:n, :k], spare,
        )  # fmt: skip
        if out_wrong[b] >= 0:
            continue
        for q in range(k):
            out_places[0, s + q], out_places[1, s + q] = places[q], places[k + q]
            for part in range(4):
                out_numbers[part, s + q] = numbers[part * k + q]
        if out_known.size:
            known = places[2 * k : 2 * k + n]
            for i in range(n):
                out_known[a + i] = known[i]
            used = pack(known, kept[:n, :k], spare.view(np.int64), out_kept, used)
    return used
