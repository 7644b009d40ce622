"""Self-attentive knowledge tracing (Pandey and Karypis 2019): a candidate asks the answers so far how its learner will do.

    m_0 = start,    m_s = E[k_s + r_s K] + (2 r_s - 1) G[i_s] + P[s],    s = 1 .. t  (the last ``window`` answers)
    q_i = Q[k_i] + J[i],    a = LayerNorm(q_i + Attention(q_i; m_0 .. m_t)),    z = LayerNorm(a + FFN(a))
    logit P(item i correct next) = w . z + a[k_i] + b[i]

One block, as published. The slot m_0 lets the first answer be predicted too; G, J and b are the *item terms*: ``item_terms`` False
is the published model, in which all items of a skill share one score.

Scope: non-private; a scorer-interface comparator, as in the paper.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_seed, check_whole
from slateproof.learn.protocol import Progress
from slateproof.learn.sequence_scorer import SequenceScorer, check_settings, fit_network

__all__ = ["SAKT", "History", "SAKTNetwork", "SAKTScorer"]


class History(NamedTuple):
    """The last answers, oldest first: ``items`` (L,) codes, -1 behind the last, ``correct`` (L,)."""

    items: Any
    correct: Any


class SAKTNetwork(eqx.Module):
    """The parameters; float32, and the skill of every item."""

    skill: jax.Array
    start: jax.Array
    interaction: jax.Array
    position: jax.Array
    question: jax.Array
    item_input: jax.Array | None
    item_question: jax.Array | None
    item_bias: jax.Array | None
    skill_bias: jax.Array
    attention: eqx.nn.MultiheadAttention
    norms: tuple[eqx.nn.LayerNorm, eqx.nn.LayerNorm]
    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    head: jax.Array
    dropout: eqx.nn.Dropout

    @classmethod
    def new(
        cls, skill: Any, skills: int, window: int, width: int, heads: int, item_terms: bool, dropout: float, key: jax.Array
    ) -> SAKTNetwork:
        """Fresh parameters; the item terms and positions start at 0."""
        keys = jax.random.split(key, 6)
        items, scale = len(skill), np.float32(1.0 / np.sqrt(width))
        return cls(
            skill=jnp.asarray(skill, jnp.int32),
            start=jnp.zeros(width),
            interaction=jax.random.normal(keys[0], (2 * skills, width)) * scale,
            position=jnp.zeros((window, width)),
            question=jax.random.normal(keys[1], (skills, width)) * scale,
            item_input=jnp.zeros((items, width)) if item_terms else None,
            item_question=jnp.zeros((items, width)) if item_terms else None,
            item_bias=jnp.zeros(items) if item_terms else None,
            skill_bias=jnp.zeros(skills),
            attention=eqx.nn.MultiheadAttention(heads, width, key=keys[2]),
            norms=(eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)),
            inner=eqx.nn.Linear(width, width, key=keys[3]),
            outer=eqx.nn.Linear(width, width, key=keys[4]),
            head=jax.random.normal(keys[5], (width,)) * scale,
            dropout=eqx.nn.Dropout(dropout),
        )

    def fresh(self) -> History:
        """No answers yet."""
        return History(jnp.full(self.position.shape[0], -1, jnp.int32), jnp.zeros(self.position.shape[0]))

    def write(self, memory: History, item: jax.Array, correct: jax.Array, counted: jax.Array) -> History:
        """One more answer behind the others; the oldest makes room where the window is full."""
        length = (memory.items >= 0).sum()
        full = length == memory.items.size
        here = jnp.arange(memory.items.size) == jnp.minimum(length, memory.items.size - 1)

        def put(held: jax.Array, value: jax.Array) -> jax.Array:
            moved = jnp.where(full, jnp.roll(held, -1), held)
            return jnp.where(counted, jnp.where(here, value, moved), held)

        return History(put(memory.items, item), put(memory.correct, correct))

    def read(self, memory: History, items: jax.Array) -> jax.Array:
        """Logits of ``items`` (n,): each sees all answers held, and the start."""
        there = jnp.concatenate([jnp.ones(1, jnp.bool_), memory.items >= 0])
        mask = jnp.broadcast_to(there, (items.size, there.size))
        return self._predict(items, memory.items, memory.correct, mask, None)

    def window(self, items: jax.Array, labels: jax.Array, key: jax.Array | None) -> jax.Array:
        """The logit of every answer: place t sees the start and the answers before t."""
        place = jnp.arange(items.size)
        mask = jnp.arange(items.size + 1) <= place[:, None]
        return self._predict(items, items, labels, mask, key)

    def _predict(self, asked: jax.Array, items: jax.Array, correct: jax.Array, mask: Any, key: jax.Array | None) -> jax.Array:
        keys = (None, None) if key is None else jax.random.split(key)
        query = self.question[self.skill[asked]]
        if self.item_question is not None:
            query = query + self.item_question[asked]
        slots = self._slots(items, correct)
        mixed = self.attention(query, slots, slots, mask)
        mixed = jax.vmap(self.norms[0])(query + self.dropout(mixed, key=keys[0], inference=key is None))
        out = jax.vmap(lambda row: self.outer(jax.nn.relu(self.inner(row))))(mixed)
        out = jax.vmap(self.norms[1])(mixed + self.dropout(out, key=keys[1], inference=key is None))
        score = out @ self.head + self.skill_bias[self.skill[asked]]
        return score if self.item_bias is None else score + self.item_bias[asked]

    def _slots(self, items: jax.Array, correct: jax.Array) -> jax.Array:
        """m_0 .. m_L; those behind the last answer are for the mask to hide."""
        seen = self.interaction[self.skill[items] + (self.interaction.shape[0] // 2) * (correct > 0.5)]
        if self.item_input is not None:
            seen = seen + (2.0 * correct - 1.0)[:, None] * self.item_input[items]
        return jnp.concatenate([self.start[None], seen + self.position[: items.size]])


@dataclass(frozen=True, slots=True)
class SAKT:
    """``width`` of all vectors, ``heads`` of the attention, ``window`` answers; see the module for ``item_terms``.

    Scope: non-private.
    """

    width: int = 48
    heads: int = 4
    window: int = 100
    item_terms: bool = True
    dropout: float = 0.2
    epochs: int = 40
    patience: int = 5
    batch: int = 64
    learning_rate: float = 2e-3

    name: ClassVar[str] = "sakt"

    def __post_init__(self) -> None:
        check_settings(self, "width", "window", "epochs", "patience", "batch")
        if self.width % check_whole(self.heads, "heads", 1):
            raise InvalidInput("heads", f"must divide width ({self.width})", self.heads)

    def network(self, skill: Any, skills: int, window: int, key: jax.Array) -> SAKTNetwork:
        """Fresh parameters for items of these skills and ``window`` places."""
        return SAKTNetwork.new(skill, skills, window, self.width, self.heads, self.item_terms, self.dropout, key)

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> SAKTScorer:
        """Train on the training users, stop early on the validation users."""
        return SAKTScorer(fit_network(self, asdict(self), corpus, check_seed(seed), progress))


class SAKTScorer(SequenceScorer):
    """Scores are P(correct). A session is its last ``window`` answers. It gives no widths.

    Scope: non-private.
    """

    learners = (SAKT.name,)
    learner = SAKT
