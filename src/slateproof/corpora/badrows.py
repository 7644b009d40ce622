"""Malformed rows: counted, kept to a limit, never dropped in silence.

Scope: none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slateproof.corpora.build import check_count
from slateproof.errors import InvalidInput

__all__ = ["BadRows"]

SHOWN = 80
"""Characters of a value that an error shows."""


@dataclass(slots=True)
class BadRows:
    """Counts malformed rows of one load and refuses the first one past ``limit``.

    Scope: none.
    """

    limit: int = 0
    count: int = 0
    first: list[InvalidInput] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_count(self.limit, "max_bad_rows", 0)

    def add(self, column: str, rule: str, value: object, file: str, row: int) -> None:
        """One malformed row; ``row`` is the line it begins on, counted from 1, header included."""
        if isinstance(value, str) and len(value) > SHOWN:
            value = f"{value[:SHOWN]}..."
        error = InvalidInput(column, rule, value, where=f"{file} row {row}")
        self.count += 1
        if self.count <= 3:
            self.first.append(error)
        if self.count > self.limit:
            if self.limit == 0:
                raise error
            seen = "; ".join(map(str, self.first))
            raise InvalidInput("max_bad_rows", f"more than {self.limit} malformed rows; the first: {seen}", self.count)
