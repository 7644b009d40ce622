"""Millions of attempts to break a certificate: `python -m benchmarks.certificate_trials [--trials N] [--json FILE]`.

Random slates (MMR, MSD, top-K; vectors, matrices, tags, none; ties and near-ties; lambda from 0 to 1) are perturbed at random and
on purpose: sign vectors at the radius, the weakest pair pushed together, single items at their own radius, Euclidean balls, and
all of them a few floats inside the boundary. Every perturbed score vector is selected again from scratch by a compiled kernel. Some
trials move the target value, the exploration and the memory along with the scores (the full movement of the proposition) and are
selected again by the selector itself, as are those of SCPO, half of them under a node budget just enough for the reference. A
violation is a slate that changed although a certificate said it would not, or an exact check that says anything but the truth.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from slateproof.certify import certify
from slateproof.certify.certificate import Certificate
from slateproof.certify.kernels import reselect, same_slate
from slateproof.select.greedy import GreedySelector, TopKSelector
from slateproof.select.kernels import shape
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, Slate, State, unit

PER_SLATE = 500
FAMILIES = ("uniform", "signs", "weakest pair", "any pair", "one item", "euclidean", "gaussian", "shrunk witness")
CLAIMS = ("radius", "norm check", "euclidean radius", "item radius", "exact check", "moving bonuses")
MOVING = 30
"""Trials per slate in which bonuses and novelty move, too."""


@njit(cache=True, nogil=True)
def select_all(
    others: Any, targets: Any, widths: Any, target: float, window: float, gain: float, exploration: float, diversity: float,
    bonus: Any, rank: Any, chosen: Any, mean: bool, penalty: Any, table: Any, same: Any, said: Any,
) -> None:  # fmt: skip
    """Per row: whether selection from scratch gives the reference slate, and what the exact check says."""
    shaped, picked = np.empty(others.shape[1]), np.empty(chosen.size, np.int64)
    for t in range(others.shape[0]):
        shape(others[t], targets, widths, target, window, gain, exploration, shaped)
        base = (1.0 - diversity) * shaped
        reselect(base, bonus, rank, table, diversity, mean, picked)
        same[t] = True
        for q in range(chosen.size):
            if picked[q] != chosen[q]:
                same[t] = False
        said[t] = same_slate(base, bonus, rank, chosen, diversity, penalty)


def random_slate(rng: np.random.Generator) -> Slate:
    """A slate of a random kind, size, similarity source, lambda and score scale; a third with scores on a grid (ties)."""
    n = int(rng.integers(2, 31))
    k = int(rng.integers(1, min(n, 7) + 1))
    scores = rng.normal(0.0, 1.0, n) * float(rng.choice([1e-3, 0.3, 1.0, 1e3]))
    if rng.random() < 0.33:
        grid = float(rng.choice([0.25, 0.1]))
        scores = np.round(scores / grid) * grid
    source: dict[str, Any] = {}
    kind = rng.integers(4)
    if kind == 0:
        source["vectors"] = unit(rng.standard_normal((n, 6)))
    elif kind == 1:
        table = np.round(rng.random((n, n)) * 8) / 8
        source["similarity"] = (table + table.T) / 2
    elif kind == 2:
        source["tags"] = [rng.integers(0, 5, rng.integers(0, 4)).tolist() for _ in range(n)]
    pool = Pool(ids=rng.permutation(n).tolist(), scores=scores, targets=rng.random(n), widths=rng.random(n) * 0.3, **source)
    if rng.random() < 0.15:
        return TopKSelector().select(pool, Levers(size=k))
    levers = Levers(
        float(rng.uniform(-0.2, 0.2)), float(rng.uniform(0, 0.9)), float(rng.choice([0.0, 0.1, 0.3, 0.6, 0.95, 1.0])), k
    )
    novelty = float(rng.choice([0.0, 0.1]))
    selector = GreedySelector(float(rng.choice([0.0, 0.2])), 0.3, novelty, "mean" if rng.random() < 0.3 else "max")
    return selector.select(pool, levers, State(shown=tuple(pool.ids[: n // 3])))


def perturbations(rng: np.random.Generator, cert: Certificate, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(perturbations, family of each, the one item moved or -1): the families in turn, sizes around the certificate's limits."""
    n, gap = cert.slate.pool.size, cert.gaps.gap
    radius = cert.radius if math.isfinite(cert.radius) else 1.0
    family = rng.integers(0, len(FAMILIES), count)
    near = 1.0 + rng.choice([0.0, 2**-52, -(2**-52), -1e-15, -1e-12, -1e-6, -0.01, -0.3, 1e-12, 0.01, 1.0], count)
    out, item = np.zeros((count, n)), np.full(count, -1)
    signs = np.where(rng.random((count, n)) < 0.5, -1.0, 1.0)
    pairs = np.argwhere(np.isfinite(gap))
    rows = {f: np.flatnonzero(family == f) for f in range(len(FAMILIES))}
    out[rows[0]] = rng.uniform(-1, 1, (rows[0].size, n)) * radius
    out[rows[1]] = signs[rows[1]] * radius
    if len(pairs):
        weakest = np.array(np.unravel_index(int(gap.argmin()), gap.shape))[None, :]
        for f, choice in ((2, np.repeat(weakest, rows[2].size, 0)), (3, pairs[rng.integers(len(pairs), size=rows[3].size)])):
            # Everything else moves too: up beside the loser, down beside the winner.
            out[rows[f]] = signs[rows[f]] * radius
            out[rows[f], cert.frame.chosen[choice[:, 0]]] = -radius
            out[rows[f], choice[:, 1]] = radius
        out[rows[7]] = cert.witness() if math.isfinite(cert.radius) else 0.0
    item[rows[4]] = rng.integers(n, size=rows[4].size)
    limits = [cert.item_radii(i) for i in cert.slate.pool.ids]
    for t in rows[4]:
        reach = limits[item[t]][0 if signs[t, 0] > 0 else 1]
        out[t, item[t]] = signs[t, 0] * (reach if math.isfinite(reach) else 10.0)
    directions = rng.standard_normal((rows[5].size, n))
    length = cert.radius_l2 if math.isfinite(cert.radius_l2) else 1.0
    out[rows[5]] = directions / np.linalg.norm(directions, axis=1, keepdims=True) * length
    out[rows[6]] = rng.normal(0, 1, (rows[6].size, n)) * radius * rng.choice([0.2, 0.4, 1.0], (rows[6].size, 1))
    return out * near[:, None], family, item


