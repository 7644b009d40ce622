"""Who the simulated learners are: four profiles (DESIGN section 7, from the authors' earlier artifact).

Scope: none; settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = ["PROFILES", "Profile", "profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A learner before the first round; all in [0, 1].

    ``knowledge`` is the starting ability, ``fatigue``, ``engagement`` and ``trust`` the starting mood.

    Scope: none.
    """

    name: str
    knowledge: float
    fatigue: float
    engagement: float
    trust: float

    def __post_init__(self) -> None:
        for field in ("knowledge", "fatigue", "engagement", "trust"):
            finite_scalar(getattr(self, field), field, 0.0, 1.0)


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        p.name: p
        for p in (
            Profile("struggling", 0.2, 0.7, 0.4, 0.3),
            Profile("steady", 0.5, 0.5, 0.6, 0.5),
            Profile("advancing", 0.7, 0.3, 0.8, 0.7),
            Profile("high_flyer", 0.9, 0.2, 0.9, 0.8),
        )
    }
)
"""The paper's profiles, in its order."""


def profile(name: str) -> Profile:
    """The profile of a name; an unknown one is refused with the known ones."""
    if name not in PROFILES:
        raise InvalidInput("profiles", f"must be among {', '.join(PROFILES)}", name)
    return PROFILES[name]
