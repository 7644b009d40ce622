"""The selectors in plain Python loops: the definition that the compiled kernels must equal bit for bit.

Nothing here is fast or clever. Every formula of DESIGN section 4 stands once, in the order in which it is evaluated; floats are
Python floats (IEEE float64), so the result is the same on every machine, with or without Numba.

Scope: none; arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slateproof.types import Levers, Pool, Rule, Similarity, State

__all__ = ["PlainStep", "plain_greedy", "plain_shaped", "plain_similarity"]


@dataclass(frozen=True, slots=True)
class PlainStep:
    """One choice: positions of the winner and the runner-up (None: nothing else was left), their objectives and similarities."""

    chosen: int
    runner: int | None
    chosen_objective: float
    runner_objective: float
    chosen_similarity: float
    runner_similarity: float


def plain_similarity(source: Similarity, a: int, b: int) -> float:
    """sim of two rows of a source: dot product summed in index order, matrix entry, Jaccard index, or 0."""
    if source.kind == "vectors":
        total = 0.0
        for x, y in zip(source.vectors[a].tolist(), source.vectors[b].tolist(), strict=True):
            total += x * y
        return total
    if source.kind == "matrix":
        return float(source.matrix[a, b])
    if source.kind == "tags":
        tags_a = set(source.tag_ids[source.tag_ptr[a] : source.tag_ptr[a + 1]].tolist())
        tags_b = set(source.tag_ids[source.tag_ptr[b] : source.tag_ptr[b + 1]].tolist())
        union = len(tags_a | tags_b)
        return len(tags_a & tags_b) / union if union else 0.0
    return 0.0


def plain_shaped(pool: Pool, rule: Rule, levers: Levers, target: float) -> list[float]:
    """mu-tilde = (mu + eta_tg prox) + alpha sigma, by position; prox = 1 - min(1, (d - m)^2 / w^2)."""
    shaped = []
    for i, score in enumerate(pool.scores.tolist()):
        prox = 0.0
        if pool.targets is not None:
            distance = float(pool.targets[i]) - target
            prox = 1.0 - min(1.0, (distance * distance) / (rule.window * rule.window))
        width = 0.0 if pool.widths is None else float(pool.widths[i])
        shaped.append((score + rule.target_gain * prox) + levers.exploration * width)
    return shaped


def plain_greedy(pool: Pool, rule: Rule, levers: Levers, state: State, target: float) -> list[PlainStep]:
    """K steps of arg max ((1 - lambda) mu-tilde - lambda sim(i, S)) + nu 1{i not in H}; ties to the smallest id.

    sim(i, S) is the largest (``rule.dissimilarity == "max"``) or the mean similarity to the items chosen so far; it is 0 for the
    first item, and where lambda is 0, since then nobody asks for it.
    """
    shaped = plain_shaped(pool, rule, levers, target)
    prefix: list[int] = []
    steps = []
    for _ in range(levers.size):
        asked = prefix if levers.diversity != 0.0 else []
        similarity = _to_prefix(pool, asked, mean=rule.dissimilarity == "mean")
        objective = {}
        for i in range(pool.size):
            if i not in prefix:
                novel = rule.novelty if pool.ids[i] not in state.shown_set else 0.0
                objective[i] = ((1.0 - levers.diversity) * shaped[i] - levers.diversity * similarity(i)) + novel
        ranked = sorted(objective, key=lambda i: (-objective[i], int(pool.rank[i])))
        best, runner = ranked[0], (ranked[1] if len(ranked) > 1 else None)
        steps.append(
            PlainStep(
                chosen=best,
                runner=runner,
                chosen_objective=objective[best],
                runner_objective=float("-inf") if runner is None else objective[runner],
                chosen_similarity=similarity(best),
                runner_similarity=0.0 if runner is None else similarity(runner),
            )
        )
        prefix.append(best)
    return steps


def _to_prefix(pool: Pool, prefix: list[int], *, mean: bool) -> Callable[[int], float]:
    """Similarity of a candidate to the items chosen so far, in the order in which they were chosen."""
    rows = pool.rows.tolist()
    frozen_prefix = tuple(prefix)

    def similarity(i: int) -> float:
        if not frozen_prefix:
            return 0.0
        values = [plain_similarity(pool.similarity, rows[i], rows[j]) for j in frozen_prefix]
        if not mean:
            return max(values)
        total = 0.0
        for value in values:
            total += value
        return total / len(values)

    return similarity
