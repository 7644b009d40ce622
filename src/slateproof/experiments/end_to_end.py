"""The `end-to-end` experiment: what it costs in slate quality when every selector input is public or a DP output.

A log becomes rounds on a public timetable: a round is all that one subject answered in one tick. From the rounds come private
difficulties (one release) and private learner state (one stream), both in one ledger; scores, widths and targets are fixed
functions of these, candidates are drawn without looking at the data, tags are the publisher's. Each private slate is compared
with the one from raw counts.

Scope: end-to-end for the slates of a finite epsilon, per round, with the timetable, the subjects and the catalogue public. The
errors and overlaps in the rows compare with raw data: they are measurements for a paper, not private outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof import privacy as pv
from slateproof.corpora import Corpus, synthetic_education
from slateproof.policy import Policy
from slateproof.privacy.releases import bounded_counts
from slateproof.types import Catalog, PoolBatch, SlateBatch, StateBatch
from slateproof.types.columns import Floats, Ints

__all__ = ["Inputs", "Log", "counting_rows", "markdown", "private", "raw", "rows", "select", "timetable"]

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
DELTA = 1e-6  # below 1/(137,409 rounds of OULAD)
TICKS, DAYS_PER_TICK = 20, 14  # 280 days cover every OULAD course
CLIP = 1.0  # one round of one answer is not clipped; fixed in advance, not chosen on the data
STATE_SHARE = 0.9  # of the precision 1/s²: a state rests on 20 ticks of one person, a difficulty on hundreds of answers
POOL, SUBJECTS = 100, 2_000
SLOPE = 4.0  # of the chance of success in k-hat - d


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
    attempted, correct = _rounds(log)
    tries, total = attempted.sum(axis=0), counts.sum(axis=1)
    return Inputs(
        difficulty=_share(counts[:, 1], total),
        answers=total,
        knowledge=_share((attempted * correct).sum(axis=0), tries),
        engagement=tries / TICKS,
    )


def _share(part: Floats, total: Floats) -> Floats:
    """part/total; 1/2 where the total is 0, as in ``State.from_history``."""
    return np.divide(part, total, out=np.full(part.shape, 0.5), where=total > 0.0)


def private(
    log: Log, epsilon: float, ledger: pv.Ledger, seed: Sequence[int], delta: float = DELTA, state_share: float = STATE_SHARE
) -> Inputs:
    """Difficulties and state released within ``(epsilon, delta)`` together, recorded in ``ledger`` by the releases themselves.

    With s the multiplier of a single Gaussian at this budget, the state gets s/√share and the difficulties s/√(1 - share): the
    precisions 1/s² add up again. A share of 0 releases no state: everyone has the same (``_one_for_all``).
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
        return _one_for_all(released.values, released.attempts, log.subjects)
    multiplier = single / math.sqrt(state_share)
    mechanism = pv.Factorisation.square_root(TICKS)
    stream = pv.StateStream(mechanism, subjects=log.subjects, noise_multiplier=multiplier, ledger=ledger, rng=rng)
    for attempted, correct in zip(*_rounds(log), strict=True):
        state = stream.advance(attempted, correct)
    return Inputs(released.values, released.attempts, state.knowledge, state.engagement)


def _one_for_all(difficulty: Floats, answers: Floats, subjects: int) -> Inputs:
    """The same state for everyone: k-hat is the share of right answers that the difficulties imply, e-hat 1/2."""
    knowledge = 1.0 - float(answers @ difficulty) / max(1.0, float(answers.sum()))
    return Inputs(difficulty, answers, np.full(subjects, knowledge), np.full(subjects, 0.5))


def _rounds(log: Log) -> tuple[Floats, Floats]:
    """(attempted, correct), ticks x subjects: whether anything was answered at the tick, and the mean of how right it was."""
    cell = log.tick * log.subjects + log.subject
    size = TICKS * log.subjects
    answers = np.bincount(cell, minlength=size)
    mean = np.bincount(cell, log.correct, size) / np.maximum(answers, 1)
    shape = (TICKS, log.subjects)
    return (answers > 0).astype(np.float64).reshape(shape), np.minimum(mean, 1.0).reshape(shape)


def select(policy: Policy, corpus: Corpus, inputs: Inputs, pools: Ints, subjects: Ints) -> SlateBatch:
    """One slate per subject: every input but the pools and the tags is a fixed function of ``inputs``; no memory of shown items.

    With p = sigmoid(4 (k-hat - d)), the chance of success: score = 4 p (1 - p), the Fisher information of an answer, largest at
    d = k-hat; width = 1/√answers within [.05, .5]; target = d. All with d stretched (``_stretched``).
    """
    target = _stretched(inputs.difficulty)
    width = np.clip(1.0 / np.sqrt(np.maximum(inputs.answers, 1.0)), 0.05, 0.5)
    ids = corpus.items.ids.tolist()
    catalog = Catalog(ids, target, vectors=corpus.items.tag_vectors())
    made = []
    for pool, knowledge in zip(pools, inputs.knowledge[subjects], strict=True):
        chance = 1.0 / (1.0 + np.exp(-SLOPE * (knowledge - target[pool])))
        made.append(catalog.pool([ids[i] for i in pool], 4.0 * chance * (1.0 - chance), width[pool]))
    return policy.select_batch(PoolBatch.of(made), _states(inputs, subjects), trace=False)


