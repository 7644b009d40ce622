"""JSON lines as a table: one schema for the whole file, found in a first reading, so that the size of the pieces decides nothing.

A column that some line has is there for all lines, null where a line does not have it. A line that does not fit is refused by
itself: text that is no JSON object, a list where a number should be, another type than the lines before.

Scope: none; reading only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.row import Row

__all__ = ["Lines"]

Line = dict[str, Any] | InvalidInput

NUMBERS, TAGS = pa.list_(pa.float64()), pa.list_(pa.int64())
KNOWN = {
    "scores": NUMBERS, "targets": NUMBERS, "widths": NUMBERS, "similarity": NUMBERS,
    "vectors": pa.list_(NUMBERS), "tags": pa.list_(TAGS),
    "knowledge": pa.float64(), "engagement": pa.float64(), "uncertainty": pa.float64(),
}  # fmt: skip
"""Columns of one type only; ids are integers or strings, and everything else is what the lines make it."""

IDS = ("ids", "shown")
UNFIT = (pa.ArrowException, OverflowError, UnicodeEncodeError)


class Lines:
    """The lines of a file as rows of one schema. ``refused`` holds, by row number, why a line is left out of every piece.

    Scope: none; reading only.
    """

    def __init__(self, path: Path, field: str, known: dict[str, Any] | None = None) -> None:
        self._path, self._field = path, field
        self._known = {} if known is None else known
        self._types: dict[str, Any] = {}
        self.rows = 0
        self.refused: dict[int, InvalidInput] = {}
        for number, line in self._lines():
            self.rows = number + 1
            try:
                self._learn(line)
            except InvalidInput as why:
                self.refused[number] = InvalidInput(why.field, why.rule, why.value, where=Row(number))
        self.schema = pa.schema(list(self._types.items()))

    def pieces(self, size: int) -> Iterator[tuple[pa.Table, list[int], list[InvalidInput]]]:
        """``size`` lines at a time: (the rows that fit, their numbers, the refusals of the others)."""
        rows: list[tuple[int, Any]] = []
        for number, line in self._lines():
            rows.append((number, line))
            if len(rows) == size:
                yield self._piece(rows)
                rows = []
        if rows:
            yield self._piece(rows)

    def _lines(self) -> Iterator[tuple[int, Line]]:
        number = 0
        with self._path.open("rb") as lines:
            for place, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _parsed(line, place, self._field)
                    number += 1

    def _learn(self, line: Line) -> None:
        """Widen the schema by one line; refuses a line that does not fit what stands before it."""
        if isinstance(line, InvalidInput):
            raise line
        found = {name: self._type(name, value) for name, value in line.items()}
        self._types.update({name: _merged(name, self._types.get(name, kind), kind) for name, kind in found.items()})

    def _type(self, name: str, value: Any) -> Any:
        if name in self._known:
            _check(value, self._known[name], name)
            return self._known[name]
        if self._known and name in IDS:
            return pa.list_(_id_type(name, value))
        return _type_of(value, name)

    def _piece(self, rows: list[tuple[int, Any]]) -> tuple[pa.Table, list[int], list[InvalidInput]]:
        refused = [self.refused[number] for number, _ in rows if number in self.refused]
        good = [(number, line) for number, line in rows if number not in self.refused]
        try:
            table = pa.Table.from_pylist([line for _, line in good], schema=self.schema)
        except UNFIT:
            for number, line in good:
                self._check_alone(number, line)
            return self._piece(rows)
        return table, [number for number, _ in good], refused

    def _check_alone(self, number: int, line: dict[str, Any]) -> None:
        """Refuse a line with a value that its column cannot hold: an integer of more than 64 bits, half a surrogate pair."""
        for field in self.schema:
            try:
                pa.array([line.get(field.name)], field.type)
            except UNFIT as why:
                self.refused[number] = InvalidInput(field.name, f"cannot be held as {field.type} ({why})", where=Row(number))
                return


def _parsed(line: bytes, place: int, field: str) -> Line:
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as why:
        return InvalidInput(field, f"line {place} is not UTF-8 ({why.reason} at byte {why.start})")
    except json.JSONDecodeError as why:
        return InvalidInput(field, f"line {place} is not JSON ({why.msg})")
    except RecursionError:
        return InvalidInput(field, f"line {place} is nested too deeply")
    return value if isinstance(value, dict) else InvalidInput(field, f"line {place} must be an object", type(value).__name__)


def _check(value: Any, kind: Any, name: str) -> None:
    """Refuse a value that is not of the shape of ``kind``: numbers, or lists of them; a null is looked at later."""
    if value is None:
        return
    if not pa.types.is_list(kind):
        if type(value) not in (int, float):
            raise InvalidInput(name, "must be a number", value)
        return
    if not isinstance(value, list):
        raise InvalidInput(name, "must be a list", value)
    if pa.types.is_list(kind.value_type):
        for part in value:
            _check(part, kind.value_type, name)
        return
    wanted = {int} if pa.types.is_integer(kind.value_type) else {int, float}
    if not set(map(type, value)) <= wanted | {type(None)}:
        wrong = next(part for part in value if part is not None and type(part) not in wanted)
        raise InvalidInput(name, "must hold integers" if wanted == {int} else "must hold numbers", wrong)


def _id_type(name: str, value: Any) -> Any:
    if value is None:
        return pa.null()
    if not isinstance(value, list):
        raise InvalidInput(name, "must be a list of ids", value)
    kinds = set(map(type, value)) - {type(None)}
    if not kinds:
        return pa.null()
    if kinds not in ({int}, {str}):
        raise InvalidInput(name, "must be all integers or all strings", value)
    return pa.int64() if kinds == {int} else pa.string()


def _type_of(value: Any, name: str) -> Any:
    """The Arrow type of a value read from JSON."""
    plain = {type(None): pa.null(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}.get(type(value))
    if plain is not None:
        return plain
    if isinstance(value, dict):
        return pa.struct([(key, _type_of(part, name)) for key, part in value.items()])
    inner = pa.null()
    for part in value:
        inner = _merged(name, inner, _type_of(part, name))
    return pa.list_(inner)


def _merged(name: str, old: Any, new: Any) -> Any:
    """One type for both; refuses two that have none."""
    if old == new:
        return old
    try:
        return pa.unify_schemas([pa.schema([(name, old)]), pa.schema([(name, new)])], promote_options="permissive").field(0).type
    except pa.ArrowException as why:
        raise InvalidInput(name, f"must be {old}, as in what stands before it", str(new)) from why
