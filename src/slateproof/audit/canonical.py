"""The canonical digest of a record: exact bytes, independent of Parquet, of compression and of the machine.

For every field of the schema there is one commitment

    c_f = SHA-256("slateproof field 1\\n" || salt_f || name_f || "\\n" || payload_f),

and the leaf of the Merkle tree is RFC 6962's hash of

    "slateproof record 1\\n" || index (u64) || c_round || c_subject || ... || c_steps.

A payload is a fixed part, one entry per column in schema order, and after it the bodies of the columns in the same order. All
numbers are little-endian.

    float64, int64, int32, bool    presence byte (0 or 1), value (zero bytes where absent); a bool takes one byte
    string                         presence byte, u64 length;   body: UTF-8
    list of numbers                presence byte, u64 count;    body: values
    list of strings                presence byte, u64 count;    body: u64 lengths, then UTF-8

The fixed part gives every length, so no two records share a payload. A salt (16 bytes) keeps a commitment from being guessed
from outside; ``salt_f = AES-256_secret(index || f)``, a pseudo-random function of the log's secret, so a masked copy can show
the salts of what it keeps and nothing about the others.

Scope: none; a commitment to bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from slateproof.audit.schema import FIELDS, columns_of
from slateproof.audit.sha256 import DIGEST, Ragged, digests_of_padded, digests_of_ragged, padded

__all__ = ["SALT", "SECRET", "Digests", "commit_fields", "leaf_of", "leaves_of", "salts_of", "texts_of"]

SALT, SECRET = 16, 32
_FIELD_DOMAIN = b"slateproof field 1\n"
_LEAF_DOMAIN = b"\x00slateproof record 1\n"
_NUMBERS = {pa.float64(): "<f8", pa.int64(): "<i8", pa.int32(): "<i4", pa.bool_(): "u1"}

Parts: TypeAlias = Sequence[bytes]
Digests: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
"""An (n, 32) table: one digest per row."""


def salts_of(secret: bytes, index: Any) -> bytes:
    """Salts of all fields of the records ``index``, one after the other: ``len(FIELDS) * 16`` bytes per record."""
    blocks = np.empty((len(index), len(FIELDS), 2), "<u8")
    blocks[:, :, 0] = np.asarray(index, np.uint64)[:, None]
    blocks[:, :, 1] = np.arange(len(FIELDS), dtype=np.uint64)
    # Every block is a different input of one keyed permutation, which is what ECB is for and nothing else.
    encryptor = Cipher(algorithms.AES256(secret), modes.ECB()).encryptor()
    return encryptor.update(blocks.tobytes()) + encryptor.finalize()


def commit_fields(batch: pa.RecordBatch, salts: Parts, version: int) -> list[Digests]:
    """Commitments by field, one row of 32 bytes for each record; ``salts[f]`` holds 16 bytes per record."""
    out = []
    for place, field in enumerate(FIELDS):
        columns = [_payload(batch.column(column.name), column.type) for column in columns_of(field, version)]
        salt = np.frombuffer(salts[place], np.uint8).reshape(len(batch), SALT)
        name = field.encode() + b"\n"
        head = [_same(_FIELD_DOMAIN, len(batch)), salt, _same(name, len(batch)), *(part for part, _ in columns)]
        out.append(_digest_all([*head, *(body for _, bodies in columns for body in bodies)]))
    return out


def _same(text: bytes, size: int) -> Any:
    return np.broadcast_to(np.frombuffer(text, np.uint8), (size, len(text)))


def _digest_all(parts: Sequence[Any]) -> Digests:
    """SHA-256 per record of its parts, one after the other; a part is an (n, w) table of bytes, or pieces of any length.

    Records of one shape, which are the rule, need no look at each length.
    """
    if any(isinstance(part, Ragged) for part in parts):
        return digests_of_ragged([part if isinstance(part, Ragged) else _pieces(part) for part in parts])
    size, width = len(parts[0]), sum(part.shape[1] for part in parts)
    out = np.empty((size, DIGEST), np.uint8)
    table = padded(min(size, _AT_ONCE), width)
    for first in range(0, size, _AT_ONCE):
        last, place = min(first + _AT_ONCE, size), 0
        for part in parts:
            table[: last - first, place : place + part.shape[1]] = part[first:last]
            place += part.shape[1]
        out[first:last] = digests_of_padded(table[: last - first], width)
    return out


def _pieces(table: Any) -> Ragged:
    size, width = table.shape
    return Ragged(np.ascontiguousarray(table).reshape(-1), np.arange(size) * width, np.full(size, width))


_AT_ONCE = 256
"""Records whose bytes are laid out at a time: few enough to stay in the processor's cache."""


