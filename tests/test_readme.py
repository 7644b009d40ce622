"""What the README shows runs as printed, and what it links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slateproof.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_blocks_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)
    assert len(blocks) == 2
    assert sum(bool(line) for line in blocks[0].splitlines() if "import" not in line) <= 11, "a ten-line example"
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    printed = capsys.readouterr().out
    assert "True" in printed
    assert "ada" in printed


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert len(links) > 15
    missing = [link for link in links if not (ROOT / link).exists()]
    assert missing == []


def test_every_command_exists() -> None:
    commands = set(re.findall(r"^    slateproof (\w+)", TEXT, flags=re.M)) | set(re.findall(r"`slateproof (\w+)", TEXT))
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {group.name for group in app.registered_groups}
    assert commands
    assert commands <= known


@pytest.mark.parametrize("command", ["demo", "select", "verify", "show", "diff", "certify", "scope", "train", "score", "bench"])
def test_help_says_what_a_command_does(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output
