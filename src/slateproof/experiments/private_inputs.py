"""What the `end-to-end` pipeline reads of a log, raw or released.

A log becomes rounds on a public timetable: a round is all that one subject answered in one tick. From the rounds come private
difficulties (one release) and private learner state (one stream), both in one ledger.

Scope: end-to-end for ``private``, per round, with the timetable, the subjects and the catalogue public; none for ``raw``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slateproof import privacy as pv
from slateproof.corpora import Corpus
from slateproof.privacy.releases import bounded_counts
from slateproof.types.columns import Floats, Ints

__all__ = ["DELTA", "TICKS", "Inputs", "Log", "one_for_all", "private", "raw", "rounds_of", "share", "timetable"]

DELTA = 1e-6  # below 1/(137,409 rounds of OULAD)
TICKS, DAYS_PER_TICK = 20, 14  # 280 days cover every OULAD course
CLIP = 1.0  # one round of one answer is not clipped; fixed in advance, not chosen on the data
STATE_SHARE = 0.9  # of the precision 1/s²: a state rests on 20 ticks of one person, a difficulty on hundreds of answers


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Answers as columns: who, at which tick, which item, how right in [0, 1]; and the public sizes."""

    subject: Ints
    tick: Ints
    item: Ints
    correct: Floats
    subjects: int
    items: int


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a selector reads of the data, raw or released: per item ``difficulty`` and ``answers``, per subject k-hat and e-hat."""

    difficulty: Floats
    answers: Floats
    knowledge: Floats
    engagement: Floats


def timetable(corpus: Corpus, seed: int = 0) -> Log:
    """The corpus on a timetable of 20 ticks: fortnights since the start of the course for a corpus with OULAD's clock.

    A row's tick depends on that row alone, so a round that is taken out moves no other. Days before the start count for the
    first tick, days after the last for the last. A corpus without a clock gets ticks drawn at random, independent of all else.
    ``correct`` is the score/100 where difficulty is a mean score, else right or wrong.
    """
    if corpus.time is None:
        tick = np.random.default_rng([seed, 0]).integers(0, TICKS, len(corpus))
    else:
        tick = np.clip(corpus.time // DAYS_PER_TICK, 0, TICKS - 1).astype(np.int64)
    correct = corpus.response / 100.0 if corpus.difficulty_rule == "score" else corpus.positive.astype(np.float64)
    item, subject = corpus.item.astype(np.int64), corpus.user.astype(np.int64)
    return Log(subject, tick, item, correct, corpus.users, len(corpus.items))


def raw(log: Log, clip: float = math.inf) -> Inputs:
    """The same inputs without noise; not private. With a finite ``clip``, contributions are bounded as in the release."""
    bound = min(clip, float(log.item.size))  # no round can have a larger norm than it has rows
    arguments = (log.subject, log.tick, log.item, log.correct)
    counts = bounded_counts(*arguments, item_count=log.items, clip=bound, unit="round")
    attempted, correct = rounds_of(log)
    tries, total = attempted.sum(axis=0), counts.sum(axis=1)
    return Inputs(
        difficulty=share(counts[:, 1], total),
        answers=total,
        knowledge=share((attempted * correct).sum(axis=0), tries),
        engagement=tries / TICKS,
    )


def share(part: Floats, total: Floats) -> Floats:
    """part/total; 1/2 where the total is 0, as in ``State.from_history``."""
    return np.divide(part, total, out=np.full(part.shape, 0.5), where=total > 0.0)


def private(
    log: Log, epsilon: float, ledger: pv.Ledger, seed: Sequence[int], delta: float = DELTA, state_share: float = STATE_SHARE
) -> Inputs:
    """Difficulties and state released within ``(epsilon, delta)`` together, recorded in ``ledger`` by the releases themselves.

    With s the multiplier of a single Gaussian at this budget, the state gets s/√share and the difficulties s/√(1 - share): the
    precisions 1/s² add up again. A share of 0 releases no state: everyone has the same (``one_for_all``).
    """
    single = pv.noise_for(epsilon=epsilon, delta=delta, steps=1, sampling_rate=None)
    rng = np.random.default_rng(list(seed))
    released = pv.release_difficulties(
        log.subject,
        log.tick,
        log.item,
        log.correct,
        item_count=log.items,
        clip=CLIP,
        noise_multiplier=single / math.sqrt(1.0 - state_share),
        ledger=ledger,
        rng=rng,
    )
    if not state_share:
        return one_for_all(released.values, released.attempts, log.subjects)
    multiplier = single / math.sqrt(state_share)
    mechanism = pv.Factorisation.square_root(TICKS)
    stream = pv.StateStream(mechanism, subjects=log.subjects, noise_multiplier=multiplier, ledger=ledger, rng=rng)
    for attempted, correct in zip(*rounds_of(log), strict=True):
        state = stream.advance(attempted, correct)
    return Inputs(released.values, released.attempts, state.knowledge, state.engagement)


def one_for_all(difficulty: Floats, answers: Floats, subjects: int) -> Inputs:
    """The same state for everyone: k-hat is the share of right answers that the difficulties imply, e-hat 1/2."""
    knowledge = 1.0 - float(answers @ difficulty) / max(1.0, float(answers.sum()))
    return Inputs(difficulty, answers, np.full(subjects, knowledge), np.full(subjects, 0.5))


def rounds_of(log: Log) -> tuple[Floats, Floats]:
    """(attempted, correct), ticks x subjects: whether anything was answered at the tick, and the mean of how right it was."""
    cell = log.tick * log.subjects + log.subject
    size = TICKS * log.subjects
    answers = np.bincount(cell, minlength=size)
    mean = np.bincount(cell, log.correct, size) / np.maximum(answers, 1)
    shape = (TICKS, log.subjects)
    return (answers > 0).astype(np.float64).reshape(shape), np.minimum(mean, 1.0).reshape(shape)
