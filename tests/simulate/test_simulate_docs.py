"""docs/simulator.md: its blocks run as printed, its own response model passes the suite, its tables are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from slateproof.simulate import METRICS, MODELS, MODES, PROFILES, VARIANTS, mode

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"
TEXT = PAGE.read_text(encoding="utf-8")


def table(first: str) -> list[list[str]]:
    """The cells of the table whose head begins with ``first``, head included."""
    lines = TEXT[TEXT.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in [lines[0], *lines[2:]]]


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Any:
    blocks = list(re.finditer(r"```python\n(.*?)```", TEXT, flags=re.S))
    assert len(blocks) == 6
    names: dict[str, Any] = {"__name__": "simulator_page", "folder": tmp_path_factory.mktemp("page")}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(names["folder"])
        for block in blocks:
            above = "\n" * TEXT.count("\n", 0, block.start(1))  # so that a failure names the line of the page
            exec(compile(above + block[1], str(PAGE), "exec", dont_inherit=True), names)
    return names


def test_the_blocks_run_as_printed(space: dict[str, Any]) -> None:
    assert [one.mode for one in space["report"].modes] == ["als", "linucb", "greedy-target"]
    assert space["alone"].num_rows == 6
    assert set(space["mine"].table["model"].to_pylist()) == {"irt", "streak"}


def test_the_model_of_the_page_passes_the_suite(space: dict[str, Any]) -> None:
    suite = space["TestStreak"]()
    checks = [name for name in dir(suite) if name.startswith("test_")]
    assert len(checks) >= 10
    for name in checks:
        getattr(suite, name)()


def test_parameters_and_their_effects_are_those_of_the_code() -> None:
    words = {
        "success": "correct",
        "ability at the end": "ability",
        "success of the tried": "tried",
        "spread of the tried": "tried spread",
        "place of the tried": "place",
    }
    head, *rows = table("parameter")
    models = [name.strip("`") for name in head[1:-1]]
    assert models == [name for name in MODELS if name != "legacy"]
    legacy = [[row[0], row[1], row[2]] for row in table("parameter of `legacy`")[1:]]
    for place, name in enumerate(models):
        _same(name, [[row[0], row[1 + place], row[-1]] for row in rows], words)
    _same("legacy", legacy, words)


def _same(name: str, rows: list[list[str]], words: dict[str, str]) -> None:
    model = MODELS[name]()
    told = {row[0].strip("`"): (row[1], row[2]) for row in rows if row[1]}
    assert set(told) == {field.name for field in fields(model)}
    for parameter, (value, effect) in told.items():
        assert float(value) == getattr(model, parameter), (name, parameter)
        quantity, sign = effect.rsplit(" ", 1)
        stated = model.effects()[parameter]
        assert (words.get(quantity, quantity), sign) == (stated.quantity, "+" if stated.sign > 0 else "-"), (name, parameter)


def test_profiles_modes_metrics_and_columns_are_those_of_the_code(space: dict[str, Any]) -> None:
    rows = {row[0].strip("`"): [float(cell) for cell in row[1:]] for row in table("profile")[1:]}
    assert rows == {p.name: [p.knowledge, p.fatigue, p.engagement, p.trust] for p in PROFILES.values()}
    named = set(re.findall(r"`([a-z-]+)`", " ".join(row[0] for row in table("mode")[1:])))
    short = {name for name in named if name.startswith("-")}
    assert named - short | {name for name in VARIANTS if any(name.endswith(end) for end in short)} == {*MODES, *VARIANTS}
    metrics = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in table("metric")[1:])))
    assert metrics == {*METRICS, "tau", "jaccard", "flip"}
    columns = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in table("columns")[1:])))
    written = pq.read_schema(space["folder"] / "run" / "rounds" / "als.parquet").names
    noisy = space["setting"].play(replace(mode("linucb"), score_noise=0.1), space["plan"]).table.column_names
    assert columns == {*written, *noisy}
