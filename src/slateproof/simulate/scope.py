"""What a mode may claim: its inputs, declared as they are in the loop, and the ledger of its scorer.

Scope: decides the scope of a mode; difficulties and states made from responses are conditioned inputs.
"""

from __future__ import annotations

from slateproof import privacy as pv
from slateproof.privacy.scope import Scope
from slateproof.simulate.learners import PRIVATE
from slateproof.simulate.modes import Mode
from slateproof.simulate.scoring import Scoring

__all__ = ["scope_of"]


def scope_of(mode: Mode, scoring: Scoring) -> Scope:
    """The verdict of ``privacy.assess`` on what the mode consumes.

    Without a learner scores are the constant 0, which is public. A learner without a ledger is non-private, and so is an anchor. Targets
    are public only where the selector does not read them (``target_gain`` 0 or top-K); the state is public in an open loop, else it is
    made from raw responses. Similarities are the item tower's: released vectors for the private learner, non-private otherwise.
    """
    ledger = None if scoring.adaptive is None else scoring.adaptive.ledger
    private = mode.learner == PRIVATE and ledger is not None
    learned = pv.public() if scoring.adaptive is None else pv.dp_output() if private else pv.non_private()
    steers = mode.selector == "window" or (mode.selector == "greedy" and mode.target_gain != 0.0 and "target" not in mode.removed)
    diverse = mode.selector != "top-k" and "diversity" not in mode.removed and (mode.levers is None or mode.levers.diversity > 0.0)
    adapts = mode.levers is None and not mode.open_loop
    inputs = {
        "scores": learned,
        "candidates": pv.public(),
        "targets": pv.conditioned() if steers else pv.public(),
        "similarity": (pv.dp_output() if private else pv.non_private()) if diverse else pv.public(),
        "widths": learned,
        "state": pv.conditioned() if (steers or adapts) and not mode.open_loop else pv.public(),
        "shown": pv.dp_output() if private else pv.conditioned(),
    }
    if scoring.anchor is not None:
        inputs["anchor"] = pv.non_private()
    return pv.assess(inputs, ledger)
