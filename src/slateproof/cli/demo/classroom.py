"""The synthetic class: a model is fitted on past learners, then new learners get a slate each round, answer, and are known better.

Scope: none; simulated people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof import corpora
from slateproof.corpora import Corpus
from slateproof.learn import Context, Feedback, Scorer, TrainReport, catalog_of, pools_of, train
from slateproof.policy import Policy
from slateproof.simulate.draws import Draw, Draws, session_key
from slateproof.simulate.plan import skills_of
from slateproof.simulate.pools import matched_pools
from slateproof.simulate.profiles import PROFILES
from slateproof.simulate.responses import IRT, Shown, Start
from slateproof.simulate.state import Observed, round_of, uncertainty
from slateproof.types import Catalog, PoolBatch, SlateBatch, StateBatch
from slateproof.types.columns import Ints

__all__ = ["COPIES", "POOL", "ROUNDS", "SEED", "Class", "Lesson", "Material", "learn", "play", "starting_width"]

SEED, ROUNDS, COPIES, POOL = 42, 8, 30, 60
"""Everything random in the class follows from the seed; rounds; learners of each profile; candidates in a pool."""

LEARNER, BASELINE = "linucb", "popularity"


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The corpus, its catalogue, the fitted model, and how it and the baseline do on held-out learners.

    Scope: non-private; the model was fitted without noise.
    """

    corpus: Corpus
    catalog: Catalog
    scorer: Scorer
    report: TrainReport
    baseline: TrainReport


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """One round of everyone: the ``slates``, the ``items`` in them (S, K; -1: none), which were ``attempted``, which ``correct``.

    Scope: none; simulated people.
    """

    slates: SlateBatch
    items: Ints
    attempted: Any
    correct: Any


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """All rounds of ``names``; record t·S + s of the log is learner s in round t.

    Scope: none; simulated people.
    """

    names: tuple[str, ...]
    lessons: tuple[Lesson, ...]

    @property
    def slates(self) -> int:
        """How many slates were made."""
        return len(self.names) * len(self.lessons)

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest slate."""
        sizes = np.concatenate([np.diff(lesson.slates.starts) for lesson in self.lessons])
        return int(sizes.min()), int(sizes.max())


def learn(corpus: Corpus) -> Material:
    """Fit the model and the baseline on the training learners and measure both on the held-out ones."""
    scorer, report = train(corpus, LEARNER, SEED)
    _, baseline = train(corpus, BASELINE, SEED)
    return Material(corpus, catalog_of(corpus), scorer, report, baseline)


def starting_width(material: Material) -> float:
    """sigma_ref: the 95th percentile over the catalogue of the widths of a learner nobody knows yet."""
    nobody = Context.new(1)
    everything = np.arange(len(material.catalog))[None, :]
    widths = material.scorer.score(material.scorer.begin(nobody, SEED), nobody, everything).widths
    return float(np.quantile(widths, 0.95))  # type: ignore[arg-type]


def play(material: Material, policy: Policy, advance: Callable[[int], None]) -> Class:
    """Slates for everyone through ``Policy.select_batch``, simulated answers, updated model and state; round by round."""
    names = tuple(f"{profile}-{copy:02d}" for profile in PROFILES for copy in range(1, COPIES + 1))
    size, draws = len(names), Draws(SEED)
    keys = np.array([session_key(name) for name in names], np.uint64)
    pools = matched_pools(draws, keys, ROUNDS, len(material.catalog), POOL)
    people, begin = IRT(), [PROFILES[name.split("-")[0]] for name in names]
    start = Start(*(np.array([getattr(one, field) for one in begin]) for field in ("knowledge", "fatigue", "engagement", "trust")))
    minds = people.begin(start, Draw(draws, keys, -1, np.zeros((size, 0), np.int64)))
    observed = Observed.nothing(size, len(material.catalog), policy.state.memory)
    known, doubt = material.scorer.begin(Context.new(size), SEED), np.full(size, 0.5)
    skills, lessons = skills_of(material.corpus), []
    for t, items in enumerate(pools):
        context = Context(np.full(size, -1), observed.knowledge, observed.engagement, doubt)
        scores = material.scorer.score(known, context, items)
        doubt = uncertainty(scores.widths, policy.state.width_reference, size)
        states = StateBatch(observed.knowledge, observed.engagement, doubt, observed.shown)
        slates = policy.select_batch(PoolBatch.of(pools_of(material.catalog, items, scores)), states)
        shown = _shown(material, slates, items, observed, skills, t)
        draw = Draw(draws, keys, t, shown.items)
        response = people.respond(minds, shown, draw)
        lessons.append(Lesson(slates, shown.items, response.attempted, response.correct))
        minds = people.advance(minds, shown, response, draw)
        known = material.scorer.update(known, context, Feedback(shown.items, response.attempted, response.correct))
        observed = observed.after(shown.items, slates.ids.to_pylist(), *round_of(response))
        advance(size)
    return Class(names, tuple(lessons))


def _shown(material: Material, slates: SlateBatch, items: Ints, observed: Observed, skills: Ints, t: int) -> Shown:
    """The slates as a rectangle of item codes, padded with -1."""
    sizes = np.diff(slates.starts)
    there = np.arange(int(sizes.max())) < sizes[:, None]
    codes = np.full(there.shape, -1, np.int64)
    codes[there] = items[np.repeat(np.arange(sizes.size), sizes), slates.chosen]
    safe = np.maximum(codes, 0)
    seen = np.take_along_axis(observed.seen, safe, axis=1)
    return Shown(codes, there, material.catalog.targets[safe], skills[safe], seen, t)


def synthetic_corpus() -> Corpus:
    """The small education corpus that comes with the package; synthetic."""
    return corpora.load("synthetic-demo")
