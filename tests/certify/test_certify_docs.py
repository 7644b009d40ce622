"""The examples of docs/certificates.md run as printed, and its command is the one that exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from certify_builders import random_pool

import slateproof as sp
from slateproof.audit import AuditLog
from slateproof.cli import main

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")


def batch() -> Any:
    rng = np.random.default_rng(0)
    pools = [random_pool(rng, 15) for _ in range(6)]
    return sp.GreedySelector().select_batch(sp.PoolBatch.of(pools), sp.Levers(0.1, 0.2, 0.3, 3), sp.State())


def test_the_examples_run(capsys: Any) -> None:
    slates = batch()
    space: dict[str, Any] = {
        "slate": slates[0], "other_scores": slates[0].pool.scores + 1e-9, "batch": slates, "slates": list(slates), "sp": sp,
    }  # fmt: skip
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/certificates.md", "exec"), space)
    said = capsys.readouterr().out
    assert "set_flip_probability_at_most" in said
    assert "... 3 more rounds" in said
    assert space["cert"].holds(space["other_scores"])
    assert (space["reach"] <= space["radius"] + 1e-12).all()
    assert [row["radius"] for row in space["monitor"].rows] == space["reach"].tolist()


def test_the_command_writes_what_the_page_says(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with AuditLog.create("log") as log:
        for place, slate in enumerate(batch()):
            log.append(slate, round_id=str(place))
    commands = re.findall(r"^slateproof certify .*", TEXT, re.MULTILINE)
    assert len(commands) == 1
    monkeypatch.setattr("sys.argv", commands[0].split())
    code = None
    try:
        main()
    except SystemExit as end:
        code = end.code
    assert not code
    printed = capsys.readouterr().out
    written = {file.suffix for file in (tmp_path / "certificates").iterdir()}
    assert written == {".json", ".csv", ".txt", ".svg"}
    assert "norm_check_share" in printed
    assert len((tmp_path / "certificates" / "certificates.csv").read_text().splitlines()) == 7
