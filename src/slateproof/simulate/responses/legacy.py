"""``legacy``: the dynamics of the authors' earlier artifact, kept so that published numbers can be compared.

Learners of this model forget: knowledge loses ``decay`` of itself with every attempted item, so that a high flyer (.9) stands
near .15 after twenty rounds. That is the artifact's behaviour, not ours. Left out: its relevance term, because responses here do
not see scores (the place in the slate stands for it).

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtr

from slateproof.simulate.draws import Draw
from slateproof.simulate.responses.core import Effect, clip01, mean_over, sigmoid
from slateproof.simulate.responses.protocol import Response, Shown, Start
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["Legacy"]


class _Students(NamedTuple):
    """Knowledge, moods, and traits (S,): discrimination, guess, slip, three choice weights."""

    knowledge: Floats
    fatigue: Floats
    engagement: Floats
    trust: Floats
    slope: Floats
    guess: Floats
    slip: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Legacy:
    """The artifact's constants under our names; see ``docs/simulator.md``.

    Scope: none.
    """

    decay: float = 0.10
    learning_rate: float = 0.20
    forgetting: float = 0.01
    noise: float = 0.005
    zone_offset: float = 0.10
    zone_width: float = 0.30
    rank_decay: float = 0.85
    choices: float = 2.0
    budget_mean: float = 1.3
    budget_sd: float = 0.5

    name: ClassVar[str] = "legacy"

    def __post_init__(self) -> None:
        for field in fields(self):
            high = 1.0 if field.name in ("decay", "forgetting", "rank_decay") else np.inf
            low = np.nextafter(0.0, 1.0) if field.name == "zone_width" else 0.0
            object.__setattr__(self, field.name, finite_scalar(getattr(self, field.name), field.name, low, high))

    @classmethod
    def effects(cls) -> dict[str, Effect]:
        """Every parameter's effect, for tired learners: there a wider budget adds attempts, because no budget is below one.

        The zone and ``rank_decay`` say which items are tried, not how many.
        """
        return {
            "decay": Effect("ability", -1), "learning_rate": Effect("ability", +1), "forgetting": Effect("ability", -1),
            "noise": Effect("spread", +1), "zone_offset": Effect("tried", -1), "zone_width": Effect("tried spread", +1),
            "rank_decay": Effect("place", +1), "choices": Effect("attempts", +1), "budget_mean": Effect("attempts", +1),
            "budget_sd": Effect("attempts", +1),
        }  # fmt: skip

    def begin(self, start: Start, draw: Draw) -> _Students:
        """Traits: a ~ N(1.2, .2) at least .2; guess and slip ~ Beta(2, 20) in [.01, .35]; choice weights N((.6, .4, .6), .2)."""
        normal = draw.session_normal("traits", 4)
        guess, slip = (
            np.clip(betaincinv(2.0, 20.0, ndtr(draw.session_normal(name)[:, 0])), 0.01, 0.35) for name in ("guess", "slip")
        )
        weights = np.array([0.6, 0.4, 0.6]) + 0.2 * normal[:, 1:]
        slope = np.maximum(0.2, 1.2 + 0.2 * normal[:, 0])
        return _Students(start.knowledge, start.fatigue, start.engagement, start.trust, slope, guess, slip, weights)

    def respond(self, learners: _Students, shown: Shown, draw: Draw) -> Response:
        """The best few items by noisy utility are tried; 3PL with slip and fatigue decides."""
        gap = learners.slope[:, None] * (learners.knowledge[:, None] - shown.difficulty) - 0.5 * learners.fatigue[:, None]
        guess, slip = learners.guess[:, None], learners.slip[:, None]
        chance = guess + (1.0 - guess - slip) * sigmoid(gap)
        zone = np.exp(-0.5 * ((shown.difficulty - (learners.knowledge[:, None] + self.zone_offset)) / self.zone_width) ** 2)
        fresh = np.where(shown.seen, 0.2, 1.0)
        rank = self.rank_decay ** np.arange(shown.items.shape[1])
        w = learners.weights
        utility = w[:, :1] * zone + w[:, 1:2] * fresh + w[:, 2:] * rank - np.log(-np.log(draw.uniform("choice")))
        utility = np.where(shown.there, utility, -np.inf)
        place = np.argsort(np.argsort(-utility, axis=1, kind="stable"), axis=1, kind="stable")
        attempted = shown.there & (place < self._count(learners, draw)[:, None])
        return Response(attempted, attempted & (draw.uniform("correct") < chance), chance)

    def _count(self, learners: _Students, draw: Draw) -> Any:
        """How many items are tried: the smaller of the learner's budget and what the system's length suggests; at least 1."""
        free = np.exp(self.budget_mean + self.budget_sd * draw.session_normal("budget")[:, 0])
        budget = np.round(free * (1.0 + 2.0 * learners.engagement) * (1.0 - 2.0 * np.minimum(0.5, learners.fatigue)))
        suggested = np.round(self.choices * (1.0 - 0.5 * learners.fatigue) * (0.5 + learners.trust))
        return np.maximum(1.0, np.minimum(budget, suggested))

    def advance(self, learners: _Students, shown: Shown, response: Response, draw: Draw) -> _Students:
        """k = (1 - decay) k + rate (y - p) per attempted item, in slate order; then forgetting, noise, and the moods."""
        knowledge = learners.knowledge
        for place in range(shown.items.shape[1]):
            step = self.learning_rate * (response.correct[:, place] - response.chance[:, place])
            moved = clip01((1.0 - self.decay) * knowledge + step)
            knowledge = np.where(response.attempted[:, place], moved, knowledge)
        jitter = self.noise / np.sqrt(shown.round + 1.0) * draw.session_normal("knowledge noise")[:, 0]
        knowledge = clip01(knowledge * (1.0 - self.forgetting) + jitter)
        tries, accuracy = response.attempted.sum(axis=1), mean_over(response.correct, response.attempted)
        effort = 0.05 * tries * mean_over(shown.difficulty, response.attempted) * (1.0 - 0.3 * learners.trust)
        fatigue = clip01(learners.fatigue + effort - 0.02)
        trust = clip01(learners.trust + 0.05 * (accuracy - 0.5))
        lift = 0.14 * (accuracy - 0.5) - 0.05 * fatigue + 0.05 * (trust - 0.5)
        engagement = clip01(learners.engagement + lift)
        return learners._replace(knowledge=knowledge, fatigue=fatigue, engagement=engagement, trust=trust)

    def ability(self, learners: _Students) -> Floats:
        """Knowledge."""
        return learners.knowledge

    def engagement(self, learners: _Students) -> Floats:
        """Engagement."""
        return learners.engagement

    def fatigue(self, learners: _Students) -> Floats:
        """Fatigue."""
        return learners.fatigue
