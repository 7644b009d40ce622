"""``zpd``: learning happens in a zone of proximal development, and so does liking it (Vygotsky's idea, as a kernel).

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.core import Core, Effect, Learners, mean_over
from slateproof.simulate.responses.protocol import Response, Shown

__all__ = ["ZPD"]


@dataclass(frozen=True, slots=True)
class ZPD(Core):
    """Match of an item: exp(-((p - ``zone_success``) / ``zone_width``)^2 / 2), p being its chance of success.

    An attempted item teaches in proportion to its match (times ``error_gain`` where wrong); learners try what matches
    (``attraction``) and are engaged by matches, not by being right.

    Scope: none.
    """

    learning_rate: float = 0.03
    error_gain: float = 0.8
    zone_success: float = 0.7
    zone_width: float = 0.2
    attraction: float = 1.5

    name: ClassVar[str] = "zpd"
    own_effects: ClassVar[dict[str, Effect]] = {
        "zone_success": Effect("ability", +1),
        "zone_width": Effect("ability", +1),
        "attraction": Effect("choosiness", +1),
    }
    own_unit: ClassVar[tuple[str, ...]] = ("zone_success",)

    def __post_init__(self) -> None:
        super(ZPD, self).__post_init__()
        if self.zone_width == 0.0:
            raise InvalidInput("zone_width", "must be above 0", self.zone_width)

    def match(self, chance: Any) -> Any:
        """How well an item sits in the zone, in (0, 1]."""
        return np.exp(-0.5 * ((chance - self.zone_success) / self.zone_width) ** 2)

    def respond(self, learners: Learners, shown: Shown, draw: Draw) -> Response:
        """See the class."""
        fatigue = learners.fatigue[:, None]
        chance = self.success(self.logit(learners.theta, shown.difficulty, fatigue))
        willing = self.willing(learners, shown, fatigue) + self.attraction * (self.match(chance) - 0.5)
        return self.drawn(willing, chance, shown, draw)

    def advance(self, learners: Learners, shown: Shown, response: Response, draw: Draw) -> Learners:
        """Learning in the zone, forgetting, fatigue; the reward is the mean match of what was tried."""
        match = self.match(response.chance)
        gains = np.where(response.attempted, match * np.where(response.correct, 1.0, self.error_gain), 0.0)
        theta = self.forgot(self.grown(learners.theta[:, 0], gains)[:, None], learners.start)
        fatigue, engagement = self.moods(learners, response, mean_over(match, response.attempted))
        return learners._replace(theta=theta, fatigue=fatigue, engagement=engagement)