def one_slate(rng: np.random.Generator, slate: Slate, count: int, tally: dict[str, Any]) -> None:
    """``count`` trials on one slate; ``tally`` gathers claims, violations and witnesses."""
    cert, scores = certify(slate), slate.pool.scores
    change, _, item = perturbations(rng, cert, count)
    others = scores + change
    # What the scores really moved by, as the certificate sees it: differences of floats, rounded outward.
    moved = np.nextafter(np.abs(others - scores), np.inf)
    largest = moved.max(axis=1)
    frame = cert.frame
    same, said = np.empty(count, bool), np.empty(count, bool)
    select_all(
        others, frame.targets, frame.widths, slate.target, slate.rule.window, frame.gain, frame.exploration, frame.diversity,
        frame.bonus, frame.rank, frame.chosen, frame.mean, cert.gaps.penalty, frame.similarities(), same, said,
    )  # fmt: skip
    limits = np.array([cert.item_radii(i) for i in slate.pool.ids])
    reach = np.where(item >= 0, np.where(change[np.arange(count), item] > 0, limits[item, 0], limits[item, 1]), 0.0)
    claims = {
        "radius": largest < cert.radius,
        "norm check": np.asarray(cert.holds(others)),
        "euclidean radius": np.sqrt(np.square(moved).sum(axis=1)) * (1 + 1e-14) < cert.radius_l2,
        "item radius": (item >= 0) & (largest < reach),
        "exact check": said,
    }
    for name, claim in claims.items():
        tally["claims"][name] += int(claim.sum())
        tally["violations"][name] += int((claim & ~same).sum())
    tally["violations"]["exact check"] += int((~said & same).sum())
    tally["trials"] += count
    tally["changed"] += int((~same).sum())
    if math.isfinite(cert.radius):
        witness = scores + cert.witness()
        tally["witnesses"] += 1
        tally["witnesses_failed"] += int(bool(cert.exact(witness)))


def moving_trials(rng: np.random.Generator, slate: Slate, count: int, tally: dict[str, Any]) -> None:
    """Target value, exploration, memory and scores move together, so that M is a little below or above half the margin."""
    cert, pool, rule, rest = certify(slate), slate.pool, slate.rule, 1.0 - slate.levers.diversity
    if rule.kind == "top-k" or not math.isfinite(cert.margin):
        return
    selector = GreedySelector(rule.target_gain, rule.window, rule.novelty, rule.dissimilarity)
    worst = np.sign(cert.witness()) if math.isfinite(cert.radius) else np.zeros(pool.size)
    for _ in range(count):
        part = float(rng.choice([0.0, 0.1, 0.5, 1.0])) * cert.margin
        levers = replace(slate.levers, exploration=max(0.0, slate.levers.exploration + part * float(rng.uniform(-1, 1))))
        knowledge = min(1.0, max(0.0, 0.5 + 0.5 * part * float(rng.uniform(-1, 1))))
        shown = pool.ids[: int(rng.integers(0, pool.size))] if rng.random() < 0.1 else slate.state.shown
        state = State(knowledge, shown=tuple(shown))
        bonuses, novelty = bonuses_of(selector.select(pool, levers, state))
        left = 0.5 * cert.margin * float(rng.choice([0.9, 1.0 - 1e-12, 1.1])) - cert.movement(pool.scores, bonuses, novelty)
        direction = worst if rng.random() < 0.5 else rng.choice([-1.0, 1.0], pool.size)
        others = pool.scores + direction * (max(0.0, left) / rest if rest > 0.0 else 1.0)
        held = cert.holds(others, bonuses, novelty)
        same = selector.select(pool.with_scores(others), levers, state).ids == slate.ids
        tally["moving_trials"] += 1
        tally["claims"]["moving bonuses"] += int(held)
        tally["violations"]["moving bonuses"] += int(held and not same)


