"""What is refused, what fails, and that nothing committed is touched by it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from audit_world import KEY, slates, write_log
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from slateproof.audit import (
    AuditLog,
    DamagedRecord,
    LogError,
    LogExists,
    LogUnreadable,
    LogWriteFailed,
    NewerLog,
    NotALog,
    verify_log,
)
from slateproof.audit.files import Folder
from slateproof.audit.schema import SCHEMA_VERSION
from slateproof.audit.store import Store

PUBLIC = KEY.public_key()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_folders_that_hold_no_log(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("mine")
    write_deltalake(tmp_path / "table", pa.table({"a": [1]}))
    for name in ("empty", "foreign", "none", "table"):
        with pytest.raises(NotALog, match=name):
            AuditLog.open(tmp_path / name)
        report = verify_log(tmp_path / name)
        assert (report.exit_code, report.ok) == (2, False)
        assert report.to_text().startswith("could not be checked: ")
    for name in ("foreign", "table"):
        before = snapshot(tmp_path / name)
        with pytest.raises(LogExists):
            AuditLog.create(tmp_path / name)
        assert snapshot(tmp_path / name) == before


def edit_header(folder: Path, **changes: Any) -> None:
    path = folder / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            configuration = line["metaData"]["configuration"]
            header = json.loads(configuration["slateproof.header"]) | changes
            configuration["slateproof.header"] = json.dumps(header)
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"schema_version": 3}, NewerLog, "schema version 3; this software reads up to 2"),
        ({"schema_version": "x"}, LogUnreadable, "header of the log is damaged"),
        ({"surprise": 1}, LogUnreadable, "header of the log is damaged"),
        ({"schema_version": True}, LogUnreadable, "header of the log is damaged"),
        ({"vkey": 5}, LogUnreadable, "header of the log is damaged"),
        ({"scope": "x"}, LogUnreadable, "header of the log is damaged"),
        ({"level": "all"}, LogUnreadable, "header of the log is damaged"),
        ({"software": None}, LogUnreadable, "header of the log is damaged"),
    ],
)
def test_headers_that_cannot_be_read(tmp_path: Path, changes: dict[str, Any], error: type[LogError], words: str) -> None:
    write_log(tmp_path / "log", slates(1))
    edit_header(tmp_path / "log", **changes)
    with pytest.raises(error, match=words):
        AuditLog.open(tmp_path / "log")
    assert verify_log(tmp_path / "log").exit_code == 2


def test_a_newer_log_is_not_written_to(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(1))
    edit_header(tmp_path / "log", schema_version=9)
    before = snapshot(tmp_path / "log")
    with pytest.raises(NewerLog):
        AuditLog.open(tmp_path / "log", key=KEY)
    assert snapshot(tmp_path / "log") == before


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises((LogWriteFailed, LogExists)):
        AuditLog.create(tmp_path / "file")
    with pytest.raises(LogWriteFailed, match="cannot be created"):
        AuditLog.create(tmp_path / "file" / "log")
    assert (tmp_path / "file").read_text() == "mine"


class FullDisk:
    """A stream that takes some bytes and then finds the disk full."""

    def __init__(self, stream: Any, room: int) -> None:
        self.stream, self.room, self.closed = stream, room, False

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.stream.write(data) or len(data))

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        self.closed = True
        self.stream.close()

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.mark.parametrize("room", [0, 1000, 9000])
def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    made = slates(12)
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append_batch(made[:5])
    checkpoint = log.commit()
    real = Folder.output
    log.append_batch(made[5:])
    before = {name: blob for name, blob in snapshot(tmp_path / "log").items() if not name.startswith("_catalogs")}
    monkeypatch.setattr(Folder, "output", lambda self, path: FullDisk(real(self, path), room))
    with pytest.raises(LogWriteFailed, match="No space left"):
        log.commit()
    monkeypatch.undo()
    after = {name: blob for name, blob in snapshot(tmp_path / "log").items() if not name.startswith("_catalogs")}
    assert after == before, "the torn file is gone, everything else untouched"
    assert verify_log(tmp_path / "log", checkpoint, PUBLIC).ok
    assert log.commit().size == 12, "what waited still waits"
    assert [log.replay(i) for i in range(12)] == made
    assert verify_log(tmp_path / "log", checkpoint, PUBLIC).ok
    log.close()


@pytest.mark.parametrize("landed", [False, True])
def test_a_commit_that_fails_late_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, landed: bool) -> None:
    """The answer of the storage is lost: the commit is there, or it is not, and the writer finds out."""
    made = slates(9)
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append_batch(made[:4])
    real = Folder.sync
    fail = "_delta_log" if landed else ".parquet"

    def sync(self: Folder, path: str) -> None:
        if fail in path and "_catalogs" not in path:
            raise OSError(errno.EIO, "Input/output error")
        real(self, path)

    monkeypatch.setattr(Folder, "sync", sync)
    with pytest.raises(LogWriteFailed, match="Input/output error"):
        log.commit()
    monkeypatch.undo()
    log.append_batch(made[4:])
    assert log.commit().size == 9
    assert [log.replay(i) for i in range(9)] == made
    assert log.verify(None, PUBLIC).ok
    log.close()


def test_a_second_writer_without_a_lock_cannot_fork_the_log(tmp_path: Path) -> None:
    """On an object store there is no lock: the second commit on one version fails, and says so."""
    write_log(tmp_path / "log", slates(3))
    one, two = AuditLog.open(tmp_path / "log", key=KEY), AuditLog.open(tmp_path / "log", key=KEY)
    one._writer.claim()
    assert one._writer.lock is not None
    one._writer.lock.release()
    two._writer.claim()
    one.append(slates(1)[0])
    two.append(slates(2)[1])
    assert one.commit().size == 4
    with pytest.raises(LogWriteFailed, match="commit failed"):
        two.commit()
    with pytest.raises(LogUnreadable, match="open it again"):
        two.commit()
    report = verify_log(tmp_path / "log", one.checkpoint, PUBLIC)
    assert report.ok
    assert report.size == 4


def test_replaying_a_damaged_record_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_log(tmp_path / "log", slates(3))
    path = next((tmp_path / "log").glob("*.parquet"))
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1]["target"] = 0.5
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    log = AuditLog.open(tmp_path / "log")
    assert log.replay(0) == slates(1)[0]
    with pytest.raises(DamagedRecord, match="record 1"):
        log.replay(1)


def test_a_torn_stored_tree_is_not_continued(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(3))
    path = tmp_path / "log" / "_delta_log" / f"{1:020d}.json"
    peaks = json.loads(json.loads(path.read_text().splitlines()[0])["commitInfo"]["slateproof.peaks"])
    path.write_text(path.read_text().replace(peaks["hashes"][0], "00" * 32))
    log = AuditLog.open(tmp_path / "log", key=KEY)
    with pytest.raises(LogUnreadable, match="does not fit the last checkpoint"):
        log.append(slates(1)[0])


def edit_commit(folder: Path, version: int, name: str, value: Any) -> None:
    path = folder / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"][name] = value
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("slateproof.checkpoint", value) for value in (5, None, [1], {"a": 1}, "", "x\n" + "9" * 5000 + "\ny\n\n")),
        *(("slateproof.peaks", value) for value in (5, None, [], "5", "[]", '{"size": Infinity, "hashes": []}', '{"size": 3}')),
        ("slateproof.peaks", '{"size": "3", "hashes": [5, null]}'),
    ],
)
def test_hostile_commits_are_refused_in_one_line(tmp_path: Path, name: str, value: Any) -> None:
    write_log(tmp_path / "log", slates(3))
    edit_commit(tmp_path / "log", 1, name, value)
    report = verify_log(tmp_path / "log", None, PUBLIC)
    assert report.exit_code == 2
    assert "the last checkpoint is damaged" in report.to_text()
    assert "\n" not in report.to_text()


def test_a_checkpoint_of_five_thousand_digits(tmp_path: Path) -> None:
    checkpoint = write_log(tmp_path / "log", slates(3))[-1]
    (tmp_path / "note").write_text(str(checkpoint).replace("\n3\n", "\n" + "3" * 5000 + "\n"), encoding="utf-8")
    report = verify_log(tmp_path / "log", tmp_path / "note", PUBLIC)
    assert report.exit_code == 2
    assert "at most 18 digits" in report.to_text()


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path / "log", slates(1))
    real = os.stat

    def stat(path: Any, *words: Any, **named: Any) -> os.stat_result:
        if str(path).endswith("_delta_log"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *words, **named)

    monkeypatch.setattr(os, "stat", stat)
    report = verify_log(tmp_path / "log")
    assert report.exit_code == 2
    assert "cannot be read" in report.to_text()


def test_a_torn_old_entry_beside_a_wrong_root(tmp_path: Path) -> None:
    """Delta reads its snapshot and never looks at the entry; the search for the first bad commit does."""
    made = slates(4)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        for number in range(103):
            log.append(made[number % 4])
            log.commit()
    (tmp_path / "log" / "_delta_log" / f"{40:020d}.json").write_text('{"commitInfo":')
    assert verify_log(tmp_path / "log", None, PUBLIC).ok
    other = str(log.checkpoint).split("\n")
    other[2] = "A" * 43 + "="
    edit_commit(tmp_path / "log", 103, "slateproof.checkpoint", "\n".join(other))
    report = verify_log(tmp_path / "log", None, PUBLIC)
    assert {"signature", "root"} <= set(report.counts)


def test_errors_are_ours(tmp_path: Path) -> None:
    assert issubclass(DeltaError, Exception)
    assert not issubclass(LogError, DeltaError)
    with pytest.raises(LogError):
        Store.open(tmp_path / "none")


PROGRAM = """
import sys
from slateproof.audit import verify_log
report = verify_log(sys.argv[1], sys.argv[2], sys.argv[3])
print(report.to_text())
sys.exit(report.exit_code)
"""


def verify_elsewhere(folder: Path, checkpoint: Path, vkey: str, numba: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if numba else "1"}
    command = [sys.executable, "-c", PROGRAM, str(folder), str(checkpoint), vkey]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_log_verifies_in_another_process_without_numba(tmp_path: Path) -> None:
    from slateproof.audit import PublicKey

    checkpoint = write_log(tmp_path / "log", slates(16))[-1]
    (tmp_path / "note").write_text(str(checkpoint), encoding="utf-8")
    vkey = PublicKey.of(KEY).vkey
    done = verify_elsewhere(tmp_path / "log", tmp_path / "note", vkey, numba=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("sound: 16 records, 16 selected again bit for bit")


GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_the_golden_log_of_every_version_verifies(version: int) -> None:
    folder = GOLDEN / f"v{version}"
    vkey = (GOLDEN / f"v{version}.vkey").read_text()
    report = verify_log(folder, GOLDEN / f"v{version}.checkpoint", vkey)
    assert report.ok, report.to_text()
    assert (report.size, report.replayed) == (24, 24)


def test_an_old_log_keeps_its_version(tmp_path: Path) -> None:
    """Version 1 knows no pool sizes: a log of it is continued without them, and smuggled ones are not seen."""
    import pyarrow.parquet as pq

    shutil.copytree(GOLDEN / "v1", tmp_path / "log")
    made = slates(16)
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        log.append_batch(made)
        assert log.commit().size == 40
        assert log.replay(24) == made[0]
        assert log.compact() == 3
    path = next(path for path in (tmp_path / "log").glob("*.parquet") if pq.read_metadata(path).num_rows == 40)
    table = pq.read_table(path)
    assert "pool_size" not in table.column_names
    pq.write_table(table.append_column("pool_size", pa.array([7] * 40, pa.int32())), path)
    report = verify_log(tmp_path / "log", GOLDEN / "v1.checkpoint", PUBLIC)
    assert report.ok, report.to_text()
    assert report.replayed == 40
    assert next(Store.open(tmp_path / "log").batches()).column("pool_size").null_count == 40


def test_the_object_store_road_writes_and_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything through Delta's object store interface, as for S3, on a local folder: no lock, no fsync, no local paths."""
    import pyarrow.fs as pafs
    from deltalake.fs import DeltaStorageHandler

    real = Folder.__init__

    def remote(self: Folder, location: Any, options: Any = None) -> None:
        real(self, location, options)
        self.local = None
        self.files = pafs.PyFileSystem(DeltaStorageHandler(self.uri))

    (tmp_path / "log").mkdir()
    monkeypatch.setattr(Folder, "__init__", remote)
    made = slates(16)
    checkpoints = write_log(tmp_path / "log", made, commits=3)
    assert not (tmp_path / "log" / "_writer.lock").exists()
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        assert log.compact() == 3
        log.append(made[0])
        assert log.commit().size == 17
        assert log.replay(5) == made[5]
    assert verify_log(tmp_path / "log", checkpoints[1], PUBLIC).ok
    with pytest.raises(NotALog):
        AuditLog.open(tmp_path)
    with pytest.raises(LogExists):
        AuditLog.create(tmp_path / "log")
