"""``mirt``: one ability per skill; practice teaches its own skill, a little of it the others; what is not practised fades.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.core import Core, Effect, Learners, clip01, mean_over
from slateproof.simulate.responses.protocol import Response, Shown, Start

__all__ = ["MIRT"]


@dataclass(frozen=True, slots=True)
class MIRT(Core):
    """``skills`` abilities; an item of skill k reads (1 - ``general``) theta_k + ``general`` mean(theta).

    An attempted item moves theta_k at the full rate and every other skill at ``transfer`` times it. Skills without an attempt in
    the round are forgotten, practised ones are not. ``spread`` is the standard deviation of each skill around the profile.

    Scope: none.
    """

    spread: float = 0.12
    learning_rate: float = 0.06
    skills: int = 8
    general: float = 0.3
    transfer: float = 0.1

    name: ClassVar[str] = "mirt"
    own_effects: ClassVar[dict[str, Effect]] = {
        "skills": Effect("spread", -1),
        "general": Effect("contrast", -1),
        "transfer": Effect("ability", +1),
    }
    own_unit: ClassVar[tuple[str, ...]] = ("general", "transfer")

    def __post_init__(self) -> None:
        super(MIRT, self).__post_init__()
        if self.skills < 2 or self.skills != int(self.skills):
            raise InvalidInput("skills", "must be a whole number, at least 2", self.skills)
        object.__setattr__(self, "skills", int(self.skills))

    def begin(self, start: Start, draw: Draw) -> Learners:
        """theta_0k = clip(knowledge + spread n_k)."""
        theta = clip01(start.knowledge[:, None] + self.spread * draw.session_normal("knowledge", self.skills))
        return Learners(theta, theta, start.fatigue, start.engagement, np.full(start.trust.shape, 0.5))

    def respond(self, learners: Learners, shown: Shown, draw: Draw) -> Response:
        """See the class."""
        fatigue = learners.fatigue[:, None]
        own = np.take_along_axis(learners.theta, shown.skill % self.skills, axis=1)
        theta = (1.0 - self.general) * own + self.general * learners.theta.mean(axis=1, keepdims=True)
        chance = self.success(self.logit(theta, shown.difficulty, fatigue))
        return self.drawn(self.willing(learners, shown, fatigue), chance, shown, draw)

    def advance(self, learners: Learners, shown: Shown, response: Response, draw: Draw) -> Learners:
        """Practice by skill, forgetting of the other skills; the reward is the round's accuracy."""
        gains = np.where(response.attempted, np.where(response.correct, 1.0, self.error_gain), 0.0)
        mine = (shown.skill % self.skills)[:, :, None] == np.arange(self.skills)
        share = np.where(mine, 1.0, self.transfer)
        theta = self.grown(learners.theta, gains[:, :, None] * share)
        practised = (mine & response.attempted[:, :, None]).any(axis=1)
        theta = np.where(practised, theta, self.forgot(theta, learners.start))
        fatigue, engagement = self.moods(learners, response, mean_over(response.correct, response.attempted))
        return learners._replace(theta=theta, fatigue=fatigue, engagement=engagement)
