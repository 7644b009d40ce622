"""docs/bring-your-own.md runs as written, from the table to the logged slate and its certificate."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.scorers import RESULT, write_page
from slateproof.cli import main
from slateproof.learn.registry import LEARNERS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run(monkeypatch: pytest.MonkeyPatch, line: str) -> int:
    """Run a command as the shell does; return its exit code."""
    monkeypatch.setattr("sys.argv", shlex.split(line))
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_bring_your_own_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Python blocks in one session, commands through the real command line, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLATEPROOF_DATA", raising=False)
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", (DOCS / "bring-your-own.md").read_text(), re.M | re.S)
    assert [kind for kind, _ in blocks].count("bash") == 4
    names: dict[str, Any] = {}
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, "bring-your-own.md", "exec"), names)
            continue
        for line in block.splitlines():
            assert run(monkeypatch, line) == 0, line
    assert names["corpus"].users == 60
    assert len(names["slate"].ids) >= 2
    assert names["certificate"].radius >= 0.0
    rows = pq.read_table("slates.parquet").to_pylist()
    assert [row["round_id"] for row in rows] == ["r1", "r2"]
    assert all(row["radius"] > 0.0 for row in rows)
    out = capsys.readouterr().out
    assert "AUC, pooled" in out
    assert "logged to log: 2 records" in out


def test_every_learner_is_described() -> None:
    text = (DOCS / "learners.md").read_text()
    for name in LEARNERS:
        assert f"`{name}`" in text, name


def test_the_page_shows_the_committed_results(tmp_path: Path) -> None:
    text = (DOCS / "learners.md").read_text()
    page = tmp_path / "learners.md"
    page.write_text(text)
    write_page(json.loads(RESULT.read_text()), page)
    assert page.read_text() == text, "python -m benchmarks.scorers --page"


@pytest.mark.parametrize("corpus", ["oulad", "assistments-2009", "ml-25m"])
def test_the_two_tower_leads_popularity_and_mf_bce(corpus: str) -> None:
    """The issue's target, read off the committed results: every seed, each interval above the baseline's."""
    rows = [row for row in json.loads(RESULT.read_text())["rows"] if row["corpus"] == corpus]
    found = {name: [row["auc"] for row in rows if row["scorer"] == name] for name in ("two-tower", "popularity", "mf-bce")}
    assert len(found["two-tower"]) == 3
    for name in ("popularity", "mf-bce"):
        assert min(auc["low"] for auc in found["two-tower"]) > max(auc["high"] for auc in found[name])
