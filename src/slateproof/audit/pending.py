"""What waits for the next commit: slates one by one or as spans of a batch, with their labels, and what of them becomes rows.

Scope: conditional; a record inherits the privacy status of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from slateproof.audit.batchrows import Span, rows_of_span
from slateproof.audit.datafiles import ROWS
from slateproof.audit.rows import Entry, asks_nothing, bytes_of, rows_of
from slateproof.errors import InvalidInput
from slateproof.types import Catalog, Pool, Slate
from slateproof.types.poolbatch import PoolBatch

__all__ = [
    "MarginAndRadius",
    "Waiting",
    "catalogs_of",
    "check_kept",
    "check_slate",
    "entry_of",
    "labels_of",
    "row_batches",
    "waiting_bytes",
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


def waiting_bytes(item: Waiting) -> int:
    """About how much memory something that waits keeps alive."""
    if isinstance(item, Entry):
        return bytes_of(item.slate)
    offsets = item.slates.pools.offsets
    return 2048 * len(item) + 64 * int(offsets[item.last] - offsets[item.first])


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
        entries: list[Any] = list(group)
        for first in range(0, len(entries), ROWS):
            yield rows_of(entries[first : first + ROWS], context)


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
