"""Writing, reopening, replaying and proving: what a sound log gives back."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from audit_world import KEY, OTHER_KEY, SCOPE, slates, write_log

from slateproof.audit import (
    AuditLog,
    Checkpoint,
    KeyMismatch,
    LogClosed,
    LogExists,
    LogLocked,
    MissingKey,
    NotReplayable,
    verify_log,
)
from slateproof.certify import certify
from slateproof.errors import InvalidInput
from slateproof.types import Levers, Pool


def same(a: object, b: object) -> bool:
    """Slates equal in everything that is logged, not only in ids and margins."""
    left, right = a.trace.to_dict(), b.trace.to_dict()  # type: ignore[attr-defined]
    for trace in (left, right):
        # A replayed pool without a catalogue is read from logged similarities.
        trace.pop("similarity_source")
        trace.pop("similarities", None)
    return bool(left == right)


def test_every_kind_of_slate_replays_bit_for_bit(tmp_path: Path) -> None:
    made = slates(96)
    write_log(tmp_path / "log", made, commits=3, scope=SCOPE)
    log = AuditLog.open(tmp_path / "log")
    assert len(log) == len(made)
    for index, slate in enumerate(made):
        again = log.replay(index)
        assert again == slate
        assert same(again, slate), index
    report = log.verify(public_key=KEY.public_key())
    assert report.ok, report.to_text()
    assert (report.size, report.replayed, report.withheld, report.exit_code) == (96, 96, 0, 0)


def test_certificates_are_checked_again(tmp_path: Path) -> None:
    made = slates(40, seed=3)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        for slate in made:
            log.append(slate, certificate=certify(slate), movement=0.25)
        log.commit()
        report = log.verify()
        assert report.ok, report.to_text()
        assert log.store.header.level == "replay"
    wrong = certify(made[0])
    lie = type("Lie", (), {"margin": np.nextafter(wrong.margin, 9.0), "radius": wrong.radius})()
    with AuditLog.create(tmp_path / "lie", key=KEY) as log:
        log.append(made[0], certificate=lie)
        log.commit()
        problem = log.verify().problems[0]
    assert (problem.kind, problem.index) == ("replay", 0)
    assert "certified_margin is logged as" in problem.message


def test_input_order_leaves_no_mark_on_the_digest(tmp_path: Path) -> None:
    from slateproof.audit.rows import Entry, rows_of
    from slateproof.select import GreedySelector

    rng = np.random.default_rng(1)
    ids, scores, targets = np.arange(12), rng.normal(size=12), rng.random(12)
    gram = rng.random((12, 12))
    gram = (gram + gram.T) / 2
    order = rng.permutation(12)
    rows = []
    for take in (np.arange(12), order):
        pool = Pool(ids[take], scores[take], targets[take], None, similarity=gram[np.ix_(take, take)])
        slate = GreedySelector().select(pool, Levers(0.1, 0.0, 0.5, 4))
        rows.append(rows_of([Entry(slate, None, None, None, None)], {}))
    assert rows[0].equals(rows[1])


def test_checkpoints_and_proofs(tmp_path: Path) -> None:
    made = slates(13)
    checkpoints = write_log(tmp_path / "log", made, commits=4)
    log = AuditLog.open(tmp_path / "log")
    last = log.checkpoint
    assert last == checkpoints[-1]
    for index in range(13):
        assert log.prove(index).verify(last.root)
    for older in checkpoints:
        assert log.prove_since(older).verify(older.root, last.root)
        assert log.verify(older, KEY.public_key()).ok
    for bad in (-1, 13, True, "0"):
        with pytest.raises(InvalidInput, match="index"):
            log.prove(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="ahead of the log"):
        log.prove_since(Checkpoint(last.origin, 14, bytes(32)))


def test_a_commit_without_news_is_the_last_one(tmp_path: Path) -> None:
    with AuditLog.create(tmp_path / "log") as log:
        empty = log.commit()
        assert (empty.size, empty.signature) == (0, b"")
        assert log.verify().ok
        log.append(slates(1)[0])
        one = log.commit()
        assert one.size == 1
        assert log.commit() is one
        assert log.prove_since(empty).verify(empty.root, one.root)


def test_a_reopened_log_continues(tmp_path: Path) -> None:
    made = slates(9)
    first = write_log(tmp_path / "log", made[:4])[-1]
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        log.append_batch(made[4:], round_ids=range(5), subjects=["a"] * 5)
        second = log.commit()
        assert second.size == 9
        assert log.prove_since(first).verify(first.root, second.root)
    assert verify_log(tmp_path / "log", first, KEY.public_key()).ok
    assert AuditLog.open(tmp_path / "log").replay(8) == made[8]


def test_what_waits_is_committed_on_close_and_bounded_in_memory(tmp_path: Path) -> None:
    made = slates(30)
    with AuditLog.create(tmp_path / "log", max_pending_bytes=10_000) as log:
        for slate in made:
            log.append(slate)
        assert 20 <= len(log) < 30, "the memory bound commits before the caller does"
    assert len(AuditLog.open(tmp_path / "log")) == 30
    with pytest.raises(LogClosed):
        log.append(made[0])
    with pytest.raises(LogClosed):
        log.commit()


def test_a_background_committer_bounds_the_delay(tmp_path: Path) -> None:
    with AuditLog.create(tmp_path / "log", flush_every_seconds=0.05) as log:
        log.append(slates(1)[0])
        deadline = time.monotonic() + 20
        while len(log) == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(log) == 1


def test_threads_share_a_log(tmp_path: Path) -> None:
    made = slates(60)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:

        def work(part: int) -> None:
            for slate in made[part::4]:
                log.append(slate, round_id=part)
                if slate is made[part]:
                    log.commit()

        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert log.commit().size == 60
        assert log.verify().ok
        found = sorted(repr(log.replay(i).ids) for i in range(60))
    assert found == sorted(repr(slate.ids) for slate in made)


def test_monitor_level_holds_no_inputs_and_still_commits_to_them(tmp_path: Path) -> None:
    made = slates(24)
    write_log(tmp_path / "log", made, level="monitor")
    log = AuditLog.open(tmp_path / "log")
    report = log.verify(public_key=KEY.public_key())
    assert report.ok, report.to_text()
    assert (report.replayed, report.withheld) == (0, 24)
    with pytest.raises(NotReplayable, match="does not hold state, shown, candidates, scores"):
        log.replay(0)
    batch = next(log.store.batches())
    for name in ("scores", "candidate_rows", "candidate_int", "shown_int", "knowledge", "chosen"):
        assert batch.column(name).null_count == len(batch)
    assert batch.column("margins").null_count == 0
    assert batch.column("pool_size").to_pylist() == [slate.pool.size for slate in made]


def test_one_writer(tmp_path: Path) -> None:
    made = slates(2)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        log.append(made[0])
        log.commit()
        other = AuditLog.open(tmp_path / "log", key=KEY)
        assert len(other) == 1, "reading needs no lock"
        with pytest.raises(LogLocked, match="another writer"):
            other.append(made[1])
    other.append(made[1])
    assert other.commit().size == 2
    other.close()


def test_keys_that_do_not_fit(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(1))
    write_log(tmp_path / "plain", slates(1), key=None)
    with pytest.raises(KeyMismatch, match="not the one this log is signed with"):
        AuditLog.open(tmp_path / "log", key=OTHER_KEY)
    with pytest.raises(KeyMismatch, match="it is unsigned"):
        AuditLog.open(tmp_path / "plain", key=KEY)
    with pytest.raises(MissingKey, match="private key"):
        AuditLog.open(tmp_path / "log").append(slates(1)[0])


def test_what_append_refuses_changes_nothing(tmp_path: Path) -> None:
    slate = slates(1)[0]
    with AuditLog.create(tmp_path / "log") as log:
        for arguments, field in (
            ({"slate": "no"}, "slate"),
            ({"slate": slate, "round_id": 1.5}, "round_id"),
            ({"slate": slate, "subject": True}, "subject"),
            ({"slate": slate, "subject": "half a pair \ud800"}, "subject"),
        ):
            with pytest.raises(InvalidInput) as caught:
                log.append(**arguments)  # type: ignore[arg-type]
            assert caught.value.field == field
        with pytest.raises(InvalidInput, match="one label per slate"):
            log.append_batch([slate], round_ids=[])
        assert log.commit().size == 0
    for options, field in (
        ({"level": "all"}, "level"),
        ({"scope": {"x": object()}}, "scope"),
        ({"flush_every_seconds": 0}, "flush_every_seconds"),
        ({"max_pending_bytes": 0}, "max_pending_bytes"),
    ):
        with pytest.raises(InvalidInput) as caught:
            AuditLog.create(tmp_path / "new", **options)  # type: ignore[arg-type]
        assert caught.value.field == field
    assert not (tmp_path / "new").exists()
    with pytest.raises(LogExists, match="new or empty folder"):
        AuditLog.create(tmp_path / "log")


def test_compaction_keeps_everything_valid(tmp_path: Path) -> None:
    made = slates(50)
    checkpoints = write_log(tmp_path / "log", made, commits=10)
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        assert log.compact(most=20) == 10
        assert [(file.first, file.rows) for file in log.store.files()] == [(0, 20), (20, 20), (40, 10)]
        assert log.compact(most=20) == 0
        log.append(made[0])
        last = log.commit()
        assert [log.replay(i) for i in range(51)] == [*made, made[0]]
        for older in checkpoints:
            assert log.prove_since(older).verify(older.root, last.root)
    report = verify_log(tmp_path / "log", checkpoints[2], KEY.public_key())
    assert report.ok, report.to_text()


def test_compaction_by_another_tool_does_no_harm(tmp_path: Path) -> None:
    """Delta's OPTIMIZE keeps rows but not their order, and writes no checkpoint of ours."""
    from deltalake import DeltaTable

    made = slates(50)
    checkpoints = write_log(tmp_path / "log", made, commits=10)
    DeltaTable(tmp_path / "log").optimize.compact()
    report = verify_log(tmp_path / "log", checkpoints[2], KEY.public_key())
    assert report.ok, report.to_text()
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        assert [log.replay(i) for i in (0, 17, 49)] == [made[0], made[17], made[49]]
        log.append(made[3])
        last = log.commit()
        assert log.prove_since(checkpoints[4]).verify(checkpoints[4].root, last.root)
    DeltaTable(tmp_path / "log").optimize.compact()
    assert verify_log(tmp_path / "log", last, KEY.public_key()).ok


def test_many_commits_pass_delta_snapshots(tmp_path: Path) -> None:
    """After a hundred commits Delta writes a snapshot of its own log; header, checkpoint and files must come through it."""
    made = slates(4)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        for number in range(104):
            log.append(made[number % 4])
            last = log.commit()
    assert list((tmp_path / "log" / "_delta_log").glob("*.checkpoint.parquet"))
    assert verify_log(tmp_path / "log", last, KEY.public_key()).ok
    with AuditLog.open(tmp_path / "log", key=KEY) as log:
        log.append(made[0])
        assert log.commit().size == 105


def test_a_log_verifies_while_it_grows(tmp_path: Path) -> None:
    made = slates(8)
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        log.append_batch(made)
        log.commit()
        stop = threading.Event()

        def grow() -> None:
            while not stop.is_set():
                log.append_batch(made)
                log.commit()

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            reports = [log.verify() for _ in range(6)]
        finally:
            stop.set()
            thread.join()
        assert all(report.ok for report in reports), next(r for r in reports if not r.ok).to_text()
        assert reports[-1].size > reports[0].size