def _states(inputs: Inputs, subjects: Ints) -> StateBatch:
    columns = {"knowledge": inputs.knowledge[subjects], "engagement": inputs.engagement[subjects]}
    return StateBatch.of(columns, subjects.size)


def _stretched(difficulty: Floats) -> Floats:
    """d clipped to its 5th and 95th percentile over items and stretched to [0, 1]: OULAD's raw d lies far below most k-hat.

    A function of the given values alone: of released ones, it is post-processing.
    """
    low, high = np.percentile(difficulty, (5.0, 95.0))
    return (np.clip(difficulty, low, high) - low) / (high - low) if high > low else np.full(difficulty.shape, 0.5)


def rows(
    policy: Policy,
    corpus: Corpus | None = None,
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = (0, 1, 2),
    subjects: int = SUBJECTS,
) -> list[dict[str, Any]]:
    """One row per seed and epsilon, on ``corpus`` (None: a synthetic one, which says so).

    ``epsilon`` is the ledger's; ``regime`` the policy's, with that ledger. ``*_error`` are mean absolute errors against the raw
    shares (d before it is stretched; k-hat and e-hat after 20 ticks), ``*_error_at_mean`` those of the raw mean for all.
    ``jaccard`` and ``flip`` compare with the slate from raw inputs. ``target_distance`` is the mean of |d - m| over shown items,
    with d and m from raw inputs. ``fixed_*`` is the same when the whole budget goes to the difficulties and everyone has the same
    state. At infinity contributions are clipped and nothing is noised: a non-private release, and the regime says so.
    """
    corpus = synthetic_education() if corpus is None else corpus
    out = []
    for seed in seeds:
        log = timetable(corpus, seed)
        draw = np.random.default_rng([seed, 1])
        chosen = np.sort(draw.choice(log.subjects, min(subjects, log.subjects), replace=False))
        size = min(POOL, log.items)
        pools = np.argsort(draw.random((chosen.size, log.items)), axis=1)[:, :size]
        world = _World(policy, corpus, log, pools, chosen)
        out += [{"corpus": corpus.label, "seed": seed, **_row(world, epsilon, seed)} for epsilon in epsilons]
    return out


class _World:
    """What every epsilon of a seed is compared with: raw inputs, the slates from them, and the true target of every subject."""

    def __init__(self, policy: Policy, corpus: Corpus, log: Log, pools: Ints, subjects: Ints) -> None:
        self.policy, self.corpus, self.log, self.pools, self.subjects = policy, corpus, log, pools, subjects
        self.truth = raw(log)
        states = _states(self.truth, subjects)
        shift = policy.levers_for_batch(states, subjects.size).target_shift
        self.target = np.clip(states.knowledge + shift, 0.0, 1.0)
        self.difficulty = _stretched(self.truth.difficulty)
        self.slates = self.items_of(self.truth)

    def items_of(self, inputs: Inputs) -> list[tuple[int, ...]]:
        """The item codes of every slate, in order."""
        batch = select(self.policy, self.corpus, inputs, self.pools, self.subjects)
        parts = np.split(batch.chosen, batch.starts[1:-1])
        return [tuple(pool[part].tolist()) for pool, part in zip(self.pools, parts, strict=True)]

    def compare(self, slates: list[tuple[int, ...]]) -> dict[str, float]:
        """Overlap with the slates from raw inputs, and the distance to the true targets."""
        pairs = [(set(one), set(other)) for one, other in zip(slates, self.slates, strict=True)]
        distance = [np.abs(self.difficulty[list(one)] - m).mean() for one, m in zip(slates, self.target, strict=True)]
        return {
            "jaccard": float(np.mean([len(a & b) / len(a | b) for a, b in pairs])),
            "flip": float(np.mean([one != other for one, other in zip(slates, self.slates, strict=True)])),
            "target_distance": float(np.mean(distance)),
        }


