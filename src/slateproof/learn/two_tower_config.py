"""Settings of the two-tower, apart from the code that runs it.

Scope: none; settings.
"""

from __future__ import annotations

from dataclasses import dataclass

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = ["LOSSES", "SCALES", "WIDTHS", "Online"]

LOSSES = ("pointwise", "pairwise")
SCALES = {"pointwise": "logit", "pairwise": "none"}
"""What the scores of each loss are: a pairwise loss leaves their level open."""
WIDTHS = ("ridge", "bootstrap")


@dataclass(frozen=True, slots=True)
class Online:
    """What a session does: ``widths`` is "ridge" or "bootstrap", ``rate`` the step size of a round's update.

    Scope: none; settings.
    """

    widths: str = "ridge"
    rate: float = 0.05

    def __post_init__(self) -> None:
        if self.widths not in WIDTHS:
            raise InvalidInput("widths", f"must be one of {', '.join(WIDTHS)}", self.widths)
        object.__setattr__(self, "rate", finite_scalar(self.rate, "rate", 0.0))
