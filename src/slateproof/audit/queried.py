"""Selecting again from logged similarities alone, where the source that they came from is not in the log.

The selector asks lazily, so a trace holds the similarities of a candidate to the first ``known`` chosen items. What was not asked
for is bounded by the source's ``lower``: a candidate whose bound stays behind the runner-up cannot have been chosen. So the slate,
its runner-ups and its margins follow from what is there, whatever a selector of another version would have asked for, and where
they do not follow, this says so.

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector
from slateproof.types import Levers, Pool, Rule, Similarity, State, Steps
from slateproof.types.columns import Floats, Ints, frozen

__all__ = ["Queried", "choose"]


@dataclass(frozen=True, slots=True, eq=False)
class Queried:
    """Logged similarities: ``table[i, p]`` of candidate i to ``chosen[p]``, there where ``p < known[i]``; all >= ``lower``.

    Scope: none; an input carries no claim.
    """

    table: Floats
    known: Ints
    chosen: Ints
    lower: float
    higher: float

    @classmethod
    def read(cls, known: Any, values: Any, chosen: Any, bounds: tuple[Any, Any], size: int) -> Queried:
        """From the columns of a record; refuses counts that do not fit and values outside their bounds."""
        if chosen is None or (chosen.size and (chosen.min() < 0 or chosen.max() >= size)) or np.unique(chosen).size != chosen.size:
            raise InvalidInput("chosen", f"must be different places among the {size} candidates")
        if known is None or known.size != size or values is None or known.min() < 0 or known.max() > chosen.size:
            raise InvalidInput("similarity_known", "must count the logged similarities of every candidate")
        if int(known.sum()) != values.size:
            raise InvalidInput("similarity_values", "must hold what similarity_known counts", values.size)
        lower, higher = bounds
        if lower is None or higher is None or not (np.isfinite(lower) and np.isfinite(higher)):
            raise InvalidInput("similarity_lower", "and similarity_higher must stand beside logged similarities")
        if not (np.isfinite(values).all() and (values >= lower).all() and (values <= higher).all()):
            raise InvalidInput("similarity_values", f"must be finite and lie in [{lower!r}, {higher!r}]")
        table = np.full((size, chosen.size), np.nan)
        table[np.arange(chosen.size) < known[:, None]] = values
        return cls(frozen(table), known.astype(np.int64), chosen.astype(np.int64), float(lower), float(higher))

    def matrix(self, unknown: float) -> Similarity:
        """A symmetric similarity source with the logged values, and ``unknown`` everywhere else."""
        size = self.known.size
        matrix = np.full((size, size), np.nan)
        matrix[:, self.chosen] = self.table
        # A chosen item was asked about the ones before it, not the other way round.
        matrix = np.fmax(matrix, matrix.T)
        matrix[np.isnan(matrix)] = unknown
        return Similarity(kind="matrix", rows=size, matrix=frozen(matrix), lower=self.lower, higher=self.higher)


def choose(pool: Pool, levers: Levers, state: State, rule: Rule, queried: Queried) -> Steps | None:
    """The greedy choice that follows from the logged similarities; None where they do not decide it.

    ``pool`` stands in id order. F_q(i) = ((1-lambda) mu-tilde(i) - lambda sim(i, S)) + nu 1{i not in H}, in the selector's order
    of operations; ties go to the smallest id, which is the first place.
    """
    size, count, diversity = pool.size, levers.size, levers.diversity
    base, bonus, shaped = _terms(pool, levers, state, rule)
    column_of = {int(item): place for place, item in enumerate(queried.chosen)}
    penalty = np.zeros(size) if rule.dissimilarity == "mean" else np.full(size, -np.inf)
    complete, free = np.ones(size, bool), np.ones(size, bool)
    places = np.concatenate([np.full(2 * count, -1), queried.known])
    values = np.zeros((4, count))
    values[2] = -np.inf
    for q in range(count):
        similarity = _similarity(penalty, q, rule.dissimilarity == "mean", complete, queried.lower)
        objective = (base - diversity * similarity) + bonus
        best, second = _two_best(objective, free)
        if not complete[best] or (second >= 0 and not complete[second]):
            return None
        places[q], places[count + q] = best, second
        values[0, q], values[1, q] = objective[best], similarity[best]
        if second >= 0:
            values[2, q], values[3, q] = objective[second], similarity[second]
        free[best] = False
        _learn(penalty, complete, queried, column_of.get(best), rule.dissimilarity == "mean")
    numbers = np.concatenate([values.reshape(-1), shaped])
    return Steps(count, frozen(places), frozen(numbers), queried.table)


def _terms(pool: Pool, levers: Levers, state: State, rule: Rule) -> tuple[Floats, Floats, Floats]:
    """(1-lambda) mu-tilde, the novelty bonus, and mu-tilde, from a selection that asks for no similarity."""
    plain = Levers(levers.target_shift, levers.exploration, 0.0, 1)
    selector = GreedySelector(rule.target_gain, rule.window, rule.novelty, rule.dissimilarity)
    shaped = selector.select(pool, plain, state).steps.shaped
    shown = state.shown_set
    bonus = np.array([0.0 if item in shown else rule.novelty for item in pool.ids])
    return (1.0 - levers.diversity) * shaped, bonus, shaped


def _similarity(penalty: Any, q: int, mean: bool, complete: Any, lower: float) -> Any:
    """sim(i, S) where all of it is logged, and a lower bound elsewhere."""
    if q == 0:
        return np.zeros(penalty.size)
    exact = penalty / q if mean else penalty
    return np.where(complete, exact, lower if mean else np.maximum(penalty, lower))


def _two_best(objective: Any, free: Any) -> tuple[int, int]:
    """Places of the largest and second-largest objective among the free ones; the first place wins a tie."""
    open_ = np.where(free, objective, -np.inf)
    best = int(np.argmax(open_))
    if free.sum() < 2:
        return best, -1
    open_[best] = -np.inf
    rest = free.copy()
    rest[best] = False
    candidates = np.flatnonzero(rest)
    return best, int(candidates[np.argmax(open_[candidates])])


def _learn(penalty: Any, complete: Any, queried: Queried, column: int | None, mean: bool) -> None:
    """Take in the similarities to the item just chosen."""
    if column is None:
        complete[:] = False
        return
    values = queried.table[:, column]
    there = ~np.isnan(values)
    if mean:
        penalty[there] += values[there]
    else:
        penalty[there] = np.maximum(penalty[there], values[there])
    complete &= there
