"""`slateproof select` and `slateproof policy` through the real command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import slateproof as sp
from slateproof.audit import AuditLog
from slateproof.cli import main
from slateproof.policy import Policy


def run(monkeypatch: pytest.MonkeyPatch, *words: Any) -> int:
    """Run a command as the shell does; return its exit code."""
    monkeypatch.setattr("sys.argv", ["slateproof", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def rows(count: int = 5) -> list[dict[str, Any]]:
    rng = np.random.default_rng(4)
    out = []
    for b in range(count):
        ids = [f"q{i}" for i in rng.permutation(30)[:12]]
        out.append(
            {
                "round_id": f"r{b}",
                "ids": ids,
                "scores": rng.normal(size=12).tolist(),
                "targets": rng.uniform(size=12).tolist(),
                "widths": rng.uniform(size=12).tolist(),
                "vectors": sp.unit(rng.normal(size=(12, 3))).tolist(),
                "knowledge": 0.4,
                "engagement": 0.7,
                "shown": ids[:2],
            }
        )
    return out


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "policy.toml"
    assert run(monkeypatch, "policy", "init", path) == 0
    return path


def write(path: Path, table: pa.Table) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".arrow":
        return list(pa.ipc.open_file(str(path)).read_all().to_pylist())
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("source", [".parquet", ".arrow", ".jsonl"])
@pytest.mark.parametrize("target", [".parquet", ".arrow", ".jsonl"])
def test_every_format_gives_the_same_slates(
    source: str, target: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = write(tmp_path / f"pools{source}", pa.Table.from_pylist(rows()))
    out = tmp_path / f"slates{target}"
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--batch", 2) == 0
    rules = Policy.load(policy)
    for row, slate in zip(rows(), read(out), strict=True):
        pool = sp.Pool(**{name: row[name] for name in ("ids", "scores", "targets", "widths", "vectors")})
        expected = rules.select(pool, sp.State(row["knowledge"], row["engagement"], shown=row["shown"]))
        assert slate["ids"] == list(expected.ids)
        assert slate["round_id"] == row["round_id"]
        assert slate["margins"] == expected.margins.tolist()
        assert 0 < slate["radius"] * 2 * (1 - expected.levers.diversity) <= slate["margin"] * (1 + 1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted({"policy.toml", pools.name, out.name})


def test_a_log_is_written_and_replays(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = write(tmp_path / "pools.parquet", pa.Table.from_pylist(rows()))
    assert run(monkeypatch, "select", pools, "--policy", policy, "--log", tmp_path / "log") == 0
    assert run(monkeypatch, "select", pools, "--policy", policy, "--log", tmp_path / "log") == 0
    with AuditLog.open(tmp_path / "log") as log:
        assert len(log) == 10
        assert log.verify().ok
        assert log.replay(3).ids == log.replay(8).ids


def test_pools_that_refer_to_a_catalogue(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    items = pa.table({"id": [f"q{i}" for i in range(30)], "target": rng.uniform(size=30), "tags": [[i % 3] for i in range(30)]})
    slim = pa.Table.from_pylist([{name: row[name] for name in ("ids", "scores", "widths")} for row in rows()])
    pools, catalog = write(tmp_path / "pools.parquet", slim), write(tmp_path / "items.parquet", items)
    out = tmp_path / "slates.jsonl"
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--catalog", catalog) == 0
    whole = sp.Catalog.from_arrow(items)
    expected = Policy.load(policy).select(whole.pool(rows()[2]["ids"], rows()[2]["scores"], rows()[2]["widths"]))
    assert read(out)[2]["ids"] == list(expected.ids)


def spoiled() -> pa.Table:
    bad = rows(6)
    bad[1]["scores"][3] = float("nan")
    bad[3]["ids"][1] = bad[3]["ids"][0]
    bad[4]["knowledge"] = 1.5
    return pa.Table.from_pylist(bad)


@pytest.mark.parametrize("batch", [2, 100])
def test_bad_rows_stop_the_run_by_default(
    batch: int, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pools, out = write(tmp_path / "pools.parquet", spoiled()), tmp_path / "slates.parquet"
    before = set(tmp_path.iterdir())
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--batch", batch) == 2
    assert "scores: must be finite (got nan at row 1, id" in capsys.readouterr().err.replace("\n", " ")
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("batch", [2, 100])
def test_bad_rows_can_be_skipped_and_are_reported(
    batch: int, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pools, out = write(tmp_path / "pools.parquet", spoiled()), tmp_path / "slates.jsonl"
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--on-error", "skip", "--batch", batch) == 0
    assert "skipped 3 bad rows" in capsys.readouterr().out
    assert [slate["row"] for slate in read(out)] == [0, 2, 5]
    notes = read(tmp_path / "slates.jsonl.skipped.jsonl")
    assert sorted((note["row"], note["field"]) for note in notes) == [(1, "scores"), (3, "ids"), (4, "knowledge")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["select", "{missing}.parquet", "--policy", "{policy}", "--out", "x.jsonl"], "pools: cannot be read"),
        (["select", "{pools}", "--policy", "{missing}", "--out", "x.jsonl"], "policy: cannot be read"),
        (["select", "{pools}", "--policy", "{policy}", "--out", "x.csv"], "out: the name must end in one of"),
        (["select", "{policy}", "--policy", "{policy}", "--out", "x.jsonl"], "pools: the name must end in one of"),
        (["select", "{pools}", "--policy", "{policy}"], "nothing would be kept"),
        (["policy", "init", "{policy}"], "the file exists (--force overwrites it)"),
        (["policy", "check", "{missing}"], "policy: cannot be read"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(
    words: list[str], said: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = write(tmp_path / "pools.parquet", pa.Table.from_pylist(rows()))
    monkeypatch.chdir(tmp_path)
    places = {"pools": pools, "policy": policy, "missing": tmp_path / "missing"}
    assert run(monkeypatch, *(word.format(**places) for word in words)) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1


def test_show_explains_slates(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = write(tmp_path / "pools.parquet", pa.Table.from_pylist(rows()))
    assert run(monkeypatch, "select", pools, "--policy", policy, "--show", 2) == 0
    out = capsys.readouterr().out
    assert out.count("row ") >= 2
    assert "objective" in out


def test_policy_check_prints_constants_and_digest(
    policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "policy", "check", policy) == 0
    out = capsys.readouterr().out
    assert f"digest = {Policy.load(policy).digest}" in out
    assert "levers.map.exploration_base = 0.475" in out


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"slateproof {sp.__version__}\n"
