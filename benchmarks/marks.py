"""Tables of committed results, and their places on a page: between ``<!-- name -->`` and ``<!-- /name -->``.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["DOCS", "RESULTS", "filled", "put", "read", "table"]

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).resolve().parents[1] / "docs"


def read(name: str) -> dict[str, Any]:
    """The committed results of a benchmark."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))


def filled(page: str, text: str, made: Mapping[str, str]) -> str:
    """The text with each table between its marks; a ``page`` without the marks is an error."""
    for name, what in made.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"{page} must have the marks of {name} once")
        text = pattern.sub(lambda marks, what=what: f"{marks[1]}{what}\n{marks[2]}", text)  # type: ignore[misc]
    return text


def put(page: Path, made: Mapping[str, str]) -> None:
    """Write each text between its marks in ``page``, or leave the page as it was."""
    page.write_text(filled(page.name, page.read_text(encoding="utf-8"), made), encoding="utf-8")
