"""The held-out protocol against plain loops: who is observed, what is scored, and that nothing else is."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.blend import Blend
from slateproof.learn.evaluate import evaluate, held_out_scores
from slateproof.learn.linucb import LinUCB
from slateproof.learn.metrics import auc
from slateproof.learn.popularity import Popularity
from slateproof.learn.protocol import Context, Feedback, Scores

CORPUS = corpora.demo()


def test_log_loss_is_that_of_the_logits_where_the_loss_has_a_level(tmp_path: Path) -> None:
    from slateproof.learn.two_tower import TwoTower

    tiny = TwoTower(hidden=8, embedding=4, epochs=1)
    for loss in ("pointwise", "pairwise"):
        scorer = replace(tiny, loss=loss).fit(CORPUS)
        scorer.save(tmp_path / loss)
        held = type(scorer).load(tmp_path / loss, CORPUS)
        assert held.scale == scorer.scale
        found = evaluate(held, CORPUS, resamples=10).log_loss
        if loss == "pairwise":
            assert found is None
            continue
        rows = held_out_scores(scorer, CORPUS)
        chance = 1.0 / (1.0 + np.exp(-rows.scores))
        assert found is not None
        assert found.value == pytest.approx(-np.mean(np.log(np.where(rows.positive, chance, 1.0 - chance))))


class Spy:
    """A scorer that writes down what it is given, and scores item code + 1000 x number of answers seen."""

    name, ledger, corpus_digest = "spy", None, CORPUS.digest

    def __init__(self) -> None:
        self.seen: dict[int, list[tuple[int, bool]]] = {}
        self.asked: dict[int, list[int]] = {}
        self.states: dict[int, tuple[float, float]] = {}

    def begin(self, context: Context, seed: int) -> Any:
        return [()] * context.user.size

    def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
        out = []
        for s, old in enumerate(session):
            row = zip(feedback.items[s], feedback.attempted[s], feedback.correct[s], strict=True)
            kept = [(int(i), bool(c)) for i, a, c in row if a]
            self.seen.setdefault(int(context.user[s]), []).extend(kept)
            out.append((*old, *kept))
        return out

    def score(self, session: Any, context: Context, items: np.ndarray) -> Any:
        for s, user in enumerate(context.user.tolist()):
            self.asked.setdefault(user, []).extend(items[s].tolist())
            self.states[user] = (float(context.knowledge[s]), float(context.engagement[s]))
        seen = np.array([len(one) for one in session])[:, None]
        return Scores(items + 1000.0 * seen, None)


@pytest.mark.parametrize("group", [256, 7])
def test_the_first_half_is_observed_and_the_second_scored(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("slateproof.learn.evaluate"), "GROUP", group)
    spy = Spy()
    rows = held_out_scores(spy, CORPUS)
    part = CORPUS.split().part
    expected = []
    for u in range(CORPUS.users):
        mine = range(CORPUS.user_starts[u], CORPUS.user_starts[u + 1])
        half = len(mine) // 2
        if part[u] != 2 or len(mine) < 2:
            assert u not in spy.asked
            continue
        past = [(int(CORPUS.item[r]), bool(CORPUS.positive[r])) for r in mine[:half]]
        assert spy.seen[u] == past
        assert spy.asked[u][: len(mine) - half] == [int(CORPUS.item[r]) for r in mine[half:]]
        assert not any(spy.asked[u][len(mine) - half :])
        assert spy.states[u] == pytest.approx((np.mean([c for _, c in past]), 1.0))
        expected += [(u, int(CORPUS.item[r]), bool(CORPUS.positive[r]), CORPUS.item[r] + 1000.0 * half) for r in mine[half:]]
    assert list(zip(rows.user.tolist(), rows.item.tolist(), rows.positive.tolist(), rows.scores.tolist(), strict=True)) == expected


def test_figures_are_the_metrics_of_the_scored_rows() -> None:
    scorer = Popularity().fit(CORPUS)
    rows = held_out_scores(scorer, CORPUS)
    result = evaluate(scorer, CORPUS, resamples=50)
    assert result.auc.value == auc(rows.positive, rows.scores)
    assert (result.users, result.rows) == (24, rows.user.size)
    assert result.log_loss is not None
    assert result.log_loss.value < np.log(2.0)
    assert result == evaluate(scorer, CORPUS, resamples=50)
    assert result != evaluate(scorer, CORPUS, resamples=50, rng=np.random.default_rng(1))


def test_observing_helps_a_learner_that_learns() -> None:
    """LinUCB with its updates thrown away knows nobody; with them it knows who is good."""

    class Deaf:
        def __init__(self, inner: Any) -> None:
            self._inner, self.name = inner, "deaf"

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
            return session

    corpus = corpora.synthetic_education(users=3000, items=60, per_user=30.0, skills=6)
    scorer = LinUCB().fit(corpus)
    learned, deaf = evaluate(scorer, corpus, resamples=20), evaluate(Deaf(scorer), corpus, resamples=20)
    assert learned.auc.low > deaf.auc.high


def test_a_corpus_whose_test_users_have_one_row_is_refused(tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("u,i,r\n" + "\n".join(f"{u},{u % 3},{u % 2}" for u in range(12)) + "\n")
    corpus = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r")
    with pytest.raises(InvalidInput, match="test user with at least two rows"):
        evaluate(Popularity().fit(corpus), corpus)


def test_a_blend_is_evaluated_on_the_catalogue_as_one_pool() -> None:
    """Padding and neighbours would change what its scores are standardised by."""
    scorer = Blend(Popularity(), LinUCB(), 0.5).fit(CORPUS)
    rows = held_out_scores(scorer, CORPUS)
    user = int(rows.user[0])
    mine = np.arange(CORPUS.user_starts[user], CORPUS.user_starts[user + 1])
    seen = mine[: mine.size // 2]
    context = Context(np.array([user]), np.array([0.5]), np.array([0.5]), np.array([0.5]))
    session = scorer.begin(context, 42)
    ones = np.ones((1, seen.size), bool)
    session = scorer.update(session, context, Feedback(CORPUS.item[seen][None].astype(np.int64), ones, CORPUS.positive[seen][None]))
    scores = scorer.score(session, context, np.arange(len(CORPUS.items))[None]).scores[0]
    np.testing.assert_allclose(rows.scores[rows.user == user], scores[CORPUS.item[mine[mine.size // 2 :]]], atol=1e-12)


def test_what_the_rows_do_not_define_is_none(tmp_path: Any) -> None:
    """Everybody always succeeds: there is no AUC, and NDCG is 1."""
    (tmp_path / "t.csv").write_text("u,i,r\n" + "\n".join(f"{u},{i},1" for u in range(12) for i in range(4)) + "\n")
    corpus = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r")
    result = evaluate(Popularity().fit(corpus), corpus, resamples=5)
    assert (result.auc, result.auc_user) == (None, None)
    assert result.ndcg is not None
    assert result.ndcg.value == 1.0
    assert result.to_dict()["auc"] is None
    assert "AUC, pooled          -" in result.to_text()
