"""The fitted two-tower: scores and widths of many sessions in one call, and online round updates.

What a session learns online is small: an offset of its state vector (W numbers), an offset of its level, the history that the
state tower reads, and the last layer's widths. The towers are shared and stay as they were trained. One stochastic gradient step
per round, on the binary cross-entropy of the attempted items,

    offset += rate * sum (y - p) v / temperature,    level += rate * sum (y - p)

so that 256 sessions update in one ``vmap`` call of microseconds, and no session can change another's scores.

A scorer trained under differential privacy does not update: raw feedback is no release of its ledger. Its streaming training
(``dp_train``) is how it learns from rounds.

Scope: that of its ledger; without one, non-private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_feedback, check_items, check_seed, finite
from slateproof.learn.modelfile import Model, package_versions, read_for, write
from slateproof.learn.protocol import Context, Feedback, Scores
from slateproof.learn.two_tower_config import Online
from slateproof.learn.two_tower_data import HISTORY
from slateproof.learn.two_tower_model import Towers, state_vectors, temperature
from slateproof.learn.widths import absorb, head_widths, move_heads, ridge_widths
from slateproof.privacy import Ledger
from slateproof.types.columns import Floats, Ints

__all__ = ["Sessions", "TwoTowerScorer"]

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "jax-privacy")


class Sessions(NamedTuple):
    """S sessions: ``offset`` (S, W), ``level`` (S,), ``past`` and ``signs`` (S, L), newest first, ``last`` (the inverse precision
    (S, W, W) or the heads (S, B, W)), ``key`` (S,), ``rounds`` (S,).
    """

    offset: Any
    level: Any
    past: Any
    signs: Any
    last: Any
    key: Any
    rounds: Any


@dataclass(frozen=True, slots=True, eq=False)
class TwoTowerScorer:
    """See the module. ``vectors`` (I, W) are the unit item vectors, ``start`` is a session's ``last`` before its first round.
    ``scale`` is "logit" after a pointwise loss; a pairwise one fixes no level, so that scores are an order only: "none".
    ``settings`` are the learner's, for the model file.

    Scope: that of its ledger.
    """

    model: Towers
    vectors: jax.Array
    start: jax.Array
    online: Online
    seed: int
    corpus_digest: str
    corpus_label: str
    ledger: Ledger | None = None
    name: str = "two-tower"
    scale: str = "logit"
    settings: Mapping[str, Any] = field(default_factory=dict)

    compiled: ClassVar[bool] = True
    """The last digits of a score depend on how many sessions are scored in a call."""

    @property
    def similarity_vectors(self) -> Floats:
        """Item-tower outputs scaled to unit length in float64, one row per item code: for ``Catalog(vectors=...)``."""
        rows = np.asarray(self.vectors, np.float64)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float64)

    def begin(self, context: Context, seed: int) -> Sessions:
        """Fresh sessions: no offset, no history, the trained widths; session s draws from a stream of (seed, s)."""
        size, width = context.user.size, self.vectors.shape[1]
        root = jax.random.key(check_seed(seed))
        return Sessions(
            offset=jnp.zeros((size, width)),
            level=jnp.zeros(size),
            past=jnp.full((size, HISTORY), -1, jnp.int32),
            signs=jnp.zeros((size, HISTORY)),
            last=jnp.broadcast_to(self.start, (size, *self.start.shape)),
            key=jax.vmap(partial(jax.random.fold_in, root))(jnp.arange(size)),
            rounds=jnp.zeros(size, jnp.int32),
        )

    def score(self, session: Sessions, context: Context, items: Ints) -> Scores:
        """Logits and widths of ``items`` (S, n)."""
        codes = check_items(items, context, self.vectors.shape[0])
        self._check_sessions(session, context)
        at = jnp.asarray(codes, jnp.int32)
        scores, widths = _score(self.online.widths, self.model, self.vectors, session, _state(context), at)
        return Scores(finite(np.asarray(scores, np.float64), "scores"), finite(np.asarray(widths, np.float64), "widths"))

    def update(self, session: Sessions, context: Context, feedback: Feedback) -> Sessions:
        """The sessions after one round; the same sessions where the scorer is private."""
        codes, attempted = check_feedback(feedback, context, self.vectors.shape[0])
        self._check_sessions(session, context)
        if self.ledger is not None and self.ledger.non_private is None:
            return session
        correct = np.asarray(feedback.correct, np.float32)
        return _update(
            self.online, self.model, self.vectors, session, _state(context), jnp.asarray(codes, jnp.int32), attempted, correct
        )

    def save(self, path: Path) -> None:
        """Write the parameters, vectors and width start; see ``modelfile``."""
        arrays = {f"model.{name}": np.asarray(value) for name, value in _leaves(self.model).items()}
        arrays |= {"vectors": np.asarray(self.vectors), "start": np.asarray(self.start)}
        versions = package_versions(*PACKAGES)
        config = {"online": asdict(self.online), "name": self.name, "scale": self.scale, "settings": dict(self.settings)}
        write(path, Model("two-tower", config, self.seed, self.corpus_digest, self.corpus_label, arrays, self.ledger, versions))

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> Self:
        """Read it back."""
        held = read_for(path, corpus, "two-tower")
        leaves = {name: jnp.asarray(held.arrays[f"model.{name}"]) for name in Towers.__dataclass_fields__}
        return cls(
            Towers(**leaves), jnp.asarray(held.arrays["vectors"]), jnp.asarray(held.arrays["start"]),
            Online(**held.config["online"]), held.seed, held.corpus_digest, held.corpus_label, held.ledger, held.config["name"],
            held.config["scale"], held.config["settings"],
        )  # fmt: skip

    def _check_sessions(self, session: Sessions, context: Context) -> None:
        if session.rounds.shape[0] != context.user.size:
            raise InvalidInput("session", f"must hold one session per context ({context.user.size})", session.rounds.shape[0])


def _leaves(model: Towers) -> dict[str, jax.Array]:
    return {name: getattr(model, name) for name in model.__dataclass_fields__}


def _state(context: Context) -> jax.Array:
    return jnp.asarray(np.stack([context.knowledge, context.engagement, context.uncertainty], axis=1), jnp.float32)


def _logits(model: Towers, vectors: jax.Array, one: Sessions, state: jax.Array, items: jax.Array) -> jax.Array:
    """Scores of one session's ``items`` (n,)."""
    u, beta = state_vectors(model, state, one.past, one.signs)
    return vectors[items] @ (u + one.offset) / temperature(model) + model.item_bias[items] + beta + one.level


