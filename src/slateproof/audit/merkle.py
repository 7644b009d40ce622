"""The Merkle tree of RFC 6962 (section 2.1): hashing, incremental roots, inclusion and consistency proofs.

A tree is a sequence of leaf hashes, held as one contiguous buffer of 32 bytes per leaf. ``Peaks`` is the state a writer needs to
append: the roots of the perfect subtrees, at most 64 hashes, whatever the size of the log.

Scope: none; with a root that the reader trusts, a proof shows membership or extension, nothing about content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from slateproof.audit.sha256 import LANES, digests
from slateproof.errors import InvalidInput

__all__ = [
    "EMPTY_ROOT",
    "HASH",
    "ConsistencyProof",
    "InclusionProof",
    "Peaks",
    "consistency",
    "inclusion",
    "leaf_hash",
    "node_hash",
    "root_of",
]

HASH = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """SHA-256(0x00 || data)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Peaks:
    """The roots of the perfect subtrees of a tree of ``size`` leaves, largest first: one per set bit of ``size``."""

    __slots__ = ("_hashes", "size")

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        self.size = size
        self._hashes = list(hashes)
        if size < 0 or len(self._hashes) != size.bit_count() or any(len(h) != HASH for h in self._hashes):
            raise InvalidInput("peaks", f"a tree of size {size} has {size.bit_count()} peaks of 32 bytes", len(self._hashes))

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """The subtree roots, largest subtree first."""
        return tuple(self._hashes)

    def copy(self) -> Peaks:
        """An independent copy."""
        return Peaks(self.size, self._hashes)

    def extend(self, leaves: bytes | memoryview) -> None:
        """Append leaf hashes, 32 bytes each."""
        stack, place, left = self._hashes, 0, len(leaves) // HASH
        while left:
            # The largest perfect subtree that begins here: its size divides what stands before it.
            most = min(_MOST, 1 << (left.bit_length() - 1))
            step = min(most, self.size & -self.size) if self.size else most
            node, level = _perfect(leaves[place * HASH : (place + step) * HASH]), step
            while self.size & level:
                node = node_hash(stack.pop(), node)
                level <<= 1
            stack.append(node)
            self.size += step
            place, left = place + step, left - step

    def root(self) -> bytes:
        """MTH of everything appended: peaks folded from the right."""
        if not self._hashes:
            return EMPTY_ROOT
        node = self._hashes[-1]
        for peak in reversed(self._hashes[:-1]):
            node = node_hash(peak, node)
        return node


_MOST = 1 << 16
"""Leaves hashed in one go: enough for full lanes, few enough to cost no memory."""


def _perfect(leaves: bytes | memoryview) -> bytes:
    """The root of 1, 2, 4, 8, ... leaves, level by level; levels that are long are hashed side by side."""
    nodes = np.frombuffer(leaves, np.uint8).reshape(-1, HASH)
    while len(nodes) > LANES:
        pairs = np.ones((len(nodes) // 2, 1 + 2 * HASH), np.uint8)
        pairs[:, 1:] = nodes.reshape(-1, 2 * HASH)
        nodes = digests(pairs)
    rest = [node.tobytes() for node in nodes]
    while len(rest) > 1:
        rest = [node_hash(left, right) for left, right in zip(rest[::2], rest[1::2], strict=True)]
    return rest[0]


def root_of(leaves: bytes | bytearray | memoryview, start: int = 0, stop: int | None = None) -> bytes:
    """MTH(D[start:stop]) of the leaf hashes in ``leaves``."""
    peaks = Peaks()
    end = len(leaves) // HASH if stop is None else stop
    peaks.extend(memoryview(leaves)[start * HASH : end * HASH])
    return peaks.root()


def _split(size: int) -> int:
    """The largest power of two smaller than ``size`` (> 1)."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion(leaves: bytes, index: int, size: int) -> tuple[bytes, ...]:
    """PATH(index, D[size]): the audit path of a leaf, from the leaf upwards."""
    path: list[bytes] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append(root_of(leaves, middle, stop))
            stop = middle
        else:
            path.append(root_of(leaves, start, middle))
            start = middle
    return tuple(reversed(path))


def consistency(leaves: bytes, old: int, size: int) -> tuple[bytes, ...]:
    """PROOF(old, D[size]) for 0 < old <= size: shows that the tree of ``size`` extends the one of ``old``."""
    path: list[bytes] = []
    start, stop, whole = 0, size, True
    target = old
    while target != stop:
        middle = start + _split(stop - start)
        if target <= middle:
            path.append(root_of(leaves, middle, stop))
            stop = middle
        else:
            path.append(root_of(leaves, start, middle))
            start, whole = middle, False
    if not whole:
        path.append(root_of(leaves, start, stop))
    return tuple(reversed(path))


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That the record with leaf hash ``leaf`` stands at ``index`` of the tree of ``size`` leaves.

    Scope: none; membership only.
    """

    index: int
    size: int
    leaf: bytes
    path: tuple[bytes, ...]

    def verify(self, root: bytes) -> bool:
        """Whether the path leads from the leaf to ``root`` (RFC 9162, section 2.1.3.2)."""
        if not 0 <= self.index < self.size:
            return False
        fn, sn, node = self.index, self.size - 1, self.leaf
        for step in self.path:
            if sn == 0:
                return False
            if fn & 1 or fn == sn:
                node = node_hash(step, node)
                while not fn & 1 and fn:
                    fn, sn = fn >> 1, sn >> 1
            else:
                node = node_hash(node, step)
            fn, sn = fn >> 1, sn >> 1
        return sn == 0 and node == root


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """That the tree of ``size`` leaves begins with the tree of ``old_size`` leaves.

    Scope: none; extension only.
    """

    old_size: int
    size: int
    path: tuple[bytes, ...]

    def verify(self, old_root: bytes, root: bytes) -> bool:
        """Whether the path leads to both roots (RFC 9162, section 2.1.4.2); every tree extends the empty one."""
        old, size = self.old_size, self.size
        if not 0 <= old <= size:
            return False
        if old == 0:
            return not self.path and old_root == EMPTY_ROOT
        if old == size:
            return not self.path and old_root == root
        path = list(self.path)
        if old & (old - 1) == 0:
            path.insert(0, old_root)
        if not path:
            return False
        fn, sn = old - 1, size - 1
        while fn & 1:
            fn, sn = fn >> 1, sn >> 1
        first = second = path[0]
        for step in path[1:]:
            if sn == 0:
                return False
            if fn & 1 or fn == sn:
                first, second = node_hash(step, first), node_hash(step, second)
                while not fn & 1 and fn:
                    fn, sn = fn >> 1, sn >> 1
            else:
                second = node_hash(second, step)
            fn, sn = fn >> 1, sn >> 1
        return sn == 0 and first == old_root and second == root
