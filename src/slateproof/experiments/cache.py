"""Finished parts, kept by the digest of everything that they depend on. A file that is damaged, cut off or foreign is not used.

Scope: none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slateproof.experiments.core import Experiment, Result, Task
from slateproof.experiments.output import plain, write_atomic
from slateproof.experiments.signature import code_version, of_value, versions

__all__ = ["Cache", "key_of"]

VERSION = 1


def key_of(experiment: Experiment, task: Task) -> str:
    """SHA-256 over name, configuration, seed, corpora, results that are read, code and library versions."""
    return of_value(
        {
            "version": VERSION,
            "name": experiment.name,
            "config": repr(task.config),
            "seed": task.seed,
            "corpora": {name: task.corpora.digest(name) for name in experiment.corpora},
            "after": {name: of_value(plain(task.results[name].to_dict())) for name in sorted(task.results)},
            "code": code_version(experiment.run.__module__),
            "libraries": versions(),
        }
    )


class Cache:
    """A folder of finished parts: one file per experiment and digest.

    Scope: none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, key: str) -> tuple[Result, float] | None:
        """The result and the seconds it took, or None: not there, cut off, changed, or made by something else."""
        try:
            held = json.loads(self._path(name, key).read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError):
            return None
        if not isinstance(held, dict) or held.get("key") != key or held.get("sha256") != _digest(held):
            return None
        return Result.from_dict(held["result"]), float(held["seconds"])

    def write(self, name: str, key: str, result: Result, seconds: float) -> None:
        """Keep a finished part."""
        value: dict[str, Any] = plain(result.to_dict())
        held: dict[str, Any] = {"key": key, "seconds": seconds, "result": value}
        write_atomic(self._path(name, key), json.dumps({**held, "sha256": _digest(held)}))

    def _path(self, name: str, key: str) -> Path:
        return self._folder / f"{name}-{key[:16]}.json"


def _digest(held: dict[str, Any]) -> str:
    return of_value([held.get("seconds"), held.get("result")])
