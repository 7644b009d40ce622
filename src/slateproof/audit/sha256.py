"""SHA-256 (FIPS 180-4) of many messages of one length at once, side by side in the lanes of the processor's vector units.

A log hashes a dozen short messages per record, and most of the time of one call of ``hashlib`` is the call. Here one pass of the
compression function serves ``LANES`` messages. Without Numba the same digests come from ``hashlib``, and the tests compare the two.

Scope: none; a hash function.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from slateproof.select.kernels import compiled
from slateproof.types.columns import frozen

__all__ = ["DIGEST", "LANES", "Ragged", "digests", "digests_of_padded", "digests_of_ragged", "padded"]

DIGEST, BLOCK, LANES = 32, 64, 64
"""Bytes of a digest and of a block; messages per pass."""

_U = np.uint32
_inlined = numba.njit(inline="always")


def digests(table: Any) -> Any:
    """The digests, (n, 32) bytes, of the n rows of an (n, w) table of bytes."""
    if numba.config.DISABLE_JIT:
        found = b"".join([hashlib.sha256(row).digest() for row in np.ascontiguousarray(table)])
        return np.frombuffer(found, np.uint8).reshape(len(table), DIGEST).copy()
    whole = padded(len(table), table.shape[1])
    whole[:, : table.shape[1]] = table
    return digests_of_padded(whole, table.shape[1])


def padded(size: int, width: int) -> Any:
    """A table with a row of whole blocks for each of ``size`` messages of ``width`` bytes; the padding is there already."""
    blocks = (width + 9 + BLOCK - 1) // BLOCK
    table = np.zeros((size, blocks * BLOCK), np.uint8)
    table[:, width] = 0x80
    table[:, -8:] = np.frombuffer((8 * width).to_bytes(8, "big"), np.uint8)
    return table


def digests_of_padded(table: Any, width: int) -> Any:
    """The digests of the messages in a table that ``padded`` made for ``width``."""
    if numba.config.DISABLE_JIT:
        return digests(table[:, :width])
    out = np.empty((len(table), DIGEST // 4), np.uint32)
    _digest(table.view(np.uint32), _CONSTANTS, _START, np.empty((64 + 8 + 8, LANES), np.uint32), out)
    return out.view(np.uint8)


class Ragged(NamedTuple):
    """One piece of every message: ``lengths`` bytes from ``starts`` on in ``values``, a column of bytes.

    Scope: none; bytes.
    """

    values: Any
    starts: Any
    lengths: Any


def digests_of_ragged(parts: Sequence[Ragged]) -> Any:
    """The digests, (n, 32) bytes, of n messages of any length, each its pieces in ``parts`` one after the other.

    Messages of as many blocks go side by side.
    """
    size = len(parts[0].starts)
    out = np.empty((size, DIGEST), np.uint8)
    if numba.config.DISABLE_JIT:
        texts = [[part.values[a : a + n].tobytes() for a, n in zip(part.starts, part.lengths, strict=True)] for part in parts]
        found = b"".join([hashlib.sha256(b"".join(text)).digest() for text in zip(*texts, strict=True)])
        return np.frombuffer(found, np.uint8).reshape(-1, DIGEST).copy()
    blocks = (sum(part.lengths for part in parts) + 9 + BLOCK - 1) // BLOCK
    order = np.argsort(blocks, kind="stable")
    ends = np.flatnonzero(np.diff(blocks[order], append=-1)) + 1
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        for start in range(first, last, _AT_ONCE):
            rows = order[start : min(start + _AT_ONCE, last)]
            table = np.zeros((len(rows), int(blocks[rows[0]]) * BLOCK), np.uint8)
            place = np.zeros(len(rows), np.int64)
            for part in parts:
                _lay(table, place, rows, part.values, part.starts, part.lengths)
            _close(table, place)
            out[rows] = digests_of_padded(table, table.shape[1])
    return out


_AT_ONCE = 256
"""Messages laid out at a time: few enough to stay in the processor's cache."""


@compiled
def _lay(table: Any, place: Any, rows: Any, values: Any, starts: Any, lengths: Any) -> None:
    """Append a piece to every message; ``place`` says how long they are."""
    for k in range(rows.size):
        at, a = place[k], starts[rows[k]]
        for i in range(lengths[rows[k]]):
            table[k, at + i] = values[a + i]
        place[k] = at + lengths[rows[k]]


