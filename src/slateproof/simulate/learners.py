"""Fitted scorers of a run, kept as model files so that a resumed run, or a single session, meets the same ones.

Scope: that of the scorers.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Learner, Progress, Scorer
from slateproof.learn.registry import learner, open_model
from slateproof.simulate.files import json_text, read_json, sha256_of, write_json
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
    """The scorer of a learner's name: read from ``folder`` where it was fitted before, else fitted and written there.

    Beside a model stands from what it was made (corpus, seed, settings) and its SHA-256; a file that does not fit is refused.
    """
    made = make(name)
    told = None if progress is None else lambda done, total, what: progress(done, total, f"fitting {name}: {what}")
    if folder is None:
        return made.fit(corpus, seed=seed, progress=told)
    path, note = folder / f"{name}.npz", folder / f"{name}.json"
    settings = asdict(made)  # type: ignore[call-overload]
    origin = {"learner": name, "seed": seed, "corpus": corpus.digest, "settings": settings}
    if path.exists():
        _check(path, note, origin)
        return open_model(path, corpus)
    scorer = made.fit(corpus, seed=seed, progress=told)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{name}.part.npz")
    scorer.save(part)
    # The note comes first: a model without one would be refused, a note without a model is written again.
    write_json(note, origin | {"sha256": sha256_of(part)})
    part.replace(path)
    return scorer


def _check(path: Path, note: Path, origin: dict[str, Any]) -> None:
    held = read_json(note, "the note beside a model: delete the model to fit it again")
    for key, value in json.loads(json_text(origin)).items():
        if held.get(key) != value:
            raise InvalidInput("out", f"must hold models of this run: delete this one, which has another {key}", where=str(path))
    if held.get("sha256") != sha256_of(path):
        raise InvalidInput("out", "must hold models as this run wrote them: delete this one, which was changed", where=str(path))
