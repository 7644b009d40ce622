"""Does the simulator look like the corpus? Difficulty against correctness, users' correctness, and counts, as data and distances.

Both sides are reduced to the same aggregates: the corpus' held-out users (those that neither learners nor the calibration saw), and
simulated learners whose items are drawn as often as the corpus' items occur, with no selector between. What is compared is
the response model, not a policy. d(i) is the corpus' own difficulty, to which held-out answers contribute: on both sides alike, but
correctness by difficulty is to that extent not out of sample.

A small distance says little where a corpus hardly varies. So ``one_chance``, a model under which everybody has one chance on every
item, stands beside the others: what is not below its distances was not learned from the data.

Scope: none; a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.simulate.crowd import answers
from slateproof.simulate.plan import World
from slateproof.simulate.responses import IRT, ResponseModel
from slateproof.types.columns import Floats, Ints

__all__ = ["Aggregates", "Validation", "aggregates", "difficulty_rmse", "level", "one_chance", "simulated_aggregates", "validate"]

TRAIN, HELD_OUT = 0, 2

LEVELS = ("correct_corpus", "correct_simulated", "constant_rmse")

BINS, LEAST = 10, 5
"""Bins of difficulty, of equally many corpus answers each; users with fewer answers have no share worth a point."""


@dataclass(frozen=True, slots=True, eq=False)
class Aggregates:
    """``edges`` of difficulty bins, mean ``correctness`` and number of ``answers`` in each; per user the ``shares`` of correct
    answers (users with at least five), and the ``counts`` of answers.

    Scope: none.
    """

    edges: Floats
    correctness: Floats
    answers: Ints
    shares: Floats
    counts: Ints


@dataclass(frozen=True, slots=True)
class Validation:
    """Distances between a corpus and a response model, and the data behind them.

    ``difficulty_rmse``: root mean square difference of correctness over difficulty bins, weighted by corpus answers.
    ``share_ks``, ``share_wasserstein``: between the users' shares of correct answers. ``count_wasserstein``: between log counts,
    each centred at its median, because a log without exposures says nothing about the level. ``correct_corpus`` and
    ``correct_simulated``: shares of correct answers. ``constant_rmse``: the difficulty RMSE of the training users' share of correct
    answers, said of every bin.

    Scope: none.
    """

    corpus: str
    model: str
    difficulty_rmse: float
    share_ks: float
    share_wasserstein: float
    count_wasserstein: float
    correct_corpus: float
    correct_simulated: float
    constant_rmse: float
    observed: Aggregates
    simulated: Aggregates

    def to_text(self) -> str:
        """One line."""
        return (
            f"{self.corpus}, {self.model}: difficulty RMSE {self.difficulty_rmse:.3f} (one share for all "
            f"{self.constant_rmse:.3f}), correct {self.correct_simulated:.3f} (corpus {self.correct_corpus:.3f}), "
            f"user shares KS {self.share_ks:.3f} W1 {self.share_wasserstein:.3f}, "
            f"log counts (centred) W1 {self.count_wasserstein:.3f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Distances, and the bins; shares and counts as histograms over 20 equal bins."""
        names = ("difficulty_rmse", "share_ks", "share_wasserstein", "count_wasserstein", *LEVELS)
        sides = {side: _compact(getattr(self, side)) for side in ("observed", "simulated")}
        return {"corpus": self.corpus, "model": self.model, **{n: getattr(self, n) for n in names}, **sides}


def _compact(one: Aggregates) -> dict[str, Any]:
    shares = np.histogram(one.shares, np.linspace(0.0, 1.0, 21))[0]
    counts = np.histogram(np.log10(one.counts), np.linspace(0.0, 4.0, 21))[0]
    return {
        "edges": one.edges.tolist(),
        "correctness": [None if np.isnan(v) else float(v) for v in one.correctness],
        "answers": one.answers.tolist(),
        "share_histogram": shares.tolist(),
        "log10_count_histogram": counts.tolist(),
    }


def validate(
    world: World, models: Mapping[str, ResponseModel], *, learners: int = 2_000, rounds: int = 20, seed: int = 42
) -> list[Validation]:
    """One row per response model."""
    observed = aggregates(world.corpus, world.corpus.split().part == HELD_OUT)
    constant = float(np.sqrt(np.average((observed.correctness - _training_share(world.corpus)) ** 2, weights=observed.answers)))
    out = []
    for name, model in models.items():
        simulated = simulated_aggregates(world, model, observed, learners=learners, rounds=rounds, seed=seed)
        out.append(_compared(world.corpus.label, name, constant, observed, simulated))
    return out


