"""Does a corpus have the counts that its source states?

Scope: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slateproof.corpora.corpus import Corpus
from slateproof.corpora.registry import CORPORA

__all__ = ["CheckReport", "CheckRow", "check"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One quantity: what the source states and what was found. Density and rows per user are compared as rounded there.

    Scope: none.
    """

    quantity: str
    published: float
    found: float

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return self.published == self.found


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The comparison, row by row. ``ok`` is None when nobody states anything about this corpus, so that nothing was checked.

    Scope: none; equal counts are not equal data.
    """

    corpus: str
    source: str
    rows: tuple[CheckRow, ...]
    digest: str

    @property
    def ok(self) -> bool | None:
        """True when every row agrees, False when one does not, None without rows."""
        return all(row.ok for row in self.rows) if self.rows else None

    def to_text(self) -> str:
        """A verdict, then one line per quantity."""
        if not self.rows:
            return f"{self.corpus}: nothing to check against; no source states its counts\n  digest  {self.digest}"
        verdict = "agrees with" if self.ok else "differs from"
        lines = [f"{self.corpus}: {verdict} {self.source}"]
        lines += [
            f"  {row.quantity:<22} stated {row.published:>14,}   found {row.found:>14,}   {'ok' if row.ok else 'DIFFERS'}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"  digest  {self.digest}"])

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        rows = [{"quantity": r.quantity, "published": r.published, "found": r.found, "ok": r.ok} for r in self.rows]
        return {"corpus": self.corpus, "source": self.source, "ok": self.ok, "rows": rows, "digest": self.digest}


def check(corpus: Corpus) -> CheckReport:
    """Compare the counts of a corpus with those stated for its name; nobody states any for a table of your own."""
    known = CORPORA.get(corpus.name)
    stated = None if known is None else known.published
    if stated is None:
        return CheckReport(corpus.label, "", (), corpus.digest)
    pairs = (
        ("interactions", stated.interactions, len(corpus)),
        ("users", stated.users, corpus.users),
        ("items", stated.items, len(corpus.items)),
        ("density per mille", stated.density, _rounded(corpus.density, stated.density)),
        ("interactions per user", stated.per_user, _rounded(corpus.per_user, stated.per_user)),
    )
    rows = tuple(CheckRow(quantity, said, found) for quantity, said, found in pairs if said is not None)
    return CheckReport(corpus.label, stated.source, rows, corpus.digest)


def _rounded(found: float, said: float | None) -> float:
    """``found`` to as many decimals as the source gives."""
    return round(found, len(str(said).partition(".")[2]))
