"""The configuration of a run: one TOML file, every key checked, every refusal naming its field.

Scope: none; settings.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from slateproof.corpora import Corpus, entry
from slateproof.errors import InvalidInput
from slateproof.learn.registry import LEARNERS
from slateproof.select import preset
from slateproof.simulate.calibration import Calibration, calibrate
from slateproof.simulate.modes import GRADIENTS, MODES, VARIANTS, Mode, mode
from slateproof.simulate.plan import World
from slateproof.simulate.profiles import PROFILES, profile
from slateproof.simulate.responses import Core, ResponseModel, response_model
from slateproof.types import Levers

__all__ = ["Config", "CorpusSection", "ModeSection", "load_config"]


CELLS = 100_000_000
"""At most so many candidates in all pools of a run together, of eight bytes each."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusSection(_Section):
    """``[corpus]``: a name of ``slateproof data list``, the data folder where it is read from files, options of its loader."""

    name: str = "synthetic-demo"
    data: str | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _known(self) -> Self:
        entry(self.name)
        return self


class LeverSection(_Section):
    """``levers = { ... }`` of a mode: constants instead of the preset's map."""

    target_shift: float = 0.0
    exploration: float = 0.0
    diversity: float = 0.0
    size: int = 5

    def made(self) -> Levers:
        """The levers."""
        try:
            return Levers(**self.model_dump())
        except InvalidInput as why:
            raise InvalidInput(f"levers.{why.field}", why.rule, why.value) from why


class ModeSection(_Section):
    """``[[mode]]``: a variant of a known mode (``base``) under another name; what is not given stays as it is there."""

    name: str
    base: str = "adaptive"
    learner: str | None = None
    anchor: str | None = None
    anchor_weight: float | None = None
    updates: bool | None = None
    selector: Literal["greedy", "window", "top-k"] | None = None
    target_gain: float | None = None
    novelty: float | None = None
    levers: LeverSection | None = None
    removed: tuple[str, ...] | None = None
    open_loop: bool | None = None
    score_noise: float | None = None
    tier: str | None = None
    verified: bool | None = None

    def made(self) -> Mode:
        """The mode; a refusal says which one."""
        try:
            return self._made()
        except InvalidInput as why:
            field = f"mode.{why.field.removeprefix('modes.')}"
            raise InvalidInput(field, why.rule, why.value, where=f"[[mode]] {self.name}") from why

    def _made(self) -> Mode:
        given = {k: v for k, v in self.model_dump(exclude={"name", "base", "levers", "removed"}).items() if v is not None}
        for field in ("learner", "anchor"):
            if field in given and given[field] not in LEARNERS:
                raise InvalidInput(field, f"must be one of {', '.join(LEARNERS)}", given[field])
        if self.levers is not None:
            given["levers"] = self.levers.made()
        if self.removed is not None:
            given["removed"] = frozenset(self.removed)
        if self.base not in {**MODES, **VARIANTS}:
            raise InvalidInput("base", f"must be among {', '.join({**MODES, **VARIANTS})}", self.base)
        made = replace(mode(self.base), name=self.name, **given)
        if made.tier is not None and made.learner not in GRADIENTS:
            raise InvalidInput("tier", f"needs a learner with an online gradient: {' or '.join(GRADIENTS)}", made.learner)
        return made


