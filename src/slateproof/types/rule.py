"""The constants of a selection rule: what a trace must name besides the inputs for the slate to follow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = ["Dissimilarity", "Rule", "RuleKind"]

RuleKind = Literal["greedy", "top-k", "window"]
Dissimilarity = Literal["max", "mean"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Which selector, with which constants: eta_tg (``target_gain``), w (``window``), nu (``novelty``).

    ``kind``: "greedy" (soft-window greedy), "window" (SCPO) or "top-k" (raw scores). ``dissimilarity``: whether the greedy
    penalty is the largest ("max", MMR) or the mean ("mean", MSD) similarity to what was chosen. ``node_budget`` bounds the
    branch and bound of "window". Ties always go to the smallest id.

    Scope: none; a setting carries no claim.
    """

    kind: RuleKind = "greedy"
    target_gain: float = 0.2
    window: float = 0.3
    novelty: float = 0.1
    dissimilarity: Dissimilarity = "max"
    node_budget: int = 1_000_000

    def __post_init__(self) -> None:
        if self.kind not in get_args(RuleKind):
            raise InvalidInput("kind", f"must be one of {', '.join(get_args(RuleKind))}", self.kind)
        if self.dissimilarity not in get_args(Dissimilarity):
            raise InvalidInput("dissimilarity", "must be 'max' or 'mean'", self.dissimilarity)
        set_ = object.__setattr__
        set_(self, "target_gain", finite_scalar(self.target_gain, "target_gain", 0.0))
        set_(self, "window", finite_scalar(self.window, "window", 0.0))
        set_(self, "novelty", finite_scalar(self.novelty, "novelty", 0.0))
        if self.window * self.window == 0.0:
            raise InvalidInput("window", "must be above 0 (and its square too)", self.window)
        if isinstance(self.node_budget, bool) or not isinstance(self.node_budget, int) or self.node_budget < 1:
            raise InvalidInput("node_budget", "must be a whole number, at least 1", self.node_budget)

    def to_dict(self) -> dict[str, Any]:
        """The constants by name, ready for JSON."""
        return asdict(self)
