"""Matched candidate pools: drawn once per (round, session), replayed for every mode.

Scope: none; pools drawn without looking at protected data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draws
from slateproof.types.columns import Ints, frozen

__all__ = ["matched_pools"]


def matched_pools(draws: Draws, sessions: Any, rounds: int, items: int, size: int, purpose: str = "pool") -> Ints:
    """(T, S, size) item codes, uniform without replacement, in code order; ``sessions`` are session keys.

    Floyd's algorithm on hashed bits: a pool depends on seed, session and round alone. Refuses a pool larger than the catalogue.
    """
    if size > items:
        raise InvalidInput("pool_size", f"must be at most the catalogue's {items} items", size)
    # One column of bits per draw of a pool; draw j takes one of j + 1 places, so the modulo's bias is below 2^-40.
    places = np.tile(np.arange(size), (len(sessions), 1))
    pools = np.empty((rounds, len(sessions), size), np.int64)
    for t in range(rounds):
        _floyd(draws.bits(purpose, sessions, t, places), items, pools[t])
    pools.sort(axis=2)
    return np.asarray(frozen(pools))


@njit(cache=True, nogil=True)
def _floyd(bits: Any, items: int, out: Any) -> None:
    for s in range(out.shape[0]):
        size = out.shape[1]
        for q in range(size):
            last = items - size + q
            pick = np.int64(bits[s, q] % np.uint64(last + 1))
            for before in range(q):
                if out[s, before] == pick:
                    pick = last  # already taken: take the newest place, which nobody can have
                    break
            out[s, q] = pick
