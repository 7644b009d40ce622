"""The writing side under strain: forged history, forks, failing disks, and what may wait in memory."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from audit_world import KEY, catalogs, slates, write_log

from slateproof.audit import AuditLog, Checkpoint, LogLocked, LogUnreadable, LogWriteFailed, verify_log
from slateproof.audit import catalogs as shelf_module
from slateproof.audit import pending as pending_module
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.files import Folder
from slateproof.audit.idlists import list_array
from slateproof.audit.merkle import Peaks
from slateproof.audit.pending import total_bytes
from slateproof.audit.rows import Entry
from slateproof.audit.store import NOTE, PEAKS, Store
from slateproof.audit.writer import Writer
from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector, WindowSelector
from slateproof.types import Levers, Pool, State, unit
from slateproof.types.poolbatch import PoolBatch

PUBLIC = KEY.public_key()


def edit_entry(folder: Path, version: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what an entry of the Delta log says of its commit, or of the table."""
    path = folder / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for name in ("commitInfo", "metaData"):
            if name in line:
                change(line[name])
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


# --- a writer continues only what is its own


def forge(folder: Path) -> None:
    """Another tree under a checkpoint of the right form, whose signature nobody could make."""

    def change(entry: dict[str, Any]) -> None:
        if NOTE in entry:
            old, peaks = Checkpoint.parse(entry[NOTE]), Peaks()
            peaks.extend(bytes(range(32)) * old.size)
            entry[NOTE] = Checkpoint(old.origin, old.size, peaks.root(), old.signer, old.key_id, old.signature).note
            entry[PEAKS] = json.dumps({"size": peaks.size, "hashes": [value.hex() for value in peaks.hashes]})

    edit_entry(folder, 1, change)


def edit_header(folder: Path) -> None:
    def change(entry: dict[str, Any]) -> None:
        if "configuration" in entry:
            header = json.loads(entry["configuration"]["slateproof.header"]) | {"level": "monitor"}
            entry["configuration"]["slateproof.header"] = json.dumps(header)

    edit_entry(folder, 0, change)


def edit_secret(folder: Path) -> None:
    def change(entry: dict[str, Any]) -> None:
        if "configuration" in entry:
            entry["configuration"]["slateproof.secret"] = bytes(32).hex()

    edit_entry(folder, 0, change)


