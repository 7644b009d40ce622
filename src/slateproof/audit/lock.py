"""One writer per log: an advisory lock that the operating system releases when its holder dies.

Scope: none; storage.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from slateproof.audit.errors import LogLocked, LogWriteFailed

__all__ = ["WriterLock"]


class WriterLock:
    """An exclusive lock on ``<log>/_writer.lock``, held until ``release``, until nobody refers to it any more, or until the
    process ends. A forked child does not hold it, and does not keep it from being released.

    Object stores have no such lock; there, a second writer fails at its first commit, because a commit takes the next version
    number or nothing.

    Scope: none; storage.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "_writer.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as why:
            raise LogWriteFailed(f"{folder}: cannot be written to ({why.strerror})") from why
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as why:
            os.close(handle)
            raise LogLocked(f"{folder}: another writer has this log open; a log has one writer at a time") from why
        except OSError as why:
            os.close(handle)
            raise LogWriteFailed(f"{folder}: cannot be locked ({why.strerror}); a local log needs flock") from why
        self._owner = os.getpid()
        _held.add(handle)
        self._end = weakref.finalize(self, _unlock, handle, self._owner)

    @property
    def inherited(self) -> bool:
        """Whether this object came through a fork, and the lock is another process's."""
        return self._owner != os.getpid()

    def release(self) -> None:
        """Give the lock back; does nothing the second time."""
        self._end()


_held: set[int] = set()
"""Handles of the locks of this process."""


def _unlock(handle: int, owner: int) -> None:
    if owner != os.getpid():
        return
    _held.discard(handle)
    # The lock belongs to the open file, which a child may still share: closing alone would not give it back.
    fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def _forget() -> None:
    """In a forked child: close the copies, so that the lock lives and dies with its owner."""
    for handle in _held:
        os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
