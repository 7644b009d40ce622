"""Operator L: what a learner must offer, as two protocols and the columns they speak in.

A ``Learner`` is configuration; ``fit`` turns a corpus into a ``Scorer``. A ``Scorer`` scores candidates for many sessions in one
call and takes in their feedback round by round. All state of a session lives in the value that ``begin`` and ``update`` return, so
that a scorer is never changed, sessions can be replayed, and two runs with one seed are the same.

Scope: whatever a scorer's ``ledger`` says ran; a scorer without one is non-private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.privacy import Ledger
from slateproof.types.columns import Floats, Ints

__all__ = ["Context", "Feedback", "Learner", "Progress", "Scorer", "Scores"]

Progress = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, what is going on)."""


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """S sessions before a round: ``user`` codes (S,) (-1: a user the corpus does not know) and the selector state.

    ``knowledge``, ``engagement``, ``uncertainty`` (S,) are k-hat, e-hat and u, in [0, 1].

    Scope: none; an input carries no claim.
    """

    user: Ints
    knowledge: Floats
    engagement: Floats
    uncertainty: Floats

    def __post_init__(self) -> None:
        for name in ("knowledge", "engagement", "uncertainty"):
            if getattr(self, name).shape != self.user.shape:
                raise InvalidInput(name, f"must have one value per session ({self.user.size})", getattr(self, name).shape)

    @classmethod
    def new(cls, sessions: int) -> Context:
        """Sessions of unknown users with neutral priors."""
        half = np.full(sessions, 0.5)
        return cls(np.full(sessions, -1, np.int64), half, half.copy(), half.copy())


@dataclass(frozen=True, slots=True, eq=False)
class Feedback:
    """One round of S sessions: the slate shown, as item codes (S, K) padded with -1, and the responses (S, K).

    ``attempted`` says which shown items were tried; ``correct`` which of these succeeded (False where not attempted). One row is
    one protected unit: an exposure round.

    Scope: none; an observation carries no claim.
    """

    items: Ints
    attempted: Any
    correct: Any

    def __post_init__(self) -> None:
        for name in ("attempted", "correct"):
            if getattr(self, name).shape != self.items.shape:
                raise InvalidInput(name, f"must have the shape of items {self.items.shape}", getattr(self, name).shape)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """``scores`` (S, n), finite; ``widths`` (S, n), finite and >= 0, or None where the scorer knows no uncertainty.

    Scope: none by itself; its privacy status is that of the scorer.
    """

    scores: Floats
    widths: Floats | None


class Scorer(Protocol):
    """A fitted learner. ``session`` values are opaque to everyone else, and never changed in place."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    @property
    def corpus_digest(self) -> str:
        """The corpus it was fitted on."""
        ...

    @property
    def ledger(self) -> Ledger | None:
        """What ran under differential privacy; None where nothing did."""
        ...

    def begin(self, context: Context, seed: int) -> Any:
        """Fresh sessions. ``seed`` is for scorers that draw; one stream per session is derived from it."""
        ...

    def score(self, session: Any, context: Context, items: Ints) -> Scores:
        """Scores of ``items`` (S, n) item codes for every session. Refuses codes that are not of the corpus."""
        ...

    def update(self, session: Any, context: Context, feedback: Feedback) -> Any:
        """The sessions after a round. A scorer that does not learn online returns ``session`` itself."""
        ...

    def save(self, path: Path) -> None:
        """Write a model file: parameters, configuration, seed, versions, corpus digest and ledger."""
        ...

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> Self:
        """Read it back; refuses another corpus, another version, a damaged file."""
        ...


class Learner(Protocol):
    """Configuration of operator L (a frozen value)."""

    @property
    def name(self) -> str:
        """How tables and the command line call it."""
        ...

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> Scorer:
        """Fit on the training users of ``corpus`` (its split); the same seed gives the same scorer, bit for bit, on one machine."""
        ...
