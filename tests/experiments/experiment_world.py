"""Small stand-ins for the corpora, under their names, and tasks on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from slateproof.corpora import Corpus, synthetic_education, synthetic_ratings
from slateproof.experiments.core import Experiment, Result, Task
from slateproof.experiments.output import plain
from slateproof.experiments.shelf import Shelf

EDUCATION = ("oulad", "ednet-surrogate")
RATINGS = ("ml-25m", "amazon-musical-instruments-5")


class SmallShelf(Shelf):
    """Corpora with the names in ``here``, all small and made up; everything else is missing."""

    def __init__(self, here: tuple[str, ...] = EDUCATION + RATINGS) -> None:
        super().__init__(None)
        self.here = here

    def missing(self, name: str) -> str | None:
        return None if name in self.here else f"{name}: not in the data folder (a file)"

    def get(self, name: str, **options: Any) -> Corpus:
        assert name in self.here, name
        return self.once((name, tuple(sorted(options.items()))), lambda: _named(name, options))


def _named(name: str, options: dict[str, Any]) -> Corpus:
    if name in EDUCATION:
        made = synthetic_education(users=160, items=60, per_user=12.0, skills=5)
    else:
        made = synthetic_ratings(users=160, items=70, **{k: v for k, v in options.items() if k == "like_at"})
    return replace(made, name=name, synthetic=name == "ednet-surrogate")


def run(experiment: Experiment, shelf: Shelf | None = None, results: dict[str, Result] | None = None, **changes: Any) -> Result:
    """The experiment with its quick configuration, changed, as it comes back from the cache: plain data."""
    config = replace(experiment.quick, **changes)
    told: list[tuple[int, int, str]] = []
    task = Task(config, shelf or SmallShelf(), 42, lambda *what: told.append(what), results or {})
    found = experiment.run(task)
    assert all(0 <= done <= total for done, total, _ in told)
    again = Result.from_dict(plain(found.to_dict()))
    assert plain(again.to_dict()) == plain(found.to_dict())
    return again


def data_files(folder: Path) -> Path:
    """A data folder with a small OULAD in the publisher's format."""
    place = folder / "oulad"
    place.mkdir(parents=True)
    kinds = ["TMA", "CMA"]
    heads = '"code_module","code_presentation","id_assessment","assessment_type","date","weight"'
    lines = [f'"AAA","2013J",{1000 + i},"{kinds[i % 2]}",{10 + i},10' for i in range(30)]
    (place / "assessments.csv").write_text("\n".join([heads, *lines]) + "\n", encoding="utf-8")
    rows = ['"id_assessment","id_student","date_submitted","is_banked","score"']
    for user in range(80):
        rows += [f"{1000 + (user * 7 + k * 3) % 30},{user + 1},{k},0,{(user * 13 + k * 29) % 101}" for k in range(8)]
    (place / "studentAssessment.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder
