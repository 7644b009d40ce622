"""Learners by name, imported when asked for: naming one costs nothing, and only its own libraries are loaded.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slateproof.corpora import Corpus
from slateproof.corpora.settings import read_settings
from slateproof.errors import InvalidInput
from slateproof.learn.checks import extra
from slateproof.learn.modelfile import read
from slateproof.learn.protocol import Learner, Scorer
from slateproof.learn.settings import settable, with_settings

__all__ = ["LEARNERS", "Known", "learner", "open_model", "settings_of"]


@dataclass(frozen=True, slots=True)
class Known:
    """A learner: its module, its class, its scorer's class, the settings that make it this name, and what it is.

    Scope: none.
    """

    module: str
    learner: str
    scorer: str
    title: str
    settings: tuple[tuple[str, Any], ...] = ()


LEARNERS: Mapping[str, Known] = MappingProxyType(
    {
        "popularity": Known("popularity", "Popularity", "PopularityScorer", "item success rate; the baseline"),
        "mf-bce": Known("mf_bce", "MFBCE", "MFBCEScorer", 'factors by five Adam steps on cross-entropy; the paper\'s "ALS"'),
        "als": Known("als", "ALS", "ALSScorer", "alternating least squares (implicit)"),
        "linucb": Known("linucb", "LinUCB", "LinUCBScorer", "ridge over difficulty and tags, one posterior per session"),
        "bkt": Known("bkt", "BKT", "BKTScorer", "knowledge tracing, fixed parameters"),
        "bkt-em": Known("bkt", "BKT", "BKTScorer", "knowledge tracing, fitted by EM", (("fitted", True),)),
        "dkt": Known("dkt", "DKT", "DKTScorer", "deep knowledge tracing (JAX)"),
        "sakt": Known("sakt", "SAKT", "SAKTScorer", "self-attentive knowledge tracing (JAX)"),
        "two-tower": Known("two_tower", "TwoTower", "TwoTowerScorer", "state-gated two-tower network (JAX)"),
        "private-two-tower": Known(
            "dp_train", "private_two_tower", "TwoTowerScorer", "two-tower trained under differential privacy (ε, δ per round)"
        ),
        "blend": Known("blend", "Blend", "BlendScorer", "mf-bce anchor (weight .75) and two-tower, standardised per pool"),
        "blend-raw": Known("blend", "Blend", "BlendScorer", "the same, raw scores", (("raw", True),)),
    }
)
"""Every learner that the command line knows."""

_PARTS = ("mf-bce", "two-tower")


def learner(
    name: str, *, epsilon: float | None = None, delta: float | None = None, settings: Mapping[str, Any] | None = None
) -> Learner:
    """The learner of a name with the published settings, or other ``settings``; an unknown name is refused with the known ones.

    ``epsilon`` and ``delta`` are the budget of a private learner; every other refuses them.
    """
    known = _known(name)
    budget = {key: value for key, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    if budget and known.learner != "private_two_tower":
        raise InvalidInput(next(iter(budget)), "is for private learners: private-two-tower", name)
    made = _class(known, known.learner)
    parts = {"anchor": learner(_PARTS[0]), "adaptive": learner(_PARTS[1])} if known.learner == "Blend" else {}
    return with_settings(made(**parts, **dict(known.settings), **budget), settings or {}, _fixed(known))


def settings_of(name: str, words: Iterable[str]) -> dict[str, Any]:
    """The ``settings`` of ``learner`` from ``key=value`` words."""
    return read_settings(words, settable(learner(name), _fixed(_known(name))), name)


def open_model(path: str | Path, corpus: Corpus) -> Scorer:
    """The scorer in a model file, whichever learner wrote it; refuses another corpus, another version, a damaged file."""
    known = _known(read(path).learner)
    return _class(known, known.scorer).load(Path(path), corpus)


def _fixed(known: Known) -> tuple[str, ...]:
    """What makes the learner this name; of a private one everything that its budget was calibrated for."""
    private = known.learner == "private_two_tower"
    return tuple(settable(_class(known, known.learner)())) if private else tuple(key for key, _ in known.settings)


def _known(name: str) -> Known:
    if name not in LEARNERS:
        raise InvalidInput("learner", f"must be one of {', '.join(LEARNERS)}", name)
    return LEARNERS[name]


def _class(known: Known, name: str) -> Any:
    return getattr(extra(f"slateproof.learn.{known.module}", known.module), name)
