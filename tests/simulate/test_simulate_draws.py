"""Random numbers and pools: their distribution, their independence, and that they depend on nothing but their names."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw, Draws, session_key
from slateproof.simulate.pools import matched_pools

KEYS = np.array([session_key(f"irt/steady/{n}") for n in range(64)], np.uint64)
WORD = (1 << 64) - 1


def mix(x: int) -> int:
    """The finaliser of splitmix64 in whole numbers of Python: the independent restatement."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def test_a_number_is_the_documented_hash() -> None:
    step = 0x9E3779B97F4A7C15
    label = int.from_bytes(hashlib.sha256(b"irt/steady/3").digest()[:8], "little")
    purpose = int.from_bytes(hashlib.sha256(b"slateproof simulate 1\n42\nattempt").digest()[:8], "little")
    inner = mix((mix(label ^ purpose) + (5 + 1) * step) & WORD)
    expected = ((mix((inner + (17 + 2) * step) & WORD) >> 11) + 0.5) * 2.0**-53
    assert Draws(42).uniforms("attempt", KEYS[3:4], 5, np.array([[17]]))[0, 0] == expected


def test_uniform_and_uncorrelated() -> None:
    items = np.tile(np.arange(500), (64, 1))
    one = Draws(1).uniforms("attempt", KEYS, 0, items)
    assert 0.0 < one.min() < one.max() < 1.0
    assert stats.kstest(one.ravel(), "uniform").pvalue > 1e-3
    others = [
        Draws(1).uniforms("correct", KEYS, 0, items), Draws(1).uniforms("attempt", KEYS, 1, items),
        Draws(2).uniforms("attempt", KEYS, 0, items), np.roll(one, 1, axis=0), np.roll(one, 1, axis=1),
    ]  # fmt: skip
    for other in others:
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4.0 / np.sqrt(one.size)
    normal = Draw(Draws(1), KEYS, 0, items).session_normal("x", 200)
    assert stats.kstest(normal.ravel(), "norm").pvalue > 1e-3


def test_a_number_does_not_depend_on_its_company() -> None:
    items = np.tile(np.arange(50), (64, 1))
    whole = Draws(1).uniforms("attempt", KEYS, 3, items)
    assert np.array_equal(Draws(1).uniforms("attempt", KEYS[[9, 2]], 3, items[:2, ::-1])[:, ::-1], whole[[9, 2]])
    draw = Draw(Draws(1), KEYS, 3, items)
    assert np.array_equal(draw.take([4]).uniform("attempt")[0], draw.uniform("attempt")[4])


@pytest.mark.parametrize("size", [1, 7, 20])
def test_pools_hold_distinct_items_and_favour_none(size: int) -> None:
    pools = matched_pools(Draws(5), KEYS, 60, 20, size)
    assert pools.shape == (60, 64, size)
    assert (np.diff(pools, axis=2) > 0).all()
    assert pools.min() >= 0
    assert pools.max() < 20
    counts = np.bincount(pools.ravel(), minlength=20)
    assert stats.chisquare(counts).pvalue > 1e-3
    pairs = [(a in row) and (b in row) for row in pools.reshape(-1, size).tolist() for a, b in ((0, 19), (3, 4))]
    expected = size * (size - 1) / (20 * 19)
    assert abs(np.mean(pairs) - expected) < 4.0 * np.sqrt(max(expected * (1 - expected), 1e-12) / len(pairs)) + 1e-12


def test_pools_depend_on_seed_session_and_round_alone() -> None:
    whole = matched_pools(Draws(5), KEYS, 4, 150, 100)
    assert np.array_equal(matched_pools(Draws(5), KEYS[7:8], 2, 150, 100)[:, 0], whole[:2, 7])
    assert not np.array_equal(matched_pools(Draws(6), KEYS, 4, 150, 100), whole)
    assert not np.array_equal(whole[0], whole[1])


def test_a_pool_larger_than_the_catalogue_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"pool_size: must be at most the catalogue's 50 items \(got 51\)"):
        matched_pools(Draws(5), KEYS, 1, 50, 51)
