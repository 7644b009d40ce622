"""What the four response models share: parameters with a named effect each, and the pieces of a round.

Equations are in ``docs/simulator.md``. Knowledge theta, fatigue f and engagement e stay in [0, 1] by construction.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.protocol import Response, Shown, Start
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["EFFECTS", "Core", "Effect", "Learners", "Quantity", "clip01", "sigmoid"]

Quantity = Literal[
    "correct", "attempts", "ability", "engagement", "fatigue", "spread", "contrast", "choosiness", "tried", "tried spread", "place"
]  # fmt: skip
"""What an effect can be about, over sessions and rounds: mean chance of success of what is shown; attempts per round; ability at
the end; engagement; fatigue; standard deviation of ability between learners, and of chances between the items shown to them
("contrast"); attempts at items near a chance of .7 minus attempts at the others ("choosiness"); and of what is tried, the mean and
the standard deviation of the chance, and the mean place in the slate.
"""


class Effect(NamedTuple):
    """What a parameter does when it grows: which quantity moves, and in which direction (+1, -1)."""

    quantity: Quantity
    sign: int


class Learners(NamedTuple):
    """S learners: ``theta`` and its ``start`` (S, D), ``fatigue``, ``engagement``, ``mood`` (S,), all in [0, 1]."""

    theta: Floats
    start: Floats
    fatigue: Floats
    engagement: Floats
    mood: Floats


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def clip01(x: Any) -> Any:
    """Clipped into [0, 1]."""
    return np.minimum(1.0, np.maximum(0.0, x))


EFFECTS: dict[str, Effect] = {
    "ability_slope": Effect("correct", +1),
    "difficulty_slope": Effect("correct", -1),
    "ease": Effect("correct", +1),
    "centre": Effect("correct", +1),
    "guess": Effect("correct", +1),
    "slip": Effect("correct", -1),
    "fatigue_cost": Effect("correct", -1),
    "spread": Effect("spread", +1),
    "attempt_base": Effect("attempts", +1),
    "attempt_engagement": Effect("attempts", +1),
    "attempt_fatigue": Effect("attempts", -1),
    "attempt_novelty": Effect("attempts", +1),
    "rank_cost": Effect("attempts", -1),
    "learning_rate": Effect("ability", +1),
    "error_gain": Effect("ability", +1),
    "forgetting": Effect("ability", -1),
    "fatigue_gain": Effect("fatigue", +1),
    "recovery": Effect("fatigue", -1),
    "engagement_gain": Effect("engagement", +1),
    "engagement_reference": Effect("engagement", -1),
    "engagement_fatigue": Effect("engagement", -1),
}
"""Shared parameters, and what each does when it grows, for able, engaged learners on easy items (the setting of the tests)."""

_UNIT = ("centre", "guess", "slip", "spread", "learning_rate", "error_gain", "forgetting", "recovery", "engagement_reference")


@dataclass(frozen=True, slots=True)
class Core:
    """Shared parameters; see ``docs/simulator.md`` for the equations they stand in. ``ease`` and ``attempt_base`` may be negative.

    Scope: none.
    """

    ability_slope: float = 4.0
    difficulty_slope: float = 4.0
    ease: float = 0.0
    centre: float = 0.5
    guess: float = 0.05
    slip: float = 0.01
    fatigue_cost: float = 0.3
    spread: float = 0.05
    attempt_base: float = 0.3
    attempt_engagement: float = 3.0
    attempt_fatigue: float = 1.5
    attempt_novelty: float = 0.4
    rank_cost: float = 0.1
    learning_rate: float = 0.02
    error_gain: float = 0.5
    forgetting: float = 0.02
    fatigue_gain: float = 0.02
    recovery: float = 0.10
    engagement_gain: float = 0.10
    engagement_reference: float = 0.60
    engagement_fatigue: float = 0.03

    name: ClassVar[str] = "core"
    own_effects: ClassVar[dict[str, Effect]] = {}
    own_unit: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            low = -np.inf if field.name in ("ease", "attempt_base") else 0.0
            high = 1.0 if field.name in _UNIT + self.own_unit else np.inf
            object.__setattr__(self, field.name, finite_scalar(getattr(self, field.name), field.name, low, high))
        if self.guess + self.slip >= 1.0:
            raise InvalidInput("slip", "and guess must sum to less than 1, or knowledge lowers success", (self.slip, self.guess))

    @classmethod
    def effects(cls) -> dict[str, Effect]:
        """Every parameter's effect."""
        return EFFECTS | cls.own_effects

    def begin(self, start: Start, draw: Draw) -> Learners:
        """theta_0 = clip(knowledge + spread n), n a standard normal of the session."""
        theta = clip01(start.knowledge[:, None] + self.spread * draw.session_normal("knowledge"))
        return Learners(theta, theta, start.fatigue, start.engagement, np.full(start.trust.shape, 0.5))

    def logit(self, theta: Any, difficulty: Floats, fatigue: Any) -> Any:
        """ease + a_theta (theta - 1/2) - a_d (d - centre) - c_f f."""
        level = self.ease + self.ability_slope * (theta - 0.5) - self.difficulty_slope * (difficulty - self.centre)
        return level - self.fatigue_cost * fatigue

    def success(self, logit: Any) -> Any:
        """guess + (1 - guess - slip) sigmoid(logit)."""
        return self.guess + (1.0 - self.guess - self.slip) * sigmoid(logit)

    def willing(self, learners: Learners, shown: Shown, fatigue: Any) -> Any:
        """Attempt logit: base, engagement, fatigue, novelty, and the place in the slate."""
        level = self.attempt_base + self.attempt_engagement * (learners.engagement - 0.5)
        rank = np.arange(shown.items.shape[1])
        return (level[:, None] - self.attempt_fatigue * fatigue) + self.attempt_novelty * ~shown.seen - self.rank_cost * rank

    def drawn(self, willing: Any, chance: Floats, shown: Shown, draw: Draw) -> Response:
        """Attempt where u_1 < sigmoid(willing), correct where moreover u_2 < chance: common random numbers per item."""
        attempted = shown.there & (draw.uniform("attempt") < sigmoid(willing))
        return Response(attempted, attempted & (draw.uniform("correct") < chance), chance)

    def grown(self, theta: Any, gains: Any) -> Any:
        """theta + (1 - theta) (1 - prod(1 - rate g)): every practised item closes a share of the gap to 1; bounded."""
        return theta + (1.0 - theta) * (1.0 - np.prod(1.0 - np.minimum(1.0, self.learning_rate * gains), axis=1))

    def forgot(self, theta: Any, start: Any) -> Any:
        """theta - forgetting max(0, theta - theta_0): what was learned fades, what was there before stays."""
        return theta - self.forgetting * np.maximum(0.0, theta - start)

    def moods(self, learners: Learners, response: Response, reward: Any) -> tuple[Any, Any]:
        """(fatigue, engagement) after the round; ``reward`` (S,) in [0, 1] is what the model's learners like."""
        tries = response.attempted.sum(axis=1)
        fatigue = clip01(learners.fatigue * (1.0 - self.recovery) + self.fatigue_gain * tries)
        liked = np.where(tries > 0, reward - self.engagement_reference, 0.0)
        move = self.engagement_gain * liked - self.engagement_fatigue * fatigue
        # Towards 1 by a share of the room above, towards 0 by a share of the room below.
        e = learners.engagement
        return fatigue, clip01(e + np.where(move > 0.0, move * (1.0 - e), move * e))

    def ability(self, learners: Learners) -> Floats:
        """Mean knowledge over the dimensions."""
        return np.asarray(learners.theta.mean(axis=1))

    def engagement(self, learners: Learners) -> Floats:
        """e."""
        return learners.engagement

    def fatigue(self, learners: Learners) -> Floats:
        """f."""
        return learners.fatigue


def mean_over(values: Any, where: Any) -> Any:
    """Row means over the true places of ``where``; 0 where there are none."""
    count = where.sum(axis=1)
    return np.where(where, values, 0.0).sum(axis=1) / np.maximum(count, 1)
