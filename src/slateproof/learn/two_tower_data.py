"""Rounds for the two-tower: a log in columns, and batches gathered from it by index.

A *round* is up to ``rows_per_round`` consecutive interactions of one user. It carries the state before its first row: what the
selector would have known. Offline logs hold attempts only, so two of the three state values have stand-ins:

* knowledge: share of the user's earlier answers that were positive, .5 before the first (the paper's k-hat);
* engagement: .5, because a log without skips does not observe it;
* uncertainty: (n + 1)^-1/2 after n answers.

The history of a round is the user's last ``HISTORY`` interactions before it, with a sign for the response.

Scope: none; a batch of protected rows carries no claim.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput

__all__ = ["HISTORY", "Log", "Rounds", "gather", "log_of", "neutral", "on_device", "rounds_of"]

HISTORY = 20
"""How many past interactions the state tower sees."""


class Log(NamedTuple):
    """Columns of a corpus and of its rounds, as NumPy or JAX arrays.

    Per interaction (M,): ``item``, ``label``, ``knowledge`` and ``seen`` (answers of this user before it). Per round (N,):
    ``first`` (its first interaction), ``count`` (its rows), ``user``.
    """

    item: Any
    label: Any
    knowledge: Any
    seen: Any
    first: Any
    count: Any
    user: Any


class Rounds(NamedTuple):
    """A batch of B rounds of R rows: ``items`` (B, R) padded with -1, ``labels`` (B, R), ``state`` (B, 3) as k, e, u, and the
    history: ``past`` (B, L) item codes padded with -1, ``signs`` (B, L), +1 for a positive response and -1 for another.
    """

    items: Any
    labels: Any
    state: Any
    past: Any
    signs: Any


def log_of(corpus: Corpus, users: Any, rows_per_round: int) -> Log:
    """The log of a corpus, with the rounds of the users in the boolean mask ``users``; in user order, then time."""
    if isinstance(rows_per_round, bool) or not isinstance(rows_per_round, int) or rows_per_round < 1:
        raise InvalidInput("rows_per_round", "must be a whole number, at least 1", rows_per_round)
    positive = corpus.positive.astype(np.int64)
    start = corpus.user_starts[corpus.user]
    before = np.concatenate(([0], np.cumsum(positive)))
    seen = np.arange(len(corpus)) - start
    share = (before[np.arange(len(corpus))] - before[start]) / np.maximum(seen, 1)
    knowledge = np.where(seen == 0, 0.5, share)
    first, count, owner = rounds_of(corpus, users, rows_per_round)
    return Log(
        corpus.item.astype(np.int32), positive.astype(np.float32), knowledge.astype(np.float32), seen.astype(np.int32),
        first.astype(np.int32), count.astype(np.int32), owner.astype(np.int32),
    )  # fmt: skip


def rounds_of(corpus: Corpus, users: Any, rows_per_round: int) -> tuple[Any, Any, Any]:
    """First interaction, number of rows and user of each round: a user's interactions cut every ``rows_per_round``."""
    first = np.flatnonzero((corpus.order % rows_per_round == 0) & users[corpus.user])
    owner = corpus.user[first]
    count = np.minimum(rows_per_round, corpus.user_starts[owner + 1] - first)
    return first, count, owner


@partial(jax.jit, static_argnums=2)
def gather(log: Log, index: Any, rows: int) -> Rounds:
    """The rounds at ``index`` (B,), where -1 is padding: all of its rows are padding, its state and history are neutral."""
    real = index >= 0
    first, count = log.first[index], jnp.where(real, log.count[index], 0)
    row = first[:, None] + jnp.arange(rows)
    inside = jnp.arange(rows) < count[:, None]
    row = jnp.where(inside, row, 0)
    seen = jnp.where(real, log.seen[first], 0)
    known = jnp.where(real, log.knowledge[first], 0.5)
    state = jnp.stack([known, jnp.full_like(known, 0.5), 1.0 / jnp.sqrt(seen + 1.0)], axis=1)
    back = jnp.arange(1, HISTORY + 1)
    there = back <= seen[:, None]
    past = jnp.where(there, first[:, None] - back, 0)
    return Rounds(
        jnp.where(inside, log.item[row], -1),
        jnp.where(inside, log.label[row], 0.0),
        state,
        jnp.where(there, log.item[past], -1),
        jnp.where(there, 2.0 * log.label[past] - 1.0, 0.0),
    )


@jax.jit
def neutral(rounds: Rounds) -> Rounds:
    """The same rounds without what earlier rounds tell: state k = e = u = .5 and an empty history."""
    return rounds._replace(
        state=jnp.full_like(rounds.state, 0.5), past=jnp.full_like(rounds.past, -1), signs=jnp.zeros_like(rounds.signs)
    )


def on_device(log: Log) -> Log:
    """The columns as JAX arrays."""
    return Log(*(jax.device_put(column) for column in log))
