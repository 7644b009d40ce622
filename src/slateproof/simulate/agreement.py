"""How far noise moved a ranking: Kendall's tau over the pool, and what became of the slate.

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from slateproof.types.columns import Floats, Ints

__all__ = ["Agreement", "agreement", "kendall_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Per session of a round: ``tau`` (b) between clean and noisy scores of the pool, ``jaccard`` of the two slates as sets, and
    whether the ordered slate stayed the ``same``.

    Scope: stability only.
    """

    tau: Floats
    jaccard: Floats
    same: Any


def agreement(clean: Floats, noisy: Floats, before: Ints, after: Ints, starts: Ints) -> Agreement:
    """Clean against noisy: scores (S, n), and chosen positions of the slates, slate s at ``starts[s]:starts[s + 1]``."""
    jaccard, same = np.empty(starts.size - 1), np.empty(starts.size - 1, np.bool_)
    for s in range(starts.size - 1):
        one, two = before[starts[s] : starts[s + 1]], after[starts[s] : starts[s + 1]]
        shared = len(set(one.tolist()) & set(two.tolist()))
        jaccard[s] = shared / (one.size + two.size - shared)
        same[s] = bool((one == two).all())
    return Agreement(kendall_rows(np.ascontiguousarray(clean), np.ascontiguousarray(noisy)), jaccard, same)


@njit(cache=True, nogil=True)
def kendall_rows(x: Any, y: Any) -> Any:
    """Kendall's tau-b of each row pair; 1 where both rows are constant, 0 where one is."""
    out = np.empty(x.shape[0])
    for s in range(x.shape[0]):
        score, left, right = 0, 0, 0
        for i in range(x.shape[1]):
            for j in range(i):
                a = int(x[s, i] > x[s, j]) - int(x[s, i] < x[s, j])
                b = int(y[s, i] > y[s, j]) - int(y[s, i] < y[s, j])
                score += a * b
                left += a * a
                right += b * b
        if left == 0 or right == 0:
            out[s] = 1.0 if left == right else 0.0
        else:
            out[s] = score / np.sqrt(float(left) * float(right))
    return out
