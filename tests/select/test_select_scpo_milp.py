"""Mid-sized pools against a mixed-integer program: best and second-best value to 1e-7."""

from __future__ import annotations

import numpy as np
import pytest

from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, unit
from tests.select.scpo_oracle import solve_milp


def pool_of(kind, n, rng):
    columns = {"scores": rng.normal(size=n) * rng.choice([0.05, 0.3, 1.0]), "targets": rng.random(n), "widths": rng.random(n) * 0.2}
    if kind == "vectors":
        columns["vectors"] = unit(rng.normal(size=(n, 8)))
    elif kind == "matrix":
        matrix = rng.uniform(-1.0, 1.0, (n, n))
        columns["similarity"] = (matrix + matrix.T) / 2
    else:
        columns["tags"] = [set(rng.integers(0, 12, 3).tolist()) for _ in range(n)]
    return Pool(range(n), **columns)


@pytest.mark.parametrize("kind", ["vectors", "matrix", "tags"])
@pytest.mark.parametrize(("n", "size", "diversity", "seed"), [(25, 4, 0.3, 1), (28, 5, 0.6, 2), (40, 4, 0.5, 3), (25, 4, 0.9, 4)])
def test_equals_milp(kind, n, size, diversity, seed):
    check(kind, n, size, diversity, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vectors", "matrix", "tags"])
@pytest.mark.parametrize("seed", range(10, 16))
def test_equals_milp_more(kind, seed):
    rng = np.random.default_rng(seed)
    check(kind, int(rng.integers(25, 41)), int(rng.integers(4, 7)), float(rng.uniform(0.05, 0.8)), seed)


def check(kind, n, size, diversity, seed):
    rng = np.random.default_rng(seed)
    pool, rule, target = pool_of(kind, n, rng), Rule("window", window=0.6), 0.5
    levers = Levers(exploration=0.3, diversity=diversity, size=size)
    choice = choose_set(pool, rule, levers, target)
    assert choice.proved
    assert choice.value == pytest.approx(solve_milp(pool, rule, levers, target), abs=1e-7)
    second = solve_milp(pool, rule, levers, target, exclude=[choice.chosen.tolist()])
    assert choice.runner_value == pytest.approx(second, abs=1e-7)
