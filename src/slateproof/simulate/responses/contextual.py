"""``contextual_zpd``: a zone that moves with the learner's context: fatigue, engagement, mood, and the place in the slate.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.core import Core, Effect, Learners, clip01, mean_over
from slateproof.simulate.responses.protocol import Response, Shown

__all__ = ["ContextualZPD"]


@dataclass(frozen=True, slots=True)
class ContextualZPD(Core):
    """Tired learners need easier items, engaged ones can use a wider range.

    Zone centre min(1, ``zone_success`` + ``fatigue_shift`` f), zone width ``zone_width`` (1/2 + e). Fatigue grows along the slate
    by ``depletion`` per place. Mood is a running mean of accuracy with step ``mood_step``: good mood adds ``mood_effect`` (mood -
    1/2) to both logits. An item teaches by its match, times (1/2 + e); the reward is half match, half accuracy.

    Scope: none.
    """

    learning_rate: float = 0.03
    error_gain: float = 0.8
    zone_success: float = 0.65
    zone_width: float = 0.2
    fatigue_shift: float = 0.2
    depletion: float = 0.03
    mood_step: float = 0.3
    mood_effect: float = 0.8
    attraction: float = 1.0

    name: ClassVar[str] = "contextual_zpd"
    own_effects: ClassVar[dict[str, Effect]] = {
        "zone_success": Effect("ability", +1),
        "zone_width": Effect("ability", +1),
        "fatigue_shift": Effect("ability", +1),
        "depletion": Effect("correct", -1),
        "mood_step": Effect("attempts", +1),
        "mood_effect": Effect("attempts", +1),
        "attraction": Effect("choosiness", +1),
    }
    own_unit: ClassVar[tuple[str, ...]] = ("zone_success", "mood_step")

    def __post_init__(self) -> None:
        super(ContextualZPD, self).__post_init__()
        if self.zone_width == 0.0:
            raise InvalidInput("zone_width", "must be above 0", self.zone_width)

    def match(self, learners: Learners, chance: Any) -> Any:
        """How well an item sits in the learner's zone of the moment, in (0, 1]."""
        centre = np.minimum(1.0, self.zone_success + self.fatigue_shift * learners.fatigue)[:, None]
        width = (self.zone_width * (0.5 + learners.engagement))[:, None]
        return np.exp(-0.5 * ((chance - centre) / width) ** 2)

    def respond(self, learners: Learners, shown: Shown, draw: Draw) -> Response:
        """See the class."""
        fatigue = clip01(learners.fatigue[:, None] + self.depletion * np.arange(shown.items.shape[1]))
        lift = (self.mood_effect * (learners.mood - 0.5))[:, None]
        chance = self.success(self.logit(learners.theta, shown.difficulty, fatigue) + lift)
        willing = self.willing(learners, shown, fatigue) + lift + self.attraction * (self.match(learners, chance) - 0.5)
        return self.drawn(willing, chance, shown, draw)

    def advance(self, learners: Learners, shown: Shown, response: Response, draw: Draw) -> Learners:
        """Learning in the moving zone, forgetting, fatigue, mood, engagement."""
        match = self.match(learners, response.chance)
        keen = (0.5 + learners.engagement)[:, None]
        gains = np.where(response.attempted, keen * match * np.where(response.correct, 1.0, self.error_gain), 0.0)
        theta = self.forgot(self.grown(learners.theta[:, 0], gains)[:, None], learners.start)
        accuracy = mean_over(response.correct, response.attempted)
        reward = 0.5 * mean_over(match, response.attempted) + 0.5 * accuracy
        fatigue, engagement = self.moods(learners, response, reward)
        moved = learners.mood + self.mood_step * (accuracy - learners.mood)
        mood = np.where(response.attempted.any(axis=1), moved, learners.mood)
        return learners._replace(theta=theta, fatigue=fatigue, engagement=engagement, mood=mood)
