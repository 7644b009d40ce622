"""Raw top-K: corollaries by hand, quadrature against independent oracles, the paper's eight cells."""

from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext

import numpy as np
import pytest
from certify_builders import top_slate
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import log_ndtr

from slateproof.certify import LowRank, certify, topk
from slateproof.certify.quadrature import log_flips
from slateproof.errors import InvalidInput

CELLS = [
    (0.35, 0.50, 0.12),
    (0.35, 0.75, 0.25),
    (0.50, 0.50, 0.18),
    (0.50, 0.75, 0.35),
    (0.70, 0.00, 0.12),
    (0.70, 0.50, 0.25),
    (0.90, 0.00, 0.18),
    (0.90, 0.50, 0.35),
]
COUNTS = np.array([393, 773, 841, 546, 391, 746, 2953, 2085])
TRIALS = 32_000


def two_level(gamma):
    return np.r_[np.full(10, gamma), np.zeros(90)]


def test_the_paper_s_eight_cells_and_the_exact_slope():
    p = np.array([topk.flip_probability(two_level(g), 10, s, w) for g, w, s in CELLS])
    chi2 = ((COUNTS - TRIALS * p) ** 2 / (TRIALS * p * (1 - p))).sum()
    assert stats.chi2.sf(chi2, 8) > 0.05
    x = [(g / ((1 - w) * s)) ** 2 for g, w, s in CELLS]
    assert np.polyfit(x, np.log(p / 900), 1)[0] == pytest.approx(-0.2267, abs=5e-5)
    smoothed = (COUNTS + 0.5) / (TRIALS + 1)
    assert np.polyfit(x, np.log(smoothed / 900), 1)[0] == pytest.approx(-0.2205, abs=5e-4)


@pytest.mark.parametrize("gap", [0.05, 0.5, 1.0, 3.0, 8.0, 20.0, 33.0, 36.0])
def test_two_items_have_a_closed_form(gap):
    p = topk.flip_probability([gap, 0.0], 1, 1.0)
    assert topk.log_flip_probability([gap, 0.0], 1, 1.0) == pytest.approx(log_ndtr(-gap / math.sqrt(2.0)), rel=1e-12)
    assert p == pytest.approx(float(stats.norm.sf(gap / math.sqrt(2.0))), rel=1e-10)


@pytest.mark.parametrize(("gap", "deviations"), [(1.0, (0.2, 3.0)), (5.0, (1.0, 0.1)), (30.0, (2.0, 1.0))])
def test_two_items_with_unequal_noise(gap, deviations):
    log_p = topk.log_flip_probability([gap, 0.0], 1, deviations)
    assert log_p == pytest.approx(log_ndtr(-gap / math.hypot(*deviations)), rel=1e-11)


@pytest.mark.parametrize("gamma", [0.4, 2.0, 5.0, 9.0])
def test_two_level_pools_against_scipy_quadrature(gamma):
    """10 equal items over 90 equal ones: f_min = 10 phi sf^9, integrated by another method."""

    def integrand(m):
        stay = math.log(10) + stats.norm.logpdf(m - gamma) + 9 * stats.norm.logsf(m - gamma)
        return math.exp(stay + 600 * (gamma > 40)) * -math.expm1(90 * log_ndtr(m))

    want = sum(integrate.quad(integrand, a, a + 1, epsabs=0, epsrel=1e-13)[0] for a in np.arange(-12.0, gamma + 12.0))
    assert want > 1e-12
    assert topk.flip_probability(two_level(gamma), 10, 1.0) == pytest.approx(want, rel=1e-10)


def test_mixed_pools_against_a_fine_plain_sum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(3, 30))
        k = int(rng.integers(1, n))
        scores, sigma = rng.normal(0, 1, n), rng.uniform(0.3, 1.0, n)
        inside = topk.top(scores, k)
        m = np.linspace(-15, 15, 40_001)
        z = (m[:, None] - scores) / sigma
        logs = stats.norm.logsf(z[:, inside]).sum(1)
        hazard = (np.exp(stats.norm.logpdf(z[:, inside]) - stats.norm.logsf(z[:, inside])) / sigma[inside]).sum(1)
        want = (np.exp(logs) * hazard * -np.expm1(log_ndtr(z[:, ~inside]).sum(1))).sum() * (m[1] - m[0])
        assert topk.flip_probability(scores, k, sigma) == pytest.approx(want, rel=1e-10)


