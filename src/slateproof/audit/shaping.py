"""Shaped scores of many pools in one go, for the writing side, which logs them, and for verification, which makes them again.

Numba keeps compiled code by file: after an edit of ``select/kernels.py`` touch this file, too.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.select.kernels import compiled, shape
from slateproof.types import Rule
from slateproof.types.columns import Floats

__all__ = ["shaped_scores"]

_NONE: Floats = np.zeros(0)


def shaped_scores(columns: Any, offsets: Any, target: Any, exploration: Any, rule: Rule) -> Floats:
    """mu-tilde = (mu + eta_tg prox) + alpha sigma of every candidate, by the selector's own kernel; top-K shapes nothing.

    ``columns`` is (scores, targets or None, widths or None), pool after pool; ``offsets`` says where each pool begins,
    ``target`` and ``exploration`` have one value per pool.
    """
    scores, targets, widths = (_NONE if column is None else column for column in columns)
    out = np.empty(scores.size)
    if rule.kind == "top-k":
        out[:] = scores
    else:
        _shape_all(offsets, scores, targets, widths, target, exploration, rule.window, rule.target_gain, out)
    return out


@compiled
def _shape_all(
    offsets: Any, scores: Any, targets: Any, widths: Any, target: Any, exploration: Any, window: float, gain: float, out: Any
) -> None:
    for b in range(offsets.size - 1):
        a, z = offsets[b], offsets[b + 1]
        d = targets[a:z] if targets.size else targets
        w = widths[a:z] if widths.size else widths
        shape(scores[a:z], d, w, target[b], window, gain, exploration[b], out[a:z])
