"""The exploration-only regime: greedy selection as LinUCB's rule.

Scope: stability only for margins.
"""

from __future__ import annotations

from slateproof.errors import InvalidInput
from slateproof.select.greedy import GreedySelector
from slateproof.types import Levers, Pool, Slate

__all__ = ["linucb"]

RULE = GreedySelector(target_gain=0.0, novelty=0.0)


def linucb(pool: Pool, exploration: float) -> Slate:
    """Proposition "LinUCB recovery in the exploration-only regime": the one item with the largest mu + alpha sigma.

    Target shaping, novelty and diversity are off and K = 1; ``pool.scores`` are the estimates theta-hat x, ``pool.widths`` LinUCB's
    posterior widths sqrt(x A^-1 x), ``exploration`` is alpha. A pool without widths is refused: there is no such rule. The
    regret bound is LinUCB's own, under its assumptions of realisability and confidence; nothing here checks those.

    Scope: stability only for margins; privacy is what ``privacy.assess`` says of the inputs.
    """
    if pool.widths is None:
        raise InvalidInput("widths", "the proposition assumes LinUCB's posterior widths, and the pool has none")
    return RULE.select(pool, Levers(exploration=exploration, size=1))