def _row(world: _World, epsilon: float, seed: int) -> dict[str, Any]:
    ledger, truth = pv.Ledger(), world.truth
    if math.isinf(epsilon):
        ledger.record_non_private("noise off: clipped counts as they are")
        inputs = raw(world.log, CLIP)
        fixed = _one_for_all(inputs.difficulty, inputs.answers, world.log.subjects)
    else:
        place = int(1_000 * epsilon)  # so that a row does not depend on which others are asked for
        inputs = private(world.log, epsilon, ledger, (seed, 2, place))
        fixed = private(world.log, epsilon, pv.Ledger(), (seed, 3, place), state_share=0.0)
    scope = world.policy.scope(ledger)
    return {
        "epsilon_target": epsilon,
        "epsilon": ledger.epsilon(DELTA),
        "delta": DELTA,
        "regime": scope.regime,
        "difficulty_error": _gap(inputs.difficulty, truth.difficulty),
        "difficulty_error_at_mean": _gap(truth.difficulty.mean(), truth.difficulty),
        "knowledge_error": _gap(inputs.knowledge, truth.knowledge),
        "knowledge_error_at_mean": _gap(truth.knowledge.mean(), truth.knowledge),
        "engagement_error": _gap(inputs.engagement, truth.engagement),
        "engagement_error_at_mean": _gap(truth.engagement.mean(), truth.engagement),
        **world.compare(world.items_of(inputs)),
        **{f"fixed_{name}": value for name, value in world.compare(world.items_of(fixed)).items()},
        "raw_target_distance": world.compare(world.slates)["target_distance"],
    }


def _gap(found: Floats | float, truth: Floats) -> float:
    return float(np.abs(found - truth).mean())


def counting_rows(
    ticks: Sequence[int] = (8, 20, 50, 80, 200), epsilons: Sequence[float] = (1.0, 4.0), delta: float = DELTA, seed: int = 0
) -> list[dict[str, Any]]:
    """Noise of the two mechanisms against T, and the errors they leave in k-hat and e-hat after T ticks.

    ``worst`` and ``last`` are standard deviations of the noise in each count per noise multiplier, the largest over all ticks
    and the one at tick T; ``independent`` is √T, that of fresh noise at every tick. The errors are mean absolute ones of 4,000
    simulated subjects with k, e ~ U(0, 1), against their raw shares.
    """
    out = []
    for count in ticks:
        draw = np.random.default_rng([seed, count])
        chance = draw.random((2, 4_000))
        attempted, correct = ((draw.random((count, 4_000)) < one).astype(np.float64) for one in chance)
        for mechanism in (pv.Factorisation.tree(count), pv.Factorisation.square_root(count)):
            noise = mechanism.deviations("round")
            row = {"ticks": count, "mechanism": mechanism.name, "worst": float(noise.max()), "last": float(noise[-1])}
            row["independent"] = math.sqrt(count)
            for epsilon in epsilons:
                errors = _stream_errors(mechanism, attempted, correct, epsilon, delta, (seed, count, 1))
                row[f"knowledge_error_{epsilon:g}"], row[f"engagement_error_{epsilon:g}"] = errors
            out.append(row)
    return out


def _stream_errors(
    mechanism: pv.Factorisation, attempted: Floats, correct: Floats, epsilon: float, delta: float, seed: Sequence[int]
) -> tuple[float, float]:
    multiplier = pv.noise_for(epsilon=epsilon, delta=delta, steps=1, sampling_rate=None)
    rng, subjects = np.random.default_rng(list(seed)), attempted.shape[1]
    stream = pv.StateStream(mechanism, subjects=subjects, noise_multiplier=multiplier, ledger=pv.Ledger(), rng=rng)
    for tried, right in zip(attempted, correct, strict=True):
        state = stream.advance(tried, right)
    tries = attempted.sum(axis=0)
    knowledge = _share((attempted * correct).sum(axis=0), tries)
    return _gap(state.knowledge, knowledge), _gap(state.engagement, tries / mechanism.ticks)


_QUALITY = {
    "d": "difficulty_error",
    "k̂": "knowledge_error",
    "ê": "engagement_error",
    "Jaccard": "jaccard",
    "Flip": "flip",
    "distance": "target_distance",
    "Jaccard, one state": "fixed_jaccard",
    "Flip, one state": "fixed_flip",
    "distance, one state": "fixed_target_distance",
}


def markdown(table: Sequence[Mapping[str, Any]], counting: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Both tables as Markdown: means over seeds with the largest deviation of one seed from them; and the noise against T."""
    quality = []
    for epsilon in dict.fromkeys(row["epsilon_target"] for row in table):
        same = [row for row in table if row["epsilon_target"] == epsilon]
        cells = [_spread([row[name] for row in same]) for name in _QUALITY.values()]
        quality.append(["∞" if math.isinf(epsilon) else f"{epsilon:g}", same[0]["regime"], *cells])
    errors = [name for name in (counting[0] if counting else {}) if "_error_" in name]
    heads = [f"{'k̂' if name[0] == 'k' else 'ê'}, ε = {name.rsplit('_', 1)[1]}" for name in errors]
    noise = [
        [str(row["ticks"]), row["mechanism"], *(f"{row[name]:.2f}" for name in ("worst", "last", "independent"))]
        + [f"{row[name]:.3f}" for name in errors]
        for row in counting
    ]
    return (
        _table(("ε", "regime", *_QUALITY), quality),
        _table(("T", "mechanism", "worst", "at T", "independent", *heads), noise),
    )


def _spread(found: Sequence[float]) -> str:
    mean = sum(found) / len(found)
    return f"{mean:.3f} ± {max(abs(one - mean) for one in found):.3f}"


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))
