"""Run experiments, reuse what is finished, write their files and the report.

Scope: none.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.experiments.cache import Cache, key_of
from slateproof.experiments.core import Experiment, Result, Task
from slateproof.experiments.output import plain, write_atomic, write_result
from slateproof.experiments.registry import EXPERIMENTS, ordered
from slateproof.experiments.report import render
from slateproof.experiments.shelf import Shelf
from slateproof.experiments.signature import code_version, of_value, versions
from slateproof.experiments.verdicts import KINDS, count

__all__ = ["SEED", "Finished", "Outcome", "Told", "reproduce"]

SEED = 42

Told = Callable[[str, int, int, str], None]
"""Called with (experiment, parts done, parts in all, what is going on)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One experiment of a run. ``state``: "ran", "cached" (finished before, same digest), "skipped" (nothing it needs is here).

    Scope: none.
    """

    experiment: Experiment
    state: str
    result: Result
    seconds: float
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """All experiments of a run, where their files are, and how long it took.

    Scope: none.
    """

    finished: tuple[Finished, ...]
    out: Path
    quick: bool
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """Verdicts over all experiments."""
        return count(one for part in self.finished for one in part.result.verdicts)

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was left out, and why, each once."""
        return tuple(dict.fromkeys(f"{part.experiment.name}: {why}" for part in self.finished for why in part.result.skipped))

    def exit_code(self, strict: bool = False) -> int:
        """0; with ``strict`` 1 if a number differs or anything was skipped."""
        return int(strict and (self.counts["differs"] > 0 or bool(self.skipped)))

    @property
    def computing(self) -> float:
        """Seconds that the parts took when they were made; more than ``seconds`` where finished parts were used again."""
        return sum(part.seconds for part in self.finished)

    def to_text(self) -> str:
        """A few lines to print: a line per experiment, totals, what was skipped, where the report is."""
        heads = ("experiment", *KINDS, "seconds", "")
        lines = [(p.experiment.name, count(p.result.verdicts), p.seconds, p.state) for p in self.finished]
        lines.append(("all", self.counts, self.seconds, "quick run: small samples" if self.quick else ""))
        text_lines = [(name, *map(str, counts.values()), f"{took:.1f}", state) for name, counts, took, state in lines]
        widths = [max(len(line[i]) for line in (heads, *text_lines)) for i in range(len(heads))]
        text = [_line(cells, widths) for cells in (heads, *text_lines)]
        text += [f"skipped  {why}" for why in self.skipped]
        return "\n".join([*text, f"report   {self.out / 'report.html'}"])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(wide) for cell, wide in rest)]).rstrip()


def reproduce(
    names: Sequence[str] = (),
    data: str | Path | None = None,
    out: str | Path = "results",
    quick: bool = False,
    progress: Told | None = None,
    *,
    finished: Callable[[Finished], None] | None = None,
    command: str | None = None,
    seed: int = SEED,
) -> Outcome:
    """Run the experiments of ``names`` (none: all), and what they read; write files and ``report.html`` below ``out``.

    ``data`` is the folder of the corpora; what needs a missing corpus is left out, and ``Outcome.skipped`` says so. Finished parts
    are kept in ``out/.cache`` and used again where nothing that they depend on has changed. ``quick``: small samples. An unknown
    name and a data folder that is not there are refused before anything runs. ``finished`` is called after every experiment.
    """
    chosen = ordered(names)
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise InvalidInput("data", "there is no such folder", str(folder))
    target, shelf, start = Path(out), Shelf(folder), time.perf_counter()
    if target.exists() and not target.is_dir():
        raise InvalidInput("out", "is a file; it must be a folder", str(target))
    cache = Cache(target / ".cache")
    parts: dict[str, Finished] = {}
    for experiment in chosen:
        results = {name: parts[name].result for name in experiment.after if name in parts}
        task = Task(experiment.config(quick), shelf, seed, _teller(progress, experiment.name), results)
        part = parts[experiment.name] = _one(experiment, task, cache, quick, command)
        write_result(target, experiment.name, part.result, part.manifest)
        if finished is not None:
            finished(part)
    in_order = tuple(parts[name] for name in EXPERIMENTS if name in parts)
    outcome = Outcome(in_order, target, quick, time.perf_counter() - start)
    write_atomic(target / "report.html", render(outcome, manifest(shelf, seed, quick, command)))
    return outcome


def _one(experiment: Experiment, task: Task, cache: Cache, quick: bool, command: str | None) -> Finished:
    key = key_of(experiment, task)
    held = cache.read(experiment.name, key)
    start = time.perf_counter()
    if held is None:
        task.progress(0, 1, experiment.title)
        fresh = _run(experiment, task)
        result, seconds = Result.from_dict(plain(fresh.to_dict())), time.perf_counter() - start
        cache.write(experiment.name, key, result, seconds)
    else:
        result, seconds = held
    state = "skipped" if not result.rows and result.skipped else "ran" if held is None else "cached"
    facts = {
        **manifest(task.corpora, task.seed, quick, command),
        "experiment": experiment.name,
        "constants": _constants(task.config),
        "corpora": dict(result.corpora),
        "code": code_version(experiment.run.__module__),
        "digest": key,
        "seconds": round(seconds, 3),
    }
    task.progress(1, 1, state)
    return Finished(experiment, state, result, seconds, facts)


def _run(experiment: Experiment, task: Task) -> Result:
    """A refusal names the experiment that met it."""
    try:
        return experiment.run(task)
    except InvalidInput as why:
        raise InvalidInput(f"{experiment.name}: {why.field}", why.rule, why.value, where=why.where) from why


def manifest(shelf: Shelf, seed: int, quick: bool, command: str | None) -> dict[str, Any]:
    """What a run was made with; no path of the machine and no time of day, so that reruns agree."""
    return {
        "command": command or "slateproof.experiments.reproduce",
        "quick": quick,
        "seed": seed,
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "versions": versions(),
        "environment": of_value(versions())[:16],
    }


def _constants(config: Any) -> dict[str, Any]:
    return asdict(config) if is_dataclass(config) and not isinstance(config, type) else {}


def _teller(progress: Told | None, name: str) -> Callable[[int, int, str], None]:
    if progress is None:
        return lambda done, total, what: None
    return lambda done, total, what: progress(name, done, total, what)
