"""What people do with a log: masked copies, one record on the table, what-if, and other readers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from audit_world import KEY, SCOPE, slates, write_log
from hypothesis import given
from hypothesis import strategies as st

from slateproof.audit import AuditLog, DamagedRecord, LogUnreadable, diff, masked_copy, pseudonym, show, verify_log
from slateproof.audit.queried import Queried, choose
from slateproof.audit.schema import COLUMNS, FIELDS
from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector, TopKSelector
from slateproof.types import Levers, Pool, Slate, State, unit

PUBLIC = KEY.public_key()
MASK_KEY = b"sixteen bytes ok"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    folder = tmp_path_factory.mktemp("uses") / "log"
    write_log(folder, slates(40), commits=2, scope=SCOPE)
    return AuditLog.open(folder)


# --- masked copies


@pytest.mark.parametrize("drop", [(), ("scores",), ("state", "shown", "levers"), tuple(FIELDS)])
def test_a_masked_copy_verifies_against_the_original_checkpoint(log: AuditLog, tmp_path: Path, drop: tuple[str, ...]) -> None:
    report = masked_copy(log, tmp_path / "copy", key=MASK_KEY, drop=drop)
    assert (report.size, report.withheld) == (40, ())
    verdict = verify_log(tmp_path / "copy", log.checkpoint, PUBLIC)
    assert verdict.ok, verdict.to_text()
    replayable = not set(drop) & {"scores", "state"}
    assert verdict.replayed == (40 if replayable else 0)
    copy = AuditLog.open(tmp_path / "copy")
    batch = next(copy.store.batches())
    for column in COLUMNS:
        if column.field in (*drop, "subject"):
            assert batch.column(column.name).null_count == len(batch), column.name
    names = batch.column("pseudonym").to_pylist()
    assert names[:4] == [pseudonym(MASK_KEY, f"user {i % 3}") for i in range(4)]
    assert names[0] == names[3] != names[1]
    assert copy.prove(7) == log.prove(7)


def test_nothing_dropped_is_left_in_the_files(log: AuditLog, tmp_path: Path) -> None:
    masked_copy(log, tmp_path / "copy", drop=["scores"])
    secret = log.store.secret
    assert secret is not None
    score = np.float64(next(log.store.batches()).column("scores")[0].as_py()[0]).tobytes()
    for path in (path for path in (tmp_path / "copy").rglob("*") if path.is_file()):
        blob = path.read_bytes()
        assert b"user 1" not in blob
        assert secret.hex().encode() not in blob
        assert score not in blob
    rows = pq.read_table(sorted((tmp_path / "copy").glob("*.parquet"))[0]).to_pylist()
    hidden = [FIELDS.index(name) for name in ("subject", "scores")]
    assert all((row["salts"][f] is None) == (f in hidden) for row in rows for f in range(len(FIELDS)))


def test_a_changed_value_of_a_masked_copy_is_found(log: AuditLog, tmp_path: Path) -> None:
    masked_copy(log, tmp_path / "copy", drop=["scores"])
    path = sorted((tmp_path / "copy").glob("*.parquet"))[0]
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[3]["knowledge"] = 0.123
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    problem = verify_log(tmp_path / "copy", log.checkpoint, PUBLIC).problems[0]
    assert (problem.kind, problem.index) == ("changed", 3)


def test_verification_says_that_it_is_a_masked_copy(log: AuditLog, tmp_path: Path) -> None:
    assert not any("masked" in note for note in log.verify().notes)
    masked_copy(log, tmp_path / "copy", drop=["scores"])
    assert "a masked copy: whoever made it left out scores, subject" in verify_log(tmp_path / "copy").notes
    masked_copy(log, tmp_path / "bare", drop=FIELDS)
    assert "; 40 records are there as bare digests" in verify_log(tmp_path / "bare").notes[-1]


def test_a_damaged_record_is_withheld_not_released(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(6))
    path = sorted((tmp_path / "log").glob("*.parquet"))[0]
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[2]["knowledge"] = 0.123
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    damaged = AuditLog.open(tmp_path / "log")
    report = masked_copy(damaged, tmp_path / "copy", key=MASK_KEY)
    assert report.withheld == (2,)
    row = pq.read_table(sorted((tmp_path / "copy").glob("*.parquet"))[0]).to_pylist()[2]
    assert row["pseudonym"] is None
    assert all(row[column.name] is None for column in COLUMNS)
    assert all(salt is None for salt in row["salts"])


def test_masking_refuses_what_it_does_not_know(log: AuditLog, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"drop: must name fields of the trace: round, subject.*got 'secret'"):
        masked_copy(log, tmp_path / "copy", drop=["secret"])
    with pytest.raises(InvalidInput, match="at least 16 bytes"):
        masked_copy(log, tmp_path / "copy", key=b"short")
    assert not (tmp_path / "copy").exists()
    masked_copy(log, tmp_path / "copy")
    copy = AuditLog.open(tmp_path / "copy", key=KEY)
    with pytest.raises(LogUnreadable, match="masked copy already"):
        masked_copy(copy, tmp_path / "again")
    with pytest.raises(LogUnreadable, match="not continued"):
        copy.append(slates(1)[0])


# --- one record


def test_show_tells_everything_as_text_and_json(log: AuditLog) -> None:
    made = slates(40)
    for index in range(40):
        view = show(log, index)
        data = json.loads(json.dumps(view.to_dict(), allow_nan=False))
        assert view.intact
        assert tuple(data["slate"]) == made[index].ids
        assert data["fields"]["state"]["knowledge"] == made[index].state.knowledge
        assert data["fields"]["round"]["round_id"] == f"r{index}"
        text = view.to_text()
        assert text.startswith(f"record {index}: digest fits")
        assert repr(made[index].ids[0]) in text
        assert "policy: rule_kind" in text
    with pytest.raises(InvalidInput, match="0 to 39"):
        show(log, 40)


def test_show_of_a_masked_record(log: AuditLog, tmp_path: Path) -> None:
    masked_copy(log, tmp_path / "copy", drop=["candidates"])
    view = show(AuditLog.open(tmp_path / "copy"), 3)
    assert view.withheld == ("subject", "candidates")
    assert view.intact
    assert "withheld: subject, candidates" in view.to_text()


# --- what if


def test_the_same_policy_changes_nothing(tmp_path: Path) -> None:
    made = [slate for slate in slates(60) if slate.rule == GreedySelector().rule]
    write_log(tmp_path / "log", made)
    report = diff(AuditLog.open(tmp_path / "log"), GreedySelector())
    assert (report.size, report.compared, report.changed) == (len(made), len(made), 0)
    assert report.to_text() == f"0 of {len(made)} slates would change (0 only in their order)"


def test_another_policy_changes_what_it_changes(log: AuditLog) -> None:
    made = slates(40)
    report = diff(log, TopKSelector())
    assert report.compared == 40
    wanted = [i for i, slate in enumerate(made) if TopKSelector().select(slate.pool, slate.levers, slate.state).ids != slate.ids]
    assert [change.index for change in report.changes] == wanted
    assert report.changed == len(wanted) > 0
    change = report.changes[0]
    assert change.before == made[change.index].ids
    assert f"{change.after[0]!r}" in change.why or "step" in change.why
    data = json.loads(json.dumps(report.to_dict()))
    assert data["changes"][0]["index"] == change.index
    assert f"record {change.index}:" in report.to_text()


def test_a_question_that_the_log_cannot_answer_is_not_answered(log: AuditLog) -> None:
    made = slates(40)
    other, levers = GreedySelector(novelty=0.0, target_gain=0.6), Levers(0.0, 0.1, 0.9, 5)
    report = diff(log, other, levers=levers)
    found = {change.index: change.after for change in report.changes}
    for index, slate in enumerate(made):
        if index in found:
            assert found[index] == other.select(slate.pool, levers, slate.state).ids
    assert report.compared + sum(report.not_compared.values()) == 40
    assert any("do not answer" in reason for reason in report.not_compared)


class Governed:
    """A policy object as the policy room makes them: it takes levers from the state."""

    def select(self, pool: Pool, state: State) -> Slate:
        return GreedySelector().select(pool, Levers(0.1, 0.2, 0.2, 1 + round(4 * state.knowledge)), state)


def test_a_policy_makes_its_own_levers(log: AuditLog) -> None:
    report = diff(log, Governed())
    made = slates(40)
    for change in report.changes:
        assert change.after == Governed().select(made[change.index].pool, made[change.index].state).ids
    assert report.changed > 0
    with pytest.raises(InvalidInput, match="makes its own levers"):
        diff(log, Governed(), levers=Levers(size=1))
    with pytest.raises(InvalidInput, match="must be a selector"):
        diff(log, object())  # type: ignore[arg-type]


def test_a_forged_record_is_not_compared(tmp_path: Path) -> None:
    write_log(tmp_path / "log", slates(6))
    path = next((tmp_path / "log").glob("*.parquet"))
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[2]["knowledge"] = 0.123
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    with pytest.raises(DamagedRecord, match="record 2"):
        diff(AuditLog.open(tmp_path / "log"), TopKSelector())


# --- logged similarities decide, or say that they do not


@given(st.integers(0, 10**6), st.sampled_from(["max", "mean"]), st.data())
def test_logged_similarities_never_give_another_slate(seed: int, dissimilarity: Any, draw: st.DataObject) -> None:
    """With any part of the logged values taken away the choice is the true one, or none."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    pool = Pool(range(n), rng.integers(0, 3, n) / 2, rng.random(n), rng.random(n), vectors=unit(rng.normal(size=(n, 2))))
    levers, state = Levers(0.1, 0.3, 0.5, int(rng.integers(1, n + 1))), State(shown=(1, 2))
    slate = GreedySelector(dissimilarity=dissimilarity).select(pool, levers, state)
    steps = slate.steps
    known = np.minimum(steps.known, draw.draw(st.lists(st.integers(0, n), min_size=n, max_size=n)))  # type: ignore[union-attr]
    table = np.where(np.arange(levers.size) < known[:, None], steps.similarities, np.nan)  # type: ignore[union-attr]
    source = pool.similarity
    queried = Queried(table, known, steps.chosen, source.lower, source.higher)
    found = choose(pool, levers, state, slate.rule, queried)
    if np.array_equal(known, steps.known):  # type: ignore[union-attr]
        assert found is not None
    if found is not None:
        again = replace(slate, steps=found)
        assert again == slate
        for name in ("chosen", "runners", "chosen_objective", "runner_objective", "chosen_similarity", "shaped"):
            assert getattr(found, name).tobytes() == getattr(steps, name).tobytes(), name


