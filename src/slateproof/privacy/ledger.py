"""The ledger: what ran, in order, and what it costs.

Scope: end-to-end for the learner's releases at the stated unit and neighbouring relation; says nothing about other inputs.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slateproof.errors import InvalidInput, SlateproofWarning
from slateproof.privacy import events
from slateproof.privacy.accountants import ACCOUNTANTS, ADD_OR_REMOVE, RELATIONS, Curve, curve, dp_event
from slateproof.privacy.events import Gaussian, NonPrivate, PoissonGaussian, Release, Streaming, text, whole
from slateproof.types.columns import finite_scalar

__all__ = ["UNITS", "Ledger", "check_delta"]

UNITS = ("round", "user")

_FORMAT = "slateproof ledger 1"


def check_delta(value: Any) -> float:
    """``value`` as a delta strictly between 0 and 1: the Gaussian mechanism has no pure-DP figure."""
    delta = finite_scalar(value, "delta", 0.0, 1.0)
    if delta in (0.0, 1.0):
        raise InvalidInput("delta", "must lie strictly between 0 and 1", delta)
    return delta


class Ledger:
    """Releases that were executed on one protected data set, each recorded by the step that made it.

    ``unit`` is the protected unit ("round": one round of one user with all its item rows; "user": everything of one user),
    which must also be the unit whose contribution was clipped. ``neighbouring`` is "add-or-remove-one" or "replace-one".
    ``population`` is the number of units, where it is known and may be stated: a ``delta`` above 1/population then warns.

    ``record`` says in words what one record is ("up to 5 consecutive rows of one user"); ledgers that say different things do
    not merge, because their sensitivities are about different things.

    Releases compose adaptively: a later one may depend on the outputs of earlier ones, its noise and rate may not depend on the
    protected data. Nothing can be taken out again, and there is no entry for a step that was only configured.

    ``conditions`` names what releases read of *other* protected records as it was, without paying for it (the ``given`` of a
    recording): the state that a round was served under, say. While there is one, epsilon holds with that held fixed, and
    ``assess`` counts what rests on the ledger as conditioned.

    Scope: end-to-end for the recorded releases alone, where ``conditions`` is empty; else conditional on what it names.
    """

    __slots__ = ("_conditions", "_curves", "_places", "_releases", "neighbouring", "population", "record", "unit")

    unit: str
    neighbouring: str
    population: int | None
    record: str | None
    _conditions: tuple[str, ...]
    _releases: list[Release]
    _places: dict[Release | str, int]
    _curves: dict[str, Curve]

    def __init__(
        self, unit: str = "round", neighbouring: str = ADD_OR_REMOVE, population: int | None = None, record: str | None = None
    ) -> None:
        for field, value, known in (("unit", unit, UNITS), ("neighbouring", neighbouring, RELATIONS)):
            if not isinstance(value, str) or value not in known:
                raise InvalidInput(field, f"must be one of {', '.join(known)}", value)
        self.unit = unit
        self.neighbouring = neighbouring
        self.population = None if population is None else whole(population, "population")
        self.record = None if record is None else text(record, "record")
        self._conditions = ()
        self._releases = []
        self._places = {}
        self._curves = {}

    @property
    def releases(self) -> tuple[Release, ...]:
        """What ran, by first occurrence; equal releases stand together with a count, since composition knows no order."""
        return tuple(self._releases)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the releases read of other protected records as it was, sorted; empty where they read nothing of the kind."""
        return self._conditions

    @property
    def non_private(self) -> str | None:
        """The reason of the first release without a DP mechanism, or None."""
        return next((one.reason for one in self._releases if isinstance(one, NonPrivate)), None)

    def __len__(self) -> int:
        return sum(one.count for one in self._releases)

    def __repr__(self) -> str:
        given = f", given {', '.join(self.conditions)}" if self.conditions else ""
        return f"Ledger(unit={self.unit!r}, neighbouring={self.neighbouring!r}, {len(self)} releases{given})"

    def record_gaussian(self, *, noise_multiplier: float, count: int = 1, given: Sequence[str] = ()) -> None:
        """``count`` releases with Gaussian noise, each of which may read every unit; no amplification.

        ``given``: see ``conditions``.
        """
        self._add(Gaussian(noise_multiplier, count), given)

    def record_poisson_gaussian(
        self, *, sampling_rate: float, noise_multiplier: float, count: int = 1, given: Sequence[str] = ()
    ) -> None:
        """``count`` releases with Gaussian noise, each on a fresh Poisson sample of the units that nobody gets to see.

        Only for a sampler that included every unit independently with this rate. A shuffled epoch, a batch of fixed size or
        "the rounds that just came in" are none. ``given``: see ``conditions``.
        """
        self._add(PoissonGaussian(sampling_rate, noise_multiplier, count), given)

    def record_streaming(
        self, *, noise_multiplier: float, span: tuple[int, int], stream: str = "stream", given: Sequence[str] = ()
    ) -> None:
        """One Gaussian release on the units with numbers ``span[0]`` to ``span[1] - 1``, used here and never again.

        Parallel composition without amplification: T releases of one stream over disjoint units cost one unit what the
        release it was in costs, so the stream costs one release at its smallest noise multiplier. That holds when

        (a) a unit's number does not depend on the data or the presence of other units: a clock tick, or a serial number
            issued before the response came, so that a unit taken out leaves a hole. Batching "every four that came in" moves
            all later units when one is missing, and then T releases cost T;
        (b) no two releases share a unit. This is enforced: a span that begins before the end of the last one is refused;
        (c) what was clipped is the ledger's unit.

        A release may depend on the outputs of earlier ones. Streams compose with each other and with all else sequentially.
        ``given``: see ``conditions``.
        """
        if not isinstance(span, (tuple, list)) or len(span) != 2:
            raise InvalidInput("span", "must be a pair (start, stop) of arrival numbers", span)
        event = Streaming(noise_multiplier, span[0], span[1], stream)
        self._add(event, given)

    def record_non_private(self, reason: str, count: int = 1) -> None:
        """``count`` releases without a DP mechanism, such as a training step with the noise off; epsilon is infinite from here."""
        self._add(NonPrivate(reason, count))

    def epsilon(self, delta: float, accountant: str = "pld") -> float:
        """The epsilon of everything recorded, at ``delta``: 0 for an empty ledger, infinite after a non-private release.

        Both accountants give upper bounds; "pld" is the tighter one. Warns where ``delta`` is above 1/population, because a
        mechanism that publishes one unit in clear can have such a delta.
        """
        delta = check_delta(delta)
        if accountant not in ACCOUNTANTS:
            raise InvalidInput("accountant", f"must be one of {', '.join(ACCOUNTANTS)}", accountant)
        if self.population is not None and delta > 1.0 / self.population:
            warnings.warn(
                f"delta: {delta:g} is larger than 1/population ({1.0 / self.population:g} for {self.population} units)",
                SlateproofWarning,
                stacklevel=2,
            )
        if accountant not in self._curves:
            self._curves[accountant] = curve(self._releases, self.neighbouring, accountant)
        return self._curves[accountant](delta)

    def dp_event(self) -> Any:
        """Everything recorded as one ``dp_accounting.DpEvent``; a non-private release stands there as such."""
        return dp_event(self._releases)

    def merge(self, other: Ledger) -> Ledger:
        """A new ledger with the releases of both, composed sequentially.

        Both must mean the same record, which only their owner knows: a ledger of rounds of five rows and one of rounds of a
        fortnight do not add up. Refuses another unit, neighbouring relation, population or ``record``, and streams of one name
        whose spans overlap. What one says of population or record and the other does not, is kept.
        """
        if not isinstance(other, Ledger):
            raise InvalidInput("ledger", "must be a Ledger", type(other).__name__)
        for field in ("unit", "neighbouring"):
            if getattr(self, field) != getattr(other, field):
                raise InvalidInput(field, f"must be that of the first ledger ({getattr(self, field)})", getattr(other, field))
        for field in ("population", "record"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if None not in (mine, theirs) and mine != theirs:
                raise InvalidInput(field, f"must be that of the first ledger ({mine})", theirs)
        merged = Ledger(self.unit, self.neighbouring, self.population or other.population, self.record or other.record)
        merged._condition((*self._conditions, *other._conditions))
        streaming = [one for one in (*self._releases, *other._releases) if isinstance(one, Streaming)]
        rest = [one for one in (*self._releases, *other._releases) if not isinstance(one, Streaming)]
        merged._restore([*rest, *sorted(streaming, key=lambda one: (one.stream, one.start))])
        return merged

    def to_dict(self) -> dict[str, Any]:
        """The ledger as plain JSON values. ``record`` and ``conditions`` stand there only where there is something to say."""
        said = {"record": self.record, "conditions": list(self._conditions)}
        return {
            "format": _FORMAT,
            "unit": self.unit,
            "neighbouring": self.neighbouring,
            "population": self.population,
            "releases": [events.to_dict(one) for one in self._releases],
            **{key: value for key, value in said.items() if value},
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Ledger:
        """The ledger that ``to_dict`` wrote; refuses unknown and missing keys, and everything that recording refuses."""
        if not isinstance(value, Mapping) or value.get("format") != _FORMAT:
            raise InvalidInput("ledger", f"must be a table whose format is '{_FORMAT}'", value)
        expected = {"format", "unit", "neighbouring", "population", "releases"}
        for key in sorted(map(str, expected ^ (value.keys() - {"record", "conditions"}))):
            raise InvalidInput("ledger", f"has the keys {', '.join(sorted(expected))}, record and conditions", key)
        if not isinstance(value["releases"], (list, tuple)):
            raise InvalidInput("releases", "must be a list", value["releases"])
        ledger = cls(value["unit"], value["neighbouring"], value["population"], value.get("record"))
        ledger._condition(value.get("conditions", ()))
        ledger._restore([events.release(one) for one in value["releases"]])
        return ledger

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, as 64 hexadecimal digits."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _restore(self, releases: list[Release]) -> None:
        """Add releases of another ledger, under the same rules."""
        for one in releases:
            self._add(one)

    def _add(self, event: Release, given: Sequence[str] = ()) -> None:
        """Append, or raise the count of an equal entry, so that a million steps take one line; with what it was conditioned on."""
        named = _named(given)
        key = event.stream if isinstance(event, Streaming) else replace(event, count=1)
        place = self._places.get(key)
        joined = None if place is None else _joined(self._releases[place], event)
        self._condition(named)
        self._curves.clear()
        if place is not None and joined is not None:
            self._releases[place] = joined
        else:
            self._places[key] = len(self._releases)
            self._releases.append(event)

    def _condition(self, given: Any) -> None:
        """What is conditioned on stays conditioned on."""
        self._conditions = tuple(sorted({*self._conditions, *_named(given)}))


def _named(given: Any) -> tuple[str, ...]:
    """Conditions as texts."""
    if not isinstance(given, (list, tuple)):
        raise InvalidInput("conditions", "must be a list of texts", given)
    return tuple(text(one, "conditions") for one in given)


def _joined(last: Release, event: Release) -> Release | None:
    """Both as one entry, or None where a stream changed its noise. A gap between two spans counts as used.

    Refuses a span that begins before the end of the last one of its stream.
    """
    if isinstance(last, Streaming) and isinstance(event, Streaming):
        if event.start < last.stop:
            raise InvalidInput("span", f"was used already: the stream stands at {last.stop}", event.start, where=last.stream)
        same = last.noise_multiplier == event.noise_multiplier
        return replace(last, stop=event.stop, count=last.count + event.count) if same else None
    return replace(last, count=last.count + event.count)
