"""What the table tells its readers beside the records, compared with the records: schema, row counts, statistics.

No digest covers any of it, and other readers trust it: a smallest value that is wrong makes them skip rows that are there. Our own
files carry no statistics; those of older versions and of other tools do.

Scope: none; storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slateproof.audit.datafiles import PREFIX, DataFile
from slateproof.audit.errors import LogUnreadable, said
from slateproof.audit.files import Folder
from slateproof.audit.schema import schema_of

__all__ = ["has_page_index", "table_problems", "wrong_claims"]


class _Facts(NamedTuple):
    """What stands in one column of some rows: absent values as Parquet and as people count them, smallest and largest value."""

    rows: int
    nulls: int
    absent: int
    low: Any
    high: Any


def table_problems(table: Any, version: int) -> Iterator[str]:
    """What a Delta ``table`` says of itself and a log of schema ``version`` does not: columns, partitions, reader features."""
    told, wanted = pa.schema(table.schema()), schema_of(version)
    if told.names != wanted.names:
        other = ", ".join(sorted(set(told.names) ^ set(wanted.names))) or "their order"
        yield f"the columns of the table are not those of version {version}: {other}"
    elif wrong := [field.name for field, right in zip(told, wanted, strict=True) if field.type != right.type or not field.nullable]:
        yield f"the table gives other types for {', '.join(wrong)}"
    if parts := table.metadata().partition_columns:
        yield f"the table is partitioned by {', '.join(parts)}"
    protocol = table.protocol()
    if protocol.min_reader_version > 1 or protocol.reader_features:
        yield f"the table asks readers for features that a log does not use (reader version {protocol.min_reader_version})"


def wrong_claims(folder: Folder, file: DataFile) -> Iterator[str]:
    """Where the entry of a file, or the footer of the file itself, says otherwise than its rows; refuses a file that is damaged."""
    try:
        with folder.input(file.path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as parquet:
            facts = _whole(_by_group(parquet, "index"))
            found = (facts.rows, facts.low, facts.high)
            if found != (file.rows, file.first, file.last):
                yield f"{file.path}: is entered with {file.rows} records, {file.first} to {file.last}, and holds {found}"
            if file.path.startswith(PREFIX) and not _is_tiled(parquet.metadata, folder.size(file.path)):
                yield f"{file.path}: has an index or something else beside its columns, which no digest covers"
            yield from (f"{file.path}: {message}" for message in _wrong_footer(parquet))
            yield from (f"{file.path}: {message}" for message in _wrong_entry(parquet, file.claims))
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as why:
        raise LogUnreadable(f"{file.path}: cannot be read ({said(why)})") from why


def has_page_index(folder: Folder, file: DataFile) -> bool:
    """Whether another tool wrote indexes of pages, which cannot be compared with anything here."""
    try:
        with folder.input(file.path) as stream, pq.ParquetFile(stream) as parquet:
            metadata = parquet.metadata
            return any(
                _chunk(metadata, 0, place).has_column_index for place in range(metadata.num_columns if metadata.num_rows else 0)
            )
    except (OSError, pa.ArrowException, ValueError):
        return False


def _chunk(metadata: Any, group: int, place: int) -> Any:
    return metadata.row_group(group).column(place)


def _is_tiled(metadata: Any, size: int) -> bool:
    """Whether columns fill the file between its magic bytes and its footer: then there is no room for filters and indexes."""
    place = 4
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = _chunk(metadata, group, number)
            starts = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if chunk.has_dictionary_page else [])]
            if min(starts) != place or chunk.has_column_index or chunk.has_offset_index:
                return False
            place += chunk.total_compressed_size
        if metadata.row_group(group).sorting_columns:
            return False
    return place == size - 8 - metadata.serialized_size


def _wrong_footer(parquet: Any) -> Iterator[str]:
    """Statistics of row groups that are not those of their rows; one message per column."""
    metadata = parquet.metadata
    for place in range(metadata.num_columns):
        groups = [group for group in range(metadata.num_row_groups) if _chunk(metadata, group, place).is_stats_set]
        path = metadata.schema.column(place).path
        for group in groups:
            if not _fits(_chunk(metadata, group, place).statistics, _facts(parquet.read_row_group(group, columns=[path]))):
                yield f"the statistics of {path} are not those of its values"
                break


def _fits(stats: Any, facts: _Facts) -> bool:
    if stats.has_null_count and stats.null_count != facts.nulls:
        return False
    if stats.has_distinct_count:
        return False
    return not stats.has_min_max or _bounds(stats.min, stats.max, facts)


def _bounds(low: Any, high: Any, facts: _Facts) -> bool:
    """Whether these are the smallest and the largest value; a long text may be cut, down below and up above."""
    if facts.low is None or type(low) is not type(facts.low) or type(high) is not type(facts.high):
        return False
    if not isinstance(low, (str, bytes)):
        return bool(low == facts.low and high == facts.high)
    above = high == facts.high or (high > facts.high and facts.high.startswith(high[:-1]))
    return above and (low == facts.low or (len(low) >= _CUT and facts.low.startswith(low)))


_CUT = 32
"""Texts of fewer characters are not cut in statistics."""


def _wrong_entry(parquet: Any, claims: Any) -> Iterator[str]:
    """Statistics in the Delta log that are not those of the file."""
    names = {name.split(".", 1)[1] for name in claims if name.split(".", 1)[0] in ("min", "max", "null_count")}
    for name in sorted(names - {"index"}):
        if name not in parquet.schema_arrow.names:
            yield f"the Delta log has statistics of {name}, which is not there"
            continue
        facts = _whole(_by_group(parquet, name))
        nulls, low, high = (claims.get(f"{kind}.{name}") for kind in ("null_count", "min", "max"))
        wrong = nulls is not None and nulls not in (facts.nulls, facts.absent)
        if low is not None or high is not None:
            wrong = wrong or low is None or high is None or not _bounds(low, high, facts)
        if wrong:
            yield f"the Delta log has other statistics of {name} than its values"
    if unknown := sorted(name for name in claims if name.split(".", 1)[0] not in _KNOWN):
        yield f"the Delta log says more of it than a log does: {', '.join(unknown)}"


_KNOWN = ("path", "size_bytes", "modification_time", "data_change", "num_records", "null_count", "min", "max", "tags")


def _by_group(parquet: Any, name: str) -> Iterator[_Facts]:
    for group in range(parquet.num_row_groups):
        yield _facts(parquet.read_row_group(group, columns=[name]))


def _facts(table: pa.Table) -> _Facts:
    """The facts of the one column of a table."""
    column = table.column(0)
    rows, absent, levels = len(column), column.null_count, len(column)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        # To Parquet, an absent or an empty list is one absent value.
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        levels, column = int(np.maximum(lengths, 1).sum()), pc.list_flatten(column)
    nulls = levels - (len(column) - column.null_count)
    if pa.types.is_floating(column.type):
        column = column.filter(pc.invert(pc.fill_null(pc.is_nan(column), False)))
    found = pc.min_max(column).as_py() if not pa.types.is_nested(column.type) else {"min": None, "max": None}
    return _Facts(rows, nulls, absent, found["min"], found["max"])


def _whole(parts: Iterator[_Facts]) -> _Facts:
    """The facts of several row groups together."""
    listed = list(parts)
    lows, highs = [part.low for part in listed if part.low is not None], [part.high for part in listed if part.high is not None]
    rows, nulls, absent = (sum(getattr(part, name) for part in listed) for name in ("rows", "nulls", "absent"))
    return _Facts(rows, nulls, absent, min(lows, default=None), max(highs, default=None))
