"""Hashing side by side against ``hashlib``, at every length around the edges of a block, and without Numba."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slateproof.audit.canonical import texts_of
from slateproof.audit.sha256 import LANES, Ragged, digests, digests_of_padded, digests_of_ragged, padded

# FIPS 180-4's own examples, and the digest of nothing.
PUBLISHED = {
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
}


def table(size: int, width: int) -> np.ndarray:
    return np.random.default_rng(size * 1000 + width).integers(0, 256, (size, width)).astype(np.uint8)


@pytest.mark.parametrize("message", PUBLISHED)
def test_published_digests(message: bytes) -> None:
    rows = np.frombuffer(message, np.uint8)[None, :].repeat(3, axis=0)
    assert [text.hex() for text in texts_of(digests(rows))] == [PUBLISHED[message]] * 3


@pytest.mark.parametrize("size", [1, LANES - 1, LANES, LANES + 1, 3 * LANES + 5])
def test_every_length_is_hashlib_s(size: int) -> None:
    for width in (*range(130), 247, 248, 2478):
        rows = table(size, width)
        assert texts_of(digests(rows)) == [hashlib.sha256(text).digest() for text in texts_of(rows)], width


def test_a_table_with_its_padding_can_be_used_again() -> None:
    whole = padded(5, 70)
    for seed in (5, 3, 5):
        rows = table(seed, 70)
        whole[:seed, :70] = rows
        assert np.array_equal(digests_of_padded(whole[:seed], 70), digests(rows))


def ragged(seed: int, size: int, most: int) -> Ragged:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, most + 1, size)
    lengths[: min(size, 130)] = np.arange(min(size, 130)) % (most + 1)
    values = rng.integers(0, 256, int(lengths.sum()) + 7).astype(np.uint8)
    order = rng.permutation(size)
    starts = np.empty(size, np.int64)
    starts[order] = 7 + np.concatenate([[0], np.cumsum(lengths[order])[:-1]])
    return Ragged(values, starts, lengths)


@pytest.mark.parametrize("size", [1, 5, 300, 1000])
def test_messages_of_any_length_are_hashlib_s(size: int) -> None:
    parts = [ragged(1, size, 9), ragged(2, size, 129), ragged(3, size, 0), ragged(4, size, 700)]
    wanted = [
        hashlib.sha256(b"".join(part.values[part.starts[row] :][: part.lengths[row]].tobytes() for part in parts)).digest()
        for row in range(size)
    ]
    assert texts_of(digests_of_ragged(parts)) == wanted


WITHOUT = """
import hashlib, numpy as np
from slateproof.audit.sha256 import Ragged, digests, digests_of_padded, digests_of_ragged, padded
pieces = Ragged(np.arange(9).astype(np.uint8), np.array([4, 0, 9]), np.array([5, 3, 0]))
wanted = [hashlib.sha256(2 * text).digest() for text in (bytes(range(4, 9)), bytes(range(3)), b"")]
assert [row.tobytes() for row in digests_of_ragged([pieces, pieces])] == wanted
rows = np.arange(6 * 70).astype(np.uint8).reshape(6, 70)
whole = padded(6, 70)
whole[:, :70] = rows
wanted = [hashlib.sha256(row.tobytes()).digest() for row in rows]
assert [row.tobytes() for row in digests(rows)] == [row.tobytes() for row in digests_of_padded(whole, 70)] == wanted
"""


def test_without_numba_the_digests_are_the_same(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", WITHOUT], env=environment, cwd=tmp_path, check=True)
