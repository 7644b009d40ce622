"""A small world for the tests of the loop: a synthetic corpus, small fitted learners, and scorers that are made up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from slateproof.corpora import Corpus, synthetic_education
from slateproof.learn.catalog import catalog_of
from slateproof.learn.protocol import Context, Feedback, Scores
from slateproof.learn.registry import learner
from slateproof.learn.two_tower import TwoTower
from slateproof.privacy import Ledger
from slateproof.select import preset
from slateproof.simulate import MODELS, PROFILES, Mode, Plan, Rounds, World, mode, play, response_model, scoring_of
from slateproof.simulate.draws import Draws, session_key
from slateproof.types import Catalog

ROUNDS, POOL = 8, 30
CONSTANTS = preset("oulad")


@dataclass(frozen=True)
class MadeUp:
    """Scores and widths that are hashes of (seed, user, item, rounds seen): a scorer without a corpus behind it."""

    seed: int = 0
    wide: bool = True
    spoil: tuple[int, int, float] | None = None
    """(round, session, value): the first score there."""

    name: ClassVar[str] = "made-up"
    corpus_digest: ClassVar[str] = ""
    ledger: ClassVar[Ledger | None] = None

    def begin(self, context: Context, seed: int) -> int:
        return 0

    def score(self, session: int, context: Context, items: Any) -> Scores:
        keys = np.array([session_key(f"user {u}") for u in context.user.tolist()], np.uint64)
        scores = Draws(self.seed).uniforms("score", keys, session, items)
        if self.spoil is not None and session == self.spoil[0] and items.shape[0] > self.spoil[1]:
            scores[self.spoil[1], 0] = self.spoil[2]
        return Scores(scores, Draws(self.seed).uniforms("width", keys, session, items) if self.wide else None)

    def update(self, session: int, context: Context, feedback: Feedback) -> int:
        return session + 1

    def save(self, path: Path) -> None:
        raise NotImplementedError


@cache
def corpus() -> Corpus:
    return synthetic_education(users=40, items=80, per_user=20.0, skills=6, seed=5)


@cache
def scorer(name: str) -> Any:
    """A fitted learner; the neural ones are small. The private one is a stand-in: small towers, and a ledger of three steps."""
    if name == "private-two-tower":
        ledger = Ledger(unit="round")
        ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=1.0, count=3)
        return replace(scorer("two-tower"), ledger=ledger, name=name)
    made: Any = TwoTower(hidden=12, embedding=6, epochs=1) if name == "two-tower" else learner(name)
    if name in ("dkt", "sakt"):
        made = replace(made, epochs=1)
    return made.fit(corpus(), seed=3)


def world(vectors: Any = None) -> World:
    """The corpus' items; six random directions stand for an item tower."""
    rows = np.random.default_rng(1).normal(size=(80, 6)) if vectors is None else vectors
    return World.of(corpus(), catalog_of(corpus(), rows / np.linalg.norm(rows, axis=1, keepdims=True)))


def random_world(seed: int, items: int = 40) -> World:
    """Random difficulties, random directions."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(items, 4))
    catalog = Catalog(list(range(items)), rng.uniform(size=items), vectors=rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return World(corpus(), catalog, rng.integers(0, 5, items), np.arange(8))


def plan(where: World, *, copies: int = 1, rounds: int = ROUNDS, size: int = POOL, seed: int = 9, models: Any = None) -> Plan:
    known = {name: response_model(name) for name in MODELS} if models is None else models
    return Plan.of(where, known, tuple(PROFILES), copies, rounds, size, seed)


def played(one: Mode, where: World, who: Plan, scorers: Any = None, **how: Any) -> Rounds:
    """A mode with fitted learners, or with the given ones."""
    names = [n for n in (one.learner, one.anchor) if n is not None]
    parts = {n: scorer(n) for n in names} if scorers is None else scorers
    return play(one, where, who, CONSTANTS, scoring_of(one, parts), **how)


@cache
def whole(name: str) -> Rounds:
    """A named mode on the common plan."""
    return played(mode(name), world(), plan(world()))
