"""The lever map: clipped affine functions from state to levers (the paper's "Lever map"), and its published presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select.presets import preset
from slateproof.types import LeverBounds, Levers, State
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["LeverMap"]

SIZE_FLOOR, SIZE_SLOPE = 0.8, 0.4
"""K_t = clip_Z(K_base (0.8 + 0.4 e-hat)): fixed in the paper."""

SHIFT_FLOOR, SHIFT_SLOPE = 0.8, 0.6
"""Delta_t = clip(Delta_base (0.8 + 0.6 e-hat)): fixed in the paper."""


@dataclass(frozen=True, slots=True)
class LeverMap:
    """State to levers; call it: ``LeverMap.preset("oulad")(state) -> Levers``.

    alpha = clip(exploration_base + exploration_uncertainty (u - .5) - exploration_engagement (e - .5))  [alpha0, c1, c2]
    lambda = clip(diversity_base + diversity_engagement (e - .5))  [lambda0, d1]
    K = clip_Z(floor(size_base (.8 + .4 e) + 1/2)),  Delta = clip(shift_base (.8 + .6 e))  [K_base, Delta_base]

    each into its interval of ``bounds``. Constants are finite and nonnegative, as the paper demands; the bounds of size must be
    finite. ``size_adapts=False`` is the paper's component removal "fixed slate size": K = size_base rounded, clipped.

    Scope: none; a public, deterministic function of the state. Levers computed from raw responses are conditioned inputs.
    """

    exploration_base: float
    exploration_uncertainty: float
    exploration_engagement: float
    diversity_base: float
    diversity_engagement: float
    size_base: float
    shift_base: float
    bounds: LeverBounds
    size_adapts: bool = True

    def __post_init__(self) -> None:
        for field in fields(self)[:7]:
            object.__setattr__(self, field.name, finite_scalar(getattr(self, field.name), field.name, 0.0))
        if isinstance(self.bounds, Mapping):
            object.__setattr__(self, "bounds", _bounds(self.bounds))
        if not isinstance(self.bounds, LeverBounds):
            raise InvalidInput("bounds", "must be LeverBounds", self.bounds)

    @classmethod
    def preset(cls, name: str) -> LeverMap:
        """The constants of a published preset: "oulad" or "ednet" (see ``select.presets`` for their origin)."""
        return cls(**preset(name).lever_constants)

    def __call__(self, state: State) -> Levers:
        """The levers for one state."""
        e, u = state.engagement, state.uncertainty
        box = self.bounds
        alpha = (self.exploration_base + self.exploration_uncertainty * (u - 0.5)) - self.exploration_engagement * (e - 0.5)
        size = self.size_base * (SIZE_FLOOR + SIZE_SLOPE * e) if self.size_adapts else self.size_base
        return Levers(
            target_shift=_clip(self.shift_base * (SHIFT_FLOOR + SHIFT_SLOPE * e), *box.target_shift),
            exploration=_clip(alpha, *box.exploration),
            diversity=_clip(self.diversity_base + self.diversity_engagement * (e - 0.5), *box.diversity),
            size=min(box.size[1], max(box.size[0], math.floor(size + 0.5))),
        )

    def columns(self, engagement: Floats, uncertainty: Floats) -> dict[str, Any]:
        """The same map over columns of states; equal to the scalar map bit for bit."""
        e, u, box = engagement, uncertainty, self.bounds
        alpha = (self.exploration_base + self.exploration_uncertainty * (u - 0.5)) - self.exploration_engagement * (e - 0.5)
        size = self.size_base * (SIZE_FLOOR + SIZE_SLOPE * e) if self.size_adapts else np.full(e.shape, self.size_base)
        return {
            "target_shift": _clips(self.shift_base * (SHIFT_FLOOR + SHIFT_SLOPE * e), *box.target_shift),
            "exploration": _clips(alpha, *box.exploration),
            "diversity": _clips(self.diversity_base + self.diversity_engagement * (e - 0.5), *box.diversity),
            "size": _clips(np.floor(size + 0.5), *box.size).astype(np.int64),
        }

    def to_dict(self) -> dict[str, Any]:
        """Every constant by name, ready for TOML or JSON; ``LeverMap(**values)`` takes it back."""
        return asdict(self)


def _bounds(given: Mapping[str, Any]) -> LeverBounds:
    """The bounds as ``to_dict`` and JSON have them."""
    for name in given:
        if name not in LeverBounds.__dataclass_fields__:
            raise InvalidInput("bounds", "has no such lever", name)
    return LeverBounds(**given)


def _clip(x: float, low: float, high: float) -> float:
    return min(high, max(low, x))


def _clips(x: Floats, low: float, high: float) -> Floats:
    return np.minimum(high, np.maximum(low, x))
