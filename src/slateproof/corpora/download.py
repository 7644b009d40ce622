"""Download a corpus from its publisher: resumed where it was cut off, checked, unpacked, with the licence stated.

Scope: none; a checksum says that the bytes are the publisher's, not that they are true.
"""

from __future__ import annotations

import hashlib
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path, PurePosixPath
from typing import Any

from slateproof.corpora.registry import Archive, Entry, entry
from slateproof.errors import InvalidInput, SlateproofError

__all__ = ["FetchError", "Fetched", "Progress", "fetch", "licence_notice"]

Progress = Callable[[str, int, int | None], None]
"""Called with the file name, the bytes so far and the total, where the server states one."""

_CHUNK = 1 << 20
_TIMEOUT = 60.0


class FetchError(SlateproofError):
    """The publisher's server could not be reached or did not answer with the file; what arrived is kept, to resume from."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch left on disk: files, the SHA-256 of each archive, and whether each was compared with a stated checksum.

    Scope: none.
    """

    name: str
    notice: str
    files: tuple[Path, ...]
    sha256: dict[str, str]
    pinned: dict[str, bool]

    def to_text(self) -> str:
        """The notice, then one line per archive and the number of files."""
        lines = [self.notice]
        for file, digest in self.sha256.items():
            state = "checksum agrees" if self.pinned[file] else "unpinned: there is no checksum to compare with"
            lines.append(f"{file}: sha256 {digest} ({state})")
        return "\n".join([*lines, f"{len(self.files):,} files"])

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        return {
            "name": self.name,
            "notice": self.notice,
            "files": [str(f) for f in self.files],
            "sha256": dict(self.sha256),
            "pinned": dict(self.pinned),
        }


def licence_notice(name: str) -> str:
    """What the publisher allows; show it before a download begins."""
    found = entry(name)
    own = "nothing is redistributed: you fetch it from its publisher"
    return f"{found.title}\nlicence: {found.licence}\npublisher: {found.page}\n{own}"


def fetch(corpus: str | Entry, data: str | Path, *, progress: Progress | None = None) -> Fetched:
    """Fetch every archive of a corpus and unpack it below ``data``, where ``load`` finds it.

    Refused: a corpus without archives, a download shorter than announced, bytes with another checksum than stated, a file that
    is not the .zip or .gz it should be (as when a page asks for a click), an archive that writes outside its folder or lacks a
    wanted file. Nothing of a refused archive is unpacked. A server's failure is a ``FetchError``; run again to resume.
    """
    found = entry(corpus) if isinstance(corpus, str) else corpus
    if not found.archives:
        raise InvalidInput("name", "has no publisher's address to fetch from", found.name)
    files: list[Path] = []
    digests, pinned = {}, {}
    for archive in found.archives:
        folder = Path(data) / archive.folder
        folder.mkdir(parents=True, exist_ok=True)
        part = _download(archive, folder / f"{archive.file}.part", progress)
        _check_kind(part, archive, found.page)
        digests[archive.file] = _check_sum(part, archive)
        pinned[archive.file] = archive.checksum is not None
        files += _unpack(part, folder, archive)
    return Fetched(found.name, f"{found.title}\nlicence: {found.licence}", tuple(files), digests, pinned)


def _download(archive: Archive, part: Path, progress: Progress | None) -> Path:
    """The archive's bytes at ``part``; what an earlier attempt left is continued, if the server's file is still the same one."""
    tag = part.with_suffix(".etag")
    have = part.stat().st_size if part.exists() and tag.exists() else 0
    headers = {"User-Agent": "slateproof", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag.read_text("utf-8")}
    try:
        with urllib.request.urlopen(urllib.request.Request(archive.address, headers=headers), timeout=_TIMEOUT) as answer:
            _receive(answer, archive, part, tag, have, progress)
    except urllib.error.HTTPError as why:
        if why.code == 416:  # nothing after what we have: begin again
            part.unlink(missing_ok=True)
            tag.unlink(missing_ok=True)
        raise FetchError(f"{archive.address} answered {why.code} {why.reason}") from why
    except (urllib.error.URLError, TimeoutError, ConnectionError, HTTPException) as why:
        raise FetchError(f"{archive.address}: {why}; run again to resume") from why
    tag.unlink(missing_ok=True)
    return part


