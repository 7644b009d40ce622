"""What a loader asks of a column, and how one value of it is read.

Scope: none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from slateproof.corpora.vectors import vector_of

__all__ = ["ARROW", "Field", "Kind", "Unlawful", "Within", "clock_of", "parse", "rule_of"]

Kind = Literal["int", "float", "text", "time", "flag", "blank", "vector"]

ARROW: dict[str, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "time": pa.string(),
    "flag": pa.string(),
    "blank": pa.string(),
    "vector": pa.string(),
}
"""The Arrow type in which a column of each kind is read from text."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FLAGS = {"true": 1.0, "t": 1.0, "yes": 1.0, "false": 0.0, "f": 0.0, "no": 0.0}


class Unlawful(ValueError):
    """A value of a row that breaks ``rule``.

    Scope: none.
    """

    def __init__(self, rule: str, value: object) -> None:
        super().__init__(rule, value)
        self.rule, self.value = rule, value


@dataclass(frozen=True, slots=True)
class Within:
    """Which numbers of a column are lawful: from ``low`` to ``high``, and one of ``only`` where that is not empty.

    Scope: none.
    """

    rule: str
    low: float = -np.inf
    high: float = np.inf
    only: tuple[float, ...] = ()

    def holds(self, values: Any) -> Any:
        """Whether each of them is lawful; NaN stands for a value that is not there, and passes."""
        lawful = np.logical_not((values < self.low) | (values > self.high))
        return lawful & (np.isin(values, self.only) | np.isnan(values)) if self.only else lawful


@dataclass(frozen=True, slots=True)
class Field:
    """A wanted column: its name in the file, the kind of its values, and the texts that lawfully mean "not there".

    Kinds: ``int`` whole numbers, ``float`` finite numbers, ``text`` not empty, ``time`` whole numbers, numbers or ISO 8601 (the
    first row decides), ``flag`` finite numbers or true/false, ``blank`` nothing, which gives no column,
    ``vector`` finite numbers. ``within`` bounds numbers.

    Scope: none.
    """

    name: str
    kind: Kind
    missing: tuple[str, ...] = ()
    within: Within | None = None

    @property
    def shown(self) -> str:
        """What an error calls the column: the cells of a blank one are a matter of the whole row."""
        return "row" if self.kind == "blank" else self.name


Parser = Callable[[str], Any]


def clock_of(text: str) -> str:
    """Which clock a time is written in: ``int``, ``float`` or ``iso``."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return "int"
    return "float" if _NUMBER.fullmatch(text) else "iso"


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError(text)
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(text)
    return value


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()) or float(text) in (float("inf"), float("-inf")):
        raise ValueError(text)
    return float(text)


def _text(text: str) -> str:
    text.encode("utf-8")  # a byte that is not UTF-8 was read as a lone surrogate: UnicodeEncodeError is a ValueError
    if not text:
        raise ValueError(text)
    return text


def _flag(text: str) -> float:
    value = _FLAGS.get(text.strip().lower())
    return _number(text) if value is None else value


def _blank(text: str) -> None:
    if text:
        raise ValueError(text)


def _iso(text: str) -> int:
    """Microseconds since 1970; a time without a zone is taken as UTC."""
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


_PARSERS: dict[str, tuple[Parser, str]] = {
    "int": (_whole, "must be a whole number"),
    "float": (_number, "must be a finite number"),
    "text": (_text, "must be text and not empty"),
    "flag": (_flag, "must be a finite number, true or false"),
    "iso": (_iso, "must be a date and time in ISO 8601, like the first row"),
    "blank": (_blank, "must hold nothing between two delimiters that stand together"),
    "vector": (vector_of, "must be finite numbers"),
}


def rule_of(kind: str) -> str:
    """What a value of this kind must be."""
    return "must be a number or an ISO 8601 time" if kind == "time" else _PARSERS[kind][1]


def parse(text: str, kind: str, field: Field) -> Any:
    """The value of one text as ``kind`` (the field's own, or the clock of its times), or ``Unlawful``."""
    read, rule = _PARSERS[kind]
    try:
        value = read(text)
    except ValueError:
        raise Unlawful(rule, text) from None
    if field.within is not None and not field.within.holds(value):
        raise Unlawful(field.within.rule, value)
    return value
