"""Metrics against plain Python on the recorded rows, and on cases worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from world import CONSTANTS, MadeUp, plan, played, whole, world

from slateproof.errors import InvalidInput
from slateproof.simulate import (
    METRICS,
    between,
    envelopes,
    mode,
    probe,
    probe_alignment,
    response_model,
    session_metrics,
    subgroup_gap,
)
from slateproof.simulate.agreement import agreement, kendall_rows

NAMES = ("adaptive", "adaptive-scpo", "als", "adaptive-noise")


def rasch_mean(ability: float) -> float:
    return sum(1.0 / (1.0 + math.exp(-(ability - 0.05 * k))) for k in range(21)) / 21


def jaccard(one: list[Any], two: list[Any]) -> float:
    return len(set(one) & set(two)) / len(set(one) | set(two))


def difficulties(row: dict[str, Any]) -> list[float]:
    return [float(world().difficulty[code]) for code in row["item"]]


def oracle(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Every metric of one session from its rows, in loops."""
    tries, right = [sum(r["attempted"]) for r in rows], [sum(r["correct"]) for r in rows]
    attempted = [r for r in rows if r["round_attempted"]]

    def accuracy(part: slice) -> float:
        return sum(right[part]) / sum(tries[part]) if sum(tries[part]) else math.nan

    def mean_tried(row: dict[str, Any]) -> float:
        tried = [d for d, attempt in zip(difficulties(row), row["attempted"], strict=True) if attempt]
        return sum(tried) / len(tried)

    steps = list(zip(rows[1:], rows, strict=False))
    accepted = [abs(mean_tried(a) - mean_tried(b)) for a, b in steps if a["round_attempted"] and b["round_attempted"]]
    kept = [
        all(abs(d - r["target"]) <= r["window"] for d, a in zip(difficulties(r), r["attempted"], strict=True) if a)
        for r in attempted
    ]
    return {
        "attempts_per_round": sum(tries) / len(rows),
        "uptake": sum(tries) / sum(len(r["slate"]) for r in rows),
        "correctness": sum(r["round_correct"] for r in attempted) / len(attempted) if attempted else math.nan,
        "utility_probe": rasch_mean(rows[-1]["ability"]) - rasch_mean(rows[0]["ability_before"]),
        "telemetry_probe": accuracy(slice(-5, None)) - accuracy(slice(0, 5)),
        "target_jump": sum(abs(a["mean_target"] - b["mean_target"]) for a, b in steps) / len(steps),
        "accepted_target_jump": sum(accepted) / len(accepted) if accepted else math.nan,
        "window_rate": sum(r["in_window"] for r in rows) / len(rows),
        "accepted_window_rate": sum(kept) / len(kept) if kept else math.nan,
        "slate_overlap": sum(jaccard(a["slate"], b["slate"]) for a, b in steps) / len(steps),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_is_its_definition(name: str) -> None:
    rounds = whole(name)
    found = session_metrics(rounds)
    assert set(METRICS) <= set(found)
    for s in range(rounds.sessions):
        expected = oracle(rounds.session(s).to_pylist())
        assert set(expected) == set(METRICS)
        for metric, value in expected.items():
            assert found[metric][s] == pytest.approx(value, abs=1e-12, nan_ok=True), metric


def test_noise_metrics_are_means_over_rounds() -> None:
    rounds = whole("adaptive-noise")
    found = session_metrics(rounds)
    rows = rounds.session(3).to_pylist()
    assert found["tau"][3] == pytest.approx(np.mean([r["tau"] for r in rows]))
    assert found["flip"][3] == pytest.approx(np.mean([r["jaccard"] < 1.0 for r in rows]))
    assert 0.0 < found["flip"].mean() <= 1.0


def test_a_session_without_an_attempt_has_no_correctness() -> None:
    rounds = whole("adaptive")
    table = rounds.table
    for name in ("round_attempted", "round_correct"):
        table = table.set_column(table.column_names.index(name), name, [np.zeros(table.num_rows, bool)])
    assert np.isnan(session_metrics(replace(rounds, table=table))["correctness"]).all()


def test_the_probe_is_the_mean_over_the_grid() -> None:
    assert probe(0.3) == pytest.approx(rasch_mean(0.3), abs=1e-15)
    assert np.all(np.diff(probe(np.linspace(0.0, 1.0, 50))) > 0.0)
    assert abs(float(probe(1.0) - probe(0.0))) < 1.0


def test_between_two_modes() -> None:
    one, two = whole("adaptive"), whole("als")
    found = between(one, two)
    for s in (0, 9):
        pairs = list(zip(one.session(s).to_pylist(), two.session(s).to_pylist(), strict=True))
        values = [jaccard(a["slate"], b["slate"]) for a, b in pairs]
        assert found["jaccard"][s] == pytest.approx(sum(values) / len(values))
        assert found["flip"][s] == pytest.approx(sum(v < 1.0 for v in values) / len(values))
    assert (between(one, one)["jaccard"] == 1.0).all()
    assert (between(one, one)["flip"] == 0.0).all()
    with pytest.raises(InvalidInput, match="two: must hold the same sessions and rounds"):
        between(one, replace(two, rounds=4, sessions=40))


@pytest.mark.parametrize("accepted", [True, False])
def test_envelopes_count_what_the_rows_show(accepted: bool) -> None:
    mean, event = ("accepted_mean", "accepted_in_window") if accepted else ("mean_target", "in_window")
    for name in NAMES:
        rounds, shift = whole(name), mode(name).largest_shift(CONSTANTS)
        found = envelopes(rounds, shift, CONSTANTS.window, accepted=accepted)
        pairs = applies = beyond = ahead = 0
        for s in range(rounds.sessions):
            rows = rounds.session(s).to_pylist()
            attempts = 0
            for now, then in pairwise(rows):
                eta = 0.5 if attempts == 0 else 1.0 / (attempts + 1)
                attempts += now["round_attempted"]
                pairs += not accepted or (now["round_attempted"] and then["round_attempted"])
                if now[event] and then[event]:
                    jump = abs(then[mean] - now[mean])
                    applies += 1
                    widths = now["window"] + then["window"]
                    beyond += jump > abs(then["target"] - now["target"]) + widths + 1e-12
                    ahead += jump > eta + 2 * shift + widths + 1e-12
        assert (found.pairs, found.applies) == (pairs, applies)
        assert accepted or pairs == rounds.sessions * (rounds.rounds - 1)
        assert (found.beyond_realised, found.beyond_prospective) == (beyond, ahead) == (0, 0)
        assert 0.0 <= found.tightest <= 1.0
        assert json.loads(json.dumps(asdict(found))) == asdict(found)  # plain numbers, for whoever writes them down
    assert envelopes(whole("adaptive-scpo"), 0.22, CONSTANTS.window, accepted=accepted).tightest > 0.2


def test_a_round_without_an_attempt_has_no_accepted_mean_and_no_pair() -> None:
    """People who seldom try: pairs are those of rounds that both have attempts, and nothing is made up for the others."""
    where = world()
    models = {"irt": response_model("irt", attempt_base=-3.0)}
    one = replace(mode("adaptive-scpo"), name="x", learner="made-up")
    rounds = played(one, where, plan(where, models=models, copies=4), {"made-up": MadeUp()})
    tried = rounds.column("round_attempted")
    assert 0.0 < tried.mean() < 1.0
    assert np.array_equal(np.isnan(rounds.column("accepted_mean")), ~tried)
    assert np.array_equal(rounds.column("accepted_in_window"), tried)  # SCPO keeps the window whatever is accepted
    found = envelopes(rounds, one.largest_shift(CONSTANTS), CONSTANTS.window, accepted=True)
    both = int((tried[:, 1:] & tried[:, :-1]).sum())
    assert (found.pairs, found.applies, found.beyond_realised, found.beyond_prospective) == (both, both, 0, 0)
    assert both < tried[:, 1:].size
    metrics = session_metrics(rounds)
    never = ~tried.any(axis=1)
    assert np.array_equal(np.isnan(metrics["accepted_window_rate"]), never)
    assert (metrics["accepted_window_rate"][~never] == 1.0).all()


def test_accepted_and_shown_items_are_told_apart() -> None:
    """A slate that leaves the window by an item nobody tried keeps it for the accepted ones."""
    rounds = whole("adaptive")
    shown, accepted = rounds.column("in_window"), rounds.column("accepted_in_window")
    assert (accepted & ~shown).any()
    assert not np.allclose(session_metrics(rounds)["target_jump"], session_metrics(rounds)["accepted_target_jump"])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
def test_kendall_is_scipy_s_tau_b(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array([[float(p[k]) for p in pairs]]) for k in (0, 1))
    found = kendall_rows(x, y)[0]
    expected = stats.kendalltau(x[0], y[0]).statistic
    if np.isnan(expected):
        assert found == (1.0 if len(set(x[0])) == len(set(y[0])) == 1 else 0.0)
    else:
        assert found == pytest.approx(expected, abs=1e-12)


def test_agreement_of_slates() -> None:
    scores = np.zeros((2, 4))
    same = agreement(scores, scores, np.array([0, 1, 2, 3]), np.array([1, 0, 2, 0]), np.array([0, 2, 4]))
    assert same.jaccard.tolist() == [1.0, 1 / 3]
    assert same.same.tolist() == [False, False]
    assert same.tau.tolist() == [1.0, 1.0]


def test_subgroups_split_at_the_median() -> None:
    values = np.array([1.0, 2.0, 3.0, 5.0, np.nan])
    engagement = np.array([0.1, 0.2, 0.8, 0.9, 0.9])
    # Median .8: the engaged are those at .9, one of which has no value.
    assert subgroup_gap(values, engagement) == pytest.approx(5.0 - 2.0)
    with pytest.raises(InvalidInput, match="engagement: must differ between sessions"):
        subgroup_gap(values, np.full(5, 0.5))
    # Most at the largest value: nobody is above the median, and those at it are the engaged ones.
    assert subgroup_gap(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.9, 0.9])) == pytest.approx(3.0 - 1.0)
    # Most at the smallest: as before, those above.
    assert subgroup_gap(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.1, 0.9])) == pytest.approx(4.0 - 1.5)
    with pytest.raises(InvalidInput, match=r"engagement: must be finite \(at 1\)"):
        subgroup_gap(values, np.array([0.1, np.nan, 0.3, 0.4, 0.5]))
    with pytest.raises(InvalidInput, match=r"values: must have one entry per session \(5,\)"):
        subgroup_gap(values[:4], engagement)


def test_alignment_is_scipy_s_correlations_and_a_count_of_signs() -> None:
    rng = np.random.default_rng(3)
    one = rng.normal(size=50)
    two = 0.5 * one + rng.normal(size=50)
    one[4], two[9], one[7] = np.nan, np.nan, 0.0
    there = ~(np.isnan(one) | np.isnan(two))
    found = probe_alignment(one, two)
    assert found.pairs == 48
    assert found.pearson == pytest.approx(np.corrcoef(one[there], two[there])[0, 1])
    assert found.spearman == pytest.approx(np.corrcoef(stats.rankdata(one[there]), stats.rankdata(two[there]))[0, 1])
    signs = [math.copysign(1, a) == math.copysign(1, b) and a != 0 for a, b in zip(one[there], two[there], strict=True)]
    assert found.sign == pytest.approx(sum(signs) / 48)
    assert np.isnan(probe_alignment(np.zeros(4), np.arange(4.0)).pearson)
    with pytest.raises(InvalidInput, match="telemetry: must have at least two pairs"):
        probe_alignment([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="utility: must have one value per value of telemetry"):
        probe_alignment([1.0, 2.0], [1.0])
