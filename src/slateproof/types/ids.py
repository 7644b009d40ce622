"""Item ids: integers or strings, in one total order (integers before strings; strings by code point).

Scope: none; naming only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slateproof.errors import InvalidInput

__all__ = ["ItemId", "as_ids", "rank_ids", "sort_key"]

ItemId: TypeAlias = int | str

_INT64 = range(-(2**63), 2**63)


def sort_key(item: ItemId) -> tuple[bool, ItemId]:
    """Key of the total order of ids: ``False < True`` puts integers first; Python compares strings by code point."""
    return (isinstance(item, str), item)


def as_ids(ids: Iterable[Any], *, field: str = "ids") -> tuple[ItemId, ...]:
    """The ids as a tuple of plain ``int`` (64 bit) and ``str``.

    Takes any iterable, NumPy and Arrow arrays included. Refuses every other type, booleans and floats among them, because
    ``1``, ``True`` and ``1.0`` would be one key with three meanings. Does not look for duplicates.
    """
    if isinstance(ids, (str, bytes)):
        raise InvalidInput(field, "must be a sequence of ids, not one string", ids)
    listed = _as_list(ids, field)
    kinds = set(map(type, listed))
    if kinds <= {str}:
        if not "".join(listed).isascii():
            for place, item in enumerate(listed):
                _check_text(item, field, place)
        return tuple(listed)
    if kinds == {int} and min(listed) in _INT64 and max(listed) in _INT64:
        return tuple(listed)
    return tuple(_as_id(value, field, place) for place, value in enumerate(listed))


def _as_list(ids: Any, field: str) -> list[Any]:
    to_list = getattr(ids, "tolist" if isinstance(ids, np.ndarray) else "to_pylist", None)
    listed = ids if to_list is None else to_list()
    if not isinstance(listed, Iterable):
        raise InvalidInput(field, "must be a sequence of ids", type(ids).__name__)
    return list(listed)


def _check_text(item: str, field: str, place: int) -> None:
    """Refuse text that has no UTF-8 form: half a surrogate pair can be neither written nor hashed."""
    try:
        item.encode()
    except UnicodeEncodeError as why:
        raise InvalidInput(field, "an id must be text that UTF-8 can hold", item, where=place) from why


def _as_id(value: Any, field: str, place: int) -> ItemId:
    if isinstance(value, str):
        _check_text(value, field, place)
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        plain = int(value)
        if plain in _INT64:
            return plain
        raise InvalidInput(field, "an integer id must fit in 64 bits", plain, where=place)
    raise InvalidInput(field, "an id must be an integer or a string", value, where=place)


def rank_ids(ids: Sequence[ItemId], *, field: str = "ids") -> NDArray[np.int64]:
    """Rank of every id in the total order, ``0`` for the smallest. Refuses duplicates, naming the smallest one."""
    ordered = sorted(range(len(ids)), key=_key_of(ids))
    for before, after in pairwise(ordered):
        if ids[before] == ids[after]:
            raise InvalidInput(field, "must not repeat an id", ids[after], where=max(before, after))
    rank = np.empty(len(ids), np.int64)
    rank[ordered] = np.arange(len(ids))
    return rank


def _key_of(ids: Sequence[ItemId]) -> Any:
    """A sort key over positions; mixed types need the pair, one type alone is compared as it is (and much faster)."""
    if len(set(map(type, ids))) > 1:
        return lambda place: sort_key(ids[place])
    return ids.__getitem__
