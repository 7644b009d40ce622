"""How well a scorer predicts users it was not fitted on: AUC, NDCG@K and log loss with bootstrap intervals by user.

The protocol: every test user of the corpus' split with at least two rows is one session. The first half of the user's rows (rounded
down) is observed through ``update``, eight rows to a round, in order; then the second half is scored in one go, without further
updates. The state (k-hat, e-hat) before every call is the running mean that ``State.from_history`` gives; u stays .5. A scorer
whose scores depend on the pool (``pooled``, as a blend's do) scores the whole catalogue as one pool; the rows' items are read off.
A scorer must not have read facts that count held-out rows; ``features.training_difficulty`` is the difficulty that does not.

Scope: none; measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.metrics import Interval, auc_by_user, auc_statistic, bootstrap, log_loss, mean, ndcg_by_user
from slateproof.learn.protocol import Context, Feedback, Progress, Scorer
from slateproof.types.columns import Floats, Ints

__all__ = ["GROUP", "ROUND", "Evaluation", "HeldOut", "evaluate", "held_out_scores"]

GROUP, ROUND, CHUNK = 256, 8, 64
"""Sessions per call, rows per observed round, items per scoring call: fixed shapes, so that compiled scorers compile once."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The scored rows: user code, item code, success and score of each, in corpus order.

    Scope: none; it holds protected responses.
    """

    user: Ints
    item: Ints
    positive: Any
    scores: Floats


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One scorer on the held-out users of one corpus. ``log_loss`` is None where scores are no probabilities, another
    measure where no user or row defines it.

    ``auc`` is pooled over all rows, ``auc_user`` the mean over the users that have both outcomes, ``ndcg`` the mean over the
    users that have a success.

    Scope: none; measurements.
    """

    scorer: str
    corpus: str
    users: int
    rows: int
    k: int
    auc: Interval | None
    auc_user: Interval | None
    ndcg: Interval | None
    log_loss: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        plain = {name: getattr(self, name) for name in ("scorer", "corpus", "users", "rows", "k")}
        measured = {name: getattr(self, name) for name in ("auc", "auc_user", "ndcg", "log_loss")}
        return plain | {name: None if value is None else value.to_dict() for name, value in measured.items()}

    def to_text(self) -> str:
        """A few lines to print."""
        lines = [f"{self.scorer} on {self.corpus}: {self.rows:,} held-out rows of {self.users:,} test users"]
        names = {"auc": "AUC, pooled", "auc_user": "AUC, mean per user", "ndcg": f"NDCG@{self.k}", "log_loss": "log loss"}
        for name, title in names.items():
            value = getattr(self, name)
            lines.append(f"  {title:20s} {'-' if value is None else value}")
        return "\n".join(lines)


def evaluate(
    scorer: Scorer,
    corpus: Corpus,
    *,
    k: int = 10,
    resamples: int = 1000,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    users: Any = None,
) -> Evaluation:
    """Measure ``scorer`` on the test users, or on the mask ``users``; ``rng`` draws the bootstrap (default: seed 42)."""
    rng = np.random.default_rng(42) if rng is None else rng
    rows = held_out_scores(scorer, corpus, progress, users)
    by_user, per_user = auc_by_user(rows.user, rows.positive, rows.scores)
    liked, gains = ndcg_by_user(rows.user, rows.positive, rows.scores, k)
    chances = _probabilities(scorer, rows.scores)

    def interval(user: Ints, statistic: Callable[[Floats | None], float], defined: bool) -> Interval | None:
        return bootstrap(user, statistic, rng, resamples=resamples) if defined else None

    return Evaluation(
        scorer=scorer.name,
        corpus=corpus.label,
        users=int(np.unique(rows.user).size),
        rows=int(rows.user.size),
        k=k,
        auc=interval(rows.user, auc_statistic(rows.positive, rows.scores), 0 < rows.positive.sum() < rows.positive.size),
        auc_user=interval(by_user, lambda weights: mean(per_user, weights), by_user.size > 0),
        ndcg=interval(liked, lambda weights: mean(gains, weights), liked.size > 0),
        log_loss=interval(rows.user, lambda weights: log_loss(rows.positive, chances, weights), chances is not None),
    )


