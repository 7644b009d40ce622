"""Simulated learners without a selector: on items drawn as often as the corpus' items occur. For calibration and validation.

Scope: none; simulated people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.simulate.draws import Draw, Draws, session_key
from slateproof.simulate.plan import World
from slateproof.simulate.profiles import PROFILES
from slateproof.simulate.responses import ResponseModel, Shown, Start
from slateproof.types.columns import Floats

__all__ = ["Answers", "answers"]

SIZE = 5
"""Items a round."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What L learners did with everything they were shown, (L, rounds * 5), oldest first.

    Scope: none.
    """

    attempted: Any
    correct: Any
    difficulty: Floats

    @property
    def share(self) -> float:
        """Correct answers per attempt."""
        return float(self.correct.sum() / max(int(self.attempted.sum()), 1))


def answers(world: World, model: ResponseModel, *, learners: int, rounds: int, seed: int) -> Answers:
    """Learners spread as the profiles are, on five random items a round."""
    rng = np.random.default_rng(seed)
    draws, keys = Draws(seed), np.array([session_key(f"validation/{n}") for n in range(learners)], np.uint64)
    people = model.begin(_population(learners, rng), Draw(draws, keys, -1, np.zeros((learners, 0), np.int64)))
    popularity = np.cumsum(world.corpus.items.count / world.corpus.items.count.sum())
    seen = np.zeros((learners, len(world.catalog)), np.bool_)
    columns: tuple[list[Any], ...] = ([], [], [])
    for t in range(rounds):
        items = np.minimum(np.searchsorted(popularity, rng.random((learners, SIZE))), popularity.size - 1)
        known = np.take_along_axis(seen, items, axis=1)
        shown = Shown(items, np.ones(items.shape, np.bool_), world.difficulty[items], world.skill[items], known, t)
        draw = Draw(draws, keys, t, items)
        response = model.respond(people, shown, draw)
        people = model.advance(people, shown, response, draw)
        np.put_along_axis(seen, items, True, axis=1)
        for column, value in zip(columns, (response.attempted, response.correct, shown.difficulty), strict=True):
            column.append(value)
    return Answers(*(np.concatenate(column, axis=1) for column in columns))


def _population(learners: int, rng: np.random.Generator) -> Start:
    """Normal with the profiles' mean and spread, clipped into [0, 1]."""
    columns = {}
    for name in ("knowledge", "fatigue", "engagement", "trust"):
        values = np.array([getattr(p, name) for p in PROFILES.values()])
        columns[name] = np.clip(rng.normal(values.mean(), values.std(), learners), 0.0, 1.0)
    return Start(**columns)
