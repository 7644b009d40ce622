"""The policy itself: read, checked, digested, and put to work."""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from slateproof.errors import InvalidInput
from slateproof.policy.sections import LeverSection, PrivacySection, Section, SelectorSection, StateSection, TraceSection
from slateproof.policy.table import select_rows
from slateproof.privacy import Ledger, Scope, assess
from slateproof.select import GreedySelector, LeverMap, TopKSelector, WindowSelector
from slateproof.select.base import BaseSelector
from slateproof.types import Catalog, LeverBatch, Levers, Pool, PoolBatch, Slate, SlateBatch, State, StateBatch

__all__ = ["Policy"]


class Policy(Section):
    """Everything that decides a slate besides its inputs, as one frozen value.

    Read from TOML with ``load`` or ``parse``; unknown keys, unknown statuses, levers outside their bounds are refused with the
    name of the field. ``digest`` is the SHA-256 over the resolved constants (presets filled in), so two files that mean the
    same have the same digest, and a changed default has another.

    Scope: none by itself; ``scope`` says what may be claimed.
    """

    name: str = "policy"
    selector: SelectorSection = SelectorSection()
    levers: LeverSection = LeverSection()
    state: StateSection = StateSection()
    trace: TraceSection = TraceSection()
    privacy: PrivacySection = PrivacySection()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The policy in a file; a missing or unreadable file is refused by name."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as why:
            raise InvalidInput("policy", f"cannot be read ({why})", str(path)) from why
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The policy in a TOML text."""
        try:
            return cls.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as why:
            raise InvalidInput("policy", f"is not TOML: {why}") from why
        except ValidationError as why:
            raise _refusal(why) from why

    def resolved(self) -> dict[str, Any]:
        """Every constant with its value, presets filled in; what the digest is taken over."""
        levers = self.lever_source
        mapped = {"map": levers.to_dict()} if isinstance(levers, LeverMap) else {"fixed": _levers_dict(levers)}
        return {
            "name": self.name,
            "rule": self.operator.rule.to_dict(),
            "levers": {**mapped, "bounds": {name: list(getattr(self.levers.box(), name)) for name in _LEVER_NAMES}},
            "state": self.state.model_dump(),
            "trace": self.trace.model_dump(),
            "privacy": self.privacy.model_dump(),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the resolved constants, as 64 hexadecimal digits."""
        text = json.dumps(self.resolved(), sort_keys=True, separators=(",", ":"), allow_nan=True)
        return hashlib.sha256(b"slateproof policy 1\n" + text.encode()).hexdigest()

    @cached_property
    def lever_source(self) -> LeverMap | Levers:
        """The lever map, or the fixed levers."""
        return self.levers.levers()

    @cached_property
    def operator(self) -> BaseSelector:
        """The selector, without its bounds and digest."""
        section, constant = self.selector, self.selector.constant
        if section.kind == "top-k":
            return TopKSelector()
        if section.kind == "window":
            return WindowSelector(constant("window"), constant("target_gain"), section.node_budget)
        return GreedySelector(constant("target_gain"), constant("window"), constant("novelty"), section.dissimilarity)

    @cached_property
    def bound_selector(self) -> BaseSelector:
        """The selector that refuses levers outside the policy's box and names the policy in its traces."""
        return self.operator.within(self.levers.box(), self.digest)

    def levers_for(self, state: State) -> Levers:
        """The levers for one state."""
        source = self.lever_source
        return source(state) if isinstance(source, LeverMap) else source

    def levers_for_batch(self, states: StateBatch, size: int) -> LeverBatch:
        """The levers of ``size`` states, as columns."""
        source = self.lever_source
        if isinstance(source, Levers):
            return LeverBatch.of(source, size)
        return LeverBatch(**source.columns(np.asarray(states.engagement), np.asarray(states.uncertainty)))

    def select(self, pool: Pool, state: State | None = None) -> Slate:
        """The slate for one pool; without ``state``, neutral priors."""
        known = State() if state is None else state
        return self.bound_selector.select(pool, self.levers_for(known), known)

    def select_batch(self, pools: PoolBatch, states: Any = None, *, trace: bool = True, threads: int | None = None) -> SlateBatch:
        """The slates of a batch; ``states`` as for ``select_batch`` of a selector."""
        known = StateBatch.of(State() if states is None else states, len(pools))
        return self.bound_selector.select_batch(
            pools, self.levers_for_batch(known, len(pools)), known, trace=trace, threads=threads
        )

    def select_table(self, table: pa.Table, catalog: Catalog | None = None, *, threads: int | None = None) -> pa.Table:
        """An Arrow table of pools to one of certified slates (columns of both: ``docs/batches.md``).

        A pure function, and the policy and the catalogue can be pickled, so an engine may call it on any worker, on pieces of any
        size. All rows that break a rule are refused together (``BadRows``, an ``InvalidInput``).
        """
        return select_rows(self, table, PoolBatch.from_arrow(table, catalog), threads=threads).table

    def scope(self, ledger: Ledger | None = None) -> Scope:
        """What may be claimed, from the declared statuses and a ledger of what ran (None: nothing did)."""
        section = self.privacy
        return assess(section.inputs, ledger, section.delta, section.max_rounds_per_user)

    def to_text(self) -> str:
        """The resolved constants, one per line."""
        return "\n".join(_lines(self.resolved()))


_LEVER_NAMES = ("target_shift", "exploration", "diversity", "size")


def _levers_dict(levers: Levers) -> dict[str, Any]:
    return {name: getattr(levers, name) for name in _LEVER_NAMES}


def _lines(value: dict[str, Any], lead: str = "") -> list[str]:
    out = []
    for key, part in value.items():
        out += _lines(part, f"{lead}{key}.") if isinstance(part, dict) else [f"{lead}{key} = {part}"]
    return out


def _refusal(why: ValidationError) -> InvalidInput:
    """The first complaint of pydantic in our words: field, rule, value."""
    first = why.errors()[0]
    cause = first.get("ctx", {}).get("error")
    place = ".".join(str(part) for part in first["loc"])
    if isinstance(cause, InvalidInput):
        field = cause.field if cause.field.startswith(place) else f"{place}.{cause.field}"
        return InvalidInput(field, cause.rule, cause.value)
    if first["type"] == "extra_forbidden":
        return InvalidInput(place, "is not a key of a policy")
    return InvalidInput(place or "policy", first["msg"].lower().removeprefix("value error, "), first["input"])
