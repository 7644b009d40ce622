"""Common random numbers: every number the simulator draws is a function of what it is for, never of when it is drawn.

A uniform is a hash of (seed, purpose, session, round, item): the key of seed and purpose is the first eight bytes of a SHA-256,
sessions have keys of their own (SHA-256 of their label), and round and item are mixed in by the finaliser of splitmix64 (Steele,
Lea and Flood 2014; Stafford's mix 13). The same item shown to the same session in the same round meets the same uniform, whatever
the mode, the batch, or the order of calls. Uniforms are (h + 1/2) 2^-53 for the upper 53 bits h: never 0, never 1.

Scope: none; pseudorandom numbers for simulation, not for privacy.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from slateproof.types.columns import Floats, Ints

__all__ = ["Draw", "Draws", "session_key"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def session_key(label: str) -> int:
    """The key of a session: 64 bits of SHA-256 over its label."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")


def _mix(value: Any) -> Any:
    """The finaliser of splitmix64, a bijection of 64-bit words; arithmetic is modulo 2^64."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Draws:
    """All the random numbers of a run, as a function.

    Scope: none.
    """

    seed: int

    def bits(self, purpose: str, sessions: Any, round_: int, items: Any) -> Any:
        """64 random bits for each item of each session: ``sessions`` (S,) keys, ``items`` (S, K) whole numbers from -1 on."""
        text = f"slateproof simulate 1\n{self.seed}\n{purpose}"
        key = np.uint64(session_key(text))
        # Products of single words wrap like those of columns, but NumPy warns about them: one-element columns do not.
        moved = _mix(np.asarray(sessions, np.uint64) ^ key) + np.array([round_ + 1], np.uint64) * _STEP
        codes = (np.asarray(items, np.int64) + 2).astype(np.uint64) * _STEP
        return _mix(_mix(moved)[:, None] + codes)

    def uniforms(self, purpose: str, sessions: Any, round_: int, items: Any) -> Floats:
        """Uniforms in (0, 1), the shape of ``items``."""
        high = self.bits(purpose, sessions, round_, items) >> np.uint64(11)
        return np.asarray((high.astype(np.float64) + 0.5) * 2.0**-53)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The numbers of one round: ``item`` ones belong to the shown items (S, K), ``session`` ones to the sessions (S,).

    Scope: none.
    """

    draws: Draws
    sessions: Any
    round: int
    items: Ints

    def uniform(self, purpose: str) -> Floats:
        """One uniform per shown item."""
        return self.draws.uniforms(purpose, self.sessions, self.round, self.items)

    def session_normal(self, purpose: str, count: int = 1) -> Floats:
        """``count`` standard normals per session, (S, count)."""
        places = np.tile(np.arange(count), (len(self.sessions), 1))
        return np.asarray(ndtri(self.draws.uniforms("session " + purpose, self.sessions, self.round, places)))

    def take(self, rows: Any) -> Draw:
        """The numbers of some of the sessions."""
        return Draw(self.draws, self.sessions[rows], self.round, self.items[rows])