@compiled
def _close(table: Any, place: Any) -> None:
    """The padding of every message: a one, zeros, and how many bits it has."""
    for k in range(place.size):
        table[k, place[k]] = 0x80
        bits = 8 * place[k]
        for i in range(8):
            table[k, table.shape[1] - 1 - i] = (bits >> (8 * i)) & 0xFF


def _first_primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _cube_root(number: int) -> int:
    """The largest integer whose cube is at most ``number``."""
    root = round(number ** (1 / 3))
    while root**3 > number:
        root -= 1
    while (root + 1) ** 3 <= number:
        root += 1
    return root


# The first 32 bits of the fractional parts of the square roots of 8, and the cube roots of 64, first primes.
_START = frozen(np.array([math.isqrt(prime << 64) % 2**32 for prime in _first_primes(8)], np.uint32))
_CONSTANTS = frozen(np.array([_cube_root(prime << 96) % 2**32 for prime in _first_primes(64)], np.uint32))


@_inlined
def _turn(x: Any, by: int) -> Any:
    return _U(_U(x >> _U(by)) | _U(x << _U(32 - by)))


@_inlined
def _swap(x: Any) -> Any:
    """The bytes of a word in the other order."""
    return _U(_U(_U(x >> _U(24)) | _U(_U(x >> _U(8)) & _U(0xFF00))) | _U(_U(_U(x << _U(8)) & _U(0xFF0000)) | _U(x << _U(24))))


@compiled
def _compress(words: Any, state: Any, work: Any, constants: Any) -> None:
    """One block of every lane: ``words`` holds its 16 words and room for 48 more; ``state`` is the chaining value."""
    for t in range(16, 64):
        now, near, far = words[t], words[t - 2], words[t - 15]
        before, between = words[t - 16], words[t - 7]
        for lane in range(LANES):
            x, y = far[lane], near[lane]
            low = _U(_U(_turn(x, 7) ^ _turn(x, 18)) ^ _U(x >> _U(3)))
            high = _U(_U(_turn(y, 17) ^ _turn(y, 19)) ^ _U(y >> _U(10)))
            now[lane] = _U(_U(before[lane] + low) + _U(between[lane] + high))
    for part in range(8):
        for lane in range(LANES):
            work[part, lane] = state[part, lane]
    for t in range(64):
        word, constant = words[t], constants[t]
        # Instead of moving eight words along, the rows take turns at being a, b, ... h.
        a, b, c, d = work[-t & 7], work[(1 - t) & 7], work[(2 - t) & 7], work[(3 - t) & 7]
        e, f, g, h = work[(4 - t) & 7], work[(5 - t) & 7], work[(6 - t) & 7], work[(7 - t) & 7]
        for lane in range(LANES):
            x, y = e[lane], a[lane]
            high = _U(_U(_turn(x, 6) ^ _turn(x, 11)) ^ _turn(x, 25))
            one = _U(_U(h[lane] + _U(high + _U(_U(x & f[lane]) ^ _U(_U(~x) & g[lane])))) + _U(constant + word[lane]))
            low = _U(_U(_turn(y, 2) ^ _turn(y, 13)) ^ _turn(y, 22))
            two = _U(low + _U(_U(_U(y & b[lane]) ^ _U(y & c[lane])) ^ _U(b[lane] & c[lane])))
            d[lane] = _U(d[lane] + one)
            h[lane] = _U(one + two)
    for part in range(8):
        for lane in range(LANES):
            state[part, lane] = _U(state[part, lane] + work[part, lane])


@compiled
def _digest(blocks: Any, constants: Any, start: Any, scratch: Any, out: Any) -> None:
    """Digests of padded messages, ``LANES`` at a time; lanes that the last group does not need compute what nobody reads."""
    words, state, work = scratch[:64], scratch[64:72], scratch[72:]
    for first in range(0, len(blocks), LANES):
        used = min(LANES, len(blocks) - first)
        for part in range(8):
            for lane in range(LANES):
                state[part, lane] = start[part]
        for block in range(0, blocks.shape[1], 16):
            for lane in range(used):
                for t in range(16):
                    words[t, lane] = _swap(blocks[first + lane, block + t])
            _compress(words, state, work, constants)
        for lane in range(used):
            for part in range(8):
                out[first + lane, part] = _swap(state[part, lane])
