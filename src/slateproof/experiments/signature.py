"""Digests that decide whether a finished part may be used again: of files, of source code, of plain values.

Scope: none.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import slateproof

__all__ = ["LIBRARIES", "code_version", "of_files", "of_value", "versions"]

LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "dp-accounting", "jax", "equinox", "optax", "implicit", "matplotlib")
ROOMS = ("types", "select", "certify", "privacy", "corpora", "learn", "simulate")
"""Rooms that any result may depend on; of ``experiments`` only what the experiment imports counts."""

ROOT = Path(slateproof.__file__).parent


def of_value(value: Any) -> str:
    """SHA-256 of a plain value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def of_files(root: Path, paths: Iterable[Path]) -> str:
    """SHA-256 over names (relative to ``root``) and contents of files; a folder counts with all its files, sorted."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            with file.open("rb") as source:
                digest.update(hashlib.file_digest(source, "sha256").digest())
    return digest.hexdigest()


@cache
def versions() -> dict[str, str | None]:
    """Versions of slateproof and of the libraries that compute; None where one is not installed."""
    found: dict[str, str | None] = {"slateproof": slateproof.__version__}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


@cache
def code_version(module: str) -> str:
    """SHA-256 over the rooms below, and over the modules of ``experiments`` that ``module`` imports, directly or not."""
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    files += [_path(name) for name in _closure(module)]
    return of_files(ROOT, files)


def _path(module: str) -> Path:
    path = ROOT.parent / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _closure(module: str) -> set[str]:
    todo, seen = [module], set()
    while todo:
        name = todo.pop()
        if name in seen or not name.startswith("slateproof.experiments.") or not _path(name).exists():
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(_path(name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                todo += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return seen
