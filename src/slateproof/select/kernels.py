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

from slateproof.select.lanes import LANES, eight_dots

__all__ = ["LANES", "greedy", "jaccard", "overtakes", "shape", "similarity_group"]

compiled = njit(cache=True, nogil=True, _nrt=False)
"""Without Numba's reference counting: the kernels allocate nothing, and counting would take most of their time."""

inlined = njit(cache=True, nogil=True, _nrt=False, forceinline=True)
"""For what runs many times per step: left to LLVM, the choice fell now this way and now that, a quarter of the time apart."""

NONE, VECTORS, MATRIX, TAGS = range(4)
"""Codes of ``Similarity.kind``."""


@inlined
def overtakes(value: float, rank: int, other: float, other_rank: int) -> bool:
    """Whether ``value`` comes before ``other``: larger objective first, then smaller id."""
    # Bitwise on purpose: no branch to mispredict.
    return (value > other) | ((value == other) & (rank < other_rank))


@compiled
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


@compiled
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


@inlined
def similarity_group(
    kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, lanes: Any, other: int, out: Any
) -> None:
    """Similarities of the eight rows ``lanes`` to the row ``other``; ``matrix`` is flat, ``stride`` entries per row."""
    if kind == VECTORS:
        eight_dots(vectors, lanes, other, out)
        return
    for lane in range(LANES):
        if kind == MATRIX:
            out[lane] = matrix[lanes[lane] * stride + other]
        elif kind == TAGS:
            out[lane] = jaccard(ptr, tags, lanes[lane], other)
        else:
            out[lane] = 0.0


@compiled
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


@compiled
def first_step(base: Any, bonus: Any, diversity: float, rank: Any) -> Any:
    """First step (max-similarity 0): (winner, runner-up or -1, both objectives), or (-2, place, ...) of one that is not finite."""
    best = second = -1
    top = under = -np.inf
    for i in range(base.size):
        value = (base[i] - diversity * 0.0) + bonus[i]
        if not np.isfinite(value):
            return -2, i, top, under
        if value < under:
            continue
        if best < 0 or overtakes(value, rank[i], top, rank[best]):
            best, second, top, under = i, best, value, top
        elif second < 0 or overtakes(value, rank[i], under, rank[second]):
            second, under = i, value
    return best, second, top, under


@compiled
def find_contenders(base: Any, bonus: Any, penalties: Any, first: int, bound: Any, lows: Any, heap: Any) -> int:
    """Put into ``heap`` the candidates but ``first`` that can win or come second at any later step; return how many.

    ``penalties`` are the smallest and the largest diversity penalty there can be, so every later objective of i lies in
    [low_i, bound_i], in floats too (all operations are monotone). At each later step at least two of the K candidates with the
    largest low_i are left (``lows`` has K places), so whoever's bound_i is below the smallest of these is never among the best two.
    """
    least, most = penalties
    last = lows.size - 1
    for place in range(lows.size):
        lows[place] = -np.inf
    for i in range(base.size):
        bound[i] = (base[i] - least) + bonus[i]
        low = (base[i] - most) + bonus[i]
        if low > lows[last] and i != first:
            place = last
            while place > 0 and lows[place - 1] < low:
                lows[place] = lows[place - 1]
                place -= 1
            lows[place] = low
    count = 0
    for i in range(base.size):
        # Written always, kept by the count: no branch to mispredict. There is room, since ``first`` is never kept.
        heap[count] = i
        count += (bound[i] >= lows[last]) & (i != first)
    return count


@inlined
def sift_down(heap: Any, bound: Any, rank: Any, size: int, place: int) -> None:
    """Let ``heap[place]`` sink until it comes before its children (larger bound, then smaller id)."""
    item = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size:
            child += overtakes(bound[heap[child + 1]], rank[heap[child + 1]], bound[heap[child]], rank[heap[child]])
        if not overtakes(bound[heap[child]], rank[heap[child]], bound[item], rank[item]):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item


