"""What every learner must satisfy. A learner's test inherits ``LearnerConformance`` and says how to make the learner.

    from conformance import LearnerConformance

    class TestPopularity(LearnerConformance):
        def make(self): return Popularity()

``exact`` False allows 1e-6 (relative to the largest score) where a session is scored in another batch: for learners whose matrix
products are blocked by batch size. ``draws`` True says that sessions draw from streams derived from their place in the batch, so
that a session alone is another session; then only the independence of neighbours is asked. Everything else is bit for bit.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from slateproof import corpora
from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.modelfile import read
from slateproof.learn.protocol import Context, Feedback

SESSIONS, POOL, SLATE, ROUNDS = 6, 20, 5, 3


def contexts(corpus: Corpus, sessions: int = SESSIONS) -> Context:
    """Known users of every part of the split, an unknown one, and states that differ."""
    rng = np.random.default_rng(7)
    part = corpus.split().part
    known = [int(np.flatnonzero(part == p)[i]) for i in range(2) for p in (0, 2, 1)]
    user = np.array([*known[: sessions - 1], -1], np.int64)
    return Context(user, rng.uniform(0.1, 0.9, user.size), rng.uniform(0.1, 0.9, user.size), rng.uniform(0.1, 0.9, user.size))


def pools(corpus: Corpus, sessions: int = SESSIONS, size: int = POOL, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(len(corpus.items), size, replace=False) for _ in range(sessions)], np.int64)


def feedback(corpus: Corpus, seed: int, sessions: int = SESSIONS) -> Feedback:
    """A round with every kind of place: padding, shown and not tried, tried and failed, tried and done."""
    rng = np.random.default_rng(seed)
    items = pools(corpus, sessions, SLATE, seed)
    items[::2, -1] = -1
    attempted = (rng.random(items.shape) < 0.8) & (items >= 0)
    attempted[:, 0] = True
    return Feedback(items, attempted, attempted & (rng.random(items.shape) < 0.6))


def rows(value: Any, keep: Any) -> Any:
    """A context or a round of some of the sessions."""
    if isinstance(value, Context):
        return Context(value.user[keep], value.knowledge[keep], value.engagement[keep], value.uncertainty[keep])
    return Feedback(value.items[keep], value.attempted[keep], value.correct[keep])


def run(scorer: Any, context: Context, rounds: list[Feedback], items: np.ndarray, seed: int = 11) -> Any:
    session = scorer.begin(context, seed)
    for one in rounds:
        session = scorer.update(session, context, one)
    return scorer.score(session, context, items)


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.scores, other.scores)
    assert (one.widths is None) == (other.widths is None)
    if one.widths is not None:
        np.testing.assert_array_equal(one.widths, other.widths)


class LearnerConformance:
    exact: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    online: ClassVar[bool] = True
    """Whether feedback moves the scores."""

    def make(self) -> Any:
        """The learner under test, in a configuration that fits in about a second."""
        raise NotImplementedError

    def make_corpus(self) -> Corpus:
        return corpora.load("synthetic-demo")

    def load(self, scorer: Any, path: Path, corpus: Corpus) -> Any:
        """Read a model file back; a wrapper that needs the user's own object overrides this."""
        return type(scorer).load(path, corpus)

    @pytest.fixture(scope="class")
    @classmethod
    def corpus(cls) -> Corpus:
        return cls().make_corpus()

    @pytest.fixture(scope="class")
    @classmethod
    def scorer(cls, corpus: Corpus) -> Any:
        return cls().make().fit(corpus, seed=42)

    @pytest.fixture(scope="class")
    @classmethod
    def rounds(cls, corpus: Corpus) -> list[Feedback]:
        return [feedback(corpus, 100 + t) for t in range(ROUNDS)]

    def _near(self, one: Any, other: Any) -> None:
        if self.exact:
            same(one, other)
            return
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-6 * max(1.0, float(np.abs(one.scores).max())))
        if one.widths is not None:
            np.testing.assert_allclose(one.widths, other.widths, rtol=0, atol=1e-6 * max(1.0, float(one.widths.max())))

    def test_names_itself_and_its_corpus(self, scorer: Any, corpus: Corpus) -> None:
        assert scorer.name == self.make().name
        assert scorer.corpus_digest == corpus.digest
        assert scorer.ledger is None or scorer.ledger.to_dict()

    def test_scores_are_finite_and_one_per_candidate(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        for sessions, size in ((SESSIONS, POOL), (SESSIONS, 1), (1, POOL)):
            context = rows(contexts(corpus), slice(sessions))
            out = run(scorer, context, [rows(one, slice(sessions)) for one in rounds], pools(corpus, sessions, size))
            assert out.scores.shape == (sessions, size)
            assert out.scores.dtype == np.float64
            assert np.isfinite(out.scores).all()

    def test_widths_are_never_negative_and_never_constant(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        for seen in ([], rounds):
            out = run(scorer, contexts(corpus), seen, pools(corpus))
            if out.widths is None:
                continue
            assert out.widths.shape == out.scores.shape
            assert np.isfinite(out.widths).all()
            assert (out.widths >= 0.0).all()
            assert (np.ptp(out.widths, axis=1) > 0.0).all(), "a width that is the same for all candidates says nothing"

    def test_fitting_twice_gives_the_same_scorer(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        again = self.make().fit(corpus, seed=42)
        same(run(scorer, contexts(corpus), rounds, pools(corpus)), run(again, contexts(corpus), rounds, pools(corpus)))

    def test_scoring_twice_gives_the_same_scores(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        same(run(scorer, contexts(corpus), rounds, pools(corpus)), run(scorer, contexts(corpus), rounds, pools(corpus)))

    def test_a_session_does_not_feel_its_neighbours(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        """Session 2 among others who did and were shown something else."""
        context, items = contexts(corpus), pools(corpus)
        strangers = [feedback(corpus, 900 + t) for t in range(ROUNDS)]
        for mine, theirs in zip(rounds, strangers, strict=True):
            for name in ("items", "attempted", "correct"):
                getattr(theirs, name)[2] = getattr(mine, name)[2]
        other_items = pools(corpus, seed=4)
        other_items[2] = items[2]
        here, there = run(scorer, context, rounds, items), run(scorer, context, strangers, other_items)
        np.testing.assert_array_equal(here.scores[2], there.scores[2])
        if here.widths is not None:
            np.testing.assert_array_equal(here.widths[2], there.widths[2])

    def test_a_session_alone_equals_itself_in_the_crowd(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        if self.draws:
            pytest.skip("sessions draw by their place in the batch")
        context, items = contexts(corpus), pools(corpus)
        crowd = run(scorer, context, rounds, items)
        for keep in ([3], [0], list(reversed(range(SESSIONS)))):
            some = run(scorer, rows(context, keep), [rows(one, keep) for one in rounds], items[keep])
            widths = None if crowd.widths is None else crowd.widths[keep]
            self._near(type(crowd)(crowd.scores[keep], widths), some)

    def test_a_score_does_not_depend_on_the_place_in_the_pool(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        items = pools(corpus)
        turn = np.random.default_rng(1).permutation(POOL)
        straight = run(scorer, contexts(corpus), rounds, items)
        turned = run(scorer, contexts(corpus), rounds, items[:, turn])
        widths = None if straight.widths is None else straight.widths[:, turn]
        self._near(type(straight)(straight.scores[:, turn], widths), turned)

    def test_update_leaves_the_scorer_and_the_old_session_as_they_were(self, scorer: Any, corpus: Corpus, rounds: list) -> None:
        context, items = contexts(corpus), pools(corpus)
        start = scorer.begin(context, 11)
        before = scorer.score(start, context, items)
        later = start
        for one in rounds:
            later = scorer.update(later, context, one)
        moved = scorer.score(later, context, items)
        same(before, scorer.score(start, context, items))
        same(before, run(scorer, context, [], items))
        assert self.online == (not np.array_equal(before.scores, moved.scores))

    def test_a_round_with_nothing_shown_changes_no_score(self, scorer: Any, corpus: Corpus, rounds: list[Feedback]) -> None:
        nothing = np.zeros((SESSIONS, SLATE), np.bool_)
        empty = Feedback(np.full((SESSIONS, SLATE), -1, np.int64), nothing, nothing)
        context, items = contexts(corpus), pools(corpus)
        same(run(scorer, context, rounds, items), run(scorer, context, [*rounds, empty], items))

    @pytest.mark.parametrize("where", ["score", "update"])
    def test_item_codes_that_are_not_of_the_corpus_are_refused(self, scorer: Any, corpus: Corpus, where: str) -> None:
        context = contexts(corpus)
        session = scorer.begin(context, 11)
        for code in (len(corpus.items), -2 if where == "update" else -1):
            items = pools(corpus)
            items[1, 2] = code
            ones = np.zeros(items.shape, np.bool_)
            given = {"score": items, "update": Feedback(items, ones, ones)}[where]
            with pytest.raises(InvalidInput) as refusal:
                getattr(scorer, where)(session, context, given)
            assert refusal.value.field == "items"
            assert refusal.value.value == code

    def test_items_of_another_number_of_sessions_are_refused(self, scorer: Any, corpus: Corpus) -> None:
        context = contexts(corpus)
        with pytest.raises(InvalidInput, match="items"):
            scorer.score(scorer.begin(context, 11), context, pools(corpus)[:-1])

    def test_save_and_load_give_equal_scores(self, scorer: Any, corpus: Corpus, rounds: list[Feedback], tmp_path: Path) -> None:
        scorer.save(tmp_path / "m.npz")
        back = self.load(scorer, tmp_path / "m.npz", corpus)
        assert (back.name, back.corpus_digest) == (scorer.name, scorer.corpus_digest)
        assert (back.ledger is None) == (scorer.ledger is None)
        same(run(scorer, contexts(corpus), rounds, pools(corpus)), run(back, contexts(corpus), rounds, pools(corpus)))
        back.save(tmp_path / "again.npz")
        assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()

    def test_the_model_file_says_where_it_comes_from(self, scorer: Any, corpus: Corpus, tmp_path: Path) -> None:
        scorer.save(tmp_path / "m.npz")
        model = read(tmp_path / "m.npz")
        assert (model.corpus_digest, model.corpus_label, model.seed) == (corpus.digest, corpus.label, 42)
        assert {"python", "numpy", "slateproof"} <= set(model.versions)

    def test_a_model_of_another_corpus_is_refused(self, scorer: Any, corpus: Corpus, tmp_path: Path) -> None:
        scorer.save(tmp_path / "m.npz")
        other = corpora.demo(seed=5)
        assert other.digest != corpus.digest
        with pytest.raises(InvalidInput, match=r"corpus: must be the one the model was fitted on"):
            self.load(scorer, tmp_path / "m.npz", other)

    def test_a_damaged_model_is_refused(self, scorer: Any, corpus: Corpus, tmp_path: Path) -> None:
        scorer.save(tmp_path / "m.npz")
        data = (tmp_path / "m.npz").read_bytes()
        (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
        with pytest.raises(InvalidInput, match="model: is damaged"):
            self.load(scorer, tmp_path / "cut.npz", corpus)

    def test_the_learner_is_a_frozen_value(self) -> None:
        learner = self.make()
        assert pickle.loads(pickle.dumps(learner)) == learner
        with pytest.raises((AttributeError, TypeError)):
            learner.anything = 1
