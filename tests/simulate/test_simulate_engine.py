"""The loop itself: refusals with their place, logging, SCPO's envelope, shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import CONSTANTS, MadeUp, plan, played, random_world, world

from slateproof.audit import AuditLog
from slateproof.certify import drift
from slateproof.errors import InvalidInput
from slateproof.simulate import Mode, Scoring, Stopwatch, envelopes, mode, play
from slateproof.simulate.state import Observed


@dataclass(frozen=True)
class Other(MadeUp):
    """A second scorer, so that errors can tell two apart."""

    name: ClassVar[str] = "other"


ADAPTIVE = replace(mode("adaptive"), name="x", learner="made-up")


@pytest.mark.parametrize(("value", "rule"), [(np.nan, "must be finite"), (np.inf, "must be finite")])
def test_a_learner_that_returns_no_number_is_named_with_session_and_round(value: float, rule: str) -> None:
    where, who = world(), plan(world())
    label = who.sessions[6].label
    with pytest.raises(InvalidInput, match=rule) as refused:
        played(ADAPTIVE, where, who, {"made-up": MadeUp(spoil=(3, 6, value))})
    assert refused.value.field == "scores"
    assert refused.value.where == f"learner made-up, mode x, session {label}, round 3"
    assert str(label) in str(refused.value)


def test_a_scorer_s_own_refusal_gets_its_place() -> None:
    class Refusing(MadeUp):
        def score(self, session: int, context: Any, items: Any) -> Any:
            found = super().score(session, context, items)
            if session == 2:
                raise InvalidInput("scores", "must be finite", float("nan"), where=(4, 0))
            return found

    with pytest.raises(InvalidInput) as refused:
        played(ADAPTIVE, world(), plan(world()), {"made-up": Refusing()})
    assert refused.value.where == f"learner made-up, mode x, session {plan(world()).sessions[4].label}, round 2"


def test_negative_widths_are_refused() -> None:
    class Narrow(MadeUp):
        def score(self, session: int, context: Any, items: Any) -> Any:
            found = super().score(session, context, items)
            assert found.widths is not None
            found.widths[-1, -1] = -0.1 if session == 1 and items.shape[0] < 100 else 0.1
            return found

    with pytest.raises(InvalidInput, match=r"widths: must be finite and at least 0 .*round 1"):
        played(ADAPTIVE, world(), plan(world()), {"made-up": Narrow()})


REFERENCE = "learner made-up, mode x, width reference"


@pytest.mark.parametrize("anchored", [False, True])
def test_a_learner_without_a_number_from_the_start_is_named_with_its_mode(anchored: bool) -> None:
    """The first pools that a scorer sees are those that give sigma_ref, before any round."""

    @dataclass(frozen=True)
    class Broken(MadeUp):
        def score(self, session: int, context: Any, items: Any) -> Any:
            found = super().score(session, context, items)
            found.scores[:] = np.nan
            return found

    one = replace(ADAPTIVE, anchor="fine", anchor_weight=0.5) if anchored else ADAPTIVE
    with pytest.raises(InvalidInput, match="scores: must be finite") as refused:
        played(one, world(), plan(world()), {"made-up": Broken(), "fine": Other(seed=1)})
    assert refused.value.where == REFERENCE


@pytest.mark.parametrize(("value", "field"), [(np.nan, "widths"), (np.inf, "widths"), (-0.1, "widths")])
def test_widths_that_are_wrong_on_the_reference_pools_alone_are_refused(value: float, field: str) -> None:
    """They would make sigma_ref wrong, and with it u in every round, without a wrong number in any round."""

    @dataclass(frozen=True)
    class Fresh(MadeUp):
        def score(self, session: int, context: Any, items: Any) -> Any:
            found = super().score(session, context, items)
            assert found.widths is not None
            if items.shape[0] > 100:
                found.widths[7, 2] = value
            return found

    with pytest.raises(InvalidInput, match="must be finite and at least 0") as refused:
        played(ADAPTIVE, world(), plan(world()), {"made-up": Fresh()})
    assert (refused.value.field, refused.value.where) == (field, REFERENCE)


def test_of_two_learners_the_one_that_failed_is_named() -> None:
    label = plan(world()).sessions[6].label
    one = replace(ADAPTIVE, anchor="other", anchor_weight=0.5)
    for bad, name in ((0, "made-up"), (1, "other")):
        # An anchor is never updated: it stands at its first round for ever.
        spoil = ((3, 6, np.nan), None) if bad == 0 else (None, (0, 6, np.nan))
        with pytest.raises(InvalidInput, match="scores: must be finite") as refused:
            played(one, world(), plan(world()), {"made-up": MadeUp(spoil=spoil[0]), "other": Other(seed=1, spoil=spoil[1])})
        place = f"session {label}, round 3" if bad == 0 else "width reference"
        assert refused.value.where == f"learner {name}, mode x, {place}"


@pytest.mark.parametrize("weight", [0.5, 0.95, 1.0])
def test_an_anchor_does_not_change_what_the_adaptive_part_does_not_know(weight: float) -> None:
    """u is a ratio of the adaptive part's own widths: the weight neither blows it up nor hides it, not even at 1."""
    where, who = world(), plan(world(), rounds=1)
    parts = {"made-up": MadeUp(seed=1), "other": Other(seed=2)}
    alone = played(ADAPTIVE, where, who, parts).column("uncertainty")
    mixed = played(replace(ADAPTIVE, anchor="other", anchor_weight=weight), where, who, parts).column("uncertainty")
    assert np.array_equal(alone, mixed)
    assert alone.max() < 1.0


