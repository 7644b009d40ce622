"""The audit log: write slates once, replay them anywhere, prove everything."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit.batchrows import is_columnar
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.committer import Committer
from slateproof.audit.errors import KeyMismatch
from slateproof.audit.files import Folder
from slateproof.audit.header import Header
from slateproof.audit.keys import PrivateKeyLike, PublicKey, PublicKeyLike, private_key
from slateproof.audit.merkle import ConsistencyProof, InclusionProof, Peaks, consistency, inclusion
from slateproof.audit.pending import (
    MarginAndRadius,
    Waiting,
    check_slate,
    entry_of,
    labels_of,
    spans_of,
)
from slateproof.audit.replay import replay_all, replay_record
from slateproof.audit.report import VerifyReport
from slateproof.audit.rows import Entry
from slateproof.audit.store import Store
from slateproof.audit.verify import verify_store
from slateproof.audit.writer import Writer
from slateproof.errors import InvalidInput
from slateproof.types import Slate
from slateproof.types.slatebatch import SlateBatch

__all__ = ["AuditLog"]

DEFAULT_PENDING = 64 << 20
"""Bytes of waiting slates above which ``append`` commits by itself."""


class AuditLog:
    """An append-only log of slates in one folder (or object store URL).

    ``append`` buffers; ``commit`` writes what waits, signs a checkpoint over everything so far, and returns when both are durable.
    What was not committed is lost in a crash, what was committed is not. ``append`` commits by itself when ``max_pending_bytes``
    wait, and a background thread does so every ``flush_every_seconds`` where that is given. Safe to share between threads; one
    writer per log, which is whoever appends first and lasts until ``close``.

    Scope: conditional; the log inherits the privacy status of what is written into it.
    """

    def __init__(
        self, store: Store, key: Ed25519PrivateKey | None, max_pending_bytes: int, flush_every_seconds: float | None
    ) -> None:
        self._store = store
        self._shelf = CatalogShelf(store.folder)
        self._writer = Writer(store, key, self._shelf, max_pending_bytes)
        self._committer = None if flush_every_seconds is None else Committer(self._writer.commit, flush_every_seconds)

    @classmethod
    def create(
        cls,
        path: str | Path,
        level: str = "replay",
        key: PrivateKeyLike | None = None,
        *,
        scope: Mapping[str, Any] | None = None,
        flush_every_seconds: float | None = None,
        max_pending_bytes: int = DEFAULT_PENDING,
        storage_options: Mapping[str, str] | None = None,
    ) -> AuditLog:
        """A new log in a new or empty folder.

        ``level``: "replay" (slates can be selected again) or "monitor" (O(K) per slate, with commitments to the inputs). ``key``
        signs the checkpoints: an Ed25519 private key, its 32 bytes, or a PEM file; None leaves them unsigned. ``scope``: what
        ``privacy.assess(...).to_dict()`` says of the inputs; it stands in the header, its digest and regime in every record.
        """
        signer = None if key is None else private_key(key)
        _check_limits(flush_every_seconds, max_pending_bytes)
        secret = secrets.token_bytes(32)
        header = Header.new(level, secret, None if signer is None else PublicKey.of(signer).vkey, scope)
        peaks = Peaks()
        checkpoint = Checkpoint.sign(header.origin, 0, peaks.root(), signer)
        store = Store.create(Folder(path, storage_options), header, secret, checkpoint, peaks)
        log = cls(store, signer, max_pending_bytes, flush_every_seconds)
        log._writer.claim()
        return log

    @classmethod
    def open(
        cls,
        path: str | Path,
        key: PrivateKeyLike | None = None,
        *,
        flush_every_seconds: float | None = None,
        max_pending_bytes: int = DEFAULT_PENDING,
        storage_options: Mapping[str, str] | None = None,
    ) -> AuditLog:
        """An existing log, for reading, and for appending once ``append`` is called (a signed log then needs its ``key``)."""
        signer = None if key is None else private_key(key)
        _check_limits(flush_every_seconds, max_pending_bytes)
        store = Store.open(path, storage_options)
        if signer is not None and PublicKey.of(signer).vkey != store.header.vkey:
            raise KeyMismatch(f"key: is not the one this log is signed with ({store.header.vkey or 'it is unsigned'})")
        return cls(store, signer, max_pending_bytes, flush_every_seconds)

    @property
    def header(self) -> Header:
        """What the log is: level, scope, public key."""
        return self._store.header

    @property
    def checkpoint(self) -> Checkpoint:
        """The last commitment."""
        return self._writer.checkpoint

    @property
    def store(self) -> Store:
        """The table under the log."""
        return self._store

    @property
    def catalogs(self) -> CatalogShelf:
        """The catalogues stored with the log."""
        return self._shelf

    def __len__(self) -> int:
        """Committed records."""
        return self._writer.checkpoint.size

    def append(
        self,
        slate: Slate,
        *,
        round_id: str | int | None = None,
        subject: str | int | None = None,
        certificate: MarginAndRadius | None = None,
        movement: float | None = None,
    ) -> None:
        """Add a slate to what waits for the next commit. Labels are stored as text.

        It does not wait for a commit of another thread. Raises what failed in the background since the last call, and takes nothing
        then. When too many bytes wait it commits itself; where that fails, the slate is taken and waits for the next commit.
        """
        self._add([entry_of(slate, round_id, subject, certificate, movement)])

    def append_batch(
        self,
        slates: SlateBatch | Iterable[Slate],
        *,
        round_ids: Iterable[str | int | None] | None = None,
        subjects: Iterable[str | int | None] | None = None,
    ) -> None:
        """Add many slates, a ``SlateBatch`` column by column; ``round_ids`` and ``subjects`` have one label per slate."""
        if isinstance(slates, SlateBatch) and is_columnar(slates):
            size = len(slates)
            rounds, who = labels_of("round_ids", round_ids, size), labels_of("subjects", subjects, size)
            self._add(spans_of(slates, rounds, who))
            return
        listed = list(slates)
        rounds, who = labels_of("round_ids", round_ids, len(listed)), labels_of("subjects", subjects, len(listed))
        for slate in listed:
            check_slate(slate)
        self._add([Entry(slate, r, s, None, None) for slate, r, s in zip(listed, rounds, who, strict=True)])

    def _add(self, items: Sequence[Waiting]) -> None:
        # Before anything is taken: a caller that gets a failure from the background may give the same slates again.
        if self._committer is not None:
            self._committer.check()
        self._writer.add(items)

    def commit(self) -> Checkpoint:
        """Write everything that waits and a checkpoint over all records; both are durable when this returns.

        On failure nothing new is committed, what waited still waits, and the call may be repeated.
        """
        return self._writer.commit()

    def compact(self, most: int = 100_000) -> int:
        """Merge small neighbouring files into files of at most ``most`` records; returns how many files were merged.

        Digests, proofs and checkpoints stay valid: they know records, not files.
        """
        return self._writer.compact(most)

    def verify(
        self,
        checkpoint: Checkpoint | str | Path | None = None,
        public_key: PublicKeyLike | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> VerifyReport:
        """Check everything that was committed when the call began; see ``verify_store``."""
        return verify_store(self._store.snapshot(), checkpoint, public_key, progress)

    def replay(self, index: int) -> Slate:
        """Select record ``index`` again from its logged inputs, whose digest is checked first."""
        self.check_index(index)
        return replay_record(self._store, self._shelf, index)

    def replay_all(self) -> Iterator[Slate]:
        """Every committed record in turn, as ``replay`` gives it; reads the log once, a few thousand records at a time."""
        return replay_all(self._store, self._shelf, len(self))

    def prove(self, index: int) -> InclusionProof:
        """That record ``index`` stands under the last checkpoint."""
        self.check_index(index)
        size = self._writer.checkpoint.size
        leaves = self._store.leaves(size)
        return InclusionProof(index, size, leaves[32 * index : 32 * index + 32], inclusion(leaves, index, size))

    def prove_since(self, checkpoint: Checkpoint | str | Path) -> ConsistencyProof:
        """That the last checkpoint extends an earlier one."""
        old, size = Checkpoint.of(checkpoint), self._writer.checkpoint.size
        if old.size > size:
            raise InvalidInput("checkpoint", f"is ahead of the log, which has {size} records", old.size)
        path = consistency(self._store.leaves(size), old.size, size) if 0 < old.size < size else ()
        return ConsistencyProof(old.size, size, path)

    def check_index(self, index: int) -> None:
        """Refuse what is no committed record."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < self._writer.checkpoint.size:
            raise InvalidInput("index", f"must be a committed record, 0 to {self._writer.checkpoint.size - 1}", index)

    def close(self) -> None:
        """Commit what waits and give the log back to other writers."""
        if self._committer is not None:
            self._committer.stop()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _check_limits(seconds: float | None, pending: int) -> None:
    if seconds is not None and not seconds > 0:
        raise InvalidInput("flush_every_seconds", "must be above 0", seconds)
    if pending < 1:
        raise InvalidInput("max_pending_bytes", "must be at least 1", pending)
