"""The round trace tau_t of the paper ("Audit trace"): candidates, levers, target, state, scores, similarities, slate, tie rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slateproof.types.columns import Floats
from slateproof.types.ids import ItemId
from slateproof.types.steps import SetChoice, Steps

if TYPE_CHECKING:
    from slateproof.types.slate import Slate

__all__ = ["TIE_RULE", "Trace"]

TIE_RULE = "smallest id; integers before strings; strings by code point"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """A view of a slate as its trace: everything in id order, so that the order of the input leaves no mark on it.

    Columns hold one value per candidate. ``similarities[i]`` are the similarities of candidate i to the first chosen items, as many
    as the selection asked for; all others were not computed and are not needed: with the values present every choice, its
    runner-up and its margin follow (see ``select/oracle.py``).

    Scope: conditional; the trace inherits the privacy status of whatever stands in it (Corollary "Audit trace privacy").
    """

    slate: Slate

    @property
    def candidates(self) -> tuple[ItemId, ...]:
        """C_t: the candidate ids, smallest first."""
        ids = self.slate.pool.ids
        return tuple([ids[i] for i in self.slate.pool.order.tolist()])

    @property
    def scores(self) -> Floats:
        """mu_t(i)."""
        return self._ordered(self.slate.pool.scores)

    @property
    def shaped(self) -> Floats:
        """mu-tilde_t(i) = mu + eta_tg prox + alpha sigma."""
        return self._ordered(self.slate.steps.shaped)

    @property
    def targets(self) -> Floats | None:
        """d(i), or None where the pool has none."""
        return self._optional(self.slate.pool.targets)

    @property
    def widths(self) -> Floats | None:
        """sigma_t(i), or None where the pool has none."""
        return self._optional(self.slate.pool.widths)

    @property
    def similarities(self) -> list[Floats] | None:
        """Per candidate, the queried similarities to the chosen items, first chosen first; None where they were not kept."""
        steps = self.slate.steps
        if isinstance(steps, SetChoice) or steps.similarities is None:
            return None
        return [steps.similarities[i, : steps.known[i]] for i in self.slate.pool.order.tolist()]

    @property
    def chosen(self) -> tuple[ItemId, ...]:
        """S_t, in order."""
        return self.slate.ids

    @property
    def runners_up(self) -> tuple[ItemId | None, ...]:
        """The runner-up of every step (None where nothing else was left); for SCPO the second-best set."""
        steps, ids = self.slate.steps, self.slate.pool.ids
        places = steps.runner_up if isinstance(steps, SetChoice) else steps.runners
        return tuple([ids[i] if i >= 0 else None for i in places.tolist()])

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain Python values, ready for JSON (floats keep every bit through ``repr``)."""
        slate = self.slate
        return {
            "candidates": list(self.candidates),
            "scores": self.scores.tolist(),
            "shaped": self.shaped.tolist(),
            "targets": None if self.targets is None else self.targets.tolist(),
            "widths": None if self.widths is None else self.widths.tolist(),
            "similarity_source": slate.pool.similarity.kind,
            "similarities": None if self.similarities is None else [values.tolist() for values in self.similarities],
            "catalog_digest": None if slate.pool.catalog is None else slate.pool.catalog.digest,
            "levers": {name: getattr(slate.levers, name) for name in ("target_shift", "exploration", "diversity", "size")},
            "state": {name: getattr(slate.state, name) for name in ("knowledge", "engagement", "uncertainty")},
            "shown": list(slate.state.shown),
            "target": slate.target,
            "rule": slate.rule.to_dict(),
            "tie_rule": TIE_RULE,
            "policy_digest": slate.policy_digest,
            "chosen": list(self.chosen),
            "runners_up": list(self.runners_up),
            "margins": [float(m) if np.isfinite(m) else None for m in slate.margins],
            **_outcome(slate.steps),
        }

    def _ordered(self, column: Floats) -> Floats:
        return column[self.slate.pool.order]

    def _optional(self, column: Floats | None) -> Floats | None:
        return None if column is None else self._ordered(column)

    def __repr__(self) -> str:
        return f"Trace({self.slate.pool.size} candidates -> {list(self.chosen)})"


def _outcome(steps: Steps | SetChoice) -> dict[str, Any]:
    if isinstance(steps, SetChoice):
        return {name: _finite(getattr(steps, name)) for name in _SET_OUTCOME}
    columns = {name: [_finite(v) for v in getattr(steps, name).tolist()] for name in _STEP_OUTCOME}
    return columns | {"evaluations": steps.evaluations}


_SET_OUTCOME = ("value", "runner_value", "similarity", "runner_similarity", "window", "nodes", "bound", "proved", "gap")
_STEP_OUTCOME = ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity")


def _finite(value: Any) -> Any:
    """Infinity has no JSON; it stands where there was no other choice, and None says just that."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
