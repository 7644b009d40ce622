"""What a greedy objective is made of, laid out for the kernels.

A top-K slate is the case with every term but the score at zero, so one set of kernels serves both.

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify.kernels import all_similarities, stepwise
from slateproof.errors import InvalidInput
from slateproof.select.kernels import mark_novel, shape
from slateproof.types import SetChoice, Slate
from slateproof.types.columns import Floats, Ints, frozen

__all__ = ["Frame", "Gaps"]

LARGEST_TABLE = 8192
"""Candidates whose pairwise similarities may be held at once: half a gigabyte."""

_EMPTY: Floats = frozen(np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Every stepwise gap of a slate, by position in the pool.

    ``gap[q, j]`` = F_q(i_q) - F_q(j) as evaluated, +inf where j is i_q or was chosen before; ``penalty[q, j]`` the similarity of j
    to the prefix that entered it.

    Scope: stability only.
    """

    gap: Floats
    penalty: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Columns and constants of one round, in the order of the pool; ``scale`` is 1 - lambda (1 for top-K).

    Scope: stability only.
    """

    slate: Slate
    scores: Floats
    targets: Floats
    widths: Floats
    rank: Ints
    chosen: Ints
    bonus: Floats
    gain: float
    exploration: float
    diversity: float
    mean: bool
    similar: bool

    @classmethod
    def of(cls, slate: Slate) -> Frame:
        """The frame of a slate made step by step; refuses SCPO, which has no steps."""
        if isinstance(slate.steps, SetChoice):
            raise InvalidInput("slate", "SCPO makes one choice among sets and has no stepwise gaps", slate.rule.kind)
        pool, rule, levers = slate.pool, slate.rule, slate.levers
        greedy = rule.kind == "greedy"
        bonus = np.zeros(pool.size)
        if greedy:
            mark_novel(pool.rank, pool.ranks_of(slate.state.shown_set), rule.novelty, bonus)
        return cls(
            slate=slate,
            scores=pool.scores,
            targets=pool.targets if greedy and pool.targets is not None else _EMPTY,
            widths=pool.widths if greedy and pool.widths is not None else _EMPTY,
            rank=pool.rank,
            chosen=slate.indices,
            bonus=bonus,
            gain=rule.target_gain if greedy else 0.0,
            exploration=levers.exploration if greedy else 0.0,
            diversity=levers.diversity if greedy else 0.0,
            mean=rule.dissimilarity == "mean",
            similar=greedy and levers.diversity > 0.0 and pool.similarity.kind != "none",
        )

    @property
    def scale(self) -> float:
        """1 - lambda as the selector computes it: what a unit of score is worth in the objective."""
        return 1.0 - self.diversity

    def source(self) -> tuple[Any, ...]:
        """The similarity source as the kernels take it: kind, vectors, flat matrix, stride, tags in CSR form, rows."""
        s = self.slate.pool.similarity
        code = s.code if self.similar else 0
        return code, s.vectors, s.matrix.reshape(-1), s.matrix.shape[1], s.tag_ptr, s.tag_ids, self.slate.pool.rows

    def base(self, scores: Floats) -> Floats:
        """(1 - lambda) mu-tilde under ``scores``, as the selector evaluates it."""
        shaped = np.empty(scores.size)
        rule = self.slate.rule
        shape(scores, self.targets, self.widths, self.slate.target, rule.window, self.gain, self.exploration, shaped)
        result: Floats = (1.0 - self.diversity) * shaped
        return result

    def gaps(self) -> Gaps:
        """All stepwise gaps along the slate: K n similarities."""
        gap = np.empty((self.chosen.size, self.scores.size))
        penalty = np.empty_like(gap)
        stepwise(self.base(self.scores), self.bonus, self.chosen, self.diversity, self.mean, *self.source(), gap, penalty)
        return Gaps(frozen(gap), frozen(penalty))

    def similarities(self) -> Floats:
        """All pairwise similarities of the pool, (n, n): needed where perturbed scores may leave the slate's own path."""
        n = self.scores.size
        if not self.similar:
            nothing: Floats = np.broadcast_to(np.zeros((1, n)), (n, n))
            return nothing
        if n > LARGEST_TABLE:
            raise InvalidInput("pool", f"all pairwise similarities are held at once: at most {LARGEST_TABLE} candidates", n)
        table = np.empty((n, n))
        all_similarities(*self.source(), table)
        return table
