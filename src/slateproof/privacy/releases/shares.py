"""Shares from noisy counts: drawn towards the share of all rows together, as far as the noise drowns a row of its own.

Scope: post-processing; it reads released numbers only, so it costs nothing and protects nothing.
"""

from __future__ import annotations

import numpy as np

from slateproof.types.columns import Floats

__all__ = ["shrunk_shares"]

_WIDEST = 1.0 / 12.0
"""Variance of a share that could be anything in [0, 1]: that of the uniform distribution."""


def shrunk_shares(part: Floats, total: Floats, noise: float, total_noise: float, size: Floats | None = None) -> Floats:
    """part/total per row by empirical (linear) Bayes, in [0, 1].

    ``noise`` and ``total_noise`` are the standard deviations of the noise in ``part`` and ``total``: (s, √2 s) where the total is
    a sum of ``part`` and another count with equal noise, (s, 0) where it is exact. ``size`` is a better estimate of the total
    where there is one, at least 0. With m the share of all rows together and R = part - m total, whose noise has the variance
    v = noise² - m(1-m) total_noise², a row gets

        m + size V R / (size² V + v),  where V, the variance of shares between rows, is (mean R² - v)/(mean total² - total_noise²),

    kept in [0, 1/12]. Without noise that is part/total; a row without data, or with far more noise than data, gets m. And m itself
    is drawn to 1/2 in the same way, with V = 1/12.
    """
    size = np.maximum(total, 0.0) if size is None else size
    rows = part.size
    middle = _drawn(np.array([part.sum() - 0.5 * total.sum()]), np.array([max(total.sum(), 0.0)]), _WIDEST, rows * noise**2)
    m = float(np.clip(0.5 + middle[0], 0.0, 1.0))
    rest = part - m * total
    variance = noise**2 - m * (1.0 - m) * total_noise**2
    mass = float(np.mean(total**2)) - total_noise**2
    between = float(np.clip((np.mean(rest**2) - variance) / mass, 0.0, _WIDEST)) if mass > 0.0 else _WIDEST
    out: Floats = np.clip(m + _drawn(rest, size, between, variance), 0.0, 1.0)
    return out


def _drawn(rest: Floats, size: Floats, between: float, variance: float) -> Floats:
    """size V R / (size² V + v), and 0 where that is 0/0."""
    scale = size**2 * between + variance
    out: Floats = np.divide(size * between * rest, scale, out=np.zeros(rest.shape), where=scale > 0.0)
    return out
