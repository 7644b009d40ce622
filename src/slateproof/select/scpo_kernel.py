"""The compiled search of SCPO: depth-first branch and bound over sets of K, best and second best at once.

Items stand in *slate order*: shaped score descending, then rank (by rank alone where lambda = 1, when scores do not count). The
value of a set S is, in IEEE float64 and in exactly this order,

    ((1 - lambda) * (0.0 + a_1 + ... + a_K, members in slate order)) - lambda * max pairwise similarity     (paper, app:scpo)

and every number below bounds *that float*, without any allowance for rounding: if B are the K best numbers still to be had, in
slate order, then B is termwise at least S for every set S in reach; left-to-right addition is monotone in every term, in floats
too, so fl(B) >= fl(S); and x <= y gives fl((1-lambda) x) <= fl((1-lambda) y), and likewise for the penalty.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.select.kernels import LANES, similarity_group

__all__ = ["search"]

NODES, STOPPED = range(2)
"""Places in ``info``: nodes counted, and whether the budget stopped the search."""

PATIENCE = 64
"""Nodes before the dearer bound of ``colour`` is asked for: most searches are over by then."""


@njit(cache=True, nogil=True)
def fill_row(source: Any, rows: Any, item: int, start: int, stop: int, out: Any) -> None:
    """out[j] = sim(item, j) for start <= j < stop, in groups of eight."""
    kind, vectors, matrix, stride, ptr, tags = source
    lanes, fresh = np.empty(LANES, np.int64), np.empty(LANES)
    for first in range(start, stop, LANES):
        for lane in range(LANES):
            lanes[lane] = rows[min(first + lane, stop - 1)]
        similarity_group(kind, vectors, matrix, stride, ptr, tags, lanes, rows[item], fresh)
        for lane in range(min(LANES, stop - first)):
            out[first + lane] = fresh[lane]


@njit(cache=True, nogil=True)
def row_of(source: Any, rows: Any, item: int, slot: Any, table: Any, used: Any) -> Any:
    """The table with the similarities of ``item`` to all later items in row ``slot[item]``; it grows by doubling."""
    if slot[item] < 0:
        if used[0] == table.shape[0]:
            larger = np.empty((2 * table.shape[0], table.shape[1]))
            larger[: table.shape[0]] = table
            table = larger
        slot[item] = used[0]
        used[0] += 1
        fill_row(source, rows, item, item + 1, table.shape[1], table[slot[item]])
    return table


@njit(cache=True, nogil=True)
def before(ranks: Any, other: Any) -> bool:
    """Whether one sorted tuple of ranks comes before another of the same length."""
    for k in range(ranks.size):
        if ranks[k] != other[k]:
            return bool(ranks[k] < other[k])
    return False


@njit(cache=True, nogil=True)
def sort_by_rank(members: Any, rank: Any) -> None:
    """Insertion sort of a few items into id order."""
    for k in range(1, members.size):
        item = members[k]
        place = k
        while place > 0 and rank[members[place - 1]] > rank[item]:
            members[place] = members[place - 1]
            place -= 1
        members[place] = item


@njit(cache=True, nogil=True)
def offer(members: Any, similarity: float, a: Any, rank: Any, diversity: float, top: Any, top_ranks: Any, top_value: Any) -> None:
    """Put a set among the best two, if it belongs there.

    ``top`` and ``top_ranks`` hold two sets in id order; ``top_value`` holds values in row 0 and largest similarities in row 1, with
    value -inf where no set was found yet. ``members`` comes back in id order.
    """
    total = 0.0
    for item in np.sort(members):
        total += a[item]
    sort_by_rank(members, rank)
    value = (1.0 - diversity) * total - diversity * similarity
    ranks = rank[members]
    for place in range(2):
        if value == top_value[0, place]:
            if before(top_ranks[place], ranks):
                continue
            if not before(ranks, top_ranks[place]):
                return  # this very set
        elif value < top_value[0, place]:
            continue
        if place == 0:
            top[1], top_ranks[1], top_value[:, 1] = top[0], top_ranks[0], top_value[:, 0]
        top[place], top_ranks[place] = members, ranks
        top_value[0, place], top_value[1, place] = value, similarity
        return


@njit(cache=True, nogil=True)
def seed(source: Any, a: Any, rank: Any, rows: Any, size: int, diversity: float, top: Any, top_ranks: Any, top_value: Any) -> None:
    """Offer the K first items, and the K first with the last one exchanged for the next."""
    table = np.empty((size, size + 1))
    stop = min(size + 1, a.size)
    common = last = after = 0.0 if size == 1 else -np.inf
    for i in range(size):
        fill_row(source, rows, i, i + 1, stop, table[i])
        for j in range(i + 1, size - 1):
            common = max(common, table[i, j])
        if i < size - 1:
            last = max(last, table[i, size - 1])
            if stop > size:
                after = max(after, table[i, size])
    members = np.arange(size)
    offer(members, max(common, last), a, rank, diversity, top, top_ranks, top_value)
    if stop > size:
        members = np.arange(size)
        members[size - 1] = size
        offer(members, max(common, after), a, rank, diversity, top, top_ranks, top_value)


@njit(cache=True, nogil=True)
def promising(a: Any, size: int, diversity: float, floor: float, threshold: float, stop: int) -> int:
    """How many leading items can stand in a set that reaches ``threshold``: each with the K - 1 best of all."""
    best = 0.0
    for k in range(size - 1):
        best += a[k]
    for j in range(size, stop):
        if (1.0 - diversity) * (best + a[j]) - diversity * floor < threshold:
            return j
    return stop


@njit(cache=True, nogil=True)
def descend(
    source: Any, a: Any, rank: Any, rows: Any, size: int, diversity: float, floor: float,
    slot: Any, table: Any, used: Any, top: Any, top_ranks: Any, top_value: Any,
) -> Any:  # fmt: skip
    """Good sets before the search: take items in order where every similarity stays below a limit; then lower the limit.

    For a limit s the first K mutually compatible items are a near-best set with max-similarity below s. Returns the table.
    """
    limit = top_value[1, 0]
    worst, members = np.empty(slot.size), np.empty(size, np.int64)
    while True:
        count, total, largest = 0, 0.0, -np.inf
        worst[:] = -np.inf
        for j in range(slot.size):
            if worst[j] >= limit:
                continue
            members[count] = j
            count += 1
            total += a[j]
            largest = max(largest, worst[j])
            if count == size:
                break
            table = row_of(source, rows, j, slot, table, used)
            row = table[slot[j]]
            for k in range(j + 1, slot.size):
                worst[k] = max(worst[k], row[k])
        if count < size or (1.0 - diversity) * total - diversity * floor < top_value[0, 1]:
            return table
        offer(members, largest, a, rank, diversity, top, top_ranks, top_value)
        limit = largest


@njit(cache=True, nogil=True)
def reach(a: Any, items: Any, start: int, left: int, total: float) -> float:
    """``total`` plus the next ``left`` items of a list, added one after the other."""
    for k in range(start, start + left):
        total += a[items[k]]
    return total


@njit(cache=True, nogil=True)
def earliest(rank: Any, path: Any, items: Any, left: int) -> Any:
    """The smallest sorted ranks any completion can have: of the path and the ``left`` smallest ids among ``items``."""
    ranks = np.empty(path.size + left, np.int64)
    ranks[: path.size] = rank[path]
    ranks[path.size :] = np.sort(rank[items])[:left]
    return np.sort(ranks)


@njit(cache=True, nogil=True)
def narrow(
    a: Any, row: Any, items: Any, pens: Any, start: int, stop: int, left: int, total: float, worst: float,
    diversity: float, floor: float, threshold: float, out_items: Any, out_pens: Any,
) -> int:  # fmt: skip
    """The items after ``start`` that can still stand in a set reaching ``threshold``, with their similarity to the path.

    An item may count on the best ``left - 1`` others of the list and must bear its own penalty.
    """
    if stop - start < left:
        return 0
    almost = reach(a, items, start, left - 1, total)
    full = almost + a[items[start + left - 1]]
    count = 0
    for k in range(start, stop):
        j = items[k]
        pen = max(max(pens[k], row[j]), worst)
        best = full if k < start + left else almost + a[j]
        if (1.0 - diversity) * best - diversity * max(pen, floor) >= threshold:
            out_items[count], out_pens[count] = j, pen
            count += 1
    return count


@njit(cache=True, nogil=True)
def colour(
    source: Any, a: Any, rows: Any, items: Any, start: int, stop: int, left: int, total: float, best: float,
    diversity: float, threshold: float, slot: Any, table: Any, used: Any, head: Any, link: Any,
) -> Any:  # fmt: skip
    """(table, ``total`` plus the ``left`` best items that are not ruled out in pairs; -inf where there are fewer).

    A set with two items so similar that ``best - diversity * sim`` misses ``threshold`` cannot matter, so from a class of items
    that are all so similar to each other at most one can be taken. Items in order join the first class that fits, or open a
    new one. Among any i items taken, at least one is not from the first i - 1 classes and so comes no earlier than the
    i-th opener: termwise, and hence in sum, what is taken is at most the first ``left`` openers.
    """
    count = 0
    for k in range(start, stop):
        j = items[k]
        place = 0
        while place < count:
            member = head[place]
            while member >= 0 and best - diversity * table[slot[member], j] < threshold:
                member = link[member]
            if member < 0:
                break
            place += 1
        if place == count:
            total += a[j]
            count += 1
            if count == left:
                return table, total
            head[place] = -1
        link[j] = head[place]
        head[place] = j
        table = row_of(source, rows, j, slot, table, used)
    return table, -np.inf


@njit(cache=True, nogil=True)
def explore(
    source: Any, a: Any, rank: Any, rows: Any, size: int, diversity: float, floor: float, budget: int,
    slot: Any, table: Any, used: Any, top: Any, top_ranks: Any, top_value: Any, info: Any,
) -> float:  # fmt: skip
    """The search proper; returns the largest bound of what was left unexamined, -inf where nothing was.

    Frame k holds the items that may follow the first k of ``path``. A frame ends when its bound falls below the second-best value
    found so far, or equals it while no completion comes before the second-best set in id order. The bound by classes is asked for
    where a frame is entered and where few items are left in it.
    """
    width = slot.size
    items, pens = np.empty((size, width), np.int64), np.empty((size, width))
    ends, place, path = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    total, worst = np.zeros(size + 1), np.full(size + 1, 0.0 if size == 1 else -np.inf)
    items[0], pens[0], ends[0] = np.arange(width), worst[0], width
    unexamined, depth = -np.inf, 0
    head, link = np.empty(size, np.int64), np.empty(width, np.int64)
    while depth >= 0:
        x, left, threshold = place[depth], size - depth, top_value[0, 1]
        if ends[depth] - x < left:
            depth -= 1
            continue
        best = (1.0 - diversity) * reach(a, items[depth], x, left, total[depth])
        bound = best - diversity * max(worst[depth], floor)
        if bound < threshold or (
            bound == threshold and not before(earliest(rank, path[:depth], items[depth, x : ends[depth]], left), top_ranks[1])
        ):
            depth -= 1
            continue
        if info[NODES] >= budget:
            unexamined = max(unexamined, bound)
            info[STOPPED] = 1
            depth -= 1
            continue
        if info[NODES] >= PATIENCE and left > 2 and (x == 0 or ends[depth] - x <= 4 * left):
            table, ceiling = colour(
                source, a, rows, items[depth], x, ends[depth], left, total[depth], best,
                diversity, threshold, slot, table, used, head, link,
            )  # fmt: skip
            if ceiling == -np.inf or (1.0 - diversity) * ceiling - diversity * max(worst[depth], floor) < threshold:
                depth -= 1
                continue
        place[depth] = x + 1
        item, pen = items[depth, x], pens[depth, x]
        if best - diversity * max(pen, floor) < threshold:
            continue
        info[NODES] += 1
        path[depth], worst[depth + 1], total[depth + 1] = item, pen, total[depth] + a[item]
        if left == 1:
            offer(path.copy(), pen, a, rank, diversity, top, top_ranks, top_value)
            continue
        table = row_of(source, rows, item, slot, table, used)
        place[depth + 1] = 0
        ends[depth + 1] = narrow(
            a, table[slot[item]], items[depth], pens[depth], x + 1, ends[depth], left - 1, total[depth + 1], pen,
            diversity, floor, threshold, items[depth + 1], pens[depth + 1],
        )  # fmt: skip
        depth += 1
    return unexamined


@njit(cache=True, nogil=True)
def search(
    source: Any, a: Any, rank: Any, rows: Any, size: int, diversity: float, floor: float, budget: int,
    top: Any, top_value: Any, info: Any,
) -> float:  # fmt: skip
    """Best and second-best set of ``size`` items; returns the largest bound of what was left unexamined (-inf: nothing).

    ``source`` = (kind, vectors, flat matrix, stride, tag_ptr, tag_ids); ``rows`` maps items to its rows. ``floor`` is a number
    that no largest similarity of ``size`` items falls below (0 for one item). Results: ``top`` (2, K) in id order, ``top_value``
    (2, 2): values, then largest similarities, with value -inf where there is no second set; ``info`` (nodes, stopped).
    """
    top_ranks = np.full((2, size), np.iinfo(np.int64).max)
    top_value[:] = -np.inf
    info[:] = 0
    seed(source, a, rank, rows, size, diversity, top, top_ranks, top_value)
    if a.size == size:
        return -np.inf  # there is one set only
    width = promising(a, size, diversity, floor, top_value[0, 1], a.size)
    slot, used = np.full(width, -1, np.int64), np.zeros(1, np.int64)
    table = np.empty((min(width, 4 * size), width))
    if size > 1:
        table = descend(source, a, rank, rows, size, diversity, floor, slot, table, used, top, top_ranks, top_value)
        width = promising(a, size, diversity, floor, top_value[0, 1], width)
    return float(
        explore(source, a, rank, rows, size, diversity, floor, budget, slot[:width], table, used, top, top_ranks, top_value, info)
    )
