"""The manifest of a run: everything its results follow from, and the digest that names it.

Scope: none.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.select import preset
from slateproof.simulate.calibration import Calibration
from slateproof.simulate.config import Config
from slateproof.simulate.modes import TIERS, Mode
from slateproof.simulate.responses import ResponseModel

__all__ = ["check_or_write", "digest_of", "manifest_of", "read_manifest", "write_json"]

FORMAT = 1
PACKAGES = ("slateproof", "numpy", "scipy", "numba", "pyarrow", "jax")


def manifest_of(config: Config, corpus: Corpus, models: dict[str, ResponseModel], fit: Calibration | None) -> dict[str, Any]:
    """Configuration as given and as resolved: modes, presets, response parameters, calibration, corpus, versions."""
    constants = preset(config.preset)
    return {
        "format": FORMAT,
        "config": config.model_dump(mode="json"),
        "corpus": {"label": corpus.label, "digest": corpus.digest, "synthetic": corpus.synthetic},
        "modes": [one.to_dict() for one in config.all_modes()],
        "levers": {one.name: _levers(one, config) for one in config.all_modes()},
        "preset": {k: getattr(constants, k) for k in ("name", "window", "target_gain", "novelty", "memory", "width_floor")},
        "tiers": {name: asdict(tier) for name, tier in TIERS.items()},
        "models": {name: asdict(model) for name, model in models.items()},  # type: ignore[call-overload]
        "calibration": None if fit is None else fit.to_dict(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _levers(mode: Mode, config: Config) -> dict[str, Any]:
    held = mode.constant_levers
    if held is not None:
        return {"fixed": {name: getattr(held, name) for name in ("target_shift", "exploration", "diversity", "size")}}
    return {"map": mode.lever_map(preset(config.preset)).to_dict()}


def digest_of(manifest: dict[str, Any]) -> str:
    """SHA-256 over the manifest as JSON with sorted keys; where the data folder is does not count, what was in it does."""
    config = manifest["config"] | {"corpus": {k: v for k, v in manifest["config"]["corpus"].items() if k != "data"}}
    return hashlib.sha256(b"slateproof simulation 1\n" + _text(manifest | {"config": config}).encode()).hexdigest()


def check_or_write(out: Path, manifest: dict[str, Any]) -> str:
    """Write the manifest into an empty folder, or find the same one there; a folder that holds another run is refused."""
    digest, path = digest_of(manifest), out / "manifest.json"
    if path.exists():
        held = read_manifest(out)["digest"]
        if held != digest:
            raise InvalidInput("out", f"holds a run of another manifest ({held[:12]}; this one is {digest[:12]})", str(out))
        return digest
    try:
        if out.exists() and any(out.iterdir()):
            raise InvalidInput("out", "must be an empty folder, or one that holds this run", str(out))
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, manifest | {"digest": digest})
    except OSError as why:
        raise InvalidInput("out", f"cannot be written ({why.strerror})", str(out)) from why
    return digest


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of a run's folder."""
    try:
        found = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as why:
        raise InvalidInput("out", f"must hold the manifest of a run ({why})", str(out)) from why
    if not isinstance(found, dict) or found.get("format") != FORMAT or "digest" not in found:
        raise InvalidInput("out", f"must hold a manifest of format {FORMAT}", str(out))
    return found


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(_text(value, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, sort_keys=True, indent=indent, default=_plain, allow_nan=True)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not JSON: {type(value).__name__}")
