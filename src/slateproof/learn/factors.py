"""Compiled loops over user and item factors: one fixed order of additions, whatever the batch.

A matrix product would be blocked by the size of the batch, and a session scored alone would differ in the last bits from the same
session in a crowd. These loops add in factor order, one score at a time.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.types.columns import Floats, Ints

__all__ = ["add_rows", "bce_gradient", "dot_scores"]


@njit(cache=True, nogil=True)
def dot_scores(user: Floats, item: Floats, user_bias: Floats, item_bias: Floats, codes: Ints) -> Any:
    """out[s, j] = user_bias[s] + item_bias[c] + sum_f user[s, f] item[c, f] with c = codes[s, j]."""
    sessions, size = codes.shape
    out = np.empty((sessions, size))
    for s in range(sessions):
        for j in range(size):
            c = codes[s, j]
            total = 0.0
            for f in range(user.shape[1]):
                total += user[s, f] * item[c, f]
            out[s, j] = (user_bias[s] + item_bias[c]) + total
    return out


@njit(cache=True, nogil=True)
def add_rows(vectors: Floats, table: Floats, codes: Ints, taken: Any) -> None:
    """vectors[s] += table[codes[s, j]] for every place j that is ``taken``, in slate order."""
    for s in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if taken[s, j]:
                for f in range(table.shape[1]):
                    vectors[s, f] += table[codes[s, j], f]


@njit(cache=True, nogil=True)
def bce_gradient(user: Ints, item: Ints, positive: Any, P: Floats, Q: Floats, dP: Floats, dQ: Floats) -> Any:
    """Mean binary cross-entropy of sigmoid(p.q + b_u + b_i) over all rows, its gradient added into ``dP`` and ``dQ``.

    The last column of ``P`` and ``Q`` is the bias. Returns the loss.
    """
    rows, last = user.size, P.shape[1] - 1
    loss = 0.0
    for r in range(rows):
        u, i = user[r], item[r]
        z = P[u, last] + Q[i, last]
        for f in range(last):
            z += P[u, f] * Q[i, f]
        p = 1.0 / (1.0 + np.exp(-z))
        # log(1 + exp(-|z|)) does not overflow, and -log P(y) = that + max(0, -z) for y = 1, + max(0, z) for y = 0.
        loss += np.log1p(np.exp(-abs(z))) + (max(0.0, -z) if positive[r] else max(0.0, z))
        g = (p - (1.0 if positive[r] else 0.0)) / rows
        for f in range(last):
            dP[u, f] += g * Q[i, f]
            dQ[i, f] += g * P[u, f]
        dP[u, last] += g
        dQ[i, last] += g
    return loss / rows
