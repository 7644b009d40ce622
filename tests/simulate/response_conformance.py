"""What every response model must keep: inherit the class, set ``model``, and run it under pytest.

A model of one's own is conformant when this class passes for it; ``docs/simulator.md`` shows how.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw, Draws, session_key
from slateproof.simulate.responses import Shown, Start

SESSIONS, PLACES, ROUNDS, ITEMS = 96, 6, 12, 60


def start_of(knowledge: float = 0.6, sessions: int = SESSIONS, fatigue: float = 0.4, engagement: float = 0.7) -> Start:
    full = lambda value: np.full(sessions, value)  # noqa: E731
    return Start(full(knowledge), full(fatigue), full(engagement), full(0.6))


def keys_of(sessions: int = SESSIONS) -> np.ndarray:
    return np.array([session_key(f"s{s}") for s in range(sessions)], np.uint64)


def slate(t: int, sessions: int = SESSIONS, difficulty: float | None = None, hole: bool = False) -> Shown:
    """The slates of round t, the same for every model; with ``hole`` the last place is empty in every other session."""
    rng = np.random.default_rng([7, t])
    items = np.argsort(rng.random((sessions, ITEMS)), axis=1)[:, :PLACES]
    d = items / (ITEMS - 1.0) if difficulty is None else np.full(items.shape, difficulty)
    there = np.ones(items.shape, bool)
    if hole:
        there[::2, -1] = False
        items[::2, -1] = -1
    return Shown(items, there, d, items % 8, np.zeros(items.shape, bool), t)


def live(model: Any, start: Start | None = None, rounds: int = ROUNDS, draws: Draws | None = None, **how: Any) -> dict[str, Any]:
    """Run a model; (T, S) columns of what it did."""
    start = start_of() if start is None else start
    sessions = start.knowledge.size
    draws, keys = draws or Draws(3), keys_of(sessions)
    people = model.begin(start, Draw(draws, keys, -1, np.zeros((sessions, 0), np.int64)))
    out: dict[str, list[Any]] = {
        n: [] for n in ("ability", "engagement", "fatigue", "attempts", "correct", "chance", "tried", "raw", "theta")
    }
    out["ability"].append(model.ability(people))
    for t in range(rounds):
        shown = slate(t, sessions, **how)
        draw = Draw(draws, keys, t, shown.items)
        response = model.respond(people, shown, draw)
        people = model.advance(people, shown, response, draw)
        for name in ("ability", "engagement", "fatigue"):
            out[name].append(getattr(model, name)(people))
        out["attempts"].append(response.attempted.sum(axis=1))
        out["correct"].append(response.correct.sum(axis=1))
        out["chance"].append(response.chance)
        out["tried"].append(response.attempted)
        out["raw"].append(response)
        out["theta"].append(getattr(people, "theta", model.ability(people)[:, None]))
    return {name: values if name == "raw" else np.array(values) for name, values in out.items()}


def choosiness(run: dict[str, Any]) -> float:
    """Share tried of the items near a chance of .7, minus the share tried of the others."""
    near = np.abs(run["chance"] - 0.7) < 0.15
    return float(run["tried"][near].mean() - run["tried"][~near].mean())


class ResponseConformance:
    """The suite."""

    model: ClassVar[Any]
    quantities: ClassVar[dict[str, Any]] = {
        "correct": lambda run: run["chance"].mean(),
        "attempts": lambda run: run["attempts"].mean(),
        "ability": lambda run: run["ability"][-1].mean(),
        "engagement": lambda run: run["engagement"].mean(),
        "fatigue": lambda run: run["fatigue"].mean(),
        "spread": lambda run: run["theta"].mean(axis=2).std(axis=1).mean(),
        "contrast": lambda run: run["chance"].std(axis=(1, 2)).mean(),
        "choosiness": choosiness,
        "tried": lambda run: run["chance"][run["tried"]].mean(),
        "tried spread": lambda run: run["chance"][run["tried"]].std(),
        "place": lambda run: np.nonzero(run["tried"])[2].mean(),
    }
    placeless: ClassVar[dict[str, float]] = {}
    """Values of the parameters under which the place in the slate means nothing to the model."""

    def test_a_correct_answer_is_an_attempt_at_a_shown_item(self) -> None:
        for t, response in enumerate(live(self.model, hole=True)["raw"]):
            shown = slate(t, hole=True)
            assert not (response.correct & ~response.attempted).any()
            assert not (response.attempted & ~shown.there).any()
            assert response.attempted.any()

    def test_everything_stays_in_the_unit_interval(self) -> None:
        for knowledge in (0.0, 0.5, 1.0):
            run = live(self.model, start_of(knowledge), rounds=40)
            for name in ("ability", "engagement", "fatigue", "chance"):
                assert np.isfinite(run[name]).all()
                assert run[name].min() >= 0.0
                assert run[name].max() <= 1.0

    def test_harder_items_are_missed_more_and_able_learners_miss_less(self) -> None:
        chance = [live(self.model, rounds=1, difficulty=d)["chance"].mean() for d in (0.1, 0.5, 0.9)]
        assert chance[0] > chance[1] > chance[2]
        able = [live(self.model, start_of(k), rounds=1)["chance"].mean() for k in (0.2, 0.5, 0.8)]
        assert able[0] < able[1] < able[2]

    def test_frequencies_follow_the_stated_chances(self) -> None:
        raw = live(self.model, start_of(sessions=1500), rounds=4)["raw"]
        tried = np.concatenate([r.attempted.ravel() for r in raw])
        hit = np.concatenate([r.correct.ravel() for r in raw])[tried]
        chance = np.concatenate([r.chance.ravel() for r in raw])[tried]
        assert abs(hit.mean() - chance.mean()) < 4.0 * np.sqrt((chance * (1 - chance)).sum()) / hit.size

    def test_a_response_belongs_to_the_item_not_to_its_neighbours_order(self) -> None:
        """Another order of the same sessions gives the same sessions; a session alone equals itself in the crowd."""
        keys, draws = keys_of(), Draws(3)
        shown, empty = slate(0), np.zeros((SESSIONS, 0), np.int64)
        people = self.model.begin(start_of(), Draw(draws, keys, -1, empty))
        whole = self.model.respond(people, shown, Draw(draws, keys, 0, shown.items))
        order = np.random.default_rng(1).permutation(SESSIONS)[:5]
        few = self.model.begin(start_of(sessions=5), Draw(draws, keys[order], -1, empty[:5]))
        part = self.model.respond(few, shown.take(order), Draw(draws, keys[order], 0, shown.items[order]))
        for name in ("attempted", "correct", "chance"):
            assert np.array_equal(getattr(part, name), getattr(whole, name)[order])

    def test_luck_belongs_to_the_item_not_to_its_place(self) -> None:
        """Common random numbers: where places mean nothing, a permuted slate is answered by the same permutation."""
        model, keys, draws, shown = replace(self.model, **self.placeless), keys_of(), Draws(3), slate(0)
        people = model.begin(start_of(), Draw(draws, keys, -1, np.zeros((SESSIONS, 0), np.int64)))
        order = np.argsort(np.random.default_rng(2).random(shown.items.shape), axis=1)
        moved = replace(
            shown,
            **{
                name: np.take_along_axis(getattr(shown, name), order, axis=1)
                for name in ("items", "there", "difficulty", "skill", "seen")
            },
        )
        one, two = (model.respond(people, each, Draw(draws, keys, 0, each.items)) for each in (shown, moved))
        for name in ("attempted", "correct", "chance"):
            assert np.array_equal(np.take_along_axis(getattr(one, name), order, axis=1), getattr(two, name)), name

    def test_two_runs_are_equal_and_nothing_is_changed_in_place(self) -> None:
        one, two = live(self.model), live(self.model)
        assert all(np.array_equal(one[n], two[n]) for n in one if n != "raw")
        keys, draws, shown = keys_of(), Draws(3), slate(0)
        people = self.model.begin(start_of(), Draw(draws, keys, -1, np.zeros((SESSIONS, 0), np.int64)))
        before = [np.copy(column) for column in people]
        draw = Draw(draws, keys, 0, shown.items)
        self.model.advance(people, shown, self.model.respond(people, shown, draw), draw)
        assert all(np.array_equal(a, b) for a, b in zip(before, people, strict=True))

    def test_every_parameter_has_an_effect_in_the_stated_direction(self) -> None:
        effects = self.model.effects()
        assert set(effects) == {field.name for field in fields(self.model)}
        for name, effect in effects.items():
            low, high = self.sides(name)
            runs = [live(replace(self.model, **{name: value}), **self.setting(name)) for value in (low, high)]
            was, now = (float(self.quantities[effect.quantity](run)) for run in runs)
            assert (now - was) * effect.sign > 0.0, (name, effect, was, now)

    def test_parameters_out_of_range_are_refused_by_name(self) -> None:
        for field in fields(self.model):
            with pytest.raises(InvalidInput) as refused:
                replace(self.model, **{field.name: float("nan")})
            assert refused.value.field == field.name

    def sides(self, name: str) -> tuple[float, float]:
        """Two values of a parameter, the second larger."""
        value = getattr(self.model, name)
        return (0.5 * value, 1.25 * value) if value else (0.0, 1.0)

    def setting(self, name: str) -> dict[str, Any]:
        """Where a parameter's effect is looked at."""
        return {}


