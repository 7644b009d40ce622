"""The place of an offending value in a batch: which row, which candidate.

Scope: none; naming only.
"""

from __future__ import annotations

from dataclasses import dataclass

from slateproof.types.ids import ItemId

__all__ = ["Row"]


@dataclass(frozen=True, slots=True, repr=False)
class Row:
    """Row ``number`` of a table, counted from 0, and the candidate in it where one is to blame.

    Scope: none; naming only.
    """

    number: int
    item: ItemId | None = None

    def __repr__(self) -> str:
        return f"row {self.number}" if self.item is None else f"row {self.number}, id {self.item!r}"
