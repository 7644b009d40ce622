"""Modes: what is compared, as frozen values. A mode names a scorer recipe, a selector, its levers, and what disturbs it.

Scope: none; settings. What a mode may claim is said by ``privacy.assess`` on what it consumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector, LeverMap, Preset, TopKSelector, WindowSelector
from slateproof.select.base import BaseSelector
from slateproof.types import LeverBatch, Levers
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["GRADIENTS", "MODES", "NOISE", "PRIVATE", "TERMS", "TIERS", "VARIANTS", "Mode", "Tier", "mode"]

PRIVATE = "private-two-tower"
"""The two-tower trained under differential privacy with public side inputs only; ``learners`` makes it."""

GRADIENTS = ("two-tower", PRIVATE)
"""Learners whose online update has a gradient that a tier can disturb."""

NOISE = 0.05
"""Standard deviation of the score noise of the ``-noise`` modes, on scores in [0, 1]."""

Kind = Literal["greedy", "window", "top-k"]
TERMS = ("target", "exploration", "diversity", "size")
"""What component removal can take away, one at a time or several."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A nominal configuration of the paper: clip norm, noise multiplier, sampling rate. A label of a stress test, not a guarantee.

    Scope: none; no sampler runs here, so no amplification is due and no epsilon follows.
    """

    clip: float
    noise: float
    rate: float


TIERS: Mapping[str, Tier] = MappingProxyType(
    {"standard": Tier(1.0, 1.2, 0.020), "strong": Tier(1.0, 2.0, 0.015), "locked": Tier(1.0, 3.0, 0.010)}
)
"""The paper's nominal tiers."""


@dataclass(frozen=True, slots=True)
class Mode:
    """``learner``: the adaptive scorer's name in the learners' registry; None scores every item 0. ``anchor``: a fixed scorer mixed
    in with weight ``anchor_weight``. ``updates``: whether the adaptive scorer learns from the session.

    ``selector`` with the preset's constants, ``target_gain`` and ``novelty`` where they are given instead. ``levers``: None is the
    preset's lever map. ``removed``: terms that are off (``TERMS``), in constant levers, too; top-K has none that could be off.
    ``open_loop``: selector and scorer see the neutral state in every round, as if nothing had been observed. ``score_noise``:
    standard deviation of noise on the adaptive score, so (1 - w) times it on the mix. ``tier``: noise of a nominal tier on the
    scorer's online update; with ``verified`` as a mechanism: the noisy clipped gradient of a round is all that moves the session,
    every round is released once, and the ledger says so.

    Scope: none.
    """

    name: str
    learner: str | None = "two-tower"
    anchor: str | None = None
    anchor_weight: float = 0.0
    updates: bool = True
    selector: Kind = "greedy"
    target_gain: float | None = None
    novelty: float | None = None
    levers: Levers | None = None
    removed: frozenset[str] = frozenset()
    open_loop: bool = False
    score_noise: float = 0.0
    tier: str | None = None
    verified: bool = False

    def __post_init__(self) -> None:
        if not self.name or not all(c.isalnum() or c in "-_+.=" for c in self.name):
            raise InvalidInput("modes.name", "must be letters, digits and -_+.= only (it names a file)", self.name)
        if self.selector not in get_args(Kind):
            raise InvalidInput("modes.selector", f"must be one of {', '.join(get_args(Kind))}", self.selector)
        finite_scalar(self.anchor_weight, "modes.anchor_weight", 0.0, 1.0)
        for field in ("score_noise", "target_gain", "novelty"):
            if getattr(self, field) is not None:
                finite_scalar(getattr(self, field), f"modes.{field}", 0.0)
        if self.anchor is None and self.anchor_weight > 0.0:
            raise InvalidInput("modes.anchor", "must be named where there is an anchor_weight", self.anchor)
        for term in sorted(self.removed - set(TERMS)):
            raise InvalidInput("modes.removed", f"must be among {', '.join(TERMS)}", term)
        if self.selector == "top-k" and self.removed - {"size"}:
            raise InvalidInput("modes.removed", "must be empty or size: top-k has no other term to remove", sorted(self.removed))
        if self.tier is not None and self.tier not in TIERS:
            raise InvalidInput("modes.tier", f"must be one of {', '.join(TIERS)}", self.tier)
        if self.tier is not None and not self.updates:
            raise InvalidInput("modes.tier", "disturbs updates, and this mode makes none", self.tier)
        if self.verified and (self.tier is None or self.learner != PRIVATE):
            raise InvalidInput("modes.verified", f"needs a tier and the learner {PRIVATE}", (self.tier, self.learner))

    @property
    def constant_levers(self) -> Levers | None:
        """The constant levers as they act: 0 where removed; None where the map sets them."""
        if self.levers is None:
            return None
        off = {name: 0.0 for name in ("exploration", "diversity") if name in self.removed}
        return replace(self.levers, **off) if off else self.levers  # type: ignore[arg-type]

    @property
    def compares(self) -> bool:
        """Whether similarities between items can reach a slate."""
        held = self.constant_levers
        acts = "diversity" not in self.removed if held is None else held.diversity > 0.0
        return self.selector != "top-k" and acts

    def operator(self, constants: Preset) -> BaseSelector:
        """The selector under a preset's constants."""
        gain = constants.target_gain if self.target_gain is None else self.target_gain
        if "target" in self.removed:
            gain = 0.0
        if self.selector == "top-k":
            return TopKSelector()
        if self.selector == "window":
            return WindowSelector(constants.window, gain)
        return GreedySelector(gain, constants.window, constants.novelty if self.novelty is None else self.novelty)

    def lever_map(self, constants: Preset) -> LeverMap:
        """The preset's map with the removed terms off: their interval is {0}, the size does not adapt."""
        full = LeverMap.preset(constants.name)
        off = {name: (0.0, 0.0) for name in ("exploration", "diversity") if name in self.removed}
        bounds = replace(full.bounds, **off) if off else full.bounds  # type: ignore[arg-type]
        return replace(full, bounds=bounds, size_adapts="size" not in self.removed)

    def lever_columns(self, constants: Preset, engagement: Floats, uncertainty: Floats) -> LeverBatch:
        """The levers of a round."""
        held = self.constant_levers
        if held is not None:
            return LeverBatch.of(held, engagement.size)
        return LeverBatch(**self.lever_map(constants).columns(engagement, uncertainty))

    def largest_size(self, constants: Preset) -> int:
        """The largest slate it may ask for."""
        return self.levers.size if self.levers is not None else int(self.lever_map(constants).bounds.size[1])

    def largest_shift(self, constants: Preset) -> float:
        """Delta_max."""
        return abs(self.levers.target_shift) if self.levers is not None else self.lever_map(constants).bounds.target_shift[1]

    def to_dict(self) -> dict[str, Any]:
        """Every setting by name, ready for JSON."""
        out = asdict(self)
        out["removed"] = sorted(self.removed)
        out["levers"] = None if self.levers is None else {k: getattr(self.levers, k) for k in LEVER_NAMES}
        return out


