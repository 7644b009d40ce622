"""``certify``: the certificate that fits the slate.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

from slateproof.certify.certificate import Certificate
from slateproof.certify.setchoice import SetCertificate
from slateproof.errors import InvalidInput
from slateproof.types import SetChoice, Slate

__all__ = ["certify"]


def certify(slate: Any) -> Certificate:
    """The certificate of ``slate``: margin, radius, and everything asked of them.

    A slate built step by step (greedy MMR or MSD, top-K) gives a ``Certificate``, an SCPO slate a ``SetCertificate`` (same names).

    Scope: stability only.
    """
    if not isinstance(slate, Slate):
        raise InvalidInput("slate", "must be a Slate", type(slate).__name__)
    return SetCertificate.of(slate) if isinstance(slate.steps, SetChoice) else Certificate.of(slate)
