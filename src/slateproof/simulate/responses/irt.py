"""``irt``: one ability, practice teaches whatever its difficulty, success engages.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.core import Core, Learners, mean_over
from slateproof.simulate.responses.protocol import Response, Shown

__all__ = ["IRT"]


@dataclass(frozen=True, slots=True)
class IRT(Core):
    """Four-parameter logistic in one ability. Gain of an attempted item: 1 if correct, ``error_gain`` if not.

    Scope: none.
    """

    name: ClassVar[str] = "irt"

    def respond(self, learners: Learners, shown: Shown, draw: Draw) -> Response:
        """See the class."""
        fatigue = learners.fatigue[:, None]
        chance = self.success(self.logit(learners.theta, shown.difficulty, fatigue))
        return self.drawn(self.willing(learners, shown, fatigue), chance, shown, draw)

    def advance(self, learners: Learners, shown: Shown, response: Response, draw: Draw) -> Learners:
        """Practice, forgetting, fatigue; the reward is the round's accuracy."""
        gains = np.where(response.attempted, np.where(response.correct, 1.0, self.error_gain), 0.0)
        theta = self.forgot(self.grown(learners.theta[:, 0], gains)[:, None], learners.start)
        fatigue, engagement = self.moods(learners, response, mean_over(response.correct, response.attempted))
        return learners._replace(theta=theta, fatigue=fatigue, engagement=engagement)
