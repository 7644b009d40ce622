"""docs/corpora.md: its examples run, in order, in one session, and print what it shows; its table is that of the results."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from benchmarks.corpora import FULL, loads_table
from benchmarks.marks import put, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)


def test_the_examples_run_and_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) >= 4
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue().rstrip() == shown.rstrip(), code


def test_the_page_shows_the_committed_loads(tmp_path: Path) -> None:
    page = tmp_path / "corpora.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    put(page, {"loads": loads_table(read("corpora"))})
    assert page.read_text("utf-8") == PAGE.read_text("utf-8"), "python -m benchmarks.corpora --page"


def test_the_loads_meet_their_targets() -> None:
    """The numbers to reach, read off the committed results, which must be those of the whole sizes."""
    found = read("corpora")
    loads = {one["loader"]: one for one in found["loads"]}
    assert (loads["load_oulad"]["interactions"], loads["load_oulad"]["target_seconds"]) == (173_739, 2.0)
    ratings = loads["load_movielens"]
    assert (ratings["interactions"], ratings["target_seconds"], ratings["target_gib"]) == (25_000_000, 30.0, 3.0)
    for one in (loads["load_oulad"], ratings):
        assert one["seconds"] < one["target_seconds"]
    assert ratings["peak_gib"] < ratings["target_gib"]
    assert loads["load_ednet"]["users"] == FULL
    assert found["machine"]["cores"] >= 1
