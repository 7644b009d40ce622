"""Amazon reviews, from the publishers' own files: a ratings CSV without a header, or review JSON lines, plain or .gz.

Scope: none.
"""

from __future__ import annotations

from pathlib import Path

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_threshold
from slateproof.corpora.columns import encode
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.csvfile import read_csv
from slateproof.corpora.difficulty import DifficultyRule
from slateproof.corpora.fields import Field, Within
from slateproof.corpora.jsonfile import read_json, sample
from slateproof.errors import InvalidInput

__all__ = ["LICENCE", "load_amazon"]

LICENCE = "Amazon review data: research use (McAuley, Targett, Shi, van den Hengel 2015)"

_ORDER = ("user", "item", "rating", "time")
"""The columns of the 2014 release; that of 2018 has the item first."""

_NAMES = {
    "reviewerID": ("reviewerID", "asin", "overall", "unixReviewTime"),  # the 2014 and 2018 releases
    "user_id": ("user_id", "parent_asin", "rating", "timestamp"),  # the 2023 release
}


def load_amazon(
    path: str | Path,
    *,
    name: str = "amazon",
    columns: str = ",".join(_ORDER),
    meta: str | Path | None = None,
    like_at: float = 4.0,
    difficulty: DifficultyRule = "success",
    min_user: int = 1,
    min_item: int = 1,
    max_bad_rows: int = 0,
) -> Corpus:
    """One file: ratings without a header (.csv, in the order ``columns``) or a review per line (.json, .jsonl), each also as .gz.

    ``response`` is the rating (1 to 5), ``positive`` is rating >= ``like_at``, ``time`` the publisher's clock. ``meta``
    names a CSV with the columns ``Product ID`` and ``Category``: the category is an item's one tag, and its skill. By default that
    is ``meta_X.csv`` beside ``ratings_X.csv`` or ``reviews_X.json``, where there is one; without it no item has a tag.
    """
    path = Path(path)
    meta = _meta_of(path) if meta is None else Path(meta)
    bad = BadRows(max_bad_rows)
    like_at = check_threshold(like_at, "like_at")
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind == ".csv":
        table = read_csv(path, _fields(_ORDER), bad, header=_columns(columns))
    elif kind in (".json", ".jsonl"):
        table = read_json(path, _fields(_publisher(path)), bad)
    else:
        raise InvalidInput("file", "must end in .csv, .json or .jsonl, or one of these and .gz", path.name)
    rating = table["rating"].to_numpy()
    raw = Raw.of(encode(table["user"]), encode(table["item"]), rating, rating >= like_at, table["time"].to_numpy())
    return build(
        raw,
        name=name,
        licence=LICENCE,
        difficulty_rule=difficulty,
        positive_rule=f"rating >= {like_at:g}",
        min_user=min_user,
        min_item=min_item,
        tags=None if meta is None else _categories(meta, bad),
        tag_source="" if meta is None else meta.name,
        skill_rule="the category of the product",
        bad_rows=bad.count,
    )


def _fields(names: tuple[str, ...]) -> dict[str, Field]:
    user, item, rating, time = names
    return {
        "user": Field(user, "text"),
        "item": Field(item, "text"),
        "rating": Field(rating, "float", within=Within("must lie in [0, 5]", 0.0, 5.0)),
        "time": Field(time, "int"),
    }


def _columns(order: str) -> tuple[str, ...]:
    """The columns of a ratings file, from the left."""
    names = tuple(name.strip() for name in order.split(","))
    if sorted(names) != sorted(_ORDER):
        raise InvalidInput("columns", f"must name {', '.join(_ORDER)} once each, in the order of the file", order)
    return names


def _meta_of(path: Path) -> Path | None:
    """The metadata beside a file of ratings or reviews, where there is some."""
    about = path.name.partition(".")[0].removeprefix("ratings_").removeprefix("reviews_")
    meta = path.with_name(f"meta_{about}.csv")
    return meta if meta.exists() else None


def _categories(path: Path, bad: BadRows) -> dict[str, list[str]]:
    table = read_csv(path, {"item": Field("Product ID", "text"), "tag": Field("Category", "text", ("",))}, bad)
    return {
        item: [] if tag is None else [tag] for item, tag in zip(table["item"].to_pylist(), table["tag"].to_pylist(), strict=True)
    }


def _publisher(path: Path) -> tuple[str, ...]:
    seen = sample(path, ())
    for key, names in _NAMES.items():
        if key in seen:
            return names
    raise InvalidInput("reviewerID", "the column is missing", sorted(seen), where=path.name)
