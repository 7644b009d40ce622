"""Verdicts of the loop experiments follow their rows; published constants are the paper's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from loop_world import loop
from test_experiments_loop import result

from slateproof.experiments import loop_noise, loop_private, loop_probes, loop_robustness, loop_subgroups, loop_tiers
from slateproof.experiments.loop_private import described
from slateproof.experiments.loop_tiers_verdicts import OULAD_LABEL, SCORER_LABEL
from slateproof.experiments.loop_tiers_verdicts import verdicts as tier_verdicts
from slateproof.experiments.published import loop_noise as noise
from slateproof.experiments.published import loop_probes as probes
from slateproof.experiments.published import loop_robustness as robustness
from slateproof.experiments.published import loop_subgroups as subgroups
from slateproof.experiments.published import loop_tiers as tiers
from slateproof.experiments.verdicts import Verdict
from slateproof.simulate import TIERS

NARROW = {"correctness": 1e-4, "utility_probe": 1e-3, "uptake": 1e-4}
"""Half widths of intervals in which two different published numbers do not meet."""


def real(rows: Any, **more: Any) -> list[dict[str, Any]]:
    """The rows as if they came from the paper's corpus."""
    return [{**row, "why": None, **more} for row in rows]


def by_key(found: tuple[Verdict, ...]) -> dict[str, str]:
    return {one.key: one.verdict for one in found}


def put(row: dict[str, Any], metric: str, mean: float) -> None:
    row |= {f"delta_{metric}": mean, f"low_{metric}": mean - NARROW[metric], f"high_{metric}": mean + NARROW[metric]}


def test_tiers_follow_their_rows() -> None:
    rows = real(row for row in result(loop_tiers).rows if row["label"] != "private")
    place = next(i for i, r in enumerate(rows) if (r["label"], r["mode"], r["tier"]) == (OULAD_LABEL, "adaptive", "strong"))
    published = next(c for _, m, t, _, *c in tiers.OULAD if (m, t) == ("adaptive", "strong"))
    for metric, (mean, low, high) in zip(NARROW, published, strict=True):
        key = f"{OULAD_LABEL.removeprefix('tab:')}/OULAD/adaptive/strong/{metric}"
        for value, expected in (
            (mean, "reproduced"),
            ((low + mean) / 2.0, "reproduced"),
            (mean + 4.0 * (low - high), "same direction"),
            (4.0 * (high - low), "differs"),
        ):
            put(rows[place], metric, value)
            assert by_key(tier_verdicts(rows))[key] == expected, (metric, value)


def test_the_anchor_claim_of_the_tiers_follows_their_rows() -> None:
    rows = real(row for row in result(loop_tiers).rows if row["label"] == OULAD_LABEL)
    for row in rows:
        put(row, "correctness", 0.02 * (1.0 - row["anchor_weight"]))
    assert by_key(tier_verdicts(rows))["OULAD/anchor-steadies"] == "reproduced"
    put(next(row for row in rows if row["anchor_weight"] == 0.75), "correctness", -0.03)
    assert by_key(tier_verdicts(rows))["OULAD/anchor-steadies"] == "differs"
    for row in rows:
        put(row, "correctness", 0.0)
    assert by_key(tier_verdicts(rows))["OULAD/anchor-steadies"] == "not comparable"


def test_als_is_not_moved_by_a_tier_and_says_why() -> None:
    every = [row for row in result(loop_tiers).rows if row["label"] == OULAD_LABEL]
    rows = [row for row in every if row["mode"] == "als"]
    assert len(rows) == 3
    for row in rows:
        assert [row[f"{end}_{m}"] for m in NARROW for end in ("delta", "low", "high")] == [0.0] * 9
    found = [one for one in tier_verdicts(real(every)) if "/als/" in one.key]
    assert {one.verdict for one in found} == {"reproduced"}
    assert all("0 by construction" in one.what for one in found)
    assert all(one.cause is None for one in found)


