"""One record, for people and for programs.

Scope: conditional; it shows what the record holds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.errors import LogUnreadable
from slateproof.audit.log import AuditLog
from slateproof.audit.records import Records
from slateproof.audit.replay import find_record
from slateproof.audit.schema import COLUMNS, FIELDS, REPLAY_NEEDS
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.errors import InvalidInput
from slateproof.types.ids import ItemId

__all__ = ["RecordView", "show"]


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as it is stored: ``fields`` by field and column, ids as ids; ``intact`` says whether its digest fits.

    Scope: conditional.
    """

    index: int
    leaf: bytes
    intact: bool
    withheld: tuple[str, ...]
    fields: dict[str, dict[str, Any]]
    slate: tuple[ItemId, ...]
    runners_up: tuple[ItemId | None, ...]
    explanation: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: a number that JSON cannot hold stands as a string."""
        return {
            "index": self.index,
            "leaf_hash": self.leaf.hex(),
            "intact": self.intact,
            "withheld": list(self.withheld),
            "slate": list(self.slate),
            "runners_up": list(self.runners_up),
            "fields": _plain(self.fields),
        }

    def to_text(self) -> str:
        """For people: the choice step by step, then the settings."""
        head = f"record {self.index}: {'digest fits' if self.intact else 'DAMAGED: its digest does not fit'}"
        lines = [head, f"leaf hash {self.leaf.hex()}", f"slate {json.dumps(list(self.slate), ensure_ascii=False)}"]
        for step, margin in enumerate(self.fields.get("slate", {}).get("margins") or [], 1):
            lines.append(f"  step {step}: {self._step(step)} margin {margin!r}")
        for field, values in self.fields.items():
            short = {name: value for name, value in values.items() if value is not None and not isinstance(value, list)}
            if short:
                lines.append(f"{field}: " + ", ".join(f"{name} {value!r}" for name, value in short.items()))
        if self.withheld:
            lines.append(f"withheld: {', '.join(self.withheld)}")
        return "\n".join([*lines, self.explanation]) if self.explanation else "\n".join(lines)

    def _step(self, step: int) -> str:
        chosen = self.slate[step - 1] if step <= len(self.slate) else None
        if len(self.runners_up) < step:
            return f"{chosen!r},"
        runner = self.runners_up[step - 1]
        return f"{chosen!r} before {'nothing else' if runner is None else repr(runner)},"


def show(log: AuditLog, index: int) -> RecordView:
    """Record ``index`` of ``log``: what is stored, whether its digest fits, and where its inputs are there, why it was chosen.

    Scope: conditional; it shows what the record holds.
    """
    log.check_index(index)
    shelf = CatalogShelf(log.store.folder)
    records, row = find_record(log.store, shelf, index)
    commitments, hidden = commitments_of(records.batch, log.store.secret, log.header.schema_version)
    withheld = tuple(field for place, field in enumerate(FIELDS) if hidden[place][row])
    leaf = records.value("leaf_hash", row)
    intact = leaves_in(records.batch, commitments)[row] == leaf
    fields: dict[str, dict[str, Any]] = {}
    for column in COLUMNS:
        if column.field not in withheld and column.since <= log.header.schema_version:
            fields.setdefault(column.field, {})[column.name] = records.value(column.name, row)
    slate = () if "slate" in withheld else _slate(records, row)
    runners = _runners(records, row, withheld)
    return RecordView(index, leaf, intact, withheld, fields, slate, runners, _explain(log, index, intact, withheld))


def _slate(records: Records, row: int) -> tuple[ItemId, ...]:
    """The ids of the slate; none where what the writer logged is no list of ids."""
    try:
        return records.ids("slate", row)
    except InvalidInput:
        return ()


def _runners(records: Records, row: int, withheld: tuple[str, ...]) -> tuple[ItemId | None, ...]:
    if {"steps", "candidates"} & set(withheld):
        return ()
    try:
        candidates = records.candidates(row)
    except (LogUnreadable, InvalidInput):
        return ()
    places = records.numbers("runners", row)
    return tuple(candidates[p] if 0 <= p < len(candidates) else None for p in ([] if places is None else places.tolist()))


def _explain(log: AuditLog, index: int, intact: bool, withheld: tuple[str, ...]) -> str:
    if not intact or set(withheld) & set(REPLAY_NEEDS):
        return ""
    try:
        return log.replay(index).explain().to_text()
    except (LogUnreadable, InvalidInput) as why:
        return f"cannot be selected again: {why}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
