"""What every mode must keep: inherit the class, set ``mode``, and run it under pytest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from world import CONSTANTS, played

from slateproof.simulate import Mode, Plan, Rounds, World
from slateproof.simulate.record import SCALARS
from slateproof.types import Levers, State


class ModeConformance:
    """The suite; ``rounds`` is the mode played on ``plan`` in ``world``."""

    mode: ClassVar[Mode]
    world: ClassVar[World]
    plan: ClassVar[Plan]
    rounds: ClassVar[Rounds]

    def rows(self) -> list[dict[str, Any]]:
        return list(self.rounds.table.to_pylist())

    def test_one_row_per_session_and_round_in_order(self) -> None:
        sessions, rounds = len(self.plan.sessions), self.plan.rounds
        table = self.rounds.table
        assert table.num_rows == sessions * rounds
        assert table["session"].to_pylist() == [one.label for one in self.plan.sessions for _ in range(rounds)]
        assert table["round"].to_pylist() == list(range(rounds)) * sessions
        assert set(table["mode"].to_pylist()) == {self.mode.name}
        for name in SCALARS:
            if name != "margin":  # null where nothing else was left
                assert np.isfinite(self.rounds.column(name)).all(), name

    def test_slates_have_their_size_come_from_the_pool_and_repeat_nothing(self) -> None:
        low, high = (5, 5) if self.mode.levers is not None else self.mode.lever_map(CONSTANTS).bounds.size
        names = self.world.catalog.ids
        for place, row in enumerate(self.rows()):
            pool = self.plan.pools[row["round"], place // self.plan.rounds]
            assert low <= row["size"] <= high
            assert len(row["slate"]) == len(set(row["slate"])) == row["size"] == len(row["attempted"]) == len(row["correct"])
            assert set(row["item"]) <= set(pool.tolist())
            assert row["slate"] == [names[code] for code in row["item"]]

    def test_levers_are_the_map_of_the_state_and_inside_its_bounds(self) -> None:
        if self.mode.levers is not None:
            for name in ("target_shift", "exploration", "diversity", "size"):
                assert set(self.rounds.column(name).ravel()) == {getattr(self.mode.levers, name)}
            return
        box = self.mode.lever_map(CONSTANTS).bounds
        for row in self.rows():
            levers = self.mode.lever_map(CONSTANTS)(State(row["knowledge"], row["engagement"], row["uncertainty"]))
            for name in ("target_shift", "exploration", "diversity", "size"):
                low, high = getattr(box, name)
                assert low <= row[name] == getattr(levers, name) <= high
        removed = {"exploration": "exploration", "diversity": "diversity"}
        for term in self.mode.removed & set(removed):
            assert not self.rounds.column(removed[term]).any()

    def test_the_state_is_that_of_the_history(self) -> None:
        """Against ``State.from_history``, from the recorded responses alone."""
        for s in range(len(self.plan.sessions)):
            past: list[Any] = []
            for row in self.rounds.session(s).to_pylist():
                told = State.from_history([] if self.mode.open_loop else past)
                assert (row["knowledge"], row["engagement"]) == (told.knowledge, told.engagement)
                assert row["target"] == np.clip(told.knowledge + row["target_shift"], 0.0, 1.0)
                tries, right = sum(row["attempted"]), sum(row["correct"])
                assert row["round_attempted"] == (tries > 0)
                assert row["round_correct"] == (tries > 0 and right >= tries / 2)
                past.append((row["slate"], row["round_attempted"], row["round_correct"]))

    def test_window_columns_say_what_the_slate_shows(self) -> None:
        d = self.world.difficulty
        for row in self.rows():
            shown = [float(d[code]) for code in row["item"]]
            assert abs(row["mean_target"] - sum(shown) / len(shown)) < 1e-12
            assert row["worst_distance"] == max(abs(x - row["target"]) for x in shown)
            assert row["in_window"] == all(abs(x - row["target"]) <= row["window"] for x in shown)
            assert row["window"] >= CONSTANTS.window

    def test_accepted_columns_are_about_the_attempted_items(self) -> None:
        d = self.world.difficulty
        for row in self.rows():
            tried = [float(d[code]) for code, attempt in zip(row["item"], row["attempted"], strict=True) if attempt]
            if not tried:
                assert (row["accepted_mean"], row["accepted_distance"], row["accepted_in_window"]) == (None, None, False)
                continue
            assert abs(row["accepted_mean"] - sum(tried) / len(tried)) < 1e-12
            assert row["accepted_distance"] == max(abs(x - row["target"]) for x in tried)
            assert row["accepted_in_window"] == all(abs(x - row["target"]) <= row["window"] for x in tried)
            assert row["accepted_in_window"] or not row["in_window"]  # what is accepted was shown

    def test_people_start_the_same_and_answer_the_same_item_the_same(self) -> None:
        """Round 0 of every mode meets equal people: an item in an equal place of the slate gets an equal response."""
        other = played(self.other(), self.world, self.plan)
        assert np.array_equal(self.rounds.column("ability_before")[:, 0], other.column("ability_before")[:, 0])
        compared = 0
        for s, one in enumerate(self.plan.sessions):
            if one.model == "legacy":  # chooses between the items of a slate
                continue
            mine, theirs = (r.session(s).slice(0, 1).to_pylist()[0] for r in (self.rounds, other))
            for place in range(min(mine["size"], theirs["size"])):
                if mine["item"][place] == theirs["item"][place]:
                    compared += 1
                    for name in ("attempted", "correct"):
                        assert mine[name][place] == theirs[name][place]
        assert compared

    def other(self) -> Mode:
        """A mode that shares items with this one in round 0: nearly its levers, and slates as long as it may ask for."""
        if self.mode.levers is not None:
            return replace(
                self.mode, selector="greedy", levers=replace(self.mode.levers, exploration=0.9 * self.mode.levers.exploration)
            )
        terms = {"target_shift": 0.1, "exploration": 0.475, "diversity": 0.25}
        held = {name: 0.0 if name in self.mode.removed else value for name, value in terms.items()}
        return replace(self.mode, levers=Levers(**held, size=self.mode.largest_size(CONSTANTS)))

    def test_a_second_run_is_equal(self) -> None:
        assert played(self.mode, self.world, self.plan).table.equals(self.rounds.table, check_metadata=True)

    def test_a_session_alone_is_itself_in_the_crowd(self) -> None:
        for place in (0, len(self.plan.sessions) // 2 + 1):
            alone = played(self.mode, self.world, self.plan.alone(place)).session(place)
            assert alone.equals(self.rounds.session(place))
