"""Column types of a corpus, and ids turned into codes.

Scope: none; data in, data out.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Bools", "Coded", "Codes", "Floats", "Ids", "Ints", "encode", "frozen", "narrow_ids"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]
Ids: TypeAlias = NDArray[Any]
"""Ids in code order: int64, or fixed-width text."""

Coded: TypeAlias = tuple[Codes, Ids]

_CANONICAL_INT = r"^(0|-?[1-9][0-9]{0,17})$"


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, closed for writing."""
    array.flags.writeable = False
    return array


def narrow_ids(ids: pa.Array) -> pa.Array:
    """Text ids as int64 when every one of them is the usual spelling of a whole number; as they are otherwise.

    ``007`` is not the usual spelling of 7, so a column that holds it stays text and loses nothing.
    """
    if len(ids) and pc.all(pc.match_substring_regex(ids, _CANONICAL_INT)).as_py():
        return ids.cast(pa.int64())
    return ids


def encode(values: pa.ChunkedArray | pa.Array, *, narrow: bool = False) -> Coded:
    """Codes int32 and the sorted ids they stand for: integers by value, text by code point. Code i is the i-th smallest id.

    The codes depend on the set of ids alone, never on the order of the rows. With ``narrow``, see ``narrow_ids``.
    """
    encoded = values.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # combine_chunks of zero chunks
        return np.empty(0, np.int32), np.empty(0, np.int64)
    dictionary = narrow_ids(encoded.dictionary) if narrow else encoded.dictionary
    if pa.types.is_integer(dictionary.type):
        ids: Ids = dictionary.cast(pa.int64()).to_numpy()
    else:
        ids = np.array(dictionary.to_pylist(), dtype=np.str_)
    order = np.argsort(ids, kind="stable")
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place[encoded.indices.to_numpy()], ids[order]
