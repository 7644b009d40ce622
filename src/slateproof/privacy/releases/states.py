"""Learner state by continual counting: k-hat and e-hat of many subjects over T ticks, for one ledger entry.

Scope: end-to-end at the ledger's unit; the cost is the ledger's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.privacy.events import whole
from slateproof.privacy.ledger import Ledger
from slateproof.privacy.releases.checks import check_generator, check_ledger, positive, values
from slateproof.privacy.releases.factorisation import Factorisation
from slateproof.privacy.releases.shares import shrunk_shares
from slateproof.types import State
from slateproof.types.columns import Floats, frozen
from slateproof.types.ids import ItemId

__all__ = ["StateColumns", "StateStream"]


@dataclass(frozen=True, slots=True, eq=False)
class StateColumns:
    """The released state of every subject after ``ticks`` ticks: ``knowledge`` and ``engagement`` in [0, 1].

    Scope: end-to-end at the unit of the stream's ledger. It may be published.
    """

    knowledge: Floats
    engagement: Floats
    ticks: int

    def state(self, subject: int, *, uncertainty: float = 0.5, shown: tuple[ItemId, ...] = ()) -> State:
        """The selector state of one subject; ``uncertainty`` and ``shown`` have statuses of their own."""
        return State(float(self.knowledge[subject]), float(self.engagement[subject]), uncertainty, shown)


class StateStream:
    """k-hat and e-hat of ``subjects`` subjects, released after every tick by a factorisation mechanism.

    A **tick** is a place in a public timetable (a day, a lesson, a numbered exposure), at which a subject has at most one round.
    What is protected is whether anything was answered there, and how: a round that is taken out leaves a tick without an
    answer, and no later round moves. "The n-th round that came in" is no tick. The timetable and the subjects are public.

    k-hat = right/(right + wrong) and e-hat = (right + wrong)/ticks, from running sums with noise of standard deviation
    ``noise_multiplier`` · ``factorisation.deviations(ledger.unit)``, drawn to the shares of all subjects together
    where the noise drowns them (``shrunk_shares``), which reads released sums only. A round
    belongs to one subject, so all subjects together cost what one costs: one Gaussian release, whose multiplier is relative to
    the sensitivity of the whole stream. It is recorded here, when the stream is made, for all its ticks.

    A stream cannot be copied or pickled: two copies with different answers would be two releases with one noise, and one entry.

    Scope: end-to-end at the ledger's unit, also where later answers react to what was released.
    """

    __slots__ = ("_counts", "_noise", "_tick", "factorisation", "noise", "subjects", "unit")

    factorisation: Factorisation
    noise: float
    subjects: int
    unit: str
    _counts: Floats
    _noise: Floats
    _tick: int

    def __init__(
        self,
        factorisation: Factorisation,
        *,
        subjects: int,
        noise_multiplier: float,
        ledger: Ledger,
        rng: np.random.Generator,
    ) -> None:
        if not isinstance(factorisation, Factorisation):
            raise InvalidInput("factorisation", "must be a Factorisation", type(factorisation).__name__)
        ledger, rng = check_ledger(ledger), check_generator(rng)
        multiplier = positive(noise_multiplier, "noise_multiplier")
        self.factorisation = factorisation
        self.subjects = whole(subjects, "subjects")
        self.unit = ledger.unit
        self.noise = multiplier * factorisation.sensitivity(ledger.unit)
        ledger.record_gaussian(noise_multiplier=multiplier)
        self._counts = np.zeros((self.subjects, 2))
        self._noise = rng.normal(0.0, self.noise, (factorisation.encoder.shape[0], 2 * self.subjects))
        self._tick = 0

    @property
    def ticks(self) -> int:
        """How many ticks have passed."""
        return self._tick

    def advance(self, attempted: Any, correct: Any) -> StateColumns:
        """One tick: what every subject did at it, and the state released after it.

        ``attempted`` is 0 or 1 and ``correct`` in [0, 1] per subject; without an attempt, ``correct`` counts as 0. Refuses more
        ticks than the factorisation has: their noise was not accounted for.
        """
        if self._tick == self.factorisation.ticks:
            raise InvalidInput("ticks", f"the stream was recorded for {self._tick} ticks and has had them all")
        tried, right = values(attempted, "attempted", self.subjects), values(correct, "correct", self.subjects)
        partly = (tried != 0.0) & (tried != 1.0)
        if partly.any():
            place = int(np.argmax(partly))
            raise InvalidInput("attempted", "must be 0 or 1", float(tried[place]), where=place)
        row = self.factorisation.decoder[self._tick]
        self._counts += np.stack([tried * right, tried * (1.0 - right)], axis=1)
        self._tick += 1
        noisy = self._counts + (row @ self._noise).reshape(self.subjects, 2)
        return _columns(noisy, self._tick, self.noise * float(np.linalg.norm(row)))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a StateStream cannot be copied or pickled: a copy would be a release that no ledger knows")


def _columns(noisy: Floats, ticks: int, noise: float) -> StateColumns:
    """The state from noisy counts whose noise has standard deviation ``noise`` each, hence √2 ``noise`` in their sum."""
    right, total = noisy[:, 0], noisy.sum(axis=1)
    total_noise = np.sqrt(2.0) * noise
    engagement = shrunk_shares(total, np.full(total.shape, float(ticks)), total_noise, 0.0)
    knowledge = shrunk_shares(right, total, noise, total_noise, size=engagement * ticks)
    return StateColumns(frozen(knowledge), frozen(engagement), ticks)
