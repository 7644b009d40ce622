"""The audit log: write slates once, replay them anywhere, prove everything.

An auditor needs the folder, a public key and, against rewriting, an earlier checkpoint; the writer need not be trusted.
``docs/audit.md`` walks through it, ``docs/trace.md`` describes every column.
"""

from slateproof.audit.checkpoint import Checkpoint
from slateproof.audit.diff import Change, DiffReport, diff
from slateproof.audit.errors import (
    DamagedRecord,
    KeyMismatch,
    LogClosed,
    LogError,
    LogExists,
    LogLocked,
    LogUnreadable,
    LogWriteFailed,
    MissingKey,
    NewerLog,
    NotALog,
    NotReplayable,
)
from slateproof.audit.keys import PublicKey
from slateproof.audit.log import AuditLog
from slateproof.audit.mask import MaskReport, masked_copy, pseudonym
from slateproof.audit.merkle import ConsistencyProof, InclusionProof
from slateproof.audit.replay import bounded
from slateproof.audit.report import KINDS, Problem, VerifyReport
from slateproof.audit.show import RecordView, show
from slateproof.audit.verify import verify_log

__all__ = [
    "KINDS",
    "AuditLog",
    "Change",
    "Checkpoint",
    "ConsistencyProof",
    "DamagedRecord",
    "DiffReport",
    "InclusionProof",
    "KeyMismatch",
    "LogClosed",
    "LogError",
    "LogExists",
    "LogLocked",
    "LogUnreadable",
    "LogWriteFailed",
    "MaskReport",
    "MissingKey",
    "NewerLog",
    "NotALog",
    "NotReplayable",
    "Problem",
    "PublicKey",
    "RecordView",
    "VerifyReport",
    "bounded",
    "diff",
    "masked_copy",
    "pseudonym",
    "show",
    "verify_log",
]