def test_the_far_pair_sum_meets_the_quadrature():
    """At the switch the two ways agree: just below by quadrature, just above by the pair sum."""
    below, above = 33.999 * math.sqrt(2), 34.001 * math.sqrt(2)
    slope = []
    for gap in (below, above):
        log_p = topk.log_flip_probability(two_level(gap), 10, 1.0)
        slope.append(log_p - log_ndtr(-gap / math.sqrt(2.0)))
        assert log_p < -500
    assert slope[0] == pytest.approx(math.log(900), abs=1e-10)
    assert slope[1] == pytest.approx(math.log(900), abs=1e-10)


def test_against_plain_monte_carlo():
    rng = np.random.default_rng(7)
    scores = rng.standard_normal(20)
    inside = topk.top(scores, 4)
    draws = scores + rng.normal(0, 0.4 * 0.15, (40_000, 20))
    flips = (draws[:, inside].min(1) < draws[:, ~inside].max(1)).mean()
    p = topk.flip_probability(scores, 4, 0.15, anchor_weight=0.6)
    assert abs(flips - p) < 4 * math.sqrt(p * (1 - p) / 40_000)


def test_vectorised_equals_one_by_one():
    scores = np.random.default_rng(1).standard_normal((50, 30))
    table = topk.flip_probability(scores, 5, 0.1)
    assert table.shape == (50,)
    assert table == pytest.approx([topk.flip_probability(row, 5, 0.1) for row in scores], rel=1e-14)
    assert topk.gap(scores, 5).tolist() == [topk.gap(row, 5) for row in scores]


def test_no_noise_no_flip():
    assert topk.flip_probability([1.0, 0.0], 1, 0.0) == 0.0
    assert topk.flip_probability([1.0, 0.0], 1, 1.0, anchor_weight=1.0) == 0.0
    assert topk.flip_probability([1.0, 0.0], 2, 1.0) == 0.0
    assert topk.log_flip_probability([1.0, 0.0], 2, 1.0) == -math.inf
    assert topk.flip_probability([1.0, 1.0], 1, 1.0) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.6])
def test_low_rank_noise(sigma):
    rng = np.random.default_rng(11)
    scores, n = rng.normal(0, 1, 15), 15
    U = rng.standard_normal((n, 2))
    factor = sigma * math.sqrt(0.5) * U / np.linalg.norm(U, axis=1, keepdims=True)
    noise = LowRank(factor, 0.5 * sigma**2)
    estimate = topk.flip_probability(scores, 3, noise, anchor_weight=0.25)
    inside = topk.top(scores, 3)
    xi = rng.standard_normal((200_000, 2)) @ factor.T + rng.normal(0, sigma * math.sqrt(0.5), (200_000, n))
    flips = ((scores + 0.75 * xi)[:, inside].min(1) < (scores + 0.75 * xi)[:, ~inside].max(1)).mean()
    assert abs(estimate - flips) < 4 * math.hypot(estimate.error, math.sqrt(max(flips, 1e-5) / 200_000))


def test_low_rank_without_factors_is_the_quadrature():
    scores = [1.0, 0.4, 0.0, -0.3]
    for sigma in (0.1, 0.5):
        estimate = topk.flip_probability(scores, 2, LowRank(np.zeros((4, 1)), sigma**2))
        exact = topk.flip_probability(scores, 2, sigma)
        assert abs(estimate - exact) <= 4 * estimate.error + 1e-10


def test_the_slate_s_order_flips_at_least_as_often_as_the_set():
    scores = np.random.default_rng(2).normal(0, 1, 12)
    cert = certify(top_slate(scores, 4))
    ordered = cert.flip_probability(0.1)
    exact_set = topk.flip_probability(scores, 4, 0.1)
    assert ordered >= exact_set
    estimate = cert.set_flip_probability(0.1)
    assert abs(estimate - exact_set) < 4 * estimate.error


def test_one_item_slates_have_the_quadrature_as_oracle():
    scores = np.random.default_rng(3).normal(0, 1, 25)
    cert, gamma = certify(top_slate(scores, 1)), topk.gap(scores, 1)
    for ratio in (0.5, 1.0, 3.0, 5.6, 8.0):
        sigma = gamma / math.sqrt(2.0) / ratio
        exact, estimate = topk.flip_probability(scores, 1, sigma), cert.flip_probability(sigma)
        assert abs(estimate - exact) < 5 * estimate.error
        assert estimate.error < 0.02 * exact


