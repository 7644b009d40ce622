"""Private steps: draw, clip per record, sum, record, add noise, move. Model and ledger move together or not at all.

One step of the offline regime (Poisson sampling at rate q from a population of N rounds):

    B      each of the N rounds independently with probability q
    G      = sum over rounds r in B of clip(grad of sum over rows of r of the loss, C)
    model <- model - rate / (q N) * (G + N(0, (C sigma)^2 I))

The noise stands on the sum, and the divisor is the *expected* batch size: the real one is a secret. A round's rows are summed
before the clip, so that one round moves G by at most C whatever its slate size. With ``unit`` "user" the record r is a user: all
rows of a user are summed before the clip, users are sampled, N counts users, and the ledger's unit is the user. One step of the
streaming regime is the same with B the rounds at the next n places, each of which is read once and never again, and divisor n.

A stream's claim rests on its places. A round's place in the log must not depend on which other rounds are there: a number issued
when the slate is served, or a clock tick. Then a round that is taken out leaves its place empty (a round of no rows, which adds
nothing), no other round changes its step, and parallel composition holds. Who closes the gap moves every later round instead:
T steps then cost T, and the ledger of this class would be wrong. Rounds that come later are added with ``extend``; a run that goes
on in another process takes the ledger of the one before and the place of its first round.

``_release`` is the only code that assigns the model, and it writes the ledger's entry before it does: a step that ran without being
recorded cannot be written by calling this class.

Scope: end-to-end for the recorded steps at the level of ``unit``, add-or-remove-one, when ``side_inputs`` is "fixed"; conditional
on what the ledger's ``conditions`` name when it is "conditioned". Noise is float32 from JAX's threefry generator: the claim is for
ideal Gaussian noise and a secret seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.batch_selection import CyclicPoissonSampling, PartitionType, split_and_pad_global_batch
from jax_privacy.clipping import clipped_grad

from slateproof.errors import InvalidInput
from slateproof.learn import dp_seed
from slateproof.learn.checks import check_seed, check_whole
from slateproof.learn.dp_config import Private
from slateproof.learn.dp_records import batch_of, joined
from slateproof.learn.two_tower_data import Log, Rounds, on_device
from slateproof.learn.two_tower_model import Facts, Towers, pointwise_loss
from slateproof.privacy import Cap, Ledger
from slateproof.privacy.accountants import ADD_OR_REMOVE
from slateproof.types.columns import Ints, finite_scalar

__all__ = ["PrivateSteps"]

MICRO = 16
"""Records whose gradients are held at once inside a compiled batch: they fit the cache."""

OFF = "two-tower training with noise and clipping off"


class PrivateSteps:
    """A training run: ``model``, ``ledger`` and ``steps`` (how many steps moved the model).

    ``log`` has one entry per record: a round, or a user where ``how.unit`` says so. ``population`` is the public number of records
    that q and the expected batch refer to; by default that of the log. ``ledger`` takes the entries; by default the run makes its
    own. One that is handed over must be about the same records. ``place`` is the number of the log's first round in its stream.
    ``cap`` is the report of a cap that the log has passed, None where there was none.

    A run cannot be copied or pickled: a copy would draw the same noise once more, beside a ledger that knows nothing of it.

    Scope: see the module.
    """

    def __init__(
        self,
        model: Towers,
        facts: Facts,
        log: Log,
        how: Private,
        *,
        seed: int,
        population: int | None = None,
        ledger: Ledger | None = None,
        place: int = 0,
        cap: Cap | None = None,
    ) -> None:
        rounds = int(log.first.shape[0])
        if how.unit == "user" and np.unique(np.asarray(log.user)).size != rounds:
            raise InvalidInput("log", "must have one record per user", rounds)
        self._how, self._cap = how, cap
        self._stated = population is not None
        self.population = check_whole(rounds if population is None else population, "population", 1)
        self._ledger = _ledger_for(how, self.population) if ledger is None else _fitting(ledger, how)
        self._before = len(self._ledger)
        self._own = ledger is None
        self._steps = 0
        self._model = model
        self._facts = facts._replace(difficulty=jnp.full_like(facts.difficulty, 0.5)) if how.side_inputs == "fixed" else facts
        self._log, self._rounds = on_device(log), rounds
        seed = check_seed(seed)
        # A run that goes on with a ledger must not draw what the one before has drawn, were the seed the same.
        self._sampler = dp_seed.generator(seed, f"sample {self._before}")
        self._key = jax.random.fold_in(dp_seed.key(seed, "noise"), self._before)
        self._place = check_whole(place, "place", 0)
        self._arrived = 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private run cannot be copied or pickled: a copy would draw the same noise, and no ledger would know")

    @property
    def model(self) -> Towers:
        """The released parameters after ``steps`` steps."""
        return self._model

    @property
    def ledger(self) -> Ledger:
        """What ran, written by the steps themselves."""
        return self._ledger

    @property
    def steps(self) -> int:
        """How many steps moved the model."""
        return self._steps

    @property
    def how(self) -> Private:
        """The settings of a step."""
        return self._how

    @property
    def cap(self) -> Cap | None:
        """What the cap on rounds per user took away; counts of protected data, for the operator's eyes."""
        return self._cap

    @property
    def waiting(self) -> int:
        """How many rounds the streaming regime has not read yet."""
        return self._rounds - self._arrived

    def sampled(self, rate: float) -> None:
        """One offline step on a fresh Poisson sample of the records."""
        if finite_scalar(rate, "sampling_rate", 0.0, 1.0) == 0.0:
            raise InvalidInput("sampling_rate", "must be positive", rate)
        index = self._draw(rate)
        self._release(index, rate * self.population, partial(self._ledger.record_poisson_gaussian, sampling_rate=rate))

    def arrivals(self, count: int) -> None:
        """One streaming step on the rounds at the next ``count`` places, fewer at the end; each is read once."""
        count = check_whole(count, "arrivals_per_step", 1)
        if self._how.unit == "user":
            raise InvalidInput("unit", "of a stream must be the round: a user's rows do not all arrive at once", "user")
        if not self.waiting:
            raise InvalidInput("rounds", "of a stream are used once, and all of them were", self._rounds)
        start, stop = self._arrived, min(self._arrived + count, self._rounds)
        self._arrived = stop
        span = (self._place + start, self._place + stop)
        self._release(np.arange(start, stop), float(count), partial(self._ledger.record_streaming, span=span))

    def extend(self, log: Log) -> None:
        """Rounds that came later, at the places behind those of the log so far.

        ``log`` is complete in itself: what a round has as history stands in it, before the round. Where the population is that of
        the log, it grows too.
        """
        if self._how.unit == "user":
            raise InvalidInput("log", "of whole users cannot grow: a later row would belong to a record that was used", "user")
        self._log = on_device(joined(self._log, log))
        self._rounds = int(self._log.first.shape[0])
        if not self._stated:
            self.population = self._rounds
            if self._own:
                self._ledger.population = self._rounds

    def _draw(self, rate: float) -> Ints:
        """Every record independently with probability ``rate``."""
        scheme = CyclicPoissonSampling(sampling_prob=rate, iterations=1, partition_type=PartitionType.INDEPENDENT)
        return next(iter(scheme.batch_iterator(self._rounds, self._sampler))).astype(np.int64)

    def _release(self, index: Ints, expected: float, record: Callable[..., None]) -> None:
        """Sum, noise, entry and move: everything that makes a step, in one place."""
        total = self._sum(index)
        noise = self._how.noise_multiplier
        if noise is None:
            self._ledger.record_non_private(OFF)
        else:
            record(noise_multiplier=noise, given=self._how.given)
            total = self._noisy(total, jax.random.fold_in(self._key, self._steps), self._how.clip * noise)
        self._model = _move(self._model, total, self._how.learning_rate / expected)
        self._steps += 1

    def _sum(self, index: Ints) -> Towers:
        """The sum of the clipped round gradients, in as many physical batches as it takes."""
        total = _zeros(self._model)
        for part in split_and_pad_global_batch(index, self._how.physical_batch, _micro(self._how)):
            total = _add_clipped(self._how, total, self._model, self._facts, self._log, jnp.asarray(part, jnp.int32))
        return total

    def _noisy(self, total: Towers, key: jax.Array, deviation: float) -> Towers:
        """The sum with noise of this standard deviation on every coordinate."""
        return _add_noise(total, key, deviation)


