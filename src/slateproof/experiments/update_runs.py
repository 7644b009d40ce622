"""Many seeds of clipped, noised updates of one small two-tower, at once: what `learner-update` measures.

A step draws each round of a public population with probability q, clips each round's gradient to norm C, adds N(0, (C σ)²) to the
sum, divides by the expected batch, and moves the model by SGD or by Adam. All seeds start at the same model.

Scope: none; a stress test. It runs outside the ledger and releases nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.clipping import clipped_grad

from slateproof.corpora import Corpus
from slateproof.learn.dp_step import round_loss
from slateproof.learn.two_tower_data import Log, Rounds, gather, log_of, on_device
from slateproof.learn.two_tower_model import Facts, Towers, facts_of, logits
from slateproof.types.columns import Floats

__all__ = ["SEGMENT", "Bench", "How", "bench_of", "moved", "reference", "scores_by_depth"]

SEGMENT = 8
"""Updates per compiled call; depths are multiples of it."""

CHUNK = 10
"""Seeds at once."""


class Moments(NamedTuple):
    """Adam's running means of gradients and of their squares, and how many steps they have seen."""

    first: Any
    second: Any
    steps: Any


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """The start, the rounds that updates draw from, and the held-out pools that are scored: ``pools`` rounds, ``items`` (P, n)."""

    model: Towers
    facts: Facts
    log: Log
    rounds: int
    pools: Rounds
    items: Any
    rows: int
    wide: int


def bench_of(corpus: Corpus, config: Any, seed: int) -> Bench:
    """Fresh towers, a sample of training rounds, and the last rounds of test users with drawn candidates.

    ``config`` has rounds, rows, pools, candidates, hidden, embedding and largest_rate (what the padding must hold).
    """
    rows, pools = config.rows, config.pools
    part, rng = corpus.split().part, np.random.default_rng([seed, 5])
    log, held = log_of(corpus, part == 0, rows), log_of(corpus, part == 2, 1)
    kept = np.sort(rng.choice(log.first.size, min(config.rounds, log.first.size), replace=False))
    small = log._replace(first=log.first[kept], count=log.count[kept], user=log.user[kept])
    last = np.flatnonzero(np.diff(held.user, append=-1) != 0)
    chosen = rng.choice(last, pools, replace=False)
    items = np.stack([rng.choice(len(corpus.items), config.candidates, replace=False) for _ in range(pools)])
    model = Towers.new(len(corpus.items), len(corpus.items.tag_names), config.hidden, config.embedding, jax.random.key(seed))
    pool_rounds = gather(on_device(held), jnp.asarray(chosen, jnp.int32), 1)
    expected = config.largest_rate * kept.size
    wide = int(np.ceil(expected + 7.0 * np.sqrt(expected))) + 8
    codes = jnp.asarray(np.sort(items), jnp.int32)
    return Bench(model, facts_of(corpus), on_device(small), kept.size, pool_rounds, codes, rows, wide)


@dataclass(frozen=True, slots=True)
class How:
    """Sampling rate q, noise multiplier σ, clip norm C; Adam or SGD, and its step size."""

    rate: float
    sigma: float
    adam: bool
    step_size: float
    clip: float = 1.0


def scores_by_depth(bench: Bench, depths: tuple[int, ...], seeds: int, how: How, seed: int) -> dict[int, Floats]:
    """Scores (seeds, P, n) at every depth; each seed has its own draws of rounds and its own noise."""
    found: dict[int, list[Floats]] = {depth: [] for depth in depths}
    for first in range(0, seeds, CHUNK):
        for depth, model in _walk(bench, max(depths), how, [seed, 6, first]):
            if depth in found:
                scores = np.asarray(_scores(model, bench.facts, bench.pools, bench.items), np.float64)
                found[depth].append(scores[: seeds - first])
    return {depth: np.concatenate(parts) for depth, parts in found.items()}


def moved(bench: Bench, updates: int, how: How, seed: int) -> Bench:
    """The same with towers after ``updates`` updates, of one seed."""
    *_, (_, models) = _walk(bench, updates, how, [seed, 7])
    return replace(bench, model=jax.tree.map(lambda leaf: leaf[0], models))


