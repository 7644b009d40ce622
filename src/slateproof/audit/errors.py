"""What the audit log refuses or cannot do, each case its own class.

A refused operation leaves everything that was committed before exactly as it was.

Scope: none; errors carry no claim.
"""

from __future__ import annotations

import re

from slateproof.errors import SlateproofError

__all__ = [
    "DamagedRecord",
    "KeyMismatch",
    "LogClosed",
    "LogError",
    "LogExists",
    "LogLocked",
    "LogUnreadable",
    "LogWriteFailed",
    "MissingKey",
    "NewerLog",
    "NotALog",
    "NotReplayable",
    "said",
]


def said(why: BaseException) -> str:
    """What a library said, in one plain line: Delta's messages come in colour and over many."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|↳", "", str(why)).split())


class LogError(SlateproofError):
    """Base of the errors of the audit log."""


class NotALog(LogError):
    """The folder or bucket holds something else, or nothing."""


class NewerLog(LogError):
    """The log was written under a schema version that this software does not know."""


class LogExists(LogError):
    """A log, or another file, already stands where one was to be created."""


class LogLocked(LogError):
    """Another writer has the log open."""


class LogClosed(LogError):
    """The log object was closed."""


class LogUnreadable(LogError):
    """A file of the log is missing, cut short or not what it should be."""


class LogWriteFailed(LogError):
    """The storage refused a write: disk full, no permission, connection lost. Nothing new was committed."""


class MissingKey(LogError):
    """The log is signed, and the private key was not given."""


class KeyMismatch(LogError):
    """The key is not the one this log is signed with, or is no key at all."""


class DamagedRecord(LogError):
    """A record does not give the digest that was committed for it."""


class NotReplayable(LogError):
    """The record does not hold all inputs of its selection: it is masked, or of level "monitor"."""
