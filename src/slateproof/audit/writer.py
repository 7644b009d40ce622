"""The writing side of a log: what waits, the lock, and the commit that makes it durable.

Two locks: a short one around what waits, so that ``add`` is never kept by a disk, and a long one around commits.

Scope: none; storage.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.errors import LogClosed, LogUnreadable, LogWriteFailed, MissingKey, said
from slateproof.audit.keys import PublicKey
from slateproof.audit.lock import WriterLock
from slateproof.audit.merkle import Peaks
from slateproof.audit.pending import Waiting, catalogs_of, check_kept, row_batches, total_bytes
from slateproof.audit.seal import seal
from slateproof.audit.store import Store
from slateproof.errors import InvalidInput

__all__ = ["Writer"]


class Writer:
    """Appends to one store: ``checkpoint`` is the last commitment, ``pending`` what comes after it. Safe to share.

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
        self._waiting, self._committing = threading.Lock(), threading.RLock()
        self._sources: set[int] = set()
        self._pending_bytes = 0
        self._writing = self._closed = False
        self._attempted: tuple[int, Checkpoint | None, Peaks] | None = None

    def add(self, items: Sequence[Waiting]) -> None:
        """Let ``items`` wait, all of them or none; then commit, where too many bytes wait. Failing in that, they still wait."""
        self.claim()
        for item in items:
            check_kept(item)
        with self._waiting:
            self._check_open()
            self.pending.extend(items)
            self._pending_bytes += total_bytes(items, self._sources)
            full = self._pending_bytes >= self._max_pending
        if full:
            self.commit()

    def commit(self) -> Checkpoint:
        """Write what waits now, and a checkpoint over all records; see ``AuditLog.commit``."""
        with self._committing:
            self._check_open()
            return self._commit()

    def _commit(self) -> Checkpoint:
        if self._attempted is not None:
            self._settle()
        left = len(self.pending)
        while left:
            left -= self._commit_some(left)
        return self.checkpoint

    def _check_open(self) -> None:
        if self._closed:
            raise LogClosed("the log is closed")

    def _commit_some(self, most: int) -> int:
        """Commit the first of what waits, up to ``most`` items and about the bytes that may wait; returns how many."""
        self.claim()
        with self._waiting:
            items = _first_bytes(self.pending[:most], self._max_pending)
        try:
            if self.store.header.level == "replay":
                for catalog in catalogs_of(items):
                    self._shelf.put(catalog)
            self.write(row_batches(items, self._context()), len(items))
        except (UnicodeError, pa.ArrowException, InvalidInput) as why:
            raise LogWriteFailed(f"{self.store.folder.uri}: what waits cannot be written ({said(why)})") from why
        self._drop(len(items))
        return len(items)

    def _context(self) -> dict[str, str | None]:
        """What every record repeats; the software is the one that writes now, whichever made the log."""
        return {**self.store.header.context, "software": SOFTWARE}

    def _drop(self, count: int) -> None:
        with self._waiting:
            del self.pending[:count]
            self._sources.clear()
            self._pending_bytes = total_bytes(self.pending, self._sources)

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
            self._attempted = (items, signed[0] if signed else None, peaks)
            raise
        self.checkpoint, self._peaks = signed[0], peaks

    def _settle(self) -> None:
        """After a failed commit: take over what did land, which is all of it or nothing, once it is known to be on the disk."""
        assert self._attempted is not None
        items, tried, peaks = self._attempted
        self.store.refresh()
        checkpoint, _ = self.store.last()
        if checkpoint == tried:
            self.store.settle(landed=True)
            self._drop(items)
            # Both are the writer's own, not what the table says.
            self.checkpoint, self._peaks = tried, peaks
        elif checkpoint == self.checkpoint:
            self.store.settle(landed=False)
        else:
            raise LogUnreadable("another writer appended to this log; open it again")
        self._attempted = None

    def claim(self) -> None:
        """Become the writer: take the lock, and continue from what stands in the log now, if that is ours."""
        if self._writing and not (self.lock is not None and self.lock.inherited):
            return
        with self._committing:
            self._check_open()
            if self.store.header.vkey is not None and self._key is None:
                raise MissingKey("the log is signed: open it with its private key to append")
            self.secret()
            self.lock = _lock_of(self.store)
            try:
                self.store.mend()
                self.checkpoint, self._peaks = self._last()
            except (LogUnreadable, LogWriteFailed):
                self.release()
                raise
            self._writing = True

    def _last(self) -> tuple[Checkpoint, Peaks]:
        """The last checkpoint and its tree, which are only continued where they are this log's and this key's."""
        checkpoint, peaks = self.store.last()
        header = self.store.header
        ours = checkpoint.origin == header.origin and header.fits(self.secret())
        if header.vkey is not None:
            ours = ours and self._key is not None and checkpoint.signed_by(PublicKey.of(self._key))
        if not ours:
            raise LogUnreadable("the last checkpoint is not ours; verify the log before appending to it")
        if peaks.size != checkpoint.size or peaks.root() != checkpoint.root:
            raise LogUnreadable("the stored tree does not fit the last checkpoint; verify the log before appending to it")
        return checkpoint, peaks

    def secret(self) -> bytes:
        """The secret behind the salts; a masked copy has none."""
        if self.store.secret is None:
            raise LogUnreadable("the log is a masked copy: it can be verified, not continued")
        return self.store.secret

    def compact(self, most: int) -> int:
        """Merge small files; see ``AuditLog.compact``."""
        with self._committing:
            self.commit()
            self.claim()
            return self.store.compact(self.checkpoint, self._peaks, most)

    def close(self) -> None:
        """Take nothing more, commit what waits, and give the lock back, whether or not that succeeds."""
        with self._committing:
            with self._waiting:
                if self._closed:
                    return
                self._closed = True
            try:
                self._commit()
            finally:
                self.release()

    def release(self) -> None:
        """Give the lock back."""
        self._writing = False
        if self.lock is not None:
            self.lock.release()


SOFTWARE = f"slateproof {version('slateproof')}"
"""What stands in the records that this process writes."""


def _first_bytes(items: list[Waiting], most: int) -> list[Waiting]:
    """The first items, until ``most`` bytes are reached; at least one."""
    seen: set[int] = set()
    size = 0
    for place, item in enumerate(items, 1):
        size += total_bytes([item], seen)
        if size >= most:
            return items[:place]
    return items


def _lock_of(store: Store) -> WriterLock | None:
    return None if store.folder.local is None else WriterLock(store.folder.local)
