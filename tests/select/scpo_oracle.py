"""What SCPO must return, written without the package's kernels: all sets in plain loops, and a mixed-integer program."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


@dataclass
class Ranked:
    """One feasible set: value, ids in order, largest similarity."""

    value: float
    ids: tuple
    similarity: float


def id_key(item):
    return (isinstance(item, str), item)


def shaped_scores(pool, rule, levers, target):
    """mu + eta prox + alpha sigma, per id."""
    result = {}
    for i, item in enumerate(pool.ids):
        distance = float(pool.targets[i]) - target
        prox = 1.0 - min(1.0, distance * distance / (rule.window * rule.window))
        width = 0.0 if pool.widths is None else float(pool.widths[i])
        result[item] = (float(pool.scores[i]) + rule.target_gain * prox) + levers.exploration * width
    return result


def similarity(pool, a, b):
    """sim of two positions, from the raw tables."""
    source = pool.similarity
    a, b = int(pool.rows[a]), int(pool.rows[b])
    if source.kind == "vectors":
        total = 0.0
        for x, y in zip(source.vectors[a].tolist(), source.vectors[b].tolist(), strict=True):
            total += x * y
        return total
    if source.kind == "matrix":
        return float(source.matrix[a, b])
    if source.kind == "tags":
        one, two = (set(source.tag_ids[source.tag_ptr[r] : source.tag_ptr[r + 1]].tolist()) for r in (a, b))
        return len(one & two) / len(one | two) if one | two else 0.0
    return 0.0


def window_of(pool, rule, size, target):
    """The realised width: w, or the smallest w' >= w that admits ``size`` candidates."""
    distances = sorted(abs(float(d) - target) for d in pool.targets)
    return max(rule.window, distances[size - 1])


def all_sets(pool, rule, levers, target):
    """Every feasible set, best first: larger value, then lexicographically smaller ids."""
    width = window_of(pool, rule, levers.size, target)
    shaped = shaped_scores(pool, rule, levers, target)
    inside = [i for i in range(len(pool.ids)) if abs(float(pool.targets[i]) - target) <= width]
    inside.sort(key=lambda i: id_key(pool.ids[i]))
    pair = {(a, b): similarity(pool, a, b) for a, b in combinations(inside, 2)}
    result = []
    for chosen in combinations(inside, levers.size):
        total = 0.0
        for i in chosen if levers.diversity == 1.0 else sorted(chosen, key=lambda i: -shaped[pool.ids[i]]):
            total += shaped[pool.ids[i]]
        largest = max((pair[p] for p in combinations(chosen, 2)), default=0.0)
        value = (1.0 - levers.diversity) * total - levers.diversity * largest
        result.append(Ranked(value, tuple(pool.ids[i] for i in chosen), largest))
    result.sort(key=lambda s: (-s.value, [id_key(x) for x in s.ids]))
    return result


def solve_milp(pool, rule, levers, target, exclude=()):
    """Optimal value by HiGHS: x_i in {0, 1}, z >= sim_ij where both are chosen; ``exclude`` lists sets of positions to leave out.

    z >= sim_ij - (2 - x_i - x_j)(sim_ij - low) with low = the smallest similarity: binding only where x_i = x_j = 1.
    """
    width = window_of(pool, rule, levers.size, target)
    shaped = shaped_scores(pool, rule, levers, target)
    inside = [i for i in range(len(pool.ids)) if abs(float(pool.targets[i]) - target) <= width]
    n = len(inside)
    pair = {(a, b): similarity(pool, inside[a], inside[b]) for a, b in combinations(range(n), 2)}
    low = min(pair.values())
    rows, lower = [], []
    for (a, b), value in pair.items():
        row = np.zeros(n + 1)
        row[a] = row[b] = -(value - low)
        row[n] = 1.0
        rows.append(row)
        lower.append(value - 2.0 * (value - low))
    constraints = [LinearConstraint(np.array(rows), lb=np.array(lower))]
    constraints.append(LinearConstraint(np.append(np.ones(n), 0.0), levers.size, levers.size))
    for members in exclude:
        row = np.array([float(i in set(members)) for i in inside] + [0.0])
        constraints.append(LinearConstraint(row, ub=levers.size - 1))
    cost = -(1.0 - levers.diversity) * np.array([shaped[pool.ids[i]] for i in inside])
    answer = milp(
        np.append(cost, levers.diversity),
        constraints=constraints,
        integrality=np.append(np.ones(n), 0.0),
        bounds=Bounds(np.append(np.zeros(n), low), np.append(np.ones(n), max(pair.values()))),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.success, answer.message
    return -answer.fun
