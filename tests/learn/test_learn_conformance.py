"""The conformance suite fails what it must fail: one broken scorer per promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance import LearnerConformance, feedback

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.linucb import LinUCB
from slateproof.learn.protocol import Context, Scores

CORPUS = corpora.demo()
ROUNDS = [feedback(CORPUS, 100 + t) for t in range(3)]


class Suite(LearnerConformance):
    """Not collected: its name does not begin with Test."""

    def make(self) -> Any:
        return LinUCB()


class Wrapped:
    """A good scorer; subclasses break it in one place."""

    def __init__(self) -> None:
        self.inner: Any = LinUCB().fit(CORPUS)
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class SaysNaN(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(np.where(items == items[0, 0], np.nan, out.scores), out.widths)


class ConstantWidths(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(out.scores, np.full(out.scores.shape, 0.3))


class Negative(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(out.scores, out.widths - 1.0)


class FeelsItsNeighbours(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(out.scores + 1e-12 * out.scores.mean(), out.widths)


class FeelsItsPlace(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(out.scores + 1e-9 * np.arange(items.shape[1]), out.widths)


class FeelsItsBatch(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session, context, items)
        return Scores(out.scores + 1e-12 * items.shape[0], out.widths)


class ChangesTheOldSession(Wrapped):
    def update(self, session: Any, context: Any, given: Any) -> Any:
        after = self.inner.update(session, context, given)
        for old, new in zip(session, after, strict=True):
            old[...] = new
        return after


class ChangesItself(Wrapped):
    def update(self, session: Any, context: Any, given: Any) -> Any:
        self.inner = LinUCB(l2=2.0).fit(CORPUS)
        return self.inner.update(session, context, given)


class Moody(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        self.calls += 1
        out = self.inner.score(session, context, items)
        return Scores(out.scores + 1e-15 * self.calls, out.widths)


class CountsEmptyRounds(Wrapped):
    def begin(self, context: Context, seed: int) -> Any:
        return self.inner.begin(context, seed), 0

    def update(self, session: Any, context: Any, given: Any) -> Any:
        return self.inner.update(session[0], context, given), session[1] + 1

    def score(self, session: Any, context: Any, items: Any) -> Scores:
        out = self.inner.score(session[0], context, items)
        return Scores(out.scores + 0.01 * session[1], out.widths)


class TakesAnything(Wrapped):
    def score(self, session: Any, context: Any, items: Any) -> Scores:
        return self.inner.score(session, context, np.clip(items[: len(context.user)], 0, len(CORPUS.items) - 1))


class Forgets(Wrapped):
    def save(self, path: Path) -> None:
        LinUCB(l2=3.0).fit(CORPUS).save(path)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (SaysNaN, "test_scores_are_finite_and_one_per_candidate"),
        (ConstantWidths, "test_widths_are_never_negative_and_never_constant"),
        (Negative, "test_widths_are_never_negative_and_never_constant"),
        (FeelsItsNeighbours, "test_a_session_does_not_feel_its_neighbours"),
        (FeelsItsBatch, "test_a_session_alone_equals_itself_in_the_crowd"),
        (FeelsItsPlace, "test_a_score_does_not_depend_on_the_place_in_the_pool"),
        (ChangesTheOldSession, "test_update_leaves_the_scorer_and_the_old_session_as_they_were"),
        (ChangesItself, "test_update_leaves_the_scorer_and_the_old_session_as_they_were"),
        (Moody, "test_scoring_twice_gives_the_same_scores"),
        (CountsEmptyRounds, "test_a_round_with_nothing_shown_changes_no_score"),
    ],
)
def test_a_broken_promise_is_noticed(broken: type[Wrapped], promise: str) -> None:
    check = getattr(Suite(), promise)
    check(Wrapped(), CORPUS, ROUNDS)
    with pytest.raises(AssertionError):
        check(broken(), CORPUS, ROUNDS)


def test_taking_unknown_items_and_losing_parameters_is_noticed(tmp_path: Path) -> None:
    suite = Suite()
    with pytest.raises(pytest.fail.Exception):
        suite.test_item_codes_that_are_not_of_the_corpus_are_refused(TakesAnything(), CORPUS, "score")
    suite.load = lambda scorer, path, corpus: type(scorer.inner).load(path, corpus)  # type: ignore[method-assign]
    suite.test_save_and_load_give_equal_scores(Wrapped(), CORPUS, ROUNDS, tmp_path)
    with pytest.raises(AssertionError):
        suite.test_save_and_load_give_equal_scores(Forgets(), CORPUS, ROUNDS, tmp_path)


@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_contexts_and_rounds_of_one_shape_only(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="knowledge"):
        Context(np.zeros(5, np.int64), np.zeros(shape), np.zeros(5), np.zeros(5))
