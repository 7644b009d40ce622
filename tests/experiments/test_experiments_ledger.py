"""The ledger table: published labels, check values, and the page in docs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slateproof.experiments import ledger as x
from slateproof.experiments.core import Result, Task
from slateproof.experiments.draw import to_svg
from slateproof.experiments.output import csv_text, plain
from slateproof.experiments.shelf import Shelf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ledger.md"


@pytest.fixture(scope="module")
def table() -> list[dict[str, Any]]:
    return x.rows(updates=(20,), targets=(3.0,))


def test_check_values(table: list[dict[str, Any]]) -> None:
    columns = {
        "label_formula": (0.3632, 0.1621, 0.0718),
        "pld": (0.530, 0.139, 0.0496),
        "rdp": (0.909, 0.247, 0.111),
        "streaming": (3.55, 1.99, 1.27),
        "user_streaming": (22.2, 11.5, 7.0),
    }
    for name, values in columns.items():
        assert [row[name] for row in table[:3]] == pytest.approx(values, rel=0.01), name


def test_the_formula_reproduces_every_printed_label() -> None:
    printed = 0
    for tier in x.TIERS:
        for steps, label in tier.printed.items():
            digits = len(label.split(".")[1])
            formula = x.pv.nominal_label(
                sampling_rate=tier.sampling_rate, noise_multiplier=tier.noise_multiplier, steps=steps, delta=x.DELTA
            )
            assert f"{formula:.{digits}f}" == label, (tier.name, steps)
            printed += 1
    assert printed == 12


def test_the_standard_label_is_below_even_a_lower_bound() -> None:
    """PLD rounded the other way: what the mechanism costs at least."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    for steps, label in x.TIERS[0].printed.items():
        one = pld.from_gaussian_mechanism(1.2, sampling_prob=0.02, pessimistic_estimate=False, use_connect_dots=False)
        least = one.self_compose(steps).get_epsilon_for_delta(x.DELTA)
        assert least > 1.1 * float(label)
        assert steps != 20 or f"{least - 5e-5:.4f}" == "0.5289"  # rounded down, as the page says


def test_columns_stand_in_the_order_that_theory_demands(table: list[dict[str, Any]]) -> None:
    for row in table:
        assert row["pld"] < row["rdp"] < row["streaming"] < row["user_streaming"]
        assert row["user_direct"] == row["pld"] < row["user_group"]
        assert row["user_lift_epsilon"] == pytest.approx(20 * row["pld"])
        assert row["user_uncapped"] is None
        assert 0 < row["noise_for"][3.0] < row["noise_multiplier"]


def test_noise_without_sampling() -> None:
    found = x.noise_rows()
    assert [row["round"] for row in found] == pytest.approx([3.73, 1.39, 0.60], rel=0.01)
    assert [row["user"] for row in found] == pytest.approx([16.68, 6.22, 2.68], rel=0.01)


def test_the_page_holds_what_the_code_says(table: list[dict[str, Any]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    made = x.markdown(table, x.noise_rows())
    lines = [line for line in made.splitlines() if line.startswith("|") and "target" not in line and "| q |" not in line]
    sampled = [line for line in lines if line.startswith("| 0.0")]
    for line in set(lines) - set(sampled):
        assert line in page, line
    for line in sampled:  # one target here, three on the page
        rate, steps, noise = (cell.strip() for cell in line.strip("|").split("|"))
        assert any(one.startswith(f"| {rate} | {steps} |") and f"| {noise} |" in one for one in page.splitlines()), line


def test_the_prose_of_the_page_is_the_code_s() -> None:
    prose = [line for line in x.markdown([], []).splitlines() if line and not line.startswith("|")]
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in prose if line not in page] == []


def test_bounds_are_never_rounded_down(table: list[dict[str, Any]]) -> None:
    for row in table:
        cells = [cell.strip() for cell in x.markdown([row], []).split("| --- |\n")[1].splitlines()[0].strip("|").split("|")]
        for cell, name in zip(cells[-3:], ("pld", "rdp", "streaming"), strict=True):
            assert row[name] <= float(cell) < row[name] * 1.01


def test_the_experiment_judges_every_label_twice(table: list[dict[str, Any]]) -> None:
    result = x.result(table, x.noise_rows())
    assert (x.EXPERIMENT.name, x.EXPERIMENT.labels) == ("ledger", ("tab:dp-hyperparams-app",))
    assert len(result.verdicts) == 2 * 12
    at_twenty = {one.key: one for one in result.verdicts if "/20/" in one.key}
    assert len(at_twenty) == 6
    for key, one in at_twenty.items():
        assert one.label == "tab:dp-hyperparams-app"
        assert one.verdict == ("reproduced" if key.endswith("formula") else "same direction")
        assert (one.cause is not None) is key.endswith("pld")
    assert {one.verdict for one in result.verdicts if "/20/" not in one.key} == {"not comparable"}
    assert (result.summary["labels_below_truth"], result.summary["labels_above_truth"]) == (1, 2)
    assert result.summary["pld_standard_20"] == table[0]["pld"]
    assert "0.36 against 0.530" in result.notes[0]


def test_the_result_survives_its_files(table: list[dict[str, Any]]) -> None:
    result = x.result(table, x.noise_rows())
    again = Result.from_dict(json.loads(json.dumps(plain(result.to_dict()))))
    assert plain(again.to_dict()) == plain(result.to_dict())
    assert result.rows[0]["noise_for_3"] == table[0]["noise_for"][3.0]
    assert len(csv_text(result.rows).splitlines()) == 1 + len(table)
    assert all(set(one.columns) <= set(one.rows[0]) for one in result.tables)
    assert result.tables[0].rows[0]["pld"] == "0.530"
    assert to_svg(result.figures[0]).startswith("<svg")


def test_the_experiment_runs_what_its_configuration_says(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    config = x.LedgerTable(updates=(20,), targets=())
    monkeypatch.setattr(x, "TIERS", x.TIERS[:3])
    done = x.run(Task(config, Shelf(None), 42, lambda part, total, what: told.append(part)))
    assert told == [0, 1, 2]
    assert [row["updates"] for row in done.rows] == [20, 20, 20]
    assert not any(name.startswith("noise_for") for name in done.rows[0])


def test_captions_say_what_the_table_was_made_with() -> None:
    found = x.rows(updates=(20,), targets=(3.0,), delta=1e-6, rounds_per_user=7)
    told = x.result(found, x.noise_rows((3.0,), 1e-6, 7), 7)
    words = " ".join([*(table.caption for table in told.tables), *told.notes, told.figures[0].caption, told.figures[0].describes])
    page = x.markdown(found, x.noise_rows((3.0,), 1e-6, 7), 7)
    for text in (words, page):
        assert "1e-6" in text
        assert "1e-5" not in text
        assert "20 rounds" not in text
        assert "20 such rounds" not in text
    assert "7 rounds each" in page
    assert "One user with 7 rounds" in words


def test_figures_are_rounded_up_and_zero_is_zero() -> None:
    from slateproof.experiments.ledger_page import up

    assert [up(value) for value in (0.0, float("inf"), 0.5301, 0.0494, 12.01, 999.1)] == [
        "0",
        "∞",
        "0.531",
        "0.0494",
        "12.1",
        "1.00e+03",
    ]
