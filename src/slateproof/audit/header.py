"""The header of a log: what it is, written once, and bound to every checkpoint through the origin line.

Scope: conditional; it carries the privacy scope that the writer declared.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, get_args

from slateproof.audit.errors import LogUnreadable, NewerLog
from slateproof.audit.schema import SCHEMA_VERSION
from slateproof.errors import InvalidInput

__all__ = ["Header", "Level", "digest_of"]

Level = Literal["replay", "monitor"]


def digest_of(value: Any) -> str:
    """SHA-256 of a value in canonical JSON (sorted keys, no spaces), as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Header:
    """``level``, ``scope`` (the privacy scope's ``to_dict()``, or None), ``software``, ``vkey`` (None: unsigned) and a random
    ``log_id``, which makes two logs of the same slates two logs. ``secret_digest`` is SHA-256 of the secret behind the salts.

    Scope: conditional; it carries the privacy scope that the writer declared.
    """

    level: Level
    log_id: str
    software: str
    secret_digest: str
    vkey: str | None = None
    scope: Mapping[str, Any] | None = None
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def new(cls, level: str, secret: bytes, vkey: str | None, scope: Mapping[str, Any] | None) -> Header:
        """The header of a new log; refuses an unknown level and a scope that is no JSON."""
        if level not in get_args(Level):
            raise InvalidInput("level", "must be 'replay' or 'monitor'", level)
        if scope is not None:
            try:
                scope = json.loads(json.dumps(dict(scope)))
            except (TypeError, ValueError) as why:
                raise InvalidInput("scope", f"must be a mapping that JSON can hold ({why})") from why
        digest = hashlib.sha256(secret).hexdigest()
        return cls(level, secrets.token_hex(16), f"slateproof {version('slateproof')}", digest, vkey, scope)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """The header as plain values."""
        names = ("level", "log_id", "software", "secret_digest", "vkey", "scope", "schema_version")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def parse(cls, text: str) -> Header:
        """From JSON; refuses a newer schema version and what is no header."""
        try:
            fields = json.loads(text)
            version_ = fields["schema_version"]
        except (ValueError, TypeError, KeyError) as why:
            raise LogUnreadable(f"the header of the log is damaged ({why})") from why
        if type(version_) is not int or version_ < 1:
            raise LogUnreadable(f"the header of the log is damaged (schema version {version_!r})")
        if version_ > SCHEMA_VERSION:
            raise NewerLog(f"the log has schema version {version_}; this software reads up to {SCHEMA_VERSION}")
        try:
            header = cls(**fields)
        except TypeError as why:
            raise LogUnreadable(f"the header of the log is damaged ({why})") from why
        texts = (header.log_id, header.software, header.secret_digest, header.vkey or "")
        if header.level not in get_args(Level) or not all(isinstance(text, str) for text in texts):
            raise LogUnreadable("the header of the log is damaged (a level, an id or a key is none)")
        if not isinstance(header.scope, (dict, type(None))):
            raise LogUnreadable("the header of the log is damaged (a scope is an object)")
        return header

    def fits(self, secret: bytes) -> bool:
        """Whether ``secret`` is the one behind the salts of this log."""
        return hashlib.sha256(secret).hexdigest() == self.secret_digest

    @property
    def origin(self) -> str:
        """The first line of every checkpoint: it names this log and nothing else."""
        return f"slateproof/{digest_of(self.to_dict())}"

    @property
    def context(self) -> dict[str, str | None]:
        """What every record repeats: the digest and regime of the privacy scope."""
        regime = None if self.scope is None else self.scope.get("regime")
        return {
            "scope_digest": None if self.scope is None else digest_of(self.scope),
            "regime": None if regime is None else str(regime),
        }