def test_a_pool_smaller_than_the_largest_slate_is_refused_before_the_first_round() -> None:
    where = world()
    ticks: list[int] = []
    with pytest.raises(InvalidInput, match=r"pool_size: must be at least 8, the largest slate of mode x \(got 7\)"):
        played(ADAPTIVE, where, plan(where, size=7), {"made-up": MadeUp()}, ticker=ticks.append)
    assert ticks == []


def test_every_slate_can_be_logged_and_the_log_verifies(tmp_path: Path) -> None:
    where, who = world(), plan(world(), rounds=3)
    with AuditLog.create(tmp_path / "log") as log:
        logged = played(ADAPTIVE, where, who, {"made-up": MadeUp()}, log=log)
        report = log.verify()
        assert (report.ok, report.size) == (True, 3 * len(who.sessions))
        # Round by round, sessions in order; the records are the table's slates.
        for t, s in ((0, 0), (1, 7), (2, 19)):
            slate = log.replay(t * len(who.sessions) + s)
            assert list(slate.ids) == logged.session(s).slice(t, 1)["slate"].to_pylist()[0]
    # Making traces changes nothing.
    assert logged.table.equals(played(ADAPTIVE, where, who, {"made-up": MadeUp()}).table)


def test_ticks_count_sessions_and_the_stopwatch_names_the_parts() -> None:
    where, who = world(), plan(world())
    ticks: list[int] = []
    clock = Stopwatch()
    played(ADAPTIVE, where, who, {"made-up": MadeUp()}, ticker=ticks.append, clock=clock)
    assert ticks == [len(who.sessions)] * who.rounds
    assert set(clock.seconds) == {"begin", "score", "select", "respond", "update", "record"}


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads: int) -> None:
    where, who = world(), plan(world(), copies=3)
    one = played(ADAPTIVE, where, who, {"made-up": MadeUp()}, threads=threads)
    assert one.table.equals(played(ADAPTIVE, where, who, {"made-up": MadeUp()}).table)


def test_no_widths_mean_neutral_uncertainty() -> None:
    rounds = played(ADAPTIVE, world(), plan(world()), {"made-up": MadeUp(wide=False)})
    assert set(rounds.column("uncertainty").ravel()) == {0.5}
    wide = played(ADAPTIVE, world(), plan(world()), {"made-up": MadeUp()})
    assert wide.column("uncertainty").min() > 0.0
    assert wide.column("uncertainty").std() > 0.0


