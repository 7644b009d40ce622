"""Slates for the tests of certificates, and the selection in exact rational arithmetic as their oracle."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from slateproof.select.greedy import GreedySelector, TopKSelector
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, Slate, State, unit


def random_pool(rng: np.random.Generator, n: int, kind: str = "vectors", grid: float | None = None) -> Pool:
    """A pool with every column; ``grid`` rounds scores so that ties and near-ties happen."""
    scores = rng.normal(0.0, 0.5, n)
    if grid is not None:
        scores = np.round(scores / grid) * grid
    extra: dict[str, Any] = {}
    if kind == "vectors":
        extra["vectors"] = unit(rng.standard_normal((n, 4)))
    elif kind == "matrix":
        table = rng.random((n, n))
        extra["similarity"] = (table + table.T) / 2
    elif kind == "tags":
        extra["tags"] = [rng.integers(0, 6, rng.integers(0, 4)).tolist() for _ in range(n)]
    ids = rng.permutation(3 * n)[:n].tolist()
    return Pool(ids=ids, scores=scores, targets=rng.random(n), widths=rng.random(n) * 0.3, **extra)


def random_slate(
    seed: int,
    n: int = 12,
    k: int = 4,
    diversity: float = 0.3,
    kind: str = "vectors",
    dissimilarity: Any = "max",
    grid: float | None = None,
) -> Slate:
    """A greedy slate from a random pool, with some items already shown."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, n, kind, grid)
    selector = GreedySelector(target_gain=0.2, window=0.3, novelty=0.1, dissimilarity=dissimilarity)
    state = State(knowledge=0.5, shown=tuple(pool.ids[:2]))
    return selector.select(pool, Levers(0.1, 0.4, diversity, k), state)


def window_slate(
    seed: int, n: int = 12, k: int = 3, diversity: float = 0.3, window: float = 0.3, node_budget: int = 1_000_000
) -> Slate:
    """An SCPO slate from a random pool."""
    pool = random_pool(np.random.default_rng(seed), n)
    rule, levers = Rule("window", window=window, node_budget=node_budget), Levers(0.1, 0.4, diversity, k)
    return Slate(pool, levers, State(), rule, 0.6, choose_set(pool, rule, levers, 0.6))


def top_slate(scores: Any, k: int) -> Slate:
    """A raw top-K slate over ids 0, 1, ..."""
    return TopKSelector().select(Pool(ids=list(range(len(scores))), scores=scores), Levers(size=k))


def select_again(slate: Slate, scores: Any) -> Slate:
    """The slate that the selector makes from other scores: what ``exact`` must agree with."""
    selector: Any
    if slate.rule.kind == "top-k":
        selector = TopKSelector()
    else:
        rule = slate.rule
        selector = GreedySelector(rule.target_gain, rule.window, rule.novelty, rule.dissimilarity)
    return selector.select(slate.pool.with_scores(scores), slate.levers, slate.state)


def rational_similarity(pool: Pool, a: int, b: int) -> Fraction:
    """sim(a, b) in exact arithmetic from what the pool stores."""
    source = pool.similarity
    a, b = int(pool.rows[a]), int(pool.rows[b])
    if source.kind == "vectors":
        return sum(
            (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(source.vectors[a], source.vectors[b], strict=True)),
            Fraction(0),
        )
    if source.kind == "matrix":
        return Fraction(float(source.matrix[a, b]))
    if source.kind == "tags":
        sets = [set(source.tag_ids[source.tag_ptr[i] : source.tag_ptr[i + 1]].tolist()) for i in (a, b)]
        union = len(sets[0] | sets[1])
        return Fraction(len(sets[0] & sets[1]), union) if union else Fraction(0)
    return Fraction(0)


def rational_slate(slate: Slate, scores: Any) -> tuple[Any, ...]:
    """The ordered slate of the paper's selector with every operation exact, ties to the smallest id."""
    pool, rule, levers = slate.pool, slate.rule, slate.levers
    gain, window = Fraction(rule.target_gain), Fraction(rule.window)
    lam, alpha, nu, m = Fraction(levers.diversity), Fraction(levers.exploration), Fraction(rule.novelty), Fraction(slate.target)
    shown = slate.state.shown_set
    shaped = []
    for i in range(pool.size):
        prox = 1 - min(Fraction(1), (Fraction(float(pool.targets[i])) - m) ** 2 / window**2)
        shaped.append(Fraction(float(scores[i])) + gain * prox + alpha * Fraction(float(pool.widths[i])))
    chosen: list[int] = []
    while len(chosen) < levers.size:
        best = None
        for i in sorted(set(range(pool.size)) - set(chosen), key=lambda i: pool.rank[i]):
            sims = [rational_similarity(pool, i, j) for j in chosen]
            sim = Fraction(0)
            if sims:
                sim = sum(sims, Fraction(0)) / len(sims) if rule.dissimilarity == "mean" else max(sims)
            value = (1 - lam) * shaped[i] - lam * sim + (nu if pool.ids[i] not in shown else 0)
            if best is None or value > best[0]:
                best = (value, i)
        assert best is not None
        chosen.append(best[1])
    return tuple(pool.ids[i] for i in chosen)
