"""Catalogues beside the log: each one stored once, in a file named by its digest, and checked against it when read.

Scope: none; public item facts, or whatever status the policy declares for them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slateproof.audit.datafiles import BYTES
from slateproof.audit.errors import LogUnreadable, LogWriteFailed, said
from slateproof.audit.files import Folder
from slateproof.audit.rows import source_bytes
from slateproof.errors import InvalidInput
from slateproof.types import Catalog
from slateproof.types.columns import Ints, frozen

__all__ = ["CatalogShelf"]

_FACTS = {"vectors": "vector", "matrix": "similarity", "tags": "tags"}


KEPT = 256 << 20
"""Bytes of catalogues that a shelf keeps in memory; one of them may be larger."""


class CatalogShelf:
    """The catalogues of one log, by digest; those used last are kept in memory, about ``KEPT`` bytes of them.

    Scope: none; storage.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._known: dict[str, Catalog] = {}
        self._stored: set[str] = set()
        self._newest = ""
        self._integers: tuple[str, Ints | None] = ("", None)
        self._guard = threading.Lock()

    def put(self, catalog: Catalog) -> None:
        """Store a catalogue unless it is there already; durable on return."""
        if catalog.digest in self._stored:
            return
        path = _path(catalog.digest)
        try:
            if not self._is_there(catalog.digest, path):
                with self._folder.output(path + ".new") as stream:
                    _write(catalog, stream)
                self._folder.sync(path + ".new")
                self._folder.files.move(path + ".new", path)
                self._folder.sync(path)
        except OSError as why:
            raise LogWriteFailed(f"{path}: the catalogue cannot be stored ({said(why)})") from why
        self._stored.add(catalog.digest)
        self._keep(catalog)

    def integers(self, catalog: Catalog) -> Ints | None:
        """The ids of a catalogue as a column, where all are integers; remembered for the last one that was asked for."""
        digest, column = self._integers
        if digest != catalog.digest:
            plain = isinstance(catalog.ids[-1], int)
            column = frozen(np.array(catalog.ids, np.int64)) if plain else None
            self._integers = catalog.digest, column
        return column

    def _is_there(self, digest: str, path: str) -> bool:
        """Whether a sound file stands there; a torn one, as a crash may leave it, is written again."""
        if not self._folder.exists(path):
            return False
        try:
            self.get(digest)
        except LogUnreadable:
            return False
        return True

    def _keep(self, catalog: Catalog) -> None:
        """Keep a catalogue in memory, and let go of those that were not asked for the longest while they take too much."""
        with self._guard:
            self._newest = catalog.digest
            self._known.pop(catalog.digest, None)
            self._known[catalog.digest] = catalog
            room = sum(map(_bytes_of, self._known.values()))
            for digest in list(self._known)[:-1]:
                if room <= KEPT:
                    break
                room -= _bytes_of(self._known.pop(digest))

    def get(self, digest: str) -> Catalog:
        """The catalogue with this digest; refuses a file that is missing, damaged or holds other facts."""
        catalog = self._known.get(digest)
        if catalog is not None and digest == self._newest:
            return catalog
        if catalog is None:
            path = _path(digest)
            try:
                with self._folder.input(path) as stream:
                    catalog = _read(stream)
            except (OSError, pa.ArrowException, InvalidInput, KeyError, ValueError, TypeError) as why:
                raise LogUnreadable(f"{path}: the catalogue cannot be read ({said(why)})") from why
            if catalog.digest != digest:
                raise LogUnreadable(f"{path}: holds other facts than its name says (digest {catalog.digest})")
        self._keep(catalog)
        return catalog


def _bytes_of(catalog: Catalog) -> int:
    # An id takes some sixty bytes as an object of Python, and as much in the index.
    return 128 * len(catalog) + catalog.targets.nbytes + source_bytes(catalog.similarity)


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
        # More values than 32-bit offsets reach are nothing unusual here.
        offsets = pa.array(np.arange(size + 1) * table.shape[1], pa.int64())
        columns[_FACTS[source.kind]] = pa.LargeListArray.from_arrays(offsets, pa.array(table.reshape(-1)))
    elif source.kind == "tags":
        ends, tags = pa.array(source.tag_ptr, pa.int64()), pa.array(source.tag_ids, pa.int64())
        columns["tags"] = pa.LargeListArray.from_arrays(ends, tags)
    return pa.table(columns)


def _write(catalog: Catalog, stream: Any) -> None:
    table = _table(catalog)
    rows = max(1, len(table) * BYTES // max(1, table.nbytes))
    pq.write_table(table, stream, row_group_size=rows, compression="zstd", store_schema=False, write_statistics=False)


def _read(stream: Any) -> Catalog:
    """Row group by row group: a list column in memory counts its values with 32 bits."""
    with pq.ParquetFile(stream, page_checksum_verification=True) as parquet:
        parts = [parquet.read_row_group(group) for group in range(parquet.num_row_groups)]
    return _catalog(pa.concat_tables(parts))


def _catalog(table: pa.Table) -> Catalog:
    ints, strings = table["id_int"].to_pylist(), table["id_str"].to_pylist()
    names = [text if number is None else number for number, text in zip(ints, strings, strict=True)]
    facts: dict[str, Any] = {}
    for argument, name in (("vectors", "vector"), ("similarity", "similarity")):
        if name in table.column_names:
            flat = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in table[name].chunks])
            facts[argument] = flat.reshape(len(names), -1)
    if "tags" in table.column_names:
        facts["tags"] = table["tags"].to_pylist()
    return Catalog(names, table["target"].to_numpy(), **facts)
