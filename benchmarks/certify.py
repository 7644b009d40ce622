"""What certificates cost and how tight they are: `python -m benchmarks.certify [--json FILE] [--plot FILE] [--quick]`.

Measures (1) agreement of flip probabilities with plain Monte Carlo on 200 random slates, (2) cost against Monte Carlo at equal
standard error for p about 1e-3, (3) p = 1e-8 by two estimators, (4) the paper's eight fixed-margin cells, (5) top-K
quadrature per pool, (6) what margins and radii add to a batch selection, (7) the norm check beside the exact check over sigma, (8)
flip probabilities of a whole batch and a planner over it, per pool.
All pools are synthetic.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from slateproof.certify import certify, certify_batch, flip_probabilities, plan, topk
from slateproof.certify.certificate import Certificate
from slateproof.certify.noise import Noise
from slateproof.certify.pairs import Union
from slateproof.select import GreedySelector
from slateproof.types import Levers, Pool, PoolBatch, State, unit

CELLS = ((0.35, 0.5, 0.12), (0.35, 0.75, 0.25), (0.5, 0.5, 0.18), (0.5, 0.75, 0.35), (0.7, 0.0, 0.12), (0.7, 0.5, 0.25), (0.9, 0.0, 0.18), (0.9, 0.5, 0.35))  # fmt: skip  # noqa: E501
COUNTS = np.array([393, 773, 841, 546, 391, 746, 2953, 2085])


def pool(rng: np.random.Generator, n: int = 100, dimensions: int = 48) -> Pool:
    """A synthetic pool with every column; scores z-scored, as the paper's anchors are."""
    scores = rng.standard_normal(n)
    scores = (scores - scores.mean()) / scores.std()
    vectors = unit(rng.standard_normal((n, dimensions)))
    return Pool(ids=range(n), scores=scores, targets=rng.random(n), widths=rng.random(n) * 0.3, vectors=vectors)


def certificate(rng: np.random.Generator, n: int = 100, k: int = 5) -> Certificate:
    """The certificate of a slate from such a pool, levers in the middle of the paper's box."""
    return certify(GreedySelector().select(pool(rng, n), Levers(0.1, 0.4, 0.3, k), State()))


def best(call: Callable[[], Any], repeat: int = 5) -> float:
    """Best of a few runs, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def sigma_for(cert: Certificate, probability: float) -> float:
    """The sigma at which the weakest pair alone flips with this probability."""
    return cert.margin / (1.0 - cert.slate.levers.diversity) / math.sqrt(2.0) / -stats.norm.ppf(probability)


def agreement(rng: np.random.Generator, slates: int, trials: int) -> dict[str, Any]:
    """z-scores of the estimate against Monte Carlo."""
    scores = []
    for _ in range(slates):
        n = int(rng.integers(10, 60))
        cert = certificate(rng, n, int(rng.integers(1, 7)))
        sigma = cert.radius * float(rng.choice([0.5, 1.0, 3.0, 10.0]))
        estimate = cert.flip_probability(sigma)
        share = 1.0 - float(cert.exact(cert.slate.pool.scores + rng.normal(0, sigma, (trials, n))).mean())
        spread = math.hypot(estimate.error, math.sqrt(max(estimate * (1 - estimate), 1 / trials) / trials))
        scores.append((estimate - share) / spread)
    z = np.array(scores)
    return {
        "slates": slates,
        "trials_each": trials,
        "largest_abs_z": float(np.abs(z).max()),
        "rms_z": float(np.sqrt((z * z).mean())),
    }


def cost(rng: np.random.Generator, slates: int) -> dict[str, Any]:
    """Time of Monte Carlo (compiled exact check, no selection) at the estimate's standard error, over the estimate's time."""
    ratios, probabilities, seconds = [], [], []
    for _ in range(slates):
        cert = certificate(rng)
        sigma = sigma_for(cert, 1e-3)
        cert.flip_probability(sigma)
        ours, estimate = best(lambda c=cert, s=sigma: c.flip_probability(s)), cert.flip_probability(sigma)
        xi = rng.normal(0, sigma, (2000, 100))
        per_trial = best(lambda c=cert, x=xi: c.exact(c.slate.pool.scores + x), 3) / 2000
        ratios.append(estimate * (1 - estimate) / estimate.error**2 * per_trial / ours)
        probabilities.append(float(estimate))
        seconds.append(ours)
    return {
        "slates": slates, "median_p": float(np.median(probabilities)), "milliseconds": float(1e3 * np.median(seconds)),
        "median_ratio": float(np.median(ratios)), "smallest_ratio": float(np.min(ratios)),
    }  # fmt: skip


def tail(rng: np.random.Generator) -> dict[str, Any]:
    """p = 1e-8 by the integral and by the union sampler, which shares nothing with it but the gaps."""
    cert = certificate(rng)
    sigma = sigma_for(cert, 1e-8)
    estimate = cert.flip_probability(sigma)
    other = Union.of(cert.pairs, Noise.of(sigma, 100)).probability(rng, 20_000)
    return {"integral": float(estimate), "error": estimate.error, "union_sampler": float(other), "other_error": other.error}


def cells() -> dict[str, Any]:
    """The paper's eight cells: chi-square of its counts on the exact probabilities, and the exact slope."""
    p = np.array([topk.flip_probability(np.r_[np.full(10, g), np.zeros(90)], 10, s, w) for g, w, s in CELLS])
    chi2 = float(((COUNTS - 32_000 * p) ** 2 / (32_000 * p * (1 - p))).sum())
    x = [(g / ((1 - w) * s)) ** 2 for g, w, s in CELLS]
    slope = float(np.polyfit(x, np.log(p / 900), 1)[0])
    return {"exact": p.tolist(), "chi2": chi2, "p_value": float(stats.chi2.sf(chi2, 8)), "exact_slope": slope}


