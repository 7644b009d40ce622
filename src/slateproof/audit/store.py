"""The table under a log: a Delta table, append only, one commit per checkpoint.

A commit is one Parquet file and one entry of the Delta log, which names the file and carries the signed checkpoint: data and
checkpoint become visible together or not at all. A crash before the entry leaves a file that nothing refers to.

Scope: none; storage.
"""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.datafiles import PREFIX, ROWS, DataFile, add_action, gathered, neighbours, read_file, write_file
from slateproof.audit.errors import LogExists, LogUnreadable, LogWriteFailed, NotALog, said
from slateproof.audit.files import Folder
from slateproof.audit.header import Header
from slateproof.audit.merkle import HASH, Peaks
from slateproof.audit.schema import schema_of
from slateproof.audit.snapshots import LAST_SNAPSHOT, entry, put_aside, snapshot, table_of_entries
from slateproof.audit.tablecheck import table_problems, wrong_claims
from slateproof.errors import InvalidInput

__all__ = ["Store"]

HEADER, SECRET_KEY, MASKED = "slateproof.header", "slateproof.secret", "slateproof.masked"
NOTE, PEAKS = "slateproof.checkpoint", "slateproof.peaks"


class Store:
    """A log's table: header, files, last checkpoint.

    Scope: none; storage.
    """

    def __init__(self, folder: Folder, table: Any, scratch: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.folder = folder
        self._table = table
        # Where the entries were copied to, because Delta's snapshot of them is damaged.
        self._scratch = scratch
        self._unsettled: list[str] = []
        configuration = table.metadata().configuration
        if HEADER not in configuration:
            raise NotALog(f"{folder.uri}: is a Delta table, but no slateproof log")
        self.header = Header.parse(configuration[HEADER])
        self.append_only = configuration.get("delta.appendOnly") == "true"
        self.masked = _masked(configuration.get(MASKED))
        self.secret = _secret(configuration.get(SECRET_KEY))

    @classmethod
    def create(
        cls,
        folder: Folder,
        header: Header,
        secret: bytes | None,
        checkpoint: Checkpoint,
        peaks: Peaks,
        masked: Iterable[str] = (),
    ) -> Store:
        """A new table in an empty folder, with its first checkpoint."""
        try:
            empty = folder.is_empty()
        except OSError as why:
            raise LogWriteFailed(f"{folder.uri}: the log cannot be created ({said(why)})") from why
        if not empty:
            raise LogExists(f"{folder.uri}: a log is created in a new or empty folder, and this one is not")
        configuration = {
            "delta.appendOnly": "true",
            "delta.enableExpiredLogCleanup": "false",
            HEADER: json.dumps(header.to_dict(), sort_keys=True),
        }
        if secret is not None:
            configuration[SECRET_KEY] = secret.hex()
        if masked:
            configuration[MASKED] = json.dumps(sorted(masked))
        try:
            folder.make()
            table = DeltaTable.create(
                folder.uri,
                schema_of(header.schema_version),
                name="slateproof audit log",
                configuration=configuration,
                storage_options=folder.options,
                raise_if_key_not_exists=False,
                commit_properties=_properties(checkpoint, peaks),
            )
            for path in (entry(0), "_delta_log"):
                folder.sync(path)
        except (OSError, DeltaError) as why:
            raise LogWriteFailed(f"{folder.uri}: the log cannot be created ({said(why)})") from why
        return cls(folder, table)

    @classmethod
    def open(cls, location: str | Path, options: Mapping[str, str] | None = None) -> Store:
        """An existing log; refuses a folder that holds none."""
        folder = Folder(location, options)
        try:
            there = folder.local is None or (folder.local / "_delta_log").is_dir()
        except OSError as why:
            raise LogUnreadable(f"{folder.uri}: cannot be read ({said(why)})") from why
        if not there:
            raise NotALog(f"{folder.uri}: holds no slateproof log")
        return cls._load(folder)

    @classmethod
    def _load(cls, folder: Folder) -> Store:
        try:
            return cls(folder, DeltaTable(folder.uri, storage_options=folder.options))
        except TableNotFoundError as why:
            raise NotALog(f"{folder.uri}: holds no slateproof log") from why
        except (DeltaError, OSError, ValueError) as why:
            if isinstance(why, InvalidInput):
                raise
            scratch = tempfile.TemporaryDirectory(prefix="slateproof-")
            table = table_of_entries(folder, Path(scratch.name))
            if table is None:
                raise LogUnreadable(f"{folder.uri}: the Delta log cannot be read ({said(why)})") from why
            return cls(folder, table, scratch)

    @property
    def without_snapshot(self) -> bool:
        """Whether Delta's snapshot of its log is damaged, and the entries were read instead."""
        return self._scratch is not None

    def mend(self) -> None:
        """See what was committed since, as the one writer: a damaged snapshot of the Delta log is put aside first."""
        if self._scratch is None:
            self.refresh()
            return
        try:
            put_aside(self.folder)
        except OSError as why:
            raise LogWriteFailed(f"{self.folder.uri}: a damaged snapshot cannot be put aside ({said(why)})") from why
        whole = self._load(self.folder)
        self._table, self._scratch = whole._table, whole._scratch

    def snapshot(self) -> Store:
        """The log as it is now, unmoved by later commits."""
        return self._load(self.folder)

    def refresh(self) -> None:
        """See what was committed since."""
        try:
            self._table.update_incremental()
        except (DeltaError, OSError) as why:
            raise LogUnreadable(f"{self.folder.uri}: the Delta log cannot be read ({said(why)})") from why

    def append(self, first: int, records: Iterable[pa.RecordBatch], seal: Callable[[], tuple[Checkpoint, Peaks]]) -> None:
        """Write records from place ``first`` on, and the checkpoint that ``seal`` gives after them, in one durable step.

        On failure nothing new is visible. Compression runs beside the making of the next batch.
        """
        with self._discarding() as paths:
            action = self._write(paths, first, records, data_change=True)
        self._commit([action], *seal())

    def _write(self, paths: list[str], first: int, records: Iterable[pa.RecordBatch], *, data_change: bool) -> AddAction:
        """One new file, which is added to ``paths``, and its entry."""
        paths.append(f"{PREFIX}{first:012d}-{uuid.uuid4().hex}.parquet")
        rows = write_file(self.folder, paths[-1], records, self.header.schema_version)
        return add_action(paths[-1], self.folder.size(paths[-1]), first, rows, int(time.time() * 1000), data_change=data_change)

    @contextmanager
    def _discarding(self) -> Iterator[list[str]]:
        """Paths of files while they are written: discarded when that fails, afterwards unsettled until they are committed."""
        paths: list[str] = []
        self._unsettled, written = [], False
        try:
            yield paths
            written = True
        except OSError as why:
            raise LogWriteFailed(f"{self.folder.uri}: records cannot be written ({said(why)})") from why
        finally:
            if not written:
                self._discard(paths)
        self._unsettled = paths

    def _commit(self, actions: list[AddAction | RemoveAction], checkpoint: Checkpoint, peaks: Peaks) -> None:
        version = self._table.version() + 1
        try:
            self._table.create_write_transaction(
                actions,
                "append",
                schema_of(self.header.schema_version),
                commit_properties=_properties(checkpoint, peaks),
                post_commithook_properties=PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False),
            )
            self._table.update_incremental()
            for path in (entry(version), *self._snapshot_of(version)):
                self.folder.sync(path)
        except (OSError, DeltaError) as why:
            raise LogWriteFailed(f"{self.folder.uri}: the commit failed ({said(why)})") from why
        self._unsettled = []

    def _snapshot_of(self, version: int) -> list[str]:
        """The files of the snapshot that Delta wrote along with a commit, if it did; an object store needs no second look."""
        there = self.folder.local is not None and self.folder.exists(snapshot(version))
        return [snapshot(version), LAST_SNAPSHOT] if there else []

    def settle(self, *, landed: bool) -> None:
        """After a commit whose end is unknown, and which ``landed`` or not: bring all of it to the disk, or discard its files."""
        paths = self._unsettled
        if landed:
            try:
                for path in (*paths, entry(self.version), *self._snapshot_of(self.version)):
                    self.folder.sync(path)
            except OSError as why:
                raise LogWriteFailed(f"{self.folder.uri}: the commit failed ({said(why)})") from why
        else:
            self._discard(paths)
        self._unsettled = []

    def _discard(self, paths: Iterable[str]) -> None:
        """Best effort: a file that no commit names is harmless, it only takes room."""
        for path in paths:
            with suppress(OSError):
                self.folder.remove(path)

    def last(self) -> tuple[Checkpoint, Peaks]:
        """The newest checkpoint of this snapshot, and the tree's peaks as the writer stored them.

        Read from the entries of the Delta log themselves: a table's ``history`` runs ahead of its snapshot.
        """
        try:
            for version in range(self.version, -1, -1):
                entry = self._entry_of(version)
                if NOTE in entry:
                    return Checkpoint.parse(entry[NOTE]), _peaks(entry)
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as why:
            raise LogUnreadable(f"{self.folder.uri}: the last checkpoint is damaged ({said(why)})") from why
        raise LogUnreadable(f"{self.folder.uri}: the log has no checkpoint")

    def _entry_of(self, version: int) -> dict[str, Any]:
        """What a commit says of itself; compaction by other tools leaves no checkpoint there."""
        lines = map(json.loads, self.folder.read(entry(version)).decode().splitlines())
        found = [line["commitInfo"] for line in lines if isinstance(line, dict) and "commitInfo" in line]
        return dict(found[0]) if found else {}

    def checkpoints(self) -> list[Checkpoint]:
        """All checkpoints that the Delta log still holds and that can be read, newest first."""
        found = []
        for version in range(self.version, -1, -1):
            with suppress(OSError, ValueError, KeyError, TypeError, InvalidInput):
                found.append(Checkpoint.parse(self._entry_of(version)[NOTE]))
        return found

    def files(self) -> list[DataFile]:
        """The data files in the order of their records."""
        try:
            actions = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
            found = [
                DataFile(a["path"], int(a["num_records"]), int(a["min.index"]), int(a["max.index"]), _said(a)) for a in actions
            ]
        except (DeltaError, OSError, ValueError, KeyError, TypeError) as why:
            raise LogUnreadable(f"{self.folder.uri}: the list of files is damaged ({said(why)})") from why
        return sorted(found, key=lambda file: (file.first, file.path))

    def batches(self, columns: list[str] | None = None, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Records in the order of their places, a few thousand at a time; only files and row groups that may hold them."""
        for group in self.groups():
            first, last = group[0].first, max(file.last for file in group)
            if last >= start and (stop is None or first < stop):
                yield from self.group_batches(group, columns, start - first, None if stop is None else stop - first)

    def groups(self) -> list[list[DataFile]]:
        """The files in the order of their records; files whose ranges overlap, as other tools may write them, go together."""
        groups: list[list[DataFile]] = []
        reach = -1
        for file in self.files():
            if groups and file.first <= reach:
                groups[-1].append(file)
            else:
                groups.append([file])
            reach = max(reach, file.last)
        return groups

    def group_batches(
        self, group: list[DataFile], columns: list[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The records of one group that stand in the row groups covering rows ``start`` to ``stop``.

        Our own files are in order. What another tool rewrote (``OPTIMIZE`` keeps rows, not their order) is sorted in memory.
        """
        if len(group) == 1 and group[0].path.startswith(PREFIX):
            yield from self._read(group[0], columns, start, stop)
            return
        wanted = None if columns is None else list(dict.fromkeys(["index", *columns]))
        parts = [batch for file in group for batch in self._read(file, wanted, 0, None)]
        table = pa.Table.from_batches(parts).sort_by("index") if parts else pa.table({})
        yield from (table if columns is None else table.select(columns)).to_batches(ROWS)

    def _read(self, file: DataFile, columns: list[str] | None, start: int, stop: int | None) -> Iterator[pa.RecordBatch]:
        return read_file(self.folder, file, self.header.schema_version, columns, start, stop)

    def compact(self, checkpoint: Checkpoint, peaks: Peaks, most: int) -> int:
        """Merge neighbouring files of together at most ``most`` records into one, in one commit; returns how many files went.

        Records, places and checkpoints stay what they are. The old files are no longer referred to; ``vacuum`` removes them.
        """
        merges = [files for files in neighbours(self.groups(), most) if len(files) > 1]
        actions: list[AddAction | RemoveAction] = []
        now = int(time.time() * 1000)
        with self._discarding() as paths:
            for files in merges:
                batches = (batch for file in files for batch in self.group_batches([file]))
                actions.append(self._write(paths, files[0].first, gathered(batches), data_change=False))
                actions += [RemoveAction(file.path, False, now) for file in files]
        if actions:
            self._commit_merge(actions, checkpoint, peaks)
        return sum(map(len, merges))

    def _commit_merge(self, actions: list[AddAction | RemoveAction], checkpoint: Checkpoint, peaks: Peaks) -> None:
        try:
            self._commit(actions, checkpoint, peaks)
        except LogWriteFailed:
            self.refresh()
            named = {file.path for file in self.files()}
            self._discard(path for path in self._unsettled if path not in named)
            raise

    def leaves(self, stop: int | None = None) -> bytes:
        """The stored leaf hashes of the first ``stop`` records, 32 bytes each."""
        parts = []
        for batch in self.batches(["leaf_hash"], 0, stop):
            parts.append(b"".join(batch.column(0).to_pylist()))
        return b"".join(parts)[: None if stop is None else HASH * stop]

    def wrong_schema(self) -> list[str]:
        """What the table says of itself and a log does not."""
        return list(table_problems(self._table, self.header.schema_version))

    def wrong_claims(self, file: DataFile) -> list[str]:
        """What the table tells its readers of a file, and its records do not bear out."""
        return list(wrong_claims(self.folder, file))

    @property
    def version(self) -> int:
        """The Delta version this object sees."""
        return int(self._table.version())

    def uris(self) -> list[str]:
        """Addresses of the data files, for other readers."""
        if self._scratch is not None:
            return [f"{self.folder.uri}/{file.path}" for file in self.files()]
        return list(self._table.file_uris())


def _said(action: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in action.items() if value is not None}


def _properties(checkpoint: Checkpoint, peaks: Peaks) -> CommitProperties:
    hashes = [value.hex() for value in peaks.hashes]
    metadata = {NOTE: checkpoint.note, PEAKS: json.dumps({"size": peaks.size, "hashes": hashes})}
    # No retry: a commit takes the next version or fails, so two writers can never both append.
    return CommitProperties(custom_metadata=metadata, max_commit_retries=0)


def _peaks(entry: Mapping[str, Any]) -> Peaks:
    stored = json.loads(entry[PEAKS])
    return Peaks(int(stored["size"]), [bytes.fromhex(value) for value in stored["hashes"]])


def _masked(text: str | None) -> tuple[str, ...] | None:
    """The fields that a masked copy says it leaves out; None for a log."""
    if text is None:
        return None
    try:
        return tuple(map(str, json.loads(text)))
    except (ValueError, TypeError) as why:
        raise LogUnreadable(f"the list of masked fields is damaged ({said(why)})") from why


def _secret(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        secret = bytes.fromhex(text)
    except ValueError as why:
        raise LogUnreadable("the secret of the log is damaged") from why
    if len(secret) != 32:
        raise LogUnreadable("the secret of the log is damaged")
    return secret
