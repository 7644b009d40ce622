"""When Delta's own summary of its log is torn: the table from its entries alone.

Every hundred commits Delta writes a snapshot (``*.checkpoint.parquet`` and ``_last_checkpoint``), which a crash may leave half
written. It says nothing that the entries do not say, and a log keeps all of its entries.

Scope: none; storage.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from slateproof.audit.files import Folder

__all__ = ["LAST_SNAPSHOT", "entry", "put_aside", "snapshot", "table_of_entries"]

_LOG = "_delta_log"
LAST_SNAPSHOT = f"{_LOG}/_last_checkpoint"


def entry(version: int) -> str:
    """Where the entry of a commit stands."""
    return f"{_LOG}/{version:020d}.json"


def snapshot(version: int) -> str:
    """Where the snapshot that goes with a commit stands, if there is one."""
    return f"{_LOG}/{version:020d}.checkpoint.parquet"


def _snapshots(folder: Folder) -> list[str]:
    names = [name for name in folder.names(_LOG) if re.match(r"\d{20}\.checkpoint\b|_last_checkpoint$", name)]
    return [f"{_LOG}/{name}" for name in names]


def table_of_entries(folder: Folder, scratch: Path) -> Any | None:
    """The table as its entries give it, through copies of them in ``scratch``; None where there is no snapshot to do without,
    or where an entry is missing or damaged, too.
    """
    try:
        entries = [name for name in folder.names(_LOG) if re.fullmatch(r"\d{20}\.json", name)]
        if not _snapshots(folder) or entries != [entry(version).split("/")[1] for version in range(len(entries))]:
            return None
        (scratch / _LOG).mkdir()
        for name in entries:
            (scratch / _LOG / name).write_bytes(folder.read(f"{_LOG}/{name}"))
        return DeltaTable(scratch)
    except (DeltaError, OSError, ValueError):
        return None


def put_aside(folder: Folder) -> None:
    """Rename the snapshots, so that nobody reads them; the next one is written in due course."""
    for path in _snapshots(folder):
        folder.move(path, f"{_LOG}/_damaged-{path.split('/')[1]}")
