"""Popularity: conformance, and the counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import LearnerConformance

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.popularity import Popularity
from slateproof.learn.protocol import Context


class TestPopularity(LearnerConformance):
    online = False

    def make(self) -> Popularity:
        return Popularity()


def test_scores_are_smoothed_success_rates_of_training_users() -> None:
    corpus = corpora.demo()
    train = corpus.split().train
    overall = float(np.mean([bool(p) for p, t in zip(corpus.positive, train, strict=True) if t]))
    scorer = Popularity(prior=2.0).fit(corpus)
    context = Context.new(1)
    items = np.arange(len(corpus.items))[None]
    scores = scorer.score(None, context, items).scores[0]
    for code in range(0, len(corpus.items), 17):
        mine = [bool(p) for p, i, t in zip(corpus.positive, corpus.item, train, strict=True) if t and i == code]
        assert scores[code] == pytest.approx((sum(mine) + 2.0 * overall) / (len(mine) + 2.0), abs=1e-12)


@pytest.mark.parametrize("prior", [0.0, -1.0, float("nan")])
def test_a_prior_that_is_not_positive_is_refused(prior: float) -> None:
    with pytest.raises(InvalidInput, match="prior"):
        Popularity(prior=prior)