def _walk(bench: Bench, updates: int, how: How, seed: list[int]) -> Iterator[tuple[int, Towers]]:
    """(updates so far, models of ``CHUNK`` seeds), every ``SEGMENT`` updates."""
    rng = np.random.default_rng(seed)
    keys = jax.random.split(jax.random.key(int(rng.integers(2**63))), CHUNK)
    model = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (CHUNK, *leaf.shape)), bench.model)
    zeros = jax.tree.map(jnp.zeros_like, model)
    state = (model, Moments(zeros, zeros, jnp.zeros(CHUNK)))
    expected = how.rate * bench.rounds
    settings = jnp.asarray([float(how.adam), how.step_size, how.clip, how.sigma, expected], jnp.float32)
    for depth in range(SEGMENT, updates + 1, SEGMENT):
        drawn = _draws(rng, bench.rounds, how.rate, bench.wide)
        state = _steps(bench.rows, state, bench.facts, bench.log, drawn, jax.vmap(partial(_folded, depth))(keys), settings)
        yield depth, state[0]


def _draws(rng: np.random.Generator, rounds: int, rate: float, wide: int) -> Any:
    """Poisson samples for ``CHUNK`` seeds and ``SEGMENT`` steps as rows of indices, padded with -1."""
    out = np.full((CHUNK, SEGMENT, wide), -1, np.int32)
    for place in np.ndindex(CHUNK, SEGMENT):
        chosen = np.flatnonzero(rng.random(rounds) < rate)
        assert chosen.size <= wide, "a Poisson sample beyond seven standard deviations"
        out[place][: chosen.size] = chosen
    return jnp.asarray(out)


def _folded(depth: int, key: jax.Array) -> jax.Array:
    return jax.random.split(jax.random.fold_in(key, depth), SEGMENT)


@partial(jax.jit, static_argnums=0)
def _steps(rows: int, state: Any, facts: Facts, log: Log, drawn: Any, keys: Any, settings: Any) -> Any:
    """``SEGMENT`` updates of every seed. Gradients of loss / C clipped to 1 are those of the loss clipped to C, over C."""
    adam, step_size, clip, sigma, expected = settings

    def scaled(model: Towers, facts: Facts, one: Rounds) -> jax.Array:
        return round_loss(model, facts, one) / clip

    summed = clipped_grad(scaled, l2_clip_norm=1.0, batch_argnums=2, keep_batch_dim=False)

    def step(carry: Any, at: Any) -> tuple[Any, None]:
        model, moments = carry
        index, key = at
        total = summed(model, facts, gather(log, index, rows), is_padding_example=index < 0)
        gradient = _noised(total, key, sigma, clip / expected)
        moments = _remember(moments, gradient)
        model = jax.tree.map(partial(_move, adam, step_size, moments.steps), model, gradient, moments.first, moments.second)
        return (model, moments), None

    def one(carry: Any, index: Any, key: Any) -> Any:
        return jax.lax.scan(step, carry, (index, key))[0]

    return jax.vmap(one)(state, drawn, keys)


def _noised(total: Towers, key: jax.Array, sigma: Any, scale: Any) -> Towers:
    """(sum + N(0, σ²)) times ``scale``, in units of the clip norm."""
    leaves, shape = jax.tree.flatten(total)
    keys = jax.random.split(key, len(leaves))
    noisy = [scale * (leaf + sigma * jax.random.normal(k, leaf.shape)) for leaf, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(shape, noisy)


def _remember(held: Moments, gradient: Towers) -> Moments:
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, held.first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, held.second, gradient)
    return Moments(first, second, held.steps + 1.0)


def _move(adam: Any, step_size: Any, steps: Any, parameter: Any, gradient: Any, first: Any, second: Any) -> Any:
    """SGD, or Adam (Kingma and Ba 2015, algorithm 1)."""
    unbiased = first / (1.0 - 0.9**steps), second / (1.0 - 0.999**steps)
    direction = jnp.where(adam > 0.5, unbiased[0] / (jnp.sqrt(unbiased[1]) + 1e-8), gradient)
    return parameter - step_size * direction


@jax.jit
def _scores(models: Towers, facts: Facts, pools: Rounds, items: Any) -> Any:
    """(seeds, P, n) logits."""
    return jax.vmap(lambda model: logits(model, facts, pools, items))(models)


def reference(bench: Bench) -> Floats:
    """(P, n): scores of the start."""
    single = jax.tree.map(lambda leaf: leaf[None], bench.model)
    return np.asarray(_scores(single, bench.facts, bench.pools, bench.items)[0], np.float64)
