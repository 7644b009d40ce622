"""The audit log: write slates once, replay them anywhere, prove everything."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit.batchrows import Span, is_columnar
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.committer import Committer
from slateproof.audit.errors import KeyMismatch, LogClosed, LogUnreadable, LogWriteFailed, MissingKey
from slateproof.audit.files import Folder
from slateproof.audit.header import Header
from slateproof.audit.keys import PrivateKeyLike, PublicKey, PublicKeyLike, private_key
from slateproof.audit.lock import WriterLock
from slateproof.audit.merkle import ConsistencyProof, InclusionProof, Peaks, consistency, inclusion
from slateproof.audit.pending import (
    MarginAndRadius,
    Waiting,
    catalogs_of,
    check_kept,
    check_slate,
    entry_of,
    labels_of,
    row_batches,
    waiting_bytes,
)
from slateproof.audit.replay import replay_record
from slateproof.audit.report import VerifyReport
from slateproof.audit.rows import Entry
from slateproof.audit.seal import seal
from slateproof.audit.store import ROWS, Store
from slateproof.audit.verify import verify_store
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
        self,
        store: Store,
        key: Ed25519PrivateKey | None,
        lock: WriterLock | None,
        max_pending_bytes: int,
        flush_every_seconds: float | None,
    ) -> None:
        self._store = store
        self._key = key
        self._lock = lock
        self._guard = threading.RLock()
        self._pending: list[Waiting] = []
        self._pending_bytes = 0
        self._max_pending = max_pending_bytes
        self._shelf = CatalogShelf(store.folder)
        self._checkpoint, self._peaks = store.last()
        self._writing = lock is not None
        self._attempted: tuple[int, Checkpoint | None] | None = None
        self._closed = False
        self._committer = None if flush_every_seconds is None else Committer(self._flush, flush_every_seconds)

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
        return cls(store, signer, _lock(store), max_pending_bytes, flush_every_seconds)

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
        return cls(store, signer, None, max_pending_bytes, flush_every_seconds)

    @property
    def header(self) -> Header:
        """What the log is: level, scope, public key."""
        return self._store.header

    @property
    def checkpoint(self) -> Checkpoint:
        """The last commitment."""
        return self._checkpoint

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
        return self._checkpoint.size

    def append(
        self,
        slate: Slate,
        *,
        round_id: str | int | None = None,
        subject: str | int | None = None,
        certificate: MarginAndRadius | None = None,
        movement: float | None = None,
    ) -> None:
        """Add a slate to what waits for the next commit. Labels are stored as text."""
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
            pieces = ((first, min(first + ROWS, size)) for first in range(0, size, ROWS))
            self._add([Span(slates, a, b, rounds[a:b], who[a:b]) for a, b in pieces])
            return
        listed = list(slates)
        rounds, who = labels_of("round_ids", round_ids, len(listed)), labels_of("subjects", subjects, len(listed))
        for slate in listed:
            check_slate(slate)
        self._add([Entry(slate, r, s, None, None) for slate, r, s in zip(listed, rounds, who, strict=True)])

    def _add(self, items: Sequence[Waiting]) -> None:
        with self._guard:
            self._claim()
            for item in items:
                if self._store.header.level == "replay":
                    check_kept(item)
                self._pending.append(item)
                self._pending_bytes += waiting_bytes(item)
                if self._pending_bytes >= self._max_pending:
                    self.commit()
        if self._committer is not None:
            self._committer.check()

    def commit(self) -> Checkpoint:
        """Write everything that waits and a checkpoint over all records; both are durable when this returns.

        On failure nothing new is committed, what waited still waits, and the call may be repeated.
        """
        with self._guard:
            if self._closed:
                raise LogClosed("the log is closed")
            if self._attempted is not None:
                self._settle()
            if not self._pending:
                return self._checkpoint
            self._claim()
            if self._store.header.level == "replay":
                for catalog in catalogs_of(self._pending):
                    self._shelf.put(catalog)
            self._write(row_batches(self._pending, self._store.header.context), len(self._pending))
            self._pending.clear()
            self._pending_bytes = 0
            return self._checkpoint

    def _write(self, rows: Iterable[pa.RecordBatch], items: int) -> None:
        """Seal and store row batches, which come from the first ``items`` that wait."""
        peaks, first = self._peaks.copy(), self._checkpoint.size
        secret, monitor = self._secret(), self._store.header.level == "monitor"
        signed: list[Checkpoint] = []

        def records() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                sealed = seal(batch, peaks.size, secret, monitor)
                peaks.extend(b"".join(sealed.column("leaf_hash").to_pylist()))
                yield sealed

        def checkpoint() -> tuple[Checkpoint, Peaks]:
            signed.append(Checkpoint.sign(self._store.header.origin, peaks.size, peaks.root(), self._key))
            return signed[0], peaks

        try:
            self._store.append(first, records(), checkpoint)
        except LogWriteFailed:
            # The commit may have landed before the error: look before writing again.
            self._attempted = (items, signed[0] if signed else None)
            raise
        self._checkpoint, self._peaks = signed[0], peaks

    def _settle(self) -> None:
        """After a failed commit: take over what did land, which is all of it or nothing."""
        assert self._attempted is not None
        items, tried = self._attempted
        self._store.refresh()
        checkpoint, peaks = self._store.last()
        if checkpoint == tried:
            del self._pending[:items]
            self._pending_bytes = sum(map(waiting_bytes, self._pending))
            self._checkpoint, self._peaks = checkpoint, peaks
        elif checkpoint != self._checkpoint:
            raise LogUnreadable("another writer appended to this log; open it again")
        self._attempted = None

    def _claim(self) -> None:
        """Become the writer: take the lock, and continue from what stands in the log now."""
        if self._closed:
            raise LogClosed("the log is closed")
        if self._writing:
            return
        if self._store.header.vkey is not None and self._key is None:
            raise MissingKey("the log is signed: open it with its private key to append")
        self._secret()
        lock = _lock(self._store)
        self._store.refresh()
        checkpoint, peaks = self._store.last()
        if peaks.size != checkpoint.size or peaks.root() != checkpoint.root:
            if lock is not None:
                lock.release()
            raise LogUnreadable("the stored tree does not fit the last checkpoint; verify the log before appending to it")
        self._lock, self._checkpoint, self._peaks, self._writing = lock, checkpoint, peaks, True

    def _secret(self) -> bytes:
        if self._store.secret is None:
            raise LogUnreadable("the log is a masked copy: it can be verified, not continued")
        return self._store.secret

    def compact(self, most: int = 100_000) -> int:
        """Merge small neighbouring files into files of at most ``most`` records; returns how many files were merged.

        Digests, proofs and checkpoints stay valid: they know records, not files.
        """
        with self._guard:
            self.commit()
            self._claim()
            return self._store.compact(self._checkpoint, self._peaks, most)

    def _flush(self) -> None:
        with self._guard:
            if not self._closed and self._pending:
                self.commit()

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

    def prove(self, index: int) -> InclusionProof:
        """That record ``index`` stands under the last checkpoint."""
        self.check_index(index)
        size = self._checkpoint.size
        leaves = self._store.leaves(size)
        return InclusionProof(index, size, leaves[32 * index : 32 * index + 32], inclusion(leaves, index, size))

    def prove_since(self, checkpoint: Checkpoint | str | Path) -> ConsistencyProof:
        """That the last checkpoint extends an earlier one."""
        old, size = Checkpoint.of(checkpoint), self._checkpoint.size
        if old.size > size:
            raise InvalidInput("checkpoint", f"is ahead of the log, which has {size} records", old.size)
        path = consistency(self._store.leaves(size), old.size, size) if 0 < old.size < size else ()
        return ConsistencyProof(old.size, size, path)

    def check_index(self, index: int) -> None:
        """Refuse what is no committed record."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < self._checkpoint.size:
            raise InvalidInput("index", f"must be a committed record, 0 to {self._checkpoint.size - 1}", index)

    def close(self) -> None:
        """Commit what waits and give the log back to other writers."""
        if self._committer is not None:
            self._committer.stop()
        with self._guard:
            if self._closed:
                return
            try:
                if self._pending:
                    self.commit()
            finally:
                self._closed = True
                if self._lock is not None:
                    self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _lock(store: Store) -> WriterLock | None:
    return None if store.folder.local is None else WriterLock(store.folder.local)


def _check_limits(seconds: float | None, pending: int) -> None:
    if seconds is not None and not seconds > 0:
        raise InvalidInput("flush_every_seconds", "must be above 0", seconds)
    if pending < 1:
        raise InvalidInput("max_pending_bytes", "must be at least 1", pending)