def bonuses_of(slate: Slate) -> tuple[np.ndarray, np.ndarray]:
    """(b, n) of a slate, as a caller would compute them."""
    pool, rule = slate.pool, slate.rule
    near = 1.0 - np.minimum(1.0, (pool.targets - slate.target) ** 2 / rule.window**2)
    novel = [0.0 if item in slate.state.shown_set else rule.novelty for item in pool.ids]
    return rule.target_gain * near + slate.levers.exploration * pool.widths, np.array(novel)


def one_window_slate(rng: np.random.Generator, count: int, tally: dict[str, Any]) -> None:
    """The same for SCPO, by choosing again: slower, so fewer."""
    n = int(rng.integers(3, 18))
    k = int(rng.integers(1, min(n, 5)))
    vectors = unit(rng.standard_normal((n, 4)))
    pool = Pool(ids=rng.permutation(n).tolist(), scores=rng.normal(0, 0.5, n), targets=rng.random(n), vectors=vectors)
    rule = Rule("window", window=float(rng.choice([0.05, 0.3, 0.5])))
    levers = Levers(diversity=float(rng.choice([0.0, 0.3, 0.9, 1.0])), size=k)
    steps = choose_set(pool, rule, levers, 0.5)
    if rng.random() < 0.5:
        rule = replace(rule, node_budget=max(1, steps.nodes))
    slate = Slate(pool, levers, State(), rule, 0.5, choose_set(pool, rule, levers, 0.5))
    cert = certify(slate)
    radius = cert.radius if math.isfinite(cert.radius) else 1.0
    change = np.where(rng.random((count, n)) < 0.5, -1.0, 1.0)
    change[: count // 2, slate.indices] = -1.0
    change *= radius * (1.0 + rng.choice([0.0, -1e-15, -1e-9, -0.1, 0.1], (count, 1)))
    others = pool.scores + change
    same = np.asarray(cert.exact(others))
    claim = np.nextafter(np.abs(others - pool.scores), np.inf).max(axis=1) < cert.radius
    holds = np.asarray(cert.holds(others))
    # The premise of the radius; ``holds`` looks after it by itself.
    completed = np.asarray(cert.completes(others))
    tally["window_trials"] += count
    tally["window_claims"] += int((claim & completed).sum()) + int(holds.sum())
    tally["window_violations"] += int((claim & completed & ~same).sum()) + int((holds & ~same).sum())
    tally["window_cut_short"] += int((claim & ~completed).sum())
    tally["window_cut_short_and_changed"] += int((claim & ~completed & ~same).sum())
    if math.isfinite(cert.radius) and slate.steps.proved:
        tally["witnesses"] += 1
        tally["witnesses_failed"] += int(bool(cert.exact(pool.scores + cert.witness())))


def run(trials: int, window_trials: int, seed: int = 2026) -> dict[str, Any]:
    """All trials; the result is plain values."""
    rng = np.random.default_rng(seed)
    tally: dict[str, Any] = {
        "trials": 0, "changed": 0, "claims": dict.fromkeys(CLAIMS, 0), "violations": dict.fromkeys(CLAIMS, 0),
        "witnesses": 0, "witnesses_failed": 0, "moving_trials": 0, "window_trials": 0, "window_claims": 0,
        "window_violations": 0, "window_cut_short": 0, "window_cut_short_and_changed": 0,
    }  # fmt: skip
    start = time.perf_counter()
    while tally["trials"] < trials:
        slate = random_slate(rng)
        one_slate(rng, slate, PER_SLATE, tally)
        moving_trials(rng, slate, MOVING, tally)
    while tally["window_trials"] < window_trials:
        one_window_slate(rng, 50, tally)
    return {"seed": seed, "seconds": round(time.perf_counter() - start, 1), "machine": platform.platform(), **tally}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--window-trials", type=int, default=200_000)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "certificate_trials.json")
    given = parser.parse_args()
    result = run(given.trials, given.window_trials)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    broken = sum(result["violations"].values()) + result["window_violations"] + result["witnesses_failed"]
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
