"""Files of an experiment: JSON, CSV, LaTeX, SVG, PNG; what people read in them; and that they are whole."""

from __future__ import annotations

import csv
import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from slateproof.experiments.core import Result, Table
from slateproof.experiments.draw import _between_powers, _short, to_png, to_svg
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.output import csv_text, latex, plain, shown, write_atomic, write_result
from slateproof.experiments.verdicts import Ours, Published, judge

FIGURE = Figure(
    "churn",
    "Churn & noise",
    "Two <panels>.",
    (
        Panel(
            "a", "σ", "flip", (Series("one", (0.1, 0.2), (0.3, 0.4), "line", 0), Series("ref", (0.1, 0.2), (0.2, 0.2), "reference"))
        ),
        Panel("b", "", "share", (Series("x", ("p", "q"), (1.0, 2.0), "bars", 1, (0.5, 1.5), (1.5, 2.5)),)),
    ),
)
RESULT = Result(
    {"slope": np.float64(-0.25), "none": math.nan},
    ({"sigma": np.float64(0.1), "n": np.int64(3)}, {"sigma": 0.2, "also": True}),
    (judge(Published("k", "tab:x", "50 % of σ_x", 1.0, (0.9, 1.1)), Ours(1.05)),),
    ("a note",),
    (Table("t", "Caption", ("sigma", "n"), ({"sigma": 0.1, "n": 3},), {"sigma": "σ"}),),
    (FIGURE,),
)


def test_all_files_are_written_and_say_the_same(tmp_path: Path) -> None:
    names = write_result(tmp_path, "one", RESULT, {"seed": 42})
    assert set(names) == {"one.json", "one.csv", "one-published.csv", "one.tex", "churn.svg", "churn.png"}
    assert set(names) == {path.name for path in tmp_path.iterdir()}
    held = json.loads((tmp_path / "one.json").read_text())
    assert {"summary", "rows", "published", "manifest"} <= set(held)
    assert held["summary"] == {"slope": -0.25, "none": None}
    assert held["published"][0]["verdict"] == "reproduced"
    rows = list(csv.DictReader((tmp_path / "one.csv").open()))
    assert rows == [{"sigma": "0.1", "n": "3", "also": ""}, {"sigma": "0.2", "n": "", "also": "True"}]
    assert plain(Result.from_dict(held).to_dict()) == plain(RESULT.to_dict())


def test_without_published_numbers_there_is_no_file_of_them(tmp_path: Path) -> None:
    assert set(write_result(tmp_path, "two", Result({}), {})) == {"two.json", "two.csv", "two.tex"}


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomic(tmp_path / "a", "old")

    def fail(*_: Any) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_atomic(tmp_path / "a", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (math.nan, "–"), (math.inf, "∞"), (0.0, "0"), (True, "yes"), (1234, "1,234"), (296701.0, "296,701"),
        (0.12345678, "0.1235"), (-0.2267, "−0.2267"), (31.36, "31.36"), (5e-5, "5.00e−05"), ([0.5, 1.0], "[0.5000, 1.000]"),
        ("text", "text"),
    ],
)  # fmt: skip
def test_cells_for_people(value: Any, text: str) -> None:
    assert shown(value) == text


def test_latex_escapes_what_it_must() -> None:
    source = latex(Table("t", "50 % of A_b & σ", ("a",), ({"a": "x_y"},)))
    assert r"\caption{50 \% of A\_b \& $\sigma$}" in source
    assert r"x\_y \\" in source
    assert source.count(r"\begin") == source.count(r"\end") == 2


@pytest.mark.parametrize(
    ("tick", "smallest", "text"),
    [(5e-5, 1e-5, "5e-5"), (1e-3, 5e-5, "1e-3"), (1.5e-4, 1e-5, "1.5e-4"), (0.05, 0.02, "0.05"), (2_000.0, 20.0, "2000")],
)
def test_ticks_are_short(tick: float, smallest: float, text: str) -> None:
    assert _short(tick, smallest) == text


@pytest.mark.parametrize(("high", "between"), [(4.0, {"0.5", "1", "2"}), (4e3, set())])
def test_a_logarithmic_axis_of_a_small_range_has_numbers_between_powers_of_ten(high: float, between: set[str]) -> None:
    canvas = Canvas()
    axes = canvas.subplots()
    axes.set_yscale("log")
    axes.set_ylim(0.3, high)
    _between_powers(axes)
    canvas.draw_without_rendering()
    shown_there = {one.get_text() for one in axes.get_yticklabels(which="both")} - {""}
    assert (shown_there & {"0.5", "1", "2", "0.3", "3"}) == between


def test_published_points_are_filled() -> None:
    points = Series("published", (1.0, 2.0), (0.3, 4.0), "published", 1)
    hollow = replace(points, kind="points")
    drawn, other = (to_svg(Figure("f", "c", "d", (Panel("a", "x", "y", (one,), "log", "log"),))) for one in (points, hollow))
    assert "opacity: 0.55" in drawn
    assert "opacity: 0.55" not in other


def test_csv_names_every_key_once() -> None:
    assert csv_text([{"a": 1}, {"b": 2, "a": 3}]).splitlines() == ["a,b", "1,", "3,2"]


def test_a_figure_is_the_same_bytes_every_time_and_says_what_it_shows() -> None:
    source = to_svg(FIGURE)
    assert source == to_svg(Figure.from_dict(json.loads(json.dumps(FIGURE.to_dict()))))
    root = ET.fromstring(source)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Churn & noise"
    assert root.findtext("{http://www.w3.org/2000/svg}desc") == "Two <panels>."
    assert to_png(FIGURE)[:8] == b"\x89PNG\r\n\x1a\n"
