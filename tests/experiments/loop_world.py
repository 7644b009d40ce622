"""A small closed loop for tests of the loop experiments: a synthetic corpus, and a plain scorer in the two-tower's place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from slateproof import corpora
from slateproof.corpora import Corpus
from slateproof.experiments.core import Task
from slateproof.experiments.loop_runs import Loop, LoopConfig
from slateproof.experiments.shelf import Shelf
from slateproof.learn.catalog import catalog_of
from slateproof.learn.protocol import Context, Feedback, Scores
from slateproof.learn.registry import learner
from slateproof.learn.two_tower_config import Online
from slateproof.privacy import Ledger
from slateproof.simulate import PROFILES, Plan, Setting, World, response_model
from slateproof.simulate.config import Config, CorpusSection
from slateproof.simulate.modes import PRIVATE

WHERE = (("OULAD", ("synthetic-demo",), "oulad"), ("EdNet", ("synthetic-demo",), "ednet"))
SMALL: dict[str, Any] = {
    "copies": 2, "rounds": 6, "longer": 7, "pool_size": 30, "users": 100, "resamples": 50, "baselines": (), "corpora": WHERE,
}  # fmt: skip
"""Settings of every test run."""


class Moved(NamedTuple):
    """What a session of the scorer below holds."""

    offset: Any
    level: Any


@dataclass(frozen=True)
class Tower:
    """Logits v_i . (p_u + offset) + level with random v and p; a round moves offset and level as the two-tower's update does."""

    name: str = "two-tower"
    ledger: Ledger | None = None
    seed: int = 0

    online: ClassVar[Online] = Online()
    corpus_digest: ClassVar[str] = ""

    @property
    def similarity_vectors(self) -> Any:
        rows = np.random.default_rng(self.seed).normal(size=(150, 4))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def begin(self, context: Context, seed: int) -> Moved:
        return Moved(np.zeros((context.user.size, 4), np.float32), np.zeros(context.user.size, np.float32))

    def score(self, session: Moved, context: Context, items: Any) -> Scores:
        vectors = self.similarity_vectors[items]
        users = np.random.default_rng(1).normal(size=(2_000, 4))[context.user % 2_000]
        scores = np.einsum("snk,sk->sn", vectors, users + session.offset) + session.level[:, None]
        return Scores(scores, 0.05 + 0.1 * np.abs(vectors[:, :, 0]))

    def update(self, session: Moved, context: Context, feedback: Feedback) -> Moved:
        if self.ledger is not None:
            return session
        step = np.where(feedback.attempted, feedback.correct - 0.5, 0.0)
        moved = np.einsum("snk,sn->sk", self.similarity_vectors[np.maximum(feedback.items, 0)], step)
        rate = self.online.rate
        return Moved(
            (session.offset + rate * moved).astype(np.float32), (session.level + rate * step.sum(axis=1)).astype(np.float32)
        )


@cache
def corpus() -> Corpus:
    return corpora.load("synthetic-demo")


@cache
def loop(paper: str, copies: int = 2) -> Loop:
    """A loop that stands for a corpus of the paper; what was played on it is kept for other tests."""
    tower = Tower()
    ledger = Ledger(unit="round")
    ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=1.0, count=3)
    scorers: dict[str, Any] = {"two-tower": tower, PRIVATE: replace(tower, name=PRIVATE, ledger=ledger, seed=2)}
    scorers["mf-bce"] = learner("mf-bce").fit(corpus(), seed=3)
    world = World.of(corpus(), catalog_of(corpus(), tower.similarity_vectors))
    models = {name: response_model(name) for name in ("irt", "mirt", "zpd", "contextual_zpd")}
    how = (tuple(PROFILES), copies)
    plan = Plan.of(world, models, *how, 6, 30, 42)
    plans = {"main": plan, "longer": Plan.of(world, models, *how, 7, 30, 42)}
    plans["legacy"] = Plan.of(world, {"legacy": response_model("legacy")}, how[0], 4 * copies, 6, 30, 42)
    preset = {"OULAD": "oulad", "EdNet": "ednet"}[paper]
    config = Config(
        corpus=CorpusSection(name="synthetic-demo"), preset=preset, rounds=6, copies=copies, pool_size=30, modes=("als",)
    )
    return Loop(paper, Setting(config, corpus(), plan, None, scorers, {"adaptive": world}, {}), plans, scorers)


def task(config: LoopConfig, told: list[int] | None = None) -> Task:
    """A task on no data folder: only what is generated is there."""
    return Task(config, Shelf(None), 42, lambda done, total, what: None if told is None else told.append(done))
