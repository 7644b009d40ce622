"""Who is trained on, who is validated on and who is held out: whole users, never single rows.

Scope: none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slateproof.corpora.columns import Bools, Codes, Ints, frozen
from slateproof.errors import InvalidInput

__all__ = ["SEED", "Split", "split_users"]

SEED = 42
"""The paper's split seed."""

_HELD_OUT, _VALIDATION = 0.20, 0.10


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Boolean masks over the interactions (``train``, ``valid``, ``test``), and ``part`` per user: 0 train, 1 valid, 2 test.

    Each user stands in exactly one part, with all rows.

    Scope: none.
    """

    train: Bools
    valid: Bools
    test: Bools
    part: Ints
    seed: int


def split_users(user: Codes, users: int, seed: int = SEED) -> Split:
    """Hold out a fifth of the users, then a tenth of the others for validation; at least one user in each part.

    The draw is a permutation of the user codes from ``numpy.random.default_rng(seed)``. Codes follow the sorted ids, so the
    split depends on who is in the corpus and on the seed, not on the order of the file.
    """
    if users < 3:
        raise InvalidInput("users", "a split needs at least three users", users)
    held_out = max(1, round(users * _HELD_OUT))
    validation = max(1, round((users - held_out) * _VALIDATION))
    permutation = np.random.default_rng(seed).permutation(users)
    part = np.zeros(users, np.int64)
    part[permutation[:held_out]] = 2
    part[permutation[held_out : held_out + validation]] = 1
    rows = part[user]
    train, valid, test = (frozen(rows == p) for p in range(3))
    return Split(train, valid, test, frozen(part), seed)
