"""Any table of interactions, by a column mapping: CSV, Parquet or JSON lines.

Scope: none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_threshold
from slateproof.corpora.columns import Floats, encode
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.csvfile import read_csv
from slateproof.corpora.difficulty import DifficultyRule
from slateproof.corpora.fields import Field, Kind, Within
from slateproof.corpora.jsonfile import read_json
from slateproof.corpora.parquetfile import read_parquet
from slateproof.corpora.vectors import item_vectors
from slateproof.errors import InvalidInput

__all__ = ["load_table"]

SKILL_RULE = "the tag that most of the item's rows name first"


def load_table(
    path: str | Path,
    *,
    user: str,
    item: str,
    response: str,
    time: str | None = None,
    tags: str | None = None,
    tag_separator: str = "|",
    difficulty_column: str | None = None,
    vectors: str | None = None,
    positive_at: float | None = None,
    name: str | None = None,
    licence: str = "not stated",
    difficulty: DifficultyRule = "success",
    min_user: int = 1,
    min_item: int = 1,
    max_bad_rows: int = 0,
) -> Corpus:
    """The rows of one file; ``user``, ``item``, ``response`` and the optional names say which column is which.

    ``response`` holds numbers, or true/false. It counts as positive at ``positive_at`` and above; without ``positive_at`` every
    response must be 0 or 1. ``time`` holds numbers or ISO 8601 times (kept as microseconds); rows of one user are put into time
    order, or stay in file order without it. ``tags`` holds texts split at ``tag_separator``; an item has all tags of its rows.
    Its skill is the tag that most of its rows name first (of equally many the one that sorts first).
    ``difficulty_column`` gives d(i) in [0, 1] and must be the same in all rows of an item; without it d follows ``difficulty``.
    ``vectors`` gives each item a vector, the same in all its rows, which is scaled to unit length: a list of
    numbers in Parquet and JSON, numbers between spaces, commas or semicolons in CSV.
    A CSV id column becomes integers when every id is spelled like one, and stays text otherwise.
    """
    path = Path(path)
    bad = BadRows(max_bad_rows)
    positive_at = None if positive_at is None else check_threshold(positive_at, "positive_at")
    wanted: dict[str, tuple[str | None, Kind]] = {
        "user": (user, "text"),
        "item": (item, "text"),
        "response": (response, "flag"),
        "time": (time, "time"),
        "tags": (tags, "text"),
        "difficulty": (difficulty_column, "float"),
        "vectors": (vectors, "vector"),
    }
    lawful = _lawful(positive_at, difficulty_column, difficulty)
    fields = {
        ours: Field(column, kind, ("",) if ours == "tags" else (), lawful.get(ours))
        for ours, (column, kind) in wanted.items()
        if column
    }
    names = [field.name for field in fields.values()]
    if len(set(names)) < len(names):
        raise InvalidInput("columns", "each role needs a column of its own", names)
    kind = Path(path.name.removesuffix(".gz")).suffix
    table = _read(path, fields, bad, kind)
    responses = table["response"].to_numpy()
    positive_at, rule = (1.0, f"{response} = 1") if positive_at is None else (positive_at, f"{response} >= {positive_at:g}")
    narrow = kind in (".csv", ".tsv")
    raw = Raw.of(
        encode(table["user"], narrow=narrow),
        encode(table["item"], narrow=narrow),
        responses,
        responses >= positive_at,
        table["time"].to_numpy() if time else None,
    )
    tagged, skills = _tags(raw, table["tags"], tag_separator) if tags else ({}, {})
    return build(
        raw,
        name=name or path.name.removesuffix(".gz").removesuffix(kind),
        licence=licence,
        difficulty_rule="given" if difficulty_column else difficulty,
        positive_rule=rule,
        min_user=min_user,
        min_item=min_item,
        tags=tagged,
        skills=skills,
        skill_rule=SKILL_RULE,
        vectors=item_vectors(raw.item, raw.item_ids, table["vectors"], vectors) if vectors else None,
        given=_given(raw, table["difficulty"].to_numpy(), str(difficulty_column)) if difficulty_column else None,
        bad_rows=bad.count,
    )


def _read(path: Path, fields: Mapping[str, Field], bad: BadRows, kind: str) -> pa.Table:
    if kind in (".csv", ".tsv"):
        return read_csv(path, fields, bad, delimiter="\t" if kind == ".tsv" else ",")
    if kind in (".json", ".jsonl", ".ndjson"):
        return read_json(path, fields, bad)
    if kind == ".parquet":
        return read_parquet(path, fields, bad)
    raise InvalidInput("file", "must end in .csv, .tsv, .parquet, .json, .jsonl or .ndjson (text also with .gz)", path.name)


def _lawful(positive_at: float | None, difficulty_column: str | None, rule: str) -> dict[str, Within]:
    """What the numbers of a row must be, so that a row that breaks it is told by its place in the file."""
    out = {"difficulty": Within("must lie in [0, 1]", 0.0, 1.0)}
    if positive_at is None:
        out["response"] = Within("must be 0 or 1, unless positive_at says from where on it counts as positive", only=(0.0, 1.0))
    elif difficulty_column is None and rule == "score":
        out["response"] = Within("must lie in [0, 100] for the difficulty rule 'score'", 0.0, 100.0)
    return out


def _tags(raw: Raw, column: pa.ChunkedArray, separator: str) -> tuple[dict[Any, set[str]], dict[Any, str]]:
    """All tags of every item, and its skill."""
    codes, names = encode(column.cast(pa.string()).fill_null(""))
    pairs, rows = np.unique(raw.item.astype(np.int64) * len(names) + codes, return_counts=True)
    ids = raw.item_ids.tolist()
    out: dict[Any, set[str]] = {}
    votes: dict[Any, Counter[str]] = {}
    for pair, count in zip(pairs.tolist(), rows.tolist(), strict=True):
        item, text = divmod(pair, len(names))
        tags = [tag for tag in str(names[text]).split(separator) if tag]
        out.setdefault(ids[item], set()).update(tags)
        if tags:
            votes.setdefault(ids[item], Counter())[tags[0]] += count
    return out, {item: min(vote, key=lambda tag: (-vote[tag], tag)) for item, vote in votes.items()}


def _given(raw: Raw, column: Floats, name: str) -> dict[Any, float]:
    value = np.empty(raw.item_ids.size)
    value[raw.item] = column
    if (other := value[raw.item] != column).any():
        place = int(np.flatnonzero(other)[0])
        raise InvalidInput(
            name, "must be the same in all rows of an item", float(column[place]), where=raw.item_ids[raw.item[place]].item()
        )
    return dict(zip(raw.item_ids.tolist(), value.tolist(), strict=True))