@inlined
def next_tile(heap: Any, left: int, bound: Any, rank: Any, order: Any, upper: Any, ready: int) -> int:
    """Move up to eight candidates, the largest bounds first, from the heap to ``order[ready:]``; return how many.

    What the selection never reaches is never sorted.
    """
    taken = min(LANES, left)
    for j in range(ready, ready + taken):
        order[j] = heap[0]
        upper[j] = bound[heap[0]]
        left -= 1
        heap[0] = heap[left]
        sift_down(heap, bound, rank, left, 0)
    return taken


@inlined
def update_tile(
    start: int, end: int, first: int, q: int, chosen: Any, mean: bool, source: Any, tile: Any, kept: Any, compact: bool
) -> None:
    """Bring the penalties of ``order[start:end]`` from the prefix ``chosen[:first]`` up to ``chosen[:q]``.

    Similarities are kept in the candidate's row, or with ``compact`` in that of its place in ``order``.
    """
    kind, vectors, matrix, stride, ptr, tags, rows = source
    order, penalty, lanes, fresh = tile
    for lane in range(LANES):
        item = order[min(start + lane, end - 1)]
        lanes[lane] = rows[item] if rows.size else item
    for p in range(first, q):
        other = rows[chosen[p]] if rows.size else chosen[p]
        similarity_group(kind, vectors, matrix, stride, ptr, tags, lanes, other, fresh)
        for j in range(start, end):
            similarity = fresh[j - start]
            if p == 0:
                # The oracle's sum begins at 0.0, and 0.0 + -0.0 is 0.0.
                penalty[j] = 0.0 + similarity if mean else similarity
            else:
                penalty[j] = penalty[j] + similarity if mean else max(penalty[j], similarity)
            if kept.size:
                kept[j if compact else order[j], p] = similarity


