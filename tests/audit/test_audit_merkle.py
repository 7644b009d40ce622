"""The tree against RFC 6962's test vectors and against the RFC's own recursive definition."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof.audit.merkle import (
    EMPTY_ROOT,
    ConsistencyProof,
    InclusionProof,
    Peaks,
    consistency,
    inclusion,
    leaf_hash,
    root_of,
)
from slateproof.errors import InvalidInput

LEAVES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [  # the vectors of the Certificate Transparency reference implementation
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(data: list[bytes]) -> bytes:
    """RFC 6962, 2.1, as it is written."""
    if not data:
        return sha(b"")
    if len(data) == 1:
        return sha(b"\0" + data[0])
    k = split(len(data))
    return sha(b"\1" + mth(data[:k]) + mth(data[k:]))


def path(m: int, data: list[bytes]) -> list[bytes]:
    """RFC 6962, 2.1.1, as it is written."""
    if len(data) == 1:
        return []
    k = split(len(data))
    return [*path(m, data[:k]), mth(data[k:])] if m < k else [*path(m - k, data[k:]), mth(data[:k])]


def subproof(m: int, data: list[bytes], whole: bool) -> list[bytes]:
    """RFC 6962, 2.1.2, as it is written."""
    if m == len(data):
        return [] if whole else [mth(data)]
    k = split(len(data))
    if m <= k:
        return [*subproof(m, data[:k], whole), mth(data[k:])]
    return [*subproof(m - k, data[k:], False), mth(data[:k])]


def hashes(data: list[bytes]) -> bytes:
    return b"".join(leaf_hash(item) for item in data)


def test_roots_are_the_published_ones() -> None:
    assert hashlib.sha256(b"").digest() == EMPTY_ROOT == Peaks().root()
    for size, root in enumerate(ROOTS, 1):
        assert root_of(hashes(LEAVES[:size])).hex() == root == mth(LEAVES[:size]).hex()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 33])
def test_every_proof_is_the_rfc_one_and_verifies(size: int) -> None:
    data = [bytes([i]) * 3 for i in range(size)]
    leaves, root = hashes(data), mth(data)
    for index in range(size):
        proof = inclusion(leaves, index, size)
        assert list(proof) == path(index, data)
        assert InclusionProof(index, size, leaf_hash(data[index]), proof).verify(root)
    for old in range(1, size + 1):
        proof = consistency(leaves, old, size)
        assert list(proof) == subproof(old, data, True)
        assert ConsistencyProof(old, size, proof).verify(mth(data[:old]), root)
    assert ConsistencyProof(0, size, ()).verify(EMPTY_ROOT, root)


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.data())
def test_wrong_proofs_fail(data: list[bytes], draw: st.DataObject) -> None:
    size, leaves, root = len(data), hashes(data), mth(data)
    index = draw.draw(st.integers(0, size - 1))
    proof = InclusionProof(index, size, leaf_hash(data[index]), inclusion(leaves, index, size))
    other = sha(b"other")
    assert proof.verify(root)
    assert not proof.verify(other)
    assert not InclusionProof(index, size, other, proof.path).verify(root)
    assert not InclusionProof(size, size, proof.leaf, proof.path).verify(root)
    assert not InclusionProof(index, size, proof.leaf, (*proof.path, other)).verify(root)
    for place in range(len(proof.path)):
        path_ = [*proof.path]
        path_[place] = other
        assert not InclusionProof(index, size, proof.leaf, tuple(path_)).verify(root)
        assert not InclusionProof(index, size, proof.leaf, proof.path[:place]).verify(root)
    old = draw.draw(st.integers(1, size))
    both = ConsistencyProof(old, size, consistency(leaves, old, size))
    old_root = mth(data[:old])
    assert both.verify(old_root, root)
    assert not both.verify(other, root)
    assert not both.verify(old_root, other)
    assert not ConsistencyProof(old, size, (*both.path, other)).verify(old_root, root)
    assert not ConsistencyProof(size + 1, size, both.path).verify(old_root, root)
    for place in range(len(both.path)):
        steps = [*both.path]
        steps[place] = other
        assert not ConsistencyProof(old, size, tuple(steps)).verify(old_root, root)


@given(st.lists(st.binary(max_size=4), max_size=40), st.integers(0, 40))
def test_appending_in_pieces_is_appending_at_once(data: list[bytes], cut: int) -> None:
    peaks = Peaks()
    peaks.extend(hashes(data[:cut]))
    again = Peaks(peaks.size, peaks.hashes)
    again.extend(hashes(data[cut:]))
    assert again.size == len(data)
    assert again.root() == mth(data)
    assert peaks.root() == mth(data[:cut]), "a copy must not share state"


def test_a_large_tree_is_the_rfc_s_too() -> None:
    """Large perfect subtrees are hashed level by level, side by side, and in pieces."""
    size = (1 << 17) + (1 << 16) + 777
    leaves = b"".join(sha(i.to_bytes(4, "big")) for i in range(size))

    def plain(start: int, stop: int) -> bytes:
        if stop - start == 1:
            return leaves[32 * start : 32 * stop]
        middle = start + split(stop - start)
        return sha(b"\1" + plain(start, middle) + plain(middle, stop))

    root = plain(0, size)
    assert root_of(leaves) == root
    peaks = Peaks()
    for start, stop in ((0, 5), (5, 70_000), (70_000, size)):
        peaks.extend(leaves[32 * start : 32 * stop])
    assert peaks.root() == root
    index = 100_003
    assert InclusionProof(index, size, leaves[32 * index : 32 * index + 32], inclusion(leaves, index, size)).verify(root)


def test_peaks_that_do_not_fit_the_size_are_refused() -> None:
    with pytest.raises(InvalidInput, match="size 3 has 2 peaks"):
        Peaks(3, [bytes(32)])
