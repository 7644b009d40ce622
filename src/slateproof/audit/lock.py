"""One writer per log: an advisory lock that the operating system releases when its holder dies.

Scope: none; storage.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from slateproof.audit.errors import LogLocked, LogWriteFailed

__all__ = ["WriterLock"]


class WriterLock:
    """An exclusive lock on ``<log>/_writer.lock``, held until ``release`` or the end of the process.

    Object stores have no such lock; there, a second writer fails at its first commit, because a commit takes the next version
    number or nothing.

    Scope: none; storage.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "_writer.lock"
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as why:
            raise LogWriteFailed(f"{folder}: cannot be written to ({why.strerror})") from why
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as why:
            os.close(self._handle)
            self._handle = -1
            raise LogLocked(f"{folder}: another writer has this log open; a log has one writer at a time") from why

    def release(self) -> None:
        """Give the lock back; does nothing the second time."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
