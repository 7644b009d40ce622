"""The typed result: order, codes, counts, difficulty rules, filters, split, digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof.corpora.build import Raw, build
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.difficulty import difficulty
from slateproof.corpora.split import split_users
from slateproof.errors import InvalidInput

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=60)


def corpus_of(rows: list[tuple[int, int, int, int]], **options: object) -> Corpus:
    user, item, response, time = (np.array(c) for c in zip(*rows, strict=True))
    ids = np.arange(10) * 10
    raw = Raw(
        user.astype(np.int32), ids, item.astype(np.int32), ids + 1, response.astype(float), response == 1, time.astype(np.int64)
    )
    base: dict[str, object] = {"name": "t", "licence": "none", "difficulty_rule": "success", "positive_rule": "response = 1"}
    return build(raw, **{**base, **options})  # type: ignore[arg-type]


@given(ROWS)
def test_the_rows_are_those_given_by_user_then_time_then_file_order(rows: list[tuple[int, int, int, int]]) -> None:
    corpus = corpus_of(rows)
    expected = [(u * 10, i * 10 + 1, r, t) for u, i, r, t in sorted(rows, key=lambda row: (row[0], row[3]))]
    assert corpus.time is not None
    found = zip(
        corpus.user_ids[corpus.user].tolist(),
        corpus.items.ids[corpus.item].tolist(),
        corpus.response.tolist(),
        corpus.time.tolist(),
        strict=True,
    )
    assert list(found) == expected
    seen: Counter[int] = Counter()
    for user, place in zip(corpus.user.tolist(), corpus.order.tolist(), strict=True):
        assert place == seen[user]
        seen[user] += 1
    assert np.diff(corpus.user_starts).tolist() == [seen[u] for u in range(corpus.users)]


@given(ROWS)
def test_difficulty_is_one_minus_success_and_counts_are_counts(rows: list[tuple[int, int, int, int]]) -> None:
    corpus = corpus_of(rows)
    answers = defaultdict(list)
    for _, item, response, _ in rows:
        answers[item * 10 + 1].append(response)
    for code, item in enumerate(corpus.items.ids.tolist()):
        assert corpus.items.count[code] == len(answers[item])
        assert corpus.items.difficulty[code] == pytest.approx(1 - sum(answers[item]) / len(answers[item]), abs=1e-15)


@given(ROWS, st.integers(1, 4), st.integers(1, 4))
def test_minimum_counts_leave_the_largest_set_in_which_both_hold(
    rows: list[tuple[int, int, int, int]], min_user: int, min_item: int
) -> None:
    kept = list(rows)
    while True:  # the plain statement: drop offenders until there are none
        users, items = Counter(r[0] for r in kept), Counter(r[1] for r in kept)
        left = [r for r in kept if users[r[0]] >= min_user and items[r[1]] >= min_item]
        if len(left) == len(kept):
            break
        kept = left
    if not kept:
        with pytest.raises(InvalidInput, match="after its filters"):
            corpus_of(rows, min_user=min_user, min_item=min_item)
        return
    corpus = corpus_of(rows, min_user=min_user, min_item=min_item)
    assert len(corpus) == len(kept)
    assert (corpus.users, len(corpus.items)) == (len({r[0] for r in kept}), len({r[1] for r in kept}))
    if (min_user, min_item) != (1, 1):
        assert corpus.filters[-1].to_dict() == {
            "name": f"at least {min_user} rows per user and {min_item} per item",
            "before": len(rows),
            "after": len(kept),
            "unit": "rows",
        }


def test_the_rescaled_rule_clips_to_the_5th_and_95th_percentile() -> None:
    wrong = np.arange(21)  # item k is answered wrongly k times of 20
    item = np.repeat(np.arange(21, dtype=np.int32), 20)
    positive = np.concatenate([np.arange(20) >= k for k in wrong])
    d = difficulty("success-rescaled", item, positive.astype(float), positive, 21)
    # percentiles of 0, .05, .., 1: .05 and .95
    assert d == pytest.approx(np.clip((wrong / 20 - 0.05) / 0.9, 0, 1))
    same = difficulty("success-rescaled", np.zeros(4, np.int32), np.ones(4), np.array([True, False, True, False]), 1)
    assert same.tolist() == [0.5]


def test_the_score_rule_is_one_minus_the_mean_score_over_100_and_refuses_other_scales() -> None:
    item = np.array([0, 0, 1], np.int32)
    assert difficulty("score", item, np.array([80.0, 60.0, 15.0]), np.ones(3, bool), 2) == pytest.approx([0.3, 0.85])
    with pytest.raises(InvalidInput) as refused:
        difficulty("score", item, np.array([80.0, 101.0, 15.0]), np.ones(3, bool), 2)
    assert (refused.value.field, refused.value.value, refused.value.where) == ("response", 101.0, 1)
    with pytest.raises(InvalidInput, match="success-rescaled"):
        difficulty("popularity", item, np.zeros(3), np.ones(3, bool), 2)


@given(st.integers(3, 400), st.integers(0, 5))
def test_the_split_cuts_by_user_in_the_stated_shares(users: int, seed: int) -> None:
    user = np.repeat(np.arange(users, dtype=np.int32), 1 + np.arange(users) % 3)
    split = split_users(user, users, seed)
    assert (split.train.astype(int) + split.valid + split.test == 1).all()
    parts = [set(user[mask].tolist()) for mask in (split.train, split.valid, split.test)]
    assert parts[0].isdisjoint(parts[1] | parts[2])
    assert parts[1].isdisjoint(parts[2])
    test = max(1, round(users / 5))
    assert [len(p) for p in parts[::-1]] == [
        test,
        max(1, round((users - test) / 10)),
        users - test - max(1, round((users - test) / 10)),
    ]
    assert (split.part[user[split.test]] == 2).all()


def test_the_split_is_seeded_and_ignores_the_order_of_the_file() -> None:
    rows = [(u, i, (u + i) % 2, i) for u in range(7) for i in range(6)]
    one, other = corpus_of(rows), corpus_of(rows[::-1])
    assert one.split().part.tolist() == other.split().part.tolist()
    assert one.split().part.tolist() == one.split(42).part.tolist()
    assert any(one.split(seed).part.tolist() != one.split().part.tolist() for seed in range(5))
    with pytest.raises(InvalidInput, match="three users"):
        corpus_of([(0, 0, 1, 0), (1, 0, 1, 0)]).split()


def test_the_digest_is_the_stated_hash_and_changes_with_every_part() -> None:
    corpus = corpus_of([(0, 0, 1, 5), (1, 2, 0, 3), (1, 0, 1, 4)], tags={1: ["a"], 21: ["b", "a"]})
    columns = {
        "user": corpus.user, "item": corpus.item, "response": corpus.response, "positive": corpus.positive, "time": corpus.time,
        "difficulty": corpus.items.difficulty, "tag_starts": corpus.items.tag_starts, "tag_codes": corpus.items.tag_codes,
    }  # fmt: skip
    types = {"user": "<i4", "item": "<i4", "response": "<f8", "positive": "|b1", "time": "<i8"}
    types |= {"difficulty": "<f8", "tag_starts": "<i8", "tag_codes": "<i4"}
    header = {
        "corpus": 1, "name": "t", "synthetic": False, "user_ids": [0, 10], "item_ids": [1, 21], "tags": ["a", "b"],
        "columns": {name: [types[name], len(column)] for name, column in columns.items()},  # type: ignore[arg-type]
    }  # fmt: skip
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    plain = text + b"".join(np.asarray(c).astype(types[n]).tobytes() for n, c in columns.items())
    assert corpus.digest == hashlib.sha256(plain).hexdigest()

    def changed(**what: object) -> str:
        return dataclasses.replace(corpus, **what).digest  # type: ignore[arg-type]

    variants = [
        changed(name="u"),
        changed(synthetic=True),
        changed(time=None),
        changed(response=corpus.response + 1),
        changed(positive=~corpus.positive),
        changed(user_ids=corpus.user_ids + 1),
        changed(items=dataclasses.replace(corpus.items, difficulty=corpus.items.difficulty * 0.5)),
        changed(items=dataclasses.replace(corpus.items, tag_names=("a", "c"))),
    ]
    assert len({corpus.digest, *variants}) == 1 + len(variants)
    assert changed(licence="other") == corpus.digest


def test_columns_are_closed_for_writing_and_the_result_is_frozen() -> None:
    corpus = corpus_of([(0, 0, 1, 0), (1, 1, 0, 0)])
    for column in (corpus.user, corpus.response, corpus.items.difficulty, corpus.user_starts):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.name = "x"  # type: ignore[misc]


def test_tags_are_sorted_unique_and_vectors_have_unit_length() -> None:
    corpus = corpus_of([(0, 0, 1, 0), (1, 1, 0, 0), (1, 2, 0, 0)], tags={1: ["b", "a", "b"], 21: ["c"], 99: ["never"]})
    assert corpus.items.tag_names == ("a", "b", "c")
    assert [corpus.items.tags(i) for i in range(3)] == [("a", "b"), (), ("c",)]
    half = 0.5**0.5
    assert corpus.items.tag_vectors() == pytest.approx(np.array([[half, half, 0], [0, 0, 0], [0, 0, 1]]))


def test_the_description_prints_what_it_keeps() -> None:
    corpus = corpus_of([(0, 0, 1, 0), (1, 1, 0, 0), (1, 0, 1, 0)], synthetic=True, min_user=1, min_item=2)
    text, kept = corpus.describe().to_text(), corpus.describe().to_dict()
    assert corpus.label == "t (synthetic)"
    assert text.splitlines()[0] == "t (synthetic: simulated responses, not observations)"
    assert "at least 1 rows per user and 2 per item: 3 -> 2 rows (1 left out)" in text
    assert corpus.digest in text
    assert kept["digest"] == corpus.digest
    assert (kept["interactions"], kept["users"], kept["items"], kept["synthetic"]) == (2, 2, 1, True)
    assert json.loads(json.dumps(kept)) == kept


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_minimum_counts_must_be_whole_numbers_from_1(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        corpus_of([(0, 0, 1, 0)], min_user=value)
    assert (refused.value.field, refused.value.rule) == ("min_user", "must be a whole number, at least 1")
