"""What an experiment is: a pure function from (config, corpora, seed) to a result, with what it covers in the paper.

A ``Result`` is plain data: it is written to JSON, cached, read back and drawn without running anything again.

Scope: none; measurements carry no claim but what their text says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from slateproof.experiments.figures import Figure
from slateproof.experiments.shelf import Shelf
from slateproof.experiments.verdicts import Verdict

__all__ = ["Experiment", "Progress", "Result", "Row", "Table", "Task"]

Progress = Callable[[int, int, str], None]
"""Called with (parts done, parts in all, what is going on)."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to print: ``columns`` are keys of the rows, in order; the heads are the keys unless ``heads`` names them.

    Scope: none.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    heads: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        return {**asdict(self), "rows": list(self.rows), "columns": list(self.columns), "heads": dict(self.heads)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Table:
        """Read it back."""
        return cls(value["name"], value["caption"], tuple(value["columns"]), tuple(value["rows"]), value["heads"])


@dataclass(frozen=True, slots=True)
class Result:
    """What came out. ``rows`` are the main rows (stable keys), ``tables`` what is printed, ``notes`` what was found.

    ``skipped`` says what was left out and why. ``corpora`` are the labels of what was read, with digests.

    Scope: none.
    """

    summary: Mapping[str, Any]
    rows: tuple[Row, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    skipped: tuple[str, ...] = ()
    corpora: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "summary": dict(self.summary),
            "rows": list(self.rows),
            "published": [one.to_dict() for one in self.verdicts],
            "notes": list(self.notes),
            "tables": [one.to_dict() for one in self.tables],
            "figures": [one.to_dict() for one in self.figures],
            "skipped": list(self.skipped),
            "corpora": dict(self.corpora),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Result:
        """Read it back."""
        return cls(
            value["summary"],
            tuple(value["rows"]),
            tuple(Verdict.from_dict(one) for one in value["published"]),
            tuple(value["notes"]),
            tuple(Table.from_dict(one) for one in value["tables"]),
            tuple(Figure.from_dict(one) for one in value["figures"]),
            tuple(value["skipped"]),
            value["corpora"],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a run is given: its configuration, the corpora, a seed, whom to tell, and results of the experiments it comes after.

    Scope: none.
    """

    config: Any
    corpora: Shelf
    seed: int
    progress: Progress
    results: Mapping[str, Result] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A name, what it asks, the labels of the paper's tables and figures that it covers, and how it runs.

    ``full`` and ``quick`` are its configurations (frozen dataclasses: they are printed in the manifest and are part of the
    cache's digest). ``corpora`` are the corpora it can use; a missing one is left out by ``run``, which says so. ``after`` names
    experiments whose results it reads.

    Scope: none.
    """

    name: str
    title: str
    question: str
    labels: tuple[str, ...]
    full: Any
    quick: Any
    run: Callable[[Task], Result]
    corpora: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def config(self, quick: bool) -> Any:
        """The configuration of a quick or a full run."""
        return self.quick if quick else self.full
