"""MovieLens, from GroupLens' own files: ``ratings.csv`` (20M, 25M, 32M, latest) or ``ratings.dat`` (1M, 10M).

Scope: none.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_threshold
from slateproof.corpora.columns import encode
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.csvfile import read_csv
from slateproof.corpora.difficulty import DifficultyRule
from slateproof.corpora.fields import Field, Within
from slateproof.corpora.files import need_file, open_text

__all__ = ["LICENCE", "load_movielens"]

LICENCE = "GroupLens: research use, no redistribution, no commercial use without permission (Harper, Konstan 2015)"

_RATING = Within("must lie in [0.5, 5]", 0.5, 5.0)
_NO_GENRES = "(no genres listed)"


def load_movielens(
    folder: str | Path,
    *,
    name: str = "movielens",
    like_at: float = 4.0,
    difficulty: DifficultyRule = "success",
    min_user: int = 1,
    min_item: int = 1,
    max_bad_rows: int = 0,
) -> Corpus:
    """The ratings of ``folder``, and the genres of ``movies.csv`` or ``movies.dat`` as tags.

    ``response`` is the rating (0.5 to 5), ``positive`` is rating >= ``like_at``, ``time`` is in seconds. A movie that nobody
    rated is not in the catalogue; one that the file of movies does not list is kept without genres, and counted in a note.
    """
    folder = Path(folder)
    bad = BadRows(max_bad_rows)
    like_at = check_threshold(like_at, "like_at")
    dat = not (folder / "ratings.csv").exists() and (folder / "ratings.dat").exists()
    table = _ratings_dat(folder / "ratings.dat", bad) if dat else _ratings_csv(folder / "ratings.csv", bad)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table  # each column is let go as soon as it is coded: 25 million rows fit in half the memory
    rating, time = columns.pop("rating").to_numpy(), columns.pop("time").to_numpy()
    return build(
        Raw.of(encode(columns.pop("user")), encode(columns.pop("item")), rating, rating >= like_at, time),
        name=name,
        licence=LICENCE,
        difficulty_rule=difficulty,
        positive_rule=f"rating >= {like_at:g}",
        min_user=min_user,
        min_item=min_item,
        tags=_genres_dat(folder / "movies.dat", bad) if dat else _genres_csv(folder / "movies.csv", bad),
        tag_source="movies.dat" if dat else "movies.csv",
        bad_rows=bad.count,
    )


def _ratings_csv(path: Path, bad: BadRows) -> pa.Table:
    fields = {
        "user": Field("userId", "int"),
        "item": Field("movieId", "int"),
        "rating": Field("rating", "float", within=_RATING),
        "time": Field("timestamp", "int"),
    }
    return read_csv(path, fields, bad)


def _ratings_dat(path: Path, bad: BadRows) -> pa.Table:
    """``user::movie::rating::time``: read with one colon as the delimiter; the cells between two colons must be empty."""
    fields = {
        "user": Field("user", "int"),
        "item": Field("movie", "int"),
        "rating": Field("rating", "float", within=_RATING),
        "time": Field("time", "int"),
        **{gap: Field(gap, "blank") for gap in ("gap1", "gap2", "gap3")},
    }
    header = ("user", "gap1", "movie", "gap2", "rating", "gap3", "time")
    return read_csv(path, fields, bad, header=header, delimiter=":")


def _genres_csv(path: Path, bad: BadRows) -> dict[int, list[str]]:
    table = read_csv(path, {"item": Field("movieId", "int"), "genres": Field("genres", "text", ("",))}, bad)
    return {item: _split(genres) for item, genres in zip(table["item"].to_pylist(), table["genres"].to_pylist(), strict=True)}


def _genres_dat(path: Path, bad: BadRows) -> dict[int, list[str]]:
    """``movie::title::genres`` in Latin-1, as the 1M set is (titles hold colons, so it is split at the outer pairs)."""
    out: dict[int, list[str]] = {}
    with open_text(need_file(path), "latin-1") as text:
        for number, line in enumerate(text, 1):
            item, _, rest = line.rstrip("\r\n").partition("::")
            _, pair, genres = rest.rpartition("::")
            if not pair or not item.isdecimal():
                bad.add("row", "must be movie::title::genres", line.rstrip(), path.name, number)
                continue
            out[int(item)] = _split(genres)
    return out


def _split(genres: str | None) -> list[str]:
    return [] if genres in (None, "", _NO_GENRES) else str(genres).split("|")
