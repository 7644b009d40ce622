"""The folder or bucket under a log: reading, writing, and making sure that what was written is on the disk.

Scope: none; storage.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
from deltalake.fs import DeltaStorageHandler

__all__ = ["Folder"]


class Folder:
    """A local folder, or an object store URL with its ``options`` (as ``deltalake`` takes them).

    Scope: none; storage.
    """

    def __init__(self, location: str | Path, options: Mapping[str, str] | None = None) -> None:
        text = str(location)
        self.local: Path | None = None
        if "://" in text and not text.startswith("file://"):
            self.uri = text.rstrip("/")
            self.files = pafs.PyFileSystem(DeltaStorageHandler(self.uri, dict(options or {})))
        else:
            self.local = Path(text.removeprefix("file://")).absolute()
            self.uri = str(self.local)
            self.files = pafs.SubTreeFileSystem(self.uri, pafs.LocalFileSystem())
        self.options = dict(options) if options else None

    def write(self, path: str, payload: bytes) -> None:
        """A whole small file, durable on return."""
        with self.output(path) as stream:
            stream.write(payload)
        self.sync(path)

    def output(self, path: str) -> Any:
        """A stream to a new file; makes the folders that lead to it."""
        if self.local is not None:
            _make((self.local / path).parent)
        return self.files.open_output_stream(path)

    def make(self) -> None:
        """The folder itself and those above it, durable on return; an object store has none."""
        if self.local is not None:
            _make(self.local)

    def input(self, path: str) -> Any:
        """A seekable stream from a file."""
        return self.files.open_input_file(path)

    def read(self, path: str) -> bytes:
        """A whole small file."""
        with self.input(path) as stream:
            return bytes(stream.readall())

    def names(self, path: str) -> list[str]:
        """The names of the files right in a folder, sorted; none where there is no folder."""
        found = self.files.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == pafs.FileType.File)

    def move(self, path: str, target: str) -> None:
        """Give a file another name, durable on return."""
        self.files.move(path, target)
        self.sync(target)

    def exists(self, path: str) -> bool:
        """Whether a file stands there."""
        return bool(self.files.get_file_info(path).type == pafs.FileType.File)

    def size(self, path: str) -> int:
        """Bytes in a file."""
        return int(self.files.get_file_info(path).size)

    def remove(self, path: str) -> None:
        """Remove a file that nothing refers to."""
        self.files.delete_file(path)

    def is_empty(self) -> bool:
        """Whether there is nothing in the folder, or no folder."""
        if self.local is not None:
            return not self.local.exists() or (self.local.is_dir() and not any(self.local.iterdir()))
        return not self.files.get_file_info(pafs.FileSelector("", allow_not_found=True))

    def sync(self, path: str) -> None:
        """Flush a file and the folder it stands in to the disk; an object store is durable once a write returns."""
        if self.local is None:
            return
        for target in (self.local / path, (self.local / path).parent):
            _sync(target)


def _make(folder: Path) -> None:
    """A folder and those above it; what is new is entered durably in what was there."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