@inlined
def later_step(
    q: int, ready: int, contenders: int, rule: Any, chosen: Any, rank: Any, source: Any, columns: Any, tiles: Any, kept: Any,
    compact: bool,
) -> Any:  # fmt: skip
    """Step q > 0: (places in ``order`` of winner and runner-up or -1, how many are in order); winner -2: an objective overflows.

    Candidates stand in tiles of eight, the largest bounds first. A tile is asked only if some bound in it reaches the second
    place so far, and the walk ends at the first tile whose largest bound does not.
    """
    diversity, mean = rule
    base, bonus, bound = columns
    heap, order, penalty, upper, tile_known, lanes, fresh = tiles
    threshold = -np.inf
    best = second = -1
    start = 0
    while True:
        if start == ready:
            if ready == contenders or bound[heap[0]] < threshold:
                return best, second, ready
            tile_known[start // LANES] = 0
            ready += next_tile(heap, contenders - ready, bound, rank, order, upper, ready)
        elif bound[order[start]] < threshold:
            return best, second, ready
        end = min(start + LANES, ready)
        reach = bound[order[start]] if mean else -np.inf
        for j in range(start, end):
            reach = max(reach, upper[j])
        if reach >= threshold:
            tile = (order, penalty, lanes, fresh)
            update_tile(start, end, tile_known[start // LANES], q, chosen, mean, source, tile, kept, compact)
            tile_known[start // LANES] = q
            for j in range(start, end):
                if upper[j] == -np.inf:
                    continue
                item = order[j]
                similarity = penalty[j] / q if mean else penalty[j]
                upper[j] = (base[item] - diversity * similarity) + bonus[item]
                if not np.isfinite(upper[j]):
                    return -2, j, ready
                if best < 0 or overtakes(upper[j], rank[item], upper[best], rank[order[best]]):
                    best, second = j, best
                elif second < 0 or overtakes(upper[j], rank[item], upper[second], rank[order[second]]):
                    second = j
            if second >= 0:
                threshold = upper[second]
        start = end


@inlined
def walk_of(spare: Any, n: int, steps: int) -> Any:
    """The integer part of the scratch: heap, order, lanes, and per tile of the order to how many chosen items it was compared."""
    whole = spare[5 * n + steps + LANES :].view(np.int64)
    return whole[:n], whole[n : 2 * n], whole[2 * n : 2 * n + LANES], whole[2 * n + LANES :]


@compiled
def greedy(
    scores: Any, targets: Any, widths: Any, rank: Any, rows: Any, shown: Any,
    kind: int, vectors: Any, matrix: Any, stride: int, ptr: Any, tags: Any, lower: float, higher: float,
    target: float, window: float, gain: float, novelty: float, exploration: float, diversity: float, mean: bool,
    places: Any, numbers: Any, kept: Any, spare: Any,
) -> int:  # fmt: skip
    """The paper's default selector, evaluated lazily.

    The penalty of a candidate can only grow while items are chosen (largest similarity to a growing set), in floats too, since
    every operation on the way is monotone: a value computed earlier is an upper bound, and one never computed is bounded through
    ``lower``. So at each step only candidates whose bound reaches the second place so far are evaluated; the winner, the
    runner-up and hence the margin are exact. With ``mean`` only the bound through ``lower`` holds.

    ``rows`` maps candidates to rows of the similarity source (empty: the identity). Out: ``places`` (chosen K, runners K, known n),
    ``numbers`` (objective and similarity of the chosen, then of the runner-up, K each; shaped n) and ``kept``, (n, K) for the
    similarities or (0, 0) where they are not kept. ``spare`` (7 n + K + n / 8 + 17 words) is scratch: the kernel allocates
    nothing. Returns the position whose objective is not finite, or -1 - r, where r candidates were asked for similarities.

    ``places`` may lack its last part: then the r candidates stand in the order of ``walk_of(spare)``, and their similarities
    in the first r rows of ``kept``, together rather than scattered over the memory of n.
    """
    n = scores.size
    steps = (numbers.size - n) // 4
    chosen, runners, known = places[:steps], places[steps : 2 * steps], places[2 * steps :]
    chosen_value, chosen_sim = numbers[:steps], numbers[steps : 2 * steps]
    runner_value, runner_sim = numbers[2 * steps : 3 * steps], numbers[3 * steps : 4 * steps]
    base, bonus, bound = spare[:n], spare[n : 2 * n], spare[2 * n : 3 * n]
    penalty, upper = spare[3 * n : 4 * n], spare[4 * n : 5 * n]
    lows, fresh = spare[5 * n : 5 * n + steps], spare[5 * n + steps : 5 * n + steps + LANES]
    heap, order, lanes, tile_known = walk_of(spare, n, steps)
    compact = known.size == 0
    shaped = numbers[4 * steps :]
    shape(scores, targets, widths, target, window, gain, exploration, shaped)
    mark_novel(rank, shown, novelty, bonus)
    for i in range(n):
        base[i] = (1.0 - diversity) * shaped[i]
    for i in range(known.size):
        known[i] = 0
    chosen[0], runners[0], chosen_value[0], runner_value[0] = first_step(base, bonus, diversity, rank)
    chosen_sim[0] = runner_sim[0] = 0.0
    if chosen[0] == -2:
        return runners[0]
    if steps == 1:
        return -1
    contenders = find_contenders(base, bonus, (diversity * lower, diversity * higher), chosen[0], bound, lows, heap)
    for place in range(contenders // 2 - 1, -1, -1):
        sift_down(heap, bound, rank, contenders, place)
    source = (kind, vectors, matrix, stride, ptr, tags, rows)
    tiles = (heap, order, penalty, upper, tile_known, lanes, fresh)
    ready = 0
    for q in range(1, steps):
        a, b, ready = later_step(
            q, ready, contenders, (diversity, mean), chosen, rank, source, (base, bonus, bound), tiles, kept, compact
        )  # fmt: skip
        if a == -2:
            return order[b]
        chosen[q], runners[q] = order[a], -1
        chosen_value[q], chosen_sim[q] = upper[a], (penalty[a] / q if mean else penalty[a])
        runner_value[q], runner_sim[q] = -np.inf, 0.0
        if b >= 0:
            runners[q] = order[b]
            runner_value[q], runner_sim[q] = upper[b], (penalty[b] / q if mean else penalty[b])
        upper[a] = -np.inf
    if not compact:
        for j in range(ready):
            known[order[j]] = tile_known[j // LANES]
    return -1 - ready
