"""Every way of tampering that the log promises to show: what is found, at which record, in which words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audit_world import KEY, OTHER_KEY, slates, write_log

from slateproof.audit import AuditLog, Checkpoint, Problem, masked_copy, verify_log
from slateproof.audit.rows import Entry, rows_of
from slateproof.audit.schema import SCHEMA
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.audit.store import Store

PUBLIC = KEY.public_key()


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, list[Checkpoint]]:
    """Twelve records in three commits, all from catalogues and pools that a greedy selector likes."""
    return tmp_path / "log", write_log(tmp_path / "log", slates(12), commits=3)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("records-*.parquet"))


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)


def rehash(folder: Path) -> None:
    """What a careful attacker does: make every leaf hash fit its record again."""
    secret = Store.open(folder).secret
    for path in files(folder):
        batch = pq.read_table(path).combine_chunks().to_batches()[0]
        leaves = leaves_in(batch, commitments_of(batch, secret)[0])
        rewrite(path, lambda rows, leaves=leaves: [row.update(leaf_hash=leaf) for row, leaf in zip(rows, leaves, strict=True)])


def first(folder: Path, checkpoint: Checkpoint | None = None, key: Any = PUBLIC) -> Problem:
    report = verify_log(folder, checkpoint, key)
    assert report.failure is None
    assert report.exit_code == 1
    return report.problems[0]


def nudge(rows: list[dict[str, Any]]) -> None:
    rows[1]["scores"][0] = float(np.nextafter(rows[1]["scores"][0], 9.0))


def test_a_changed_float(log: tuple[Path, list[Checkpoint]]) -> None:
    rewrite(files(log[0])[1], nudge)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("changed", 5)


def test_a_changed_float_with_its_hash_redone(log: tuple[Path, list[Checkpoint]]) -> None:
    rewrite(files(log[0])[1], nudge)
    rehash(log[0])
    report = verify_log(log[0], None, PUBLIC)
    roots = [problem for problem in report.problems if problem.kind == "root"]
    assert [problem.index for problem in roots] == [4], "the commit that holds the record is named"
    assert "records 4 to 7" in roots[0].message


def test_swapped_records(log: tuple[Path, list[Checkpoint]]) -> None:
    def swap(rows: list[dict[str, Any]]) -> None:
        rows[1], rows[2] = rows[2], rows[1]

    rewrite(files(log[0])[0], swap)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("misplaced", 1)

    def renumber(rows: list[dict[str, Any]]) -> None:
        rows[1]["index"], rows[2]["index"] = 1, 2

    rewrite(files(log[0])[0], renumber)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("changed", 1)
    rehash(log[0])
    assert "root" in verify_log(log[0], None, PUBLIC).counts


def test_a_record_left_out_or_put_in_twice(log: tuple[Path, list[Checkpoint]]) -> None:
    saved = files(log[0])[2].read_bytes()
    rewrite(files(log[0])[2], lambda rows: rows.pop(1))
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("missing", 9)
    assert "records 9 to 9 of 12 are not there" in problem.message
    files(log[0])[2].write_bytes(saved)
    rewrite(files(log[0])[2], lambda rows: rows.pop())
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("missing", 11)
    files(log[0])[2].write_bytes(saved)
    rewrite(files(log[0])[2], lambda rows: rows.append(rows[-1]))
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("misplaced", 12)


def test_a_value_missing_in_a_list(log: tuple[Path, list[Checkpoint]]) -> None:
    """The digest has no bytes for it, so no file of a log may hold one."""

    def hollow(rows: list[dict[str, Any]]) -> None:
        rows[2]["margins"][0] = None

    rewrite(files(log[0])[1], hollow)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("unreadable", 4)
    assert "margins holds a list with a value missing" in problem.message


def test_a_file_gone_or_cut_short(log: tuple[Path, list[Checkpoint]]) -> None:
    path = files(log[0])[1]
    path.write_bytes(path.read_bytes()[:-100])
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("unreadable", 4)
    path.unlink()
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("unreadable", 4)
    assert path.name in problem.message


def test_a_gap_is_one_problem_and_what_follows_is_still_looked_at(tmp_path: Path) -> None:
    checkpoints = write_log(tmp_path / "log", slates(20), commits=5)
    path = files(tmp_path / "log")[1]
    rewrite(files(tmp_path / "log")[3], nudge)
    path.unlink()
    report = verify_log(tmp_path / "log", checkpoints[0], PUBLIC)
    assert [(problem.kind, problem.index) for problem in report.problems] == [("unreadable", 4), ("missing", 4), ("changed", 13)]
    assert "records 4 to 7 of 20 are not there" in report.problems[1].message
    assert report.replayed == 15


def test_a_change_before_a_gap_is_named_by_its_commit(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(20), commits=5)
    rewrite(files(tmp_path / "log")[1], nudge)
    rehash(tmp_path / "log")
    files(tmp_path / "log")[3].unlink()
    report = verify_log(tmp_path / "log", None, PUBLIC)
    found = [(problem.kind, problem.index) for problem in report.problems]
    assert {("unreadable", 12), ("missing", 12), ("root", 4)} <= set(found)


def test_a_cut_tail(log: tuple[Path, list[Checkpoint]]) -> None:
    folder, checkpoints = log
    (folder / "_delta_log" / "00000000000000000003.json").unlink()
    assert verify_log(folder, None, PUBLIC).ok, "without a later checkpoint an old state is a sound log"
    assert verify_log(folder, checkpoints[1], PUBLIC).ok
    problem = first(folder, checkpoints[2])
    assert (problem.kind, problem.index) == ("rollback", 8)
    assert "covers 12 records, and the log has 8" in problem.message


def test_an_old_state_put_back_and_continued(tmp_path: Path) -> None:
    made = slates(12)
    write_log(tmp_path / "log", made[:4])
    shutil.copytree(tmp_path / "log", tmp_path / "fork")
    heads = []
    for name, part in (("log", made[4:8]), ("fork", made[8:12])):
        with AuditLog.open(tmp_path / name, key=KEY) as writer:
            writer.append_batch(part)
            heads.append(writer.commit())
    assert verify_log(tmp_path / "fork", heads[1], PUBLIC).ok
    problem = first(tmp_path / "fork", heads[0])
    assert problem.kind == "fork"
    assert "first 8 records are not those of the given checkpoint" in problem.message


def test_a_log_rewritten_by_its_own_writer(tmp_path: Path) -> None:
    made = slates(6)
    checkpoint = write_log(tmp_path / "log", made)[-1]
    write_log(tmp_path / "other", made)
    problem = first(tmp_path / "other", checkpoint)
    assert problem.kind == "origin"


def test_another_hand(log: tuple[Path, list[Checkpoint]], tmp_path: Path) -> None:
    assert first(log[0], None, OTHER_KEY.public_key()).kind == "signature"
    assert first(log[0], log[1][0], OTHER_KEY.public_key()).kind == "signature"
    write_log(tmp_path / "plain", slates(2), key=None)
    assert first(tmp_path / "plain").kind == "signature"
    report = verify_log(tmp_path / "plain")
    assert report.ok
    assert report.signed_by is None
    assert any("unsigned" in note for note in report.notes)


def edit_entry(folder: Path, version: int, old: str, new: str) -> None:
    path = folder / "_delta_log" / f"{version:020d}.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_changed_header(log: tuple[Path, list[Checkpoint]]) -> None:
    edit_entry(log[0], 0, r"\"level\": \"replay\"", r"\"level\": \"monitor\"")
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("header", None)


def test_a_changed_secret(log: tuple[Path, list[Checkpoint]]) -> None:
    secret = Store.open(log[0]).secret
    assert secret is not None
    edit_entry(log[0], 0, secret.hex(), bytes(32).hex())
    assert first(log[0]).kind == "header"


def test_a_table_made_mutable(log: tuple[Path, list[Checkpoint]]) -> None:
    edit_entry(log[0], 0, '"delta.appendOnly":"true"', '"delta.appendOnly":"false"')
    assert "append-only" in first(log[0]).message


def test_a_forged_checkpoint(log: tuple[Path, list[Checkpoint]]) -> None:
    edit_entry(log[0], 3, r"\n12\n", r"\n11\n")
    kinds = set(verify_log(log[0], None, PUBLIC).counts)
    assert {"signature", "misplaced"} <= kinds


def test_a_changed_catalogue(log: tuple[Path, list[Checkpoint]]) -> None:
    path = sorted((log[0] / "_catalogs").glob("*.parquet"))[0]
    rows = pq.read_table(path)
    pq.write_table(rows.set_column(2, "target", pa.array(rows["target"].to_numpy()[::-1].copy())), path)
    problem = first(log[0])
    assert problem.kind == "catalog"
    assert "holds other facts than its name says" in problem.message
    path.unlink()
    assert first(log[0]).kind == "catalog"


def lie(folder: Path, column: str, change: Callable[[Any], Any], which: int = 4) -> Problem:
    """A log whose writer signs a record that does not follow from its inputs."""
    made = slates(13)[which : which + 1]
    with AuditLog.create(folder, key=KEY) as log:
        if made[0].pool.catalog is not None:
            log.catalogs.put(made[0].pool.catalog)
        rows = rows_of([Entry(made[0], None, None, None, None)], log.header.context)
        values = [change(rows.column(column)[0].as_py())]
        rows = rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, rows.column(column).type))
        log._writer.claim()
        log._writer.write([rows], 0)
        return log.verify(None, PUBLIC).problems[0]


@pytest.mark.parametrize(
    ("column", "change", "kind"),
    [
        ("margins", lambda v: [v[0] * 2, *v[1:]], "replay"),
        ("shaped", lambda v: [*v[:-1], np.nextafter(v[-1], 9.0)], "replay"),
        ("chosen", lambda v: [v[0] + 1, *v[1:]], "replay"),
        ("runners", lambda v: v[:-1], "replay"),
        ("slate_int", lambda v: [v[0] + 1, *v[1:]], "replay"),
        ("target", lambda v: v / 2, "replay"),
        ("pool_size", lambda v: v + 1, "replay"),
        ("pool_size", lambda v: None, "replay"),
        ("tie_rule", lambda v: "whatever pleases", "replay"),
        ("scores", lambda v: [float("nan"), *v[1:]], "inputs"),
        ("scores", lambda v: v[:-1], "inputs"),
        ("targets", lambda v: [2.0, *v[1:]], "inputs"),
        ("candidate_int", lambda v: [v[0], *v[:-1]], "inputs"),
        ("diversity", lambda v: -0.1, "inputs"),
        ("size", lambda v: 99, "inputs"),
        ("rule_kind", lambda v: "lottery", "inputs"),
        ("similarity_kind", lambda v: None, "inputs"),
        ("knowledge", lambda v: None, "inputs"),
        ("regime", lambda v: "end-to-end", "scope"),
        ("catalog_digest", lambda v: "0" * 64, "catalog"),
        ("catalog_digest", lambda v: "../../etc", "catalog"),
        ("certified_radius", lambda v: 1e9, "replay"),
        ("set_window", lambda v: 0.5, "replay"),
        ("set_proved", lambda v: not v, "replay"),
        ("similarity_values", lambda v: [0.0], "inputs"),
        ("similarity_kind", lambda v: "hearsay", "inputs"),
        ("candidate_rows", lambda v: [0, 1], "inputs"),
        ("shown_at", lambda v: [9], "inputs"),
        ("slate_at", lambda v: [0], "inputs"),
    ],
)
def test_a_writer_who_lies(tmp_path: Path, column: str, change: Callable[[Any], Any], kind: str) -> None:
    problem = lie(tmp_path / "log", column, change)
    assert (problem.kind, problem.index) == (kind, 0), str(problem)


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("catalog_digest", "0" * 64, "catalog"),
        ("catalog_digest", "../../etc", "catalog"),
        ("catalog_digest", None, "inputs"),
        ("targets", [0.5] * 14, "inputs"),
        ("candidate_int", [7], "inputs"),
        ("candidate_str", ["7"], "inputs"),
        ("similarity_kind", "none", "inputs"),
        ("similarity_higher", 0.0, "inputs"),
        ("similarity_values", [0.1], "inputs"),
        ("certified_margin", 1e9, "replay"),
        ("certified_radius", 1e9, "replay"),
        ("set_bound", 1e9, "replay"),
    ],
)
def test_a_writer_who_lies_beside_a_catalogue(tmp_path: Path, column: str, value: Any, kind: str) -> None:
    """What the catalogue says must not stand in the record a second time: nobody would compare the two."""
    problem = lie(tmp_path / "log", column, lambda v: value, which=0)
    assert (problem.kind, problem.index) == (kind, 0), str(problem)


def test_withholding_shows(log: tuple[Path, list[Checkpoint]]) -> None:
    secret = Store.open(log[0]).secret
    batch = pq.read_table(files(log[0])[0]).combine_chunks().to_batches()[0]
    found, _ = commitments_of(batch, secret)

    def drop(rows: list[dict[str, Any]]) -> None:
        rows[2]["scores"] = rows[2]["shaped"] = rows[2]["widths"] = rows[2]["targets"] = None
        rows[2]["commitments"] = [found[place][2].tobytes() if place == 6 else None for place in range(len(found))]

    rewrite(files(log[0])[0], drop)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("withheld", 2)
    assert "scores" in problem.message


@pytest.mark.parametrize("level", ["replay", "monitor"])
def test_a_masked_copy_withholds_what_it_says_and_no_more(tmp_path: Path, level: str) -> None:
    """One record without its round: whoever made the copy would hide something that is not on the list."""
    write_log(tmp_path / "log", slates(4), level=level)
    original = AuditLog.open(tmp_path / "log")
    masked_copy(original, tmp_path / "copy", drop=["steps"])
    assert verify_log(tmp_path / "copy", original.checkpoint, PUBLIC).ok
    batch = pq.read_table(files(tmp_path / "log")[0]).combine_chunks().to_batches()[0]
    found, _ = commitments_of(batch, original.store.secret)

    def drop(rows: list[dict[str, Any]]) -> None:
        rows[2]["round_id"] = None
        rows[2]["commitments"][0] = found[0][2].tobytes()
        rows[2]["salts"][0] = None

    rewrite(files(tmp_path / "copy")[0], drop)
    problem = first(tmp_path / "copy", original.checkpoint)
    assert (problem.kind, problem.index) == ("withheld", 2)
    assert "otherwise: round" in problem.message


@pytest.mark.parametrize("kind", ["monitor", "masked"])
def test_values_where_a_field_is_withheld(tmp_path: Path, kind: str) -> None:
    """No digest covers them, and other readers would take them for the log's."""
    write_log(tmp_path / "log", slates(4), level="monitor" if kind == "monitor" else "replay")
    folder = tmp_path / "log"
    if kind == "masked":
        folder = tmp_path / "copy"
        masked_copy(AuditLog.open(tmp_path / "log"), folder, drop=["state"])
    assert verify_log(folder, None, PUBLIC).ok
    rewrite(files(folder)[0], lambda rows: rows[2].update(knowledge=0.9))
    problem = first(folder)
    assert (problem.kind, problem.index) == ("changed", 2)


