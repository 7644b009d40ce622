"""Checking a whole log, from its bytes to its slates, in bounded memory."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from slateproof.audit.batchreplay import agreeing
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.datafiles import PREFIX, DataFile
from slateproof.audit.errors import LogError, LogUnreadable
from slateproof.audit.keys import PublicKey, PublicKeyLike, public_key
from slateproof.audit.merkle import HASH, Peaks, root_of
from slateproof.audit.records import Records
from slateproof.audit.replay import difference, select_again
from slateproof.audit.report import Findings, VerifyReport
from slateproof.audit.schema import FIELDS, MONITOR_DROPS, REPLAY_NEEDS
from slateproof.audit.seal import commitments_of, leaf_table, stored_leaves
from slateproof.audit.store import Store
from slateproof.audit.tablecheck import has_page_index
from slateproof.errors import InvalidInput

__all__ = ["verify_log", "verify_store"]

Progress = Callable[[int, int], None]


def verify_log(
    path: str | Path,
    checkpoint: Checkpoint | str | Path | None = None,
    public_key: PublicKeyLike | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """The verdict on the log at ``path``; a log that cannot be opened gives a report that says so (exit code 2).

    Scope: stability only.
    """
    try:
        return verify_store(Store.open(path), checkpoint, public_key, progress)
    except (LogError, InvalidInput) as why:
        return VerifyReport(0, failure=str(why))


def verify_store(
    store: Store,
    checkpoint: Checkpoint | str | Path | None = None,
    key: PublicKeyLike | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Check header, signature, every digest, the Merkle root, the extension of ``checkpoint``, and every slate.

    Nothing in the log is trusted but what ``key`` signed; without ``key`` the header's own public key is used, which shows that
    the log is of one piece, not who wrote it. ``progress`` is called with (records done, records in all).

    Scope: stability only; records are intact and slates follow from them, whatever the inputs are worth.
    """
    return _Verification(store, checkpoint, key).run(progress)


WORKERS = min(4, os.cpu_count() or 1)
"""Batches looked at side by side, each on one thread; every one of them takes its memory."""


class _Looked(NamedTuple):
    """A batch, its leaf hashes, which records give theirs, what they withhold, which were selected again alike, and whether no
    record needs a look of its own."""

    batch: pa.RecordBatch
    leaves: Any
    intact: Any
    withheld: list[Any]
    same: Any
    plain: bool


