"""Margins and radii of a whole batch, from its columns.

Scope: stability only.
"""

from __future__ import annotations

import numpy as np

from slateproof.certify.columns import radii
from slateproof.certify.kernels import magnitudes
from slateproof.certify.make import certify
from slateproof.certify.rounding import SMALL_SQUARE, UNIT
from slateproof.types import SlateBatch
from slateproof.types.columns import Floats

__all__ = ["certify_batch"]


def certify_batch(slates: SlateBatch) -> tuple[Floats, Floats]:
    """(margins, radii), one per slate, both rounded down: never above ``certify(slate)``'s by more than its rounding.

    Column arithmetic for greedy and top-K batches; SCPO batches are certified one by one.

    Scope: stability only.
    """
    rule, pools = slates.rule, slates.pools
    if slates.choices is not None or rule.window * rule.window < SMALL_SQUARE:
        single = [certify(slate) for slate in slates]
        return np.array([c.margin for c in single]), np.array([c.radius for c in single])
    if rule.kind == "top-k":
        return radii(slates.margin, 0.0, 0.0, similarity=0.0)
    magnitude, width = np.empty(len(slates)), np.empty(len(slates))
    magnitudes(pools.scores, pools.offsets, magnitude)
    if pools.has_targets:
        magnitude += rule.target_gain
    if pools.widths is not None:
        magnitudes(pools.widths, pools.offsets, width)
        magnitude += slates.levers.exploration * width
    largest, error = _similarity_bounds(slates)
    return radii(
        slates.margin, slates.levers.diversity, magnitude, novelty=rule.novelty, similarity=largest, similarity_error=error
    )


def _similarity_bounds(slates: SlateBatch) -> tuple[float, float]:
    """(largest absolute similarity, its error), for the whole source: cheaper and a little wider than per slate."""
    source = slates.pools.matrices or slates.pools.source
    largest = max(-source.lower, source.higher, 0.0)
    error = 0.0
    if slates.pools.matrices is None:
        kind = slates.pools.source.kind
        terms = {"vectors": slates.pools.source.vectors.shape[1], "tags": 1}.get(kind, 0)
        error = 1.01 * terms * UNIT * largest
    if slates.rule.dissimilarity == "mean":
        error += 1.01 * float(slates.levers.size.max()) * UNIT * largest
    return largest, error
