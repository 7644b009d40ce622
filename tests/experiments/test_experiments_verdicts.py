"""Verdicts follow from the two numbers and the stated rule, in the stated order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof.experiments.verdicts import BASES, KINDS, Ours, Published, Verdict, bases, count, judge

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def published(value: float, **rule: object) -> Published:
    return Published("key", "tab:one", "a number", value, **rule)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        (published(-0.220, interval=(-0.231, -0.210)), Ours(-0.2267), "reproduced"),
        (published(-0.220, interval=(-0.231, -0.210)), Ours(-0.232), "same direction"),
        (published(1.0, tolerance=0.1), Ours(1.1), "reproduced"),
        (published(1.0, tolerance=0.1), Ours(1.11), "same direction"),
        (published(0.2, share=0.25), Ours(0.25), "reproduced"),
        (published(0.2), Ours(0.25, error=0.03), "reproduced"),
        (published(0.2), Ours(0.25, error=0.02), "same direction"),
        (published(0.2), Ours(0.3, error=1.0), "reproduced"),
        (published(0.2), Ours(0.31, error=1.0), "same direction"),
        (published(-0.4), Ours(0.04, error=1.0), "differs"),
        (published(-0.4, interval=(-1.0, 0.5)), Ours(0.04), "reproduced"),
        (published(0.99), Ours(0.70), "same direction"),
        (published(0.99, bounded=True), Ours(0.70), "differs"),
        (published(0.7, bounded=True), Ours(0.4), "same direction"),
        (published(1.0, bounded=True), Ours(0.9), "differs"),
        (published(0.2), Ours(0.61), "differs"),
        (published(0.2), Ours(0.06), "differs"),
        (published(0.2), Ours(-0.2), "differs"),
        (published(0.0), Ours(0.0), "reproduced"),
        (published(0.0), Ours(1.0), "differs"),
        (published(0.1, reference=0.4), Ours(0.3, reference=0.5), "same direction"),
        (published(0.1, reference=0.4), Ours(0.6, reference=0.5), "differs"),
        (published(0.1), Ours(None), "not comparable"),
        (published(0.1), Ours(math.nan), "not comparable"),
        (published(0.1), Ours(0.1, why="another quantity"), "not comparable"),
    ],
)
def test_the_rules(theirs: Published, ours: Ours, verdict: str) -> None:
    assert judge(theirs, ours).verdict == verdict


def test_the_rule_is_written_beside_the_verdict() -> None:
    assert judge(published(1.0, tolerance=0.1), Ours(1.05)).rule == "within 0.1 (stated tolerance)"
    assert judge(published(1.0), Ours(2.0, why="simulated answers")).rule == "simulated answers"
    capped = judge(published(1.0), Ours(1.3, error=9.0)).rule
    assert capped == "within 0.5 (two standard errors of the difference, at most half the published value)"
    assert judge(published(1.0), Ours(0.0)).rule == "not equal; not within a factor of 3"


def test_what_is_reproduced_says_by_what_and_formulas_are_counted_apart() -> None:
    verdicts = [
        judge(published(1.0), Ours(1.0)),
        judge(published(1.0, interval=(0.0, 2.0)), Ours(1.5)),
        judge(published(1.0, share=0.1), Ours(1.05)),
        judge(published(1.0), Ours(1.05, error=0.1)),
        judge(published(1.0, tolerance=0.1, formula=True), Ours(1.05)),
        judge(published(1.0, formula=True), Ours(9.0)),
        judge(published(1.0), Ours(None)),
    ]
    assert [one.basis for one in verdicts] == ["equal", "interval", "tolerance", "noise", "formula", "", ""]
    assert bases(verdicts) == dict.fromkeys(BASES, 1)


def test_a_cause_stands_beside_what_was_not_reproduced_and_changes_nothing() -> None:
    off, same = judge(published(1.0), Ours(9.0), "because"), judge(published(1.0), Ours(1.0), "because")
    assert (off.cause, off.verdict, same.cause) == ("because", judge(published(1.0), Ours(9.0)).verdict, None)


@given(theirs=NUMBERS, ours=NUMBERS, room=st.floats(0.0, 1e3), error=st.floats(0.0, 1e3))
def test_within_tolerance_is_reproduced_and_nothing_else_is(theirs: float, ours: float, room: float, error: float) -> None:
    verdict = judge(published(theirs, tolerance=room), Ours(ours, error=error))
    allowed = max(room, min(2.0 * error, 0.5 * abs(theirs)))
    if abs(abs(ours - theirs) - allowed) > 1e-9 * (1.0 + allowed):
        assert (verdict.verdict == "reproduced") == (abs(ours - theirs) <= allowed)
    assert verdict.verdict in KINDS
    assert verdict.difference == ours - theirs


@given(theirs=NUMBERS, ours=NUMBERS)
def test_numbers_of_opposite_sign_never_point_the_same_way(theirs: float, ours: float) -> None:
    if theirs * ours < 0.0:
        assert judge(published(theirs), Ours(ours)).verdict == "differs"


def test_they_count_and_come_back_from_json() -> None:
    verdicts = [judge(published(1.0, interval=(0.0, 2.0)), Ours(1.5)), judge(published(1.0), Ours(None))]
    assert count(verdicts) == {"reproduced": 1, "same direction": 0, "differs": 0, "not comparable": 1}
    assert [Verdict.from_dict(one.to_dict()) for one in verdicts] == verdicts