def test_corollary_topk_stability_by_hand():
    # K (|C|-K) exp(-gamma^2 / (2 (1-w)^2 tau^2))
    assert topk.flip_bound(1.0, 2, 5, tau=0.5) == pytest.approx(6 * math.exp(-2.0))
    assert topk.flip_bound(1.0, 2, 5, tau=0.5, anchor_weight=0.5) == pytest.approx(6 * math.exp(-8.0))
    # coordinate proxy: gamma^2 / (4 (1-w)^2 sigma^2)
    assert topk.flip_bound(1.0, 2, 5, sigma=0.5) == pytest.approx(6 * math.exp(-1.0))
    assert topk.flip_bound(1.0, 2, 5, sigma=0.5, anchor_weight=1.0) == 0.0
    assert topk.flip_bound(np.array([1.0, 2.0]), 2, 5, sigma=1.0).tolist() == pytest.approx(
        [6 * math.exp(-0.25), 6 * math.exp(-1.0)]
    )
    assert topk.flip_bound(0.01, 2, 5, sigma=1.0) > 5.0


def test_corollary_biased_anchor_by_hand():
    assert topk.biased_gap(1.0, 0.25) == 0.5
    assert topk.biased_gap(1.0, 0.75) == 0.0
    assert topk.flip_bound(1.0, 1, 2, tau=0.5, bias=0.25) == pytest.approx(math.exp(-0.5))
    assert topk.flip_bound(1.0, 1, 2, tau=0.5, bias=0.6) == 1.0


def test_bounds_bound():
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((100, 20))
    for sigma in (0.01, 0.05, 0.2):
        p = topk.flip_probability(scores, 5, sigma)
        assert (p <= topk.flip_bound(topk.gap(scores, 5), 5, 20, sigma=sigma)).all()


def test_gap_by_hand():
    assert topk.gap([1.0, 5.0, 3.0], 2) == 2.0
    assert topk.gap([1.0, 5.0, 3.0], 3) == math.inf
    assert topk.gap([[1.0, 2.0], [5.0, 1.0]], 1).tolist() == [1.0, 4.0]
    assert topk.top([1.0, 2.0, 2.0], 1).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: topk.flip_bound(0.0, 1, 2, sigma=1.0), "gap"),
        (lambda: topk.flip_bound(math.nan, 1, 2, sigma=1.0), "gap"),
        (lambda: topk.flip_bound("wide", 1, 2, sigma=1.0), "gap"),
        (lambda: topk.flip_probability(["2", "1"], 1, 1.0), "scores"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, [1.0, 1e-9]), "sigma"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, ["a", "b"]), "sigma"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([["a"], ["b"]], 1.0)), "factor"),
        (lambda: topk.flip_bound(1.0, 1, 2), "sigma"),
        (lambda: topk.flip_bound(1.0, 1, 2, sigma=1.0, tau=1.0), "sigma"),
        (lambda: topk.flip_bound(1.0, 1, 2, tau=-1.0), "tau"),
        (lambda: topk.flip_bound(1.0, 1, 2, sigma=1.0, bias=-0.1), "bias"),
        (lambda: topk.flip_bound(1.0, 3, 2, sigma=1.0), "k"),
        (lambda: topk.flip_bound(1.0, 1, 2, sigma=1.0, anchor_weight=1.1), "anchor_weight"),
        (lambda: topk.flip_probability([1.0, math.inf], 1, 1.0), "scores"),
        (lambda: topk.flip_probability([], 1, 1.0), "scores"),
        (lambda: topk.flip_probability([1.0, 0.0], 0, 1.0), "k"),
        (lambda: topk.flip_probability([1.0, 0.0], True, 1.0), "k"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, -1.0), "sigma"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, [1.0, 0.0]), "sigma"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([[1.0]], 1.0)), "factor"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([[1.0], [1.0]], -1.0)), "diagonal"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([[1.0], [1.0]], 1.0), points=0), "points"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([[1.0], [1.0]], 1.0), points="a"), "points"),
        (lambda: topk.flip_probability([1.0, 0.0], 1, LowRank([[1.0], [1.0]], 1.0), seed=-1), "seed"),
        (lambda: topk.biased_gap("x", 0.1), "gap"),
        (lambda: topk.biased_gap(math.nan, 0.1), "gap"),
        (lambda: topk.biased_gap(-1.0, 0.1), "gap"),
    ],
)
def test_premises_are_enforced(call, field):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field


