"""What can stand in a ledger: four kinds of release, each with the parameters that accounting needs and nothing else.

``noise_multiplier`` is everywhere the standard deviation of the noise divided by the most that one protected unit can move the
released sum (its L2 sensitivity). Where several rows of a unit are clipped to C one by one and then summed, the sensitivity is
their number times C, and the multiplier is smaller accordingly.

Scope: a record of what ran; the claim is the ledger's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = [
    "LEAST_NOISE",
    "MOST_NOISE",
    "Gaussian",
    "NonPrivate",
    "PoissonGaussian",
    "Release",
    "Streaming",
    "noise",
    "release",
    "text",
    "whole",
]


def whole(value: Any, field: str, low: int = 1) -> int:
    """``value`` as a plain integer of at least ``low``; refuses booleans and everything that is not a whole number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidInput(field, "must be a whole number", value)
    if value < low:
        raise InvalidInput(field, f"must be at least {low}", int(value))
    return int(value)


LEAST_NOISE, MOST_NOISE = 1e-9, 1e9
"""Noise multipliers that are recorded: beyond these no accountant computes, and no mechanism is meant."""


def noise(value: Any) -> float:
    """``value`` as a noise multiplier: positive, between 1e-9 and 1e9."""
    number = finite_scalar(value, "noise_multiplier", 0.0)
    if number == 0.0:
        raise InvalidInput("noise_multiplier", "must be positive: a release without noise goes to record_non_private", number)
    return finite_scalar(number, "noise_multiplier", LEAST_NOISE, MOST_NOISE)


def text(value: Any, field: str) -> str:
    """``value``, which must be a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(field, "must be a text that is not empty", value)
    return value


@dataclass(frozen=True, slots=True)
class Gaussian:
    """``count`` Gaussian releases, each over all protected units."""

    kind: ClassVar[str] = "gaussian"
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", noise(self.noise_multiplier))
        object.__setattr__(self, "count", whole(self.count, "count"))

    def __str__(self) -> str:
        return f"{self.count} × Gaussian (noise multiplier {self.noise_multiplier:g})"


@dataclass(frozen=True, slots=True)
class PoissonGaussian:
    """``count`` Gaussian releases, each over a fresh sample that every unit enters independently with ``sampling_rate``."""

    kind: ClassVar[str] = "poisson-gaussian"
    sampling_rate: float
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        rate = finite_scalar(self.sampling_rate, "sampling_rate", 0.0, 1.0)
        if rate == 0.0:
            raise InvalidInput("sampling_rate", "must be positive: a release of nothing is not a release", rate)
        object.__setattr__(self, "sampling_rate", rate)
        object.__setattr__(self, "noise_multiplier", noise(self.noise_multiplier))
        object.__setattr__(self, "count", whole(self.count, "count"))

    def __str__(self) -> str:
        return f"{self.count} × Poisson-sampled Gaussian (rate {self.sampling_rate:g}, noise multiplier {self.noise_multiplier:g})"


@dataclass(frozen=True, slots=True)
class Streaming:
    """``count`` Gaussian releases over disjoint units, numbered ``start`` (included) to ``stop`` (excluded)."""

    kind: ClassVar[str] = "streaming-gaussian"
    noise_multiplier: float
    start: int
    stop: int
    stream: str = "stream"
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", noise(self.noise_multiplier))
        object.__setattr__(self, "start", whole(self.start, "span", 0))
        object.__setattr__(self, "stop", whole(self.stop, "span", 0))
        if self.stop <= self.start:
            raise InvalidInput("span", "must hold at least one unit: start < stop", (self.start, self.stop))
        text(self.stream, "stream")
        count = whole(self.count, "count")
        if count > self.stop - self.start:
            raise InvalidInput("count", "disjoint releases cannot outnumber the units of the span", count)
        object.__setattr__(self, "count", count)

    def __str__(self) -> str:
        return (
            f"{self.count} × single-use Gaussian on stream '{self.stream}', units {self.start} to {self.stop - 1} "
            f"(noise multiplier {self.noise_multiplier:g})"
        )


@dataclass(frozen=True, slots=True)
class NonPrivate:
    """``count`` releases without a DP mechanism, and why."""

    kind: ClassVar[str] = "non-private"
    reason: str
    count: int = 1

    def __post_init__(self) -> None:
        text(self.reason, "reason")
        object.__setattr__(self, "count", whole(self.count, "count"))

    def __str__(self) -> str:
        return f"{self.count} × NON-PRIVATE ({self.reason})"


Release: TypeAlias = Gaussian | PoissonGaussian | Streaming | NonPrivate

_BY_KIND: dict[str, type[Release]] = {one.kind: one for one in (Gaussian, PoissonGaussian, Streaming, NonPrivate)}


def to_dict(event: Release) -> dict[str, Any]:
    """The release as plain values; ``release`` reads it back."""
    return {"kind": event.kind, **asdict(event)}


def release(value: Any) -> Release:
    """The release that ``to_dict`` wrote; refuses an unknown kind, and missing or unknown keys, by name."""
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str) or value["kind"] not in _BY_KIND:
        raise InvalidInput("releases", f"must be tables of a kind among {', '.join(_BY_KIND)}", value)
    kind = _BY_KIND[value["kind"]]
    given = {key: one for key, one in value.items() if key != "kind"}
    expected = {one.name for one in fields(kind)}
    for key in sorted(given.keys() ^ expected):
        raise InvalidInput("releases", f"a {kind.kind} release has exactly the keys {', '.join(sorted(expected))}", key)
    return kind(**given)
