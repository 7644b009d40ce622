"""Files opened for reading, with a refusal in plain words where the file or the disk is at fault.

Scope: none.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from slateproof.errors import InvalidInput

__all__ = ["need_file", "open_bytes", "open_text", "readable"]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What the system or gzip says about ``path`` in the body, as a refusal that names the file."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as why:
        raise InvalidInput("file", f"is not a whole .gz file ({why})", path.name) from why
    except OSError as why:
        raise InvalidInput("file", f"cannot be read ({why.strerror or why})", str(path)) from why


def need_file(path: Path, field: str = "file") -> Path:
    """``path`` when it is a file that is not empty."""
    with readable(path):
        if not path.is_file():
            raise InvalidInput(field, "there is no such file", str(path))
        if path.stat().st_size == 0:
            raise InvalidInput(field, "the file is empty", str(path))
    return path


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The file, unpacked where it ends in .gz; a truncated or damaged .gz is refused."""
    with readable(path), gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as raw:
        yield cast(BinaryIO, raw)


@contextmanager
def open_text(path: Path, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """The same as text, line ends as they are; a byte that is no text becomes a lone surrogate."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding=encoding, errors="surrogateescape", newline="") as text:
        yield text