@given(st.floats(1e-3, 40.0), st.floats(1e-2, 10.0), st.floats(0.0, 0.99))
def test_the_corollary_s_bound_is_never_below_its_formula(gamma, sigma, weight):
    with localcontext(prec=60):
        scale = (1 - Decimal(weight)) * Decimal(sigma)
        formula = 6 * (-(Decimal(gamma) ** 2) / (4 * scale**2)).exp()
        assert formula <= Decimal(topk.flip_bound(gamma, 2, 5, sigma=sigma, anchor_weight=weight))


def test_very_unequal_noise_is_sampled_where_the_quadrature_refuses():
    deviations = np.array([1e-9, 1.0, 1.0])
    estimate = topk.flip_probability([1.0, 0.0, 0.5], 1, LowRank(np.zeros((3, 1)), deviations**2), points=2**14)
    exact = 1.0 - stats.norm.cdf(1.0) * stats.norm.cdf(0.5)
    assert abs(estimate - exact) <= 4.0 * estimate.error
    assert estimate.error < 0.01


@pytest.mark.parametrize(("gap", "deviations"), [(40, (1, 0.1)), (40, (0.1, 1)), (45, (1, 0.1)), (60, (1, 0.1)), (500, (0.01, 1))])
def test_far_tails_of_unequal_noise(gap, deviations):
    """Where hazard and tail leave the range of floats, and where two pairs need not be rare together."""
    want = log_ndtr(-gap / math.hypot(*deviations))
    assert topk.log_flip_probability([gap, 0.0], 1, deviations) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("gap", [30.0, 45.0, 50.0, 200.0])
def test_far_pairs_that_flip_together_count_once(gap):
    """Two winners almost without noise fall to one rival together: the pair sum would be twice the truth."""
    s = 1e-3
    # E of the rival's tail over the lower winner, by another rule; the lower of two normals has density 2 phi sf.
    x = np.linspace(-9.0, 9.0, 20_001)
    logs = math.log(2.0) + stats.norm.logpdf(x) + stats.norm.logsf(x) + log_ndtr(-(gap + s * x))
    want = logs.max() + math.log(np.exp(logs - logs.max()).sum() * (x[1] - x[0]))
    assert topk.log_flip_probability([gap, gap, 0.0], 2, [s, s, 1.0]) == pytest.approx(want, abs=1e-9)
    if gap > 48:
        assert want < log_ndtr(-gap) + 0.5


def test_a_set_that_has_certainly_changed_costs_nothing():
    """Common noise far above the items' own: given the common part, most sets have changed beyond doubt."""
    scores = np.random.default_rng(3).standard_normal(40)
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((40, 2))
    start = time.perf_counter()
    estimate = topk.flip_probability(scores, 10, LowRank(factor, 1e-16))
    assert time.perf_counter() - start < 20.0
    xi = rng.standard_normal((40_000, 2)) @ factor.T
    inside = topk.top(scores, 10)
    flips = ((scores + xi)[:, inside].min(1) < (scores + xi)[:, ~inside].max(1)).mean()
    assert abs(estimate - flips) < 4 * math.hypot(estimate.error, math.sqrt(flips * (1 - flips) / 40_000))
    behind = np.array([False, True])
    out = np.empty(1)
    log_flips(np.array([[9.1, 0.0]]), np.full((1, 2), 1.0 / math.sqrt(2.0)), behind[None], out)
    assert out[0] == 0.0


def test_a_probability_is_at_most_1():
    deviations = np.where(np.arange(40) % 2, 1.0, 1e-6)
    noise = LowRank(np.zeros((40, 1)), deviations**2)
    for seed in range(5):
        scores = np.random.default_rng(seed).standard_normal(40) * 0.1
        estimate = topk.flip_probability(scores, 10, noise, seed=seed)
        assert estimate <= 1.0
        xi = np.random.default_rng(seed).standard_normal((20_000, 40)) * deviations
        inside = topk.top(scores, 10)
        flips = ((scores + xi)[:, inside].min(1) < (scores + xi)[:, ~inside].max(1)).mean()
        assert abs(estimate - flips) <= 5 * math.hypot(estimate.error, math.sqrt(max(flips * (1 - flips), 1e-4) / 20_000))


def test_a_refusal_names_the_way_out():
    for sigma in ([1.0, 0.0], [1.0, 1e-9]):
        with pytest.raises(InvalidInput, match="LowRank"):
            topk.flip_probability([1.0, 0.0], 1, sigma)
