"""Ed25519 keys of a log: the private key that signs checkpoints, the public key (a "vkey") that checks them.

The text form of a public key is the one of C2SP signed notes: ``name+hash+key``, where ``key`` is base64 of the algorithm byte
0x01 and the 32 key bytes, and ``hash`` the first four bytes of SHA-256(name || "\\n" || 0x01 || key) as hexadecimal digits.

Scope: none; a signature shows who wrote, not that what was written is true.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from slateproof.audit.errors import KeyMismatch

__all__ = ["SIGNER", "PrivateKeyLike", "PublicKey", "PublicKeyLike", "private_key", "public_key"]

SIGNER = "slateproof"
"""The key name in signature lines."""

ED25519 = b"\x01"
PrivateKeyLike: TypeAlias = Ed25519PrivateKey | bytes | str | Path


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A named Ed25519 public key: ``name`` and the 32 key ``raw`` bytes.

    Scope: none; identifies a signer.
    """

    name: str
    raw: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before every signature."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.raw).digest()[:4]

    @property
    def vkey(self) -> str:
        """The text form ``name+hash+key``."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(ED25519 + self.raw).decode()}"

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Whether ``signature`` (64 bytes) signs ``message``."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True

    @classmethod
    def of(cls, key: Ed25519PrivateKey | Ed25519PublicKey) -> PublicKey:
        """The public half of a key."""
        half = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
        return cls(SIGNER, half.public_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """From the text form; refuses what is not one, or whose hash does not fit."""
        parts = text.strip().split("+", 2)
        try:
            name, digest, encoded = parts
            blob = base64.b64decode(encoded, validate=True)
        except (ValueError, binascii.Error) as why:
            raise KeyMismatch(f"public key: must look like name+hash+key (got {text.strip()[:60]!r})") from why
        key = cls(name, blob[1:])
        if blob[:1] != ED25519 or len(blob) != 33 or not name or key.key_id.hex() != digest:
            raise KeyMismatch(f"public key: is damaged, or no Ed25519 key (got {text.strip()[:60]!r})")
        return key


PublicKeyLike: TypeAlias = PublicKey | Ed25519PublicKey | bytes | str | Path


def private_key(key: PrivateKeyLike) -> Ed25519PrivateKey:
    """A private key from an object, 32 raw bytes, or the path of an unencrypted PEM file."""
    if isinstance(key, Ed25519PrivateKey):
        return key
    if isinstance(key, bytes):
        if len(key) != 32:
            raise KeyMismatch(f"key: a raw Ed25519 key has 32 bytes (got {len(key)})")
        return Ed25519PrivateKey.from_private_bytes(key)
    try:
        loaded = load_pem_private_key(_read(key), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise KeyMismatch(f"key: {str(key)!r} is no unencrypted PEM private key ({why})") from why
    if not isinstance(loaded, Ed25519PrivateKey):
        raise KeyMismatch(f"key: {str(key)!r} must hold an Ed25519 key")
    return loaded


def public_key(key: PublicKeyLike) -> PublicKey:
    """A public key from an object, 32 raw bytes, a vkey text, or the path of a file with a vkey or a PEM public key."""
    if isinstance(key, PublicKey):
        return key
    if isinstance(key, Ed25519PublicKey):
        return PublicKey.of(key)
    if isinstance(key, bytes):
        if len(key) != 32:
            raise KeyMismatch(f"public key: a raw Ed25519 key has 32 bytes (got {len(key)})")
        return PublicKey(SIGNER, key)
    if isinstance(key, str) and key.count("+") >= 2 and "\n" not in key.strip() and not Path(key).exists():
        return PublicKey.parse(key)
    return _public_from_file(key)


def _public_from_file(path: str | Path) -> PublicKey:
    blob = _read(path)
    if not blob.lstrip().startswith(b"-----"):
        return PublicKey.parse(blob.decode(errors="replace"))
    try:
        loaded = load_pem_public_key(blob)
    except (ValueError, UnsupportedAlgorithm) as why:
        raise KeyMismatch(f"public key: {str(path)!r} is no PEM public key ({why})") from why
    if not isinstance(loaded, Ed25519PublicKey):
        raise KeyMismatch(f"public key: {str(path)!r} must hold an Ed25519 key")
    return PublicKey.of(loaded)


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as why:
        raise KeyMismatch(f"key: cannot read {str(path)!r} ({why.strerror})") from why
