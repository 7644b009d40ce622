"""The rows of delimited text one by one, each with the line it begins on, and the check that no quote swallowed any.

A quote that is never closed makes a cell of everything behind it. The CSV readers of Python and of PyArrow both give that cell
without a word, so that whoever trusts them loses the rows in it.

Scope: none.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from slateproof.corpora.files import open_bytes
from slateproof.errors import InvalidInput

__all__ = ["csv_rows", "rows_are_lines"]

_CHUNK = 1 << 20


def csv_rows(text: TextIO, file: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the number of their first line from 1. A quote that is not closed stops the load."""
    held: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            held.append(line)
            yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    while True:
        first = reader.line_num + 1
        held.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as why:  # a cell of more than 128 KiB
            raise InvalidInput(
                "row", f"cannot be read; is a quote not closed? ({why})", held[0][:80], where=_at(file, first)
            ) from why
        if sum(line.count('"') for line in held) % 2 and _is_open(held, delimiter):
            raise InvalidInput("row", "has a quote that is not closed", held[0].rstrip("\r\n")[:80], where=_at(file, first))
        if cells:
            yield first, cells


def rows_are_lines(path: Path, rows: int) -> bool:
    """Whether a file that holds quotes has them in pairs, and as many lines as ``rows`` (the header included)."""
    with open_bytes(path) as raw:
        if not any(b'"' in chunk for chunk in iter(lambda: raw.read(_CHUNK), b"")):  # ten times as fast as counting
            return True
    lines, quotes, last = 0, 0, b"\n"
    with open_bytes(path) as raw:
        while chunk := raw.read(_CHUNK):
            lines, quotes, last = lines + chunk.count(b"\n"), quotes + chunk.count(b'"'), chunk[-1:]
    return quotes % 2 == 0 and lines + (last != b"\n") == rows


def _is_open(lines: list[str], delimiter: str) -> bool:
    """Whether one more line would still belong to the row that ``lines`` hold."""
    return len(list(csv.reader([*lines, "x"], delimiter=delimiter))) == 1


def _at(file: str, line: int) -> str:
    return f"{file} row {line}"