def _ledger_for(how: Private, population: int) -> Ledger:
    return Ledger(how.unit, ADD_OR_REMOVE, population, how.record)


def _fitting(ledger: Ledger, how: Private) -> Ledger:
    """``ledger``, which must be about the records of ``how``."""
    if not isinstance(ledger, Ledger):
        raise InvalidInput("ledger", "must be a Ledger", type(ledger).__name__)
    for field, value in (("unit", how.unit), ("neighbouring", ADD_OR_REMOVE), ("record", how.record)):
        found = getattr(ledger, field)
        if found is not None and found != value:
            raise InvalidInput(f"ledger.{field}", f"must be that of the run ({value})", found)
    return ledger


def round_loss(model: Towers, facts: Facts, one: Rounds) -> jax.Array:
    """The summed loss of one record."""
    return pointwise_loss(model, facts, one)


@jax.jit
def _zeros(model: Towers) -> Towers:
    return jax.tree.map(jnp.zeros_like, model)


def _micro(how: Private) -> int | None:
    """Records per inner batch. Padding stands in the last inner batches, and those that hold nothing else are not computed."""
    return MICRO if how.physical_batch % MICRO == 0 and how.physical_batch > MICRO else None


@partial(jax.jit, static_argnums=0)
def _add_clipped(how: Private, total: Towers, model: Towers, facts: Facts, log: Log, index: Any) -> Towers:
    """``total`` plus the clipped gradients of the records at ``index``; -1 is padding and adds exact zeros."""
    batch = batch_of(log, index, how)
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
