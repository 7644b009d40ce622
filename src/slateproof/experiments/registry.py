"""The experiments by name, and the order in which they run.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from types import MappingProxyType

from slateproof.errors import InvalidInput
from slateproof.experiments import fixed_margin, learner_update, margin_gate, pairwise_tail, real_anchor, threshold
from slateproof.experiments.core import Experiment

__all__ = ["EXPERIMENTS", "ordered"]

MODULES = (fixed_margin, real_anchor, threshold, pairwise_tail, margin_gate, learner_update)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({one.EXPERIMENT.name: one.EXPERIMENT for one in MODULES})
"""Every experiment by name, in the order of the report."""


def ordered(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of ``names`` (none: all), with those whose results they read, each after what it reads."""
    for name in names:
        if name not in EXPERIMENTS:
            raise InvalidInput("name", f"must be one of {', '.join(EXPERIMENTS)}", name)
    wanted: dict[str, tuple[str, ...]] = {}
    todo = list(names or EXPERIMENTS)
    while todo:
        name = todo.pop(0)
        if name not in wanted:
            wanted[name] = EXPERIMENTS[name].after
            todo += EXPERIMENTS[name].after
    places = list(EXPERIMENTS)
    graph = {name: wanted[name] for name in sorted(wanted, key=places.index)}
    return tuple(EXPERIMENTS[name] for name in TopologicalSorter(graph).static_order())