class _Verification:
    """One run: what is known so far."""

    def __init__(self, store: Store, checkpoint: Checkpoint | str | Path | None, key: PublicKeyLike | None) -> None:
        self.store = store
        self.earlier = None if checkpoint is None else Checkpoint.of(checkpoint)
        self.given = None if key is None else public_key(key)
        self.findings = Findings()
        self.notes: list[str] = []
        self.context = store.header.context
        self.allowed = (_MONITOR if store.header.level == "monitor" else _NOTHING) | frozenset(store.masked or ())
        self.shelf = CatalogShelf(store.folder)
        self.leaves = bytearray()
        self.place = 0
        self.gap = False
        self.replayed = self.withheld = self.bare = 0
        self.broken_catalogs: set[str] = set()
        self.files: list[DataFile] = []
        self.unread: set[str] = set()

    def run(self, progress: Progress | None) -> VerifyReport:
        started = time.perf_counter()
        last, _ = self.store.last()
        signer = self._frame(last)
        with ThreadPoolExecutor(WORKERS) as workers:
            for looked in _in_order(self._look, self._stream(), workers):
                self._merge(looked, last.size)
                if progress is not None:
                    progress(min(self.place, last.size), last.size)
        self._tree(last)
        self._table()
        if self.store.without_snapshot:
            self.notes.append(
                "the snapshot of the Delta log is damaged; its entries were read instead, and the next writer mends it"
            )
        if self.store.masked is not None:
            bare = f"; {self.bare} records are there as bare digests" if self.bare else ""
            self.notes.append(f"a masked copy: whoever made it left out {', '.join(self.store.masked)}{bare}")
        return VerifyReport(
            last.size,
            tuple(self.findings.described),
            dict(self.findings.counts),
            self.replayed,
            self.withheld,
            None if signer is None else signer.vkey,
            tuple(self.notes),
            time.perf_counter() - started,
        )

    def _frame(self, last: Checkpoint) -> PublicKey | None:
        """Header, origin and signatures; the key that signed, if that was checked."""
        header, add = self.store.header, self.findings.add
        if last.origin != header.origin:
            add("header", None, f"the header gives origin {header.origin}, and the last checkpoint says {last.origin}")
        if not self.store.append_only:
            add("header", None, "the table is no longer append-only")
        if self.store.secret is not None and not header.fits(self.store.secret):
            add("header", None, "the secret of the log is not the one its header names")
        signer = self.given or (None if header.vkey is None else PublicKey.parse(header.vkey))
        if signer is None:
            self.notes.append("the log is unsigned: whoever can write to it can replace all of it")
        elif self.given is None:
            self.notes.append("the public key was taken from the log itself: it shows one hand, not whose; give --public-key")
        if signer is not None and not last.signed_by(signer):
            add("signature", None, f"the last checkpoint is not signed by {signer.vkey}")
            signer = None
        self._earlier(last, signer)
        return signer

    def _earlier(self, last: Checkpoint, signer: PublicKey | None) -> None:
        old = self.earlier
        if old is None:
            self.notes.append("no earlier checkpoint was given: a log that was rewritten as a whole cannot be told apart")
            return
        if old.origin != last.origin:
            self.findings.add("origin", None, f"the given checkpoint belongs to {old.origin}, not to this log")
        if signer is not None and not old.signed_by(signer):
            self.findings.add("signature", None, f"the given checkpoint is not signed by {signer.vkey}")
        if old.size > last.size:
            message = f"the given checkpoint covers {old.size} records, and the log has {last.size}"
            self.findings.add("rollback", last.size, message)

    def _stream(self) -> Iterator[pa.RecordBatch]:
        """All records; a file that cannot be read is a problem, and the others are still looked at."""
        try:
            groups = self.store.groups()
        except LogUnreadable as why:
            self.findings.add("unreadable", None, str(why))
            return
        self.files = [file for group in groups for file in group]
        for group in groups:
            try:
                yield from self.store.group_batches(group)
            except LogUnreadable as why:
                self.unread |= {file.path for file in group}
                self.findings.add("unreadable", group[0].first, str(why))

    def _look(self, batch: pa.RecordBatch) -> _Looked:
        """What a batch shows by itself, on one thread of several: hash it, and select it again."""
        version = self.store.header.schema_version
        commitments, withheld = commitments_of(batch, self.store.secret, version)
        found = leaf_table(batch, commitments)
        intact = (found == stored_leaves(batch)).all(axis=1)
        return _Looked(batch, found, intact, withheld, agreeing(batch, self.shelf, version), self._is_plain(batch, withheld))

    def _merge(self, looked: _Looked, size: int) -> None:
        """Take in the next batch: do its records stand where they should, and is everything right about each?"""
        batch, places = looked.batch, looked.batch.column("index").to_numpy(zero_copy_only=False)
        expected = self._line_up(places, size)
        if not self.gap:
            self.leaves += looked.leaves.tobytes()
        intact = looked.intact & (places == expected) & (expected < size)
        if looked.plain and intact.all() and looked.same.all():
            self.replayed += len(batch)
            return
        records, missing = Records(batch, self.shelf), _missing(looked.withheld)
        for row, place in enumerate(places.tolist()):
            if intact[row]:
                self._record(records, row, place, missing[row], bool(looked.same[row]))
            elif place != expected[row]:
                self.findings.add("misplaced", int(expected[row]), f"the record says it is number {place}")
            elif place >= size:
                self.findings.add("misplaced", place, f"the last checkpoint covers {size} records only")
            else:
                self.findings.add("changed", place, "its values do not give the digest that was committed for it")

    def _line_up(self, places: Any, size: int) -> Any:
        """Where the records of a batch stand: each after the one before it, but for those that are left out, which are reported."""
        expected = np.arange(self.place, self.place + len(places))
        if (places == expected).all():
            self.place += len(places)
            return expected
        known = np.sort(places)
        for row, place in enumerate(places.tolist()):
            within = np.searchsorted(known, [self.place, place])
            if self.place < place < size and within[0] == within[1]:
                message = f"records {self.place} to {place - 1} of {size} are not there"
                self.findings.add("missing", self.place, message)
                # What the tree needs is gone from here on.
                self.gap, self.place = True, place
            expected[row] = self.place
            self.place += 1
        return expected

    def _is_plain(self, batch: pa.RecordBatch, withheld: list[Any]) -> bool:
        """Whether nothing is withheld that should be there, and all records name the header's scope: the rule, in one look."""
        if self.allowed or any(mask.any() for mask in withheld):
            return False
        return all(set(batch.column(name).unique().to_pylist()) == {value} for name, value in self.context.items())

    def _record(self, records: Records, row: int, place: int, missing: frozenset[str], same: bool) -> None:
        """An intact record: does its slate follow?"""
        if missing != self.allowed and not (self.store.masked is not None and len(missing) == len(FIELDS)):
            names = ", ".join(sorted(missing ^ self.allowed))
            kind = "masked copy" if self.store.masked is not None else f"{self.store.header.level} log"
            self.findings.add("withheld", place, f"a {kind} like this holds or leaves out otherwise: {names}")
            return
        if "policy" not in missing:
            self._scope(records, row, place)
        if missing & _NEEDED:
            self.withheld += 1
            self.bare += len(missing) == len(FIELDS)
            return
        if same:
            self.replayed += 1
            return
        digest = records.value("catalog_digest", row)
        if digest is not None and not self._has_catalog(digest, place):
            return
        try:
            wrong = difference(records, row, select_again(records, row), self.store.header.schema_version)
        except InvalidInput as why:
            self.findings.add("inputs", place, str(why))
            return
        self.replayed += 1
        if wrong is not None:
            self.findings.add("replay", place, wrong)

    def _scope(self, records: Records, row: int, place: int) -> None:
        for name, value in self.context.items():
            if records.value(name, row) != value:
                self.findings.add("scope", place, f"{name} is {records.value(name, row)!r}, and the header gives {value!r}")

    def _has_catalog(self, digest: str, place: int) -> bool:
        """Whether a catalogue can be used; the first record that needs a broken one is reported."""
        if digest in self.broken_catalogs:
            return False
        try:
            self.shelf.get(digest)
        except LogUnreadable as why:
            self.broken_catalogs.add(digest)
            self.findings.add("catalog", place, str(why))
            return False
        return True

    def _tree(self, last: Checkpoint) -> None:
        size = len(self.leaves) // HASH
        if self.place < last.size:
            self.findings.add("missing", self.place, f"records {self.place} to {last.size - 1} of {last.size} are not there")
        bad = self._first_bad(last, size)
        if bad is not None:
            place, until = bad
            message = f"records {place} to {until - 1} do not give the Merkle root that was committed for them"
            self.findings.add("root", place, message)
        old = self.earlier
        if old is not None and old.size <= min(size, last.size) and root_of(self.leaves, 0, old.size) != old.root:
            message = f"the first {old.size} records are not those of the given checkpoint"
            self.findings.add("fork", None, message)

    def _table(self) -> None:
        """What other readers are told, file by file; one that cannot be read has been reported."""
        for message in self.store.wrong_schema():
            self.findings.add("table", None, message)
        for file in self.files:
            if file.path in self.unread:
                continue
            try:
                for message in self.store.wrong_claims(file):
                    self.findings.add("table", file.first, message)
            except LogUnreadable as why:
                self.findings.add("unreadable", file.first, str(why))
        foreign = sum(has_page_index(self.store.folder, file) for file in self.files if not file.path.startswith(PREFIX))
        if foreign:
            self.notes.append(f"{foreign} files come from another tool, with indexes of pages that cannot be checked")

    def _first_bad(self, last: Checkpoint, size: int) -> tuple[int, int] | None:
        """The first commit whose records, of the first ``size``, do not give its root: (first record, one past its last)."""
        whole = size >= last.size
        if whole and root_of(self.leaves, 0, last.size) == last.root:
            return None
        peaks, place = Peaks(), 0
        for older in sorted(self.store.checkpoints(), key=lambda checkpoint: checkpoint.size):
            if place < older.size <= min(size, last.size):
                peaks.extend(memoryview(self.leaves)[place * HASH : older.size * HASH])
                if peaks.root() != older.root:
                    return place, older.size
                place = older.size
        return (place, last.size) if whole else None


def _in_order(
    look: Callable[[pa.RecordBatch], _Looked], batches: Iterator[pa.RecordBatch], workers: ThreadPoolExecutor
) -> Iterator[_Looked]:
    """What ``look`` says of each batch, in their order; a few are under way at a time, and no more are in memory."""
    waiting: deque[Future[_Looked]] = deque()
    for batch in batches:
        waiting.append(workers.submit(look, batch))
        if len(waiting) > WORKERS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_NEEDED, _MONITOR, _NOTHING = frozenset(REPLAY_NEEDS), frozenset(MONITOR_DROPS), frozenset[str]()


def _missing(withheld: list[Any]) -> list[frozenset[str]]:
    """Per record, the fields that it withholds."""
    size = len(withheld[0])
    if not any(mask.any() for mask in withheld):
        return [_NOTHING] * size
    return [frozenset(field for field, mask in zip(FIELDS, withheld, strict=True) if mask[row]) for row in range(size)]
