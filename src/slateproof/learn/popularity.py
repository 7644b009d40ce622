"""The baseline every learner must beat: how often an item succeeded among the training users.

Scope: non-private; the scores are means over protected responses.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.checks import check_feedback, check_items
from slateproof.learn.modelfile import Model
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["Popularity", "PopularityScorer"]


@dataclass(frozen=True, slots=True)
class Popularity:
    """score(i) = (successes + prior * rate) / (n + prior), ``rate`` being the success rate of all training rows.

    The width is the standard deviation of the matching Beta posterior, sqrt(p (1 - p) / (n + prior + 1)).

    Scope: non-private.
    """

    prior: float = 1.0

    name: ClassVar[str] = "popularity"

    def __post_init__(self) -> None:
        finite_scalar(self.prior, "prior", np.nextafter(0.0, 1.0))

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> PopularityScorer:
        """Count; nothing is drawn, so the seed changes nothing but its own entry in the model file."""
        train = corpus.split().train
        item, positive = corpus.item[train], corpus.positive[train]
        shown = np.bincount(item, minlength=len(corpus.items)).astype(np.float64)
        done = np.bincount(item, weights=positive, minlength=len(corpus.items))
        rate = (done + self.prior * float(positive.mean())) / (shown + self.prior)
        width = np.sqrt(rate * (1.0 - rate) / (shown + self.prior + 1.0))
        model = Model(self.name, asdict(self), seed, corpus.digest, corpus.label, {"rate": rate, "width": width})
        if progress is not None:
            progress(1, 1, "counting")
        return PopularityScorer(model)


class PopularityScorer(StoredScorer):
    """The same score for everyone; it does not learn from a session.

    Scope: non-private.
    """

    learners = (Popularity.name,)
    scale = "probability"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._rate: Floats = model.arrays["rate"]
        self._width: Floats = model.arrays["width"]

    def begin(self, context: Context, seed: int) -> None:
        """There is nothing to remember."""

    def score(self, session: Any, context: Context, items: Ints) -> Scores:
        """Success rates and their posterior standard deviations."""
        codes = check_items(items, context, self._rate.size)
        return Scores(self._rate[codes], self._width[codes])

    def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
        """The session itself."""
        check_feedback(feedback, context, self._rate.size)
        return session
