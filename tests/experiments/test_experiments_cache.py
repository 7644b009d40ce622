"""Finished parts: used again where nothing has changed, done again where anything has."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from slateproof.errors import InvalidInput
from slateproof.experiments import registry, reproduce
from slateproof.experiments import run as runner
from slateproof.experiments.cache import Cache, key_of
from slateproof.experiments.core import Experiment, Result, Task
from slateproof.experiments.shelf import Shelf
from slateproof.experiments.verdicts import Ours, Published, judge
from tests.experiments.experiment_world import data_files


@dataclass(frozen=True)
class Config:
    size: int = 3


def make(task: Task) -> Result:
    here, skipped = task.corpora.split(("oulad",))
    rows = tuple({"n": n, "half": n / 2.0} for n in range(task.config.size))
    return Result({"users": task.corpora.get("oulad").users} if here else {}, rows, skipped=skipped)


ONE = Experiment("one", "One", "What?", (), Config(), Config(1), make, corpora=("oulad",))


def task(shelf: Shelf, config: Config | None = None, seed: int = 42, results: dict[str, Result] | None = None) -> Task:
    return Task(config or Config(), shelf, seed, lambda *what: None, results or {})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_files(tmp_path / "data")


def test_the_key_holds_everything_that_a_result_depends_on(data: Path) -> None:
    shelf = Shelf(data)
    key = key_of(ONE, task(shelf))
    assert key == key_of(ONE, task(Shelf(data)))
    others = [
        key_of(ONE, task(shelf, Config(4))),
        key_of(ONE, task(shelf, seed=43)),
        key_of(ONE, task(shelf, results={"zero": Result({"x": 1})})),
        key_of(replace(ONE, name="two"), task(shelf)),
        key_of(ONE, task(Shelf(None))),
    ]
    with (data / "oulad" / "studentAssessment.csv").open("a") as file:
        file.write("1001,999,1,0,55\n")
    others.append(key_of(ONE, task(Shelf(data))))
    assert len({key, *others}) == 7


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    cache, result = Cache(tmp_path), Result({"a": 1.5}, ({"b": [1, 2]},), notes=("c",))
    assert cache.read("one", "k" * 64) is None
    cache.write("one", "k" * 64, result, 2.5)
    assert cache.read("one", "k" * 64) == (result, 2.5)


@pytest.mark.parametrize("harm", ["cut", "changed", "retimed", "untimed", "foreign", "list", "bytes"])
def test_a_damaged_or_foreign_file_is_not_used(tmp_path: Path, harm: str) -> None:
    cache, key = Cache(tmp_path), "k" * 64
    cache.write("one", key, Result({"a": 1.5}), 2.5)
    (file,) = tmp_path.glob("one-*.json")
    held = json.loads(file.read_text())
    damaged = {
        "cut": file.read_text()[:-9],
        "changed": json.dumps({**held, "result": {**held["result"], "summary": {"a": 2.5}}}),
        "retimed": json.dumps({**held, "seconds": 0.1}),
        "untimed": json.dumps({name: value for name, value in held.items() if name != "seconds"}),
        "foreign": json.dumps({**held, "key": "f" * 64}),
        "list": "[]",
    }
    if harm == "bytes":
        file.write_bytes(b"\xff\xfe\x00")
    else:
        file.write_text(damaged[harm])
    assert cache.read("one", key) is None


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Two experiments, the second of which reads the first; how often each ran; "fail" makes the second break off."""
    ran = {"one": 0, "two": 0, "fail": 0}

    def first(task: Task) -> Result:
        ran["one"] += 1
        return make(task)

    def second(task: Task) -> Result:
        ran["two"] += 1
        if ran["fail"] == 1:
            raise KeyboardInterrupt
        if ran["fail"] == 2:
            raise InvalidInput("score", "must be finite", 3.0)
        return Result({"read": len(task.results["one"].rows)}, ({"x": 1},))

    both = {"two": replace(ONE, name="two", run=second, corpora=(), after=("one",)), "one": replace(ONE, run=first)}
    monkeypatch.setattr(registry, "EXPERIMENTS", MappingProxyType(both))
    monkeypatch.setattr(runner, "EXPERIMENTS", MappingProxyType(both))
    return ran


