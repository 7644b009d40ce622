"""docs/bring-your-own.md runs as written, from the table to the certificate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from slateproof.learn.registry import LEARNERS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_bring_your_own_runs_as_written(capsys: Any) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "bring-your-own.md").read_text(), re.M | re.S)
    assert len(blocks) == 9
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "bring-your-own.md", "exec"), names)
    assert names["corpus"].users == 60
    assert len(names["slate"].ids) >= 2
    assert names["certificate"].radius >= 0.0
    assert "AUC, pooled" in capsys.readouterr().out


def test_every_learner_is_described() -> None:
    text = (DOCS / "learners.md").read_text()
    for name in LEARNERS:
        assert f"`{name}`" in text, name
