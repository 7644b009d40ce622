"""A corpus: who answered or rated what, in columns, with the facts about the items."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np

from slateproof.corpora.columns import Bools, Codes, Floats, Ids, Ints, frozen
from slateproof.corpora.description import Description, describe
from slateproof.corpora.split import SEED, Split, split_users
from slateproof.errors import InvalidInput

__all__ = ["FIRST_TAG", "Corpus", "Filter", "Items"]

FIRST_TAG = "the item's first tag, as listed"


@dataclass(frozen=True, slots=True)
class Filter:
    """One rule that rows (or ``unit``) had to pass: what it asks, and how many there were before and after.

    Scope: none.
    """

    name: str
    before: int
    after: int
    unit: str = "rows"

    def to_text(self) -> str:
        """One line, with the rows it took away."""
        return f"{self.name}: {self.before:,} -> {self.after:,} {self.unit} ({self.before - self.after:,} left out)"

    def to_dict(self) -> dict[str, str | int]:
        """The same, for JSON."""
        return {"name": self.name, "before": self.before, "after": self.after, "unit": self.unit}


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The item catalogue, in code order: ids, ``difficulty`` d(i) in [0, 1], ``count`` of interactions, and tags.

    The tags of item i are ``tag_names[t]`` for t in ``tag_codes[tag_starts[i]:tag_starts[i + 1]]``, sorted and without repeats;
    ``skill[i]`` is the one of them (its t) that knowledge tracing takes for what the item exercises, or -1 where it has none.
    ``vectors`` are rows of unit length (I, W) that say which items are alike, or None.

    Scope: none.
    """

    ids: Ids
    difficulty: Floats
    count: Ints
    tag_starts: Ints
    tag_codes: Codes
    tag_names: tuple[str, ...]
    skill: Codes
    vectors: Floats | None = None

    def __post_init__(self) -> None:
        for column in (self.ids, self.difficulty, self.count, self.tag_starts, self.tag_codes, self.skill):
            frozen(column)
        if self.vectors is not None:
            frozen(self.vectors)

    def __len__(self) -> int:
        return int(self.ids.size)

    def tags(self, code: int) -> tuple[str, ...]:
        """The tags of the item with this code."""
        return tuple(self.tag_names[t] for t in self.tag_codes[self.tag_starts[code] : self.tag_starts[code + 1]])

    def tag_vectors(self) -> Floats:
        """Items x tags: rows of unit length, equal over the item's tags; a row of zeros where an item has none."""
        out = np.zeros((len(self), len(self.tag_names)))
        per_item = np.diff(self.tag_starts)
        rows = np.repeat(np.arange(len(self)), per_item)
        out[rows, self.tag_codes] = 1.0 / np.sqrt(per_item[rows])
        return out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Corpus:
    """Interactions as columns, sorted by user, then time, then the order of the file; and the item catalogue.

    ``user`` and ``item`` are codes into ``user_ids`` and ``items.ids``; ``response`` is the value as published (a score, a
    rating, 0 or 1); ``positive`` is that response as yes or no (a correct answer, a liked item); ``time`` is the
    publisher's clock, or None. ``filters`` names every rule that rows had to pass, ``bad_rows`` counts malformed rows that
    were left out because ``max_bad_rows`` allowed it. ``synthetic`` corpora say so in every description. ``skill_rule`` says how
    ``items.skill`` was chosen; ``notes`` say what else the loader found, in sentences. ``digest`` is the SHA-256 over the exact
    bytes of every column, the ids, the tags, the vectors, the name and the synthetic flag. Which tag is the skill is no part of it:
    a model that uses skills keeps them in its file.

    Scope: none; data carries no claim.
    """

    name: str
    user: Codes
    item: Codes
    response: Floats
    positive: Bools
    time: Ints | Floats | None
    user_ids: Ids
    items: Items
    filters: tuple[Filter, ...]
    difficulty_rule: str
    positive_rule: str
    licence: str
    bad_rows: int = 0
    synthetic: bool = False
    skill_rule: str = FIRST_TAG
    notes: tuple[str, ...] = ()
    digest: str = field(init=False)
    user_starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        if self.user.size == 0:
            raise InvalidInput("rows", f"{self.name} must keep at least one interaction", 0)
        starts = np.zeros(self.user_ids.size + 1, np.int64)
        np.cumsum(np.bincount(self.user, minlength=self.user_ids.size), out=starts[1:])
        object.__setattr__(self, "user_starts", starts)
        for column in (self.user, self.item, self.response, self.positive, self.user_ids, self.user_starts):
            frozen(column)
        if self.time is not None:
            frozen(self.time)
        object.__setattr__(self, "digest", _digest(self))

    @property
    def label(self) -> str:
        """The name, with the word synthetic where the responses are simulated."""
        return f"{self.name} (synthetic)" if self.synthetic else self.name

    @property
    def users(self) -> int:
        """How many users have an interaction."""
        return int(self.user_ids.size)

    @property
    def order(self) -> Codes:
        """Place of each interaction in its user's sequence, from 0."""
        return (np.arange(len(self)) - self.user_starts[self.user]).astype(np.int32)

    @property
    def density(self) -> float:
        """Interactions per thousand possible user-item pairs, as in the paper's corpus table."""
        return 1000.0 * len(self) / (self.users * len(self.items))

    @property
    def per_user(self) -> float:
        """Mean number of interactions of a user."""
        return len(self) / self.users

    def split(self, seed: int = SEED) -> Split:
        """Train, validation and test users: 80/20, then 90/10 of the 80, by user."""
        return split_users(self.user, self.users, seed)

    def describe(self) -> Description:
        """Counts, rules, filters and digest, to print or to put into a manifest."""
        return describe(self)

    def __len__(self) -> int:
        return int(self.user.size)

    def __repr__(self) -> str:
        return f"Corpus({self.label!r}, {len(self):,} interactions, {self.users:,} users, {len(self.items):,} items)"


def _digest(corpus: Corpus) -> str:
    """SHA-256 over a JSON header (shapes, types, texts) and then each column's little-endian bytes, in a fixed order."""
    items = corpus.items
    columns = {
        "user": corpus.user,
        "item": corpus.item,
        "response": corpus.response,
        "positive": corpus.positive,
        "time": corpus.time,
        "difficulty": items.difficulty,
        "tag_starts": items.tag_starts,
        "tag_codes": items.tag_codes,
        "vectors": items.vectors,
    }
    present = {name: np.ascontiguousarray(column) for name, column in columns.items() if column is not None}
    header = {
        "corpus": 1,
        "name": corpus.name,
        "synthetic": corpus.synthetic,
        "columns": {name: [column.dtype.newbyteorder("<").str, *column.shape] for name, column in present.items()},
        "user_ids": corpus.user_ids.tolist(),
        "item_ids": items.ids.tolist(),
        "tags": list(items.tag_names),
    }
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode())
    for column in present.values():
        digest.update(column.astype(column.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()
