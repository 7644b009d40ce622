"""From rows to sealed records: place, commitments and leaf hash are added; and back: what a stored record commits to.

Scope: none; commitments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.audit.canonical import SALT, Digests, commit_fields, leaves_of, salts_of, texts_of
from slateproof.audit.idlists import null_array
from slateproof.audit.schema import COLUMNS, FIELDS, MONITOR_DROPS, SCHEMA, SCHEMA_VERSION, columns_of
from slateproof.audit.sha256 import DIGEST

__all__ = ["commitments_of", "leaf_table", "leaves_in", "seal", "stored_leaves", "withhold"]


def seal(rows: pa.RecordBatch, first: int, secret: bytes, monitor: bool, version: int = SCHEMA_VERSION) -> pa.RecordBatch:
    """Records of a table of ``version`` from rows: they take the places from ``first`` on. A monitor record keeps O(K) of them."""
    size = len(rows)
    index = range(first, first + size)
    commitments = commit_fields(rows, _by_field(salts_of(secret, index), size), version)
    leaves = leaves_of(index, commitments)
    if monitor:
        kept, columns = withhold(rows, commitments, frozenset(MONITOR_DROPS))
    else:
        kept, columns = null_array(pa.list_(pa.binary()), size), [rows.column(column.name) for column in COLUMNS]
    head = [
        pa.array(np.arange(first, first + size)),
        _binary(leaves),
        kept,
        null_array(pa.list_(pa.binary()), size),
        null_array(pa.string(), size),
    ]
    return pa.RecordBatch.from_arrays([*head, *columns], schema=SCHEMA)


def _binary(table: Digests) -> pa.Array:
    """A binary column from digests."""
    offsets = np.arange(len(table) + 1, dtype=np.int32) * DIGEST
    return pa.Array.from_buffers(pa.binary(), len(table), [None, pa.py_buffer(offsets), pa.py_buffer(table.tobytes())])


def withhold(rows: pa.RecordBatch, commitments: list[Digests], fields: frozenset[str]) -> tuple[pa.Array, list[pa.Array]]:
    """(commitments column, columns) with ``fields`` left out: their values are null, their commitments stand instead."""
    size = len(rows)
    shown: list[list[bytes | None]] = [
        [*texts_of(commitments[place])] if field in fields else [None] * size for place, field in enumerate(FIELDS)
    ]
    column = pa.array([list(values) for values in zip(*shown, strict=True)], pa.list_(pa.binary()))
    columns = [null_array(c.type, size) if c.field in fields else rows.column(c.name) for c in COLUMNS]
    return column, columns


def commitments_of(batch: pa.RecordBatch, secret: bytes | None, version: int = SCHEMA_VERSION) -> tuple[list[Digests], list[Any]]:
    """Commitments by field of stored records, recomputed from their values, and by field which records withhold it.

    A withheld field counts with the commitment that is stored in its place, and its columns must be empty: values that no digest
    covers give zeros for a commitment. Without ``secret`` (a masked copy) the salts come from the records; with it, salts and
    pseudonyms have no place there.
    """
    size = len(batch)
    if secret is not None:
        salts = _by_field(salts_of(secret, batch.column("index").to_numpy(zero_copy_only=False)), size)
    else:
        salts = _stored_salts(batch)
    found = commit_fields(batch, salts, version)
    withheld = [np.zeros(size, bool) for _ in FIELDS]
    if batch.column("commitments").null_count < size:
        for row, kept in enumerate(batch.column("commitments").to_pylist()):
            for place, value in enumerate((kept or [])[: len(FIELDS)]):
                if value is not None:
                    # What has another length becomes zeros, and then the digest does not fit.
                    found[place][row] = np.frombuffer(value if len(value) == DIGEST else bytes(DIGEST), np.uint8)
                    withheld[place][row] = True
    for place, field in enumerate(FIELDS):
        if withheld[place].any():
            found[place][withheld[place] & _present(batch, [column.name for column in columns_of(field, version)])] = 0
    if secret is not None:
        found[0][_present(batch, ["salts", "pseudonym"])] = 0
    return found, withheld


def _present(batch: pa.RecordBatch, names: list[str]) -> Any:
    """Per record, whether any of these columns holds a value."""
    out = np.zeros(len(batch), bool)
    for column in (batch.column(name) for name in names):
        if column.null_count < len(batch):
            out |= np.asarray(column.is_valid())
    return out


def leaf_table(batch: pa.RecordBatch, commitments: list[Digests]) -> Digests:
    """Leaf hashes of stored records from their commitments, at the places that they claim."""
    return leaves_of(batch.column("index").to_numpy(zero_copy_only=False), commitments)


def leaves_in(batch: pa.RecordBatch, commitments: list[Digests]) -> list[bytes]:
    """The same, one by one."""
    return texts_of(leaf_table(batch, commitments))


def stored_leaves(batch: pa.RecordBatch) -> Digests:
    """The leaf hashes that stand in the records; zeros for what is no hash, and then the digest does not fit."""
    column = batch.column("leaf_hash")
    exact = [leaf if len(leaf) == DIGEST else bytes(DIGEST) for leaf in column.to_pylist()]
    return np.frombuffer(b"".join(exact), np.uint8).reshape(-1, DIGEST)


def _by_field(salts: bytes, size: int) -> list[bytes]:
    table = np.frombuffer(salts, np.uint8).reshape(size, len(FIELDS), SALT)
    return [table[:, place].tobytes() for place in range(len(FIELDS))]


def _stored_salts(batch: pa.RecordBatch) -> list[bytes]:
    rows = [_exact(values) for values in batch.column("salts").to_pylist()]
    return [b"".join(values) for values in zip(*rows, strict=True)] if rows else [b""] * len(FIELDS)


def _exact(values: list[bytes | None] | None) -> list[bytes]:
    """One salt per field; what is missing or misshapen becomes zeros, and then the digest does not fit."""
    found = [value if value is not None and len(value) == SALT else bytes(SALT) for value in values or []]
    return (found + [bytes(SALT)] * len(FIELDS))[: len(FIELDS)]
