"""What corpora there are and which of them are here.

Scope: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slateproof.corpora.registry import CORPORA, Entry

__all__ = ["Listing", "list_corpora"]


@dataclass(frozen=True, slots=True)
class Listing:
    """Every corpus by name, with what is missing of it below ``data``.

    Scope: none.
    """

    data: Path | None
    rows: tuple[tuple[Entry, tuple[str, ...]], ...]

    def to_text(self) -> str:
        """Two lines per corpus: name, state and title; licence and pin."""
        lines = []
        for entry, missing in self.rows:
            lines.append(f"{entry.name:<30} {self._state(entry, missing):<11} {entry.title}")
            lines.append(f"{'':<30} {_pin(entry):<11} {entry.licence}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        return {
            e.name: {
                "title": e.title,
                "state": self._state(e, missing),
                "missing": list(missing),
                "synthetic": e.synthetic,
                "licence": e.licence,
                "page": e.page,
                "pin": _pin(e),
                "addresses": [a.address for a in e.archives],
            }
            for e, missing in self.rows
        }

    def _state(self, entry: Entry, missing: tuple[str, ...]) -> str:
        if not entry.needs:
            return "generated"
        return "unknown" if self.data is None else "missing" if missing else "present"


def list_corpora(data: str | Path | None = None) -> Listing:
    """The registry, and which corpora are complete enough to load from the data folder, if one is named."""
    folder = None if data is None else Path(data)
    return Listing(folder, tuple((e, () if folder is None else e.missing(folder)) for e in CORPORA.values()))


def _pin(entry: Entry) -> str:
    if not entry.archives:
        return "-"
    return "pinned" if all(a.checksum for a in entry.archives) else "unpinned"