def test_the_sweep_takes_half_of_the_learners_and_no_other_run() -> None:
    """At w = 0 it is the scorer table's run, of the first learners only."""
    rows = result(loop_tiers).rows
    one = loop("OULAD")
    everyone, first = (next(r for r in rows if (r["label"], r["mode"]) == (t, "adaptive")) for t in (SCORER_LABEL, OULAD_LABEL))
    assert (everyone["sessions"], first["sessions"]) == (32, 16)
    tier = next(mode for mode, plan in one.played if mode == "adaptive-standard" and plan == "main")
    assert tier
    after = {name: values for (name, plan), values in one.played.items() if plan == "main"}["adaptive-standard"]
    uptake = after.rectangle("attempted", False).sum(axis=(1, 2)) / after.column("size").sum(axis=1)
    before = one.metrics(loop_tiers.BLENDS[0.0])["uptake"]
    assert everyone["delta_uptake"] == pytest.approx((uptake - before).mean())
    assert first["delta_uptake"] == pytest.approx((uptake - before)[one.first(1)].mean())


def test_label_and_truth_stand_side_by_side() -> None:
    found = {name: described(tier, 20) for name, tier in TIERS.items()}
    for column, values in {
        "label_epsilon": (0.3632, 0.1621, 0.0718),
        "poisson_epsilon": (0.530, 0.139, 0.0496),
        "live_epsilon": (3.55, 1.99, 1.27),
        "user_epsilon": (22.2, 11.5, 7.0),
    }.items():
        assert [found[name][column] for name in TIERS] == pytest.approx(values, rel=0.01), column


def test_only_what_ran_has_a_figure_and_less_noise_costs_more() -> None:
    rows = [row for row in result(loop_tiers).rows if row["label"] == "private"]
    at = {(row["kind"], row["tier"]): row for row in rows}
    assert len(rows) == 1 + 3 * len(TIERS)
    for tier in TIERS:
        nominal, verified, private = (at[kind, tier] for kind in ("nominal", "verified", "end-to-end"))
        assert (nominal["ran_epsilon"], nominal["claim"], nominal["regime"]) == (None, None, "anchored")
        assert (verified["regime"], private["regime"]) == ("conditional", "end-to-end")
        assert private["unprotected"] == ""
        assert "state" in verified["unprotected"]
        assert private["claim"] == pytest.approx(private["ran_epsilon"]) == pytest.approx(verified["ran_epsilon"])
        assert private["ran_epsilon"] > private["live_epsilon"] > private["label_epsilon"]
        assert private["releases"] == 3 + 6
    costs = [at["end-to-end", tier]["ran_epsilon"] for tier in ("standard", "strong", "locked")]
    assert costs == sorted(costs, reverse=True)
    assert at["trained", "-"]["ran_epsilon"] < min(costs)


def test_printed_budgets_are_rounded_up() -> None:
    assert [loop_private.up(value) for value in (None, 1.2701, 22.175, 0.0496, 3.0)] == [None, 1.271, 22.175, 0.05, 3.0]
    rows = {(row["kind"], row["tier"]): row for row in result(loop_tiers).rows if row["label"] == "private"}
    table = next(one for one in result(loop_tiers).tables if one.name == "tiers-epsilon")
    for shown in table.rows:
        held = rows[shown["kind"], shown["tier"]]
        for name in ("poisson_epsilon", "live_epsilon", "user_epsilon", "ran_epsilon"):
            assert (held[name] is None) == (shown[name] is None)
            assert held[name] is None or held[name] <= shown[name] + 1e-9 < held[name] + 1.1e-3


def test_a_nominal_tier_never_becomes_private_by_its_rows() -> None:
    assert [kind for kind, _, _ in loop_private.PRIVATE_MODES] == ["nominal", "verified", "end-to-end"]
    one = loop("OULAD")
    assert one.rounds(loop_tiers.replace(loop_tiers.BLENDS[0.0], name="adaptive-strong", tier="strong")).ledger is None


def test_noise_follows_its_rows() -> None:
    rows = real(result(loop_noise).rows)
    ednet = [row for row in rows if row["paper_corpus"] == "EdNet"]
    row = next(r for r in ednet if (r["sigma"], r["anchor_weight"]) == (0.2, 0.75))
    row |= {"tau": 0.928, "error_tau": 0.001, "overlap": 0.5, "error_overlap": 0.001}
    found = by_key(loop_noise.verdicts(rows))
    assert (found["EdNet/0.2/0.75/tau"], found["EdNet/0.2/0.75/overlap"]) == ("reproduced", "same direction")
    row["tau"] = 0.2
    assert by_key(loop_noise.verdicts(rows))["EdNet/0.2/0.75/tau"] == "differs"


