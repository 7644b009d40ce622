"""Checkpoints: what a log commits to, as a C2SP signed note.

The note's text is three lines, the origin, the number of records and the Merkle root in base64; after a blank line stands the
signature line, ``— slateproof base64(key id || Ed25519 signature)``, or none where the log is not signed. Lines under other names,
such as those of cosigners, are ignored. The origin holds the digest of the log's header, so a checkpoint belongs to one log only.

Scope: none; a commitment to records, not a claim about them.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit.keys import SIGNER, PublicKey
from slateproof.errors import InvalidInput

__all__ = ["Checkpoint"]

_DASH = "— "
DIGITS = 18
"""Most digits of a size: no log has 10^18 records."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """``size`` records with Merkle ``root`` (32 bytes), signed by ``signer`` with ``signature`` (both empty where unsigned).

    ``key_id`` is the four bytes that name the key. ``str(checkpoint)`` is the signed note, and ``parse`` reads it back.

    Scope: none; a commitment to records, not a claim about them.
    """

    origin: str
    size: int
    root: bytes
    signer: str = ""
    key_id: bytes = b""
    signature: bytes = b""

    @property
    def text(self) -> str:
        """The signed part: origin, size, root, each ending in a newline."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @property
    def note(self) -> str:
        """The whole note; for an unsigned checkpoint the text and a blank line."""
        if not self.signature:
            return self.text + "\n"
        return f"{self.text}\n{_DASH}{self.signer} {base64.b64encode(self.key_id + self.signature).decode()}\n"

    def __str__(self) -> str:
        return self.note

    @classmethod
    def sign(cls, origin: str, size: int, root: bytes, key: Ed25519PrivateKey | None) -> Checkpoint:
        """A checkpoint, signed when a key is given."""
        plain = cls(origin, size, root)
        if key is None:
            return plain
        public = PublicKey.of(key)
        return cls(origin, size, root, public.name, public.key_id, key.sign(plain.text.encode()))

    def signed_by(self, key: PublicKey) -> bool:
        """Whether the signature is there and is the one of ``key``."""
        if self.signer != key.name or self.key_id != key.key_id or len(self.signature) != 64:
            return False
        return key.accepts(self.signature, self.text.encode())

    @classmethod
    def parse(cls, note: str) -> Checkpoint:
        """From the text of a note; refuses what is not one. Says nothing about the signature."""
        if not isinstance(note, str):
            raise InvalidInput("checkpoint", "must be the text of a signed note", type(note).__name__)
        head, blank, tail = note.partition("\n\n")
        lines = head.split("\n")
        if not blank or len(lines) != 3 or not lines[0] or not (lines[1].isascii() and lines[1].isdigit()):
            raise InvalidInput("checkpoint", "must be a signed note: origin, size, root, blank line, signature", note[:80])
        if len(lines[1]) > DIGITS:
            raise InvalidInput("checkpoint", f"the size must have at most {DIGITS} digits", lines[1][:80])
        if lines[1] != str(int(lines[1])):
            raise InvalidInput("checkpoint", "the size must have no leading zeros", lines[1])
        plain = cls(lines[0], int(lines[1]), _decode(lines[2], 32))
        signatures = [_signature(line) for line in tail.split("\n") if line]
        if not signatures:
            return plain
        # Others may have signed it, too: lines under other names are left to those who know them.
        name, blob = next((line for line in signatures if line[0] == SIGNER), signatures[0])
        return cls(plain.origin, plain.size, plain.root, name, blob[:4], blob[4:])

    @classmethod
    def of(cls, value: Checkpoint | str | Path) -> Checkpoint:
        """A checkpoint as it is, from the text of a note, or from the path of a file that holds one."""
        if isinstance(value, Checkpoint):
            return value
        if isinstance(value, str) and "\n" in value:
            return cls.parse(value)
        try:
            return cls.parse(Path(value).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as why:
            raise InvalidInput("checkpoint", f"cannot be read ({why})", str(value)) from why


def _signature(line: str) -> tuple[str, bytes]:
    """(key name, key id and signature) of one signature line; a cosigner's signature may have another length."""
    words = line.removeprefix(_DASH).split(" ")
    if not line.startswith(_DASH) or len(words) != 2 or not words[0]:
        raise InvalidInput("checkpoint", "must have signature lines: — name base64", line[:80])
    return words[0], _decode(words[1], 68 if words[0] == SIGNER else None)


def _decode(text: str, size: int | None) -> bytes:
    try:
        blob = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as why:
        raise InvalidInput("checkpoint", f"is not base64 ({why})", text[:80]) from why
    # A second encoding of the same bytes would make two notes for one checkpoint.
    least = 5 if size is None else size
    if len(blob) < least or len(blob) > (size or len(blob)) or base64.b64encode(blob).decode() != text:
        raise InvalidInput("checkpoint", f"must hold {least} bytes{'' if size else ' or more'} in base64", text[:80])
    return blob
