"""The canonical digest against an independent implementation in plain Python, and what may and may not change it."""

from __future__ import annotations

import hashlib
import io
import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audit_world import slates
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from slateproof.audit.canonical import leaf_of, salts_of
from slateproof.audit.idlists import decode_ids, encode_ids
from slateproof.audit.rows import Entry, rows_of
from slateproof.audit.schema import COLUMNS, FIELDS, SCHEMA
from slateproof.audit.seal import commitments_of, leaves_in, seal

SECRET = bytes(range(32))


def rows(count: int = 40) -> pa.RecordBatch:
    entries = [Entry(slate, f"r{i}", None if i % 4 else "ü", None, None) for i, slate in enumerate(slates(count))]
    return rows_of(entries, {"software": "test", "scope_digest": None, "regime": None})


def fixed(value: Any, kind: pa.DataType) -> bytes:
    """The documented fixed part of one value."""
    if kind == pa.float64():
        return b"\0" + bytes(8) if value is None else b"\1" + struct.pack("<d", value)
    if kind == pa.int64():
        return b"\0" + bytes(8) if value is None else b"\1" + struct.pack("<q", value)
    if kind == pa.int32():
        return b"\0" + bytes(4) if value is None else b"\1" + struct.pack("<i", value)
    if kind == pa.bool_():
        return b"\0\0" if value is None else b"\1" + bytes([value])
    size = 0 if value is None else len(value.encode()) if isinstance(value, str) else len(value)
    return bytes([value is not None]) + struct.pack("<Q", size)


def body(value: Any, kind: pa.DataType) -> bytes:
    """The documented body of one value."""
    if value is None or kind in (pa.float64(), pa.int64(), pa.int32(), pa.bool_()):
        return b""
    if kind == pa.string():
        return value.encode()
    if kind.value_type == pa.string():
        texts = [item.encode() for item in value]
        return b"".join(struct.pack("<Q", len(text)) for text in texts) + b"".join(texts)
    code = {pa.float64(): "<d", pa.int64(): "<q", pa.int32(): "<i"}[kind.value_type]
    return b"".join(struct.pack(code, item) for item in value)


def plain_leaf(row: dict[str, Any], index: int) -> bytes:
    """docs/trace.md, "Digest", in plain Python."""
    commitments = []
    for number, field in enumerate(FIELDS):
        block = struct.pack("<QQ", index, number)
        salt = Cipher(algorithms.AES256(SECRET), modes.ECB()).encryptor().update(block)
        columns = [column for column in COLUMNS if column.field == field]
        payload = b"".join(fixed(row[c.name], c.type) for c in columns) + b"".join(body(row[c.name], c.type) for c in columns)
        commitments.append(hashlib.sha256(b"slateproof field 1\n" + salt + field.encode() + b"\n" + payload).digest())
    record = b"slateproof record 1\n" + struct.pack("<Q", index) + b"".join(commitments)
    return hashlib.sha256(b"\0" + record).digest()


def test_the_digest_is_what_the_documentation_says() -> None:
    batch = rows()
    sealed = seal(batch, 7, SECRET, monitor=False)
    for place, row in enumerate(batch.to_pylist()):
        assert sealed.column("leaf_hash")[place].as_py() == plain_leaf(row, 7 + place), place


def test_the_digest_does_not_depend_on_storage() -> None:
    sealed = seal(rows(), 0, SECRET, monitor=False)
    wanted = sealed.column("leaf_hash").to_pylist()
    for options in ({"compression": "zstd"}, {"use_dictionary": False, "compression": "none", "row_group_size": 7}):
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_batches([sealed]), sink, **options)
        for batch in pq.ParquetFile(io.BytesIO(sink.getvalue())).iter_batches(11):
            commitments, _ = commitments_of(batch, SECRET)
            found = leaves_in(batch, commitments)
            assert found == wanted[: len(found)]
            wanted = wanted[len(found) :]
        wanted = sealed.column("leaf_hash").to_pylist()
    piece = sealed.slice(5, 9)
    assert leaves_in(piece, commitments_of(piece, SECRET)[0]) == wanted[5:14]


def test_monitor_and_replay_commit_to_the_same() -> None:
    batch = rows()
    full, short = (seal(batch, 3, SECRET, monitor=level) for level in (False, True))
    assert full.column("leaf_hash").equals(short.column("leaf_hash"))
    assert leaves_in(short, commitments_of(short, SECRET)[0]) == full.column("leaf_hash").to_pylist()


def changed(value: Any) -> Any:
    """Another value of the same type, as close as possible."""
    if value is None:
        return None
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        bits = struct.unpack("<Q", struct.pack("<d", value))[0] ^ 1
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, str):
        return value + "\0"
    return [*value[:-1], changed(value[-1])] if value else [0]


def test_any_change_of_any_value_changes_the_digest() -> None:
    sealed = seal(rows(24), 0, SECRET, monitor=False)
    leaves = sealed.column("leaf_hash").to_pylist()
    tried = 0
    for column in COLUMNS:
        values = sealed.column(column.name).to_pylist()
        spoiled = [changed(value) for value in values]
        touched = [a is not None for a in values]
        if column.type in (pa.list_(pa.string()),):
            spoiled = [None if value is None else [*value, "x"] for value in values]
        columns = [pa.array(spoiled, field.type) if field.name == column.name else sealed.column(field.name) for field in SCHEMA]
        other = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
        found = leaves_in(other, commitments_of(other, SECRET)[0])
        for before, after, hit in zip(leaves, found, touched, strict=True):
            assert (before != after) == hit, column.name
            tried += hit
        emptied = pa.RecordBatch.from_arrays(
            [pa.nulls(len(sealed), f.type) if f.name == column.name else sealed.column(f.name) for f in SCHEMA], schema=SCHEMA
        )
        gone = leaves_in(emptied, commitments_of(emptied, SECRET)[0])
        assert [a != b for a, b in zip(leaves, gone, strict=True)] == touched, "absent is not zero"
    assert tried > 24 * 25


def test_place_and_commitments_make_the_leaf() -> None:
    values = [bytes([i]) * 32 for i in range(len(FIELDS))]
    assert leaf_of(1, values) != leaf_of(2, values)
    swapped = [values[1], values[0], *values[2:]]
    assert leaf_of(1, values) != leaf_of(1, swapped)


def test_salts_differ_everywhere_and_hang_on_the_secret() -> None:
    block = salts_of(SECRET, range(50))
    found = {block[i : i + 16] for i in range(0, len(block), 16)}
    assert len(found) == 50 * len(FIELDS)
    assert salts_of(SECRET, [3]) == block[3 * 16 * len(FIELDS) : 4 * 16 * len(FIELDS)]
    assert salts_of(bytes(32), [3]) != salts_of(SECRET, [3])


ids = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=3)), max_size=6)


@given(st.lists(ids, min_size=1, max_size=6))
def test_id_lists_read_back(lists: list[list[int | str]]) -> None:
    columns = [column.to_pylist() for column in encode_ids(lists)]
    assert [list(decode_ids(*row)) for row in zip(*columns, strict=True)] == lists


@given(st.lists(ids, min_size=2, max_size=4))
def test_a_list_has_one_form_whatever_stands_beside_it(lists: list[list[int | str]]) -> None:
    together = list(zip(*(column.to_pylist() for column in encode_ids(lists)), strict=True))
    alone = [next(zip(*(column.to_pylist() for column in encode_ids([one])), strict=True)) for one in lists]
    assert together == alone
