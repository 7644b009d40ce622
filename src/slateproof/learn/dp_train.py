"""The two-tower trained under differential privacy, as a learner.

*Offline*: T steps on a fixed log, each on a fresh Poisson sample of the training users' rounds; amplified by sampling.
*Streaming*: every round is used once, when it arrives; no amplification, and T steps cost a round what the one it was in costs. The
places in the order of arrival count as issued: see ``dp_step`` for what that means when a round is taken out.

There is no early stopping: a validation loss that stops the training is a release that the ledger does not hold. Widths come from
the released vectors alone (a uniform share instead of counts), so that they are post-processing; bootstrapped heads read the rows,
and are refused. The scorer does not update online.

Scope: that of ``dp_step``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_seed, check_whole
from slateproof.learn.dp_config import REGIMES, Private
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.protocol import Progress
from slateproof.learn.two_tower import TwoTower, all_vectors, towers_for
from slateproof.learn.two_tower_config import Online
from slateproof.learn.two_tower_data import Log, log_of
from slateproof.learn.two_tower_model import facts_of
from slateproof.learn.two_tower_scorer import TwoTowerScorer
from slateproof.learn.widths import prior_inverse
from slateproof.privacy import noise_for
from slateproof.types.columns import finite_scalar

__all__ = ["PrivateTwoTower", "by_arrival"]


@dataclass(frozen=True, slots=True)
class PrivateTwoTower:
    """Configuration. ``tower`` gives sizes and widths (its own training settings are not used); ``private`` the step.

    ``regime`` "offline": ``steps`` steps at ``sampling_rate``. "streaming": ``arrivals_per_step`` rounds a step, through the whole
    log in order of arrival. ``population`` is the public number of rounds; by default the log's, which then counts as public.

    Scope: none; settings.
    """

    tower: TwoTower = field(default_factory=TwoTower)
    private: Private = field(default_factory=Private)
    regime: str = "offline"
    steps: int = 500
    sampling_rate: float = 0.02
    arrivals_per_step: int = 256
    population: int | None = None
    name: str = "private-two-tower"

    def __post_init__(self) -> None:
        if self.regime not in REGIMES:
            raise InvalidInput("regime", f"must be one of {', '.join(REGIMES)}", self.regime)
        check_whole(self.steps, "steps", 1)
        check_whole(self.arrivals_per_step, "arrivals_per_step", 1)
        if finite_scalar(self.sampling_rate, "sampling_rate", 0.0, 1.0) == 0.0:
            raise InvalidInput("sampling_rate", "must be positive", self.sampling_rate)
        if self.tower.widths == "bootstrap":
            raise InvalidInput("widths", "must be ridge: bootstrapped heads read the protected rows without noise", "bootstrap")
        if self.tower.loss != "pointwise":
            raise InvalidInput("loss", "must be pointwise: a round's gradient may depend on nothing but the round", self.tower.loss)

    def calibrated(self, *, epsilon: float, delta: float) -> Self:
        """The same with the smallest noise multiplier that keeps the whole training within ``(epsilon, delta)`` at round level."""
        offline = self.regime == "offline"
        steps, rate = (self.steps, self.sampling_rate) if offline else (1, None)
        noise = noise_for(epsilon=epsilon, delta=delta, steps=steps, sampling_rate=rate)
        return replace(self, private=replace(self.private, noise_multiplier=noise))

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> TwoTowerScorer:
        """Train on the training users' rounds.

        The claim holds against those who do not know ``seed``: draw it at random (``secrets.randbits(62)``) and keep it secret. The
        default is for tests.
        """
        run = self.start(corpus, seed)
        total = self.steps if self.regime == "offline" else -(-run.waiting // self.arrivals_per_step)
        for done in range(1, total + 1):
            if self.regime == "offline":
                run.sampled(self.sampling_rate)
            else:
                run.arrivals(self.arrivals_per_step)
            if progress is not None:
                progress(done, total, "private steps")
        return self.scorer(run, corpus, seed)

    def start(self, corpus: Corpus, seed: int) -> PrivateSteps:
        """A run before its first step."""
        seed = check_seed(seed)
        log = by_arrival(log_of(corpus, corpus.split().part == 0, self.private.rows_per_round), corpus)
        facts = facts_of(corpus, fixed=self.private.side_inputs == "fixed")
        return PrivateSteps(towers_for(corpus, self.tower, seed), facts, log, self.private, seed=seed, population=self.population)

    def scorer(self, run: PrivateSteps, corpus: Corpus, seed: int) -> TwoTowerScorer:
        """The scorer of the released parameters, with the ledger that the steps wrote.

        A model file holds its scorer's seed, and who knows the seed of the noise can take the noise off: a private scorer says 0.
        """
        facts = facts_of(corpus, fixed=self.private.side_inputs == "fixed")
        vectors = all_vectors(run.model, facts)
        share = np.full(len(corpus.items), 1.0 / len(corpus.items))
        start = prior_inverse(vectors, share, self.tower.ridge, self.tower.prior_rows)
        return TwoTowerScorer(
            run.model, vectors, jnp.asarray(start, jnp.float32), Online("ridge", self.tower.online_rate),
            seed if run.ledger.non_private else 0, corpus.digest, corpus.label, run.ledger, self.name,
        )  # fmt: skip


def by_arrival(log: Log, corpus: Corpus) -> Log:
    """The rounds in the order in which they were complete: by the time of their last row where the corpus has a clock."""
    if corpus.time is None:
        return log
    order = np.argsort(corpus.time[log.first + log.count - 1], kind="stable")
    return log._replace(first=log.first[order], count=log.count[order], user=log.user[order])
