"""The manifest of a run: everything its results follow from, and the digest that names it.

Scope: none.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.modelfile import package_versions
from slateproof.select import preset
from slateproof.simulate.calibration import Calibration
from slateproof.simulate.config import Config
from slateproof.simulate.constants import constants_of
from slateproof.simulate.files import json_text, read_json, write_json
from slateproof.simulate.modes import TIERS, Mode
from slateproof.simulate.responses import ResponseModel

__all__ = ["check_or_write", "digest_of", "manifest_of", "read_manifest"]

FORMAT = 2
"""2: constants, more versions, models tied to the run."""
PACKAGES = ("scipy", "numba", "pyarrow", "jax", "jaxlib", "equinox", "optax", "jax-privacy", "implicit", "dp-accounting")
"""Libraries that compute, beside Python, slateproof and NumPy."""

NAMED = 4
"""So many differences of two manifests are named in an error."""


def manifest_of(config: Config, corpus: Corpus, models: dict[str, ResponseModel], fit: Calibration | None) -> dict[str, Any]:
    """Configuration as given and as resolved: modes, presets, response parameters, calibration, constants, corpus, versions."""
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
        "constants": constants_of(config.learners()),
        "versions": package_versions(*PACKAGES),
    }


def _levers(mode: Mode, config: Config) -> dict[str, Any]:
    held = mode.constant_levers
    if held is not None:
        return {"fixed": {name: getattr(held, name) for name in ("target_shift", "exploration", "diversity", "size")}}
    return {"map": mode.lever_map(preset(config.preset)).to_dict()}


def digest_of(manifest: dict[str, Any]) -> str:
    """SHA-256 over the manifest as JSON with sorted keys; where the data folder is does not count, what was in it does."""
    return hashlib.sha256(b"slateproof simulation 1\n" + json_text(_without_place(manifest)).encode()).hexdigest()


def _without_place(manifest: dict[str, Any]) -> dict[str, Any]:
    config = manifest["config"] | {"corpus": {k: v for k, v in manifest["config"]["corpus"].items() if k != "data"}}
    return {k: v for k, v in (manifest | {"config": config}).items() if k != "digest"}


def check_or_write(out: Path, manifest: dict[str, Any]) -> str:
    """Write the manifest into an empty folder, or find the same one there; a folder that holds another run is refused."""
    digest, path = digest_of(manifest), out / "manifest.json"
    if path.exists():
        held = read_manifest(out)
        if held["digest"] != digest:
            rule = f"holds a run of another manifest ({held['digest'][:12]}; this one is {digest[:12]}), different in "
            raise InvalidInput("out", rule + _differences(held, manifest), str(out))
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
    found = read_json(out / "manifest.json", "the manifest of a run")
    if found.get("format") != FORMAT or "digest" not in found:
        raise InvalidInput("out", f"must hold a manifest of format {FORMAT}", str(out))
    return found


def _differences(held: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The keys in which two manifests differ, the first few of them; what somebody wrote comes before what follows from it."""
    one, two = (_flat(json.loads(json_text(_without_place(each)))) for each in (held, wanted))
    other = [key for key in one.keys() | two.keys() if key not in one or key not in two or one[key] != two[key]]
    keys = sorted(other, key=lambda key: (not key.startswith("config."), key))
    more = len(keys) - NAMED
    return ", ".join(keys[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _flat(value: dict[str, Any], above: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, one in value.items():
        out |= _flat(one, f"{above}{key}.") if isinstance(one, dict) and one else {above + key: one}
    return out