@pytest.mark.parametrize("tamper", [forge, edit_header, edit_secret])
def test_forged_history_is_not_signed(tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    write_log(tmp_path / "log", slates(3))
    tamper(tmp_path / "log")
    with (
        AuditLog.open(tmp_path / "log", key=KEY) as log,
        pytest.raises(LogUnreadable, match="the last checkpoint is not ours; verify the log before appending"),
    ):
        log.append(slates(4)[3])
    assert not verify_log(tmp_path / "log", None, PUBLIC).ok
    assert Store.open(tmp_path / "log").version == 1


def test_the_edited_header_of_an_unsigned_log_is_not_continued(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(3), key=None)
    edit_header(tmp_path / "log")
    with AuditLog.open(tmp_path / "log") as log, pytest.raises(LogUnreadable, match="not ours"):
        log.append(slates(1)[0])


# --- the lock


def test_a_fork_neither_holds_nor_keeps_the_lock(tmp_path: Path) -> None:
    made = slates(3)
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append(made[0])
    log.commit()
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        # The child: it must be refused while the parent writes, and lives on after the parent has closed.
        try:
            log.append(made[2])
            said = b"taken"
        except LogLocked:
            said = b"locked"
        os.write(there, said)
        threading.Event().wait(30)
        os._exit(0)
    try:
        assert os.read(here, 6) == b"locked"
        log.close()
        with AuditLog.open(tmp_path / "log", key=KEY) as other:
            other.append(made[1])
            assert other.commit().size == 2
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(here)
        os.close(there)


def test_a_log_that_nobody_refers_to_gives_its_lock_back(tmp_path: Path) -> None:
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append(slates(1)[0])
    del log
    with AuditLog.open(tmp_path / "log", key=KEY) as other:
        other.append(slates(1)[0])
        assert other.commit().size == 1


# --- what waits


def test_memory_is_counted_with_own_sources_and_matrices() -> None:
    rng = np.random.default_rng(0)
    n, d = 50, 256
    pool = Pool(range(n), rng.normal(size=n), rng.random(n), rng.random(n), vectors=unit(rng.normal(size=(n, d))))
    levers = Levers(0.1, 0.2, 0.3, 5)
    slate = GreedySelector().select(pool, levers, State())
    entries = [Entry(slate, None, None, None, None)] * 3
    one, three = total_bytes(entries[:1], set()), total_bytes(entries, set())
    assert one > n * d * 8 + slate.steps.similarities.nbytes  # type: ignore[union-attr]
    assert three < 1.3 * one, "one source object takes its memory once"
    catalog = catalogs(rng)[0]
    cheap = GreedySelector().select(catalog.pool(["q1", "q2", "q3", "q4", "q5"], rng.random(5)), levers, State())
    assert total_bytes([Entry(cheap, None, None, None, None)], set()) < 4096
    batch = GreedySelector().select_batch(PoolBatch.of([pool] * 8), levers, State())
    spans = pending_module.spans_of(batch, [None] * 8, [None] * 8)
    assert 8 * n * d * 8 < total_bytes(spans, set()) < 3 * 8 * n * d * 8


def test_pools_with_large_sources_are_committed_early(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 40
    made = []
    for _ in range(12):
        pool = Pool(range(n), rng.normal(size=n), rng.random(n), None, vectors=unit(rng.normal(size=(n, 300))))
        made.append(GreedySelector().select(pool, Levers(0.1, 0.0, 0.3, 3), State()))
    with AuditLog.create(tmp_path / "log", max_pending_bytes=300_000) as log:
        for slate in made:
            log.append(slate)
        assert len(log) >= 9, "three of them are more than may wait"


def test_row_groups_are_cut_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    n = 30
    gram = rng.random((n, n))
    pool = Pool(range(n), rng.normal(size=n), rng.random(n), None, similarity=(gram + gram.T) / 2)
    window = WindowSelector(window=0.9).select(pool, Levers(0.1, 0.0, 0.3, 3), State())
    monkeypatch.setattr(pending_module, "BYTES", 50_000)
    batch = GreedySelector().select_batch(PoolBatch.of([pool] * 20), Levers(0.1, 0.0, 0.3, 3), State())
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        log.append_batch([window] * 20)
        log.append_batch(batch)
        log.commit()
        report = log.verify(None, PUBLIC)
        assert report.ok, report.to_text()
        assert report.replayed == 40
    metadata = pq.read_metadata(next((tmp_path / "log").glob("*.parquet")))
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sum(rows) == 40
    assert max(rows) <= 6


def test_a_list_beyond_its_offsets_is_refused() -> None:
    import pyarrow as pa

    with pytest.raises(InvalidInput, match="at most 2147483647 values"):
        list_array(np.zeros(0), [2**30, 2**30], pa.float64())


def test_catalogues_are_cut_and_read_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf_module, "BYTES", 1000)
    for catalog in catalogs(np.random.default_rng(3)):
        CatalogShelf(Folder(tmp_path)).put(catalog)
        path = tmp_path / "_catalogs" / f"{catalog.digest}.parquet"
        assert pq.read_metadata(path).num_row_groups > 2
        assert CatalogShelf(Folder(tmp_path)).get(catalog.digest).digest == catalog.digest


def test_the_shelf_lets_go_of_what_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = catalogs(np.random.default_rng(3))
    shelf = CatalogShelf(Folder(tmp_path))
    monkeypatch.setattr(shelf_module, "KEPT", 50_000)
    for catalog in made:
        shelf.put(catalog)
    assert len(shelf._known) < len(made)
    assert [shelf.get(catalog.digest).digest for catalog in made] == [catalog.digest for catalog in made]
    assert made[-1].digest in shelf._known


def test_a_torn_catalogue_is_written_again(tmp_path: Path) -> None:
    catalog = catalogs(np.random.default_rng(3))[0]
    CatalogShelf(Folder(tmp_path)).put(catalog)
    path = next((tmp_path / "_catalogs").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-50])
    CatalogShelf(Folder(tmp_path)).put(catalog)
    assert CatalogShelf(Folder(tmp_path)).get(catalog.digest).digest == catalog.digest


