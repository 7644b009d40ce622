"""A background thread that commits at a fixed pace, for services that must not wait for the disk.

Scope: none; storage.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from slateproof.audit.errors import LogError, LogWriteFailed

__all__ = ["Committer"]


class Committer:
    """Calls ``flush`` every ``seconds``. A failure is kept, and ``check`` raises it, until a later flush succeeds.

    Scope: none; storage.
    """

    def __init__(self, flush: Callable[[], object], seconds: float) -> None:
        self._flush = flush
        self._seconds = seconds
        self._stop = threading.Event()
        self._failure: LogError | None = None
        self._thread = threading.Thread(target=self._run, name="slateproof-committer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._flush()
            except LogError as why:
                # Kept for the caller: a thread has nobody to raise to. The next turn tries again.
                self._failure = why
            else:
                self._failure = None

    def check(self) -> None:
        """Raise what went wrong in the background since the last call, or that nobody commits in the background any more."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if not self._thread.is_alive() and not self._stop.is_set():
            raise LogWriteFailed("the thread that commits in the background has ended; close the log and open it again")

    def stop(self) -> None:
        """End the thread; a commit that is under way is finished first."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
