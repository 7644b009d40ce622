"""From a corpus and a learner's name to a fitted scorer and its report; and scores for a table of pools.

Scope: that of the learner.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.catalog import codes_of
from slateproof.learn.checks import check_seed
from slateproof.learn.evaluate import Evaluation, evaluate
from slateproof.learn.protocol import Context, Progress, Scorer
from slateproof.learn.registry import learner

__all__ = ["TrainReport", "score_pools", "train"]

CHUNK = 256
"""Pools scored in one call."""


@dataclass(frozen=True, slots=True)
class TrainReport:
    """What was fitted on what, how long it took, and how it does on held-out users. ``seed`` is None where it must stay secret.

    ``settings`` are those that are not the published ones; ``steps`` are what the fit reported, (steps done, steps in all, what),
    such as the losses of each epoch.

    Scope: none; measurements.
    """

    learner: str
    corpus: str
    corpus_digest: str
    seed: int | None
    seconds: float
    held_out: Evaluation
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[tuple[int, int, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        plain = {name: getattr(self, name) for name in ("learner", "corpus", "corpus_digest", "seed", "seconds")}
        steps = [{"done": done, "total": total, "what": what} for done, total, what in self.steps]
        return plain | {"settings": dict(self.settings), "steps": steps, "held_out": self.held_out.to_dict()}

    def to_text(self) -> str:
        """A few lines to print."""
        seed = "secret seed" if self.seed is None else f"seed {self.seed}"
        head = f"{self.learner} fitted on {self.corpus} (digest {self.corpus_digest[:12]}), {seed}, {self.seconds:.1f} s"
        lines = [head]
        if self.settings:
            lines.append("  settings: " + ", ".join(f"{key}={value}" for key, value in self.settings.items()))
        if self.steps:
            lines.append("  last step: {} of {}, {}".format(*self.steps[-1]))
        return "\n".join([*lines, self.held_out.to_text()])


def train(
    corpus: Corpus,
    learner_name: str,
    seed: int | None = None,
    progress: Progress | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Scorer, TrainReport]:
    """Fit the learner of that name, with the published settings or others, and measure it on the users that it held out.

    Without a ``seed`` it is 42; for a private learner it is drawn from the system's randomness and told to nobody, because who
    knows it can take the noise off. One that is given is as secret as its owner keeps it, and the report does not repeat it.
    """
    chosen = learner(learner_name, epsilon=epsilon, delta=delta, settings=settings)
    own = getattr(chosen, "held_out", None)  # private learners draw their training users themselves
    drawn = secrets.randbits(62) if own is not None else 42
    seed = drawn if seed is None else check_seed(seed)
    steps: list[tuple[int, int, str]] = []

    def told(done: int, total: int, what: str) -> None:
        steps.append((done, total, what))
        if progress is not None:
            progress(done, total, what)

    start = time.perf_counter()
    scorer = chosen.fit(corpus, seed=seed, progress=told)
    seconds = time.perf_counter() - start
    users, known = (None, seed) if own is None else (own(corpus), None)
    held_out = evaluate(scorer, corpus, rng=np.random.default_rng(42 if known is None else known), progress=progress, users=users)
    report = TrainReport(scorer.name, corpus.label, corpus.digest, known, seconds, held_out, dict(settings or {}), tuple(steps))
    return scorer, report


def score_pools(scorer: Scorer, corpus: Corpus, pools: pa.Table, seed: int = 42) -> pa.Table:
    """``pools`` with ``scores``, ``widths`` (where the scorer has them), ``targets`` and a source of similarity: a ``PoolBatch``.

    Each row is one pool and one fresh session: ``ids`` is its list of item ids, ``user`` (optional) the user's id, null for a new
    user, ``knowledge``, ``engagement`` and ``uncertainty`` (optional) the state, .5 where the column is missing, as for
    ``slateproof select``. Pools may differ in size. ``vectors``, or else ``tags``, are set where the corpus has them and the table
    names no other source of similarity. ``CHUNK`` pools are scored in a call, each as a session of its own, so that no score
    depends on the other rows. Refuses items and users that the corpus does not have.
    """
    listed, seed = _ids(pools), check_seed(seed)
    context = _sessions(corpus, pools)
    sizes = np.array([len(ids) for ids in listed], np.int64)
    scores: list[Any] = [None] * len(listed)
    widths, codes = list(scores), list(scores)
    for rows in _chunks(sizes):
        items = np.stack([_codes(corpus, listed[row], row) for row in rows.tolist()])
        # Compiled sums run in an order that depends on the shape: such a scorer always sees CHUNK sessions, the last ones repeated.
        call = np.arange(CHUNK if getattr(scorer, "compiled", False) else rows.size) % rows.size
        some = Context(
            *(column[rows[call]] for column in (context.user, context.knowledge, context.engagement, context.uncertainty))
        )
        out = scorer.score(scorer.begin(some, seed), some, items[call])
        for place, row in enumerate(rows.tolist()):
            scores[row], codes[row] = out.scores[place], items[place]
            widths[row] = None if out.widths is None else out.widths[place]
    numbers = pa.list_(pa.float64())
    pools = _with(pools, "scores", pa.array(scores, numbers))
    if all(width is not None for width in widths):
        pools = _with(pools, "widths", pa.array(widths, numbers))
    pools = _with(pools, "targets", pa.array([corpus.items.difficulty[row] for row in codes], numbers))
    if {"vectors", "similarity"} & set(pools.column_names):
        return pools
    if corpus.items.vectors is not None and "tags" not in pools.column_names:
        rows = pa.array([list(corpus.items.vectors[row]) for row in codes], pa.list_(pa.list_(pa.float64())))
        return _with(pools, "vectors", rows)
    if not corpus.items.tag_names:
        return pools
    sets = [one.tolist() for one in np.split(corpus.items.tag_codes, corpus.items.tag_starts[1:-1])]
    return _with(pools, "tags", pa.array([[sets[code] for code in row] for row in codes], pa.list_(pa.list_(pa.int64()))))


def _chunks(sizes: Any) -> Iterator[Any]:
    """The rows of pools of one size, at most ``CHUNK`` at a time, so that what a call holds does not grow with the table."""
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        for low in range(0, rows.size, CHUNK):
            yield rows[low : low + CHUNK]


def _codes(corpus: Corpus, ids: list[Any], row: int) -> Any:
    """The item codes of a pool; a refusal names its row."""
    try:
        return codes_of(corpus, ids)
    except InvalidInput as why:
        raise InvalidInput(why.field, why.rule, why.value, where=row) from why


def _ids(pools: pa.Table) -> list[list[Any]]:
    """The item ids of every pool."""
    kind = pools.schema.field("ids").type if "ids" in pools.column_names else None
    if kind is None or not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise InvalidInput("ids", "must be a column of lists of item ids", pools.column_names)
    listed = pools.column("ids").to_pylist()
    for row, ids in enumerate(listed):
        if not ids:
            raise InvalidInput("ids", "a pool needs at least one candidate", where=row)
    if not listed:
        raise InvalidInput("pools", "must hold at least one pool", 0)
    return listed


def _sessions(corpus: Corpus, pools: pa.Table) -> Context:
    user = np.full(pools.num_rows, -1, np.int64)
    state = [_state(pools, name) for name in ("knowledge", "engagement", "uncertainty")]
    if "user" not in pools.column_names:
        return Context(user, *state)
    code = {value: place for place, value in enumerate(corpus.user_ids.tolist())}
    for row, name in enumerate(pools.column("user").to_pylist()):
        if name is not None:
            if name not in code:
                raise InvalidInput("user", "is not in the corpus; a new user is null", name, where=row)
            user[row] = code[name]
    return Context(user, *state)


def _state(pools: pa.Table, name: str) -> Any:
    """One value of the state per pool, in [0, 1]."""
    if name not in pools.column_names:
        return np.full(pools.num_rows, 0.5)
    values = pools.column(name).to_pylist()
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
            raise InvalidInput(name, "must be a number in [0, 1]", value, where=row)
    return np.array(values, np.float64)


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
