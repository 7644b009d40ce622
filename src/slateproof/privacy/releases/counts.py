"""Right and wrong answers per item, with the contribution of every protected unit bounded.

Scope: none; these counts are raw. What is private is the noisy release of them (``release_difficulties``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.privacy.events import whole
from slateproof.privacy.ledger import UNITS
from slateproof.privacy.releases.checks import codes, numbered, positive, values
from slateproof.types.columns import Floats, Ints

__all__ = ["bounded_counts"]


def bounded_counts(users: Any, rounds: Any, items: Any, correct: Any, *, item_count: int, clip: float, unit: str) -> Floats:
    """``item_count`` x 2: right and wrong answers per item, each unit's contribution clipped to L2 norm ``clip``.

    One row per answered item: ``correct`` in [0, 1] adds ``correct`` to the item's right and 1 - ``correct`` to its wrong
    answers. The unit is the pair (user, round) for "round", the user for "user". A unit's contribution v (item_count x 2
    numbers) enters as v · min(1, clip/‖v‖).

    **Sensitivity.** The factor reads the unit's own rows only, so with a unit more or less the table changes by exactly that
    unit's clipped contribution: by at most ``clip`` in L2 norm (add-or-remove-one), 2 ``clip`` (replace-one). A round of K
    different items has ‖v‖² = Σ (c² + (1-c)²) <= K: with clip = √K nothing of it is lost.
    """
    if unit not in UNITS:
        raise InvalidInput("unit", f"must be one of {', '.join(UNITS)}", unit)
    clip, item_count = positive(clip, "clip"), whole(item_count, "item_count")
    owner, units = _units(users, rounds, unit)
    item = codes(items, "items", owner.size, item_count)
    right = values(correct, "correct", owner.size)
    cells, cell_of_row = np.unique(owner * item_count + item, return_inverse=True)
    parts = [np.bincount(cell_of_row, weights, cells.size) for weights in (right, 1.0 - right)]
    norm = np.sqrt(np.bincount(cells // item_count, parts[0] ** 2 + parts[1] ** 2, units))
    factor = np.minimum(1.0, clip / np.maximum(norm, clip))[cells // item_count]
    return np.stack([np.bincount(cells % item_count, part * factor, item_count) for part in parts], axis=1)


def _units(users: Any, rounds: Any, unit: str) -> tuple[Ints, int]:
    """The number of the protected unit of every row, and how many units there are."""
    of_user, users_found = numbered(users, "users")
    of_round, rounds_found = numbered(rounds, "rounds")
    if of_round.size != of_user.size:
        raise InvalidInput("rounds", f"must have one id per row ({of_user.size})", of_round.size)
    return (of_user, users_found) if unit == "user" else numbered(of_user * max(1, rounds_found) + of_round, "rounds")
