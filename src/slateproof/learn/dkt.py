"""Deep knowledge tracing (Piech et al. 2015): a recurrent network reads the answers, and predicts the next one per skill.

    x_t = E[k_t + r_t K] + (2 r_t - 1) G[i_t],    (h_t, c_t) = LSTM(x_t, h_{t-1}, c_{t-1})
    logit P(item i correct next) = h_t . V[k_i] + a[k_i] + b[i]

with the skill k of an item (see ``bkt``), the answer r in {0, 1} and K skills. The published model has E, V
and a only: all items of a skill then share one score, which orders no pool. G and b are the *item terms*; ``item_terms`` False is
the published model.

Scope: non-private; a scorer-interface comparator, as in the paper.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.checks import check_seed
from slateproof.learn.protocol import Progress
from slateproof.learn.sequence_scorer import SequenceScorer, check_settings, fit_network

__all__ = ["DKT", "DKTNetwork", "DKTScorer"]


class DKTNetwork(eqx.Module):
    """The parameters; float32, and the skill of every item."""

    skill: jax.Array
    interaction: jax.Array
    item_input: jax.Array | None
    cell: eqx.nn.LSTMCell
    head: jax.Array
    head_bias: jax.Array
    item_bias: jax.Array | None
    dropout: eqx.nn.Dropout

    @classmethod
    def new(cls, skill: Any, skills: int, width: int, item_terms: bool, dropout: float, key: jax.Array) -> DKTNetwork:
        """Fresh parameters; the item terms start at 0."""
        keys = jax.random.split(key, 3)
        items = len(skill)
        return cls(
            skill=jnp.asarray(skill, jnp.int32),
            interaction=jax.random.normal(keys[0], (2 * skills, width)) * np.float32(1.0 / np.sqrt(width)),
            item_input=jnp.zeros((items, width)) if item_terms else None,
            cell=eqx.nn.LSTMCell(width, width, key=keys[1]),
            head=jax.random.normal(keys[2], (skills, width)) * np.float32(1.0 / np.sqrt(width)),
            head_bias=jnp.zeros(skills),
            item_bias=jnp.zeros(items) if item_terms else None,
            dropout=eqx.nn.Dropout(dropout),
        )

    def fresh(self) -> tuple[jax.Array, jax.Array]:
        """(h, c) before the first answer."""
        return jnp.zeros(self.cell.hidden_size), jnp.zeros(self.cell.hidden_size)

    def write(self, memory: Any, item: jax.Array, correct: jax.Array, counted: jax.Array) -> Any:
        """(h, c) after one more answer."""
        seen = self.interaction[self.skill[item] + (self.interaction.shape[0] // 2) * (correct > 0.5)]
        if self.item_input is not None:
            seen = seen + (2.0 * correct - 1.0) * self.item_input[item]
        return jax.tree.map(lambda new, old: jnp.where(counted, new, old), self.cell(seen, memory), memory)

    def read(self, memory: Any, items: jax.Array) -> jax.Array:
        """Logits of ``items`` (n,)."""
        return self._logits(self.head[self.skill[items]] @ memory[0], items)

    def window(self, items: jax.Array, labels: jax.Array, key: jax.Array | None) -> jax.Array:
        """The logit of every answer from those before it; dropout is on h."""

        def step(memory: Any, answer: tuple[jax.Array, jax.Array]) -> Any:
            return self.write(memory, answer[0], answer[1], jnp.asarray(True)), memory[0]

        hidden = jax.lax.scan(step, self.fresh(), (items, labels))[1]
        hidden = self.dropout(hidden, key=key, inference=key is None)
        return self._logits((hidden * self.head[self.skill[items]]).sum(-1), items)

    def _logits(self, inner: jax.Array, items: jax.Array) -> jax.Array:
        score = inner + self.head_bias[self.skill[items]]
        return score if self.item_bias is None else score + self.item_bias[items]


@dataclass(frozen=True, slots=True)
class DKT:
    """``width`` of embedding and memory, ``window`` answers per training sequence; see the module for ``item_terms``.

    Scope: non-private.
    """

    width: int = 48
    window: int = 100
    item_terms: bool = True
    dropout: float = 0.2
    epochs: int = 40
    patience: int = 5
    batch: int = 64
    learning_rate: float = 5e-3

    name: ClassVar[str] = "dkt"

    def __post_init__(self) -> None:
        check_settings(self, "width", "window", "epochs", "patience", "batch")

    def network(self, skill: Any, skills: int, window: int, key: jax.Array) -> DKTNetwork:
        """Fresh parameters for items of these skills; ``window`` does not shape them."""
        return DKTNetwork.new(skill, skills, self.width, self.item_terms, self.dropout, key)

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> DKTScorer:
        """Train on the training users, stop early on the validation users."""
        return DKTScorer(fit_network(self, asdict(self), corpus, check_seed(seed), progress))


class DKTScorer(SequenceScorer):
    """Scores are P(correct). A session is (h, c), moved by every attempted item in slate order. It gives no widths.

    Scope: non-private.
    """

    learners = (DKT.name,)
    learner = DKT
