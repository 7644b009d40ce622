"""A slice of the ten million trials, and proof that the harness can see a violation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks import certificate_trials as trials


def test_no_violation_in_a_slice():
    result = trials.run(100_000, 2_000, seed=7)
    assert result["violations"] == dict.fromkeys(trials.CLAIMS, 0)
    assert result["window_violations"] == 0
    assert result["witnesses_failed"] == 0
    assert min(result["claims"].values()) > 1000
    assert result["changed"] > 10_000
    # The premise of SCPO radii is not an idle one.
    assert result["window_cut_short"] > 0
    assert result["witnesses"] > 100


def empty():
    return {
        "trials": 0, "changed": 0, "claims": dict.fromkeys(trials.CLAIMS, 0), "violations": dict.fromkeys(trials.CLAIMS, 0),
        "witnesses": 0, "witnesses_failed": 0, "moving_trials": 0,
    }  # fmt: skip


def test_a_margin_too_generous_is_caught_where_bonuses_move(monkeypatch):
    honest = trials.certify
    monkeypatch.setattr(trials, "certify", lambda slate: dataclasses.replace(honest(slate), margin=honest(slate).margin * 1.2))
    rng, tally = np.random.default_rng(0), empty()
    for _ in range(100):
        trials.moving_trials(rng, trials.random_slate(rng), 30, tally)
    assert tally["claims"]["moving bonuses"] > 300
    assert tally["violations"]["moving bonuses"] > 0


@pytest.mark.parametrize(("field", "claim"), [("radius", "radius"), ("margin", "norm check"), ("radius_l2", "euclidean radius")])
def test_a_wrong_certificate_is_caught(monkeypatch, field, claim):
    """Certificates a fifth too generous are caught: the trials reach past the boundary."""
    honest = trials.certify

    def generous(slate):
        certificate = honest(slate)
        return dataclasses.replace(certificate, **{field: getattr(certificate, field) * 1.2})

    monkeypatch.setattr(trials, "certify", generous)
    monkeypatch.setattr(trials, "perturbations", lambda rng, cert, count: _honest_sizes(honest, rng, cert, count))
    rng = np.random.default_rng(0)
    tally = empty()
    for _ in range(100):
        trials.one_slate(rng, trials.random_slate(rng), 200, tally)
    assert tally["violations"][claim] > 0
    assert sum(tally["violations"].values()) == tally["violations"][claim]


def _honest_sizes(honest, rng, cert, count):
    return _perturb(rng, honest(cert.slate), count)


_perturb = trials.perturbations
