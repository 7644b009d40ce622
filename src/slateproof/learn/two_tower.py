"""The two-tower learner: state tower and item tower, warm-started on a corpus, updated online per session.

Paper, "Reproducibility details": 96 hidden and 48 embedding dimensions, gated by the learner state.

Scope: none; trained this way it is non-private. ``dp_train.PrivateTwoTower`` trains the same model under differential privacy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_seed, check_whole
from slateproof.learn.protocol import Progress
from slateproof.learn.two_tower_config import LOSSES, SCALES, Online
from slateproof.learn.two_tower_data import Log, gather, log_of, on_device
from slateproof.learn.two_tower_model import Facts, Towers, facts_of, item_vectors, logits
from slateproof.learn.two_tower_scorer import TwoTowerScorer
from slateproof.learn.two_tower_train import Warm, batches, warm_start
from slateproof.learn.widths import bootstrap_heads, prior_inverse
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["TwoTower", "all_vectors", "towers_for"]


@dataclass(frozen=True, slots=True)
class TwoTower:
    """Configuration. ``loss`` is "pointwise" (binary cross-entropy of the responses) or "pairwise" (each positive row against
    ``negatives`` items drawn uniformly from the catalogue; a draw may hit another positive of the user).

    ``widths`` and ``online_rate``: see ``two_tower_scorer``; ``ridge``, ``prior_rows`` and ``heads``: see ``widths``.

    Scope: none; settings.
    """

    hidden: int = 96
    embedding: int = 48
    loss: str = "pointwise"
    negatives: int = 4
    epochs: int = 8
    patience: int = 2
    batch: int = 256
    learning_rate: float = 1e-3
    widths: str = "ridge"
    online_rate: float = 0.05
    ridge: float = 1.0
    prior_rows: float = 20.0
    heads: int = 10
    name: str = "two-tower"

    def __post_init__(self) -> None:
        for field in ("hidden", "embedding", "negatives", "epochs", "patience", "batch"):
            check_whole(getattr(self, field), field, 1)
        check_whole(self.heads, "heads", 2)
        if self.loss not in LOSSES:
            raise InvalidInput("loss", f"must be one of {', '.join(LOSSES)}", self.loss)
        for field in ("learning_rate", "ridge"):
            if finite_scalar(getattr(self, field), field, 0.0) == 0.0:
                raise InvalidInput(field, "must be positive", 0.0)
        finite_scalar(self.prior_rows, "prior_rows", 0.0)
        Online(self.widths, self.online_rate)

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> TwoTowerScorer:
        """Train on the training users, stop early on the validation users. Needs a batch's worth of patience, not of memory."""
        seed = check_seed(seed)
        part = corpus.split().part
        train, valid = on_device(log_of(corpus, part == 0, 1)), on_device(log_of(corpus, part == 1, 1))
        facts = facts_of(corpus)
        model = towers_for(corpus, self, seed)
        how = Warm(self.loss, self.negatives, self.batch, self.learning_rate, 1)
        model, _ = warm_start(model, facts, train, valid, how, self.epochs, self.patience, seed, progress)
        return self.scorer(model, facts, corpus, train, seed)

    def scorer(self, model: Towers, facts: Facts, corpus: Corpus, train: Log, seed: int) -> TwoTowerScorer:
        """The scorer of trained towers, its widths prepared from the training rows."""
        vectors = all_vectors(model, facts)
        rows = np.asarray(train.first)
        item = np.asarray(train.item)[rows].astype(np.int64)
        if self.widths == "ridge":
            share = np.bincount(item, minlength=len(corpus.items)) / item.size
            start = prior_inverse(vectors, share, self.ridge, self.prior_rows)
        else:
            residual = np.asarray(train.label)[rows] - _probabilities(model, facts, train)
            rng = np.random.default_rng([seed, 1])
            start = bootstrap_heads(vectors, item, residual, np.asarray(train.user), self.heads, self.ridge, rng)
        return TwoTowerScorer(
            model, vectors, jnp.asarray(start, jnp.float32), Online(self.widths, self.online_rate), seed, corpus.digest,
            corpus.label, name=self.name, scale=SCALES[self.loss], settings=asdict(self),
        )  # fmt: skip


def towers_for(corpus: Corpus, config: TwoTower, seed: int) -> Towers:
    """Fresh towers of the configured size for a corpus."""
    items = corpus.items
    return Towers.new(len(items), len(items.tag_names), config.hidden, config.embedding, jax.random.key(seed))


def all_vectors(model: Towers, facts: Facts) -> jax.Array:
    """Unit item vectors of the whole catalogue, (I, W)."""
    return item_vectors(model, facts, jnp.arange(model.item_bias.size))


def _probabilities(model: Towers, facts: Facts, log: Log) -> Floats:
    """P(positive) of the first row of every round."""
    index = batches(np.arange(log.first.size), 4096)

    def step(carry: None, at: jax.Array) -> tuple[None, jax.Array]:
        batch = gather(log, at, 1)
        return carry, jax.nn.sigmoid(logits(model, facts, batch, batch.items)[:, 0])

    found = jax.lax.scan(step, None, jnp.asarray(index))[1]
    return np.asarray(found, np.float64).reshape(-1)[: log.first.size]
