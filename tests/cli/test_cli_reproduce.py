"""`slateproof reproduce`: progress, skip messages, exit status, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slateproof.cli import reproduce as command
from slateproof.cli.app import app
from slateproof.errors import InvalidInput
from tests.experiments.experiment_world import data_files


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def test_it_lists_what_there_is() -> None:
    done = call("--list")
    assert done.exit_code == 0
    assert "fixed-margin     Does log(p/M) fall" in done.stdout


def test_it_runs_writes_and_uses_finished_parts_again(tmp_path: Path) -> None:
    words = ("pairwise-tail", "corpora", "--quick", "--data", data_files(tmp_path / "data"), "--out", tmp_path / "out")
    first, second = call(*words, "--page", tmp_path / "RESULTS.md"), call(*words)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "[ 1/2] corpora" in first.stderr
    assert "ran" in first.stderr
    assert "cached" in second.stderr
    assert "quick run: small samples" in first.stdout
    assert "left out  corpora: ml-25m: not in the data folder" in first.stdout
    assert (tmp_path / "out" / "report.html").exists()
    assert "corpora: ml-25m" in (tmp_path / "RESULTS.md").read_text()
    held = json.loads((tmp_path / "out" / "corpora.json").read_text())
    assert held["manifest"]["quick"] is True
    assert str(tmp_path) not in json.dumps({**held["manifest"], "command": ""})


def test_strict_turns_what_is_missing_into_a_failure(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    words = ("pairwise-tail", "--quick", "--data", tmp_path / "data", "--out", tmp_path / "out")
    assert call(*words).exit_code == 0
    assert call(*words, "--strict").exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "name: must be one of"),
        (("corpora", "--data", "nowhere"), "data: is not a folder"),
        (("corpora", "--page", "nowhere/RESULTS.md"), "page: its folder does not exist"),
    ],
)
def test_refusals_say_what_is_wrong_and_change_nothing(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*words)
    assert isinstance(done.exception, InvalidInput)
    assert said in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "NEEDED", {"no_such_module": "report"})
    done = call("corpora", "--out", tmp_path / "out")
    assert "needs no_such_module: pip install 'slateproof[report]'" in str(done.exception)
