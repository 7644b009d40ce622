"""Fitted scorers of a run, kept as model files so that a resumed run, or a single session, meets the same ones.

Scope: that of the scorers.
"""

from __future__ import annotations

from pathlib import Path

from slateproof.corpora import Corpus
from slateproof.learn.protocol import Learner, Progress, Scorer
from slateproof.learn.registry import learner, open_model
from slateproof.simulate.modes import PRIVATE

__all__ = ["fitted", "make"]

EPSILON, DELTA = 3.0, 1e-5
"""Training of the private two-tower: round level."""


def make(name: str) -> Learner:
    """The learner of a name. A private one gets the budget of this module.

    A run's seed is public, so that the run can be repeated; the figures of its ledger are those of the same training with a
    secret seed.
    """
    return learner(name, epsilon=EPSILON, delta=DELTA) if name == PRIVATE else learner(name)


def fitted(name: str, corpus: Corpus, seed: int, folder: Path | None, progress: Progress | None = None) -> Scorer:
    """The scorer of a learner's name: read from ``folder`` where it was fitted before, else fitted and written there."""
    path = None if folder is None else folder / f"{name}.npz"
    if path is not None and path.exists():
        return _opened(name, path, corpus)
    told = None if progress is None else lambda done, total, what: progress(done, total, f"fitting {name}: {what}")
    scorer = make(name).fit(corpus, seed=seed, progress=told)
    if path is None:
        return scorer
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{name}.part.npz")
    scorer.save(part)
    part.replace(path)
    return scorer


def _opened(name: str, path: Path, corpus: Corpus) -> Scorer:
    if name != PRIVATE:
        return open_model(path, corpus)
    from slateproof.learn.two_tower_scorer import TwoTowerScorer

    return TwoTowerScorer.load(path, corpus)
