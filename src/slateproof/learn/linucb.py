"""LinUCB: a shared ridge regression over item features, and one posterior per session that learns online.

Fitting solves (l2 I + sum x x^T) theta_0 = sum r x over all training rows. A session starts from theta_0 with the posterior
precision A = l2 I and adds its own observations: A += x x^T, theta = theta_0 + A^-1 sum x (r - x . theta_0). Sharing the mean but
not the precision keeps a new learner's widths wide: a hundred thousand rows of other people do not make this one known.

Scores are x . theta, widths ||x||_{A^-1} = sqrt(x^T A^-1 x), the root taken after the sum. Under the lever alpha = 1.5 a selector
with all other levers off picks the items of LinUCB's rule x . theta + alpha ||x||_{A^-1} (Li et al. 2010).

Scope: non-private.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from slateproof.corpora import Corpus
from slateproof.learn.checks import check_feedback, check_items
from slateproof.learn.features import item_features
from slateproof.learn.modelfile import Model
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["ALPHA", "LinUCB", "LinUCBScorer"]

ALPHA = 1.5
"""The exploration lever under which selection is LinUCB's; scores and widths stay apart here, so the lever can move."""


@dataclass(frozen=True, slots=True)
class LinUCB:
    """Shared ridge over (1, training difficulty, tags), per-session posterior.

    Scope: non-private.
    """

    l2: float = 1.0

    name: ClassVar[str] = "linucb"

    def __post_init__(self) -> None:
        finite_scalar(self.l2, "l2", np.nextafter(0.0, 1.0))

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> LinUCBScorer:
        """Solve the shared ridge; nothing is drawn, so the seed changes nothing but its own entry in the model file."""
        features = item_features(corpus)
        train = corpus.split().train
        item = corpus.item[train]
        shown = np.bincount(item, minlength=len(corpus.items)).astype(np.float64)
        done = np.bincount(item, weights=corpus.positive[train], minlength=len(corpus.items))
        precision, moment = _sums(features.starts, features.index, features.value, features.size, shown, done)
        theta = np.linalg.solve(precision + self.l2 * np.eye(features.size), moment)
        arrays = {"theta": theta, "starts": features.starts, "index": features.index, "value": features.value}
        if progress is not None:
            progress(1, 1, "solving")
        return LinUCBScorer(Model(self.name, asdict(self), seed, corpus.digest, corpus.label, arrays))


class LinUCBScorer(StoredScorer):
    """A session is (A^-1, theta), moved by one Sherman-Morrison step per attempted item, in slate order.

    Scope: non-private.
    """

    learners = (LinUCB.name,)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._theta: Floats = model.arrays["theta"]
        self._x = (model.arrays["starts"], model.arrays["index"], model.arrays["value"])

    def begin(self, context: Context, seed: int) -> tuple[Floats, Floats]:
        """A = l2 I and theta = theta_0 for everyone."""
        size, sessions = self._theta.size, context.user.size
        inverse = np.tile(np.eye(size) / self._model.config["l2"], (sessions, 1, 1))
        return inverse, np.tile(self._theta, (sessions, 1))

    def score(self, session: tuple[Floats, Floats], context: Context, items: Ints) -> Scores:
        """x . theta and ||x||_{A^-1}."""
        codes = check_items(items, context, self._x[0].size - 1)
        return Scores(*_score(*session, *self._x, codes))

    def update(self, session: tuple[Floats, Floats], context: Context, feedback: Feedback) -> tuple[Floats, Floats]:
        """Learn from the attempted items; reward 1 where correct, 0 where not."""
        codes, attempted = check_feedback(feedback, context, self._x[0].size - 1)
        inverse, theta = session[0].copy(), session[1].copy()
        _update(inverse, theta, *self._x, codes, attempted, np.asarray(feedback.correct, np.bool_))
        return inverse, theta


@njit(cache=True, nogil=True)
def _sums(starts: Ints, index: Ints, value: Floats, size: int, shown: Floats, done: Floats) -> Any:
    """sum n_i x_i x_i^T and sum s_i x_i over items with n_i rows and s_i successes."""
    precision, moment = np.zeros((size, size)), np.zeros(size)
    for i in range(shown.size):
        for a in range(starts[i], starts[i + 1]):
            moment[index[a]] += done[i] * value[a]
            for b in range(starts[i], starts[i + 1]):
                precision[index[a], index[b]] += shown[i] * value[a] * value[b]
    return precision, moment


@njit(cache=True, nogil=True)
def _score(inverse: Floats, theta: Floats, starts: Ints, index: Ints, value: Floats, codes: Ints) -> Any:
    sessions, size = codes.shape
    scores, widths = np.empty((sessions, size)), np.empty((sessions, size))
    for s in range(sessions):
        for j in range(size):
            low, high = starts[codes[s, j]], starts[codes[s, j] + 1]
            mean, square = 0.0, 0.0
            for a in range(low, high):
                mean += value[a] * theta[s, index[a]]
                for b in range(low, high):
                    square += value[a] * inverse[s, index[a], index[b]] * value[b]
            scores[s, j] = mean
            widths[s, j] = np.sqrt(max(0.0, square))
    return scores, widths


@njit(cache=True, nogil=True)
def _update(
    inverse: Floats, theta: Floats, starts: Ints, index: Ints, value: Floats, codes: Ints, attempted: Any, correct: Any
) -> None:
    """Sherman-Morrison and recursive least squares, which give the same theta as solving for all observations at once."""
    size = theta.shape[1]
    u = np.empty(size)
    for s in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if not attempted[s, j]:
                continue
            low, high = starts[codes[s, j]], starts[codes[s, j] + 1]
            for f in range(size):
                u[f] = 0.0
                for a in range(low, high):
                    u[f] += inverse[s, f, index[a]] * value[a]
            spread, miss = 1.0, 1.0 if correct[s, j] else 0.0
            for a in range(low, high):
                spread += value[a] * u[index[a]]
                miss -= value[a] * theta[s, index[a]]
            for f in range(size):
                theta[s, f] += u[f] * miss / spread
                for g in range(size):
                    inverse[s, f, g] -= u[f] * u[g] / spread
