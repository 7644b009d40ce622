"""The place of an offending value in a batch: which row, which candidate; and the refusal of several rows at once.

Scope: none; naming only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slateproof.errors import InvalidInput
from slateproof.types.ids import ItemId

__all__ = ["BadRows", "Row", "number_of", "refuse"]


@dataclass(frozen=True, slots=True, repr=False)
class Row:
    """Row ``number`` of a table, counted from 0, and the candidate in it where one is to blame.

    Scope: none; naming only.
    """

    number: int
    item: ItemId | None = None

    def __repr__(self) -> str:
        return f"row {self.number}" if self.item is None else f"row {self.number}, id {self.item!r}"


class BadRows(InvalidInput):
    """Rows that break a rule: reads as the refusal of the first, and ``rows`` holds one per row, in row order.

    Rows are judged each by itself, so without these the others pass the same check.

    Scope: none; naming only.
    """

    def __init__(self, errors: Sequence[InvalidInput]) -> None:
        first: dict[int, InvalidInput] = {}
        for error in errors:
            first.setdefault(number_of(error), error)
        self.rows = tuple(first[number] for number in sorted(first))
        super().__init__(self.rows[0].field, self.rows[0].rule, self.rows[0].value, where=self.rows[0].where)

    def __reduce__(self) -> tuple[object, ...]:
        return (BadRows, (self.rows,))


def number_of(error: InvalidInput) -> int:
    """The row that an error is about; refuses to guess where it names none."""
    if not isinstance(error.where, Row):
        raise error
    return error.where.number


def refuse(errors: Sequence[InvalidInput]) -> None:
    """Refuse the rows that there are, if any."""
    if errors:
        raise BadRows(errors)
