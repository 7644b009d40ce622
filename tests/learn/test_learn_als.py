"""ALS: the factors are implicit's own, and folding in solves the row."""

from __future__ import annotations

import numpy as np
import pytest

from slateproof import corpora
from slateproof.learn.als import ALS, positives
from slateproof.learn.protocol import Context, Feedback

implicit_als = pytest.importorskip("implicit.cpu.als")
from scipy.sparse import csr_matrix  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

CORPUS = corpora.demo()
ITEMS = np.arange(len(CORPUS.items))[None]


def peer(matrix: csr_matrix) -> object:
    with threadpool_limits(1, "blas"):
        model = implicit_als.AlternatingLeastSquares(
            factors=32, regularization=0.01, alpha=1.0, iterations=5, num_threads=1, random_state=42, dtype=np.float32
        )
        model.fit(matrix, show_progress=False)
    return model


def training_matrix() -> tuple[np.ndarray, csr_matrix]:
    """Ones at the positive pairs of training users, by plain loops."""
    split = CORPUS.split()
    known = np.flatnonzero(split.part == 0)
    place = {int(u): n for n, u in enumerate(known)}
    rows = zip(CORPUS.user, CORPUS.item, CORPUS.positive, strict=True)
    pairs = sorted({(place[int(u)], int(i)) for u, i, p in rows if p and int(u) in place})
    matrix = csr_matrix((np.ones(len(pairs), np.float32), tuple(np.array(pairs).T)), shape=(known.size, len(CORPUS.items)))
    return known, matrix


def one(user: int) -> Context:
    half = np.array([0.5])
    return Context(np.array([user], np.int64), half, half, half)


def test_the_matrix_holds_the_positive_pairs_of_training_users() -> None:
    known, expected = training_matrix()
    row, matrix = positives(CORPUS)
    assert (matrix != expected).nnz == 0
    assert matrix.data.tolist() == [1.0] * matrix.nnz
    np.testing.assert_array_equal(np.flatnonzero(row >= 0), known)


def test_scores_of_training_users_are_those_of_implicits_factors() -> None:
    known, matrix = training_matrix()
    model = peer(matrix)
    scorer = ALS().fit(CORPUS, seed=42)
    for place in (0, 5, known.size - 1):
        context = one(int(known[place]))
        scores = scorer.score(scorer.begin(context, 0), context, ITEMS).scores[0]
        expected = model.item_factors.astype(float) @ model.user_factors[place].astype(float)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_folding_in_is_implicits_own_solution_of_the_row() -> None:
    _, matrix = training_matrix()
    model = peer(matrix)
    scorer = ALS().fit(CORPUS, seed=42)
    context = one(-1)
    session = scorer.begin(context, 0)
    assert not scorer.score(session, context, ITEMS).scores.any()
    shown = np.array([[3, 14, 15, 9, 26, 3]])
    tried = np.array([[True, True, True, True, False, True]])
    right = np.array([[True, False, True, True, False, True]])
    session = scorer.update(session, context, Feedback(shown, tried, right))
    session = scorer.update(session, context, Feedback(shown[:, :1], tried[:, :1], right[:, :1]))  # a repeat counts once
    liked = csr_matrix((np.ones(3, np.float32), ([0, 0, 0], [3, 15, 9])), shape=(1, len(CORPUS.items)))
    row = model.recalculate_user([0], liked)[0].astype(float)
    np.testing.assert_allclose(session[0][0], row, atol=2e-4)  # implicit solves in float32
    Y = model.item_factors.astype(float)
    exact = np.linalg.solve(Y.T @ Y + 0.01 * np.eye(32), Y[[3, 15, 9]].sum(axis=0))
    np.testing.assert_allclose(session[0][0], exact, atol=1e-10)
    np.testing.assert_allclose(scorer.score(session, context, ITEMS).scores[0], Y @ exact, atol=1e-10)
