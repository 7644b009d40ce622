"""The two-tower trained under differential privacy, as a learner.

*Offline*: T steps on a fixed log, each on a fresh Poisson sample of the training users' rounds; amplified by sampling.
*Streaming*: every round is used once, when it arrives; no amplification, and T steps cost a round what the one it was in costs. The
places in the order of arrival count as issued: see ``dp_step`` for what that means when a round is taken out.

Users are trained on by a hash of their id (``dp_records``), never by a draw over all of them. For a figure per user there are two
ways: ``max_rounds_per_user`` caps the log before training, and ``privacy.user_level_at`` lifts the ledger's figure over the cap; or
``Private(unit="user")`` samples and clips whole users, and the ledger's figure is one per user as it stands.

There is no early stopping: a validation loss that stops the training is a release that the ledger does not hold. Widths come from
the released vectors alone (a uniform share instead of counts), so that they are post-processing; bootstrapped heads read the rows,
and are refused. The scorer does not update online.

Scope: that of ``dp_step``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn import dp_seed
from slateproof.learn.checks import check_seed, check_whole
from slateproof.learn.dp_config import REGIMES, Private
from slateproof.learn.dp_records import by_arrival, capped, facts_for, log_for, parts
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.protocol import Progress
from slateproof.learn.two_tower import TwoTower, all_vectors
from slateproof.learn.two_tower_config import Online
from slateproof.learn.two_tower_model import Towers
from slateproof.learn.two_tower_scorer import TwoTowerScorer
from slateproof.learn.widths import prior_inverse
from slateproof.privacy import Ledger, noise_for
from slateproof.types.columns import finite_scalar

__all__ = ["PrivateTwoTower", "TwoTowerScorer", "private_two_tower"]


def private_two_tower(epsilon: float = 3.0, delta: float = 1e-5) -> PrivateTwoTower:
    """The learner of the registry: side inputs fixed, 300 steps at rate .02, noise for (``epsilon``, ``delta``) per round."""
    learner = PrivateTwoTower(private=Private(side_inputs="fixed"), steps=300)
    return learner.calibrated(epsilon=epsilon, delta=delta)


@dataclass(frozen=True, slots=True)
class PrivateTwoTower:
    """Configuration. ``tower`` gives sizes and widths (its own training settings are not used); ``private`` the step.

    ``regime`` "offline": ``steps`` steps at ``sampling_rate``. "streaming": ``arrivals_per_step`` rounds a step, through the whole
    log in order of arrival. ``population`` is the public number of records; by default the log's, which then counts as public.
    ``max_rounds_per_user`` keeps that many rounds of each user, chosen by ``cap_contributions`` under the secret ``cap_key``.

    The catalogue of items and the settings here count as public; so does the population.

    Scope: none; settings.
    """

    tower: TwoTower = field(default_factory=TwoTower)
    private: Private = field(default_factory=Private)
    regime: str = "offline"
    steps: int = 500
    sampling_rate: float = 0.02
    arrivals_per_step: int = 256
    population: int | None = None
    max_rounds_per_user: int | None = None
    cap_key: bytes | None = field(default=None, repr=False)
    name: str = "private-two-tower"

    def __post_init__(self) -> None:
        if self.regime not in REGIMES:
            raise InvalidInput("regime", f"must be one of {', '.join(REGIMES)}", self.regime)
        check_whole(self.steps, "steps", 1)
        check_whole(self.arrivals_per_step, "arrivals_per_step", 1)
        if finite_scalar(self.sampling_rate, "sampling_rate", 0.0, 1.0) == 0.0:
            raise InvalidInput("sampling_rate", "must be positive", self.sampling_rate)
        if self.private.unit == "user" and self.regime == "streaming":
            raise InvalidInput("unit", "of a stream must be the round: a user's rows do not all arrive at once", "user")
        if self.max_rounds_per_user is not None:
            check_whole(self.max_rounds_per_user, "max_rounds_per_user", 1)
            if self.private.unit == "user":
                raise InvalidInput(
                    "max_rounds_per_user", "is for rounds as records: whole users need no cap", self.max_rounds_per_user
                )
        if (self.cap_key is None) is not (self.max_rounds_per_user is None):
            raise InvalidInput("cap_key", "must be given with max_rounds_per_user, and only then")
        if self.tower.widths == "bootstrap":
            raise InvalidInput("widths", "must be ridge: bootstrapped heads read the protected rows without noise", "bootstrap")
        if self.tower.loss != "pointwise":
            raise InvalidInput("loss", "must be pointwise: a round's gradient may depend on nothing but the round", self.tower.loss)

    def calibrated(self, *, epsilon: float, delta: float) -> Self:
        """The same with the smallest noise multiplier that keeps the whole training within ``(epsilon, delta)`` per record."""
        offline = self.regime == "offline"
        steps, rate = (self.steps, self.sampling_rate) if offline else (1, None)
        noise = noise_for(epsilon=epsilon, delta=delta, steps=steps, sampling_rate=rate)
        return replace(self, private=replace(self.private, noise_multiplier=noise))

    def fit(self, corpus: Corpus, *, seed: int | None = None, progress: Progress | None = None) -> TwoTowerScorer:
        """Train on the training users' records.

        The claim holds against those who do not know ``seed``: draw it at random (``secrets.randbits(62)``) and keep it secret. It
        has no default where noise is on, because a seed that stands in the source is known to everyone.
        """
        if seed is None and self.private.noise_multiplier is not None:
            raise InvalidInput("seed", "must be given where noise is on: draw it with secrets.randbits(62), and keep it secret")
        run = self.start(corpus, 42 if seed is None else seed)
        total = self.steps if self.regime == "offline" else -(-run.waiting // self.arrivals_per_step)
        for done in range(1, total + 1):
            if self.regime == "offline":
                run.sampled(self.sampling_rate)
            else:
                run.arrivals(self.arrivals_per_step)
            if progress is not None:
                progress(done, total, "private steps")
        return self.scorer(run, corpus, 42 if seed is None else seed)

    def start(self, corpus: Corpus, seed: int, *, ledger: Ledger | None = None) -> PrivateSteps:
        """A run before its first step; it writes into ``ledger`` where one is given, else into its own."""
        seed = check_seed(seed)
        log, cap = log_for(corpus, self.private), None
        streaming = self.regime == "streaming"
        if streaming:
            log = by_arrival(log, corpus)
        if self.max_rounds_per_user is not None and self.cap_key is not None:
            bound, rows = self.max_rounds_per_user, self.private.rows_per_round
            log, cap = capped(log, corpus, rows, max_rounds_per_user=bound, key=self.cap_key, keep_places=streaming)
        items, tags = len(corpus.items), len(corpus.items.tag_names)
        model = Towers.new(items, tags, self.tower.hidden, self.tower.embedding, dp_seed.key(seed, "first parameters"))
        facts = facts_for(corpus, self.private)
        return PrivateSteps(model, facts, log, self.private, seed=seed, population=self.population, ledger=ledger, cap=cap)

    def held_out(self, corpus: Corpus) -> Any:
        """The users (a mask) that a fit of this learner never reads: those to measure it on."""
        return parts(corpus) == 2

    def scorer(self, run: PrivateSteps, corpus: Corpus, seed: int) -> TwoTowerScorer:
        """The scorer of the released parameters, with the ledger that the steps wrote.

        A model file holds its scorer's seed, and who knows the seed of the noise can take the noise off: a private scorer says 0.
        """
        facts = facts_for(corpus, self.private)
        vectors = all_vectors(run.model, facts)
        share = np.full(len(corpus.items), 1.0 / len(corpus.items))
        start = prior_inverse(vectors, share, self.tower.ridge, self.tower.prior_rows)
        return TwoTowerScorer(
            run.model, vectors, jnp.asarray(start, jnp.float32), Online("ridge", self.tower.online_rate),
            seed if run.ledger.non_private else 0, corpus.digest, corpus.label, run.ledger, self.name,
        )  # fmt: skip
