"""From raw columns to a corpus: minimum counts, compact codes, order, difficulty, tags, in that order.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slateproof.corpora.columns import Bools, Coded, Codes, Floats, Ids, Ints
from slateproof.corpora.corpus import FIRST_TAG, Corpus, Filter, Items
from slateproof.corpora.difficulty import difficulty
from slateproof.errors import InvalidInput

__all__ = ["Raw", "build", "check_count", "check_threshold"]

NO_TAGS = "every item is its own: there are no tags"


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """Rows as a loader read them, in file order: coded users and items, responses, yes or no, time or None.

    Scope: none.
    """

    user: Codes
    user_ids: Ids
    item: Codes
    item_ids: Ids
    response: Floats
    positive: Bools
    time: Ints | Floats | None = None
    filters: tuple[Filter, ...] = ()

    @classmethod
    def of(cls, users: Coded, items: Coded, response: Floats, positive: Bools, time: Ints | Floats | None = None) -> Raw:
        """Rows from ``encode`` results."""
        return cls(users[0], users[1], items[0], items[1], response, positive, time)

    def keep(self, mask: Bools, name: str) -> Raw:
        """The rows of the mask, with one more named filter."""
        done = (*self.filters, Filter(name, int(mask.size), int(mask.sum())))
        if mask.all():
            return replace(self, filters=done)
        return replace(
            self,
            user=self.user[mask],
            item=self.item[mask],
            response=self.response[mask],
            positive=self.positive[mask],
            time=None if self.time is None else self.time[mask],
            filters=done,
        )


def build(
    raw: Raw,
    *,
    name: str,
    licence: str,
    difficulty_rule: str,
    positive_rule: str,
    min_user: int = 1,
    min_item: int = 1,
    tags: Mapping[Any, Iterable[str]] | None = None,
    tag_source: str = "",
    skills: Mapping[Any, str] | None = None,
    skill_rule: str = FIRST_TAG,
    vectors: Floats | None = None,
    given: Mapping[Any, float] | None = None,
    bad_rows: int = 0,
    synthetic: bool = False,
) -> Corpus:
    """The corpus of ``raw``. Users and items without a row left are dropped from the tables.

    ``min_user`` and ``min_item`` are minimum numbers of rows, applied together until both hold. ``tags`` maps item ids to tag
    names, and ``skills`` to the tag that is the item's skill (default: the first one listed); items that ``tags`` does not
    name are counted in a note where ``tag_source``, a file, should list them all. ``given`` maps item ids to difficulties and
    replaces the rule; ``vectors`` are unit rows for ``raw.item_ids``.
    """
    raw = _minimum_counts(raw, check_count(min_user, "min_user"), check_count(min_item, "min_item"))
    if raw.user.size == 0:
        raise InvalidInput("rows", f"{name} must keep at least one interaction after its filters", 0)
    user, user_ids = _compact(raw.user, raw.user_ids)
    item, item_ids = _compact(raw.item, raw.item_ids)
    if vectors is not None:
        vectors = vectors[np.searchsorted(raw.item_ids, item_ids)]
    response, positive, time, filters = raw.response, raw.positive, raw.time, raw.filters
    del raw  # a corpus may fill a third of the memory: no column is held twice for longer than it takes to sort it
    order = _order(user, time)
    if order is not None:
        user, item, response, positive = user[order], item[order], response[order], positive[order]
        time = None if time is None else time[order]
        del order
    if given is None:
        hard = difficulty(difficulty_rule, item, response, positive, item_ids.size)
    else:
        hard = np.array([given[i] for i in item_ids.tolist()], np.float64)
    starts, codes, names, skill = _tags(item_ids, tags or {}, skills)
    items = Items(item_ids, hard, np.bincount(item, minlength=item_ids.size), starts, codes, names, skill, vectors)
    return Corpus(
        name, user, item, response, positive, time, user_ids, items, filters, difficulty_rule, positive_rule, licence, bad_rows,
        synthetic, skill_rule if names else NO_TAGS, _unlisted(item_ids, tags or {}, tag_source),
    )  # fmt: skip


def check_count(value: int, field_: str, low: int = 1) -> int:
    """``value`` as a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise InvalidInput(field_, f"must be a whole number, at least {low}", value)
    return int(value)


def check_threshold(value: float, field_: str) -> float:
    """``value`` as a finite number."""
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not np.isfinite(value)
    ):
        raise InvalidInput(field_, "must be a finite number", value)
    return float(value)


def _minimum_counts(raw: Raw, min_user: int, min_item: int) -> Raw:
    if min_user == 1 and min_item == 1:
        return raw
    mask = np.ones(raw.user.size, bool)
    kept = -1
    while kept != (kept := int(mask.sum())):  # dropping an item may take a user below the minimum, and the other way round
        mask &= np.bincount(raw.user[mask], minlength=raw.user_ids.size)[raw.user] >= min_user
        mask &= np.bincount(raw.item[mask], minlength=raw.item_ids.size)[raw.item] >= min_item
    return raw.keep(mask, f"at least {min_user} rows per user and {min_item} per item")


def _unlisted(ids: Ids, tags: Mapping[Any, Iterable[str]], source: str) -> tuple[str, ...]:
    absent = sum(i not in tags for i in ids.tolist()) if source else 0
    return (f"{absent:,} of {ids.size:,} items are not in {source}: kept, without tags",) if absent else ()


def _compact(codes: Codes, ids: Ids) -> Coded:
    """Codes and ids without those that no row uses."""
    used = np.bincount(codes, minlength=ids.size) > 0
    if used.all():
        return codes, ids
    return (np.cumsum(used, dtype=np.int32) - np.int32(1))[codes], ids[used]


def _order(user: Codes, time: Ints | Floats | None) -> Ints | None:
    """The order by user, then time, then row; None where the rows are in it already."""
    same = user[1:] == user[:-1]
    later = np.ones(same.size, bool) if time is None else time[1:] >= time[:-1]
    if ((user[1:] > user[:-1]) | (same & later)).all():
        return None
    if time is None:
        return np.argsort(user, kind="stable")
    if time.dtype == np.int64:  # one key sorts twice as fast as two, where it fits 63 bits
        low, high = int(time.min()), int(time.max())
        span = high - low + 1
        if span * (int(user.max()) + 1) < 2**63:
            key = user.astype(np.int64)
            key *= span
            key += time.astype(np.int64, copy=False)  # in place, for memory
            key -= low
            return np.argsort(key, kind="stable")
    return np.lexsort((time, user))


def _tags(
    ids: Ids, tags: Mapping[Any, Iterable[str]], skills: Mapping[Any, str] | None
) -> tuple[Ints, Codes, tuple[str, ...], Codes]:
    """CSR of the tags: starts, codes, names, sorted by code point; and the code of each item's skill, -1 where it has none."""
    listed = [list(tags.get(i, ())) for i in ids.tolist()]
    per_item = [sorted(set(row)) for row in listed]
    names = tuple(sorted({tag for row in per_item for tag in row}))
    code = {tag: c for c, tag in enumerate(names)}
    starts = np.zeros(ids.size + 1, np.int64)
    np.cumsum([len(row) for row in per_item], out=starts[1:])
    first = [row[0] if row else "" for row in listed] if skills is None else [skills.get(i, "") for i in ids.tolist()]
    skill = np.array([code.get(tag, -1) for tag in first], np.int32)
    return starts, np.array([code[tag] for row in per_item for tag in row], np.int32), names, skill
