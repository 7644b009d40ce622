"""Item difficulty d(i) in [0, 1], by a named rule.

Scope: none. A difficulty computed from protected responses is a *conditioned* selector input, not a public one: say so in the
policy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from slateproof.corpora.columns import Bools, Codes, Floats
from slateproof.errors import InvalidInput

__all__ = ["RULES", "DifficultyRule", "difficulty"]

DifficultyRule = Literal["score", "success", "success-rescaled"]

RULES: dict[str, str] = {
    "score": "1 - mean response / 100",
    "success": "1 - share of positive responses",
    "success-rescaled": "1 - share of positive responses, clipped to its 5th and 95th percentile over items, min-max to [0, 1]",
    "given": "a column of the file",
}
"""What each rule computes, as printed in a corpus description. ``given`` is set by a loader, not asked for."""


def difficulty(rule: str, item: Codes, response: Floats, positive: Bools, items: int) -> Floats:
    """d(i) for every item by ``rule``; every item must have a response.

    ``score``: d = 1 - mean(response)/100, for responses in [0, 100] (OULAD). ``success``: d = 1 - mean(positive).
    ``success-rescaled``: that, clipped to the 5th and 95th percentile over items and stretched to [0, 1]; when all items are
    equally hard there is nothing to stretch, and d = .5.
    """
    count = np.bincount(item, minlength=items)
    if rule == "score":
        _check_scores(response)
        return np.clip(1.0 - np.bincount(item, response, items) / count / 100.0, 0.0, 1.0)
    if rule not in ("success", "success-rescaled"):
        raise InvalidInput("difficulty", "must be score, success or success-rescaled", rule)
    hard = 1.0 - np.bincount(item, positive, items) / count
    if rule == "success":
        return hard
    low, high = np.percentile(hard, (5.0, 95.0))
    if low == high:
        return np.full(items, 0.5)
    return (np.clip(hard, low, high) - low) / (high - low)


def _check_scores(response: Floats) -> None:
    bad = (response < 0.0) | (response > 100.0)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise InvalidInput("response", "must lie in [0, 100] for the difficulty rule 'score'", float(response[place]), where=place)
