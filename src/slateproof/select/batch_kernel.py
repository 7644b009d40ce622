"""The compiled loop over the pools of a batch: cut the columns, call the kernel of one slate, put the results in their places.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.select.kernels import LANES, MATRIX, NONE, compiled, greedy, walk_of

__all__ = ["greedy_chunk"]


@compiled
def pack(ready: int, order: Any, tile_known: Any, kept: Any, known: Any, out: Any, used: int, place: Any, asked: Any) -> int:
    """Note how much is known of every candidate, and append it to ``out[:used]``; return how much of ``out`` is used now.

    ``kept[j, :]`` belongs to candidate ``order[j]``; ``out`` takes candidate after candidate. ``known`` is 0 throughout at first.
    Candidates that were asked for nothing are skipped without a branch to mispredict, and whole rows are copied: what lies beyond
    ``known`` is overwritten by the next, so ``out`` needs room for one row more. ``place`` and ``asked`` are scratch.
    """
    for j in range(ready):
        known[order[j]] = tile_known[j // LANES]
        place[order[j]] = j
    count = 0
    for i in range(known.size if ready else 0):
        asked[count] = i
        count += known[i] > 0
    for position in range(count):
        row = kept[place[asked[position]]]
        for p in range(row.size):
            out[used + p] = row[p]
        used += int(known[asked[position]])  # a sum of bytes would be a byte where Numba is switched off
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

    ``out_wrong`` says, per pool, at which place an objective is not finite, or something below 0. ``out_known`` is 0 at first.
    ``matrices`` holds one matrix per pool where ``matrix_starts`` says so, and ``lower`` and ``higher`` then one bound each; else
    ``matrix`` is the one of all. With ``raw`` all levers but the size are ignored (top-K). ``targets`` begins with candidate
    ``targets_from``. The last four arrays are scratch for the largest pool.
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
            places[: 2 * k], numbers[: 4 * k + n], kept[:n, :k], spare,
        )  # fmt: skip
        if out_wrong[b] >= 0:
            continue
        for q in range(k):
            out_places[0, s + q], out_places[1, s + q] = places[q], places[k + q]
            for part in range(4):
                out_numbers[part, s + q] = numbers[part * k + q]
        if out_known.size:
            heap, order, _, tile_known = walk_of(spare, n, k)
            asked = spare[:n].view(np.int64)
            used = pack(-1 - out_wrong[b], order, tile_known, kept[:n, :k], out_known[a:z], out_kept, used, heap, asked)
    return used
