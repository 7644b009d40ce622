"""A share from two noisy counts: drawn towards a prior where noise drowns it, and kept in [0, 1].

Scope: post-processing; it reads released numbers only, so it costs nothing and protects nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.types.columns import Floats

__all__ = ["PRIOR_VARIANCE", "shrunk_share"]

PRIOR_VARIANCE = 1.0 / 12.0
"""Variance of a share that could be anything in [0, 1]: that of the uniform distribution."""


def shrunk_share(part: Any, total: Any, noise: Any, prior: float = 0.5) -> Floats:
    """``prior`` + w (part/total - prior) with w = total² V / (total² V + noise²), clipped to [0, 1].

    w is the linear Bayes weight of a ratio with noise of variance about (noise/total)² against a prior of variance V =
    ``PRIOR_VARIANCE``. Without noise it is the plain share; with a total of 0 or less it is ``prior``.
    """
    part, noise = np.asarray(part, np.float64), np.asarray(noise, np.float64)
    total = np.maximum(np.asarray(total, np.float64), 0.0)
    scale = total**2 * PRIOR_VARIANCE + noise**2
    pull = np.divide(total * PRIOR_VARIANCE * (part - prior * total), scale, out=np.zeros(scale.shape), where=total > 0.0)
    return np.clip(prior + pull, 0.0, 1.0)