# --- other readers


def documented() -> list[str]:
    """Column names of the table in docs/trace.md."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| `")]
    return [name.strip("`") for name in rows]


def test_the_documentation_names_every_column(log: AuditLog) -> None:
    assert documented() == next(log.store.batches()).schema.names


def check(frame: Any, made: list[Slate]) -> None:
    assert list(frame.columns) == documented()
    assert list(frame["index"]) == list(range(40))
    assert [list(values) for values in frame["margins"]] == [slate.margins.tolist() for slate in made]
    assert list(frame["regime"]) == ["conditional"] * 40


def test_pandas(log: AuditLog) -> None:
    frame = pd.concat([pd.read_parquet(uri) for uri in log.store.uris()]).sort_values("index")
    check(frame, slates(40))


def test_polars(log: AuditLog) -> None:
    check(pl.read_parquet(log.store.uris()).sort("index"), slates(40))
    lazy = pl.scan_delta(str(log.store.folder.uri)).select("index", "knowledge").collect().sort("index")
    assert lazy["knowledge"].to_list() == [slate.state.knowledge for slate in slates(40)]


def test_duckdb(log: AuditLog) -> None:
    files = log.store.uris()
    query = "select count(*), sum(len(margins)), count(distinct subject) from read_parquet(?)"
    steps = sum(slate.margins.size for slate in slates(40))
    assert duckdb.execute(query, [files]).fetchone() == (40, steps, 3)
    named = duckdb.execute("select * from read_parquet(?) order by index", [files]).df()
    assert list(named.columns) == documented()