def test_a_batch_is_taken_whole_before_it_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails at the second slice: everything is committed or waits, nothing is lost and nothing is there twice."""
    made = slates(12)
    log = AuditLog.create(tmp_path / "log", key=KEY, max_pending_bytes=10_000)
    real, calls = Store.append, []

    def append(self: Store, *words: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise LogWriteFailed("full")
        real(self, *words)

    monkeypatch.setattr(Store, "append", append)
    with pytest.raises(LogWriteFailed, match="full"):
        log.append_batch(made)
    assert 0 < len(log) < 12
    assert log.commit().size == 12
    assert [log.replay(i) for i in range(12)] == made
    log.close()


def test_append_does_not_wait_for_a_commit_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = slates(2)
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append(made[0])
    inside, go, real = threading.Event(), threading.Event(), Store.append

    def append(self: Store, *words: Any) -> None:
        inside.set()
        assert go.wait(30)
        real(self, *words)

    monkeypatch.setattr(Store, "append", append)
    commit = threading.Thread(target=log.commit)
    commit.start()
    assert inside.wait(30)
    second = threading.Thread(target=log.append, args=(made[1],))
    second.start()
    second.join(10)
    waited = second.is_alive()
    go.set()
    commit.join()
    second.join()
    assert not waited
    assert len(log) == 1
    assert log.commit().size == 2
    assert [log.replay(i) for i in range(2)] == made
    log.close()


# --- the background


def background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AuditLog, list[Any], threading.Event]:
    """A log whose background commits raise what stands first in a list; the event tells that one was tried."""
    failures: list[Any] = []
    tried, real = threading.Event(), Writer.write

    def write(self: Writer, *words: Any) -> None:
        if failures:
            why = failures.pop(0)
            tried.set()
            raise why
        real(self, *words)

    monkeypatch.setattr(Writer, "write", write)
    return AuditLog.create(tmp_path / "log", key=KEY, flush_every_seconds=0.02), failures, tried


def until(condition: Callable[[], bool]) -> None:
    done = threading.Event()
    for _ in range(1500):
        if condition():
            return
        done.wait(0.02)
    raise AssertionError("it did not come about in 30 s")


def test_a_failure_in_the_background_takes_nothing_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = slates(3)
    log, failures, tried = background(tmp_path, monkeypatch)
    failures += [LogWriteFailed("first")] * 10**6
    log.append(made[0])
    assert tried.wait(30)
    until(lambda: log._committer._failure is not None)  # type: ignore[union-attr]
    with pytest.raises(LogWriteFailed, match="first"):
        log.append(made[1])
    failures.clear()
    until(lambda: len(log) == 1)
    log.append(made[1])
    until(lambda: len(log) == 2)
    assert [log.replay(i) for i in range(2)] == made[:2], "the refused slate was not taken"
    log.close()


def test_a_failure_that_a_later_flush_makes_good_is_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = slates(2)
    log, failures, tried = background(tmp_path, monkeypatch)
    failures.append(LogWriteFailed("once"))
    log.append(made[0])
    assert tried.wait(30)
    until(lambda: len(log) == 1)
    until(lambda: log._committer._failure is None)  # type: ignore[union-attr]
    log.append(made[1])
    log.close()
    assert len(AuditLog.open(tmp_path / "log")) == 2


def test_what_cannot_be_encoded_does_not_end_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, failures, tried = background(tmp_path, monkeypatch)
    failures.append(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"))
    log.append(slates(1)[0])
    assert tried.wait(30)
    until(lambda: len(log) == 1)
    log.close()


def test_a_background_that_has_ended_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, failures, _ = background(tmp_path, monkeypatch)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    failures.append(RuntimeError("a fault of ours"))
    log.append(slates(1)[0])
    thread = log._committer._thread  # type: ignore[union-attr]
    thread.join(30)
    with pytest.raises(LogWriteFailed, match="in the background has ended"):
        log.append(slates(1)[0])
    log.close()
    assert len(AuditLog.open(tmp_path / "log")) == 1


# --- disks


def test_a_landed_commit_is_not_acknowledged_before_it_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = slates(4)
    log = AuditLog.create(tmp_path / "log", key=KEY)
    log.append_batch(made)
    real, synced, broken = Folder.sync, [], [True]

    def sync(self: Folder, path: str) -> None:
        if broken[0] and path.startswith("_delta_log"):
            raise OSError(errno.EIO, "Input/output error")
        synced.append(path)
        real(self, path)

    monkeypatch.setattr(Folder, "sync", sync)
    for _ in range(3):
        with pytest.raises(LogWriteFailed, match="Input/output error"):
            log.commit()
        assert len(log) == 0
    synced.clear()
    broken[0] = False
    assert log.commit().size == 4
    assert [path.split("-")[0] for path in synced] == ["records", "_delta_log/00000000000000000001.json"]
    log.close()
    assert [AuditLog.open(tmp_path / "log").replay(i) for i in range(4)] == made


def test_new_folders_are_entered_in_those_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slateproof.audit import files

    seen: set[Path] = set()
    real = files._sync
    monkeypatch.setattr(files, "_sync", lambda path: (seen.add(path), real(path))[1])
    with AuditLog.create(tmp_path / "a" / "b" / "log", key=KEY) as log:
        log.append(slates(1)[0])
    for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "log", tmp_path / "a/b/log/_delta_log"):
        assert path in seen, path


def many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A log with more than a hundred commits; returns what was synced."""
    synced: list[str] = []
    real = Folder.sync
    monkeypatch.setattr(Folder, "sync", lambda self, path: (synced.append(path), real(self, path))[1])
    made = slates(4)
    with AuditLog.create(folder, key=KEY) as log:
        for number in range(104):
            log.append(made[number % 4])
            log.commit()
    monkeypatch.undo()
    return synced


