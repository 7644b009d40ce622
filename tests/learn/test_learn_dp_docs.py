"""docs/dp-learner.md: its examples run as printed, its tables are those of the committed results."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import dp_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "dp-learner.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"```python\n(.*?)```", text, flags=re.S))
    assert len(blocks) == 6
    space: dict[str, object] = {}
    for block in blocks:
        above = "\n" * text.count("\n", 0, block.start(1))  # so that a failure names the line of the page
        exec(compile(above + block[1], str(PAGE), "exec"), space)
    told = capsys.readouterr().out
    assert "claimed ε 1.27, at least" in told
    printed = next(line for line in told.splitlines() if line.startswith("per user: "))
    assert f"`{printed}`" in text


def test_the_page_shows_the_committed_results(tmp_path: Path) -> None:
    text, page = PAGE.read_text(encoding="utf-8"), tmp_path / "dp-learner.md"
    page.write_text(text, encoding="utf-8")
    dp_page.write(page)
    assert page.read_text(encoding="utf-8") == text, "python -m benchmarks.dp_page"


def test_the_results_are_what_the_page_says_they_are() -> None:
    utility, speed = dp_page.read("dp_utility"), dp_page.read("dp_speed")
    assert f"({utility['rows'][0]['population']:,} of up to five rows)" in PAGE.read_text(encoding="utf-8")
    for row in utility["rows"]:
        target, fixed = row["epsilon_target"], row["side_inputs"] == "fixed"
        assert (row["corpus"], row["population"], row["steps"]) == ("oulad", 32_529, 1_000)
        assert row["conditions"] == ([] if fixed or target is None else ["history", "item difficulty", "learner state"])
        assert (row["non_private"] is None) is (target is not None)
        assert target is None or 0.99 * target < row["epsilon"] <= target
    assert speed["largest_difference_of_the_sums"] < 1e-5
    assert [row["batch"] for row in speed["rows"]] == [64, 128, 256, 512, 1024]


def test_the_figure_is_drawn_and_named() -> None:
    figure = dp_page.figure(dp_page.read("dp_utility"))
    assert [len(panel.series) for panel in figure.panels] == [6, 6, 3, 3]
    svg = (ROOT / "docs" / "img" / "dp-learner.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).attrib["aria-label"] == figure.caption
    assert "(img/dp-learner.svg)" in PAGE.read_text(encoding="utf-8")
