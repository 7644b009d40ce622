"""A table of pools: every row is a session of its own, whatever else stands in the table; what is not an id is refused by row."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slateproof import corpora, learn
from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Context, Scores

CORPUS = corpora.demo()


def tiny(name: str) -> Any:
    from slateproof.learn.dkt import DKT
    from slateproof.learn.two_tower import TwoTower

    tower = TwoTower(hidden=16, embedding=8, epochs=1, widths="bootstrap", heads=3)
    made = {"two-tower": tower, "dkt": DKT(width=8, epochs=1), "blend": learn.Blend(learn.learner("mf-bce"), tower)}
    return made.get(name) or learn.learner(name)


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    ids = [rng.choice(CORPUS.items.ids, 12 if k % 4 else 5, replace=False).tolist() for k in range(rows)]
    users = [None if k % 3 == 0 else str(CORPUS.user_ids[k % CORPUS.users]) for k in range(rows)]
    return pa.table({"ids": ids, "user": users, "knowledge": rng.random(rows)})


@pytest.mark.parametrize("name", ["linucb", "als", "two-tower", "dkt", "blend"])
def test_a_row_has_the_same_bits_alone_and_in_any_table(name: str) -> None:
    scorer, pools = tiny(name).fit(CORPUS), table(400)
    whole = learn.score_pools(scorer, CORPUS, pools)
    order = np.random.default_rng(1).permutation(400)
    assert learn.score_pools(scorer, CORPUS, pools.take(order)).equals(whole.take(order))
    for row in (0, 1, 341, 399):  # 300 pools have 12 items, so that the last chunk is a short one
        assert learn.score_pools(scorer, CORPUS, pools.slice(row, 1)).equals(whole.slice(row, 1))


def test_calls_are_bounded_and_cover_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("slateproof.learn.train"), "CHUNK", 16)
    calls: list[tuple[int, ...]] = []

    class Spy:
        name, corpus_digest, ledger = "spy", CORPUS.digest, None

        def begin(self, context: Context, seed: int) -> int:
            return context.user.size

        def score(self, session: int, context: Context, items: np.ndarray) -> Scores:
            calls.append(items.shape)
            assert session == context.user.size == len(items)
            return Scores(items.astype(float), None)

    out = learn.score_pools(Spy(), CORPUS, table(50))  # type: ignore[arg-type]
    assert calls == [(13, 5), (16, 12), (16, 12), (5, 12)]
    for ids, scores in zip(out["ids"].to_pylist(), out["scores"].to_pylist(), strict=True):
        assert CORPUS.items.ids[np.array(scores, int)].tolist() == ids


@pytest.mark.parametrize(
    ("ids", "rule", "value"),
    [
        ([["e001"], ["e002", None]], "must not hold a null", None),
        ([["e001"], [None]], "must not hold a null", None),
        ([["e001"], ["e002", "e999"]], "is not in the corpus", "e999"),
    ],
)
def test_ids_that_are_none_are_refused_by_their_row(ids: list[list[str | None]], rule: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        learn.score_pools(learn.learner("popularity").fit(CORPUS), CORPUS, pa.table({"ids": ids}))
    assert (refused.value.field, refused.value.rule, refused.value.value, refused.value.where) == ("ids", rule, value, 1)


def test_whole_numbers_of_every_kind_are_ids_and_other_kinds_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{u},{10 * i},{(u + i) % 2}\n" for u in range(4) for i in range(12))
    (tmp_path / "t.csv").write_text("u,i,r\n" + rows, "utf-8")
    numbered = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r")
    for kind in (np.uint8, np.uint64, np.int32, np.int64):
        assert learn.codes_of(numbered, np.array([110, 0, 20], kind)).tolist() == [11, 0, 2]
    pools = pa.table({"ids": pa.array([[110, 20]], pa.list_(pa.uint64()))})
    out = learn.score_pools(learn.learner("popularity").fit(numbered), numbered, pools)
    assert out["targets"].to_pylist() == [numbered.items.difficulty[[11, 2]].tolist()]
    whole = "of this corpus are whole numbers"
    for wrong, rule, value, place in (
        ([0, None], "must not hold a null", None, 1),
        ([True, False], whole, True, 0),
        ([1.0], whole, 1.0, 0),
        (np.array([0, 2**63 + 5], np.uint64), "is not in the corpus", 2**63 + 5, 1),
        ([0, 2**70], "is not in the corpus", 2**70, 1),
        (np.array([0, "10"], object), whole, "10", 1),
    ):
        with pytest.raises(InvalidInput) as refused:
            learn.codes_of(numbered, wrong)
        assert (refused.value.rule, refused.value.value, refused.value.where) == (rule, value, place)
    with pytest.raises(InvalidInput, match="must not hold a null"):
        learn.codes_of(CORPUS, ["e001", None])
    assert learn.codes_of(CORPUS, np.array(["e002", "e001"], object)).tolist() == [1, 0]