def test_the_anchor_keeps_tau_higher_and_the_claim_can_fail() -> None:
    found = result(loop_noise)
    assert found.summary["tau_higher_with_anchor"] is True
    assert found.summary["tau_pairs"] == 2 * 2 * 2
    rows = real(found.rows)
    assert by_key(loop_noise.verdicts(rows))["OULAD/anchor-helps"] == "reproduced"
    next(r for r in rows if (r["paper_corpus"], r["sigma"], r["anchor_weight"]) == ("OULAD", 0.2, 0.75))["tau"] = 0.0
    assert by_key(loop_noise.verdicts(rows))["OULAD/anchor-helps"] == "differs"


def test_noise_does_not_reach_als_and_agreement_falls_with_sigma() -> None:
    rows = {(r["paper_corpus"], r["sigma"], r["anchor_weight"]): r for r in result(loop_noise).rows}
    for paper in ("OULAD", "EdNet"):
        for weight in (0.0, 0.5, 0.75):
            assert rows[paper, 0.02, weight]["tau"] > rows[paper, 0.2, weight]["tau"]
        for sigma in (0.02, 0.2):
            als = rows[paper, sigma, 1.0]
            assert (als["tau"], als["overlap"], als["overlap_runs"], als["delta_correctness"]) == (1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("spread", [0.03, 0.5])
def test_the_spread_that_a_tau_implies(spread: float) -> None:
    rng = np.random.default_rng(0)
    clean = spread * rng.normal(size=50_000)
    from scipy.stats import kendalltau

    tau = kendalltau(clean, clean + 0.1 * rng.normal(size=50_000)).statistic
    assert loop_noise.spread(0.1, tau) == pytest.approx(spread, rel=0.03)
    assert math.isnan(loop_noise.spread(0.1, 1.0))


def test_robustness_follows_its_rows() -> None:
    found = result(loop_robustness)
    rows = real(found.rows)
    row = next(r for r in rows if (r["paper_corpus"], r["mode"], r["over"]) == ("OULAD", "adaptive", "models"))
    put(row, "correctness", 0.114)
    row |= {"sd_correctness": 0.006, "min_correctness": 0.106}
    keys = [f"OULAD/adaptive/correctness/{stat}" for stat in ("mean", "sd", "min")]
    assert [by_key(loop_robustness.verdicts(rows, []))[key] for key in keys] == ["reproduced"] * 3
    put(row, "correctness", -0.2)
    row |= {"sd_correctness": 0.06, "min_correctness": 0.5}
    assert [by_key(loop_robustness.verdicts(rows, []))[key] for key in keys] == ["differs", "differs", "same direction"]


def test_robustness_groups_by_a_plain_loop() -> None:
    one = loop("OULAD")
    mine, als = (one.metrics(loop_robustness.MODES[name])["uptake"] for name in ("adaptive", "als"))
    groups: dict[str, list[float]] = {}
    for place, session in enumerate(one.plans["main"].sessions):
        groups.setdefault(f"{session.model}/{session.profile.name}", []).append(mine[place] - als[place])
    means = {key: sum(values) / len(values) for key, values in groups.items()}
    rows = result(loop_robustness).rows
    row = next(r for r in rows if (r["paper_corpus"], r["mode"], r["over"]) == ("OULAD", "adaptive", "settings"))
    assert (row["groups"], len(means)) == (16, 16)
    assert row["min_uptake"] == pytest.approx(min(means.values()))
    assert row["mean_uptake"] == pytest.approx(sum(means.values()) / 16)
    assert means[row["worst_uptake"]] == pytest.approx(row["min_uptake"])


def test_the_claim_on_settings_follows_their_minimum() -> None:
    rows = real(result(loop_robustness).rows)
    for row in rows:
        row |= {"min_uptake": 0.01}
    assert by_key(loop_robustness.verdicts(rows, []))["OULAD/positive/uptake"] == "reproduced"
    next(r for r in rows if r["over"] == "settings")["min_uptake"] = -0.001
    assert by_key(loop_robustness.verdicts(rows, []))["OULAD/positive/uptake"] == "differs"


def test_subgroups_follow_their_rows() -> None:
    rows = real(result(loop_subgroups).rows)
    row = next(
        r for r in rows if (r["paper_corpus"], r["plan"], r["split"], r["reading"]) == ("OULAD", "main", "start", "adaptive")
    )
    row |= {"gap_uptake": 0.216, "low_uptake": 0.215, "high_uptake": 0.217}
    assert by_key(loop_subgroups.verdicts(rows))["OULAD/uptake"] == "reproduced"
    row |= {"gap_uptake": 0.1, "low_uptake": 0.099, "high_uptake": 0.101}
    assert by_key(loop_subgroups.verdicts(rows))["OULAD/uptake"] == "same direction"
    row |= {"gap_uptake": -0.1, "low_uptake": -0.101, "high_uptake": -0.099}
    assert by_key(loop_subgroups.verdicts(rows))["OULAD/uptake"] == "differs"


def test_the_gap_by_hand_with_a_missing_value() -> None:
    values, engagement = np.array([1.0, 2.0, 4.0, math.nan, 9.0, 7.0]), np.array([0.1, 0.1, 0.2, 0.9, 0.9, 0.9])
    mean, low, high = loop_subgroups.gap(values, engagement, 4_000)
    assert mean == pytest.approx((9.0 + 7.0) / 2.0 - (1.0 + 2.0 + 4.0) / 3.0)
    assert low == pytest.approx(7.0 - 4.0, abs=0.7)
    assert high == pytest.approx(9.0 - 1.0, abs=0.7)


def test_probe_alignment_follows_its_rows() -> None:
    rows = real(result(loop_probes).rows)
    row = next(r for r in rows if (r["paper_corpus"], r["mode"]) == ("OULAD", "adaptive"))
    row |= {"pearson": 0.30, "sign": 0.60, "pairs": 256}
    found = by_key(loop_probes.verdicts(rows))
    assert (found["OULAD/adaptive/pearson"], found["OULAD/adaptive/sign"]) == ("reproduced", "reproduced")
    row |= {"pearson": -0.30, "sign": 0.40}
    found = by_key(loop_probes.verdicts(rows))
    assert (found["OULAD/adaptive/pearson"], found["OULAD/adaptive/sign"]) == ("differs", "differs")


def test_published_numbers_are_those_of_the_paper() -> None:
    assert tiers.SCORER[2] == (
        "OULAD", "adaptive", "locked", 256, (-0.044, -0.053, -0.035), (1.321, 0.173, 2.434), (-0.030, -0.034, -0.026),
    )  # fmt: skip
    assert [len(one) for one in (tiers.SCORER, tiers.OULAD, tiers.EDNET, tiers.COHORT)] == [6, 12, 12, 4]
    assert tiers.OULAD[2][4:] == ((-0.005, -0.018, 0.006), (-0.227, -0.641, 0.122), (-0.007, -0.011, -0.003))
    assert tiers.EDNET[10][2:5] == ("locked", 128, (-0.015, -0.027, -0.002))
    assert tiers.COHORT[0][4:] == ((0.011, -0.002, 0.024), (0.002, -0.524, 0.499), (0.008, 0.001, 0.014))
    at = {row[:2]: row[2:] for row in noise.CELLS}
    assert len(noise.CELLS) == len(at) == 16
    assert at[0.02, 0.75] == (0.005, 0.351, 0.009, 0.913, 0.993, 128)
    assert at[0.20, 0.00] == (0.008, 0.120, 0.008, 0.813, 0.748, 128)
    taus = {weight: [row[-2] for key, row in at.items() if key[1] == weight] for weight in (0.0, 0.75)}
    assert (min(taus[0.0]), max(taus[0.0]), min(taus[0.75]), max(taus[0.75])) == (0.748, 0.904, 0.928, 0.993)
    assert robustness.CELLS[0][2:] == ((0.114, 0.006, 0.106), (12.456, 1.840, 10.034), (0.144, 0.009, 0.130))
    assert robustness.CELLS[3][2:] == ((0.033, 0.008, 0.028), (3.469, 1.457, 2.300), (0.060, 0.007, 0.054))
    assert subgroups.GAPS == (("OULAD", 0.013, -8.235, 0.216), ("EdNet", -0.006, 3.196, 0.031))
    assert probes.CELLS[0] == ("OULAD", "adaptive", 256, 0.312, 0.268, 0.684)
    assert probes.CELLS[-1] == ("EdNet", "als-selector", 256, 0.559, 0.551, 0.852)
