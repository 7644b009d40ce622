"""The fit finds what was planted; validation tells a fitted simulator from a wrong one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slateproof import corpora as shelf
from slateproof.corpora import synthetic_education
from slateproof.errors import InvalidInput
from slateproof.learn.catalog import catalog_of
from slateproof.simulate import MODELS, PROFILES, World, calibrate, calibration, response_model, validate
from slateproof.simulate.config import read_config
from slateproof.simulate.responses import IRT, Core
from slateproof.simulate.validation import aggregates, one_chance, simulated_aggregates

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
    start = {name: response_model(name, **fitted) for name in MODELS if name != "legacy"}
    levelled = calibrate(CORPUS).levelled(world, start)  # type: ignore[arg-type]
    good = {name: response_model(name, **levelled.parameters(name)) for name in start}
    bad = {name: response_model(name, **(fitted | {"ease": fitted["ease"] - 2.0})) for name in good}
    for one, other in zip(validate(world, good, learners=500), validate(world, bad, learners=500), strict=True):
        assert one.difficulty_rmse < 0.06 < 0.2 < other.difficulty_rmse
        assert one.share_wasserstein < other.share_wasserstein
        assert one.to_dict()["corpus"].endswith("(synthetic)")


def test_one_chance_is_what_a_small_distance_is_measured_against() -> None:
    """The model that knows one number has the constant's RMSE, the training users' level, and is not as near as the fit."""
    world = World.of(CORPUS, catalog_of(CORPUS))
    part = CORPUS.split().part
    share = CORPUS.positive[(part == 0)[CORPUS.user]].mean()
    flat = one_chance(CORPUS)
    (found,) = validate(world, {"flat": flat}, learners=1_000)
    seen = aggregates(CORPUS, part == 2)
    by_hand = np.sqrt(sum(n * (share - y) ** 2 for n, y in zip(seen.answers, seen.correctness, strict=True)) / seen.answers.sum())
    assert found.constant_rmse == pytest.approx(by_hand)
    assert found.difficulty_rmse == pytest.approx(by_hand, abs=0.02)
    assert found.correct_simulated == pytest.approx(share, abs=0.01)
    assert found.correct_corpus == pytest.approx(CORPUS.positive[CORPUS.split().test].mean())
    fitted = {"irt": IRT(**calibrate(CORPUS).parameters())}
    assert validate(world, fitted, learners=1_000)[0].difficulty_rmse < 0.5 * found.difficulty_rmse
    assert f"one share for all {by_hand:.3f}" in found.to_text()
    assert found.to_dict()["constant_rmse"] == found.constant_rmse
    with pytest.raises(InvalidInput, match="corpus: must have both correct and wrong answers"):
        one_chance(replace(CORPUS, positive=np.ones_like(CORPUS.positive)))


def test_aggregates_are_counts_of_the_held_out_users() -> None:
    found = aggregates(CORPUS, CORPUS.split().part == 2)
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
    world = World.of(oulad, catalog_of(oulad))
    config = read_config({"corpus": {"name": "oulad"}, "modes": ["als"]})
    for one in validate(world, config.response_models(config.fitted(oulad, world))):
        assert one.difficulty_rmse < 0.05, one.to_text()
        assert one.share_wasserstein < 0.05, one.to_text()


def test_levelling_finds_the_ease_at_which_a_planted_crowd_was_made() -> None:
    """A corpus of the crowd's own answers, made at another ease: the fit goes there, the printed line says so."""
    world = World.of(CORPUS, catalog_of(CORPUS))
    fit = calibrate(CORPUS)
    truth = replace(IRT(**fit.parameters()), ease=fit.parameters()["ease"] - 1.5)
    seen = simulated_aggregates(world, truth, aggregates(CORPUS, np.ones(CORPUS.users, bool)), learners=2_000, rounds=20, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "aggregates", lambda corpus, users: seen)
        levelled = fit.levelled(world, {"irt": IRT(**fit.parameters())})
    assert dict(levelled.eases)["irt"] == pytest.approx(truth.ease, abs=0.15)
    assert "irt: ease = " in levelled.to_text()
