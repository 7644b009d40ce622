"""Bayesian knowledge tracing (Corbett and Anderson 1995): a hidden mastered/not mastered per learner and skill.

P(correct) = L (1 - slip) + (1 - L) guess; after an answer L becomes its posterior, and then L + (1 - L) transit. Nothing is
forgotten. The skill of an item is the corpus' ``items.skill``, or the item itself where no item has one.

Scope: non-private; a scorer-interface comparator, as in the paper.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numba import njit

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.bkt_em import fit_em
from slateproof.learn.checks import check_feedback, check_items, check_whole
from slateproof.learn.modelfile import Model
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.learn.stored import StoredScorer
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["BKT", "BKTScorer", "skills"]


@dataclass(frozen=True, slots=True)
class BKT:
    """Knowledge tracing with the given parameters for all skills, or (``fitted``) with EM started from them, per skill.

    EM stops after ``iterations`` rounds, or when the log-likelihood gains less than 1e-7 per answer. Skills that training did
    not see keep the given parameters.

    Scope: non-private.
    """

    initial: float = 0.1
    transit: float = 0.1
    slip: float = 0.1
    guess: float = 0.2
    fitted: bool = False
    iterations: int = 100

    def __post_init__(self) -> None:
        for field in ("initial", "transit", "slip", "guess"):
            finite_scalar(getattr(self, field), field, 0.0, 1.0)
        if self.slip + self.guess >= 1.0:
            raise InvalidInput("slip", "and guess must sum to less than 1, or mastery lowers success", (self.slip, self.guess))
        check_whole(self.iterations, "iterations", 1)

    @property
    def name(self) -> str:
        """ "bkt", or "bkt-em" where the parameters are fitted."""
        return "bkt-em" if self.fitted else "bkt"

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> BKTScorer:
        """EM over the training answers, or nothing at all; nothing is drawn."""
        skill, count = skills(corpus)
        parameters = np.tile([self.initial, self.transit, self.slip, self.guess], (count, 1))
        if self.fitted:
            train = corpus.split().train
            rows = skill[corpus.item[train]], corpus.user[train], corpus.positive[train]
            parameters = fit_em(*rows, parameters, self.iterations, progress)
        arrays = {"skill": skill, "parameters": parameters}
        return BKTScorer(Model(self.name, asdict(self), seed, corpus.digest, corpus.label, arrays))


def skills(corpus: Corpus) -> tuple[Ints, int]:
    """The skill of every item, numbered from 0, and how many there are; items without one share one more where others have some."""
    items = corpus.items
    if (items.skill < 0).all():
        return np.arange(len(items), dtype=np.int64), len(items)
    chosen = np.where(items.skill < 0, len(items.tag_names), items.skill)
    used, skill = np.unique(chosen, return_inverse=True)
    return skill.astype(np.int64), int(used.size)


class BKTScorer(StoredScorer):
    """Scores are P(correct). A session is the mastery L of every skill; everyone begins at the initial one.

    It gives no widths: before the first answer they would be the same for every item.

    Scope: non-private.
    """

    learners = ("bkt", "bkt-em")
    scale = "probability"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._skill: Ints = model.arrays["skill"]
        self._parameters: Floats = model.arrays["parameters"]

    def begin(self, context: Context, seed: int) -> Floats:
        """Sessions x skills: P(L_0)."""
        return np.tile(self._parameters[:, 0], (context.user.size, 1))

    def score(self, session: Floats, context: Context, items: Ints) -> Scores:
        """P(correct) of each item's skill."""
        skill = self._skill[check_items(items, context, self._skill.size)]
        mastery = np.take_along_axis(session, skill, axis=1)
        slip, guess = self._parameters[skill, 2], self._parameters[skill, 3]
        return Scores(mastery * (1.0 - slip) + (1.0 - mastery) * guess, None)

    def update(self, session: Floats, context: Context, feedback: Feedback) -> Floats:
        """Bayes and transit for every attempted item, in slate order."""
        codes, attempted = check_feedback(feedback, context, self._skill.size)
        after = session.copy()
        _trace(after, self._skill, self._parameters, codes, attempted, np.asarray(feedback.correct, np.bool_))
        return after


@njit(cache=True, nogil=True)
def _trace(mastery: Floats, skill: Ints, parameters: Floats, codes: Ints, attempted: Any, correct: Any) -> None:
    for s in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if not attempted[s, j]:
                continue
            k = skill[codes[s, j]]
            known, slip, guess = mastery[s, k], parameters[k, 2], parameters[k, 3]
            if correct[s, j]:
                yes, no = known * (1.0 - slip), (1.0 - known) * guess
            else:
                yes, no = known * slip, (1.0 - known) * (1.0 - guess)
            # yes + no is 0 only where the model called the answer impossible; it then teaches nothing.
            if yes + no > 0.0:
                known = yes / (yes + no)
            mastery[s, k] = known + (1.0 - known) * parameters[k, 1]