def test_a_torn_snapshot_of_the_delta_log_blocks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "log"
    synced = many(folder, monkeypatch)
    snapshot = next((folder / "_delta_log").glob("*.checkpoint.parquet"))
    assert {f"_delta_log/{snapshot.name}", "_delta_log/_last_checkpoint"} <= set(synced)
    snapshot.write_bytes(snapshot.read_bytes()[:-200])
    report = verify_log(folder, None, PUBLIC)
    assert report.ok, report.to_text()
    assert report.size == 104
    assert any("snapshot of the Delta log is damaged" in note for note in report.notes)
    reader = AuditLog.open(folder)
    assert all(Path(uri).exists() for uri in reader.store.uris())
    with AuditLog.open(folder, key=KEY) as log:
        log.append(slates(1)[0])
        assert log.commit().size == 105
        assert not log.store.without_snapshot
    report = verify_log(folder, None, PUBLIC)
    assert report.ok
    assert not any("snapshot" in note for note in report.notes)
    # Without all of the entries there is nothing to fall back to.
    for path in (folder / "_delta_log").glob("_damaged-*"):
        path.rename(path.with_name(path.name.removeprefix("_damaged-")))
    (folder / "_delta_log" / f"{50:020d}.json").unlink()
    assert verify_log(folder, None, PUBLIC).exit_code == 2


def test_compaction_makes_large_row_groups_and_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path / "log", slates(50), commits=10)
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        before = set((tmp_path / "log").glob("*.parquet"))
        real = Folder.sync

        def sync(self: Folder, path: str) -> None:
            if path.startswith("records-"):
                raise OSError(errno.ENOSPC, "No space left on device")
            real(self, path)

        monkeypatch.setattr(Folder, "sync", sync)
        with pytest.raises(LogWriteFailed, match="No space left"):
            log.compact()
        monkeypatch.undo()
        assert set((tmp_path / "log").glob("*.parquet")) == before
        assert log.compact() == 10
        (path,) = [Path(uri) for uri in log.store.uris()]
    assert pq.read_metadata(path).num_row_groups == 1
    assert verify_log(tmp_path / "log", None, PUBLIC).ok


def test_records_name_the_software_that_wrote_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slateproof.audit import writer

    write_log(tmp_path / "log", slates(2))
    monkeypatch.setattr(writer, "SOFTWARE", "slateproof 9.9")
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        log.append(slates(1)[0])
        log.commit()
        found = [name for batch in log.store.batches(["software"]) for name in batch.column(0).to_pylist()]
        assert found[0] == found[1] == log.header.software
        assert found[2] == "slateproof 9.9"
        report = log.verify(None, PUBLIC)
    assert report.ok, report.to_text()
