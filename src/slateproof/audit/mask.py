"""Masked copies: a log for outside eyes, whose records still verify against the original checkpoints.

A dropped field leaves its commitment behind; a kept one comes with its salt. So every leaf hash, the Merkle root and the signature
stay what they were, while nothing about the dropped values can be guessed from the commitments.

Scope: conditional; what is kept keeps its privacy status, and kept fields may say something about dropped ones.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.audit.canonical import SALT, salts_of, texts_of
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.errors import LogUnreadable
from slateproof.audit.files import Folder
from slateproof.audit.log import AuditLog
from slateproof.audit.merkle import HASH, Peaks
from slateproof.audit.schema import COLUMNS, FIELDS, SCHEMA
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.audit.store import Store
from slateproof.errors import InvalidInput

__all__ = ["MaskReport", "masked_copy", "pseudonym"]


@dataclass(frozen=True, slots=True)
class MaskReport:
    """How many records were copied, and which could not be masked and are there as a bare digest only.

    Scope: conditional; see ``masked_copy``.
    """

    size: int
    dropped: tuple[str, ...]
    withheld: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"size": self.size, "dropped": list(self.dropped), "withheld": list(self.withheld)}

    def to_text(self) -> str:
        """For people."""
        text = f"{self.size} records masked; dropped: {', '.join(self.dropped)}"
        return text if not self.withheld else f"{text}; {len(self.withheld)} damaged records withheld, first {self.withheld[0]}"


def pseudonym(key: bytes, subject: str) -> str:
    """HMAC-SHA-256 of the subject under ``key``, 32 hexadecimal digits: the same subject, the same name, and no way back."""
    return hmac.new(key, b"slateproof subject\n" + subject.encode(), hashlib.sha256).hexdigest()[:32]


def masked_copy(log: AuditLog, out: str | Path, *, key: bytes | None = None, drop: Iterable[str] = ()) -> MaskReport:
    """Copy ``log`` to the new folder ``out`` without subjects and without the fields ``drop`` (see ``docs/trace.md``).

    With ``key`` (at least 16 bytes, kept from the reader) every subject gets a pseudonym, without it none. A record that does not
    give its committed digest is withheld: its leaf hash stands for it, nothing else. The copy cannot be continued.

    Scope: conditional; kept fields may say something about dropped ones (levers follow from the state, shaped scores from widths).
    """
    dropped = _dropped(drop)
    if key is not None and len(key) < 16:
        raise InvalidInput("key", "must have at least 16 bytes", len(key))
    source = log.store
    if source.secret is None:
        raise LogUnreadable("the log is a masked copy already")
    checkpoint, peaks = source.last()
    copy = Store.create(Folder(out), source.header, None, checkpoint, Peaks(), masked=dropped)
    withheld: list[int] = []
    done, digests = 0, set()
    for batch in source.batches(None, 0, checkpoint.size):
        rows, bad = _mask(batch.slice(0, checkpoint.size - done), done, source.secret, source.header.schema_version, dropped, key)
        withheld += bad
        done += len(rows)
        digests |= set(rows.column("catalog_digest").drop_null().to_pylist())
        copy.append(done - len(rows), [rows], lambda: (checkpoint, peaks))
    shelf, copied = CatalogShelf(source.folder), CatalogShelf(copy.folder)
    for digest in sorted(digests):
        copied.put(shelf.get(digest))
    return MaskReport(done, tuple(sorted(dropped)), tuple(withheld))


def _dropped(drop: Iterable[str]) -> frozenset[str]:
    names = frozenset([drop] if isinstance(drop, str) else drop) | {"subject"}
    for name in sorted(names):
        if name not in FIELDS:
            raise InvalidInput("drop", f"must name fields of the trace: {', '.join(FIELDS)}", name)
    return names


def _mask(
    batch: pa.RecordBatch, first: int, secret: bytes, version: int, dropped: frozenset[str], key: bytes | None
) -> tuple[pa.RecordBatch, list[int]]:
    """Masked rows, and the places of those that had to be withheld."""
    size = len(batch)
    commitments, already = commitments_of(batch, secret, version)
    stored = batch.column("leaf_hash").to_pylist()
    places = batch.column("index").to_numpy(zero_copy_only=False)
    sound = [
        found == leaf and place == first + row
        for row, (found, leaf, place) in enumerate(zip(leaves_in(batch, commitments), stored, places.tolist(), strict=True))
    ]
    hidden = [np.array([not ok for ok in sound]) | already[place] | (field in dropped) for place, field in enumerate(FIELDS)]
    salts = np.frombuffer(salts_of(secret, range(first, first + size)), np.uint8).reshape(size, len(FIELDS), SALT)
    columns = {
        "index": pa.array(np.arange(first, first + size)),
        "leaf_hash": pa.array([leaf if len(leaf) == HASH else bytes(HASH) for leaf in stored], pa.binary()),
        "commitments": _chosen(hidden, [texts_of(column) for column in commitments], keep=True),
        "salts": _chosen(
            hidden, [[salts[row, place].tobytes() for row in range(size)] for place in range(len(FIELDS))], keep=False
        ),
        "pseudonym": pa.array(_pseudonyms(batch, sound, key), pa.string()),
    }
    for column in COLUMNS:
        gone = hidden[FIELDS.index(column.field)]
        columns[column.name] = _nulled(batch.column(column.name), gone)
    rows = pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)
    return rows, [first + row for row, ok in enumerate(sound) if not ok]


def _chosen(hidden: list[Any], values: list[list[bytes]], *, keep: bool) -> pa.Array:
    """Per record one value per field, where ``hidden`` equals ``keep``; null elsewhere."""
    by_field = [
        [value if bool(gone) == keep else None for value, gone in zip(column, mask, strict=True)]
        for column, mask in zip(values, hidden, strict=True)
    ]
    return pa.array([list(row) for row in zip(*by_field, strict=True)], pa.list_(pa.binary()))


def _nulled(column: pa.Array, gone: Any) -> pa.Array:
    """The column with nothing left of the values that are gone: neither visible nor behind a null."""
    if not gone.any():
        return column
    if gone.all():
        return pa.nulls(len(column), column.type)
    return column.take(pa.array(np.where(gone, 0, np.arange(len(column))), mask=gone))


def _pseudonyms(batch: pa.RecordBatch, sound: list[bool], key: bytes | None) -> list[str | None]:
    subjects = batch.column("subject").to_pylist()
    if key is None:
        return [None] * len(subjects)
    return [pseudonym(key, who) if ok and who is not None else None for who, ok in zip(subjects, sound, strict=True)]
