"""Blend: conformance, standardisation and the mix by hand, the raw variant, and the composed ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance import LearnerConformance, contexts, feedback, pools, run
from hypothesis import given
from hypothesis import strategies as st

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.blend import Blend, BlendScorer, standardised
from slateproof.learn.linucb import LinUCB
from slateproof.learn.mf_bce import MFBCE
from slateproof.learn.popularity import Popularity
from slateproof.learn.protocol import Scores
from slateproof.learn.registry import open_model
from slateproof.privacy import Ledger

CORPUS = corpora.demo()


class TestBlend(LearnerConformance):
    def make(self) -> Any:
        return Blend(MFBCE(), LinUCB(), 0.75)


class TestRawBlend(LearnerConformance):
    def make(self) -> Any:
        return Blend(Popularity(), LinUCB(), 0.25, raw=True)


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.75, 1.0])
def test_the_mix_is_the_papers(raw: bool, weight: float) -> None:
    anchor, adaptive = MFBCE().fit(CORPUS), LinUCB().fit(CORPUS)
    context, items, rounds = contexts(CORPUS), pools(CORPUS), [feedback(CORPUS, 1)]
    left, right = run(anchor, context, rounds, items), run(adaptive, context, rounds, items)
    out = run(BlendScorer(anchor, adaptive, weight, raw), context, rounds, items)
    one, other, sd = left.scores, right.scores, np.ones((len(items), 1))
    if not raw:
        sd = other.std(axis=1, keepdims=True)
        one = (one - one.mean(axis=1, keepdims=True)) / one.std(axis=1, keepdims=True)
        other = (other - other.mean(axis=1, keepdims=True)) / sd
    np.testing.assert_allclose(out.scores, weight * one + (1 - weight) * other, atol=1e-10)
    if weight == 1.0:
        assert out.widths is None
    else:
        np.testing.assert_allclose(out.widths, (1 - weight) * right.widths / sd, rtol=1e-10)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_standardising_ignores_the_order_to_the_last_bit(values: list[float], random: Any) -> None:
    row = np.array([values])
    turn = list(range(len(values)))
    random.shuffle(turn)
    straight, turned = standardised(row)[0], standardised(row[:, turn])[0]
    np.testing.assert_array_equal(straight[:, turn], turned)
    assert np.isfinite(straight).all()
    if np.ptp(row) > 1e-6:
        assert straight.mean() == pytest.approx(0.0, abs=1e-9)
        assert straight.std() == pytest.approx(1.0, abs=1e-9)


def test_a_constant_pool_standardises_to_zeros() -> None:
    for row in ([0.1] * 7, [3.0], [-1e300, -1e300], [5e-324, 0.0]):
        out, scale = standardised(np.array([row]))
        assert not out.any()
        assert scale.tolist() == [1.0]


class Fixed:
    """A scorer of nothing but a ledger and a digest."""

    def __init__(self, ledger: Ledger | None, digest: str = "a") -> None:
        self.ledger, self.corpus_digest = ledger, digest

    def score(self, *_: Any) -> Scores:
        raise NotImplementedError


def test_the_ledger_is_both_or_none() -> None:
    one, other = Ledger(), Ledger()
    one.record_gaussian(noise_multiplier=2.0)
    other.record_gaussian(noise_multiplier=3.0)
    both = BlendScorer(Fixed(one), Fixed(other), 0.5).ledger  # type: ignore[arg-type]
    assert both is not None
    assert len(both) == 2
    assert BlendScorer(Fixed(None), Fixed(other), 0.5).ledger is None  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="adaptive: must be fitted on the anchor's corpus"):
        BlendScorer(Fixed(None), Fixed(None, "b"), 0.5)  # type: ignore[arg-type]


def test_nested_models_open_by_name_and_keep_the_names_of_their_variant(tmp_path: Path) -> None:
    inner = Blend(Popularity(), MFBCE(), 0.5)
    scorer = Blend(inner, LinUCB(), 0.25, raw=True).fit(CORPUS)
    scorer.save(tmp_path / "m")
    back = open_model(tmp_path / "m", CORPUS)
    assert back.name == "blend-raw"
    assert isinstance(back, BlendScorer)
    assert (back.anchor.name, back.adaptive.name, back.anchor_weight) == ("blend", "linucb", 0.25)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), True])
def test_a_weight_outside_its_range_is_refused(weight: Any) -> None:
    with pytest.raises(InvalidInput, match="anchor_weight"):
        Blend(Popularity(), LinUCB(), weight)
