"""A table of your own as a corpus that has a name: a small TOML file beside it that says which column is which.

    file = "answers.csv"
    user = "learner"
    item = "exercise"
    response = "right"

The other keys are the parameters of ``load_table``, spelled alike. ``load("answers.toml")`` reads it, and so does every command
that takes a corpus.

Scope: none.
"""

from __future__ import annotations

import inspect
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slateproof.corpora.corpus import Corpus
from slateproof.corpora.table import load_table
from slateproof.errors import InvalidInput

__all__ = ["load_tablefile", "tablefile_text"]

_KINDS: dict[str, tuple[type, ...]] = {"positive_at": (int, float), "min_user": (int,), "min_item": (int,), "max_bad_rows": (int,)}
"""What a key's value must be; text where nothing stands here."""

_KEYS = {name: parameter.default for name, parameter in inspect.signature(load_table).parameters.items() if name != "path"}


def load_tablefile(path: str | Path) -> Corpus:
    """The corpus that a TOML file describes; ``file`` counts from the folder of the TOML file.

    Refuses a key that is not known or lacks, a value of another type, and whatever ``load_table`` refuses.
    """
    path = Path(path)
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as why:
        raise InvalidInput("corpus", f"cannot be read ({why})", str(path)) from why
    for key, value in held.items():
        if key != "file" and key not in _KEYS:
            raise InvalidInput(key, f"must be one of file, {', '.join(_KEYS)}", value, where=str(path))
        kinds = _KINDS.get(key, (str,))
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise InvalidInput(key, f"must be {'text' if kinds == (str,) else 'a number'}", value, where=str(path))
    for key in ("file", *(name for name, default in _KEYS.items() if default is inspect.Parameter.empty)):
        if key not in held:
            raise InvalidInput(key, "is missing", where=str(path))
    options = {key: value for key, value in held.items() if key != "file"}
    return load_table(path.parent / held["file"], **{"name": path.stem, **options})


def tablefile_text(file: str | Path, beside: str | Path, options: Mapping[str, Any]) -> str:
    """The TOML text for the table ``file`` and parameters of ``load_table``, to be written into the folder ``beside``."""
    given = {key: value for key, value in options.items() if value is not None and value != _KEYS[key]}
    place = Path(os.path.relpath(file, beside)).as_posix()
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in {"file": place, **given}.items())
