"""Statistics of the loop experiments against plain loops; verdicts of closed-loop, components and drift from their rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from loop_world import loop
from test_experiments_loop import result

from slateproof.experiments import loop_components, loop_drift
from slateproof.experiments import loop_stats as x
from slateproof.experiments.loop_closed import _deltas
from slateproof.experiments.loop_drift_verdicts import BESIDE, SCPO, at, event, exact
from slateproof.experiments.published.loop_closed import INTERVALS
from slateproof.simulate import MODES


def test_a_difference_has_its_unit_its_pairs_and_its_interval() -> None:
    rng = np.random.default_rng(0)
    before = {"utility_probe": rng.normal(size=40)}
    after = {"utility_probe": before["utility_probe"] + rng.normal(0.5, 0.1, 40)}
    after["utility_probe"][3] = math.nan
    found = x.delta("utility_probe", after, before, 2_000)
    steps = [1e3 * (a - b) for a, b in zip(after["utility_probe"], before["utility_probe"], strict=True) if not math.isnan(a)]
    assert found.pairs == len(steps) == 39
    assert found.mean == pytest.approx(sum(steps) / 39)
    error = np.std(steps, ddof=1) / math.sqrt(39)
    assert x.standard_error(found.low, found.high) == pytest.approx(error, rel=0.1)
    assert found.p == pytest.approx(2.0 * 0.5**39)
    some = x.delta("utility_probe", after, before, 100, np.array([0, 1]))
    assert some.mean == pytest.approx((steps[0] + steps[1]) / 2.0)


def test_columns_of_a_difference_can_be_read_back() -> None:
    one = x.Delta(0.5, 0.25, 0.75, 12, 0.01)
    assert x.delta_of(x.delta_columns({"uptake": one}) | {"sessions": 12}, "uptake") == one


def test_two_sessions_show_in_their_intervals() -> None:
    suspects = [(paper, mode) for paper, mode, *intervals in INTERVALS if x.rests_on_two(intervals)]
    assert suspects == [("OULAD", "adaptive-scpo"), ("OULAD", "adaptive-als")]
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=(5, 2)), rng.normal(size=(5, 256))
    for values, expected in ((one, True), (two, False)):
        rows = [(float(v.mean()), *(float(q) for q in np.quantile(v, (0.0, 1.0)))) for v in values]
        assert x.rests_on_two(rows) is expected


@pytest.mark.parametrize(
    ("mean", "verdict"), [(0.121, "reproduced"), (0.106, "reproduced"), (0.3, "same direction"), (-0.1, "differs")]
)
def test_judged(mean: float, verdict: str) -> None:
    ours = x.Delta(mean, mean - 0.004, mean + 0.004, 256, 1.0)
    assert x.judged("k", "l", "w", (0.121, 0.105, 0.137), ours, None, "c").verdict == verdict
    assert x.judged("k", "l", "w", (0.121, 0.105, 0.137), ours, "another corpus", "c").verdict == "not comparable"
    assert x.judged("k", "l", "w", (0.121, 0.105, 0.137), None, None, "c").verdict == "not comparable"


def test_without_a_published_interval_none_is_made_up() -> None:
    ours = x.Delta(0.10, 0.09, 0.11, 256, 1.0)
    found = x.judged_alone("k", "l", "w", 0.11, ours, None, None)
    assert (found.interval, found.verdict) == (None, "reproduced")
    assert "standard errors" in found.rule
    assert x.judged_alone("k", "l", "w", 0.12, ours, None, None).verdict == "same direction"


def test_closed_loop_verdicts_follow_the_differences() -> None:
    one = loop("OULAD")
    made: Any = {}
    for plan in ("main", "legacy"):
        for name in ("adaptive", "adaptive-scpo", "adaptive-als", "als-selector"):
            made["OULAD", plan, name] = {metric: x.Delta(0.0, -1e-6, 1e-6, 256, 1.0) for metric in x.UNITS}
    made["OULAD", "main", "adaptive"] = {
        metric: x.Delta(mean, low, high, 256, 1.0)
        for metric, (mean, low, high) in zip(
            x.UNITS, next(c for p, m, *c in INTERVALS if (p, m) == ("OULAD", "adaptive")), strict=True
        )
    }

    class Real(type(one)):  # type: ignore[misc]
        """The same loop, as if it were played on the paper's corpus."""

        why = None

    real = Real(one.paper, one.setting, one.plans, one.scorers, one.played)
    verdicts = {verdict.key: verdict.verdict for verdict in _deltas(real, made)}
    assert {verdicts[f"OULAD/adaptive/{metric}"] for metric in x.UNITS} == {"reproduced"}
    assert verdicts["OULAD/als-selector/correctness"] == "reproduced"
    assert verdicts["OULAD/als-selector/uptake"] == "differs"
    assert verdicts["OULAD/adaptive-scpo/uptake"] == "not comparable"


