"""Widths of a last linear layer: a ridge posterior, or heads fitted to bootstrapped users. Never a constant.

*Ridge* (LinUCB style). A session's posterior over the last layer has the precision

    A_s = ridge I + prior_rows * sum_i p_i v_i v_i' + sum over what the session attempted of v v',
    sigma_s(i) = sqrt(v_i' A_s^-1 v_i)

with the unit item vectors v and the share p_i of item i in the training rows (1/I under differential privacy, where counts may
not be read). The prior is worth ``prior_rows`` average rows, so that widths differ between items from the first round on and
shrink where a session has answered. The inverse is kept, one Sherman-Morrison step per attempted row.

*Bootstrap*. B heads, each a ridge regression of the residuals y - p on v over the training rows, every user counted Poisson(1)
times; a session moves each head by a gradient step whose rows are counted Poisson(1) times again. sigma_s(i) is the standard
deviation of the B heads' predictions.

Scope: that of the vectors, the shares and the residuals they are computed from.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.types.columns import Floats, Ints

__all__ = ["absorb", "bootstrap_heads", "head_widths", "move_heads", "prior_inverse", "ridge_widths"]


def prior_inverse(vectors: Any, share: Floats, ridge: float, prior_rows: float) -> Floats:
    """A^-1 before a session: the inverse of ridge I + prior_rows * sum_i share_i v_i v_i'."""
    v = np.asarray(vectors, np.float64)
    precision = ridge * np.eye(v.shape[1]) + prior_rows * (v * share[:, None]).T @ v
    inverse = np.linalg.inv(precision)
    return (inverse + inverse.T) / 2.0


def ridge_widths(inverse: jax.Array, vectors: jax.Array) -> jax.Array:
    """sqrt(v' A^-1 v) for rows (n, W) of one session."""
    return jnp.sqrt(jnp.maximum(((vectors @ inverse) * vectors).sum(-1), 0.0))


def absorb(inverse: jax.Array, vectors: jax.Array, counted: jax.Array) -> jax.Array:
    """A^-1 of one session after the rows (K, W) of a round; rows with ``counted`` 0 leave it as it is."""

    def one(held: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        vector, weight = row
        moved = held @ vector
        return held - weight * jnp.outer(moved, moved) / (1.0 + vector @ moved), None

    return jax.lax.scan(one, inverse, (vectors, counted))[0]


def bootstrap_heads(
    vectors: Any, item: Ints, residual: Floats, user: Ints, heads: int, ridge: float, rng: np.random.Generator
) -> Floats:
    """(B, W): each head solves (ridge I + sum c v v') w = sum c r v, with one Poisson(1) count c per user and head."""
    v = np.asarray(vectors, np.float64)
    users, place = np.unique(user, return_inverse=True)
    out = np.empty((heads, v.shape[1]))
    for b in range(heads):
        count = rng.poisson(1.0, users.size)[place].astype(np.float64)
        rows = np.bincount(item, weights=count, minlength=v.shape[0])
        sums = np.bincount(item, weights=count * residual, minlength=v.shape[0])
        out[b] = np.linalg.solve(ridge * np.eye(v.shape[1]) + (v * rows[:, None]).T @ v, v.T @ sums)
    return out


def head_widths(heads: jax.Array, vectors: jax.Array) -> jax.Array:
    """Standard deviation over the heads (B, W) of what they predict for rows (n, W) of one session."""
    return (vectors @ heads.T).std(-1)


def move_heads(
    heads: jax.Array, vectors: jax.Array, residual: jax.Array, counted: jax.Array, rate: float, key: jax.Array
) -> jax.Array:
    """Heads of one session after a round: w_b += rate * sum over rows of Poisson(1) * (residual - w_b.v) * v."""
    counts = jax.random.poisson(key, 1.0, (heads.shape[0], vectors.shape[0])) * counted
    left = residual - heads @ vectors.T
    return heads + rate * (counts * left) @ vectors
