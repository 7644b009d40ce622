"""Private slates beside the slates from raw data: the same policy, pools and subjects, other inputs.

Scores, widths and targets are fixed functions of difficulties and state, candidates are drawn without looking at the data, tags are
the publisher's.

Scope: end-to-end for the slates of a finite epsilon, per round, with the timetable, the subjects and the catalogue public. The
errors and overlaps in the rows compare with raw data: they are measurements for a paper, not private outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slateproof import privacy as pv
from slateproof.corpora import Corpus
from slateproof.experiments.private_inputs import CLIP, DELTA, TICKS, Inputs, Log, one_for_all, private, raw, timetable
from slateproof.policy import Policy
from slateproof.types import Catalog, PoolBatch, SlateBatch, StateBatch
from slateproof.types.columns import Floats, Ints

__all__ = ["World", "rows", "select"]

SLOPE = 4.0  # of the chance of success in k-hat - d


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
    corpus: Corpus,
    epsilons: Sequence[float],
    seeds: Sequence[int] = (0, 1, 2),
    subjects: int = 2_000,
    pool: int = 100,
    tell: Callable[[int], None] = lambda done: None,
) -> list[dict[str, Any]]:
    """One row per seed and epsilon. ``tell`` is called with the number of rows before each.

    ``epsilon`` is the ledger's, per round; ``user_epsilon`` the same for all rounds of a user, of whom none has more than the 20 of
    the timetable; ``regime`` is the policy's, with that ledger. ``*_error`` are mean absolute errors against the raw shares (d
    before it is stretched; k-hat and e-hat after 20 ticks), ``*_error_at_mean`` those of the raw mean for all. ``jaccard`` and
    ``flip`` compare with the slate from raw inputs. ``target_distance`` is the mean of |d - m| over shown items, d and m from raw
    inputs. ``fixed_*``: the whole budget goes to the difficulties, and everyone has the same state. ``random_*``: as many items of
    the pool, drawn at random. At infinity contributions are clipped and nothing is noised: a non-private release, and the regime
    says so.
    """
    out: list[dict[str, Any]] = []
    for seed in seeds:
        log = timetable(corpus, seed)
        draw = np.random.default_rng([seed, 1])
        chosen = np.sort(draw.choice(log.subjects, min(subjects, log.subjects), replace=False))
        size = min(pool, log.items)
        pools = np.argsort(draw.random((chosen.size, log.items)), axis=1)[:, :size]
        world = World(policy, corpus, log, pools, chosen)
        for epsilon in epsilons:
            tell(len(out))
            out.append({"corpus": corpus.label, "seed": seed, **_row(world, epsilon, seed)})
    return out


class World:
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

    def random(self) -> list[tuple[int, ...]]:
        """As many items of each pool; pools are in random order."""
        return [tuple(pool[: len(slate)].tolist()) for pool, slate in zip(self.pools, self.slates, strict=True)]

    def compare(self, slates: list[tuple[int, ...]]) -> dict[str, float]:
        """Overlap with the slates from raw inputs, and the distance to the true targets."""
        pairs = [(set(one), set(other)) for one, other in zip(slates, self.slates, strict=True)]
        distance = [np.abs(self.difficulty[list(one)] - m).mean() for one, m in zip(slates, self.target, strict=True)]
        return {
            "jaccard": float(np.mean([len(a & b) / len(a | b) for a, b in pairs])),
            "flip": float(np.mean([one != other for one, other in zip(slates, self.slates, strict=True)])),
            "target_distance": float(np.mean(distance)),
        }


def _row(world: World, epsilon: float, seed: int) -> dict[str, Any]:
    ledger, truth = pv.Ledger(), world.truth
    if math.isinf(epsilon):
        ledger.record_non_private("noise off: clipped counts as they are")
        inputs = raw(world.log, CLIP)
        fixed = one_for_all(inputs.difficulty, inputs.answers, world.log.subjects)
    else:
        place = int(1_000 * epsilon)  # so that a row does not depend on which others are asked for
        inputs = private(world.log, epsilon, ledger, (seed, 2, place))
        fixed = private(world.log, epsilon, pv.Ledger(), (seed, 3, place), state_share=0.0)
    scope = world.policy.scope(ledger)
    return {
        "epsilon_target": epsilon,
        "epsilon": ledger.epsilon(DELTA),
        "user_epsilon": pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=TICKS).epsilon,
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
        **{f"random_{name}": value for name, value in world.compare(world.random()).items()},
        "raw_target_distance": world.compare(world.slates)["target_distance"],
    }


def _gap(found: Floats | float, truth: Floats) -> float:
    return float(np.abs(found - truth).mean())
