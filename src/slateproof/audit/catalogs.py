"""Catalogues beside the log: each one stored once, in a file named by its digest, and checked against it when read.

Scope: none; public item facts, or whatever status the policy declares for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slateproof.audit.errors import LogUnreadable, LogWriteFailed, said
from slateproof.audit.files import Folder
from slateproof.errors import InvalidInput
from slateproof.types import Catalog

__all__ = ["CatalogShelf"]

_FACTS = {"vectors": "vector", "matrix": "similarity", "tags": "tags"}


class CatalogShelf:
    """The catalogues of one log, by digest; what was read or written once is kept in memory.

    Scope: none; storage.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._known: dict[str, Catalog] = {}
        self._stored: set[str] = set()

    def put(self, catalog: Catalog) -> None:
        """Store a catalogue unless it is there already; durable on return."""
        if catalog.digest in self._stored:
            return
        path = _path(catalog.digest)
        try:
            if not self._folder.exists(path):
                with self._folder.output(path + ".new") as stream:
                    pq.write_table(_table(catalog), stream, compression="zstd", store_schema=False)
                self._folder.sync(path + ".new")
                self._folder.files.move(path + ".new", path)
                self._folder.sync(path)
        except OSError as why:
            raise LogWriteFailed(f"{path}: the catalogue cannot be stored ({said(why)})") from why
        self._stored.add(catalog.digest)
        self._known[catalog.digest] = catalog

    def get(self, digest: str) -> Catalog:
        """The catalogue with this digest; refuses a file that is missing, damaged or holds other facts."""
        if digest not in self._known:
            path = _path(digest)
            try:
                with self._folder.input(path) as stream:
                    catalog = _catalog(pq.read_table(stream, page_checksum_verification=True))
            except (OSError, pa.ArrowException, InvalidInput, KeyError, ValueError, TypeError) as why:
                raise LogUnreadable(f"{path}: the catalogue cannot be read ({said(why)})") from why
            if catalog.digest != digest:
                raise LogUnreadable(f"{path}: holds other facts than its name says (digest {catalog.digest})")
            self._known[digest] = catalog
        return self._known[digest]

    def digests(self) -> list[str]:
        """The catalogues that were stored or read through this shelf."""
        return sorted(self._known)


def _path(digest: str) -> str:
    # Delta's vacuum leaves folders alone whose names begin with an underscore.
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise LogUnreadable(f"a record names a catalogue by something that is no digest ({digest[:80]!r})")
    return f"_catalogs/{digest}.parquet"


def _table(catalog: Catalog) -> pa.Table:
    source, size = catalog.similarity, len(catalog)
    columns: dict[str, Any] = {
        "id_int": pa.array([item if isinstance(item, int) else None for item in catalog.ids], pa.int64()),
        "id_str": pa.array([item if isinstance(item, str) else None for item in catalog.ids], pa.string()),
        "target": pa.array(catalog.targets),
    }
    if source.kind in ("vectors", "matrix"):
        table = source.vectors if source.kind == "vectors" else source.matrix
        offsets = pa.array(np.arange(size + 1) * table.shape[1], pa.int32())
        columns[_FACTS[source.kind]] = pa.ListArray.from_arrays(offsets, pa.array(table.reshape(-1)))
    elif source.kind == "tags":
        columns["tags"] = pa.ListArray.from_arrays(pa.array(source.tag_ptr, pa.int32()), pa.array(source.tag_ids, pa.int64()))
    return pa.table(columns)


def _catalog(table: pa.Table) -> Catalog:
    ints, strings = table["id_int"].to_pylist(), table["id_str"].to_pylist()
    names = [text if number is None else number for number, text in zip(ints, strings, strict=True)]
    facts: dict[str, Any] = {}
    for argument, name in (("vectors", "vector"), ("similarity", "similarity")):
        if name in table.column_names:
            flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            facts[argument] = flat.reshape(len(names), -1)
    if "tags" in table.column_names:
        facts["tags"] = table["tags"].to_pylist()
    return Catalog(names, table["target"].to_numpy(), **facts)