class Config(_Section):
    """A run. ``modes`` are names of known modes; ``mode`` adds variants. ``parameters`` override those of response models by name.

    ``calibrate`` fits level and slopes of correctness of the four response models to the corpus before the run (not those given
    in ``parameters``, not ``legacy``). ``similarity``: "item-tower" takes the two-tower's item vectors for the whole run, "tags"
    the corpus'. ``reference`` is the mode that paired differences are taken against.
    """

    seed: Annotated[int, Field(ge=0)] = 42
    corpus: CorpusSection = CorpusSection()
    preset: str = "oulad"
    rounds: Annotated[int, Field(ge=1, le=1000)] = 20
    copies: Annotated[int, Field(ge=1, le=10_000)] = 16
    pool_size: Annotated[int, Field(ge=1)] = 100
    models: Annotated[tuple[str, ...], Field(min_length=1)] = ("irt", "mirt", "zpd", "contextual_zpd")
    profiles: Annotated[tuple[str, ...], Field(min_length=1)] = tuple(PROFILES)
    modes: tuple[str, ...] = tuple(MODES)
    mode: tuple[ModeSection, ...] = ()
    parameters: dict[str, dict[str, float]] = {}
    calibrate: bool = True
    similarity: Literal["item-tower", "tags"] = "item-tower"
    reference: str = "als"

    @model_validator(mode="after")
    def _known(self) -> Self:
        preset(self.preset)
        for name in self.profiles:
            profile(name)
        for field in ("models", "profiles", "modes"):
            _once(getattr(self, field), field)
        for name in self.parameters:
            if name not in self.models:
                raise InvalidInput("parameters", f"must be about models of this run ({', '.join(self.models)})", name)
        self.response_models()
        every = self.all_modes()
        _once([one.name for one in every], "modes")
        if not every:
            raise InvalidInput("modes", "must name at least one mode")
        if self.reference not in [one.name for one in every]:
            raise InvalidInput("reference", f"must be a mode of this run ({', '.join(one.name for one in every)})", self.reference)
        self._pools_are_large_enough(every)
        self._fits_into_memory()
        return self

    def _fits_into_memory(self) -> None:
        cells = len(self.models) * len(self.profiles) * self.copies * self.rounds * self.pool_size
        if cells > CELLS:
            rule = f"times models, profiles, rounds and pool_size must be at most {CELLS:,}: all pools are held at once"
            raise InvalidInput("copies", rule, cells)

    def _pools_are_large_enough(self, every: tuple[Mode, ...]) -> None:
        for one in every:
            largest = one.largest_size(preset(self.preset))
            if self.pool_size < largest:
                raise InvalidInput("pool_size", f"must be at least {largest}, the largest slate of mode {one.name}", self.pool_size)

    def all_modes(self) -> tuple[Mode, ...]:
        """Named modes, then variants."""
        return (*(mode(name) for name in self.modes), *(section.made() for section in self.mode))

    def response_models(self, fit: Calibration | None = None) -> dict[str, ResponseModel]:
        """The response models by name; parameters of a ``fit`` go to the four models of ours, below those given in the file."""
        out = {}
        for name in self.models:
            levelled = fit is not None and name in dict(fit.eases)
            base = fit.parameters(name if levelled else None) if fit is not None and isinstance(response_model(name), Core) else {}
            out[name] = response_model(name, **(base | self.parameters.get(name, {})))
        return out

    def fitted(self, corpus: Corpus, world: World) -> Calibration | None:
        """The fit to a corpus, levelled for the models whose ease the file leaves open; None where nothing asks for one."""
        ours = {name: one for name, one in self.response_models().items() if isinstance(one, Core)}
        if not self.calibrate or not ours:
            return None
        fit = calibrate(corpus)
        free = [name for name in ours if "ease" not in self.parameters.get(name, {})]
        raw = self.response_models(fit)
        try:
            return fit.levelled(world, {name: raw[name] for name in free})  # type: ignore[misc]
        except InvalidInput as why:
            rule = f"cannot be true here: a response model {why.rule.removeprefix('must ')}"
            raise InvalidInput("calibrate", rule, why.value) from why

    def learners(self) -> tuple[str, ...]:
        """The learners that have to be fitted, each once."""
        names = [n for one in self.all_modes() for n in (one.learner, one.anchor) if n is not None]
        return tuple(dict.fromkeys((["two-tower"] if self.similarity == "item-tower" else []) + names))


def load_config(path: str | Path) -> Config:
    """The configuration in a TOML file; a missing or unreadable file, an unknown key and a bad value are refused by name."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        raise InvalidInput("config", f"cannot be read ({why})", str(path)) from why
    try:
        return read_config(tomllib.loads(text))
    except tomllib.TOMLDecodeError as why:
        raise InvalidInput("config", f"is not TOML: {why}") from why


def read_config(values: dict[str, Any]) -> Config:
    """The configuration of a mapping."""
    try:
        return Config.model_validate(values)
    except ValidationError as why:
        raise _refusal(why) from why


def _once(names: Any, field: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidInput(field, "must not repeat a name", name)


def _refusal(why: ValidationError) -> InvalidInput:
    """The first complaint of pydantic in our words: field, rule, value."""
    first = why.errors()[0]
    cause = first.get("ctx", {}).get("error")
    place = ".".join(str(part) for part in first["loc"])
    if isinstance(cause, InvalidInput):
        return InvalidInput(f"{place}.{cause.field}" if place else cause.field, cause.rule, cause.value, where=cause.where)
    if first["type"] == "extra_forbidden":
        return InvalidInput(place, "is not a key of a simulation")
    return InvalidInput(place or "config", first["msg"].lower().removeprefix("value error, "), first["input"])
