"""From a corpus and scores to what a selector takes: a ``Catalog``, and one ``Pool`` per session.

Scope: conditional; item facts computed from protected responses are conditioned inputs, and scores are what their scorer is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Scores
from slateproof.types import Catalog, Pool

__all__ = ["catalog_of", "codes_of", "pools_of"]


def catalog_of(corpus: Corpus, vectors: Any = None) -> Catalog:
    """The corpus' items: targets are the difficulties; similarities come from ``vectors`` (unit rows in code order), by default the
    corpus' own, or from tags where there are none.

    Corpus ids are in catalogue order already, so row i of the catalogue is item code i.
    """
    items = corpus.items
    ids = items.ids.tolist()
    vectors = items.vectors if vectors is None else vectors
    sets = np.split(items.tag_codes, items.tag_starts[1:-1])
    tags = [one.tolist() for one in sets] if vectors is None and items.tag_names else None
    return Catalog(ids, items.difficulty, vectors=vectors, tags=tags)


def codes_of(corpus: Corpus, ids: Any) -> Any:
    """Item codes (int64) of item ids, text or whole numbers as in the corpus; refuses an id that the corpus does not have."""
    table, asked = corpus.items.ids, np.asarray(ids)
    if asked.size and asked.dtype.kind not in ("U" if table.dtype.kind == "U" else "i"):
        asked = _of_kind(asked, table)
    codes = np.minimum(np.searchsorted(table, asked), table.size - 1).astype(np.int64)
    wrong = table[codes] != asked
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InvalidInput("ids", "is not in the corpus", asked.flat[place].item(), where=place)
    return codes


def _of_kind(asked: Any, table: Any) -> Any:
    """Ids of another column type (objects, unsigned) in the corpus' own, or a refusal of the first that is none."""
    kind, name = (str, "text") if table.dtype.kind == "U" else (int, "whole numbers")
    plain: list[Any] = asked.ravel().tolist()
    for place, one in enumerate(plain):
        if one is None:
            raise InvalidInput("ids", "must not hold a null", where=place)
        if type(one) is not kind:
            raise InvalidInput("ids", f"of this corpus are {name}", one, where=place)
        if isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise InvalidInput("ids", "is not in the corpus", one, where=place)
    return np.array(plain, np.str_ if kind is str else np.int64).reshape(asked.shape)


def pools_of(catalog: Catalog, items: Any, scores: Scores) -> list[Pool]:
    """One pool per session: row s of ``items`` (item codes, so catalogue rows) with its scores and widths."""
    widths = [None] * len(items) if scores.widths is None else list(scores.widths)
    listed = [[catalog.ids[code] for code in row] for row in np.asarray(items).tolist()]
    return [catalog.pool(ids, mu, sigma) for ids, mu, sigma in zip(listed, scores.scores, widths, strict=True)]
