"""Real alternating least squares (Hu, Koren and Volinsky 2008), fitted by ``implicit``.

minimise sum_{u,i} c_ui (p_ui - x_u . y_i)^2 + reg (sum |x_u|^2 + sum |y_i|^2), where p_ui = 1 for the (user, item) pairs of the
training rows that are positive at least once and 0 elsewhere, and c_ui = alpha p_ui + (1 - p_ui) with alpha = 1, so that every
pair weighs the same. One thread and a seed: reruns give the same bits on one machine.

Scope: non-private; an anchor from this learner ends any end-to-end claim.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.checks import check_feedback, check_items, check_seed, check_whole, extra
from slateproof.learn.factors import add_rows, dot_scores
from slateproof.learn.mf_bce import rows_of
from slateproof.learn.modelfile import Model, package_versions
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["ALS", "ALSScorer", "positives"]


@dataclass(frozen=True, slots=True)
class ALS:
    """Alternating least squares on the positive pairs; needs the extra ``learn`` (implicit).

    Scope: non-private.
    """

    factors: int = 32
    regularization: float = 0.01
    iterations: int = 5

    name: ClassVar[str] = "als"

    def __post_init__(self) -> None:
        check_whole(self.factors, "factors", 1)
        check_whole(self.iterations, "iterations", 1)
        finite_scalar(self.regularization, "regularization", np.nextafter(0.0, 1.0))

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> ALSScorer:
        """Fit ``implicit`` on the training users, then prepare the fold-in (Y^T Y + reg I)^-1 y_i of every item."""
        solver = extra("implicit.cpu.als", self.name).AlternatingLeastSquares
        threadpool_limits = extra("threadpoolctl", self.name).threadpool_limits
        row, matrix = positives(corpus)
        told = None if progress is None else lambda step, *_: progress(step + 1, self.iterations, "alternating")
        with threadpool_limits(1, "blas"):
            model = solver(
                self.factors, self.regularization, 1.0, iterations=self.iterations, num_threads=1, random_state=check_seed(seed)
            )
            model.fit(matrix, show_progress=False, callback=told)
            users, items = (np.asarray(f, np.float64) for f in (model.user_factors, model.item_factors))
            normal = items.T @ items + self.regularization * np.eye(self.factors)
            fold_in = np.ascontiguousarray(np.linalg.solve(normal, items.T).T)
        arrays = {"users": row, "user_factors": users, "item_factors": items, "fold_in": fold_in}
        versions = package_versions("implicit")
        return ALSScorer(Model(self.name, asdict(self), seed, corpus.digest, corpus.label, arrays, versions=versions))


def positives(corpus: Corpus) -> tuple[Ints, Any]:
    """The matrix row of each training user (-1: not one), and the CSR matrix of ones, float32, at their positive pairs."""
    from scipy.sparse import csr_matrix

    split = corpus.split()
    known = np.flatnonzero(split.part == 0)
    row = np.full(corpus.users, -1, np.int64)
    row[known] = np.arange(known.size)
    keep = split.train & corpus.positive
    pair = np.unique(row[corpus.user[keep]] * len(corpus.items) + corpus.item[keep])
    ones = np.ones(pair.size, np.float32)
    places = (pair // len(corpus.items)).astype(np.int32), (pair % len(corpus.items)).astype(np.int32)
    return row, csr_matrix((ones, places), shape=(known.size, len(corpus.items)))


class ALSScorer(StoredScorer):
    """Scores x . y_i, an order without a scale. A session is its user's row, solved again as positives come in.

    With c = 1 for every pair the least-squares row of a user is linear in the positives,
    x = (Y^T Y + reg I)^-1 sum y_i, so folding in a positive adds (Y^T Y + reg I)^-1 y_i. A training user begins at the fitted row,
    anybody else at 0 (all scores equal until something was done right or liked). Failures and untried items do not move the row.
    A session's repeat of an item counts once; the model does not keep who liked what in training, so a training user's repeat
    of a training item counts again.

    Scope: non-private.
    """

    learners = (ALS.name,)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._row: Ints = model.arrays["users"]
        self._user: Floats = model.arrays["user_factors"]
        self._item: Floats = model.arrays["item_factors"]
        self._fold_in: Floats = model.arrays["fold_in"]
        self._no_bias = np.zeros(self._item.shape[0])

    def begin(self, context: Context, seed: int) -> tuple[Floats, Any]:
        """The users' rows, and which items each session liked so far."""
        rows = rows_of(context.user, self._row)
        start = np.where((rows >= 0)[:, None], self._user[rows], 0.0)
        return np.ascontiguousarray(start), np.zeros((rows.size, self._item.shape[0]), np.bool_)

    def score(self, session: tuple[Floats, Any], context: Context, items: Ints) -> Scores:
        """x . y_i."""
        codes = check_items(items, context, self._item.shape[0])
        return Scores(dot_scores(session[0], self._item, np.zeros(codes.shape[0]), self._no_bias, codes), None)

    def update(self, session: tuple[Floats, Any], context: Context, feedback: Feedback) -> tuple[Floats, Any]:
        """Fold the new positives in."""
        codes, _ = check_feedback(feedback, context, self._item.shape[0])
        vectors, liked = session[0].copy(), session[1].copy()
        new = np.asarray(feedback.correct, np.bool_) & ~np.take_along_axis(liked, np.maximum(codes, 0), axis=1)
        for place in range(1, codes.shape[1]):  # an item may stand in one slate twice
            new[:, place] &= ~((codes[:, :place] == codes[:, place : place + 1]) & new[:, :place]).any(axis=1)
        add_rows(vectors, self._fold_in, codes, new)
        sessions, places = np.nonzero(new)
        liked[sessions, codes[sessions, places]] = True
        return vectors, liked
