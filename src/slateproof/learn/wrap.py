"""Your own model as operator L: any function of a session and its candidates.

Scope: non-private; nothing is known about what a foreign function was trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_feedback, check_items, finite
from slateproof.learn.modelfile import Model, read_for, write
from slateproof.learn.protocol import Context, Feedback, Progress, Scores
from slateproof.types.columns import Ints

__all__ = ["Ask", "CallableScorer", "FromCallable"]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What a function is asked: score ``items`` (ids) for one session.

    ``user`` is the user's id, or None for a user the corpus does not know; ``history`` are the attempts of this session so far,
    oldest first, as (item id, correct); ``knowledge``, ``engagement`` and ``uncertainty`` are the selector's state.

    Scope: none.
    """

    user: Any
    items: NDArray[Any]
    history: tuple[tuple[Any, bool], ...]
    knowledge: float
    engagement: float
    uncertainty: float


Function = Callable[[Ask], Any]
"""Returns one score per item, or (scores, widths)."""

History = tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True)
class FromCallable:
    """A learner around ``function``, which is already trained or needs no training. It must give equal answers to equal asks.

    Scope: non-private.
    """

    function: Function
    name: str = "callable"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput("function", "must be callable", self.function)

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> CallableScorer:
        """Nothing is fitted; the corpus gives the ids their codes."""
        return CallableScorer(self.function, Model(self.name, {}, seed, corpus.digest, corpus.label, {}), corpus)

    def open(self, path: str | Path, corpus: Corpus) -> CallableScorer:
        """The scorer of a saved model file around this function; a file cannot hold a function (slateproof reads no pickles)."""
        return CallableScorer(self.function, read_for(path, corpus, self.name), corpus)


class CallableScorer:
    """A session is its history; the function is called once per session.

    Scope: non-private.
    """

    ledger: None = None

    def __init__(self, function: Function, model: Model, corpus: Corpus) -> None:
        self._function, self._model = function, model
        self._users, self._items = corpus.user_ids, corpus.items.ids

    @property
    def name(self) -> str:
        """How tables call it."""
        return self._model.learner

    @property
    def corpus_digest(self) -> str:
        """The corpus whose codes it takes."""
        return self._model.corpus_digest

    def begin(self, context: Context, seed: int) -> tuple[History, ...]:
        """Empty histories."""
        return ((),) * int(context.user.size)

    def score(self, session: tuple[History, ...], context: Context, items: Ints) -> Scores:
        """What the function says, checked: one finite score per candidate, widths finite and not negative."""
        codes = check_items(items, context, self._items.size)
        answers = [
            _answer(self._function(self._ask(session[s], context, codes[s], s)), codes.shape[1]) for s in range(len(session))
        ]
        scores = finite(np.array([one for one, _ in answers]).reshape(codes.shape), "scores")
        if any(width is None for _, width in answers):
            return Scores(scores, None)
        widths = finite(np.array([width for _, width in answers]).reshape(codes.shape), "widths")
        if (widths < 0.0).any():
            raise InvalidInput("widths", "must be at least 0", float(widths.min()))
        return Scores(scores, widths)

    def update(self, session: tuple[History, ...], context: Context, feedback: Feedback) -> tuple[History, ...]:
        """Histories with the attempts of the round."""
        codes, attempted = check_feedback(feedback, context, self._items.size)
        correct = np.asarray(feedback.correct, np.bool_)
        return tuple(
            old + tuple(zip(codes[s, attempted[s]].tolist(), correct[s, attempted[s]].tolist(), strict=True))
            for s, old in enumerate(session)
        )

    def save(self, path: Path) -> None:
        """Write name, seed, versions and corpus; the function stays yours."""
        write(path, self._model)

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> NoReturn:
        """Refused: the function is not in the file."""
        raise InvalidInput(
            "model", "of your own function is opened with FromCallable(function, name).open(path, corpus)", str(path)
        )

    def _ask(self, history: History, context: Context, codes: Ints, s: int) -> Ask:
        user = int(context.user[s])
        return Ask(
            user=self._users[user].item() if 0 <= user < self._users.size else None,
            items=self._items[codes],
            history=tuple((self._items[code].item(), correct) for code, correct in history),
            knowledge=float(context.knowledge[s]),
            engagement=float(context.engagement[s]),
            uncertainty=float(context.uncertainty[s]),
        )


def _answer(value: Any, size: int) -> tuple[Any, Any]:
    """(scores, widths or None) of one session, with one number per candidate."""
    scores, widths = value if isinstance(value, tuple) else (value, None)
    out = []
    for field, column in (("scores", scores), ("widths", widths)):
        try:
            numbers = None if column is None else np.asarray(column, np.float64)
        except (TypeError, ValueError) as why:
            raise InvalidInput(field, f"of your function must be numbers ({why})") from why
        if numbers is not None and numbers.shape != (size,):
            raise InvalidInput(field, f"of your function must be one per candidate ({size})", numbers.shape)
        out.append(numbers)
    if out[0] is None:
        raise InvalidInput("scores", "of your function must be one per candidate", None)
    return out[0], out[1]
