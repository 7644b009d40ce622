"""Margins and radii of a whole batch, from its columns.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.certify.columns import radii
from slateproof.certify.kernels import magnitudes, row_magnitudes
from slateproof.certify.make import certify
from slateproof.certify.rounding import SMALL_SQUARE, UNIT
from slateproof.types import SlateBatch
from slateproof.types.columns import Floats

__all__ = ["certify_batch"]

LARGEST_DOT = 1.000003
"""Above every dot product of two rows that pass as unit vectors, in double or single precision (``types/similarity.py``)."""


def certify_batch(slates: SlateBatch) -> tuple[Floats, Floats]:
    """(margins, radii), one per slate, both rounded down: never above ``certify(slate)``'s by more than its rounding.

    Column arithmetic for greedy and top-K batches; SCPO batches are certified one by one, and their radii have the premise of
    ``SetCertificate``: the search under the other scores completes, too.

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


def _similarity_bounds(slates: SlateBatch) -> tuple[Any, Any]:
    """(largest absolute similarity, its error): per slate, or for the whole catalogue, cheaper and a little wider.

    Never over the batch: a certified number must not depend on the neighbours. So unit vectors have one bound for both precisions.
    """
    pools = slates.pools
    if pools.matrices is not None:
        largest: Any = np.empty(len(slates))
        row_magnitudes(pools.matrices.flat, pools.matrices.starts, pools.offsets, slates.starts, slates.chosen, largest)
        error: Any = 0.0
    else:
        source = pools.source
        largest = LARGEST_DOT if source.kind == "vectors" else max(-source.lower, source.higher, 0.0)
        error = 1.01 * {"vectors": source.vectors.shape[1], "tags": 1}.get(source.kind, 0) * UNIT * largest
    if slates.rule.dissimilarity == "mean":
        error = error + 1.01 * slates.levers.size * UNIT * largest
    return largest, error
