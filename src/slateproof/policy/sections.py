"""The sections of a policy file, one model each; unknown keys are refused everywhere.

Scope: none; settings carry no claim.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from slateproof.errors import InvalidInput
from slateproof.privacy import INPUTS, status
from slateproof.select import LeverMap, preset
from slateproof.types import LeverBounds, Levers

__all__ = ["LeverSection", "PrivacySection", "Section", "SelectorSection", "StateSection", "TraceSection"]


class Section(BaseModel):
    """Frozen, strict about its keys and about types: no text as a number, no truth value; an integer is a float."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


COUNTS = {
    "greedy": ("target_gain", "window", "novelty", "dissimilarity"),
    "window": ("target_gain", "window", "node_budget"),
    "top-k": (),
}
"""The constants that each kind of selector has."""


class SelectorSection(Section):
    """``[selector]``: which selector, with which constants; a preset's where they are not given."""

    kind: Literal["greedy", "window", "top-k"] = "greedy"
    preset: str | None = None
    target_gain: Annotated[float, Field(ge=0)] | None = None
    window: Annotated[float, Field(gt=0)] | None = None
    novelty: Annotated[float, Field(ge=0)] | None = None
    dissimilarity: Literal["max", "mean"] = "max"
    node_budget: Annotated[int, Field(ge=1)] = 1_000_000

    @model_validator(mode="after")
    def _known(self) -> SelectorSection:
        if self.preset is not None:
            preset(self.preset)
        for name in sorted(self.model_fields_set - {"kind", "preset", *COUNTS[self.kind]}):
            raise InvalidInput(f"selector.{name}", f"means nothing where kind = {self.kind!r}", getattr(self, name))
        return self

    def constant(self, name: str) -> float:
        """A constant: as given, else the preset's, else the "oulad" preset's."""
        given = getattr(self, name)
        return float(getattr(preset(self.preset or "oulad"), name) if given is None else given)


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Interval = Annotated[tuple[float, float], BeforeValidator(_pair)]


class BoundsSection(Section):
    """``[levers.bounds]``: the box that levers must stay in; an interval each."""

    target_shift: Interval | None = None
    exploration: Interval | None = None
    diversity: Interval | None = None
    size: Annotated[tuple[int, int], BeforeValidator(_pair)] | None = None


class FixedSection(Section):
    """``[levers.fixed]``: the same levers for everyone."""

    target_shift: float = 0.0
    exploration: float = 0.0
    diversity: float = 0.0
    size: int = 10


class LeverSection(Section):
    """``[levers]``: a map from state to levers (preset, with constants replaced), or fixed levers, within bounds."""

    preset: str | None = None
    fixed: FixedSection | None = None
    bounds: BoundsSection = BoundsSection()
    exploration_base: float | None = None
    exploration_uncertainty: float | None = None
    exploration_engagement: float | None = None
    diversity_base: float | None = None
    diversity_engagement: float | None = None
    size_base: float | None = None
    shift_base: float | None = None
    size_adapts: bool = True

    @model_validator(mode="after")
    def _one_way(self) -> LeverSection:
        constants = {name: value for name, value in self._constants().items() if value is not None}
        if self.fixed is not None and (self.preset is not None or constants or not self.size_adapts):
            raise ValueError("either fixed levers, or a preset and constants of a map")
        self.levers()
        return self

    def _constants(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in preset("oulad").lever_constants if name != "bounds"}

    def box(self) -> LeverBounds:
        """The bounds: as given, else the preset's; for fixed levers, those of ``Levers`` itself."""
        base = LeverBounds() if self.fixed is not None else preset(self.preset or "oulad").lever_constants["bounds"]
        given = {name: value for name, value in self.bounds.model_dump().items() if value is not None}
        return LeverBounds(**{name: given.get(name, getattr(base, name)) for name in BoundsSection.model_fields})

    def levers(self) -> LeverMap | Levers:
        """The map, or the fixed levers, which must lie within the bounds."""
        if self.fixed is not None:
            fixed = Levers(**self.fixed.model_dump())
            self.box().check(fixed)
            return fixed
        base = preset(self.preset or "oulad").lever_constants
        constants = {name: base[name] if value is None else value for name, value in self._constants().items()}
        return LeverMap(**constants, bounds=self.box(), size_adapts=self.size_adapts)


class StateSection(Section):
    """``[state]``: how the pre-round state follows from history."""

    memory: Annotated[int, Field(ge=0)] = 200
    width_reference: Annotated[float, Field(gt=0)] | None = None


class TraceSection(Section):
    """``[trace]``: what the audit log keeps of every slate."""

    level: Literal["replay", "monitor"] = "replay"


class PrivacySection(Section):
    """``[privacy]``: the status of every input, and where the ledger of what ran is."""

    inputs: dict[str, Any] = Field(default_factory=lambda: dict.fromkeys(INPUTS[:-1], "conditioned"))
    ledger: str | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    max_rounds_per_user: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _known(self) -> PrivacySection:
        for name, value in self.inputs.items():
            if name not in INPUTS:
                raise InvalidInput(f"privacy.inputs.{name}", f"must be one of {', '.join(INPUTS)}", name)
            try:
                status(value)
            except InvalidInput as why:
                raise InvalidInput(f"privacy.inputs.{name}", why.rule, why.value) from why
        missing = [name for name in INPUTS[:-1] if name not in self.inputs]
        if missing:
            raise InvalidInput(f"privacy.inputs.{missing[0]}", "needs a status (silence must not improve a verdict)")
        return self
