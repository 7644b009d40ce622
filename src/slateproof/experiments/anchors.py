"""Candidate pools of an anchor's own users, standardised: what the raw-ranking experiments perturb.

"User-specific pools": each pool belongs to a training user with at least one positive response (others mean nothing to a factor
model) and holds candidates drawn from the whole catalogue, without repeats.

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn import Context, Learner, learner
from slateproof.learn.blend import standardised
from slateproof.learn.mf_bce import MFBCE
from slateproof.types.columns import Floats, Ints

__all__ = ["ANCHORS", "SHOWN", "AnchorPools", "anchor_of", "anchor_pools"]

ANCHORS = ("mf-bce", "als")
"""What the paper calls ALS, first; then alternating least squares."""
SHOWN = {"mf-bce": "MF-BCE", "als": "ALS"}
"""How they are written for people."""


def anchor_of(name: str) -> Learner:
    """The anchor of a raw-ranking experiment.

    MF-BCE here has factors only. The paper does not say whether its factorisation has biases, and it matters on sparse ratings:
    five Adam steps move every bias by about .05 whatever its ratings say beyond their sign, so scores pile up on two levels.
    `real-anchor` shows both.
    """
    return MFBCE(biases=False) if name == ANCHORS[0] else learner(name)


@dataclass(frozen=True, slots=True, eq=False)
class AnchorPools:
    """``scores`` (pools, n) standardised within each pool, as the scorer gave them in ``raw``; whose pools; which items.

    Scope: stability only.
    """

    scores: Floats
    raw: Floats
    users: Ints
    items: Ints


def anchor_pools(corpus: Corpus, learner: Learner, pools: int, candidates: int, seed: int) -> AnchorPools:
    """Fit, draw users and candidates (both from ``seed``, the same for every learner on one corpus), score, standardise."""
    scorer = learner.fit(corpus, seed=seed)
    rng = np.random.default_rng([seed, 1])
    split = corpus.split()
    known = np.unique(corpus.user[split.train & corpus.positive])
    users = rng.choice(known, min(pools, known.size), replace=False).astype(np.int64)
    size = min(candidates, len(corpus.items))
    items = np.stack([rng.choice(len(corpus.items), size, replace=False) for _ in users]).astype(np.int64)
    items.sort(axis=1)
    half = np.full(users.size, 0.5)
    context = Context(users, half, half.copy(), half.copy())
    raw = scorer.score(scorer.begin(context, seed), context, items).scores
    return AnchorPools(standardised(raw)[0], raw, users, items)
