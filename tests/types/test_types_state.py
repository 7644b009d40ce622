"""The pre-round state against examples worked out by hand from the paper's formulas."""

from __future__ import annotations

from typing import Any

import pytest

import slateproof as sp


def test_before_the_first_round_the_priors_stand() -> None:
    assert sp.State.from_history([]) == sp.State(0.5, 0.5, 0.5, ())


def test_running_means_by_hand() -> None:
    """Four rounds, three attempts, two correct: e = 3/4, k = 2/3; a correct answer without an attempt counts as nothing."""
    rounds = [(("a", "b"), 1, 1), (("c",), 0, 1), (("a",), 1, 0), (("d", "e"), 1, 1)]
    state = sp.State.from_history(rounds)
    assert state.engagement == 3 / 4
    assert state.knowledge == 2 / 3
    assert state.shown == ("a", "b", "c", "a", "d", "e")


def test_without_any_attempt_knowledge_stays_at_its_prior() -> None:
    state = sp.State.from_history([(("a",), False, False), (("b",), False, None)])
    assert (state.knowledge, state.engagement) == (0.5, 0.0)


def test_uncertainty_is_the_mean_of_clipped_widths() -> None:
    """Widths .1, .2, .9 against .4: (1/4 + 1/2 + 1) / 3 = 7/12."""
    pool = sp.Pool(ids=[3, 1, 2], scores=[0, 0, 0], widths=[0.9, 0.1, 0.2])
    state = sp.State.from_history([], pool=pool, width_reference=0.4)
    assert state.uncertainty == pytest.approx(7 / 12, abs=1e-15)


def test_memory_keeps_the_last_displayed_ids_in_order() -> None:
    rounds = [((1, 2), 1, 0), ((3, 1), 0), ((4,), 1, 1)]
    assert sp.State.from_history(rounds, memory=3).shown == (3, 1, 4)
    assert sp.State.from_history(rounds, memory=0).shown == ()


@pytest.mark.parametrize(
    ("rounds", "extra", "field"),
    [
        ([(("a",), 2, 0)], {}, "attempted"),
        ([(("a",), 1, 0.5)], {}, "correct"),
        ([("a", 1, 0)], {}, "shown"),
        ([{"shown": ["a"], "attempted": 1, "liked": 1}], {}, "rounds"),
        ([{"shown": ["a"]}], {}, "rounds"),
        ([{"attempted": 1}], {}, "rounds"),
        ([{1: 2, "a": 3}], {}, "rounds"),
        ([{"shown": None, "attempted": 1}], {}, "shown"),
        (None, {}, "rounds"),
        (5, {}, "rounds"),
        ([], {"pool": [1], "width_reference": 0.3}, "pool"),
        ([], {"width_reference": 0.3}, "pool"),
        ([], {"pool": sp.Pool(ids=[1], scores=[0.0])}, "width_reference"),
        ([], {"pool": sp.Pool(ids=[1], scores=[0.0]), "width_reference": 0.3}, "widths"),
        ([], {"pool": sp.Pool(ids=[1], scores=[0.0], widths=[0.1]), "width_reference": 0.0}, "width_reference"),
        ([], {"memory": -1}, "memory"),
    ],
)
def test_what_is_refused(rounds: Any, extra: dict[str, Any], field: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.State.from_history(rounds, **extra)
    assert caught.value.field == field


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "half", True])
@pytest.mark.parametrize("name", ["knowledge", "engagement", "uncertainty"])
def test_state_values_lie_in_the_unit_interval(name: str, value: Any) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.State(**{name: value})
    assert caught.value.field == name
