"""From a corpus and a learner's name to a fitted scorer and its report; and scores for a table of pools.

Scope: that of the learner.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.catalog import codes_of
from slateproof.learn.evaluate import Evaluation, evaluate
from slateproof.learn.protocol import Context, Progress, Scorer
from slateproof.learn.registry import learner

__all__ = ["TrainReport", "score_pools", "train"]


@dataclass(frozen=True, slots=True)
class TrainReport:
    """What was fitted on what, how long it took, and how it does on held-out users.

    Scope: none; measurements.
    """

    learner: str
    corpus: str
    corpus_digest: str
    seed: int
    seconds: float
    held_out: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        plain = {name: getattr(self, name) for name in ("learner", "corpus", "corpus_digest", "seed", "seconds")}
        return plain | {"held_out": self.held_out.to_dict()}

    def to_text(self) -> str:
        """A few lines to print."""
        head = f"{self.learner} fitted on {self.corpus} (digest {self.corpus_digest[:12]}), seed {self.seed}, {self.seconds:.1f} s"
        return f"{head}\n{self.held_out.to_text()}"


def train(corpus: Corpus, learner_name: str, seed: int = 42, progress: Progress | None = None) -> tuple[Scorer, TrainReport]:
    """Fit the learner of that name with the published settings, and measure it on the test users."""
    chosen = learner(learner_name)
    start = time.perf_counter()
    scorer = chosen.fit(corpus, seed=seed, progress=progress)
    seconds = time.perf_counter() - start
    held_out = evaluate(scorer, corpus, rng=np.random.default_rng(seed), progress=progress)
    return scorer, TrainReport(scorer.name, corpus.label, corpus.digest, seed, seconds, held_out)


def score_pools(scorer: Scorer, corpus: Corpus, pools: pa.Table, seed: int = 42) -> pa.Table:
    """``pools`` with columns ``scores``, ``widths`` (where the scorer has them) and ``targets`` set, each a list per pool.

    Each row is one pool and one fresh session: ``ids`` is its list of item ids, ``user`` (optional) the user's id, null for a new
    user. Pools may differ in size. Refuses items and users that the corpus does not have.
    """
    if "ids" not in pools.column_names or not pa.types.is_list(pools.schema.field("ids").type):
        raise InvalidInput("ids", "must be a column of lists of item ids", pools.column_names)
    listed = pools.column("ids").to_pylist()
    context = _sessions(corpus, pools)
    columns: dict[str, list[Any]] = {
        "scores": [None] * len(listed),
        "widths": [None] * len(listed),
        "targets": [None] * len(listed),
    }
    sizes = np.array([len(ids or ()) for ids in listed], np.int64)
    if sizes.size and sizes.min() == 0:
        raise InvalidInput("ids", "a pool needs at least one candidate", where=int(np.flatnonzero(sizes == 0)[0]))
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        items = codes_of(corpus, [item for row in rows.tolist() for item in listed[row]]).reshape(-1, size)
        some = Context(context.user[rows], context.knowledge[rows], context.engagement[rows], context.uncertainty[rows])
        out = scorer.score(scorer.begin(some, seed), some, items)
        for place, row in enumerate(rows.tolist()):
            columns["scores"][row] = out.scores[place]
            columns["widths"][row] = None if out.widths is None else out.widths[place]
            columns["targets"][row] = corpus.items.difficulty[items[place]]
    for name, values in columns.items():
        if any(value is not None for value in values):
            pools = _with(pools, name, pa.array(values, pa.list_(pa.float64())))
    return pools


def _sessions(corpus: Corpus, pools: pa.Table) -> Context:
    context = Context.new(pools.num_rows)
    if "user" not in pools.column_names:
        return context
    user = context.user.copy()
    code = {value: place for place, value in enumerate(corpus.user_ids.tolist())}
    for row, name in enumerate(pools.column("user").to_pylist()):
        if name is not None:
            if name not in code:
                raise InvalidInput("user", "is not in the corpus; a new user is null", name, where=row)
            user[row] = code[name]
    return Context(user, context.knowledge, context.engagement, context.uncertainty)


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
