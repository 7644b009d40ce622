"""What DKT and SAKT share as learners: fitting into a model file, and a scorer that runs the network over many sessions at once.

Scope: non-private; comparators trained on protected answers.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.bkt import skills
from slateproof.learn.checks import check_feedback, check_items, check_whole, finite
from slateproof.learn.modelfile import Model, package_versions
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.sequence_data import longest, windows_of
from slateproof.learn.sequence_train import Training, train_network
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Ints, finite_scalar

__all__ = ["SequenceScorer", "check_settings", "fit_network"]


def check_settings(config: Any, *whole: str) -> None:
    """Refuse settings outside their ranges: ``whole`` at least 1, dropout in [0, 1), a positive learning rate."""
    for field in whole:
        check_whole(getattr(config, field), field, 1)
    finite_scalar(config.dropout, "dropout", 0.0, np.nextafter(1.0, 0.0))
    finite_scalar(config.learning_rate, "learning_rate", np.nextafter(0.0, 1.0))


def fit_network(config: Any, settings: dict[str, Any], corpus: Corpus, seed: int, progress: Progress | None) -> Model:
    """Train ``config``'s network and put it into a model. The window is no longer than the longest training history."""
    part = corpus.split().part
    window = min(config.window, longest(corpus, part == 0))
    skill, count = skills(corpus)
    network = config.network(skill, count, window, jax.random.key(seed))
    train, valid = (windows_of(corpus, part == which, window) for which in (0, 1))
    how = Training(config.epochs, config.patience, config.batch, config.learning_rate)
    network, _ = train_network(network, train, valid, how, seed, progress)
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(network, _is_leaf))[0]
    arrays = {_name(path): np.asarray(leaf) for path, leaf in leaves}
    shape = {"skills": count, "window": window}
    versions = package_versions("jax", "jaxlib", "equinox", "optax")
    return Model(config.name, {"settings": settings, **shape}, seed, corpus.digest, corpus.label, arrays, versions=versions)


class SequenceScorer(StoredScorer):
    """Scores are P(correct) of every candidate as the next answer; a session is the network's memory. It gives no widths.

    Scope: non-private.
    """

    scale = "probability"
    compiled: ClassVar[bool] = True
    learner: ClassVar[Any]

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        config, skill = self.learner(**model.config["settings"]), model.arrays["network.skill"]
        make = partial(config.network, skill, model.config["skills"], model.config["window"])
        shape, static = eqx.partition(eqx.filter_eval_shape(make, jax.random.key(0)), _is_leaf)
        held = jax.tree_util.tree_map_with_path(lambda path, _: jnp.asarray(model.arrays[_name(path)]), shape)
        self.network = eqx.combine(held, static)
        self._items = int(skill.size)

    def begin(self, context: Context, seed: int) -> Any:
        """The memory before the first answer, once per session."""
        fresh = self.network.fresh()
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (context.user.size, *leaf.shape)), fresh)

    def score(self, session: Any, context: Context, items: Ints) -> Scores:
        """P(correct)."""
        codes = check_items(items, context, self._items)
        _check_sessions(session, context)
        logits = np.asarray(_read(self.network, session, jnp.asarray(codes, jnp.int32)), np.float64)
        return Scores(1.0 / (1.0 + np.exp(-finite(logits, "scores"))), None)

    def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
        """The memory after every attempted item, in slate order."""
        codes, attempted = check_feedback(feedback, context, self._items)
        _check_sessions(session, context)
        correct = jnp.asarray(feedback.correct, jnp.float32)
        return _write(self.network, session, jnp.asarray(codes, jnp.int32), correct, jnp.asarray(attempted))


def _is_leaf(value: Any) -> bool:
    """Arrays, or their shapes before they are read; settings such as the dropout rate are no leaves."""
    return eqx.is_array(value) or isinstance(value, jax.ShapeDtypeStruct)


def _name(path: Any) -> str:
    """The array of a leaf in a model file, such as "network.cell.weight_ih"."""
    return "network" + jax.tree_util.keystr(path)


def _check_sessions(session: Any, context: Context) -> None:
    size = jax.tree.leaves(session)[0].shape[0]
    if size != context.user.size:
        raise InvalidInput("session", f"must hold one session per context ({context.user.size})", size)


@eqx.filter_jit
def _read(network: Any, sessions: Any, items: jax.Array) -> jax.Array:
    return jax.vmap(network.read)(sessions, items)


@eqx.filter_jit
def _write(network: Any, sessions: Any, items: jax.Array, correct: jax.Array, counted: jax.Array) -> Any:
    def one(memory: Any, *columns: jax.Array) -> Any:
        return jax.lax.scan(lambda held, answer: (network.write(held, *answer), None), memory, columns)[0]

    return jax.vmap(one)(sessions, items, correct, counted)
