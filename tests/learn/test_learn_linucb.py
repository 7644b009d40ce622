"""LinUCB against the closed form: one solve with all observations at once."""

from __future__ import annotations

import numpy as np
import pytest

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.features import item_features, training_difficulty
from slateproof.learn.linucb import LinUCB
from slateproof.learn.protocol import Context, Feedback

CORPUS = corpora.demo()
X = item_features(CORPUS).dense()


def test_features_are_bias_difficulty_and_tags() -> None:
    assert X.shape == (len(CORPUS.items), 2 + len(CORPUS.items.tag_names))
    np.testing.assert_array_equal(X[:, 0], 1.0)
    np.testing.assert_array_equal(X[:, 1], training_difficulty(CORPUS))
    np.testing.assert_array_equal(X[:, 2:], CORPUS.items.tag_vectors())


def test_items_may_have_many_tags_or_none(tmp_path) -> None:
    rows = [f"{u},{i},{(u + i) % 2},{tags}" for u in range(4) for i, tags in enumerate(["a|b", "", "c", "b|c|a"])]
    (tmp_path / "t.csv").write_text("u,i,r,t\n" + "\n".join(rows) + "\n")
    corpus = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r", tags="t")
    dense = item_features(corpus).dense()
    np.testing.assert_allclose(dense[:, 2:], corpus.items.tag_vectors())
    np.testing.assert_array_equal(dense[:, 1], training_difficulty(corpus))


@pytest.mark.parametrize("l2", [1.0, 0.3])
def test_scores_and_widths_are_those_of_one_solve_with_all_observations(l2: float) -> None:
    scorer = LinUCB(l2=l2).fit(CORPUS)
    train = CORPUS.split().train
    rows, reward = X[CORPUS.item[train]], CORPUS.positive[train].astype(float)
    shared = np.linalg.solve(rows.T @ rows + l2 * np.eye(X.shape[1]), rows.T @ reward)
    rng = np.random.default_rng(0)
    context, session, seen, got = Context.new(1), scorer.begin(Context.new(1), 0), [], []
    items = np.arange(len(CORPUS.items))[None]
    np.testing.assert_allclose(scorer.score(session, context, items).scores[0], X @ shared, atol=1e-10)
    for _ in range(12):
        shown = rng.integers(0, len(CORPUS.items), (1, 6))
        tried = rng.random((1, 6)) < 0.7
        right = tried & (rng.random((1, 6)) < 0.5)
        session = scorer.update(session, context, Feedback(shown, tried, right))
        seen += shown[tried].tolist()
        got += right[tried].astype(float).tolist()
    Z = X[seen]
    A = l2 * np.eye(X.shape[1]) + Z.T @ Z
    theta = np.linalg.solve(A, l2 * shared + Z.T @ np.array(got))
    out = scorer.score(session, context, items)
    np.testing.assert_allclose(out.scores[0], X @ theta, atol=1e-9)
    assert out.widths is not None
    np.testing.assert_allclose(out.widths[0], np.sqrt(np.einsum("ij,ij->i", X @ np.linalg.inv(A), X)), atol=1e-9)


def test_widths_shrink_where_something_was_seen() -> None:
    scorer = LinUCB().fit(CORPUS)
    context, session, items = Context.new(1), scorer.begin(Context.new(1), 0), np.arange(30)[None]
    before = scorer.score(session, context, items).widths
    once = np.array([[4]]), np.array([[True]]), np.array([[True]])
    after = scorer.score(scorer.update(session, context, Feedback(*once)), context, items).widths
    assert before is not None
    assert after is not None
    assert (after <= before + 1e-12).all()
    assert after[0, 4] == pytest.approx(np.sqrt(before[0, 4] ** 2 / (1 + before[0, 4] ** 2)))
    with pytest.raises(InvalidInput, match="l2"):
        LinUCB(l2=0.0)
