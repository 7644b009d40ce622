"""What a response model must offer: how learners begin, how they respond to a slate, and what a round does to them.

Everything is columnar: S sessions at once. A model is a frozen value of parameters; the learners it moves are a value of its own
making, which it never changes in place. Randomness comes only through ``Draw``, so that a response to an item does not depend on
the order of calls.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from slateproof.simulate.draws import Draw
from slateproof.types.columns import Floats, Ints

__all__ = ["Response", "ResponseModel", "Shown", "Start"]


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Learners before the first round, one value per session (S,), all in [0, 1].

    Scope: none.
    """

    knowledge: Floats
    fatigue: Floats
    engagement: Floats
    trust: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The slates of a round: ``items`` (S, K) codes padded with -1, in slate order.

    ``there`` says where an item stands, ``difficulty`` is d(i), ``skill`` a code of the item's skill, ``seen`` whether the
    session was shown the item before, ``round`` counts from 0. Scores are not here: people do not see them.

    Scope: none.
    """

    items: Ints
    there: Any
    difficulty: Floats
    skill: Ints
    seen: Any
    round: int

    def take(self, rows: Any) -> Shown:
        """Some of the sessions."""
        names = ("items", "there", "difficulty", "skill", "seen")
        return Shown(**{name: getattr(self, name)[rows] for name in names}, round=self.round)


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """What the learners did with a slate (S, K): ``attempted``, and ``correct`` (never without an attempt).

    ``chance`` is P(correct | attempt), what the model believed when it drew; for tests and calibration.

    Scope: none; simulated.
    """

    attempted: Any
    correct: Any
    chance: Floats


class ResponseModel(Protocol):
    """A response model: see ``docs/simulator.md`` for how to write one."""

    @property
    def name(self) -> str:
        """How configurations and tables call it."""
        ...

    def begin(self, start: Start, draw: Draw) -> Any:
        """The learners before round 0; ``draw.items`` is empty."""
        ...

    def respond(self, learners: Any, shown: Shown, draw: Draw) -> Response:
        """Attempts and correctness; the learners do not change."""
        ...

    def advance(self, learners: Any, shown: Shown, response: Response, draw: Draw) -> Any:
        """The learners after the round: learning, forgetting, fatigue, engagement."""
        ...

    def ability(self, learners: Any) -> Floats:
        """Knowledge (S,) in [0, 1], which the utility probe reads."""
        ...

    def engagement(self, learners: Any) -> Floats:
        """Latent engagement (S,) in [0, 1]."""
        ...

    def fatigue(self, learners: Any) -> Floats:
        """Fatigue (S,) in [0, 1]."""
        ...