def one_chance(corpus: Corpus) -> IRT:
    """The model that knows one number: every attempt succeeds with the training users' share of correct answers."""
    share = _training_share(corpus)
    if not 0.0 < share < 1.0:
        raise InvalidInput("corpus", "must have both correct and wrong answers of training users", share)
    off = dict.fromkeys(("ability_slope", "difficulty_slope", "fatigue_cost", "guess", "slip", "learning_rate"), 0.0)
    return IRT(ease=float(np.log(share / (1.0 - share))), **off)


def _training_share(corpus: Corpus) -> float:
    return float(corpus.positive[(corpus.split().part == TRAIN)[corpus.user]].mean())


def difficulty_rmse(observed: Aggregates, simulated: Aggregates) -> float:
    """Root mean square difference of correctness over the bins where both have answers, weighted by those observed."""
    there = simulated.answers > 0
    gap = simulated.correctness[there] - observed.correctness[there]
    return float(np.sqrt(np.average(gap**2, weights=observed.answers[there])))


def level(one: Aggregates) -> float:
    """Share of correct answers."""
    return float(np.average(np.nan_to_num(one.correctness), weights=one.answers))


def _compared(corpus: str, model: str, constant: float, observed: Aggregates, simulated: Aggregates) -> Validation:
    logs = [np.log(one.counts) - np.median(np.log(one.counts)) for one in (observed, simulated)]
    return Validation(
        corpus, model, difficulty_rmse(observed, simulated),
        float(stats.ks_2samp(observed.shares, simulated.shares).statistic),
        float(stats.wasserstein_distance(observed.shares, simulated.shares)),
        float(stats.wasserstein_distance(*logs)), level(observed), level(simulated), constant, observed, simulated,
    )  # fmt: skip


def aggregates(corpus: Corpus, users: Any) -> Aggregates:
    """Of some users: a flag per user."""
    rows = users[corpus.user]
    d, y, user = corpus.items.difficulty[corpus.item[rows]], corpus.positive[rows], corpus.user[rows]
    edges = np.unique(np.quantile(d, np.linspace(0.0, 1.0, BINS + 1)))
    if edges.size < 3:
        raise InvalidInput("corpus", "must have items of different difficulty", corpus.name)
    counts = np.bincount(user, minlength=corpus.users)
    right = np.bincount(user, weights=y, minlength=corpus.users)
    enough = counts >= LEAST
    if not enough.any():
        raise InvalidInput("corpus", f"must have users with at least {LEAST} answers", corpus.name)
    shares = right[enough] / counts[enough]
    return _binned(edges, d, y, shares, counts[counts > 0])


def simulated_aggregates(
    world: World, model: ResponseModel, observed: Aggregates, *, learners: int, rounds: int, seed: int
) -> Aggregates:
    """The same of ``answers``.

    A learner's share is taken over as many first attempts as a random corpus user has answers (of those with enough), so that both
    sides carry the same sampling noise as far as the attempts reach. Refuses a model whose learners hardly try anything.
    """
    found = answers(world, model, learners=learners, rounds=rounds, seed=seed)
    length = np.random.default_rng([seed, 1]).choice(observed.counts[observed.counts >= LEAST], learners)
    first = found.attempted & (np.cumsum(found.attempted, axis=1) <= length[:, None])
    counts = first.sum(axis=1)
    enough = counts >= LEAST
    if not enough.any():
        raise InvalidInput(
            "models", f"must have learners who try at least {LEAST} items in {rounds} rounds to be compared", model.name
        )
    shares = (found.correct & first).sum(axis=1)[enough] / counts[enough]
    every = found.attempted.sum(axis=1)
    tried = found.attempted
    return _binned(observed.edges, found.difficulty[tried], found.correct[tried], shares, every[every > 0])


def _binned(edges: Floats, d: Any, y: Any, shares: Any, counts: Any) -> Aggregates:
    place = np.clip(np.searchsorted(edges, d, side="right") - 1, 0, edges.size - 2)
    answers = np.bincount(place, minlength=edges.size - 1)
    right = np.bincount(place, weights=y, minlength=edges.size - 1)
    correctness = np.where(answers > 0, right / np.maximum(answers, 1), np.nan)
    return Aggregates(edges, correctness, answers, shares, counts)
