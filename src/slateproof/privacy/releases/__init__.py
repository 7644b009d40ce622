"""Private side inputs: item difficulties and learner state, released under differential privacy and recorded as they are.

With them every input of the selector can be public or a DP output, so that the end-to-end regime is reachable (Definition
"Privacy status of selector-side inputs", types (i) and (ii)). Each function that draws noise writes its own ledger entry first:
there is no way to get an output without one.

Both count right and wrong answers, not attempts and right ones. It is the same information, but one answer then moves one count
by 1 (norm 1) instead of two (norm √2), and the share of wrong answers comes out with about a fifth to a half of the variance.

Scope: end-to-end for the releases, at the ledger's unit and neighbouring relation, for real-valued noise (see docs/end-to-end.md).
"""

from slateproof.privacy.releases.counts import bounded_counts
from slateproof.privacy.releases.difficulties import Difficulties, release_difficulties
from slateproof.privacy.releases.factorisation import Factorisation
from slateproof.privacy.releases.shares import shrunk_shares
from slateproof.privacy.releases.states import StateColumns, StateStream

__all__ = [
    "Difficulties",
    "Factorisation",
    "StateColumns",
    "StateStream",
    "bounded_counts",
    "release_difficulties",
    "shrunk_shares",
]
