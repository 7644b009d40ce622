"""The two towers: parameters, forward pass, loss of a round.

State tower: x = [mean of signed history embeddings, state - 1/2]; h = relu(W1 x + c1); FiLM gating by the state,
h' = (1 + g(s)) * h + f(s); u = W2 h', and a bias beta = w.h' + c. Item tower: embedding, difficulty and tags through one hidden
layer to v. Score, a logit:

    score(s, i) = cos(u, v_i) / temperature + b_i + beta,    temperature in [.25, 4]

The temperature is .25 * 16^sigmoid(t): always inside its bounds, and never stuck at one of them as a clipped parameter would be.
The FiLM weights start at 0, so that a state value which the training data never moves (engagement, in an offline log) has no
effect instead of a random one; the first layer's state columns start at 0 for the same reason.

Scope: none; a model is as private as the training that made it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.features import training_difficulty
from slateproof.learn.two_tower_data import Rounds

__all__ = [
    "Facts", "Towers", "facts_of", "item_vectors", "logits", "pairwise_loss", "pointwise_loss", "state_vectors", "temperature",
]  # fmt: skip

STATE = 3


class Facts(NamedTuple):
    """What the item tower reads besides its embedding: ``difficulty`` (I,), ``tags`` (I, T) with rows of unit length or zero."""

    difficulty: Any
    tags: Any


class Towers(eqx.Module):
    """The parameters; every leaf is a float32 array."""

    embedding: jax.Array
    item_bias: jax.Array
    tag_weight: jax.Array
    difficulty_weight: jax.Array
    item_first: jax.Array
    item_first_bias: jax.Array
    item_second: jax.Array
    state_first: jax.Array
    state_first_bias: jax.Array
    film: jax.Array
    state_second: jax.Array
    state_bias: jax.Array
    level: jax.Array
    heat: jax.Array

    @classmethod
    def new(cls, items: int, tags: int, hidden: int, width: int, key: jax.Array) -> Towers:
        """Fresh parameters: scaled normal weights; zeros for biases, FiLM and the columns of the state."""
        keys = jax.random.split(key, 6)

        def weight(k: jax.Array, rows: int, columns: int) -> jax.Array:
            return jax.random.normal(k, (rows, columns)) * np.float32(1.0 / np.sqrt(max(columns, 1)))

        past = weight(keys[3], hidden, width)
        return cls(
            embedding=jax.random.normal(keys[0], (items, width)) * np.float32(0.1),
            item_bias=jnp.zeros(items),
            tag_weight=weight(keys[1], hidden, tags),
            difficulty_weight=jnp.zeros(hidden),
            item_first=weight(keys[2], hidden, width),
            item_first_bias=jnp.full(hidden, 0.1),
            item_second=weight(keys[4], width, hidden),
            state_first=jnp.concatenate([past, jnp.zeros((hidden, STATE))], axis=1),
            state_first_bias=jnp.full(hidden, 0.1),
            film=jnp.zeros((2 * hidden, STATE)),
            state_second=weight(keys[5], width, hidden),
            state_bias=jnp.zeros(hidden),
            level=jnp.zeros(()),
            heat=jnp.zeros(()),
        )


def facts_of(corpus: Corpus, *, fixed: bool = False) -> Facts:
    """Difficulty among training users (``features.training_difficulty``) and tags; ``fixed`` takes .5 for the difficulty.

    The corpus' own d(i) counts held-out answers: a tower that reads it has seen what it is tested on.
    """
    difficulty = np.full(len(corpus.items), 0.5) if fixed else training_difficulty(corpus)
    return Facts(jnp.asarray(difficulty, jnp.float32), jnp.asarray(corpus.items.tag_vectors(), jnp.float32))


def temperature(model: Towers) -> jax.Array:
    """The learned temperature, in [.25, 4]."""
    return 0.25 * 16.0 ** jax.nn.sigmoid(model.heat)


@jax.jit
def item_vectors(model: Towers, facts: Facts, items: jax.Array) -> jax.Array:
    """Unit rows v_i of the item tower for codes of any shape; a padding code (-1) takes the last item, for the caller to mask."""
    inside = model.embedding[items] @ model.item_first.T + facts.tags[items] @ model.tag_weight.T
    inside = inside + (facts.difficulty[items] - 0.5)[..., None] * model.difficulty_weight + model.item_first_bias
    return _unit(jax.nn.relu(inside) @ model.item_second.T)


@jax.jit
def state_vectors(model: Towers, state: jax.Array, past: jax.Array, signs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Unit u and the bias beta, from state (..., 3) and history (..., L)."""
    centred = state - 0.5
    weights = signs / jnp.sqrt(jnp.maximum((past >= 0).sum(-1, keepdims=True), 1))
    summary = (weights[..., None] * model.embedding[past]).sum(-2)
    hidden = jax.nn.relu(jnp.concatenate([summary, centred], -1) @ model.state_first.T + model.state_first_bias)
    gain, shift = jnp.split(centred @ model.film.T, 2, axis=-1)
    hidden = (1.0 + gain) * hidden + shift
    return _unit(hidden @ model.state_second.T), hidden @ model.state_bias + model.level


@jax.jit
def logits(model: Towers, facts: Facts, one: Rounds, items: jax.Array) -> jax.Array:
    """Scores of ``items`` (..., n) under the states and histories of ``one`` (...)."""
    u, beta = state_vectors(model, one.state, one.past, one.signs)
    v = item_vectors(model, facts, items)
    return (v @ u[..., None])[..., 0] / temperature(model) + model.item_bias[items] + beta[..., None]


@jax.jit
def pointwise_loss(model: Towers, facts: Facts, one: Rounds) -> jax.Array:
    """Summed binary cross-entropy over the rows of a round (or of a batch of rounds)."""
    score = logits(model, facts, one, one.items)
    each = jax.nn.softplus(score) - one.labels * score
    return jnp.where(one.items >= 0, each, 0.0).sum()


@jax.jit
def pairwise_loss(model: Towers, facts: Facts, one: Rounds, negatives: jax.Array) -> jax.Array:
    """Summed -log sigmoid(score of a positive row - score of its negatives (..., R, m)); other rows count as nothing."""
    score = logits(model, facts, one, one.items)
    flat = negatives.reshape(*negatives.shape[:-2], -1)
    below = logits(model, facts, one, flat).reshape(negatives.shape)
    each = jax.nn.softplus(below - score[..., None]).mean(-1)
    return jnp.where((one.items >= 0) & (one.labels > 0.5), each, 0.0).sum()


def _unit(x: jax.Array) -> jax.Array:
    """Rows of unit length; the floor keeps the gradient finite at a row of zeros, which stays shorter."""
    return x * jax.lax.rsqrt(jnp.maximum((x * x).sum(-1, keepdims=True), 1e-6))