@partial(jax.jit, static_argnums=0)
def _score(kind: str, model: Towers, vectors: jax.Array, sessions: Sessions, states: jax.Array, items: jax.Array) -> Any:
    def one(session: Sessions, state: jax.Array, codes: jax.Array) -> tuple[jax.Array, jax.Array]:
        widths = ridge_widths if kind == "ridge" else head_widths
        return _logits(model, vectors, session, state, codes), widths(session.last, vectors[codes])

    return jax.vmap(one)(sessions, states, items)


@partial(jax.jit, static_argnums=0)
def _update(
    how: Online, model: Towers, vectors: jax.Array, sessions: Sessions, states: jax.Array, items: Any, attempted: Any, correct: Any
) -> Sessions:
    def one(held: Sessions, state: jax.Array, codes: jax.Array, tried: jax.Array, right: jax.Array) -> Sessions:
        counted = tried.astype(jnp.float32)
        rows = vectors[codes]
        residual = (right - jax.nn.sigmoid(_logits(model, vectors, held, state, codes))) * counted
        key = jax.random.fold_in(held.key, held.rounds)
        if how.widths == "ridge":
            last = absorb(held.last, rows, counted)
        else:
            last = move_heads(held.last, rows, residual, counted, how.rate, key)
        # Attempted items go to the front of the history; a stable sort keeps the order of the others.
        order = jnp.argsort(jnp.concatenate([~tried, held.past < 0]), stable=True)[:HISTORY]
        return held._replace(
            offset=held.offset + how.rate * (residual @ rows) / temperature(model),
            level=held.level + how.rate * residual.sum(),
            past=jnp.concatenate([jnp.where(tried, codes, -1), held.past])[order],
            signs=jnp.concatenate([jnp.where(tried, 2.0 * right - 1.0, 0.0), held.signs])[order],
            last=last,
            rounds=held.rounds + 1,
        )

    return jax.vmap(one)(sessions, states, items, attempted, correct)
