"""Anchor blending, mu = w mu_anchor + (1 - w) mu_adaptive (the paper's "Modes and privacy"), with w = ``anchor_weight``.

Both score vectors are standardised within the candidate pool before they are mixed, so that the weight means the same whatever
the scales: (mu - mean) / sd, sd with divisor n. A pool on which a scorer is constant says nothing about order and standardises to
zeros. Sums are exactly rounded (``math.fsum``), so that neither the order of the candidates nor the batch leaves a mark. The
variant ``raw`` mixes scores as they come; it is named so everywhere, because its weight depends on two arbitrary scales.

Scope: anchored where the anchor was fitted on protected data without privacy; that regime has no end-to-end claim.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from math import fsum, sqrt
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.modelfile import Model, read_for, write
from slateproof.learn.protocol import Context, Feedback, Learner, Progress, Scorer, Scores
from slateproof.privacy import Ledger
from slateproof.types.columns import Floats, Ints, finite_scalar

__all__ = ["Blend", "BlendScorer", "standardised"]


@dataclass(frozen=True, slots=True)
class Blend:
    """Two learners and the anchor's weight in [0, 1]; ``raw`` mixes unstandardised scores.

    Scope: that of its parts, joined.
    """

    anchor: Learner
    adaptive: Learner
    anchor_weight: float = 0.75
    raw: bool = False

    def __post_init__(self) -> None:
        finite_scalar(self.anchor_weight, "anchor_weight", 0.0, 1.0)

    @property
    def name(self) -> str:
        """ "blend", or "blend-raw" where scores are mixed as they come."""
        return "blend-raw" if self.raw else "blend"

    def fit(self, corpus: Corpus, *, seed: int = 42, progress: Progress | None = None) -> BlendScorer:
        """Fit both parts with the same seed."""
        anchor = self.anchor.fit(corpus, seed=seed, progress=_part(progress, self.anchor.name))
        adaptive = self.adaptive.fit(corpus, seed=seed, progress=_part(progress, self.adaptive.name))
        return BlendScorer(anchor, adaptive, self.anchor_weight, self.raw, seed=seed, corpus_label=corpus.label)


class BlendScorer:
    """A session is the pair of the parts' sessions.

    Widths are the adaptive part's, on the scale of the mix: (1 - w) width / sd of its pool ((1 - w) width where raw, and where
    its pool is constant and has no scale). The anchor adds none. None where w is 1 or the adaptive part has none.

    Scope: that of its parts, joined; ``ledger`` composes both, or is None where a part has none: then it is
    non-private.
    """

    pooled: ClassVar[bool] = True
    """A score depends on the other candidates of its pool."""

    def __init__(
        self, anchor: Scorer, adaptive: Scorer, anchor_weight: float, raw: bool = False, *, seed: int = 42, corpus_label: str = ""
    ) -> None:
        if anchor.corpus_digest != adaptive.corpus_digest:
            raise InvalidInput("adaptive", "must be fitted on the anchor's corpus", adaptive.corpus_digest[:12])
        self.anchor, self.adaptive = anchor, adaptive
        self.anchor_weight, self.raw = finite_scalar(anchor_weight, "anchor_weight", 0.0, 1.0), raw
        self._seed, self._label = seed, corpus_label

    @property
    def name(self) -> str:
        """How tables call it."""
        return "blend-raw" if self.raw else "blend"

    @property
    def corpus_digest(self) -> str:
        """The corpus of both parts."""
        return self.anchor.corpus_digest

    @property
    def compiled(self) -> bool:
        """Whether the last digits of a score depend on how many sessions are scored in a call, as those of a part do."""
        return any(getattr(part, "compiled", False) for part in (self.anchor, self.adaptive))

    @property
    def ledger(self) -> Ledger | None:
        """Both ledgers composed; None where a part has none."""
        if self.anchor.ledger is None or self.adaptive.ledger is None:
            return None
        return self.anchor.ledger.merge(self.adaptive.ledger)

    def begin(self, context: Context, seed: int) -> tuple[Any, Any]:
        """Fresh sessions of both parts."""
        return self.anchor.begin(context, seed), self.adaptive.begin(context, seed)

    def score(self, session: tuple[Any, Any], context: Context, items: Ints) -> Scores:
        """The mix."""
        anchor = self.anchor.score(session[0], context, items)
        adaptive = self.adaptive.score(session[1], context, items)
        share = 1.0 - self.anchor_weight
        left, right, scale = anchor.scores, adaptive.scores, np.ones(adaptive.scores.shape[0])
        if not self.raw:
            left, _ = standardised(left)
            right, scale = standardised(right)
        mixed = self.anchor_weight * left + share * right
        if adaptive.widths is None or share == 0.0:
            return Scores(mixed, None)
        return Scores(mixed, share * adaptive.widths / scale[:, None])

    def update(self, session: tuple[Any, Any], context: Context, feedback: Feedback) -> tuple[Any, Any]:
        """Both parts learn."""
        return self.anchor.update(session[0], context, feedback), self.adaptive.update(session[1], context, feedback)

    def save(self, path: Path) -> None:
        """Write one model file that holds the files of both parts."""
        config = {"anchor_weight": self.anchor_weight, "raw": self.raw}
        with tempfile.TemporaryDirectory() as folder:
            arrays = {part: _bytes(getattr(self, part), Path(folder) / f"{part}.npz") for part in ("anchor", "adaptive")}
        write(path, Model(self.name, config, self._seed, self.corpus_digest, self._label, arrays, self.ledger))

    @classmethod
    def load(cls, path: Path, corpus: Corpus) -> Self:
        """Read it back with both parts; refuses another corpus, another version, a damaged file."""
        from slateproof.learn.registry import open_model

        model = read_for(path, corpus, "blend", "blend-raw")
        parts = []
        with tempfile.TemporaryDirectory() as folder:
            for part in ("anchor", "adaptive"):
                inner = Path(folder) / f"{part}.npz"
                inner.write_bytes(model.arrays[part].tobytes())
                parts.append(open_model(inner, corpus))
        weight, raw = model.config["anchor_weight"], model.config["raw"]
        return cls(parts[0], parts[1], weight, raw, seed=model.seed, corpus_label=model.corpus_label)


def standardised(scores: Floats) -> tuple[Floats, Floats]:
    """Rows with mean 0 and standard deviation 1 (zeros where a row is constant), and what each was divided by (1 there)."""
    out, scale = np.zeros(scores.shape), np.ones(scores.shape[0])
    for place, row in enumerate(scores):
        centred = row - fsum(row.tolist()) / row.size
        spread = sqrt(fsum((centred * centred).tolist()) / row.size)
        if row.min() < row.max() and spread > 0.0:
            out[place], scale[place] = centred / spread, spread
    return out, scale


def _bytes(scorer: Scorer, path: Path) -> Any:
    scorer.save(path)
    return np.frombuffer(path.read_bytes(), np.uint8)


def _part(progress: Progress | None, name: str) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total, what: progress(done, total, f"{name}: {what}")
