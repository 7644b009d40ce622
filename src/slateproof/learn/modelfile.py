"""One file per fitted model: a NumPy archive (.npz) without pickle, whose member ``header`` is JSON.

The header carries the format, the learner's name, its configuration and seed, package versions, the corpus (digest and label),
the privacy ledger or null, the dtype and shape of every array, and a SHA-256 over all of that and every array's bytes. The bytes
of a file depend on its content alone, so equal models are equal files.

Scope: none by itself; the file carries the learner's ledger, and whoever reads it learns what the arrays say.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.privacy import Ledger

__all__ = ["FORMAT", "Model", "check_corpus", "pack", "package_versions", "read", "read_for", "unpack", "write"]

FORMAT = 2
"""Raised whenever older files lack something that the code reads: 2 added the scale of the two-tower's scores."""

_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, OSError, EOFError, KeyError, IndexError),
    *(TypeError, AttributeError, NotImplementedError, RuntimeError, MemoryError, OverflowError),
)
"""What zipfile and NumPy raise over archives whose bytes were changed; each was seen, or stands in their source."""

_NAME = "slateproof model"
_HEADER = "header"
_KEYS = ("learner", "config", "seed", "versions", "corpus", "ledger", "arrays", "checksum")


def package_versions(*packages: str) -> dict[str, str]:
    """Python, slateproof, NumPy, and ``packages`` where they are installed: for the header and for manifests."""
    found = {"python": platform.python_version()}
    for name in ("slateproof", "numpy", *packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What a model file holds. ``config`` is plain JSON; ``arrays`` are numbers, booleans or fixed-width text, by name.

    Scope: none by itself.
    """

    learner: str
    config: Mapping[str, Any]
    seed: int
    corpus_digest: str
    corpus_label: str
    arrays: Mapping[str, NDArray[Any]]
    ledger: Ledger | None = None
    versions: Mapping[str, str] = field(default_factory=package_versions)

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if name == _HEADER or not name or "/" in name:
                raise InvalidInput("arrays", "a name must not be empty, 'header', or hold a slash", name)
            if array.dtype.kind not in "biufSU":
                raise InvalidInput("arrays", "must hold numbers, booleans or fixed-width text", str(array.dtype), where=name)


def pack(model: Model) -> bytes:
    """The file's bytes."""
    arrays = {name: _little(model.arrays[name]) for name in sorted(model.arrays)}
    header: dict[str, Any] = {
        "format": [_NAME, FORMAT],
        "learner": model.learner,
        "config": dict(model.config),
        "seed": model.seed,
        "versions": dict(model.versions),
        "corpus": {"digest": model.corpus_digest, "label": model.corpus_label},
        "ledger": None if model.ledger is None else model.ledger.to_dict(),
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()},
    }
    header["checksum"] = _checksum(header, arrays)
    text = np.frombuffer(_canonical(header), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_HEADER: text}, **arrays)
    return buffer.getvalue()


def unpack(data: bytes, source: str = "model") -> Model:
    """The model of ``pack``'s bytes; ``source`` names them in errors. Refuses damage, truncation and other format versions."""
    members = _members(data, source)
    header = _header(members.pop(_HEADER, None), source)
    checksum = header.pop("checksum")
    if header["arrays"] != {name: [array.dtype.str, list(array.shape)] for name, array in members.items()}:
        raise InvalidInput("model", "is damaged: its arrays are not those of its header", source)
    if _checksum(header, members) != checksum:
        raise InvalidInput("model", "is damaged: the checksum does not fit", source)
    for array in members.values():
        array.flags.writeable = False
    return Model(
        learner=header["learner"],
        config=header["config"],
        seed=header["seed"],
        corpus_digest=header["corpus"]["digest"],
        corpus_label=header["corpus"]["label"],
        arrays=members,
        ledger=None if header["ledger"] is None else Ledger.from_dict(header["ledger"]),
        versions=header["versions"],
    )


def write(path: str | Path, model: Model) -> None:
    """Write the file in one step: it is either the old one or the whole new one."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidInput("path", "must lie in a folder that exists", str(path))
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(pack(model))
        beside.replace(path)
    except OSError as why:
        raise InvalidInput("path", f"cannot be written ({why.strerror})", str(path)) from why
    finally:
        beside.unlink(missing_ok=True)


def read(path: str | Path) -> Model:
    """Read a model file; refuses one that is missing, damaged, truncated, no model, or of another format version."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as why:
        raise InvalidInput("model", f"cannot be read ({why.strerror})", str(path)) from why
    return unpack(data, str(path))


def read_for(path: str | Path, corpus: Corpus, *learners: str) -> Model:
    """The same, and refuses a model of a learner that is none of ``learners``, or of another corpus."""
    model = read(path)
    if model.learner not in learners:
        raise InvalidInput("learner", f"of this model must be {' or '.join(learners)}", model.learner, where=str(path))
    check_corpus(model, corpus, str(path))
    return model


def check_corpus(model: Model, corpus: Corpus, source: str = "model") -> None:
    """Refuse a model that was fitted on anything but exactly this corpus: its item codes would mean other items."""
    if model.corpus_digest != corpus.digest:
        rule = f"must be the one the model was fitted on ({model.corpus_label}, digest {model.corpus_digest[:12]})"
        raise InvalidInput("corpus", rule, f"{corpus.label}, digest {corpus.digest[:12]}", where=source)


def _members(data: bytes, source: str) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # A blend's file holds whole files; cut behind one of these, it would open as that inner file.
            if min(member.header_offset for member in archive.infolist()) != 0:
                raise zipfile.BadZipFile("the archive does not begin where the file does")
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _BROKEN as why:
        # Whatever a broken archive makes NumPy stumble over, to the reader it is one thing.
        raise InvalidInput("model", f"is damaged, truncated or no model file ({why})", source) from why


def _header(text: NDArray[Any] | None, source: str) -> dict[str, Any]:
    """The parsed header; the format comes first, because a newer one may hold anything else."""
    try:
        header = json.loads(text.tobytes()) if text is not None else None
    except ValueError as why:
        raise InvalidInput("model", "is damaged: its header is no JSON", source) from why
    if not isinstance(header, dict) or not isinstance(header.get("format"), list) or header["format"][:1] != [_NAME]:
        raise InvalidInput("model", "is no slateproof model file", source)
    found = header["format"][-1]
    if found != FORMAT:
        raise InvalidInput(
            "format", f"of this model file must be {FORMAT}: it was written by another version of slateproof", found, where=source
        )
    for key in _KEYS:
        if key not in header:
            raise InvalidInput("model", "is damaged: a key of its header is missing", key, where=source)
    return header


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(_canonical(header))
    for name in sorted(arrays):
        digest.update(arrays[name].data if arrays[name].size else b"")
    return digest.hexdigest()


def _canonical(header: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as why:
        raise InvalidInput("config", f"must be plain JSON values ({why})") from why


def _little(array: NDArray[Any]) -> NDArray[Any]:
    """C order, little-endian: the bytes are the same whatever machine writes them."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