LEVER_NAMES = ("target_shift", "exploration", "diversity", "size")

_TOP = Levers(target_shift=0.0, exploration=0.0, diversity=0.0, size=5)

MODES: Mapping[str, Mode] = MappingProxyType(
    {
        m.name: m
        for m in (
            Mode("adaptive"),
            Mode("als-selector", learner="mf-bce", updates=False),
            Mode("adaptive-als", anchor="mf-bce", anchor_weight=0.75),
            Mode("adaptive-scpo", selector="window"),
            Mode("als", learner="mf-bce", updates=False, selector="top-k", levers=_TOP),
            # The earlier artifact's "fixed open": constant levers, nothing observed is fed back.
            Mode(
                "fixed", updates=False, open_loop=True,
                levers=Levers(target_shift=0.12, exploration=0.30, diversity=0.25, size=5),
            ),
            # Nothing but proximity to the target; the state still moves the target.
            Mode("greedy-target", learner=None, target_gain=1.0, novelty=0.0, removed=frozenset({"exploration", "diversity"})),
            # LinUCB's own rule: score + 1.5 width, all other terms off (Proposition "LinUCB recovery").
            Mode(
                "linucb", learner="linucb", target_gain=0.0, novelty=0.0,
                levers=Levers(target_shift=0.0, exploration=1.5, diversity=0.0, size=5),
            ),
            Mode("bkt", learner="bkt"),
            Mode("dkt", learner="dkt"),
            Mode("sakt", learner="sakt"),
        )
    }
)  # fmt: skip
"""The eleven modes of the paper. "als" is the paper's ALS, which is MF-BCE; for real ALS write a mode with learner = "als"."""


def _variants() -> Iterator[Mode]:
    for term in TERMS:
        yield replace(MODES["adaptive"], name=f"adaptive-no-{term}", removed=frozenset({term}))
    for base in ("adaptive", "adaptive-als"):
        yield replace(MODES[base], name=f"{base}-noise", score_noise=NOISE)
        for tier in TIERS:
            yield replace(MODES[base], name=f"{base}-{tier}", tier=tier)
    dp = Mode("adaptive-dp", learner=PRIVATE, tier="locked", verified=True)
    yield dp
    # Nothing raw is left: neutral state, no use of difficulties, released vectors and scores, slates made from these alone.
    yield replace(dp, name="end-to-end-private", open_loop=True, removed=frozenset({"target"}))


VARIANTS: Mapping[str, Mode] = MappingProxyType({m.name: m for m in _variants()})
"""Component removal, score noise, nominal tiers, verified private updates, and what the paper lacks: an end-to-end private mode."""


def mode(name: str) -> Mode:
    """The mode of a name; an unknown one is refused with the known ones."""
    known = {**MODES, **VARIANTS}
    if name not in known:
        raise InvalidInput("modes", f"must be among {', '.join(known)}", name)
    return known[name]
