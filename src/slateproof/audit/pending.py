"""What waits for the next commit: slates one by one or as spans of a batch, with their labels, and what of them becomes rows.

Scope: conditional; a record inherits the privacy status of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from slateproof.audit.batchrows import Span, rows_of_span
from slateproof.audit.datafiles import BYTES, ROWS
from slateproof.audit.rows import Entry, asks_nothing, bytes_of, rows_of, source_bytes
from slateproof.errors import InvalidInput
from slateproof.types import Catalog, Pool, Slate
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.slatebatch import SlateBatch

__all__ = [
    "MarginAndRadius",
    "Waiting",
    "catalogs_of",
    "check_kept",
    "check_slate",
    "entry_of",
    "labels_of",
    "row_batches",
    "spans_of",
    "total_bytes",
]

Waiting: TypeAlias = Entry | Span


class MarginAndRadius(Protocol):
    """What the log takes from a certificate."""

    @property
    def margin(self) -> float:
        """Gamma, rounded down."""
        ...

    @property
    def radius(self) -> float:
        """The l-infinity radius, rounded down."""
        ...


def entry_of(slate: Slate, round_id: Any, subject: Any, certificate: MarginAndRadius | None, movement: float | None) -> Entry:
    """An entry; refuses what is no slate, and labels that are neither text nor integers."""
    check_slate(slate)
    certified = None if certificate is None else (float(certificate.margin), float(certificate.radius))
    moved = None if movement is None else float(movement)
    return Entry(slate, _label("round_id", round_id), _label("subject", subject), certified, moved)


def check_slate(slate: Any) -> None:
    """Refuse what is no slate."""
    if not isinstance(slate, Slate):
        raise InvalidInput("slate", "must be a Slate", type(slate).__name__)


def total_bytes(items: Iterable[Waiting], seen: set[int]) -> int:
    """About how much memory waiting items keep alive beside catalogues; sources ``seen`` are counted already, others join."""
    return sum(_entry_bytes(item, seen) if isinstance(item, Entry) else _span_bytes(item) for item in items)


def _entry_bytes(entry: Entry, seen: set[int]) -> int:
    pool = entry.slate.pool
    if pool.catalog is not None or id(pool.similarity) in seen:
        return bytes_of(entry.slate)
    seen.add(id(pool.similarity))
    return bytes_of(entry.slate) + source_bytes(pool.similarity)


def _span_bytes(span: Span) -> int:
    """The span's share of its batch, by candidates."""
    each, per_candidate = _weights(span.slates)
    offsets = span.slates.pools.offsets
    return each * len(span) + int(per_candidate * int(offsets[span.last] - offsets[span.first]))


def _weights(slates: SlateBatch) -> tuple[int, float]:
    """About how many bytes of a batch belong to a slate, and to a candidate; own sources have their rows per candidate."""
    pools, asked = slates.pools, slates.queried
    own = 0 if pools.catalog is not None else source_bytes(pools.source)
    own += 0 if pools.matrices is None else pools.matrices.flat.nbytes
    own += 0 if asked is None else sum(part.nbytes for part in asked.parts)
    return 2048, 64 + own / max(1, pools.scores.size)


def spans_of(slates: SlateBatch, rounds: Sequence[str | None], subjects: Sequence[str | None]) -> list[Span]:
    """A batch cut into spans of at most ``ROWS`` slates and about ``BYTES`` bytes."""
    each, per_candidate = _weights(slates)
    weight = np.arange(len(slates) + 1) * each + slates.pools.offsets * per_candidate
    out, first = [], 0
    while first < len(slates):
        reach = int(np.searchsorted(weight, weight[first] + BYTES, side="right")) - 1
        last = min(first + ROWS, len(slates), max(first + 1, reach))
        out.append(Span(slates, first, last, rounds[first:last], subjects[first:last]))
        first = last
    return out


def catalogs_of(items: Sequence[Waiting]) -> list[Catalog]:
    """The catalogues that waiting slates refer to, each once."""
    found = {id(pool.catalog): pool.catalog for pool in (_pools(item) for item in items)}
    return [catalog for catalog in found.values() if catalog is not None]


def _pools(item: Waiting) -> Pool | PoolBatch:
    return item.slates.pools if isinstance(item, Span) else item.slate.pool


def row_batches(items: Sequence[Waiting], context: Mapping[str, str | None]) -> Iterator[pa.RecordBatch]:
    """Rows of everything that waits, in order, a few thousand at a time."""
    for columnar, group in groupby(items, lambda item: isinstance(item, Span)):
        if columnar:
            for span in group:
                yield rows_of_span(span, context)  # type: ignore[arg-type]
            continue
        for entries in _handfuls(group):  # type: ignore[arg-type]
            yield rows_of(entries, context)


def _handfuls(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """At most ``ROWS`` entries, and about ``BYTES`` bytes, at a time: a row repeats the source that others share."""
    taken: list[Entry] = []
    size = 0
    for entry in entries:
        more = _entry_bytes(entry, set())
        if taken and (len(taken) == ROWS or size + more > BYTES):
            yield taken
            taken, size = [], 0
        taken.append(entry)
        size += more
    if taken:
        yield taken


def _label(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InvalidInput(field, "must be a string or an integer", value)
    text = str(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as why:
            raise InvalidInput(field, f"must be text that UTF-8 can hold ({why.reason})", ascii(text)) from why
    return text


def labels_of(field: str, values: Iterable[Any] | None, size: int) -> list[str | None]:
    """One label per slate, as text; None for all where none are given."""
    if values is None:
        return [None] * size
    listed = list(values)
    if len(listed) != size:
        raise InvalidInput(field, f"must have one label per slate ({size})", len(listed))
    return [_label(field, value) for value in listed]


def check_kept(item: Waiting) -> None:
    """Refuse slates whose similarities are neither kept nor to be computed again; a monitor log commits to them as well."""
    if isinstance(item, Span):
        slates = item.slates
        asked = slates.rule.kind != "top-k" and bool((slates.levers.diversity[item.first : item.last] != 0.0).any())
        kept = slates.queried is not None or not asked or (slates.pools.source.kind == "none" and slates.pools.matrices is None)
    else:
        slate = item.slate
        kept = getattr(slate.steps, "similarities", True) is not None or slate.pool.similarity.kind == "none"
        kept = kept or asks_nothing(slate.rule, slate.levers)
    if not kept and _pools(item).catalog is None:
        raise InvalidInput("slate", "its similarities were not kept; the log needs them, or a pool from a catalogue")
