"""The folder that a demo writes into: ours by a marker file, or refused.

Scope: none; files.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from slateproof.errors import InvalidInput

__all__ = ["Folder"]

_MARKER = ".slateproof-demo"
_MADE = ("log", "tampered", "policy.toml", "private.toml", "ledger.json", "early.note", "public.vkey", "report.html")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the files of a demo stand.

    Scope: none; names.
    """

    path: Path

    @classmethod
    def claim(cls, path: Path) -> Folder:
        """A new or empty folder, or an earlier demo's with what that demo made taken away; anything else is refused unchanged.

        Files that no demo makes are left where they are, also in an earlier demo's folder.
        """
        marker = path / _MARKER
        if path.exists() and not path.is_dir():
            raise InvalidInput("out", "must be a folder, and is a file", str(path))
        if path.is_dir() and any(path.iterdir()) and not marker.is_file():
            raise InvalidInput("out", "is not empty and was not made by a demo: name a new folder", str(path))
        path.mkdir(parents=True, exist_ok=True)
        marker.write_text("made by `slateproof demo`, which replaces its files here when it runs again\n", encoding="utf-8")
        for name in _MADE:
            old = path / name
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            else:
                old.unlink(missing_ok=True)
        return cls(path)

    @property
    def log(self) -> Path:
        """The audit log."""
        return self.path / "log"

    @property
    def tampered(self) -> Path:
        """A copy of the log in which one number was forged."""
        return self.path / "tampered"

    @property
    def policy(self) -> Path:
        """The policy of the class."""
        return self.path / "policy.toml"

    @property
    def private(self) -> Path:
        """The policy that reads released numbers only."""
        return self.path / "private.toml"

    @property
    def ledger(self) -> Path:
        """What ran under differential privacy."""
        return self.path / "ledger.json"

    @property
    def early(self) -> Path:
        """The checkpoint that the auditor was given halfway."""
        return self.path / "early.note"

    @property
    def key(self) -> Path:
        """The public key of the log."""
        return self.path / "public.vkey"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"
