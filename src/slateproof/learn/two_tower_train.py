"""Warm start: minibatch Adam over the training users' rounds, stopped early on the validation users.

Scope: none; this training is not private. ``dp_train`` trains the same model under differential privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from slateproof.learn.protocol import Progress
from slateproof.learn.two_tower_data import Log, Rounds, gather
from slateproof.learn.two_tower_model import Facts, Towers, pairwise_loss, pointwise_loss

__all__ = ["Warm", "batches", "mean_loss", "warm_start"]


class Warm(NamedTuple):
    """How to run a warm start; hashable, because it selects the compiled code."""

    loss: str
    negatives: int
    batch: int
    learning_rate: float
    rows: int


def batches(order: Any, size: int) -> Any:
    """(steps, size): ``order`` in rows of ``size``, the last one padded with -1."""
    steps = -(-order.size // size)
    out = np.full(steps * size, -1, np.int32)
    out[: order.size] = order
    return out.reshape(steps, size)


def warm_start(
    model: Towers, facts: Facts, train: Log, valid: Log, how: Warm, epochs: int, patience: int, seed: int, progress: Progress | None
) -> tuple[Towers, list[tuple[float, float]]]:
    """The model of the epoch with the lowest validation loss, and (training, validation) loss per epoch run.

    Stops after ``patience`` epochs without a lower validation loss.
    """
    rng = np.random.default_rng(seed)
    key = jax.random.key(seed)
    optimiser = optax.adam(how.learning_rate)
    best, best_loss, since = model, np.inf, 0
    moments = optimiser.init(model)
    curve: list[tuple[float, float]] = []
    for epoch in range(epochs):
        order = batches(rng.permutation(train.first.size), how.batch)
        model, moments, total = _epoch(how, model, moments, facts, train, order, jax.random.fold_in(key, 2 * epoch))
        loss = mean_loss(model, facts, valid, how, jax.random.fold_in(key, 1))
        curve.append((float(total), loss))
        if progress is not None:
            progress(epoch + 1, epochs, f"training loss {float(total):.4f}, validation loss {loss:.4f}")
        best, best_loss, since = (model, loss, 0) if loss < best_loss else (best, best_loss, since + 1)
        if since >= patience:
            break
    return best, curve


def mean_loss(model: Towers, facts: Facts, log: Log, how: Warm, key: jax.Array) -> float:
    """Mean loss per counted row over all rounds of ``log``; pairwise negatives come from ``key``, so that epochs compare."""
    order = batches(np.arange(log.first.size), max(how.batch, 2048))
    total, rows = _evaluate(how, model, facts, log, order, key)
    return float(total) / max(float(rows), 1.0)


def _loss(how: Warm) -> Callable[[Towers, Facts, Rounds, jax.Array], tuple[jax.Array, jax.Array]]:
    """Summed loss and number of counted rows of a batch."""

    def pointwise(model: Towers, facts: Facts, batch: Rounds, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        return pointwise_loss(model, facts, batch), (batch.items >= 0).sum()

    def pairwise(model: Towers, facts: Facts, batch: Rounds, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        negatives = jax.random.randint(key, (*batch.items.shape, how.negatives), 0, model.item_bias.size)
        counted = (batch.items >= 0) & (batch.labels > 0.5)
        return pairwise_loss(model, facts, batch, negatives), counted.sum()

    return pairwise if how.loss == "pairwise" else pointwise


@partial(jax.jit, static_argnums=0)
def _epoch(
    how: Warm, model: Towers, moments: Any, facts: Facts, log: Log, order: Any, key: jax.Array
) -> tuple[Towers, Any, jax.Array]:
    """One pass over ``order``: a step per row of it. Returns the mean loss per counted row as well."""
    optimiser = optax.adam(how.learning_rate)
    loss = _loss(how)

    def mean(model: Towers, batch: Rounds, key: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        total, rows = loss(model, facts, batch, key)
        return total / jnp.maximum(rows, 1), (total, rows)

    def step(carry: Any, at: Any) -> Any:
        model, moments = carry
        index, number = at
        grads, sums = jax.grad(mean, has_aux=True)(model, gather(log, index, how.rows), jax.random.fold_in(key, number))
        updates, moments = optimiser.update(grads, moments)
        return (optax.apply_updates(model, updates), moments), sums

    (model, moments), (totals, rows) = jax.lax.scan(step, (model, moments), (order, jnp.arange(order.shape[0])))
    return model, moments, totals.sum() / jnp.maximum(rows.sum(), 1)


@partial(jax.jit, static_argnums=0)
def _evaluate(how: Warm, model: Towers, facts: Facts, log: Log, order: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    loss = _loss(how)

    def step(carry: None, at: Any) -> Any:
        index, number = at
        return carry, loss(model, facts, gather(log, index, how.rows), jax.random.fold_in(key, number))

    totals, rows = jax.lax.scan(step, None, (order, jnp.arange(order.shape[0])))[1]
    return totals.sum(), rows.sum()
