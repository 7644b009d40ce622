"""Training of sequence models: minibatch Adam on the cross-entropy of every answer given those before it, stopped early.

Scope: none; this training is not private.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from slateproof.learn.protocol import Progress
from slateproof.learn.sequence_data import Windows, batches_of, grouped

__all__ = ["Network", "Training", "mean_loss", "next_answers", "train_network"]


class Network(Protocol):
    """A sequence model: parameters, and the same prediction twice, over a whole window and step by step.

    ``window`` gives the logit of every answer of one window from the answers before it (``key`` None: no dropout). ``fresh`` is the
    memory of a session before its first answer, ``write`` the memory after one more (unchanged where ``counted`` is False), and
    ``read`` the logits of candidates. Stepping through a window with ``read`` and ``write`` gives what ``window`` gives.
    """

    def window(self, items: jax.Array, labels: jax.Array, key: jax.Array | None) -> jax.Array: ...  # noqa: D102
    def fresh(self) -> Any: ...  # noqa: D102
    def write(self, memory: Any, item: jax.Array, correct: jax.Array, counted: jax.Array) -> Any: ...  # noqa: D102
    def read(self, memory: Any, items: jax.Array) -> jax.Array: ...  # noqa: D102


class Training(NamedTuple):
    """How to train; ``patience`` epochs without a lower validation loss end it."""

    epochs: int
    patience: int
    batch: int
    learning_rate: float


def train_network(
    network: Any, train: Windows, valid: Windows, how: Training, seed: int, progress: Progress | None = None
) -> tuple[Any, list[tuple[float, float]]]:
    """The network of the epoch with the lowest validation loss, and (training, validation) loss per epoch run."""
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    moments = optax.adam(how.learning_rate).init(eqx.filter(network, eqx.is_inexact_array))
    rate, groups, held_out = jnp.float32(how.learning_rate), grouped(train), batches_of(grouped(valid), how.batch)
    best, best_loss, since, steps = network, np.inf, 0, 0
    curve: list[tuple[float, float]] = []
    for epoch in range(how.epochs):
        sums = []
        for batch in batches_of(groups, how.batch, rng):
            network, moments, total = _step(network, moments, batch, jax.random.fold_in(key, steps), rate)
            sums.append((total, int((batch.items >= 0).sum())))
            steps += 1
        loss = mean_loss(network, held_out)
        curve.append((float(sum(float(total) for total, _ in sums)) / max(sum(rows for _, rows in sums), 1), loss))
        if progress is not None:
            progress(epoch + 1, how.epochs, f"training loss {curve[-1][0]:.4f}, validation loss {loss:.4f}")
        best, best_loss, since = (network, loss, 0) if loss < best_loss else (best, best_loss, since + 1)
        if since >= how.patience:
            break
    return best, curve


def mean_loss(network: Any, batches: list[Windows]) -> float:
    """Mean cross-entropy per answer, without dropout."""
    total = sum(float(_summed(network, batch, None)) for batch in batches)
    return total / max(sum(int((batch.items >= 0).sum()) for batch in batches), 1)


def next_answers(network: Any, windows: Windows, batch: int = 256) -> Any:
    """P(correct) of every answer of ``windows`` given those before it in its window, float64 (N, L); 0 behind the last."""
    logits = [np.asarray(_logits(network, part, None), np.float64) for part in batches_of([windows], batch)]
    chances = 1.0 / (1.0 + np.exp(-np.concatenate(logits)))
    return np.where(windows.items >= 0, chances[: len(windows.items)], 0.0)


@eqx.filter_jit
def _logits(network: Any, batch: Windows, key: jax.Array | None) -> jax.Array:
    items, labels = jnp.asarray(batch.items), jnp.asarray(batch.labels)
    if key is None:
        return jax.vmap(lambda i, y: network.window(i, y, None))(items, labels)
    return jax.vmap(network.window)(items, labels, jax.random.split(key, items.shape[0]))


@eqx.filter_jit
def _summed(network: Any, batch: Windows, key: jax.Array | None) -> jax.Array:
    """Summed cross-entropy over the answers of a batch."""
    logits = _logits(network, batch, key)
    return jnp.where(batch.items >= 0, jax.nn.softplus(logits) - batch.labels * logits, 0.0).sum()


@eqx.filter_jit
def _step(network: Any, moments: Any, batch: Windows, key: jax.Array, rate: jax.Array) -> tuple[Any, Any, jax.Array]:
    """One Adam step on the mean cross-entropy of a batch; returns the sum as well."""

    def mean(network: Any) -> tuple[jax.Array, jax.Array]:
        total = _summed(network, batch, key)
        return total / jnp.maximum((batch.items >= 0).sum(), 1), total

    gradient, total = eqx.filter_grad(mean, has_aux=True)(network)  # type: ignore[no-untyped-call]
    updates, moments = optax.adam(rate).update(gradient, moments)
    return eqx.apply_updates(network, updates), moments, total
