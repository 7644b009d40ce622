"""MF-BCE: what the paper calls ALS. It is not alternating least squares, and is named here for what it is.

logit P(success of u on i) = p_u . q_i + b_u + b_i, with 32 factors drawn from N(0, .01^2) and biases 0, moved by five full-batch
Adam steps (learning rate .01) on the mean binary cross-entropy of the training rows. No negatives are sampled. After five steps
the anchor is hardly trained; that is the paper's configuration, and part of what is reproduced. Whether the paper's anchor has
biases is not stated; ``biases=False`` leaves them at 0.

Scope: non-private; an anchor from this learner ends any end-to-end claim.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.checks import check_feedback, check_items, check_seed, check_whole
from slateproof.learn.factors import bce_gradient, dot_scores
from slateproof.learn.modelfile import Model
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["MFBCE", "Adam", "MFBCEScorer", "rows_of"]


class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1) for one parameter array, changed in place.

    Scope: none; arithmetic.
    """

    def __init__(self, shape: tuple[int, ...], rate: float) -> None:
        self._first, self._second = np.zeros(shape), np.zeros(shape)
        self._rate, self._step = rate, 0

    def move(self, parameters: Floats, gradient: Floats) -> None:
        """One step with beta .9 and .999, epsilon 1e-8."""
        self._step += 1
        self._first += 0.1 * (gradient - self._first)
        self._second += 0.001 * (gradient * gradient - self._second)
        first = self._first / (1.0 - 0.9**self._step)
        second = self._second / (1.0 - 0.999**self._step)
        parameters -= self._rate * first / (np.sqrt(second) + 1e-8)


@dataclass(frozen=True, slots=True)
class MFBCE:
    """Matrix factorisation by full-batch Adam on binary cross-entropy, as the paper's "ALS".

    Scope: non-private.
    """

    factors: int = 32
    steps: int = 5
    learning_rate: float = 0.01
    initial_sd: float = 0.01
    biases: bool = True

    name: ClassVar[str] = "mf-bce"

    def __post_init__(self) -> None:
        check_whole(self.factors, "factors", 1)
        check_whole(self.steps, "steps", 1)
        finite_scalar(self.learning_rate, "learning_rate", np.nextafter(0.0, 1.0))
        finite_scalar(self.initial_sd, "initial_sd", np.nextafter(0.0, 1.0))

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> MFBCEScorer:
        """Fit on the training rows; the draw is users first, then items, from ``numpy.random.default_rng(seed)``."""
        split = corpus.split()
        known = np.flatnonzero(split.part == 0)
        row = np.full(corpus.users, -1, np.int64)
        row[known] = np.arange(known.size)
        user, item = row[corpus.user[split.train]], corpus.item[split.train].astype(np.int64)
        rng = np.random.default_rng(check_seed(seed))
        P, Q = self._start(known.size, rng), self._start(len(corpus.items), rng)
        movers = Adam(P.shape, self.learning_rate), Adam(Q.shape, self.learning_rate)
        for step in range(self.steps):
            dP, dQ = np.zeros_like(P), np.zeros_like(Q)
            loss = bce_gradient(user, item, corpus.positive[split.train], P, Q, dP, dQ)
            if not self.biases:
                dP[:, -1] = dQ[:, -1] = 0.0
            movers[0].move(P, dP)
            movers[1].move(Q, dQ)
            if progress is not None:
                progress(step + 1, self.steps, f"loss {loss:.4f}")
        arrays = {"users": row, "P": P, "Q": Q}
        return MFBCEScorer(Model(self.name, asdict(self), seed, corpus.digest, corpus.label, arrays))

    def _start(self, rows: int, rng: np.random.Generator) -> Floats:
        """Factors drawn, and a last column for the bias."""
        start = np.zeros((rows, self.factors + 1))
        start[:, :-1] = rng.normal(0.0, self.initial_sd, (rows, self.factors))
        return start


class MFBCEScorer(StoredScorer):
    """Scores are probabilities. Users that training did not know get the mean user; sessions teach it nothing.

    Scope: non-private.
    """

    learners = (MFBCE.name,)
    scale = "probability"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        P, Q = model.arrays["P"], model.arrays["Q"]
        self._row: Ints = model.arrays["users"]
        # One more row, the mean user: code -1 finds it.
        self._user = np.ascontiguousarray(np.vstack([P[:, :-1], P[:, :-1].mean(axis=0)]))
        self._user_bias = np.append(P[:, -1], P[:, -1].mean())
        self._item, self._item_bias = np.ascontiguousarray(Q[:, :-1]), Q[:, -1].copy()

    def begin(self, context: Context, seed: int) -> None:
        """There is nothing to remember."""

    def score(self, session: Any, context: Context, items: Ints) -> Scores:
        """P(success), by the factors of the training users or of the mean user."""
        codes = check_items(items, context, self._item_bias.size)
        rows = rows_of(context.user, self._row)
        logits = dot_scores(self._user[rows], self._item, self._user_bias[rows], self._item_bias, codes)
        return Scores(1.0 / (1.0 + np.exp(-logits)), None)

    def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
        """The session itself."""
        check_feedback(feedback, context, self._item_bias.size)
        return session


def rows_of(user: Ints, row: Ints) -> Ints:
    """The row of each training user, -1 for everybody else."""
    known = (user >= 0) & (user < row.size)
    return np.where(known, row[np.where(known, user, 0)], -1)