@pytest.mark.parametrize("place", range(4))
def test_drift_counts_every_exception(place: int) -> None:
    """Of accepted and of shown items."""
    keys = ("beyond_realised", "beyond_prospective", "shown_beyond_realised", "shown_beyond_prospective")
    rows = [dict(row) for row in result(loop_drift).rows]
    assert [one.verdict for one in exact(rows)] == ["reproduced"] * 4
    next(row for row in rows if row["mode"] == SCPO)[keys[place]] = 1
    assert [one.verdict for one in exact(rows)] == ["differs" if k == place else "reproduced" for k in range(4)]


def test_the_event_is_that_of_accepted_items_and_another_thing_than_the_bound() -> None:
    one = loop("OULAD")
    row = at([dict(row) for row in result(loop_drift).rows], one, "main", "adaptive")
    rounds = one.rounds(MODES["adaptive"])
    tried, kept, shown = (rounds.column(name) for name in ("round_attempted", "accepted_in_window", "in_window"))
    pairs = int((tried[:, 1:] & tried[:, :-1]).sum())
    assert row["pairs"] == pairs
    assert row["event_share"] == pytest.approx((kept[:, 1:] & kept[:, :-1]).sum() / pairs)
    assert row["shown_event_share"] == pytest.approx((shown[:, 1:] & shown[:, :-1]).mean())
    assert row["bound_share"] >= row["event_share"]


def test_feasible_rounds_by_a_plain_loop() -> None:
    one = loop("EdNet")
    row = at([dict(row) for row in result(loop_drift).rows], one, "main", "adaptive")
    d, pools = one.corpus.items.difficulty, one.plans["main"].pools
    full = some = 0
    table = one.rounds(MODES["adaptive"]).table.to_pylist()
    for place, played in enumerate(table):
        pool = pools[played["round"], place // 6]
        inside = sum(abs(float(d[code]) - played["target"]) <= row["window"] for code in pool)
        full, some = full + (inside >= played["size"]), some + (inside > 0)
    assert row["feasible_share"] == pytest.approx(full / len(table))
    assert row["empty_share"] == pytest.approx(1.0 - some / len(table))


def test_the_cause_of_a_missed_event_follows_what_was_possible() -> None:
    """Where pools hold no slate inside the window it is arithmetic; elsewhere other terms, with the shares that were played."""
    one = loop("OULAD")
    rows = [dict(row) for row in result(loop_drift).rows]
    row = at(rows, one, "main", "adaptive")
    row |= {"event_share": 0.1, "feasible_share": 0.02, "empty_share": 0.9}
    cause = str(event(one, rows)[0].cause)
    assert "in 98.0% of rounds the pool does not hold" in cause
    assert "No selector can keep the window there" in cause
    row |= {"feasible_share": 0.998}
    for place, name in enumerate(BESIDE):
        at(rows, one, "main", name)["event_share"] = 0.5 + place / 10.0
    cause = str(event(one, rows)[0].cause)
    assert "In 99.8% of rounds the pool holds" in cause
    assert "cannot" not in cause
    assert "No selector" not in cause
    for place, (_, words) in enumerate(BESIDE.values()):
        assert f"{50.0 + 10.0 * place:.1f}% ({words})" in cause
    row |= {"event_share": 0.99}
    assert event(one, rows)[0].ours == 0.99


def test_a_component_claim_follows_the_largest_change() -> None:
    one = loop("OULAD")
    rows = [dict(row) for row in result(loop_components).rows]
    for row in rows:
        row["delta_uptake"] = -0.5 if row["removed"] == "size" else 0.4
    key = "OULAD/size/uptake"
    assert next(v for v in loop_components._verdicts(one, rows) if v.key == key).ours == 1.0
    rows[0]["delta_uptake"] = 0.6
    assert next(v for v in loop_components._verdicts(one, rows) if v.key == key).ours == 0.0