class CoreConformance(ResponseConformance):
    """The suite for models that inherit ``Core``: learning is bounded, needs attempts, and fades no further than the start."""

    placeless: ClassVar[dict[str, float]] = {"rank_cost": 0.0}
    rewarding: ClassVar[float] = 0.05
    """A difficulty at which the reward exceeds the reference: easy where accuracy engages, in the zone where matches do."""

    def setting(self, name: str) -> dict[str, Any]:
        # Easy items for learners above the centre: slopes and rewards have one sign there.
        if name in ("ability_slope", "slip"):
            return {"start": start_of(0.8)}
        if name == "difficulty_slope":
            return {"difficulty": 0.9}
        if name == "spread":
            return {"rounds": 1}
        if name == "engagement_gain":
            return {"difficulty": self.rewarding}
        return {}

    def test_learning_is_possible_and_bounded_and_forgetting_ends_at_the_start(self) -> None:
        run = live(self.model, rounds=60, difficulty=0.5)
        assert run["ability"][-1].mean() > run["ability"][0].mean() + 0.05
        assert run["ability"].max() <= 1.0
        idle = live(replace(self.model, attempt_base=-60.0), rounds=30)
        assert idle["attempts"].sum() == 0
        assert np.array_equal(idle["ability"][0], idle["ability"][-1])
        relapse = live(replace(self.model, learning_rate=0.0), rounds=5)
        assert np.array_equal(relapse["ability"][0], relapse["ability"][-1])

    def test_learning_needs_attempts(self) -> None:
        shy, keen = (live(replace(self.model, attempt_base=base)) for base in (-2.0, 2.0))
        assert shy["ability"][-1].mean() < keen["ability"][-1].mean()