def overhead(rng: np.random.Generator, pools: int) -> dict[str, Any]:
    """Margins and radii of a batch against its selection."""
    batch, selector, levers = PoolBatch.of([pool(rng) for _ in range(pools)]), GreedySelector(), Levers(0.1, 0.4, 0.3, 5)
    slates = selector.select_batch(batch, levers, State())
    certify_batch(slates)
    select = best(lambda: selector.select_batch(batch, levers, State()))
    columns = best(lambda: certify_batch(slates))
    one = slates[0]
    single = best(lambda: [certify(one) for _ in range(200)]) / 200
    return {
        "pools": pools, "select_us_per_pool": 1e6 * select / pools, "certify_us_per_pool": 1e6 * columns / pools,
        "added_share": columns / select, "single_certify_us": 1e6 * single,
    }  # fmt: skip


def many(rng: np.random.Generator, pools: int) -> dict[str, Any]:
    """Flip probabilities of a whole batch on one thread and on all, sets, and the planner, in milliseconds per pool."""
    batch = PoolBatch.of([pool(rng) for _ in range(pools)])
    slates = GreedySelector().select_batch(batch, Levers(0.1, 0.4, 0.3, 5), State())
    certs = [certify(slate) for slate in slates]
    sigma = float(np.median([c.radius for c in certs]))
    flip_probabilities(slates, sigma)
    few = certs[: max(1, pools // 10)]
    return {
        "pools": pools, "sigma": sigma,
        "ms_per_pool_one_thread": 1e3 * best(lambda: flip_probabilities(slates, sigma, threads=1), 3) / pools,
        "ms_per_pool_all_threads": 1e3 * best(lambda: flip_probabilities(slates, sigma), 3) / pools,
        "set_ms_per_pool": 1e3 * best(lambda: [c.set_flip_probability(sigma) for c in few], 3) / len(few),
        "slate_sigma_ms_per_pool": 1e3 * best(lambda: plan.slate_sigma(few, max_flip=0.05, threads=1), 1) / len(few),
        "quantiles": plan.quantiles(flip_probabilities(slates, sigma).probability),
    }  # fmt: skip


def rates(rng: np.random.Generator, slates: int, draws: int) -> list[dict[str, float]]:
    """Norm check and exact check side by side, and the three prospective rungs, over sigma."""
    certs = [certificate(rng) for _ in range(slates)]
    middle = float(np.median([c.radius for c in certs]))
    rows = []
    for factor in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0):
        sigma = middle * factor
        shares = [c.rates(c.slate.pool.scores + rng.normal(0, sigma, (draws, 100))) for c in certs]
        rows.append(
            {
                "sigma": sigma,
                "sigma_over_median_radius": factor,
                "norm_check": float(np.mean([s["norm"] for s in shares])),
                "exact_check": float(np.mean([s["exact"] for s in shares])),
                "flip_probability": float(np.mean([c.flip_probability(sigma) for c in certs])),
                "set_flip_probability": float(np.mean([c.set_flip_probability(sigma, points=512) for c in certs])),
                "flip_union": float(np.mean([min(1.0, c.flip_union(sigma)) for c in certs])),
                "flip_bound": float(np.mean([min(1.0, c.flip_bound(sigma)) for c in certs])),
            }
        )
    return rows


def plot(rows: list[dict[str, float]], file: Path) -> None:
    """The one figure of ``docs/certificates.md``."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "slateproof", "font.size": 9})
    x = [row["sigma_over_median_radius"] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    for name, label, style in (
        ("flip_bound", "flip_bound (paper)", "C5--"),
        ("flip_union", "flip_union", "C2-."),
        ("flip_probability", "flip_probability", "C0-"),
        ("set_flip_probability", "set_flip_probability", "C3:"),
    ):
        left.plot(x, [max(row[name], 1e-6) for row in rows], style, label=label)
    left.plot(x, [max(1 - row["exact_check"], 1e-6) for row in rows], "ko", markersize=3, label="changed, by Monte Carlo")
    left.set(xscale="log", yscale="log", ylim=(1e-4, 1.5), xlabel="sigma / median radius", ylabel="Pr[slate changes]")
    left.set_title("before: how likely is a change?")
    right.plot(x, [row["norm_check"] for row in rows], "C5--", label="holds (paper: M < margin / 2)")
    right.plot(x, [row["exact_check"] for row in rows], "C0-", label="exact (unchanged, if and only if)")
    right.set(xscale="log", xlabel="sigma / median radius", ylabel="share of draws")
    right.set_title("after: is this slate the same?")
    for axis, place in ((left, "lower right"), (right, "lower left")):
        axis.legend(frameon=False, fontsize=8, loc=place)
        axis.spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Command line."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=here / "results" / "certify.json")
    parser.add_argument("--plot", type=Path, default=here.parent / "docs" / "img" / "certificates.svg")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rng, quick = np.random.default_rng(2026), given.quick
    scores = rng.standard_normal((1000, 100))
    result = {
        "machine": platform.platform(),
        "overhead": overhead(rng, 200 if quick else 2000),
        "agreement": agreement(rng, 20 if quick else 200, 20_000),
        "cost": cost(rng, 3 if quick else 20),
        "tail": tail(rng),
        "cells": cells(),
        "topk_ms_per_pool": best(lambda: topk.flip_probability(scores, 10, 0.05), 3),
        "many": many(rng, 100 if quick else 2000),
        "rates": rates(rng, 10 if quick else 60, 200),
    }
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(result, indent=1) + "\n")
    plot(result["rates"], given.plot)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
