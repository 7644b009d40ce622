"""The contribution cap against a plain restatement of its documentation, and its invariances."""

from __future__ import annotations

import hashlib
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof import privacy as pv
from slateproof.errors import InvalidInput

KEY = b"sixteen bytes ok"

ids = st.one_of(st.integers(-3, 6), st.sampled_from(["a", "b", "1", "", "é"]))
logs = st.lists(st.tuples(ids, ids), max_size=60)


def canonical(item: int | str) -> bytes:
    content = item.to_bytes(8, "little", signed=True) if isinstance(item, int) else item.encode()
    return (b"i" if isinstance(item, int) else b"s") + len(content).to_bytes(8, "little") + content


def oracle(rows: list[tuple[int | str, int | str]], cap: int, key: bytes) -> list[int]:
    """The documented rule, in plain loops: per user, the rounds with the smallest hashes."""

    def digest(pair: tuple[int | str, int | str]) -> bytes:
        return hashlib.blake2b(
            canonical(pair[0]) + canonical(pair[1]), digest_size=16, key=key, person=b"slateproof cap 1"
        ).digest()

    kept = {pair for user in {u for u, _ in rows} for pair in sorted({p for p in rows if p[0] == user}, key=digest)[:cap]}
    return [place for place, pair in enumerate(rows) if pair in kept]


def run(rows: list[tuple[int | str, int | str]], cap: int, key: bytes = KEY) -> pv.Cap:
    return pv.cap_contributions([u for u, _ in rows], [r for _, r in rows], max_rounds_per_user=cap, key=key)


@given(logs, st.integers(1, 4))
def test_it_does_what_the_documentation_says(rows: list[tuple[int | str, int | str]], cap: int) -> None:
    found = run(rows, cap)
    assert found.kept.tolist() == oracle(rows, cap, KEY)
    rounds = {user: len({p for p in rows if p[0] == user}) for user, _ in rows}
    assert found.to_dict() == {
        "max_rounds_per_user": cap,
        "users": len(rounds),
        "capped_users": sum(many > cap for many in rounds.values()),
        "rounds": sum(rounds.values()),
        "dropped_rounds": sum(max(0, many - cap) for many in rounds.values()),
    }


@given(logs, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[tuple[int | str, int | str]], cap: int, rng: random.Random) -> None:
    shuffled = rows.copy()
    rng.shuffle(shuffled)
    one = {rows[place] for place in run(rows, cap).kept}
    assert one == {shuffled[place] for place in run(shuffled, cap).kept}


@given(logs, st.integers(1, 4))
def test_other_users_do_not_matter_and_the_result_passes_the_check(rows: list[tuple[int | str, int | str]], cap: int) -> None:
    kept = [rows[place] for place in run(rows, cap).kept]
    for user in {u for u, _ in rows}:
        alone = [pair for pair in rows if pair[0] == user]
        assert [alone[place] for place in run(alone, cap).kept] == [pair for pair in kept if pair[0] == user]
    pv.check_cap([u for u, _ in kept], [r for _, r in kept], max_rounds_per_user=cap)


def test_the_key_decides() -> None:
    rows: list[tuple[int | str, int | str]] = [(1, round_) for round_ in range(200)]
    kept = [tuple(run(rows, 20, bytes([k]) * 16).kept) for k in range(5)]
    assert len(set(kept)) == 5
    assert tuple(run(rows, 20, bytes(16)).kept) == kept[0]


def test_every_round_of_a_user_has_the_same_chance() -> None:
    rows: list[tuple[int | str, int | str]] = [(user, round_) for user in range(4000) for round_ in range(5)]
    counts = np.bincount(run(rows, 2).kept % 5, minlength=5)
    assert counts.sum() == 8000
    assert abs(counts - 1600).max() < 5 * np.sqrt(4000 * 0.4 * 0.6)


def test_a_cap_below_the_recorded_rounds_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="below the 3 rounds recorded") as caught:
        pv.check_cap(["ann", "bob", "bob", "bob", "bob"], [1, 1, 2, 3, 3], max_rounds_per_user=2)
    assert (caught.value.field, caught.value.value, caught.value.where) == ("max_rounds_per_user", 2, "bob")
    pv.check_cap(["ann", "bob", "bob", "bob", "bob"], [1, 1, 2, 3, 3], max_rounds_per_user=3)


def test_nothing_in_nothing_out() -> None:
    assert run([], 3).kept.size == 0
    pv.check_cap([], [], max_rounds_per_user=1)


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [
        ({"key": b"short"}, "key"),
        ({"key": "a text of sixteen"}, "key"),
        ({"key": bytes(65)}, "key"),
        ({"max_rounds_per_user": 0}, "max_rounds_per_user"),
        ({"rounds": [1, 2]}, "rounds"),
        ({"users": [1.5, 2, 3]}, "users"),
        ({"rounds": [1, True, 2]}, "rounds"),
        ({"users": ["a", "b", "\ud800"]}, "users"),
        ({"rounds": ["\udfff", "b", "c"]}, "rounds"),
    ],
)
def test_refusals(kwargs: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pv.cap_contributions(**{"users": [1, 2, 3], "rounds": [1, 2, 3], "max_rounds_per_user": 1, "key": KEY, **kwargs})  # type: ignore[arg-type]
    assert caught.value.field == field
    if field == "key":
        assert "short" not in str(caught.value)


@pytest.mark.slow
def test_a_million_rows_take_seconds() -> None:
    rng = np.random.default_rng(7)
    users, rounds = rng.integers(0, 30_000, 1_000_000), np.arange(1_000_000)
    start = time.perf_counter()
    cap = pv.cap_contributions(users, rounds, max_rounds_per_user=20, key=KEY)
    assert time.perf_counter() - start < 20
    assert cap.dropped_rounds == np.maximum(np.bincount(users) - 20, 0).sum()
