"""Settings by name: which ones a loader takes, and their values from the ``key=value`` of a command line.

Scope: none.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal

from slateproof.errors import InvalidInput

__all__ = ["check_keys", "hints_of", "read_settings"]

_READ: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "must be a whole number"),
    float: (float, "must be a number"),
    bool: (lambda text: {"true": True, "false": False}[text], "must be true or false"),
    str: (str, "must be text"),
    Path: (str, "must be a path"),
}


def hints_of(function: Callable[..., Any], fixed: Iterable[str] = ()) -> dict[str, Any]:
    """The types of a function's keyword-only parameters, but for the ``fixed`` ones."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    return {p.name: hints[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed}


def check_keys(keys: Iterable[str], hints: Mapping[str, Any], owner: str) -> None:
    """Refuse a key that is no setting, with those that are."""
    for key in keys:
        if key not in hints:
            raise InvalidInput(key, f"is no setting of {owner}, which has {', '.join(hints) or 'none'}")


def read_settings(words: Iterable[str], hints: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """The values of ``key=value`` words; ``none`` is None where the setting may be. Refuses unknown keys, repeats, other types."""
    out: dict[str, Any] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign:
            raise InvalidInput("settings", "must be key=value", word)
        check_keys([key], hints, owner)
        if key in out:
            raise InvalidInput(key, "must be set once", text)
        out[key] = _value(key, text, hints[key])
    return out


def _value(key: str, text: str, hint: Any) -> Any:
    kinds = typing.get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if NoneType in kinds and text == "none":
        return None
    kind = next(k for k in kinds if k is not NoneType)
    if typing.get_origin(kind) is Literal:
        if text not in typing.get_args(kind):
            raise InvalidInput(key, f"must be one of {', '.join(typing.get_args(kind))}", text)
        return text
    read, rule = _READ[kind]
    try:
        return read(text)
    except (ValueError, KeyError) as why:
        raise InvalidInput(key, rule, text) from why
