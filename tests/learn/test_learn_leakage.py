"""What held-out users answered leaves no mark on what learners read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from slateproof import corpora, learn
from slateproof.learn.dkt import DKT
from slateproof.learn.features import training_difficulty
from slateproof.learn.sakt import SAKT
from slateproof.learn.two_tower import TwoTower
from slateproof.learn.two_tower_model import facts_of

CORPUS = corpora.demo()


def other_answers(held_out: Any) -> corpora.Corpus:
    """The same corpus, the answers in the mask turned round, and difficulties to match."""
    positive = np.where(held_out, ~CORPUS.positive, CORPUS.positive)
    shown = np.bincount(CORPUS.item, minlength=len(CORPUS.items))
    hard = 1.0 - np.bincount(CORPUS.item, positive, len(CORPUS.items)) / shown
    return replace(CORPUS, positive=positive, response=positive.astype(float), items=replace(CORPUS.items, difficulty=hard))


@pytest.mark.parametrize("name", ["popularity", "mf-bce", "als", "linucb", "bkt", "bkt-em", "estimator"])
def test_scores_do_not_depend_on_the_answers_of_held_out_users(name: str) -> None:
    made: Any = learn.FromEstimator(LogisticRegression()) if name == "estimator" else learn.learner(name)
    context, items = learn.Context.new(1), np.arange(len(CORPUS.items))[None]
    out = []
    for corpus in (CORPUS, other_answers(~CORPUS.split().train)):
        scorer = made.fit(corpus, seed=1)
        out.append(scorer.score(scorer.begin(context, 0), context, items))
    np.testing.assert_array_equal(out[0].scores, out[1].scores)


def test_the_towers_read_the_training_difficulty() -> None:
    mine, others = facts_of(CORPUS), facts_of(other_answers(~CORPUS.split().train))
    np.testing.assert_array_equal(mine.difficulty, others.difficulty)
    np.testing.assert_array_equal(mine.difficulty, training_difficulty(CORPUS).astype(np.float32))
    assert (facts_of(CORPUS, fixed=True).difficulty == 0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [TwoTower(hidden=8, embedding=4, epochs=2), TwoTower(hidden=8, embedding=4, epochs=2, widths="bootstrap"),
     DKT(width=4, epochs=2), SAKT(width=4, heads=1, epochs=2)],
    ids=["two-tower, ridge", "two-tower, bootstrap", "dkt", "sakt"],
)  # fmt: skip
def test_networks_read_no_answer_of_a_test_user(made: Any) -> None:
    """They stop early by the validation users, so only the test users' answers are turned round."""
    context, items = learn.Context.new(1), np.arange(len(CORPUS.items))[None]
    out = []
    for corpus in (CORPUS, other_answers(CORPUS.split().test)):
        scorer = made.fit(corpus, seed=1)
        out.append(scorer.score(scorer.begin(context, 0), context, items))
    np.testing.assert_array_equal(out[0].scores, out[1].scores)
    np.testing.assert_array_equal(out[0].widths, out[1].widths)


def test_training_difficulty_counts_training_rows_and_keeps_what_was_given(tmp_path: Any) -> None:
    split, hard = CORPUS.split(), training_difficulty(CORPUS)
    average = np.mean([bool(p) for p, t in zip(CORPUS.positive, split.train, strict=True) if t])
    for code in range(0, len(CORPUS.items), 11):
        mine = CORPUS.positive[split.train & (CORPUS.item == code)]
        assert hard[code] == pytest.approx(1.0 - (mine.sum() + average) / (mine.size + 1.0))
    (tmp_path / "t.csv").write_text("u,i,r,d\n" + "\n".join(f"{u},{i},{u % 2},0.{i}" for u in range(6) for i in range(1, 5)) + "\n")
    given = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r", difficulty_column="d")
    np.testing.assert_array_equal(training_difficulty(given), [0.1, 0.2, 0.3, 0.4])


def test_scores_count_where_the_rule_is_score() -> None:
    points = np.where(CORPUS.positive, 80.0, 30.0)
    scored = replace(CORPUS, response=points, difficulty_rule="score")
    np.testing.assert_allclose(training_difficulty(scored), 1.0 - (0.3 + 0.5 * (1.0 - training_difficulty(CORPUS))), atol=1e-12)
