"""The measured parts of docs/simulator.md are those of the committed results, and say what was not measured."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from benchmarks.marks import DOCS, put, read
from benchmarks.simulate import drift_summary
from benchmarks.simulate_page import made

PAGE = DOCS / "simulator.md"


def test_the_page_shows_the_committed_measurements(tmp_path: Path) -> None:
    page = tmp_path / "simulator.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    put(page, made(read("simulate"), drift_summary()))
    assert page.read_text("utf-8") == PAGE.read_text("utf-8"), "python -m benchmarks.simulate --page"


def test_another_measurement_makes_another_page() -> None:
    result = read("simulate")
    other = copy.deepcopy(result)
    other["adaptive"][0]["median_wall"] = 1.23
    other["all_modes"][1]["fitting_wall"] = 1111.0
    other["all_modes"][1]["wall"] = 4000.0
    other["all_modes"][0]["window_rate"]["adaptive"]["accepted"] = 0.4321
    found, before = (made(one, {"scpo_applies": 12_345, "scpo_exceptions": 0}) for one in (other, result))
    assert "| 1.2 s |" in found["time"]
    assert "| 5,111 s |" in found["time"]
    assert "43.2%" in found["windows"]
    assert "43.2%" not in before["windows"]
    assert "12,345 pairs" in found["drift"]
    assert found["parts"] == before["parts"]


@pytest.mark.parametrize(("load", "busy"), [(0.1, False), (11.0, True)])
def test_a_busy_machine_is_said_to_be_busy_and_its_name_stands_there(load: float, busy: bool) -> None:
    result = read("simulate")
    result["machine"] |= {"processor": "Made-Up 3000", "load_before": [load, load, load]}
    result["code"] = "ab" * 32
    text = made(result, drift_summary())["machine"]
    assert ("other work" in text) is busy
    assert "Made-Up 3000" in text
    assert "ab" * 8 in text
