"""Compiled kernels of operator S: shaping, similarities, greedy assembly.

They state what ``select/oracle.py`` states in plain loops, and agree with it bit for bit: IEEE float64, one fixed order of
operations, no fused multiply-add, no fast-math, no BLAS. Speed comes from asking for fewer similarities and from computing
eight of them side by side, never from reordering one sum.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["greedy", "overtakes", "shape", "similarity_group"]

LANES = 8
"""Similarities computed side by side: eight independent sums hide the latency of one addition after the other."""

NONE, VECTORS, MATRIX, TAGS = range(4)
"""Codes of ``Similarity.kind``."""


@njit(cache=True, nogil=True, inline="always")
def overtakes(value: float, rank: int, other: float, other_rank: int) -> bool:
    """Whether ``value`` comes before ``other``: larger objective first, then smaller id."""
    return value > other or (value == other and rank < other_rank)


@njit(cache=True, nogil=True)
def shape(
    scores: Any, targets: Any, widths: Any, target: float, window: float, gain: float, exploration: float, shaped: Any
) -> None:
    """mu-tilde = (mu + eta_tg prox_w(d, m)) + alpha sigma, with prox_w(d, m) = 1 - min{1, (d - m)^2 / w^2}.

    An empty ``targets`` or ``widths`` column contributes 0.
    """
    square = window * window
    for i in range(scores.size):
        prox = 0.0
        if targets.size:
            distance = targets[i] - target
            prox = 1.0 - min(1.0, (distance * distance) / square)
        width = widths[i] if widths.size else 0.0
        shaped[i] = (scores[i] + gain * prox) + exploration * width


@njit(cache=True, nogil=True)
def jaccard(ptr: Any, tags: Any, a: int, b: int) -> float:
    """|A and B| / |A or B| of two sorted integer sets; 0 for two empty ones. One division of exact integers."""
    i, end_a, j, end_b = ptr[a], ptr[a + 1], ptr[b], ptr[b + 1]
    union = (end_a - i) + (end_b - j)
    common = 0
    while i < end_a and j < end_b:
        if tags[i] == tags[j]:
            common += 1
            i += 1
            j += 1
        elif tags[i] < tags[j]:
            i += 1
        else:
            j += 1
    union -= common
    return common / union if union > 0 else 0.0


@njit(cache=True, nogil=True)
def dot_group(vectors: Any, lanes: Any, other: int, out: Any) -> None:
    """Eight dot products against one row, each summed in index order."""
    y = vectors[other]
    r0, r1, r2, r3 = vectors[lanes[0]], vectors[lanes[1]], vectors[lanes[2]], vectors[lanes[3]]
    r4, r5, r6, r7 = vectors[lanes[4]], vectors[lanes[5]], vectors[lanes[6]], vectors[lanes[7]]
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for k in range(y.size):
        x = np.float64(y[k])
        a0 += np.float64(r0[k]) * x
        a1 += np.float64(r1[k]) * x
        a2 += np.float64(r2[k]) * x
        a3 += np.float64(r3[k]) * x
        a4 += np.float64(r4[k]) * x
        a5 += np.float64(r5[k]) * x
        a6 += np.float64(r6[k]) * x
        a7 += np.float64(r7[k]) * x
    out[0], out[1], out[2], out[3] = a0, a1, a2, a3
    out[4], out[5], out[6], out[7] = a4, a5, a6, a7


@njit(cache=True, nogil=True)
def similarity_group(
    kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, lanes: Any, other: int, out: Any
) -> None:
    """Similarities of the eight rows ``lanes`` to the row ``other``; ``matrix`` is flat, ``stride`` entries per row."""
    if kind == VECTORS:
        dot_group(vectors, lanes, other, out)
        return
    for lane in range(LANES):
        if kind == MATRIX:
            out[lane] = matrix[lanes[lane] * stride + other]
        elif kind == TAGS:
            out[lane] = jaccard(ptr, tags, lanes[lane], other)
        else:
            out[lane] = 0.0


@njit(cache=True, nogil=True)
def mark_novel(rank: Any, shown: Any, novelty: float, bonus: Any) -> None:
    """bonus_i = nu 1{i not in H}; ``shown`` holds the sorted ranks of H."""
    for i in range(rank.size):
        bonus[i] = novelty
    if shown.size == 0:
        return
    for i in range(rank.size):
        place = np.searchsorted(shown, rank[i])
        if place < shown.size and shown[place] == rank[i]:
            bonus[i] = 0.0


@njit(cache=True, nogil=True)
def first_step(base: Any, bonus: Any, diversity: float, rank: Any, upper: Any) -> Any:
    """First step (max-similarity 0): (winner, runner-up or -1), or (-2, place) of an objective that is not finite."""
    best = second = -1
    for i in range(base.size):
        upper[i] = (base[i] - diversity * 0.0) + bonus[i]
        if not np.isfinite(upper[i]):
            return -2, i
        if best < 0 or overtakes(upper[i], rank[i], upper[best], rank[best]):
            best, second = i, best
        elif second < 0 or overtakes(upper[i], rank[i], upper[second], rank[second]):
            second = i
    return best, second


@njit(cache=True, nogil=True)
def two_largest(upper: Any) -> Any:
    """Positions of the two largest bounds; -1 where none is left (chosen items hold -inf)."""
    a = b = -1
    top = under = -np.inf
    for i in range(upper.size):
        value = upper[i]
        if value > under:
            if value > top:
                a, b, top, under = i, a, value, top
            else:
                b, under = i, value
    return a, b


@njit(cache=True, nogil=True)
def greedy(
    scores: Any, targets: Any, widths: Any, rank: Any, rows: Any, row_base: int, shown: Any,
    kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, lower: float,
    target: float, window: float, gain: float, novelty: float, exploration: float, diversity: float, mean: bool,
    chosen: Any, runners: Any, values: Any, shaped: Any, known: Any, similarities: Any, work: Any,
) -> int:  # fmt: skip
    """The paper's default selector, evaluated lazily.

    The penalty of a candidate can only grow while items are chosen (largest similarity to a growing set), in floats too, since
    every operation on the way is monotone: a value computed earlier is an upper bound, and one never computed is bounded through
    ``lower``. So at each step only candidates whose bound reaches the best second place so far are evaluated; the winner, the
    runner-up and hence the margin are exact. With ``mean`` every remaining candidate is evaluated.

    ``values`` has four rows of K: objective and similarity of chosen, of runner-up. ``similarities`` is (n, K), or empty where
    they are not kept. ``work`` is (4, >= n) scratch. Returns -1, or the position whose objective is not finite.
    """
    n, steps = scores.size, chosen.size
    base, bonus, penalty, upper = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
    group, lanes, fresh = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES)
    keep = similarities.size > 0
    shape(scores, targets, widths, target, window, gain, exploration, shaped)
    mark_novel(rank, shown, novelty, bonus)
    for i in range(n):
        base[i] = (1.0 - diversity) * shaped[i]
        penalty[i] = 0.0 if mean else -np.inf
        known[i] = 0
    best, second = first_step(base, bonus, diversity, rank, upper)
    if best == -2:
        return second
    for q in range(steps):
        if q > 0:
            best = second = -1
            a, b = two_largest(upper)
            threshold = -np.inf
            count = 0
            if not mean:
                group[0] = a
                count = 1
                if b >= 0:
                    group[1] = b
                    count = 2
            i = -1
            # The first group holds the two best bounds, so that the threshold is near its final value from the start.
            while True:
                full = count == LANES or (i < 0 and count > 0)
                if full or (i >= n and count > 0):
                    first = q
                    for lane in range(LANES):
                        item = group[min(lane, count - 1)]
                        lanes[lane] = rows[item] if rows.size else row_base + item
                        first = min(first, known[item])
                    for p in range(first, q):
                        item = chosen[p]
                        other = rows[item] if rows.size else row_base + item
                        similarity_group(kind, vectors, matrix, stride, ptr, tags, lanes, other, fresh)
                        for lane in range(count):
                            item = group[lane]
                            if p >= known[item]:
                                penalty[item] = penalty[item] + fresh[lane] if mean else max(penalty[item], fresh[lane])
                                if keep:
                                    similarities[item, p] = fresh[lane]
                    for lane in range(count):
                        item = group[lane]
                        known[item] = q
                        sim = penalty[item] / q if mean else penalty[item]
                        upper[item] = (base[item] - diversity * sim) + bonus[item]
                        if best < 0 or overtakes(upper[item], rank[item], upper[best], rank[best]):
                            best, second = item, best
                        elif second < 0 or overtakes(upper[item], rank[item], upper[second], rank[second]):
                            second = item
                    count = 0
                    if second >= 0 and not mean:
                        threshold = upper[second]
                i += 1
                if i >= n:
                    if count == 0:
                        break
                    continue
                if known[i] < q and upper[i] > -np.inf and upper[i] >= threshold:
                    group[count] = i
                    count += 1
        chosen[q], runners[q] = best, second
        values[0, q] = upper[best]
        values[1, q] = upper[second] if second >= 0 else -np.inf
        values[2, q] = 0.0 if q == 0 else (penalty[best] / q if mean else penalty[best])
        values[3, q] = 0.0 if q == 0 or second < 0 else (penalty[second] / q if mean else penalty[second])
        upper[best] = -np.inf
        if q == 0 and not mean:
            for i in range(n):
                if upper[i] > -np.inf:
                    upper[i] = (base[i] - diversity * lower) + bonus[i]
    return -1
