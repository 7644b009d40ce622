"""SCPO, the window-enforcing selector of the paper's appendix: one exact choice among all feasible sets.

    max over S, |S| = K, of (1 - lambda) sum_{i in S} shaped(i) - lambda max_{i != j in S} sim(i, j)
    subject to |d(i) - m| <= w for all i in S;  w grows to the smallest w' that admits K candidates where w admits fewer.

The search is in ``select/scpo_kernel.py``, the argument and the measurements in ``docs/scpo.md``.

Scope: none; a choice carries no claim, its certificate does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select.kernels import VECTORS, shape
from slateproof.select.scpo_kernel import NODES, STOPPED, search
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.levers import Levers
from slateproof.types.pool import Pool
from slateproof.types.rule import Rule
from slateproof.types.similarity import Similarity
from slateproof.types.steps import SetChoice

__all__ = ["choose_set", "feasible"]

_NO_FLOATS: Floats = frozen(np.zeros(0))
_NO_INTS: Ints = frozen(np.zeros(0, np.int64))


def feasible(targets: Floats, target: float, window: float, size: int) -> tuple[Ints, float]:
    """Positions with |d - m| <= w', and the realised width w': ``window``, or the ``size``-th smallest |d - m| if larger."""
    distance = np.abs(targets - target)
    inside: Ints = np.flatnonzero(distance <= window)
    if inside.size >= size:
        return inside, window
    realised = float(np.partition(distance, size - 1)[size - 1])
    return np.flatnonzero(distance <= realised), realised


def choose_set(pool: Pool, rule: Rule, levers: Levers, target: float) -> SetChoice:
    """The best feasible set of ``levers.size`` candidates for the target value m, and the second best.

    The value of a set is ((1 - lambda) * sum of shaped scores, added in slate order) - lambda * max-similarity (0 for one item), in
    float64; the larger value wins, then the lexicographically smaller set of ids. Novelty does not enter. Past ``rule.node_budget``
    nodes the best sets found are returned with ``proved`` False and ``bound`` over every other set.

    Refused: a pool without targets, a size above the pool's, and scores for which 2 K times the largest |shaped score| is not
    finite: below that no sum overflows, nor any value, which lies between the sum and the similarity in size.

    Scope: none; a choice carries no claim.
    """
    size, diversity = levers.size, levers.diversity
    if pool.targets is None:
        raise InvalidInput("targets", "the window selector needs a target value d(i) for every candidate")
    if size > pool.size:
        raise InvalidInput("levers.size", f"must be at most the pool's size ({pool.size})", size)
    shaped = np.empty(pool.size)
    widths = _NO_FLOATS if pool.widths is None else pool.widths
    with np.errstate(over="ignore", invalid="ignore"):  # refused by name below
        shape(pool.scores, pool.targets, widths, target, rule.window, rule.target_gain, levers.exploration, shaped)
    inside, window = feasible(pool.targets, target, rule.window, size)
    # Slate order; where lambda = 1 the scores do not count, and id order finds the winner of a tie first.
    keys = (pool.rank[inside],) if diversity == 1.0 else (pool.rank[inside], -shaped[inside])
    members = inside[np.lexsort(keys)]
    values = shaped[members]
    _check_finite(pool, shaped, values, members, size)
    top, top_value, info = np.zeros((2, size), np.int64), np.empty((2, 2)), np.zeros(2, np.int64)
    unexamined = search(
        _columns(pool.similarity), values, pool.rank[members], pool.rows[members], size, diversity,
        _floor(pool.similarity, size), rule.node_budget, top, top_value, info,
    )  # fmt: skip
    chosen, second = members[top[0]], bool(top_value[0, 1] > -np.inf)
    return SetChoice(
        chosen=chosen[np.lexsort((pool.rank[chosen], -shaped[chosen]))],
        runner_up=members[top[1]] if second else _NO_INTS,
        value=float(top_value[0, 0]),
        runner_value=float(top_value[0, 1]),
        similarity=float(top_value[1, 0]),
        runner_similarity=float(top_value[1, 1]) if second else 0.0,
        shaped=shaped,
        window=window,
        nodes=int(info[NODES]),
        bound=max(float(top_value[0, 1]), unexamined),
        proved=not info[STOPPED],
    )


def _columns(source: Similarity) -> tuple[Any, ...]:
    """The similarity source as the kernel takes it: the matrix flat, with its stride."""
    matrix = source.matrix
    return (source.code, source.vectors, matrix.reshape(-1), matrix.shape[1], source.tag_ptr, source.tag_ids)


def _floor(source: Similarity, size: int) -> float:
    """A number below the largest pairwise similarity of any ``size`` items.

    For vectors, sum_{i != j} v_i v_j = |sum v|^2 - sum |v_i|^2 >= -K max |v|^2 over K(K-1) ordered pairs, so the largest is at
    least -max |v|^2 / (K-1); ``lower`` is at most -max |v|^2, and 1e-9 is room for the rounding of a dot product, as in it.
    """
    if size == 1:
        return 0.0
    if source.code == VECTORS:
        return source.lower / (size - 1) - 1e-9
    return max(source.lower, -float(np.finfo(np.float64).max))


def _check_finite(pool: Pool, shaped: Floats, values: Floats, members: Ints, size: int) -> None:
    """Refuse values whose sums could overflow."""
    if not np.isfinite(shaped).all():
        place = next(int(i) for i in pool.order if not np.isfinite(shaped[i]))
        raise _not_finite(pool, place, float(shaped[place]))
    largest = float(np.abs(values).max())
    if 2.0 * size * largest == np.inf:
        place = int(members[np.abs(values).argmax()])
        raise _not_finite(pool, place, float(shaped[place]))


def _not_finite(pool: Pool, place: int, value: float) -> InvalidInput:
    return InvalidInput("scores", "the objective must stay finite", value, where=pool.ids[place])
