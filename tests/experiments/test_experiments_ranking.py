"""The raw-ranking and certificate experiments on small made-up corpora: what must hold for any data."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from slateproof.experiments import (
    corpus_summary,
    coverage,
    fixed_margin,
    flip_size,
    margin_gate,
    margin_shape,
    pairwise_tail,
    real_anchor,
    threshold,
)
from slateproof.experiments.anchors import AnchorPools, anchor_of, anchor_pools
from slateproof.experiments.core import Result
from slateproof.experiments.published.margin_gate import PERTURBED
from slateproof.experiments.stats import fit_line, ratio_error
from tests.experiments.experiment_world import RATINGS, SmallShelf, run


@pytest.fixture(scope="module")
def shelf() -> SmallShelf:
    return SmallShelf()


@pytest.fixture(scope="module")
def fixed() -> Result:
    return run(fixed_margin.EXPERIMENT, pools=4, draws=250)


@pytest.fixture(scope="module")
def anchored(shelf: SmallShelf) -> Result:
    return run(real_anchor.EXPERIMENT, shelf, candidates=40, education_pools=6, ratings_pools=6, draws=30, steps=(5,), many=8)


@pytest.fixture(scope="module")
def gated(shelf: SmallShelf) -> Result:
    return run(margin_gate.EXPERIMENT, shelf, pools=12, candidates=40, sigmas=(1e-4, 1e-2))


def test_fixed_margin_has_all_cells_and_the_exact_slope(fixed: Result) -> None:
    assert len(fixed.rows) == 48
    assert fixed.summary["exact_slope"] == pytest.approx(-0.2267, abs=5e-5)
    assert {"slope_independent", "slope_low_rank", "exact_slope"} <= set(fixed.summary)
    assert Counter(one.label for one in fixed.verdicts)["tab:fixed-margin-fit-cells"] == 9


def test_its_exact_column_is_the_integral_of_the_definition(fixed: Result) -> None:
    row = next(r for r in fixed.rows if (r["gamma"], r["anchor_weight"], r["sigma"]) == (0.7, 0.0, 0.12))
    g = math.sqrt(row["x"])

    def stays(m: float) -> float:
        return 10.0 * norm.pdf(m) * norm.sf(m) ** 9 * norm.cdf(m + g) ** 90

    assert row["flip_exact"] == pytest.approx(1.0 - quad(stays, -12.0, 12.0, epsabs=1e-13, limit=200)[0], rel=1e-7)
    assert row["flip_exact"] <= row["bound"]


def test_it_simulates_what_it_computes(fixed: Result) -> None:
    for row in fixed.rows:
        error = math.sqrt(row["flip_exact"] * (1.0 - row["flip_exact"]) / row["trials"])
        assert abs(row["flip_independent"] - row["flip_exact"]) <= 5.0 * error + 1.0 / row["trials"]


def test_the_same_seed_gives_the_same_rows(fixed: Result) -> None:
    assert run(fixed_margin.EXPERIMENT, pools=4, draws=250).to_dict() == fixed.to_dict()


def test_least_squares_against_numpy() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=12)
    y = 2.0 - 0.5 * x + 0.1 * rng.normal(size=12)
    line = fit_line(x, y)
    assert (line.slope, line.intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))
    assert line.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert line.low < line.slope < line.high


def test_the_error_of_a_ratio_is_that_of_resampling() -> None:
    rng = np.random.default_rng(4)
    below = rng.uniform(0.5, 1.0, 60)
    above = 0.3 * below + rng.uniform(0.0, 0.2, 60)
    picks = rng.integers(0, 60, (4_000, 60))
    spread = (above[picks].mean(axis=1) / below[picks].mean(axis=1)).std()
    assert ratio_error(above, below) == pytest.approx(spread, rel=0.1)


def test_real_anchor_rows_have_the_keys_of_the_design(anchored: Result) -> None:
    keys = {"corpus", "anchor", "noise", "sigma", "flip_w000", "flip_w050", "flip_w075", "jaccard_w075"}
    assert all(keys <= set(row) for row in anchored.rows)
    # 5 families x 3 scales on OULAD, 2 x 3 on either ratings corpus, two anchors.
    assert len(anchored.rows) == 2 * (15 + 6 + 6)
    assert {row["anchor"] for row in anchored.rows} == {"mf-bce", "als"}


def test_flips_fall_with_the_anchor_and_agree_with_the_quadrature(anchored: Result) -> None:
    assert anchored.summary["monotone"] is True
    for row in anchored.rows:
        for tag in ("w000", "w050", "w075"):
            assert 0.0 <= row[f"exact_{tag}"] <= 1.0
            assert abs(row[f"flip_{tag}"] - row[f"exact_{tag}"]) < 0.2
    # Equal reach, equal probability: (1 - .5) .2 = (1 - 0) .1.
    wide, narrow = (next(r for r in anchored.rows if r["corpus"] == "ml-25m" and r["sigma"] == s) for s in (0.2, 0.1))
    assert wide["exact_w050"] == narrow["exact_w000"]


def test_every_published_cell_is_judged_and_what_is_not_here_is_not_compared(anchored: Result) -> None:
    assert len(anchored.verdicts) == 27 * 6 + 2
    assert "not comparable" not in Counter(one.verdict for one in anchored.verdicts)
    without = run(real_anchor.EXPERIMENT, SmallShelf(("oulad",)), candidates=40, education_pools=4, draws=10, steps=(5,), many=4)
    missing = [one for one in without.verdicts if one.verdict == "not comparable"]
    assert {one.rule for one in missing} == {"the corpus is not in hand", "not all three corpora are in hand"}
    assert len(missing) == 12 * 6 + 2
    assert any("ml-25m" in why for why in without.skipped)


def test_the_anchor_without_biases_has_none(shelf: SmallShelf) -> None:
    scorer = anchor_of("mf-bce").fit(shelf.get("oulad"), seed=42)
    assert not scorer._user_bias.any()  # type: ignore[attr-defined]
    assert not scorer._item_bias.any()  # type: ignore[attr-defined]


def test_pools_are_the_same_for_every_anchor_and_hold_no_item_twice(shelf: SmallShelf) -> None:
    one, other = (anchor_pools(shelf.get("oulad"), anchor_of(name), 5, 40, 42) for name in ("mf-bce", "als"))
    assert np.array_equal(one.items, other.items)
    assert np.array_equal(one.users, other.users)
    assert all(len(set(row)) == 40 for row in one.items.tolist())
    assert one.scores.mean(axis=1) == pytest.approx(0.0, abs=1e-9)
    assert one.scores.std(axis=1) == pytest.approx(1.0)


def test_thresholds_load_the_corpora_again(shelf: SmallShelf) -> None:
    found = run(threshold.EXPERIMENT, shelf, candidates=40, ratings_pools=5, draws=10, many=5, thresholds=(3.5, 4.5))
    shares = {row["threshold"]: row["positive_share"] for row in found.rows if row["corpus"] == RATINGS[0]}
    assert shares[3.5] > shares[4.5]
    assert Counter(one.verdict for one in found.verdicts)["not comparable"] == 2 * 3 * 4  # the threshold 4.0
    assert len(found.corpora) == 4


def test_pairwise_tails_are_those_of_the_noise(shelf: SmallShelf) -> None:
    found = run(pairwise_tail.EXPERIMENT, shelf, candidates=40, pools=6, draws=60)
    assert found.summary["below_bound"] is True
    for row in found.rows:
        assert abs(row["tail"] - row["exact"]) < 0.03
        if row["rank"] == 0:
            assert row["exact"] == pytest.approx(norm.sf(row["u"] * row["tau"] / (math.sqrt(2.0) * row["sigma"])), rel=1e-9)
    assert {one.verdict for one in run(pairwise_tail.EXPERIMENT, SmallShelf(())).verdicts} == {"not comparable"}


def test_no_certified_perturbation_changes_a_slate(gated: Result) -> None:
    keys = {"corpus", "sigma", "certified", "same_order", "same_set", "certified_violations", "median_ratio"}
    assert all(keys <= set(row) for row in gated.rows)
    assert gated.summary["certified_violations"] == 0
    assert gated.summary["exact_disagreements"] == 0
    assert all(row["certified"] <= row["exact"] == row["same_order"] <= row["same_set"] for row in gated.rows)
    large = [row for row in gated.rows if row["sigma"] == 1e-2]
    assert all(row["same_order"] < 1.0 for row in large)  # else the test above shows nothing


def test_the_spread_of_margins_is_read_in_units_of_their_median() -> None:
    margins = np.random.default_rng(0).exponential(3.0, 200_000)
    alike = [np.full(10, 5.0), np.full(10, 7.0)]
    rows = margin_shape.shape_rows("oulad", "oulad", margins, alike)
    assert [row["medians"] for row in rows] == [2.0 * cell[-1] for cell in PERTURBED["oulad"]]
    for row in rows:
        assert row["ours"] == pytest.approx(row["independent"], abs=5e-3)  # an exponential has no memory
        assert row["one_set"] == (1.0 if row["medians"] < 1.0 else 0.0)
    assert margin_shape.cause_of(rows, "oulad").endswith(
        "97% of the published margins and 53% of ours; pools drawn independently would have 53% there, pools with one candidate "
        "set 100%: the published ones are more alike."
    )
    assert "pools" in margin_shape.cause_of([], "oulad")


def test_pools_of_one_candidate_set_share_it_and_have_the_users_of_the_others(shelf: SmallShelf) -> None:
    corpus = shelf.get("oulad")
    pools = anchor_pools(corpus, anchor_of("mf-bce"), 6, 20, 42)
    for one in margin_shape.one_candidate_set(corpus, pools, 42):
        assert (one.items == one.items[0]).all()
        assert np.array_equal(one.users, pools.users)
        assert len(set(one.items[0].tolist())) == 20


def test_simulated_answers_are_never_compared_with_published_ones(gated: Result) -> None:
    kinds = {paper: {v.verdict for v in gated.verdicts if v.key.startswith(paper)} for paper in ("oulad", "ednet")}
    assert kinds["ednet"] == {"not comparable"}
    assert kinds["oulad"] - {"not comparable"}
    assert all("synthetic" in row["corpus"] for row in gated.rows if row["paper_corpus"] == "ednet")


def test_coverage_rungs_are_ordered_and_kept(shelf: SmallShelf) -> None:
    found = run(coverage.EXPERIMENT, shelf, pools=8, draws=40, candidates=30, sigmas=(1e-4, 1e-3))
    for row in found.rows:
        assert row["norm"] <= row["exact"]
        assert row["bound"] <= row["union"] <= row["probability"] + 1e-12
        assert abs(row["mean_probability"] - row["observed"]) < 0.15
    assert found.verdicts == ()


def test_flip_size_reads_exact_probabilities(shelf: SmallShelf) -> None:
    found = run(
        flip_size.EXPERIMENT, shelf, sizes=(1, 5), candidates=(20, 40, 1_000), pool=40, pools=4, points=64, weights=(0.0, 0.75)
    )
    assert {row["candidates"] for row in found.rows} == {20, 40}  # no catalogue has 1,000
    for row in found.rows:
        assert row["raw"] <= row["bound"] + 1e-9
        assert (row["greedy"] is None) == (row["size"] == 1)
    pairs = zip(*([r["raw"] for r in found.rows if r["anchor_weight"] == w] for w in (0.0, 0.75)), strict=True)
    assert all(held < free for free, held in pairs)


def test_corpora_are_counted_and_synthetic_ones_not_compared(shelf: SmallShelf) -> None:
    found = run(corpus_summary.EXPERIMENT, shelf)
    assert {row["paper_corpus"]: row["synthetic"] for row in found.rows}["ednet"] is True
    by = {one.key: one for one in found.verdicts}
    assert by["ednet/users"].verdict == "not comparable"
    assert by["oulad/users"].ours == 160.0
    assert by["oulad/users"].verdict == "differs"


def test_a_tie_at_the_border_promises_nothing_and_breaks_nothing(shelf: SmallShelf) -> None:
    tied = np.sort(np.random.default_rng(5).standard_normal((2, 20)))[:, ::-1].copy()
    tied[0, 5] = tied[0, 4]
    pools = AnchorPools(tied, tied, np.arange(2), np.tile(np.arange(20), (2, 1)))
    row = flip_size._cell(shelf.get("oulad"), pools, 5, 0.0, replace(flip_size.EXPERIMENT.quick, largest_greedy=0))
    assert row["bound"] > 0.5
    assert row["greedy"] is None
