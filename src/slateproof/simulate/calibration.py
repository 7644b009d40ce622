"""Fit the response models to a corpus: level, spread of learners, slope of difficulty. An explicit fit, with what it found printed.

Marginal maximum likelihood of the model that the simulator uses for correctness,

    P(correct) = guess + (1 - guess - slip) sigmoid(b + s q_u - a (d - centre)),    q_u ~ N(0, 1) per user,

over the first answers of training users, integrated over q_u by Gauss-Hermite quadrature; centre is the mean difficulty of the
answers. The four profiles are then made to stand for the corpus' users: taken together they have its mean and its spread,

    ability_slope = s / sd(profiles' knowledge),    ease = b - ability_slope (mean(knowledge) - 1/2) + fatigue_cost mean(fatigue).

In the loop abler people try more and people learn, each response model in its own way. So ``ease`` is then moved, model by model,
to where a simulated crowd is nearest to the training users in the distances that ``validation`` takes to the held-out ones.

How often people try is not fitted: a log without exposures does not say how many items were shown.

Scope: none; a description of data, not released under privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import wasserstein_distance

from slateproof.corpora import Corpus
from slateproof.simulate.plan import World
from slateproof.simulate.profiles import PROFILES
from slateproof.simulate.responses import ResponseModel
from slateproof.simulate.responses.core import Core, sigmoid
from slateproof.simulate.validation import aggregates, difficulty_rmse, simulated_aggregates
from slateproof.types.columns import Floats

__all__ = ["Calibration", "calibrate"]

USERS, ANSWERS, NODES = 2_000, 40, 15
"""At most so many training users, so many first answers each, so many quadrature nodes."""

LEARNERS, ROUNDS, SEED, BELOW, ABOVE = 1_000, 20, 7, 4.0, 2.0
"""The crowd that levels, and how far an ease may move."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted: ``level`` b, ``spread`` s, ``slope`` a, ``centre``; from how many ``users`` and ``answers``; the mean
    log-likelihood per answer, and that of the constant model; ``eases`` by response model.

    Scope: none.
    """

    level: float
    spread: float
    slope: float
    centre: float
    users: int
    answers: int
    log_likelihood: float
    constant_log_likelihood: float
    eases: tuple[tuple[str, float], ...] = ()

    def parameters(self, model: str | None = None) -> dict[str, float]:
        """The parameters that follow, for a response model whose ease was levelled, or for all before that."""
        knowledge = np.array([p.knowledge for p in PROFILES.values()])
        fatigue = float(np.mean([p.fatigue for p in PROFILES.values()]))
        ability = self.spread / float(knowledge.std())
        ease = self.level - ability * (float(knowledge.mean()) - 0.5) + Core().fatigue_cost * fatigue
        given = {"ability_slope": ability, "difficulty_slope": self.slope, "ease": ease, "centre": self.centre}
        return given if model is None else given | {"ease": dict(self.eases)[model]}

    def to_dict(self) -> dict[str, Any]:
        """The fit and the parameters."""
        return asdict(self) | {"parameters": self.parameters(), "eases": dict(self.eases)}

    def to_text(self) -> str:
        """A few lines."""
        lines = [
            f"calibration on {self.answers:,} first answers of {self.users:,} training users",
            f"  level {self.level:.4f}, spread of users {self.spread:.4f}, "
            f"slope of difficulty {self.slope:.4f} around {self.centre:.4f}",
            f"  log-likelihood per answer {self.log_likelihood:.4f} (constant model {self.constant_log_likelihood:.4f})",
        ]
        lines += [f"  {name} = {value:.4f}" for name, value in self.parameters().items()]
        return "\n".join([*lines, *(f"  {name}: ease = {value:.4f}" for name, value in self.eases)])

    def levelled(self, world: World, models: Mapping[str, Core]) -> Calibration:
        """With the ease of each of ``models`` at which its crowd is nearest to the corpus' training users.

        The distance is the sum of two that ``validation`` reports: difficulty RMSE and W1 of the users' shares. The crowd's
        numbers are the same at every trial, so that the distance moves with the ease alone. Searched from 4 logits below to 2
        above.
        """
        seen = aggregates(world.corpus, world.corpus.split().part == 0)
        eases = []
        for name, model in models.items():

            def away(ease: float, model: Core = model) -> float:
                made = cast(ResponseModel, replace(model, ease=ease))
                found = simulated_aggregates(world, made, seen, learners=LEARNERS, rounds=ROUNDS, seed=SEED)
                return difficulty_rmse(seen, found) + float(wasserstein_distance(seen.shares, found.shares))

            span = (model.ease - BELOW, model.ease + ABOVE)
            found = minimize_scalar(away, bounds=span, method="bounded", options={"xatol": 0.02})
            eases.append((name, float(found.x)))
        return replace(self, eases=tuple(eases))


def calibrate(corpus: Corpus) -> Calibration:
    """Fit; nothing is drawn: users are taken at even steps through the training users."""
    rows, starts = _answers(corpus)
    y, d = corpus.positive[rows], corpus.items.difficulty[corpus.item[rows]]
    centre = float(d.mean())
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weight = np.log(weights / weights.sum())
    fixed = Core()

    def loss(at: Floats) -> float:
        level, spread, slope = at[0], np.exp(at[1]), np.exp(at[2])
        z = level - slope * (d - centre)
        p = fixed.guess + (1.0 - fixed.guess - fixed.slip) * sigmoid(z[:, None] + spread * nodes)
        each = np.add.reduceat(np.where(y[:, None], np.log(p), np.log1p(-p)), starts, axis=0) + weight
        top = each.max(axis=1)
        return -float((top + np.log(np.exp(each - top[:, None]).sum(axis=1))).sum()) / y.size

    share = min(max(float(y.mean()), 1e-6), 1.0 - 1e-6)
    start = np.array([np.log(share / (1.0 - share)), 0.0, 1.0])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-8.0, 8.0), (-4.0, 2.5), (-4.0, 4.0)])
    constant = share * np.log(share) + (1.0 - share) * np.log(1.0 - share)
    level, spread, slope = float(found.x[0]), float(np.exp(found.x[1])), float(np.exp(found.x[2]))
    return Calibration(level, spread, slope, centre, starts.size, y.size, -float(found.fun), float(constant))


def _answers(corpus: Corpus) -> tuple[Any, Any]:
    """Rows of the first answers of the chosen users, and where each user begins."""
    users = np.flatnonzero(corpus.split().part == 0)
    users = users[np.unique(np.linspace(0, users.size - 1, min(USERS, users.size)).astype(np.int64))]
    counts = np.minimum(ANSWERS, corpus.user_starts[users + 1] - corpus.user_starts[users])
    starts = np.cumsum(counts) - counts
    rows = np.repeat(corpus.user_starts[users] - starts, counts) + np.arange(int(counts.sum()))
    return rows, starts
