"""The slate: an ordered choice with its margins, its trace and its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.explain import Explanation
from slateproof.types.ids import ItemId
from slateproof.types.levers import Levers
from slateproof.types.opened import open_twin
from slateproof.types.pool import Pool
from slateproof.types.rule import Rule
from slateproof.types.state import State
from slateproof.types.steps import SetChoice, Steps
from slateproof.types.trace import Trace

__all__ = ["Slate", "slate_from"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slate:
    """The list people see, with everything that made it.

    ``target`` is m_t = clip(k-hat + Delta, 0, 1). Two slates are equal when their ids and margins are.

    Scope: stability only; a margin says how clearly a choice was made, nothing about privacy.
    """

    pool: Pool
    levers: Levers
    state: State
    rule: Rule
    target: float
    steps: Steps | SetChoice
    policy_digest: str | None = None

    @property
    def indices(self) -> Ints:
        """Positions of the chosen items in the pool as it was given, in slate order."""
        return self.steps.chosen

    @property
    def ids(self) -> tuple[ItemId, ...]:
        """The chosen ids, in slate order."""
        return self.pool.ids_at(self.steps.chosen.tolist())

    @property
    def margins(self) -> Floats:
        """Gamma_q per step: how far the chosen item's objective lies above the best other one's; +inf where nothing else was left.

        SCPO makes one choice, among sets: one margin, best minus second-best feasible set; 0 where the search was cut short.
        """
        steps = self.steps
        if isinstance(steps, SetChoice):
            return frozen(np.array([steps.value - steps.runner_value if steps.proved else 0.0]))
        return frozen(steps.chosen_objective - steps.runner_objective)

    @property
    def margin(self) -> float:
        """Gamma = min_q Gamma_q, as evaluated in float64; ``sp.certify`` gives it rounded down."""
        return float(self.margins.min())

    @property
    def trace(self) -> Trace:
        """The round trace tau_t: what replay needs, and what it must reproduce."""
        return Trace(self)

    def explain(self) -> Explanation:
        """Why these items: the parts of every choice, beside those of its runner-up."""
        return Explanation.of(self)

    def __len__(self) -> int:
        return len(self.steps.chosen)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Slate):
            return NotImplemented
        return self.ids == other.ids and self.margins.tobytes() == other.margins.tobytes()

    def __hash__(self) -> int:
        return hash((self.ids, self.margins.tobytes()))

    def __repr__(self) -> str:
        return f"Slate({list(self.ids)}, margin={self.margin:.6g})"

    def _repr_html_(self) -> str:
        """A readable table where a notebook shows the slate."""
        return self.explain().to_html()


_OpenSlate = open_twin(Slate)


def slate_from(
    pool: Pool, levers: Levers, state: State, rule: Rule, target: float, steps: Steps | SetChoice, policy_digest: str | None
) -> Slate:
    """``Slate(...)``, made quickly; stands on the way of every selection."""
    slate: Any = _OpenSlate()
    slate.pool, slate.levers, slate.state, slate.rule = pool, levers, state, rule
    slate.target, slate.steps, slate.policy_digest = target, steps, policy_digest
    slate.__class__ = Slate
    made: Slate = slate
    return made
