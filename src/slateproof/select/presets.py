"""Every published constant of operator S, in one place, each with its origin (DESIGN section 7).

Scope: none; settings carry no claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.types import LeverBounds

__all__ = ["PRESETS", "Preset", "preset"]


@dataclass(frozen=True, slots=True)
class Preset:
    """Constants that belong together. ``width_floor`` is the smallest width a learner reports; ``memory`` is L_H."""

    name: str
    lever_constants: dict[str, Any]
    window: float
    target_gain: float
    novelty: float = 0.10  # the authors' earlier artifact
    memory: int = 200  # the authors' earlier artifact
    width_floor: float = 0.05  # the authors' earlier artifact


_LEVERS: dict[str, Any] = {
    # The authors' earlier artifact; signs as in the paper.
    "exploration_base": 0.475,
    "exploration_uncertainty": 0.96,
    "exploration_engagement": 0.64,
    "diversity_base": 0.25,
    "diversity_engagement": 0.80,
    "size_base": 5.0,
    "shift_base": 0.10,
    # The paper, "Lever map": alpha, lambda, K, Delta.
    "bounds": LeverBounds(exploration=(0.05, 0.90), diversity=(0.05, 0.60), size=(2, 8), target_shift=(0.06, 0.22)),
}

_OULAD = Preset(name="oulad", lever_constants=_LEVERS, window=0.30, target_gain=0.20)

PRESETS = {"oulad": _OULAD, "ednet": replace(_OULAD, name="ednet", window=0.20, target_gain=0.30)}


def preset(name: str) -> Preset:
    """The preset called ``name``; refuses others, listing what there is."""
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInput("preset", f"must be one of {', '.join(PRESETS)}", name)
    return PRESETS[name]
