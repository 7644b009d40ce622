"""Files of a run: JSON that is written whole or not at all, and the hash of a file.

Scope: none.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput

__all__ = ["json_text", "read_json", "sha256_of", "write_json"]


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(json_text(value, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def read_json(path: Path, what: str) -> dict[str, Any]:
    """The object in a file; refuses, as ``what`` of a run, one that cannot be read or is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as why:
        raise InvalidInput("out", f"must hold {what} ({why})", str(path)) from why
    if not isinstance(found, dict):
        raise InvalidInput("out", f"must hold {what}, a JSON object", str(path))
    return found


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON with sorted keys: equal values are equal texts."""
    return json.dumps(value, sort_keys=True, indent=indent, default=_plain, allow_nan=True)


def sha256_of(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not JSON: {type(value).__name__}")
