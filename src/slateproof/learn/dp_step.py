"""Private steps: draw, clip per round, sum, record, add noise, move. Model and ledger move together or not at all.

One step of the offline regime (Poisson sampling at rate q from a population of N rounds):

    B      each of the N rounds independently with probability q
    G      = sum over rounds r in B of clip(grad of sum over rows of r of the loss, C)
    model <- model - rate / (q N) * (G + N(0, (C sigma)^2 I))

The noise stands on the sum, and the divisor is the *expected* batch size: the real one is a secret. A round's rows are summed
before the clip, so that one round moves G by at most C whatever its slate size. One step of the streaming regime is the same with B
the rounds at the next n places, each of which is read once and never again, and divisor n.

A stream's claim rests on its places. A round's place in the log must not depend on which other rounds are there: a number issued
when the slate is served, or a clock tick. Then a round that is taken out leaves its place empty (a round of no rows, which adds
nothing), no other round changes its step, and parallel composition holds. Who closes the gap moves every later round instead:
T steps then cost T, and the ledger of this class would be wrong.

``_release`` is the only code that assigns the model, and it writes the ledger's entry before it does: a step that ran without being
recorded cannot be written by calling this class.

Scope: end-to-end for the recorded steps at round level, add-or-remove-one, when ``side_inputs`` is "fixed"; conditional on state,
history and d(i) when it is "conditioned". Noise is float32 from JAX's threefry generator: the claim is for ideal Gaussian noise and
a secret seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.batch_selection import CyclicPoissonSampling, PartitionType, split_and_pad_global_batch
from jax_privacy.clipping import clipped_grad

from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_whole
from slateproof.learn.dp_config import Private
from slateproof.learn.two_tower_data import Log, Rounds, gather, neutral, on_device
from slateproof.learn.two_tower_model import Facts, Towers, pointwise_loss
from slateproof.privacy import Ledger
from slateproof.types.columns import Ints, finite_scalar

__all__ = ["PrivateSteps"]

MICRO = 16
"""Rounds whose gradients are held at once inside a compiled batch: they fit the cache."""

_WORD = 0xFFFFFFFF

OFF = "two-tower training with noise and clipping off"


class PrivateSteps:
    """A training run: ``model``, ``ledger`` and ``steps`` (how many steps moved the model).

    ``population`` is the public number of rounds that q and the expected batch refer to; by default that of the log.

    Scope: see the module.
    """

    def __init__(self, model: Towers, facts: Facts, log: Log, how: Private, *, seed: int, population: int | None = None) -> None:
        rounds = int(log.first.shape[0])
        self.how = how
        self.population = check_whole(rounds if population is None else population, "population", 1)
        self.ledger = Ledger(unit="round", neighbouring="add-or-remove-one", population=self.population)
        self.steps = 0
        self._model = model
        self._facts, self._log, self._rounds = facts, on_device(log), rounds
        self._sampler = np.random.default_rng([seed, 0])
        self._key = _noise_key(seed)
        self._arrived = 0

    @property
    def model(self) -> Towers:
        """The released parameters after ``steps`` steps."""
        return self._model

    @property
    def waiting(self) -> int:
        """How many rounds the streaming regime has not read yet."""
        return self._rounds - self._arrived

    def sampled(self, rate: float) -> None:
        """One offline step on a fresh Poisson sample."""
        if finite_scalar(rate, "sampling_rate", 0.0, 1.0) == 0.0:
            raise InvalidInput("sampling_rate", "must be positive", rate)
        index = self._draw(rate)
        self._release(index, rate * self.population, partial(self.ledger.record_poisson_gaussian, sampling_rate=rate))

    def arrivals(self, count: int) -> None:
        """One streaming step on the rounds at the next ``count`` places, fewer at the end; each is read once."""
        count = check_whole(count, "arrivals_per_step", 1)
        if not self.waiting:
            raise InvalidInput("rounds", "of a stream are used once, and all of them were", self._rounds)
        span = (self._arrived, min(self._arrived + count, self._rounds))
        self._arrived = span[1]
        self._release(np.arange(*span), float(count), partial(self.ledger.record_streaming, span=span))

    def _draw(self, rate: float) -> Ints:
        """Every round independently with probability ``rate``."""
        scheme = CyclicPoissonSampling(sampling_prob=rate, iterations=1, partition_type=PartitionType.INDEPENDENT)
        return next(iter(scheme.batch_iterator(self._rounds, self._sampler))).astype(np.int64)

    def _release(self, index: Ints, expected: float, record: Callable[..., None]) -> None:
        """Sum, noise, entry and move: everything that makes a step, in one place."""
        total = self._sum(index)
        noise = self.how.noise_multiplier
        if noise is None:
            self.ledger.record_non_private(OFF)
        else:
            record(noise_multiplier=noise)
            total = self._noisy(total, jax.random.fold_in(self._key, self.steps), self.how.clip * noise)
        self._model = _move(self._model, total, self.how.learning_rate / expected)
        self.steps += 1

    def _sum(self, index: Ints) -> Towers:
        """The sum of the clipped round gradients, in as many physical batches as it takes."""
        total = _zeros(self._model)
        for part in split_and_pad_global_batch(index, self.how.physical_batch, _micro(self.how)):
            total = _add_clipped(self.how, total, self._model, self._facts, self._log, jnp.asarray(part, jnp.int32))
        return total

    def _noisy(self, total: Towers, key: jax.Array, deviation: float) -> Towers:
        """The sum with noise of this standard deviation on every coordinate."""
        return _add_noise(total, key, deviation)


def _noise_key(seed: int) -> jax.Array:
    """A key that every bit of the seed reaches: ``jax.random.key`` reads 32 bits, so the words above them are folded in."""
    key = jax.random.key(int(np.random.default_rng([seed, 1]).integers(2**63)) & _WORD)
    while seed := seed >> 32:
        key = jax.random.fold_in(key, seed & _WORD)
    return key


def round_loss(model: Towers, facts: Facts, one: Rounds) -> jax.Array:
    """The summed loss of one round."""
    return pointwise_loss(model, facts, one)


@jax.jit
def _zeros(model: Towers) -> Towers:
    return jax.tree.map(jnp.zeros_like, model)


def _micro(how: Private) -> int | None:
    """Rounds per inner batch. Padding stands in the last inner batches, and those that hold nothing else are not computed."""
    return MICRO if how.physical_batch % MICRO == 0 and how.physical_batch > MICRO else None


@partial(jax.jit, static_argnums=0)
def _add_clipped(how: Private, total: Towers, model: Towers, facts: Facts, log: Log, index: Any) -> Towers:
    """``total`` plus the clipped gradients of the rounds at ``index``; -1 is padding and adds exact zeros."""
    batch = gather(log, index, how.rows_per_round)
    if how.side_inputs == "fixed":
        batch = neutral(batch)
    clip = jnp.inf if how.noise_multiplier is None else how.clip
    clipped = clipped_grad(round_loss, l2_clip_norm=clip, batch_argnums=2, keep_batch_dim=False, microbatch_size=_micro(how))
    return jax.tree.map(jnp.add, total, clipped(model, facts, batch, is_padding_example=index < 0))


@jax.jit
def _add_noise(total: Towers, key: jax.Array, deviation: float) -> Towers:
    leaves, shape = jax.tree.flatten(total)
    keys = jax.random.split(key, len(leaves))
    noisy = [leaf + deviation * jax.random.normal(k, leaf.shape, leaf.dtype) for leaf, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(shape, noisy)


@jax.jit
def _move(model: Towers, total: Towers, rate: float) -> Towers:
    """Plain SGD."""
    return jax.tree.map(lambda p, g: p - rate * g, model, total)
