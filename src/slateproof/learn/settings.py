"""Settings of a learner by name: its own fields, and those of its parts with a dot between (``anchor.factors``).

Scope: none; settings.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Any

from slateproof.corpora.settings import check_keys
from slateproof.learn.protocol import Learner

__all__ = ["settable", "with_settings"]

_PLAIN = (int, float, bool, str, NoneType)


def settable(learner: Learner, fixed: Iterable[str] = ()) -> dict[str, Any]:
    """The names and types of what can be set, but for the ``fixed`` ones; what a learner is called is not among them."""
    hints, out = typing.get_type_hints(type(learner)), dict[str, Any]()
    for field in dataclasses.fields(learner):  # type: ignore[arg-type]
        value, hint = getattr(learner, field.name), hints[field.name]
        if dataclasses.is_dataclass(value):
            out |= {f"{field.name}.{inner}": kind for inner, kind in settable(typing.cast(Learner, value)).items()}
        elif all(kind in _PLAIN for kind in (typing.get_args(hint) if isinstance(hint, UnionType) else (hint,))):
            out[field.name] = hint
    return {name: hint for name, hint in out.items() if name not in {"name", *fixed}}


def with_settings(learner: Learner, settings: Mapping[str, Any], fixed: Iterable[str] = ()) -> Learner:
    """The same learner with other settings; refuses one that it does not have, and whatever it refuses itself."""
    check_keys(settings, settable(learner, fixed), learner.name)
    own = {key: value for key, value in settings.items() if "." not in key}
    parts: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        part, dot, inner = key.partition(".")
        if dot:
            parts.setdefault(part, {})[inner] = value
    held: Any = learner
    return dataclasses.replace(held, **own, **{part: with_settings(getattr(held, part), one) for part, one in parts.items()})