def test_uncertainty_is_the_mean_of_capped_widths() -> None:
    """Against the definition in plain Python, with sigma_ref from fresh sessions."""
    from slateproof.learn.protocol import Context
    from slateproof.simulate.pools import matched_pools
    from slateproof.types import State

    where, who, made = world(), plan(world()), MadeUp(seed=2)
    rounds = played(ADAPTIVE, where, who, {"made-up": made})
    fresh = where.users[np.arange(256) % where.users.size]
    half = np.full(256, 0.5)
    pools = matched_pools(who.draws, np.arange(256, dtype=np.uint64), 1, 80, who.pools.shape[2], "width reference")[0]
    widths = made.score(0, Context(fresh, half, half, half), pools).widths
    assert widths is not None
    reference = float(np.percentile(widths, 95))
    half = np.full(len(who.sessions), 0.5)
    for t in (0, 4):
        found = made.score(t, Context(who.users, half, half, half), who.pools[t])
        assert found.widths is not None
        for s in (0, 11):
            ids = [where.catalog.ids[c] for c in who.pools[t, s]]
            pool = where.catalog.pool(ids, found.scores[s], widths=np.maximum(0.05, found.widths[s]))
            assert rounds.column("uncertainty")[s, t] == State.from_history([], pool=pool, width_reference=reference).uncertainty


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), size=st.integers(8, 25), base=st.floats(-2.0, 2.0))
def test_scpo_stays_in_the_realised_envelope_on_every_pair_of_rounds(seed: int, size: int, base: float) -> None:
    """Random items, scores, people: no exception, and the lemma's own checker agrees row by row."""
    from slateproof.simulate import response_model

    where = random_world(seed)
    models = {name: response_model(name, attempt_base=base) for name in ("irt", "zpd")}
    who = plan(where, models=models, size=size, seed=seed, rounds=6)
    one = replace(mode("adaptive-scpo"), name="x", learner="made-up")
    rounds = played(one, where, who, {"made-up": MadeUp(seed)})
    found = envelopes(rounds, one.largest_shift(CONSTANTS), CONSTANTS.window)
    assert (found.pairs, found.applies) == (8 * 5, 8 * 5)
    assert (found.beyond_realised, found.beyond_prospective) == (0, 0)
    accepted = envelopes(rounds, one.largest_shift(CONSTANTS), CONSTANTS.window, accepted=True)
    assert accepted.applies == accepted.pairs <= found.pairs
    assert (accepted.beyond_realised, accepted.beyond_prospective) == (0, 0)
    target, window = rounds.column("target"), rounds.column("window")
    d = where.difficulty
    shown = rounds.rectangle("item", -1)
    for s, t in np.ndindex(8, 5):
        now, then = (float(np.mean([d[i] for i in shown[s, q] if i >= 0])) for q in (t, t + 1))
        bound = abs(target[s, t + 1] - target[s, t]) + window[s, t] + window[s, t + 1]
        assert abs(then - now) <= bound + drift.ROOM


def test_the_envelope_check_can_fail() -> None:
    """Claimed windows that are too small are caught."""
    where, who = world(), plan(world())
    one = replace(mode("adaptive-scpo"), name="x", learner="made-up")
    rounds = played(one, where, who, {"made-up": MadeUp()})
    at = rounds.table.column_names.index("window")
    lied = replace(rounds, table=rounds.table.set_column(at, "window", [np.zeros(rounds.table.num_rows)]))
    for accepted in (True, False):
        assert envelopes(lied, one.largest_shift(CONSTANTS), CONSTANTS.window, accepted=accepted).beyond_realised > 0


def test_what_was_shown_is_remembered_up_to_the_memory() -> None:
    none = Observed.nothing(2, 10, 3)
    yes = np.array([True, False])
    one = none.after(np.array([[1, 2], [3, -1]]), [["b", "c"], ["d"]], yes, np.array([False, False]))
    two = one.after(np.array([[4, 5], [6, 7]]), [["e", "f"], ["g", "h"]], yes, yes)
    assert two.shown == (("c", "e", "f"), ("d", "g", "h"))
    assert one.shown == (("b", "c"), ("d",))
    assert np.flatnonzero(two.seen[0]).tolist() == [1, 2, 4, 5]
    assert (two.knowledge.tolist(), two.engagement.tolist()) == ([0.5, 0.5], [1.0, 0.0])


def test_a_mode_without_a_scorer_has_a_name_for_errors() -> None:
    assert Scoring(Mode("x", learner=None), None, None).name == "no scorer"
    where, who = world(), plan(world())
    rounds = play(Mode("x", learner=None), where, who, CONSTANTS, Scoring(Mode("x", learner=None), None, None))
    assert set(rounds.column("uncertainty").ravel()) == {0.5}
