"""What scorers that live in one model file have in common.

Scope: that of the learner; the ledger is the model file's.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from slateproof.corpora import Corpus
from slateproof.learn.modelfile import Model, read_for, write
from slateproof.privacy import Ledger

__all__ = ["StoredScorer"]


class StoredScorer:
    """A scorer that is its ``Model`` and nothing else: saving writes it, loading reads it.

    ``learners`` are the names under which its learner may have written the file; ``scale`` says what a score is ("probability" of
    success, its "logit", or "none": an order only), so that log loss is taken where it means something.

    Scope: that of the learner.
    """

    learners: ClassVar[tuple[str, ...]] = ()
    scale: ClassVar[str] = "none"

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """How tables call it."""
        return self._model.learner

    @property
    def corpus_digest(self) -> str:
        """The corpus it was fitted on."""
        return self._model.corpus_digest

    @property
    def ledger(self) -> Ledger | None:
        """What ran under differential privacy; None where nothing did."""
        return self._model.ledger

    def save(self, path: Path) -> None:
        """Write the model file."""
        write(path, self._model)

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> Self:
        """Read it back; refuses another corpus, another version, a damaged file."""
        return cls(read_for(path, corpus, *cls.learners))
