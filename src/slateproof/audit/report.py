"""What a verification found.

Scope: none; a report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["KINDS", "Problem", "ProblemKind", "VerifyReport"]

ProblemKind = Literal[
    "header", "signature", "origin", "rollback", "fork", "root", "missing", "misplaced", "changed", "withheld", "unreadable",
    "inputs", "replay", "scope", "catalog", "table",
]  # fmt: skip

KINDS: dict[ProblemKind, str] = {
    "header": "the header of the log is not the one that was committed to",
    "signature": "a checkpoint is not signed by the expected key",
    "origin": "a checkpoint belongs to another log",
    "rollback": "the log is behind a checkpoint that was given: its tail was cut, or an old state was put back",
    "fork": "the log does not extend a checkpoint that was given: its history was rewritten",
    "root": "the records do not give the Merkle root of the last checkpoint",
    "missing": "records that were committed are not there",
    "misplaced": "a record stands at a place that is not its own",
    "changed": "a record does not give the digest that was committed for it",
    "withheld": "a record leaves out what a log of this level holds",
    "unreadable": "a file of the log is missing or damaged",
    "inputs": "the logged inputs are none that a selector would take",
    "replay": "the logged inputs give another slate, margin or certificate",
    "scope": "a record names another privacy scope than the header",
    "catalog": "a catalogue that records refer to is missing or damaged",
    "table": "the table tells other readers what its records do not bear out: columns, row counts, statistics",
}

MOST = 100
"""Problems described one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: ``kind`` (see ``KINDS``), ``index`` of the record (None: the log as a whole), and a sentence.

    Scope: none; a finding.
    """

    kind: ProblemKind
    index: int | None
    message: str

    def __str__(self) -> str:
        where = "" if self.index is None else f" at record {self.index}"
        return f"{self.kind}{where}: {self.message}"


@dataclass(slots=True)
class Findings:
    """Problems as they are found: the first hundred in words, all in numbers."""

    described: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: ProblemKind, index: int | None, message: str) -> None:
        """Note a problem."""
        self.counts[kind] += 1
        if len(self.described) < MOST:
            self.described.append(Problem(kind, index, message))


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The verdict on a log.

    ``size`` committed records, of which ``replayed`` were selected again and ``withheld`` hold too little for that; ``problems``
    in the order of the records, at most a hundred, all counted in ``counts``; ``notes``: what a careful reader should know, such
    as missing signatures; ``seconds`` the check took. ``failure`` says why the log could not be checked at all.

    Scope: stability only; it says that records are intact and slates follow from them, not that the inputs were true.
    """

    size: int
    problems: tuple[Problem, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    replayed: int = 0
    withheld: int = 0
    signed_by: str | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    failure: str | None = None

    @property
    def ok(self) -> bool:
        """Whether everything was checked and nothing is wrong."""
        return self.failure is None and not self.problems

    @property
    def exit_code(self) -> int:
        """0 sound, 1 not sound, 2 could not be checked."""
        return 2 if self.failure is not None else int(not self.ok)

    @property
    def speed(self) -> float:
        """Records per second."""
        return self.size / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "ok": self.ok,
            "exit_code": self.exit_code,
            "size": self.size,
            "replayed": self.replayed,
            "withheld": self.withheld,
            "signed_by": self.signed_by,
            "problems": [{"kind": p.kind, "index": p.index, "message": p.message} for p in self.problems],
            "counts": dict(self.counts),
            "notes": list(self.notes),
            "seconds": self.seconds,
            "records_per_second": self.speed,
            "failure": self.failure,
        }

    def to_text(self) -> str:
        """The report for people."""
        if self.failure is not None:
            return f"could not be checked: {self.failure}"
        verdict = "sound" if self.ok else "NOT SOUND"
        lines = [
            f"{verdict}: {self.size} records, {self.replayed} selected again bit for bit, {self.withheld} without inputs"
            if self.ok
            else f"{verdict}: {self.size} records, {sum(self.counts.values())} problems",
            f"signed by {self.signed_by}" if self.signed_by else "no signature was checked",
            f"{self.seconds:.2f} s, {self.speed:,.0f} records/s",
        ]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"{number} x {kind}: {KINDS[kind]}" for kind, number in sorted(self.counts.items())]  # type: ignore[index]
        lines += [f"  {problem}" for problem in self.problems[:20]]
        hidden = sum(self.counts.values()) - min(20, len(self.problems))
        return "\n".join([*lines, f"  and {hidden} more"] if hidden > 0 else lines)