def leaves_of(index: Any, commitments: Sequence[Digests]) -> Digests:
    """Leaf hashes of records from their commitments by field."""
    places = np.asarray(index, "<u8").reshape(-1, 1).view(np.uint8)
    return _digest_all([_same(_LEAF_DOMAIN, len(places)), places, *commitments])


def leaf_of(index: int, commitments: Sequence[bytes]) -> bytes:
    """The leaf hash of one record from the commitments of its fields."""
    return leaves_of([index], [np.frombuffer(value, np.uint8)[None, :] for value in commitments]).tobytes()


def texts_of(table: Any) -> list[bytes]:
    """The rows of an (n, w) table of bytes. Bytes, not views: the garbage collector does not count them."""
    raw, width = table.tobytes(), table.shape[1]
    return [raw[start : start + width] for start in range(0, len(raw), width)] if width else [b""] * len(table)


def _payload(column: Any, kind: pa.DataType) -> tuple[Any, tuple[Any, ...]]:
    """(fixed part, bodies): an (n, w) table of bytes; none, one or two parts, each another table or pieces of any length."""
    present = np.asarray(column.is_valid()).astype(np.uint8)
    if kind in _NUMBERS:
        values = np.asarray(column.fill_null(False if kind == pa.bool_() else 0)).astype(_NUMBERS[kind])
        raw = np.ascontiguousarray(values.reshape(-1, 1)).view(np.uint8)
        return np.concatenate([present[:, None], raw], axis=1), ()
    if column.null_count == len(column):
        return np.zeros((len(column), 9), np.uint8), ()
    offsets = _offsets(column)
    lengths = (offsets[1:] - offsets[:-1]) * present
    fixed = np.concatenate([present[:, None], lengths.astype("<u8").reshape(-1, 1).view(np.uint8)], axis=1)
    if not lengths.any():
        return fixed, ()
    if kind != pa.string() and kind.value_type == pa.string():
        return fixed, _string_lists(column, offsets[:-1], lengths)
    dtype = np.dtype("u1" if kind == pa.string() else _NUMBERS[kind.value_type])
    values = _text(column) if kind == pa.string() else np.asarray(column.values).astype(dtype, copy=False)
    if (lengths == lengths[0]).all() and offsets[-1] - offsets[0] == lengths.sum():
        return fixed, (values[offsets[0] : offsets[-1]].view(np.uint8).reshape(len(column), -1),)
    raw = np.ascontiguousarray(values).view(np.uint8)
    return fixed, (Ragged(raw, offsets[:-1] * dtype.itemsize, lengths * dtype.itemsize),)


def _offsets(column: Any) -> Any:
    """Offsets of a list or string array into its values, one more than rows; honours slices."""
    raw = np.frombuffer(column.buffers()[1], np.int32)
    return raw[column.offset : column.offset + len(column) + 1].astype(np.int64)


def _text(column: Any) -> Any:
    """The bytes behind a string array."""
    data = column.buffers()[2]
    return np.frombuffer(b"" if data is None else data, np.uint8)


def _string_lists(column: Any, starts: Any, lengths: Any) -> tuple[Ragged, Ragged]:
    """Bodies of a list-of-strings column: lengths, then the text."""
    offsets = _offsets(column.values)
    sizes = np.ascontiguousarray(offsets[1:] - offsets[:-1], "<u8").view(np.uint8)
    first, last = offsets[starts], offsets[starts + lengths]
    return Ragged(sizes, starts * 8, lengths * 8), Ragged(_text(column.values), first, last - first)