def held_out_scores(scorer: Scorer, corpus: Corpus, progress: Progress | None = None, users: Any = None) -> HeldOut:
    """Scores of the second half of every test user's rows, after the first half was observed."""
    length = np.diff(corpus.user_starts)
    users = np.flatnonzero((corpus.split().part == 2 if users is None else users) & (length >= 2))
    if users.size == 0:
        raise InvalidInput("corpus", "must have a test user with at least two rows", corpus.label)
    users = users[np.argsort(length[users], kind="stable")]  # alike lengths together: little padding
    seen = length[users] // 2
    starts = corpus.user_starts[users]
    scores = np.zeros(len(corpus))
    scored = np.zeros(len(corpus), np.bool_)
    for low in range(0, users.size, GROUP):
        group = slice(low, low + GROUP)
        _score_group(scorer, corpus, users[group], starts[group], seen[group], scores, scored)
        if progress is not None:
            progress(min(low + GROUP, users.size), users.size, "held-out users")
    keep = np.flatnonzero(scored)
    return HeldOut(corpus.user[keep].astype(np.int64), corpus.item[keep].astype(np.int64), corpus.positive[keep], scores[keep])


def _score_group(scorer: Scorer, corpus: Corpus, users: Ints, starts: Ints, seen: Ints, scores: Floats, scored: Any) -> None:
    ghosts = GROUP - users.size  # sessions of nobody fill the last group up
    user = np.r_[users, np.full(ghosts, -1)]
    starts, seen = np.r_[starts, np.zeros(ghosts, np.int64)], np.r_[seen, np.zeros(ghosts, np.int64)]
    total = np.r_[np.diff(corpus.user_starts)[users], np.zeros(ghosts, np.int64)]
    done, tried = np.zeros(GROUP), np.zeros(GROUP)
    context = _context(user, done, tried)
    session = scorer.begin(context, 42)
    for rows in _blocks(starts, np.zeros_like(seen), seen, ROUND):
        shown = rows >= 0
        feedback = Feedback(np.where(shown, corpus.item[rows], -1).astype(np.int64), shown, shown & corpus.positive[rows])
        session = scorer.update(session, context, feedback)
        done, tried = done + feedback.correct.sum(axis=1), tried + shown.sum(axis=1)
        context = _context(user, done, tried)
    pool = np.tile(np.arange(len(corpus.items)), (GROUP, 1)) if getattr(scorer, "pooled", False) else None
    whole = None if pool is None else scorer.score(session, context, pool).scores
    for rows in _blocks(starts, seen, total, CHUNK):
        asked = rows >= 0
        scored[rows[asked]] = True
        if whole is not None:
            scores[rows[asked]] = np.take_along_axis(whole, corpus.item[rows].astype(np.int64), axis=1)[asked]
            continue
        out = scorer.score(session, context, np.where(asked, corpus.item[rows], 0).astype(np.int64))
        scores[rows[asked]] = out.scores[asked]


def _blocks(starts: Ints, low: Ints, high: Ints, width: int) -> Iterator[Ints]:
    """Corpus rows ``starts + low`` to ``starts + high`` of every session, ``width`` at a time, -1 beyond the end."""
    for offset in range(0, int((high - low).max(initial=0)), width):
        place = low[:, None] + offset + np.arange(width)
        yield np.where(place < high[:, None], starts[:, None] + place, -1)


def _context(user: Ints, done: Floats, tried: Floats) -> Context:
    """k-hat is the share correct and e-hat is 1 once something was tried; both .5 before."""
    knowledge = np.where(tried > 0, done / np.maximum(tried, 1.0), 0.5)
    return Context(user.astype(np.int64), knowledge, np.where(tried > 0, 1.0, 0.5), np.full(user.size, 0.5))


def _probabilities(scorer: Scorer, scores: Floats) -> Floats | None:
    """Scores as probabilities where the scorer says what they are (``scale``); None where they are an order only."""
    scale = getattr(scorer, "scale", "none")
    if scale == "probability":
        return scores
    return 1.0 / (1.0 + np.exp(-scores)) if scale == "logit" else None
