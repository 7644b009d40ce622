"""The walk-through of docs/audit.md runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from slateproof.audit import KINDS
from slateproof.cli import main

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")


def test_the_walk_through_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, "docs/audit.md", "exec"), space)
    said = capsys.readouterr().out
    assert "sound: 200 records, 200 selected again bit for bit" in said
    assert "slates would change" in said
    assert "200 records masked" in said
    # Everything that is printed, in its order, and nothing else; capitals are places to fill in.
    commands = re.findall(r"^slateproof .*|(?<=`)slateproof (?![^`]*LOG)[^`]*", TEXT, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["verify", "show", "policy", "diff"]
    for command in commands:
        monkeypatch.setattr("sys.argv", command.split())
        assert ended() == 0, command
    said = capsys.readouterr().out
    assert "sound: 200 records, 200 selected again bit for bit" in said
    assert "record 42: digest fits" in said


def ended() -> int:
    """The exit code of the command line."""
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_every_kind_of_problem_is_documented() -> None:
    rows = dict(re.findall(r"^\| `([a-z]+)` \| (.*?) \|$", TEXT, re.MULTILINE))
    assert set(rows) == set(KINDS)
    for kind, words in KINDS.items():
        assert rows[kind].startswith(words[:40]), kind
