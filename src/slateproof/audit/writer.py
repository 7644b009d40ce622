"""The writing side of a log: what waits, the lock, and the commit that makes it durable. Not safe to share; the log guards it.

Scope: none; storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.errors import LogUnreadable, LogWriteFailed, MissingKey
from slateproof.audit.lock import WriterLock
from slateproof.audit.merkle import Peaks
from slateproof.audit.pending import Waiting, catalogs_of, check_kept, row_batches, waiting_bytes
from slateproof.audit.seal import seal
from slateproof.audit.store import Store

__all__ = ["Writer"]


class Writer:
    """Appends to one store: ``checkpoint`` is the last commitment, ``pending`` what comes after it.

    It becomes the writer of the log, and takes the lock, when ``claim`` is first called.

    Scope: none; storage.
    """

    def __init__(self, store: Store, key: Ed25519PrivateKey | None, shelf: CatalogShelf, max_pending: int) -> None:
        self.store = store
        self.pending: list[Waiting] = []
        self.checkpoint, self._peaks = store.last()
        self.lock: WriterLock | None = None
        self._key = key
        self._shelf = shelf
        self._max_pending = max_pending
        self._pending_bytes = 0
        self._writing = False
        self._attempted: tuple[int, Checkpoint | None] | None = None

    def add(self, items: Sequence[Waiting]) -> None:
        """Let ``items`` wait; commits whenever too many bytes do. Nothing is added when one of them is refused."""
        self.claim()
        for item in items:
            check_kept(item)
        for item in items:
            self.pending.append(item)
            self._pending_bytes += waiting_bytes(item)
            if self._pending_bytes >= self._max_pending:
                self.commit()

    def commit(self) -> Checkpoint:
        """Write what waits and a checkpoint over all records; see ``AuditLog.commit``."""
        if self._attempted is not None:
            self._settle()
        if not self.pending:
            return self.checkpoint
        self.claim()
        if self.store.header.level == "replay":
            for catalog in catalogs_of(self.pending):
                self._shelf.put(catalog)
        self.write(row_batches(self.pending, self.store.header.context), len(self.pending))
        self.pending.clear()
        self._pending_bytes = 0
        return self.checkpoint

    def write(self, rows: Iterable[pa.RecordBatch], items: int) -> None:
        """Seal and store row batches, which come from the first ``items`` that wait."""
        peaks, first = self._peaks.copy(), self.checkpoint.size
        secret, header = self.secret(), self.store.header
        signed: list[Checkpoint] = []

        def records() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                sealed = seal(batch, peaks.size, secret, header.level == "monitor", header.schema_version)
                peaks.extend(b"".join(sealed.column("leaf_hash").to_pylist()))
                yield sealed

        def checkpoint() -> tuple[Checkpoint, Peaks]:
            signed.append(Checkpoint.sign(self.store.header.origin, peaks.size, peaks.root(), self._key))
            return signed[0], peaks

        try:
            self.store.append(first, records(), checkpoint)
        except LogWriteFailed:
            # The commit may have landed before the error: look before writing again.
            self._attempted = (items, signed[0] if signed else None)
            raise
        self.checkpoint, self._peaks = signed[0], peaks

    def _settle(self) -> None:
        """After a failed commit: take over what did land, which is all of it or nothing."""
        assert self._attempted is not None
        items, tried = self._attempted
        self.store.refresh()
        checkpoint, peaks = self.store.last()
        if checkpoint == tried:
            del self.pending[:items]
            self._pending_bytes = sum(map(waiting_bytes, self.pending))
            self.checkpoint, self._peaks = checkpoint, peaks
        elif checkpoint != self.checkpoint:
            raise LogUnreadable("another writer appended to this log; open it again")
        self._attempted = None

    def claim(self) -> None:
        """Become the writer: take the lock, and continue from what stands in the log now."""
        if self._writing:
            return
        if self.store.header.vkey is not None and self._key is None:
            raise MissingKey("the log is signed: open it with its private key to append")
        self.secret()
        self.lock = _lock_of(self.store)
        try:
            self.store.refresh()
            checkpoint, peaks = self.store.last()
            if peaks.size != checkpoint.size or peaks.root() != checkpoint.root:
                raise LogUnreadable("the stored tree does not fit the last checkpoint; verify the log before appending to it")
        except LogUnreadable:
            self.release()
            raise
        self.checkpoint, self._peaks, self._writing = checkpoint, peaks, True

    def secret(self) -> bytes:
        """The secret behind the salts; a masked copy has none."""
        if self.store.secret is None:
            raise LogUnreadable("the log is a masked copy: it can be verified, not continued")
        return self.store.secret

    def compact(self, most: int) -> int:
        """Merge small files; see ``AuditLog.compact``."""
        self.commit()
        self.claim()
        return self.store.compact(self.checkpoint, self._peaks, most)

    def release(self) -> None:
        """Give the lock back."""
        if self.lock is not None:
            self.lock.release()


def _lock_of(store: Store) -> WriterLock | None:
    return None if store.folder.local is None else WriterLock(store.folder.local)