def _receive(answer: HTTPResponse, archive: Archive, part: Path, tag: Path, have: int, progress: Progress | None) -> None:
    resumed = answer.status == 206 and (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-")
    if answer.status == 206 and not resumed:
        raise FetchError(f"{archive.address} answered with another range than asked for")
    done = have if resumed else 0
    length = answer.headers.get("Content-Length")
    total = done + int(length) if length is not None else None
    strong = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
    if strong and not strong.startswith("W/"):
        tag.write_text(strong, "utf-8")  # without a validator a later attempt begins again, rather than mix two files
    else:
        tag.unlink(missing_ok=True)
    with part.open("ab" if resumed else "wb") as out:
        while block := _read(answer):
            out.write(block)
            done += len(block)
            if progress is not None:
                progress(archive.file, done, total)
    if total is not None and done != total:
        raise InvalidInput(
            "download", f"is truncated: {total:,} bytes were announced; run again to resume", done, where=archive.file
        )


def _read(answer: HTTPResponse) -> bytes:
    """The next bytes; what came before a connection broke off counts, and its length tells that it did."""
    try:
        return answer.read(_CHUNK)
    except IncompleteRead as broken:
        return broken.partial


def _check_kind(part: Path, archive: Archive, page: str) -> None:
    """The first bytes must be those of the kind that the name promises."""
    magic = {".zip": b"PK", ".gz": b"\x1f\x8b"}.get(Path(archive.file).suffix)
    with part.open("rb") as file:
        start = file.read(64)
    if not start or (magic is not None and not start.startswith(magic)) or start.lstrip()[:1] == b"<":
        part.unlink()
        rule = f"is not a {Path(archive.file).suffix} file; fetch it by hand from {page} into the folder {archive.folder!r}"
        raise InvalidInput("download", rule, start[:24], where=archive.file)


def _check_sum(part: Path, archive: Archive) -> str:
    """SHA-256 of the file; refused and deleted where the stated checksum differs."""
    kind, _, stated = (archive.checksum or "sha256:").partition(":")
    with part.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        found = sha256 if kind == "sha256" else hashlib.file_digest(file, kind).hexdigest()
    if stated and found != stated:
        part.unlink()
        raise InvalidInput("checksum", f"must be {kind} {stated}; the file was deleted", found, where=archive.file)
    return sha256


def _unpack(part: Path, folder: Path, archive: Archive) -> list[Path]:
    """Every wanted member under another name first, its inner checksum tested on the way; renamed when all of them are whole."""
    if Path(archive.file).suffix != ".zip":
        part.replace(folder / archive.file)
        return [folder / archive.file]
    halves: list[tuple[Path, Path]] = []
    try:
        with zipfile.ZipFile(part) as packed:
            for info, relative in _members(packed, archive):
                target = folder / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                halves.append((target.with_name(target.name + ".half"), target))
                with packed.open(info) as source, halves[-1][0].open("wb") as out:
                    shutil.copyfileobj(source, out, _CHUNK)
    except (zipfile.BadZipFile, zlib.error, EOFError) as why:
        for half, _ in halves:
            half.unlink(missing_ok=True)
        part.unlink()
        raise InvalidInput("download", f"is not a whole .zip file ({why}); it was deleted", where=archive.file) from why
    for half, target in halves:
        half.replace(target)
    part.unlink()
    return [target for _, target in halves]


def _members(packed: zipfile.ZipFile, archive: Archive) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files to unpack and where to, relative to the folder; every name is checked before the first byte is written."""
    out = []
    for info in packed.infolist():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir() or "__MACOSX" in path.parts:
            continue
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise InvalidInput("download", "the archive writes outside its folder", info.filename, where=archive.file)
        if archive.members and path.name not in archive.members:
            continue
        out.append((info, PurePosixPath(path.name) if archive.members else path))
    found = {path.name for _, path in out}
    # A README is wanted where there is one, under either of its usual names.
    lacking = [name for name in archive.members if name not in found and not name.startswith("README")]
    if lacking or not out:
        raise InvalidInput("download", "the archive lacks a wanted file", lacking or None, where=archive.file)
    return out