@pytest.mark.parametrize(("column", "value"), [("pseudonym", "somebody else"), ("salts", [bytes(16)] * 11)])
def test_what_belongs_into_masked_copies_only(log: tuple[Path, list[Checkpoint]], column: str, value: Any) -> None:
    rewrite(files(log[0])[1], lambda rows: rows[3].update({column: value}))
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("changed", 7)


def test_a_commitment_of_the_wrong_length_is_none(log: tuple[Path, list[Checkpoint]]) -> None:
    """Two neighbours that together have the right bytes, cut at another place, are not the commitments that were made."""
    batch = pq.read_table(files(log[0])[0]).combine_chunks().to_batches()[0]
    found = [column[2].tobytes() for column in commitments_of(batch, Store.open(log[0]).secret)[0]]

    def shift(rows: list[dict[str, Any]]) -> None:
        whole = found[6] + found[7]
        rows[2]["commitments"] = [None] * 6 + [whole[:31], whole[31:]] + [None] * 3
        for name in ("scores", "shaped", "widths", "targets", "similarity_kind", "similarity_lower", "similarity_higher"):
            rows[2][name] = None
        for name in ("similarity_known", "similarity_values", "similarity_table"):
            rows[2][name] = None

    rewrite(files(log[0])[0], shift)
    problem = first(log[0])
    assert (problem.kind, problem.index) == ("changed", 2)


def test_the_report_reads_as_text_and_json(log: tuple[Path, list[Checkpoint]]) -> None:
    sound = verify_log(log[0], log[1][0], PUBLIC)
    assert sound.to_text().startswith("sound: 12 records, 12 selected again bit for bit")
    rewrite(files(log[0])[1], nudge)
    report = verify_log(log[0], log[1][0], PUBLIC)
    text, data = report.to_text(), json.loads(json.dumps(report.to_dict()))
    assert text.startswith("NOT SOUND: 12 records, ")
    assert "changed at record 5: its values do not give the digest" in text
    assert data["exit_code"] == 1
    assert data["problems"][0] == {"kind": "changed", "index": 5, "message": report.problems[0].message}
    seen: list[tuple[int, int]] = []
    verify_log(log[0], progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (12, 12)
