"""What a selector computed on the way to a slate: raw numbers, by position in the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slateproof.types.columns import Floats, Ints
from slateproof.types.opened import open_twin

__all__ = ["SetChoice", "Steps", "steps_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """K choices made one after another, kept as the kernel wrote them: few arrays, cut into columns when asked for.

    ``places`` holds chosen (K), runners (K) and known (n); ``numbers`` holds chosen objective, chosen similarity, runner-up
    objective, runner-up similarity (K each) and the shaped score mu-tilde of every candidate (n). ``similarities[i, :known[i]]``
    are the similarities of candidate i to the first ``known[i]`` chosen items; entries beyond mean nothing, and None says that they
    were not kept. All arrays are read-only; places are positions in the pool.

    Scope: none; intermediate values.
    """

    size: int
    places: Ints
    numbers: Floats
    similarities: Floats | None

    @property
    def chosen(self) -> Ints:
        """The chosen positions, in order."""
        return self.places[: self.size]

    @property
    def runners(self) -> Ints:
        """The runner-up of every step; -1 where nothing else was left."""
        return self.places[self.size : 2 * self.size]

    @property
    def known(self) -> Ints:
        """Per candidate, to how many of the chosen items, counted from the first, its similarity was computed."""
        return self.places[2 * self.size :]

    @property
    def chosen_objective(self) -> Floats:
        """F_q of the chosen item."""
        return self.numbers[: self.size]

    @property
    def chosen_similarity(self) -> Floats:
        """Similarity of the chosen item to the prefix, as it entered F_q; 0 at the first step."""
        return self.numbers[self.size : 2 * self.size]

    @property
    def runner_objective(self) -> Floats:
        """F_q of the runner-up; -inf where nothing else was left."""
        return self.numbers[2 * self.size : 3 * self.size]

    @property
    def runner_similarity(self) -> Floats:
        """Similarity of the runner-up to the prefix; 0 at the first step."""
        return self.numbers[3 * self.size : 4 * self.size]

    @property
    def shaped(self) -> Floats:
        """mu-tilde of every candidate."""
        return self.numbers[4 * self.size :]

    @property
    def evaluations(self) -> int:
        """How many similarities were computed, of the K n possible."""
        return int(self.known.sum())


_OpenSteps = open_twin(Steps)


def steps_of(size: int, places: Ints, numbers: Floats, similarities: Floats | None) -> Steps:
    """``Steps`` of arrays that nobody else holds, closed for writing here; stands on the way of every selection."""
    array: Any
    for array in (places, numbers, similarities):
        if array is not None:
            array.setflags(False)  # the first argument is ``write``; by name it takes twice as long
    steps: Any = _OpenSteps()
    steps.size, steps.places, steps.numbers, steps.similarities = size, places, numbers, similarities
    steps.__class__ = Steps
    made: Steps = steps
    return made


@dataclass(frozen=True, slots=True, eq=False)
class SetChoice:
    """One choice among feasible sets (SCPO).

    ``chosen`` in slate order (shaped score, then id) and ``runner_up`` (the second-best feasible set in id order, empty where there
    is none) are positions; ``value`` and ``runner_value`` their objectives, ``similarity`` and ``runner_similarity`` the
    largest pairwise similarities in them. ``window`` is the realised width w' >= w, ``nodes`` the nodes of the search, ``bound`` a
    proved upper bound on the value of every other set: ``proved`` says that the search was completed, so that ``value`` is the
    maximum and ``runner_value`` the second best; otherwise ``bound - value`` is the optimality gap.

    Scope: none; intermediate values.
    """

    chosen: Ints
    runner_up: Ints
    value: float
    runner_value: float
    similarity: float
    runner_similarity: float
    shaped: Floats
    window: float
    nodes: int
    bound: float
    proved: bool

    @property
    def gap(self) -> float:
        """Proved optimality gap: 0 where the search was completed."""
        return 0.0 if self.proved else max(0.0, self.bound - self.value)