def counts(ran: dict[str, int]) -> tuple[int, int]:
    return ran["one"], ran["two"]


def test_finished_parts_are_used_again_and_changes_are_noticed(two: dict[str, int], data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    states = [[part.state for part in reproduce((), data, out).finished] for _ in range(2)]
    assert (states, counts(two)) == ([["ran", "ran"], ["cached", "cached"]], (1, 1))
    with (data / "oulad" / "studentAssessment.csv").open("a") as file:
        file.write("1001,999,1,0,55\n")
    # The first is made again; its result is the same but for the corpus, which the second's key holds, too.
    assert [part.state for part in reproduce((), data, out).finished] == ["ran", "ran"]
    assert [part.state for part in reproduce((), data, out, quick=True).finished] == ["ran", "ran"]
    assert counts(two) == (3, 3)


def test_an_interrupted_run_goes_on_where_it_stopped(two: dict[str, int], data: Path, tmp_path: Path) -> None:
    two["fail"] = 1
    with pytest.raises(KeyboardInterrupt):
        reproduce((), data, tmp_path / "out")
    assert (tmp_path / "out" / "one.json").exists()
    assert not (tmp_path / "out" / "report.html").exists()
    two["fail"] = 0
    outcome = reproduce((), data, tmp_path / "out")
    assert [(part.experiment.name, part.state) for part in outcome.finished] == [("two", "ran"), ("one", "cached")]
    assert counts(two) == (1, 2)


def test_a_refusal_names_the_experiment(two: dict[str, int], data: Path, tmp_path: Path) -> None:
    two["fail"] = 2
    with pytest.raises(InvalidInput, match=r"^two: score: must be finite \(got 3.0\)"):
        reproduce((), data, tmp_path / "out")


def test_a_missing_corpus_is_said_and_counts_in_the_exit_code(two: dict[str, int], tmp_path: Path) -> None:
    told: list[Any] = []
    outcome = reproduce(("one",), None, tmp_path / "out", finished=told.append)
    assert outcome.skipped == ("one: oulad: no data folder given",)
    assert (outcome.exit_code(), outcome.exit_code(strict=True)) == (0, 1)
    assert "no data folder given" in outcome.to_text()
    assert "no data folder given" in (tmp_path / "out" / "report.html").read_text()
    assert [part.experiment.name for part in told] == ["one"]


@pytest.mark.parametrize(("ours", "strict"), [(1.0, 0), (2.0, 0), (9.0, 1), (None, 0)])
def test_strict_fails_where_a_number_differs_and_nowhere_else(ours: float | None, strict: int, tmp_path: Path) -> None:
    one = judge(Published("k", "tab:x", "a number", 1.0), Ours(ours))
    part = runner.Finished(ONE, "ran", Result({}, ({"a": 1},), (one,)), 1.0, {})
    outcome = runner.Outcome((part,), tmp_path, False, 1.0)
    assert (outcome.exit_code(), outcome.exit_code(strict=True)) == (0, strict)


def test_a_part_of_another_run_in_the_cache_is_made_again(two: dict[str, int], data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reproduce(("one",), data, out)
    (file,) = (out / ".cache").glob("one-*.json")
    first = (out / "one.json").read_bytes()
    file.write_text(file.read_text().replace('"half": 0.5', '"half": 7.5'))
    assert [part.state for part in reproduce(("one",), data, out).finished] == ["ran"]
    again = json.loads((out / "one.json").read_text())
    assert (again["rows"], counts(two)) == (json.loads(first)["rows"], (2, 0))


def test_places_that_cannot_be(two: dict[str, int], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="out: is a file"):
        reproduce(("one",), None, tmp_path / "file")
    with pytest.raises(InvalidInput, match="data: there is no such folder"):
        reproduce(("one",), tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(InvalidInput, match="name: must be one of two, one"):
        reproduce(("three",), None, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert counts(two) == (0, 0)
