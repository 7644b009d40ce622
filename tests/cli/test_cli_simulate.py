"""`slateproof simulate` through the real command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from slateproof.audit import AuditLog
from slateproof.cli.simulate import simulate
from slateproof.errors import InvalidInput

app = typer.Typer()
app.command()(simulate)

CONFIG = """
copies = 1
rounds = 3
pool_size = 12
modes = ["als", "bkt"]
models = ["irt"]
similarity = "tags"
[corpus]
name = "synthetic-education"
options = { users = 30, items = 40, per_user = 15.0 }
"""


def one_line(text: str) -> str:
    return " ".join(text.split())


def call(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "simulate.toml"
    path.write_text(CONFIG)
    return path


def test_it_plays_writes_and_logs(config: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    done = call(config, "--out", out, "--log", log)
    assert done.exit_code == 0, done.output
    assert "synthetic-education (synthetic): 4 sessions x 3 rounds" in done.output
    assert f"logged 24 slates to {log} (12 of als, 12 of bkt); check it with: slateproof verify {log}" in one_line(done.output)
    assert pq.read_table(out / "rounds" / "bkt.parquet").num_rows == 12
    assert json.loads((out / "report.json").read_text())["reference"] == "als"
    with AuditLog.open(log) as opened:
        assert opened.verify().ok
        assert len(opened) == 2 * 3 * 4


def test_a_second_call_reads_what_is_finished(config: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    first = call(config, "--out", out, "--log", log)
    again = call(config, "--out", out, "--log", log)
    assert again.exit_code == 0
    # Timing is that of when the modes were played, and stays.
    tables = [one.output.split("\nwrote")[0] for one in (first, again)]
    assert "seconds by part" in tables[1]
    assert tables[0].split("synthetic-education (synthetic):")[1] == tables[1].split("synthetic-education (synthetic):")[1]
    assert f"nothing was logged: {log} holds every slate" in one_line(again.output)
    with AuditLog.open(log) as opened:
        assert len(opened) == 2 * 3 * 4  # nothing was played, nothing is logged twice


def test_a_log_that_would_lack_finished_modes_is_refused(config: Path, tmp_path: Path) -> None:
    """Played without a log, then with one: the log would be silently incomplete."""
    out, log = tmp_path / "out", tmp_path / "log"
    assert call(config, "--out", out).exit_code == 0
    failed = call(config, "--out", out, "--log", log)
    assert isinstance(failed.exception, InvalidInput)
    assert "log: does not hold the slates of finished modes (als, bkt): delete their files in" in str(failed.exception)
    assert not log.exists()
    (out / "rounds" / "bkt.parquet").unlink()
    assert "finished modes (als):" in str(call(config, "--out", out, "--log", log).exception)
    (out / "rounds" / "als.parquet").unlink()
    assert "logged 24 slates" in one_line(call(config, "--out", out, "--log", log).output)
    (out / "rounds" / "bkt.parquet").unlink()
    assert "logged 12 slates" in one_line(call(config, "--out", out, "--log", log).output)  # played again, logged again


def test_places_that_cannot_be_used_are_refused_before_anything_is_fitted(config: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for words, message in (
        (("--out", tmp_path / "file"), "out: cannot be written"),
        (("--out", tmp_path / "file" / "below"), "out: cannot be written"),
        (("--out", tmp_path / "out", "--log", tmp_path / "file"), "log: must be a folder"),
        (("--out", tmp_path / "out", "--log", tmp_path / "out"), "log: must be another folder than --out"),
        (("--out", tmp_path / "out", "--key", tmp_path / "key.pem"), "key: signs a log"),
    ):
        failed = call(config, *words)
        assert isinstance(failed.exception, InvalidInput)
        assert message in str(failed.exception)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_stopping_says_how_to_go_on(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("slateproof.cli.simulate.play_all", stop)
        stopped = call(config, "--out", tmp_path / "out")
    assert stopped.exit_code != 0
    assert "the same command goes on from there" in stopped.output
    assert call(config, "--out", tmp_path / "out").exit_code == 0


def test_refusals_come_before_anything_is_written(config: Path, tmp_path: Path) -> None:
    config.write_text(CONFIG.replace('"bkt"', '"bktt"'))
    failed = call(config, "--out", tmp_path / "out", "--log", tmp_path / "log")
    assert isinstance(failed.exception, InvalidInput)
    assert "modes: must be among" in str(failed.exception)
    config.write_text(CONFIG.replace("pool_size = 12", "pool_size = 41"))
    failed = call(config, "--out", tmp_path / "out", "--log", tmp_path / "log")
    assert "pool_size: must be at most the 40 items" in str(failed.exception)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "log").exists()
