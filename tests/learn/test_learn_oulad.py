"""The paper's corpus: the anchors' gaps, and who beats whom on users that were held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.scorers import PAPER_GAPS, blind, gaps
from slateproof import corpora as rooms
from slateproof import learn

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def oulad(corpora: Path) -> rooms.Corpus:
    return rooms.load("oulad", corpora)


def test_the_papers_gaps_lie_inside_what_mf_bce_gives(oulad: rooms.Corpus) -> None:
    found = gaps(oulad, "mf-bce", 42, draws=100)
    for what, published in PAPER_GAPS.items():
        assert found[what]["low"] < published < found[what]["high"]
    assert 0.07 < found["mean"]["average"] < 0.09
    assert 0.04 < found["median"]["average"] < 0.055


def test_real_als_has_far_smaller_gaps(oulad: rooms.Corpus) -> None:
    assert gaps(oulad, "als", 42, draws=10)["median"]["high"] < 0.02


def test_popularity_beats_the_hardly_trained_anchor(oulad: rooms.Corpus) -> None:
    measured = {name: learn.evaluate(learn.learner(name).fit(oulad), oulad, resamples=50) for name in ("popularity", "mf-bce")}
    assert measured["popularity"].rows == 18_384
    assert measured["popularity"].auc is not None
    assert measured["mf-bce"].auc is not None
    assert measured["popularity"].auc.low > measured["mf-bce"].auc.high


def test_blinding_changes_the_difficulties_and_nothing_else(oulad: rooms.Corpus) -> None:
    other = blind(oulad)
    np.testing.assert_array_equal(other.positive, oulad.positive)
    np.testing.assert_array_equal(other.items.ids, oulad.items.ids)
    assert other.digest != oulad.digest
    assert np.corrcoef(other.items.difficulty, oulad.items.difficulty)[0, 1] > 0.95
