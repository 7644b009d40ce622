"""Flip probabilities of ordered slates against Monte Carlo, against an independent estimator, and in the far tail."""

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
from certify_builders import random_slate, select_again, top_slate
from scipy.special import ndtr

from slateproof.certify import LowRank, certify, topk
from slateproof.certify.noise import Estimate, Noise
from slateproof.certify.pairs import Union
from slateproof.errors import InvalidInput


def monte_carlo(slate, xi):
    """Share of draws that change the ordered slate; checked against the selector itself on the first few."""
    cert = certify(slate)
    same = cert.exact(slate.pool.scores + xi)
    for t in range(3):
        assert same[t] == (select_again(slate, slate.pool.scores + xi[t]).ids == slate.ids)
    return 1.0 - same.mean()


def agree(estimate, share, trials):
    return abs(estimate - share) < 4 * math.hypot(estimate.error, math.sqrt(max(estimate * (1 - estimate), 1 / trials) / trials))


def check_against_monte_carlo(seed, trials):
    rng = np.random.default_rng(seed)
    slate = random_slate(seed, n=int(rng.integers(6, 25)), k=int(rng.integers(1, 6)), dissimilarity=("max", "mean")[seed % 2])
    cert, n = certify(slate), slate.pool.size
    sigma = cert.radius * float(rng.choice([0.4, 1.0, 4.0, 20.0])) + 1e-6
    sigmas = sigma * rng.uniform(0.3, 1.5, n)
    factor = sigma * rng.standard_normal((n, 3)) * 0.5
    for noise in (sigma, sigmas, LowRank(factor, sigmas**2)):
        parsed = Noise.of(noise, n)
        share = monte_carlo(slate, parsed.draw(rng, trials))
        assert agree(cert.flip_probability(noise, seed=seed), share, trials)
        assert cert.flip_union(noise) >= share - 4 * math.sqrt(max(share, 1 / trials) / trials)


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_monte_carlo(seed):
    check_against_monte_carlo(seed, 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_agrees_with_monte_carlo_on_200_slates(seed):
    check_against_monte_carlo(seed, 20_000)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ratio", [5.612, 7.0])
def test_resolves_the_far_tail(seed, ratio):
    """p = 1e-8 and below: two estimators that share nothing but the gaps agree, below the union bound."""
    slate = random_slate(seed, n=20, k=5)
    cert = certify(slate)
    sigma = cert.gaps.gap.min() / (0.7 * math.sqrt(2.0) * ratio)
    estimate = cert.flip_probability(sigma)
    other = Union.of(cert.pairs, Noise.of(sigma, 20)).probability(np.random.default_rng(seed), 20_000)
    assert ndtr(-ratio) * 0.99 < estimate < 20 * ndtr(-ratio)
    assert abs(estimate - other) < 5 * math.hypot(estimate.error, other.error)
    assert estimate.error < 0.01 * estimate
    assert estimate <= cert.flip_union(sigma) * 1.02


def test_anchor_blending_is_less_noise():
    cert = certify(random_slate(3))
    assert cert.flip_probability(0.05, anchor_weight=0.75) == pytest.approx(cert.flip_probability(0.0125), rel=1e-12)
    assert cert.flip_union(0.05, anchor_weight=0.75) == pytest.approx(cert.flip_union(0.0125), rel=1e-12)
    assert cert.flip_probability(0.05, anchor_weight=1.0) == 0.0


def test_noise_on_one_item_alone_is_one_integral():
    """Only one chosen item is noisy: it flips when it falls below its step's gap or climbs over an earlier one."""
    slate = random_slate(6)
    cert = certify(slate)
    step = int(np.argmin(slate.margins))
    sigmas = np.zeros(slate.pool.size)
    sigmas[slate.indices[step]] = s = cert.radius * 2.0
    up, down = cert.item_radii(slate.ids[step])
    want = ndtr(-up / s) + ndtr(-down / s)
    estimate = cert.flip_probability(sigmas)
    assert abs(estimate - want) < 5 * estimate.error + 1e-9
    rival = int(cert.gaps.gap[step].argmin())
    sigmas = np.zeros(slate.pool.size)
    sigmas[rival] = s
    up, down = cert.item_radii(slate.pool.ids[rival])
    estimate = cert.flip_probability(sigmas)
    assert abs(estimate - (ndtr(-up / s) + ndtr(-down / s))) < 5 * estimate.error + 1e-9


def test_shared_noise_changes_nothing():
    slate = random_slate(8)
    shared = LowRank(np.ones((slate.pool.size, 1)), 0.0)
    assert certify(slate).flip_probability(shared) == 0.0
    assert certify(slate).flip_union(shared) == 0.0


def test_low_rank_without_factor_is_independent_noise():
    cert = certify(random_slate(9))
    sigma = cert.radius * 3
    same = cert.flip_probability(LowRank(np.zeros((12, 0)), sigma**2))
    assert same == pytest.approx(cert.flip_probability(sigma), rel=1e-12)
    close = cert.flip_probability(LowRank(np.zeros((12, 2)), sigma**2))
    assert abs(close - same) < 5 * math.hypot(close.error, same.error)


def test_tolerance_is_met_and_the_same_seed_gives_the_same_number():
    cert = certify(random_slate(10))
    sigma = cert.radius * 2
    rough, fine = cert.flip_probability(sigma, points=64), cert.flip_probability(sigma, points=64, tolerance=1e-4)
    assert fine.error <= 1e-4 * fine
    assert fine.points > rough.points
    assert abs(rough - fine) < 6 * rough.error
    assert cert.flip_probability(sigma, seed=5) == cert.flip_probability(sigma, seed=5)
    assert cert.flip_probability(sigma, seed=5) != cert.flip_probability(sigma, seed=6)


def test_an_estimate_is_a_float_that_knows_its_error():
    import pickle

    estimate = Estimate(0.25, 0.01, 64)
    assert estimate.probability == 0.25
    copy = pickle.loads(pickle.dumps(estimate))
    assert (copy, copy.error, copy.points) == (0.25, 0.01, 64)
    assert "± 0.01" in repr(estimate)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ratio", [1.0, 6.0])
def test_set_flips_against_replay(seed, ratio):
    slate = random_slate(seed, n=10, k=4)
    cert, rng = certify(slate), np.random.default_rng(seed)
    sigma = cert.radius * ratio
    estimate = cert.set_flip_probability(sigma)
    replayed = [set(select_again(slate, slate.pool.scores + rng.normal(0, sigma, 10)).ids) != set(slate.ids) for _ in range(1500)]
    assert agree(estimate, np.mean(replayed), 1500)
    assert estimate <= cert.flip_probability(sigma) + 4 * estimate.error


def test_corollary_sub_gaussian_greedy_by_hand():
    slate = random_slate(1)
    cert = certify(slate)
    gamma, sigma = slate.margin, slate.margin / 4
    want = 2 * 12 * math.exp(-(gamma**2) / (8 * 0.7**2 * sigma**2))
    assert cert.flip_bound(sigma) == pytest.approx(want, rel=1e-9)
    assert cert.flip_bound(sigma) >= want
    assert cert.flip_bound(1e6) == pytest.approx(24.0)
    # With an anchor sigma arrives as (1-w) sigma.
    assert cert.flip_bound(4 * sigma, anchor_weight=0.75) == pytest.approx(want, rel=1e-9)
    assert cert.flip_bound(4 * sigma, anchor_weight=0.75) >= cert.flip_bound(sigma)
    assert cert.flip_bound(sigma, anchor_weight=1.0) == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_the_rungs_stand_in_order(seed):
    cert = certify(random_slate(seed, n=20, k=5))
    for ratio in (0.3, 1.0, 3.0):
        sigma = cert.radius * ratio
        estimate = cert.flip_probability(sigma)
        assert estimate - 5 * estimate.error <= cert.flip_union(sigma) <= cert.flip_bound(sigma)


def test_costs_a_hundredth_of_monte_carlo_at_equal_error():
    """p about 1e-3. Monte Carlo through the compiled exact check, at the error the estimate has."""
    slate = random_slate(2, n=20, k=5)
    cert = certify(slate)
    sigma = cert.gaps.gap.min() / (0.7 * math.sqrt(2.0) * 3.09)
    cert.flip_probability(sigma)
    start = time.perf_counter()
    estimate = cert.flip_probability(sigma)
    ours = time.perf_counter() - start
    xi = np.random.default_rng(0).normal(0, sigma, (3000, 20))
    start = time.perf_counter()
    cert.exact(slate.pool.scores + xi)
    per_trial = (time.perf_counter() - start) / 3000
    assert 5e-4 < estimate < 1e-2
    trials = estimate * (1 - estimate) / estimate.error**2
    assert trials * per_trial > 100 * ours


def test_a_covariance_is_the_low_rank_noise_it_equals():
    rng = np.random.default_rng(5)
    slate = random_slate(5, n=14, k=4)
    cert, n = certify(slate), slate.pool.size
    sigma = 3.0 * cert.radius + 1e-6
    factor, sigmas = sigma * rng.standard_normal((n, 2)) * 0.5, sigma * rng.uniform(0.5, 1.5, n)
    whole = factor @ factor.T + np.diag(sigmas**2)
    split, dense = cert.flip_probability(LowRank(factor, sigmas**2)), cert.flip_probability(whole)
    assert 0.05 < split < 0.999
    assert abs(split - dense) < 4 * math.hypot(split.error, dense.error) + 1e-3
    assert cert.flip_union(whole) == pytest.approx(cert.flip_union(LowRank(factor, sigmas**2)), rel=1e-9)
    assert cert.flip_probability(np.diag(sigmas**2)) == pytest.approx(cert.flip_probability(sigmas), rel=1e-12)
    assert topk.flip_probability(slate.pool.scores, 4, np.diag(sigmas**2)) == pytest.approx(
        topk.flip_probability(slate.pool.scores, 4, sigmas), rel=1e-9
    )


@pytest.mark.parametrize(
    ("covariance", "rule"),
    [
        (np.eye(3), "a row per candidate"),
        (np.full((14, 14), np.nan), "finite"),
        (np.triu(np.ones((14, 14))), "symmetric"),
        (-np.eye(14), "negative eigenvalue"),
    ],
)
def test_what_is_no_covariance_is_refused(covariance, rule):
    cert = certify(random_slate(5, n=14, k=4))
    with pytest.raises(InvalidInput, match=rule) as caught:
        cert.flip_probability(covariance)
    assert caught.value.field == "covariance"


@pytest.mark.parametrize("ratio", [2.0, 4.0, 6.0])
def test_a_near_tie_inside_does_not_hide_the_set(ratio):
    """Two chosen items nearly tie, so swaps are likelier than anything else; the set's own chance is still resolved."""
    scores = np.r_[1.0, 0.9999999, 0.8, 0.2, np.linspace(0.0, -1.0, 8)]
    sigma = 0.6 / math.sqrt(2.0) / ratio
    cert = certify(top_slate(scores, 3))
    exact, estimate = topk.flip_probability(scores, 3, sigma), cert.set_flip_probability(sigma)
    assert cert.flip_probability(sigma) > 0.4
    assert abs(estimate - exact) < 4 * estimate.error
    assert estimate.error < 0.02 * exact


@pytest.mark.parametrize("seed", range(6))
def test_set_flips_with_similarities_and_a_near_tie_inside(seed):
    """Greedy slates whose weakest pair is an order swap: mixture draws against plain replay."""
    slate = next(s for s in (random_slate(97 * seed + i, n=10, k=4) for i in range(200)) if weakest_is_a_swap(s))
    cert, rng = certify(slate), np.random.default_rng(seed)
    for ratio in (3.0, 30.0):
        sigma = cert.radius * ratio
        estimate = cert.set_flip_probability(sigma, points=8192)
        draws = slate.pool.scores + rng.normal(0, sigma, (1500, 10))
        share = np.mean([set(select_again(slate, row).ids) != set(slate.ids) for row in draws])
        assert agree(estimate, share, 1500)


def weakest_is_a_swap(slate):
    gap = certify(slate).gaps.gap
    return np.unravel_index(gap.argmin(), gap.shape)[1] in slate.indices


def test_set_flips_meet_a_tolerance():
    cert = certify(random_slate(4, n=15, k=4))
    sigma = cert.radius * 3
    rough, fine = cert.set_flip_probability(sigma, points=64), cert.set_flip_probability(sigma, points=64, tolerance=0.01)
    assert fine.error <= 0.01 * fine
    assert fine.points > rough.points
    assert abs(rough - fine) < 5 * rough.error


def test_points_are_drawn_in_blocks():
    """Memory does not grow with the number of points."""
    n = 2000
    noise = LowRank(np.full((n, 1), 0.01), 1e-4)
    cert = certify(top_slate(np.r_[1.0, np.linspace(0.9, 0.0, n - 1)], 1))
    tracemalloc.start()
    estimate = cert.flip_probability(LowRank(noise.factor, (0.1 / math.sqrt(2.0) / 3.5) ** 2), points=2**14)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert estimate.points == 2**14
    assert 1e-5 < estimate < 0.2
    # One block is 65 MB; a few copies of one are held, not four blocks times a few.
    assert peak < 5 * 4096 * n * 8


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_the_union_sampler_is_unbiased_with_groups_and_plain_draws(correlated, scale):
    """E[weight 1_A] = Pr[A] whatever the shares: A = some pair flips, against the integral."""
    slate = random_slate(3, n=14, k=4)
    cert, n = certify(slate), 14
    sigma = cert.radius * scale
    noise = Noise.of(LowRank(np.full((n, 1), sigma), sigma**2) if correlated else sigma, n)
    group = np.isin(np.arange(n), slate.indices).astype(np.int64)
    sampler = Union.of(cert.pairs, noise, group)
    assert sampler.shares.sum() == pytest.approx(1.0)
    estimate, exact = sampler.probability(np.random.default_rng(0), 20_000), cert.flip_probability(sigma, tolerance=1e-3)
    assert abs(estimate - exact) < 5 * math.hypot(estimate.error, exact.error)
