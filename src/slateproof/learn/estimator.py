"""Your own scikit-learn style estimator as operator L: it is fitted on (session so far, item) rows.

A row is x = (k, log(1 + n), training difficulty, tag part of unit length), where n is the number of answers before this one and k
their share of successes with one neutral answer of .5 added, so that it is defined at n = 0.

Scope: non-private.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_feedback, check_items, check_seed, finite
from slateproof.learn.features import training_difficulty
from slateproof.learn.modelfile import Model, package_versions, read_for, write
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.types.columns import Floats, Ints

__all__ = ["EstimatorScorer", "FromEstimator", "training_rows"]

_PROBES = 256


@dataclass(frozen=True, slots=True)
class FromEstimator:
    """A learner around ``estimator`` (``fit`` and ``predict_proba`` or ``decision_function``), which itself is never changed.

    A parameter ``random_state`` is set to the seed. ``name`` names it in tables.

    Scope: non-private.
    """

    estimator: Any
    name: str = "estimator"

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "fit") or _method(self.estimator) is None:
            raise InvalidInput("estimator", "must have fit, and predict_proba or decision_function", type(self.estimator).__name__)

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> EstimatorScorer:
        """Fit a copy on all training rows, each with what its session had seen before."""
        fitted = copy.deepcopy(self.estimator)
        if "random_state" in getattr(fitted, "get_params", dict)():
            fitted.set_params(random_state=check_seed(seed))
        rows, positive = training_rows(corpus)
        fitted.fit(rows, positive)
        if progress is not None:
            progress(1, 1, "fitting")
        probe = rows[np.linspace(0, len(rows) - 1, min(_PROBES, len(rows))).astype(np.int64)]
        arrays = {"probe": probe, "answers": _predict(fitted, probe)}
        config = {"estimator": repr(self.estimator)}
        versions = package_versions(type(self.estimator).__module__.split(".")[0].replace("sklearn", "scikit-learn"))
        return EstimatorScorer(fitted, Model(self.name, config, seed, corpus.digest, corpus.label, arrays, None, versions), corpus)

    def open(self, path: str | Path, corpus: Corpus) -> EstimatorScorer:
        """The scorer of a saved model file.

        A file holds no foreign estimator (slateproof reads no pickles); it holds the recipe and answers to probe rows. Opening
        fits again with the recorded seed, and refuses an estimator whose answers are not those recorded.
        """
        saved = read_for(path, corpus, self.name)
        scorer = self.fit(corpus, seed=saved.seed)
        if not np.array_equal(_predict(scorer.estimator, saved.arrays["probe"]), saved.arrays["answers"]):
            raise InvalidInput("estimator", "fitted again must answer as the saved one did", repr(self.estimator), where=str(path))
        return scorer


def training_rows(corpus: Corpus) -> tuple[Floats, Any]:
    """x and success of every training row."""
    train = corpus.split().train
    positive = corpus.positive[train]
    done = np.r_[0, np.cumsum(positive)]
    order = corpus.order[train].astype(np.int64)
    first = np.arange(positive.size) - order
    return _features(
        done[:-1] - done[first], order, training_difficulty(corpus), corpus.items.tag_vectors(), corpus.item[train]
    ), positive


def _features(done: Any, tried: Any, difficulty: Floats, tags: Floats, item: Any) -> Floats:
    answers = (np.asarray(done) + 0.5) / (np.asarray(tried) + 1.0)
    return np.column_stack([answers, np.log1p(tried), difficulty[item], tags[item]])


class EstimatorScorer:
    """A session is (correct answers, attempts). Scores are probabilities, or decision values where there are none.

    Scope: non-private.
    """

    ledger: None = None

    def __init__(self, estimator: Any, model: Model, corpus: Corpus) -> None:
        self.estimator, self._model = estimator, model
        self._difficulty, self._tags = training_difficulty(corpus), corpus.items.tag_vectors()
        self.scale = "probability" if _method(estimator) == "predict_proba" else "none"

    @property
    def name(self) -> str:
        """How tables call it."""
        return self._model.learner

    @property
    def corpus_digest(self) -> str:
        """The corpus it was fitted on."""
        return self._model.corpus_digest

    def begin(self, context: Context, seed: int) -> tuple[Ints, Ints]:
        """Nothing seen."""
        return np.zeros(context.user.size, np.int64), np.zeros(context.user.size, np.int64)

    def score(self, session: tuple[Ints, Ints], context: Context, items: Ints) -> Scores:
        """One call of the estimator for all sessions."""
        codes = check_items(items, context, self._difficulty.size)
        done, tried = (np.repeat(column, codes.shape[1]) for column in session)
        rows = _features(done, tried, self._difficulty, self._tags, codes.ravel())
        return Scores(finite(_predict(self.estimator, rows).reshape(codes.shape), "scores"), None)

    def update(self, session: tuple[Ints, Ints], context: Context, feedback: Feedback) -> tuple[Ints, Ints]:
        """Count the round."""
        _, attempted = check_feedback(feedback, context, self._difficulty.size)
        return session[0] + np.asarray(feedback.correct, np.bool_).sum(axis=1), session[1] + attempted.sum(axis=1)

    def save(self, path: Path) -> None:
        """Write the recipe and the probe answers."""
        write(path, self._model)

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> NoReturn:
        """Refused: the estimator is not in the file."""
        raise InvalidInput(
            "model", "of your own estimator is opened with FromEstimator(estimator, name).open(path, corpus)", str(path)
        )


def _method(estimator: Any) -> str | None:
    return next((name for name in ("predict_proba", "decision_function") if hasattr(estimator, name)), None)


def _predict(estimator: Any, rows: Floats) -> Floats:
    """P(success) or the decision value of each row."""
    if _method(estimator) == "decision_function":
        return np.asarray(estimator.decision_function(rows), np.float64)
    chances = np.asarray(estimator.predict_proba(rows), np.float64)
    classes = [bool(value) for value in estimator.classes_]
    return chances[:, classes.index(True)] if True in classes else np.zeros(len(rows))
