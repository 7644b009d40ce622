"""Lists of ids as Arrow columns: integers in one, strings in another, and for mixed lists where the strings stand.

``<name>_int`` and ``<name>_str`` hold the integers and the strings in their order, null where there are none (an empty list is an
empty list of integers). ``<name>_at`` is null where all integers come before all strings, as they do in id order; otherwise it
holds the places of the strings. One list has one form, so the canonical digest is well defined.

Scope: none; an encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.ids import ItemId

MOST = 2**31 - 1
"""Values in one list column of a batch: its offsets are 32 bits wide. Batches are cut far below; one record may be above."""

__all__ = ["decode_ids", "encode_flat", "encode_ids", "list_array", "null_array"]


def list_array(values: Any, lengths: Any, kind: pa.DataType, present: Any = None) -> pa.Array:
    """A list column from flat values and lengths; null where ``present`` is given and false."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > MOST:
        raise InvalidInput("slate", f"must have at most {MOST} values in a column of one batch of records", int(offsets[-1]))
    offsets = offsets.astype(np.int32)
    mask = None if present is None else pa.array(~np.asarray(present, bool))
    flat = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=mask)


def null_array(kind: pa.DataType, size: int) -> pa.Array:
    """A column without a value."""
    return pa.nulls(size, kind)


def encode_ids(lists: Sequence[Sequence[ItemId]]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The columns (int, str, at) of many lists."""
    return encode_flat(list(chain.from_iterable(lists)), np.fromiter(map(len, lists), np.int64, len(lists)))


def encode_flat(flat: list[ItemId], lengths: Any) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The same from all ids in a row and the length of every list."""
    size = len(lengths)
    no_at = null_array(pa.list_(pa.int32()), size)
    kinds = set(map(type, flat))
    if kinds <= {int}:
        ints = list_array(pa.array(flat, pa.int64()), lengths, pa.int64())
        return ints, null_array(pa.list_(pa.string()), size), no_at
    if kinds == {str} and min(lengths) > 0:
        strings = list_array(pa.array(flat, pa.string()), lengths, pa.string())
        return null_array(pa.list_(pa.int64()), size), strings, no_at
    ends = np.cumsum(lengths).tolist()
    rows = [_split(flat[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
    ints, strings, at = zip(*rows, strict=True)
    return pa.array(ints, pa.list_(pa.int64())), pa.array(strings, pa.list_(pa.string())), pa.array(at, pa.list_(pa.int32()))


def _split(ids: Sequence[ItemId]) -> tuple[list[int] | None, list[str] | None, list[int] | None]:
    ints = [item for item in ids if isinstance(item, int)]
    strings = [item for item in ids if isinstance(item, str)]
    if not strings:
        return ints, None, None
    places = [place for place, item in enumerate(ids) if isinstance(item, str)]
    in_order = places[0] == len(ints)
    return (ints or None), strings, (None if in_order else places)


def decode_ids(ints: list[int] | None, strings: list[str] | None, at: list[int] | None) -> tuple[ItemId, ...]:
    """One list back from its three columns; refuses places that are not those of the strings in one list of all ids."""
    first, second = ints or [], strings or []
    if at is None:
        return (*first, *second)
    size = len(first) + len(second)
    if len(at) != len(second) or at != sorted(set(at)) or not all(0 <= place < size for place in at):
        raise InvalidInput("ids", f"must have {len(second)} rising places of strings among {size} ids", at[:10])
    out: list[ItemId | None] = [None] * size
    for place, item in zip(at, second, strict=True):
        out[place] = item
    rest = iter(first)
    return tuple([next(rest) if item is None else item for item in out])
