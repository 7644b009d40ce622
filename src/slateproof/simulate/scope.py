"""What a mode may claim: its inputs, declared as they are in the loop, and the ledger of what ran.

Scope: decides the scope of a mode; difficulties and states made from responses are conditioned inputs.
"""

from __future__ import annotations

from slateproof import privacy as pv
from slateproof.privacy import Ledger
from slateproof.privacy.scope import Scope
from slateproof.simulate.modes import PRIVATE, Mode

__all__ = ["scope_of"]


def scope_of(mode: Mode, ledger: Ledger | None, *, tags: bool = False) -> Scope:
    """The verdict of ``privacy.assess`` on what the mode consumes; ``ledger`` is its scorer's after the last round.

    Without a learner scores are the constant 0, which is public. A learner without a ledger is non-private, and so is an anchor.
    Targets are public only where the selector does not read them (``target_gain`` 0 or top-K); the state is public in an open loop,
    else it is made from raw responses. Similarities are public where they are the corpus' ``tags``; the item tower's are released
    by the private learner, non-private otherwise. Slates of the past are outputs where all else was.
    """
    private = mode.learner == PRIVATE and ledger is not None
    learned = pv.public() if mode.learner is None else pv.dp_output() if private else pv.non_private()
    greedy = mode.selector == "greedy"
    steers = mode.selector == "window" or (greedy and mode.target_gain != 0.0 and "target" not in mode.removed)
    state = not mode.open_loop and (steers or mode.levers is None or mode.learner is not None)
    similar = pv.dp_output() if private else pv.public() if tags else pv.non_private()
    inputs = {
        "scores": learned,
        "candidates": pv.public(),
        "targets": pv.conditioned() if steers else pv.public(),
        "similarity": similar if mode.compares else pv.public(),
        "widths": learned,
        "state": pv.conditioned() if state else pv.public(),
        "shown": pv.dp_output() if private and not (steers or state) else pv.conditioned(),
    }
    if mode.anchor is not None:
        inputs["anchor"] = pv.non_private()
    return pv.assess(inputs, ledger)
