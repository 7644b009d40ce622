"""Four ways of tampering with a copy of the log, each stronger than the one before, and what verification says to each.

Scope: none; attacks.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slateproof.audit import Checkpoint, LogUnreadable, VerifyReport, verify_log
from slateproof.audit.datafiles import DataFile
from slateproof.audit.schema import SCHEMA
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.audit.store import Store
from slateproof.cli.demo.folder import Folder

__all__ = ["Attempt", "tamper"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was done to ``record``, as a title and a detail, and the report of the verification that followed.

    Scope: none; a finding.
    """

    title: str
    detail: str
    record: int
    report: VerifyReport


def tamper(folder: Folder, record: int, advance: Callable[[int], None]) -> tuple[Attempt, ...]:
    """Forge copies of the log, three of them at ``record``; the log stays as it is, and the copy with one forged score, too."""
    attempts = []
    with TemporaryDirectory() as scratch:
        for title, forge, copy in (
            ("one bit flipped", _flip_bit, Path(scratch, "bit")),
            ("one score forged", _nudge, folder.tampered),
            ("and its hash redone", _rehash, Path(scratch, "hash")),
            ("an old state put back", lambda store, *_: _roll_back(store, folder), Path(scratch, "old")),
        ):
            shutil.copytree(folder.log, copy)
            store = Store.open(copy)
            file = next(one for one in store.files() if one.first <= record <= one.last)
            detail = forge(store, copy / file.path, file, record)
            attempts.append(Attempt(title, detail, record, verify_log(copy, folder.early, folder.key)))
            advance(1)
    return tuple(attempts)


def _flip_bit(store: Store, path: Path, file: DataFile, record: int) -> str:
    """Flip one bit in the middle of the scores, as a failing disk would."""
    group = pq.read_metadata(path).row_group(0)
    columns = (group.column(place) for place in range(group.num_columns))
    scores = next(column for column in columns if column.path_in_schema.startswith("scores"))
    place = scores.data_page_offset + scores.total_compressed_size // 2
    payload = bytearray(path.read_bytes())
    payload[place] ^= 1
    path.write_bytes(payload)
    return f"byte {place:,} of {len(payload):,} in the file that holds record {record}"


def _nudge(store: Store, path: Path, file: DataFile, record: int) -> str:
    """The score of the first item of the slate, up by the last bit of a float, in a file that is otherwise in order."""

    def change(rows: list[dict[str, Any]]) -> str:
        row = rows[record - file.first]
        place = row["chosen"][0]
        old = row["scores"][place]
        row["scores"][place] = math.nextafter(old, math.inf)
        return f"{old!r} became {row['scores'][place]!r}"

    return _rewrite(path, change)


def _rehash(store: Store, path: Path, file: DataFile, record: int) -> str:
    """The same, by somebody who also makes the record's hash fit again."""
    detail = _nudge(store, path, file, record)
    batch = pq.read_table(path).combine_chunks().to_batches()[0]
    leaf = leaves_in(batch, commitments_of(batch, store.secret)[0])[record - file.first]

    def change(rows: list[dict[str, Any]]) -> str:
        rows[record - file.first]["leaf_hash"] = leaf
        return f"{detail}, and the hash of the record fits again"

    return _rewrite(path, change)


def _roll_back(store: Store, folder: Folder) -> str:
    """Everything since just before the auditor's checkpoint is taken back: what is left is a sound log with valid signatures."""
    early = Checkpoint.of(folder.early)
    entries = sorted((Path(store.folder.uri) / "_delta_log").glob("*.json"))
    # Newest first, one for each entry.
    for entry, checkpoint in zip(reversed(entries), store.checkpoints(), strict=True):
        if checkpoint.size < early.size:
            return f"the log as it was after record {checkpoint.size - 1}: every hash fits, every signature is genuine"
        entry.unlink()
    raise LogUnreadable("the log has no state before the auditor's checkpoint")


def _rewrite(path: Path, change: Callable[[list[dict[str, Any]]], str]) -> str:
    rows = pq.read_table(path).to_pylist()
    detail = change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
    return detail
