"""Your own function and your own estimator: conformance, what they are asked, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance import LearnerConformance
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.estimator import FromEstimator, training_rows
from slateproof.learn.features import training_difficulty
from slateproof.learn.protocol import Context, Feedback
from slateproof.learn.wrap import Ask, CallableScorer, FromCallable

CORPUS = corpora.demo()
DIFFICULTY = training_difficulty(CORPUS)


def mine(ask: Ask) -> Any:
    right = sum(correct for _, correct in ask.history)
    number = np.array([int(item[1:]) for item in ask.items], float)
    return np.sin(number + right) + ask.knowledge, 1.0 / (1.0 + number)


class TestFromCallable(LearnerConformance):
    def make(self) -> Any:
        return FromCallable(mine, "mine")

    def load(self, scorer: Any, path: Path, corpus: Any) -> Any:
        return self.make().open(path, corpus)


class TestFromEstimator(LearnerConformance):
    exact = False  # the estimator multiplies matrices in its own blocks

    def make(self) -> Any:
        return FromEstimator(LogisticRegression(C=0.5), "logistic")

    def load(self, scorer: Any, path: Path, corpus: Any) -> Any:
        return self.make().open(path, corpus)

    def test_the_learner_is_a_frozen_value(self) -> None:
        with pytest.raises(AttributeError):
            self.make().name = "other"


def test_a_function_is_asked_in_ids() -> None:
    asks: list[Ask] = []

    def spy(ask: Ask) -> list[float]:
        asks.append(ask)
        return [0.0] * len(ask.items)

    scorer = FromCallable(spy).fit(CORPUS)
    context = Context(np.array([5, -1]), np.array([0.2, 0.3]), np.array([0.4, 0.5]), np.array([0.6, 0.7]))
    shown = np.array([[0, 3, -1], [7, 8, 9]])
    tried = np.array([[True, True, False], [False, True, False]])
    right = np.array([[False, True, False], [False, True, False]])
    session = scorer.update(scorer.begin(context, 0), context, Feedback(shown, tried, right))
    out = scorer.score(session, context, np.array([[1, 2], [4, 6]]))
    assert out.widths is None
    ids = CORPUS.items.ids.tolist()
    assert [ask.user for ask in asks] == [CORPUS.user_ids.tolist()[5], None]
    assert [ask.items.tolist() for ask in asks] == [[ids[1], ids[2]], [ids[4], ids[6]]]
    assert [ask.history for ask in asks] == [((ids[0], False), (ids[3], True)), ((ids[8], True),)]
    assert [(ask.knowledge, ask.engagement, ask.uncertainty) for ask in asks] == [(0.2, 0.4, 0.6), (0.3, 0.5, 0.7)]


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ([0.0, float("nan")], "scores"),
        ([0.0], "scores"),
        (None, "scores"),
        (["a", "b"], "scores"),
        (([0.0, 1.0], [0.0, float("inf")]), "widths"),
        (([0.0, 1.0], [0.0, -1.0]), "widths"),
        (([0.0, 1.0], [1.0]), "widths"),
    ],
)
def test_answers_that_are_no_scores_are_refused(answer: Any, field: str) -> None:
    scorer = FromCallable(lambda ask: answer).fit(CORPUS)
    with pytest.raises(InvalidInput) as refusal:
        scorer.score(scorer.begin(Context.new(1), 0), Context.new(1), np.array([[0, 1]]))
    assert refusal.value.field == field


def test_only_the_owner_of_a_function_can_open_its_model(tmp_path: Path) -> None:
    FromCallable(mine, "mine").fit(CORPUS).save(tmp_path / "m")
    with pytest.raises(InvalidInput, match=r"FromCallable\(function, name\)\.open"):
        CallableScorer.load(tmp_path / "m", CORPUS)
    with pytest.raises(InvalidInput, match="learner: of this model must be other"):
        FromCallable(mine, "other").open(tmp_path / "m", CORPUS)
    with pytest.raises(InvalidInput, match="function"):
        FromCallable(3)  # type: ignore[arg-type]


def test_training_rows_know_the_past_of_their_own_user_only() -> None:
    rows, positive = training_rows(CORPUS)
    at = 0
    for u in np.flatnonzero(CORPUS.split().part == 0).tolist():
        past: list[bool] = []
        for r in range(CORPUS.user_starts[u], CORPUS.user_starts[u + 1]):
            item = int(CORPUS.item[r])
            head = [(sum(past) + 0.5) / (len(past) + 1), np.log1p(len(past)), DIFFICULTY[item]]
            np.testing.assert_allclose(rows[at], [*head, *CORPUS.items.tag_vectors()[item]], atol=1e-12)
            assert positive[at] == CORPUS.positive[r]
            past.append(bool(CORPUS.positive[r]))
            at += 1
    assert at == len(rows)


def test_scores_are_the_estimators_on_the_sessions_rows() -> None:
    scorer = FromEstimator(LogisticRegression()).fit(CORPUS)
    assert scorer.scale == "probability"
    context = Context.new(1)
    three = np.ones((1, 3), bool)
    session = scorer.update(
        scorer.begin(context, 0), context, Feedback(np.array([[0, 1, 2]]), three, np.array([[True, False, True]]))
    )
    row = [2.5 / 4.0, np.log(4.0), DIFFICULTY[9], *CORPUS.items.tag_vectors()[9]]
    rows, positive = training_rows(CORPUS)
    expected = LogisticRegression().fit(rows, positive).predict_proba([row])[0, 1]
    assert scorer.score(session, context, np.array([[9]])).scores[0, 0] == pytest.approx(expected, abs=1e-9)


def test_decision_functions_and_seeds_are_used_and_the_estimator_is_left_alone() -> None:
    own = RidgeClassifier(random_state=0)
    scorer = FromEstimator(own).fit(CORPUS, seed=9)
    assert scorer.scale == "none"
    assert scorer.estimator.random_state == 9
    assert own.random_state == 0
    assert not hasattr(own, "coef_")
    with pytest.raises(InvalidInput, match="estimator"):
        FromEstimator(object())


def test_another_estimator_does_not_pass_for_the_saved_one(tmp_path: Path) -> None:
    FromEstimator(LogisticRegression(C=1.0)).fit(CORPUS).save(tmp_path / "m")
    with pytest.raises(InvalidInput, match="must answer as the saved one did"):
        FromEstimator(LogisticRegression(C=0.01)).open(tmp_path / "m", CORPUS)
