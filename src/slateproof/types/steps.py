"""What a selector computed on the way to a slate: raw numbers, by position in the pool."""

from __future__ import annotations

from dataclasses import dataclass

from slateproof.types.columns import Floats, Ints

__all__ = ["SetChoice", "Steps"]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """K choices made one after another.

    ``chosen[q]`` and ``runners[q]`` are positions in the pool (``-1``: nothing else was left); ``chosen_objective`` and
    ``runner_objective`` are F_q of the two, ``chosen_similarity`` and ``runner_similarity`` the similarity to the prefix that
    entered them (0 at the first step). ``shaped`` holds mu-tilde for every candidate. ``known[i]`` says to how many of the chosen
    items, counted from the first, the similarity of candidate i was computed; ``similarities[i, :known[i]]`` are these values.
    ``similarities`` is None where they were not kept; entries beyond ``known`` mean nothing.

    Scope: none; intermediate values.
    """

    chosen: Ints
    runners: Ints
    chosen_objective: Floats
    runner_objective: Floats
    chosen_similarity: Floats
    runner_similarity: Floats
    shaped: Floats
    known: Ints
    similarities: Floats | None

    @property
    def evaluations(self) -> int:
        """How many similarities were computed, of the K n possible."""
        return int(self.known.sum())


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
