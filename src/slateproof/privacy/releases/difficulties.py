"""Item difficulties by the Gaussian mechanism on per-item counts.

Scope: end-to-end at the ledger's unit; the cost is the ledger's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.privacy.ledger import Ledger
from slateproof.privacy.releases.checks import check_generator, check_ledger, positive
from slateproof.privacy.releases.counts import bounded_counts
from slateproof.privacy.releases.shares import shrunk_shares
from slateproof.types.columns import Floats, frozen

__all__ = ["Difficulties", "release_difficulties"]


@dataclass(frozen=True, slots=True, eq=False)
class Difficulties:
    """What was released: noisy counts of ``right`` and ``wrong`` answers per item, and ``values`` = d(i) made from them.

    ``noise`` is the standard deviation of the noise in every count; counts may be negative. Everything here may be published,
    and whatever is computed from it alone is a DP output: targets, popularity, widths.

    Scope: end-to-end at ``unit``, as one release of the ledger.
    """

    values: Floats
    right: Floats
    wrong: Floats
    noise: float
    unit: str

    @property
    def attempts(self) -> Floats:
        """Noisy number of answers per item, at least 0; its noise has the standard deviation √2 ``noise``."""
        return np.maximum(self.right + self.wrong, 0.0)


def release_difficulties(
    users: Any,
    rounds: Any,
    items: Any,
    correct: Any,
    *,
    item_count: int,
    clip: float,
    noise_multiplier: float,
    ledger: Ledger,
    rng: np.random.Generator,
) -> Difficulties:
    """d(i) = noisy wrong / (noisy right + noisy wrong), in [0, 1], drawn to the share of all items where the noise drowns it.

    Rows and clipping as in ``bounded_counts``; the protected unit is the ledger's. Every count gets independent Gaussian noise of
    standard deviation ``noise_multiplier`` · ``clip``, whether or not the item was answered, so ``item_count`` must be public: the
    catalogue, not the items found in the log. ``clip`` and ``noise_multiplier`` must not be tuned on the data (``noise_for`` gives
    the multiplier for a target).

    The ledger entry is written before the noise is drawn. ``rng`` must be unpredictable to whoever sees the output, and
    no two releases may start from the same seed: their noise would cancel in the difference.

    Scope: end-to-end at the ledger's unit. For users on a round ledger: cap first, then ``user_level_at``.
    """
    ledger, rng = check_ledger(ledger), check_generator(rng)
    multiplier = positive(noise_multiplier, "noise_multiplier")
    counts = bounded_counts(users, rounds, items, correct, item_count=item_count, clip=clip, unit=ledger.unit)
    noise = multiplier * positive(clip, "clip")
    ledger.record_gaussian(noise_multiplier=multiplier)
    right, wrong = (counts + rng.normal(0.0, noise, counts.shape)).T.copy()
    difficulty = shrunk_shares(wrong, right + wrong, noise, np.sqrt(2.0) * noise)
    return Difficulties(frozen(difficulty), frozen(right), frozen(wrong), noise, ledger.unit)
