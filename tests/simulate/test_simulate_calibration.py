"""The fit finds what was planted; validation tells a fitted simulator from a wrong one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slateproof import corpora as shelf
from slateproof.corpora import synthetic_education
from slateproof.learn.catalog import catalog_of
from slateproof.simulate import MODELS, PROFILES, World, calibrate, response_model, validate
from slateproof.simulate.responses import Core
from slateproof.simulate.validation import corpus_aggregates

CORPUS = synthetic_education(users=600, items=120, per_user=40.0, seed=11)


def planted(level: float, spread: float, slope: float) -> object:
    """The corpus' items and users, with answers drawn from the fit's own model."""
    rng = np.random.default_rng(8)
    fixed = Core()
    d = CORPUS.items.difficulty[CORPUS.item]
    # d stays as it is: the fit reads it, whatever the answers are.
    z = level + spread * rng.normal(size=CORPUS.users)[CORPUS.user] - slope * (d - d.mean())
    p = fixed.guess + (1.0 - fixed.guess - fixed.slip) / (1.0 + np.exp(-z))
    return replace(CORPUS, positive=rng.random(d.size) < p)


@pytest.mark.parametrize(("level", "spread", "slope"), [(0.5, 1.0, 3.0), (-0.5, 0.5, 5.0)])
def test_it_finds_planted_parameters(level: float, spread: float, slope: float) -> None:
    found = calibrate(planted(level, spread, slope))  # type: ignore[arg-type]
    assert found.level == pytest.approx(level, abs=0.15)
    assert found.spread == pytest.approx(spread, abs=0.15)
    assert found.slope == pytest.approx(slope, abs=0.4)
    assert found.log_likelihood > found.constant_log_likelihood


def test_the_parameters_are_those_of_the_fit() -> None:
    found = calibrate(CORPUS)
    given = found.parameters()
    knowledge = [p.knowledge for p in PROFILES.values()]
    tired = float(np.mean([p.fatigue for p in PROFILES.values()]))
    # The four profiles together have the corpus' level and spread.
    logits = [given["ease"] + given["ability_slope"] * (k - 0.5) - 0.3 * tired for k in knowledge]
    assert np.mean(logits) == pytest.approx(found.level)
    assert np.std(logits) == pytest.approx(found.spread)
    text = found.to_text()
    for name, value in given.items():
        assert f"{name} = {value:.4f}" in text
    assert found == calibrate(CORPUS)


def test_validation_prefers_the_fitted_simulator() -> None:
    world = World.of(CORPUS, catalog_of(CORPUS))
    fitted = calibrate(CORPUS).parameters()
    good = {name: response_model(name, **fitted) for name in MODELS if name != "legacy"}
    bad = {name: response_model(name, **(fitted | {"ease": fitted["ease"] - 2.0})) for name in good}
    for one, other in zip(validate(world, good, learners=500), validate(world, bad, learners=500), strict=True):
        assert one.difficulty_rmse < 0.12 < other.difficulty_rmse
        assert one.share_wasserstein < other.share_wasserstein
        assert one.to_dict()["corpus"].endswith("(synthetic)")


def test_aggregates_are_counts_of_the_held_out_users() -> None:
    found = corpus_aggregates(CORPUS)
    test = np.flatnonzero(CORPUS.split().test)
    assert found.answers.sum() == test.size
    users = sorted(set(CORPUS.user[test].tolist()))
    assert found.counts.sum() == test.size
    assert found.counts.size == len(users)
    shares = {u: CORPUS.positive[test][CORPUS.user[test] == u].mean() for u in users if (CORPUS.user[test] == u).sum() >= 5}
    assert sorted(found.shares.tolist()) == pytest.approx(sorted(shares.values()))
    middle = found.correctness @ found.answers / found.answers.sum()
    assert middle == pytest.approx(CORPUS.positive[test].mean())


@pytest.mark.corpus
def test_oulad_is_met_within_stated_distances(corpora: Path) -> None:
    oulad = shelf.load("oulad", str(corpora))
    fit = calibrate(oulad).parameters()
    world = World.of(oulad, catalog_of(oulad))
    for one in validate(world, {n: response_model(n, **fit) for n in MODELS if n != "legacy"}):
        assert one.difficulty_rmse < 0.1, one.to_text()
