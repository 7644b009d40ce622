"""The experiments by name, and the order in which they run.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from types import MappingProxyType

from slateproof.errors import InvalidInput
from slateproof.experiments import (
    corpus_summary,
    coverage,
    end_to_end,
    evidence_map,
    fixed_margin,
    flip_size,
    learner_update,
    ledger,
    loop_closed,
    loop_components,
    loop_drift,
    loop_noise,
    loop_probes,
    loop_robustness,
    loop_simulator,
    loop_subgroups,
    loop_tiers,
    margin_gate,
    pairwise_tail,
    real_anchor,
    threshold,
)
from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.core import Experiment

__all__ = ["EXPERIMENTS", "ordered"]

MODULES = (
    corpus_summary,
    coverage,
    end_to_end,
    evidence_map,
    fixed_margin,
    flip_size,
    learner_update,
    ledger,
    loop_closed,
    loop_components,
    loop_drift,
    loop_noise,
    loop_probes,
    loop_robustness,
    loop_simulator,
    loop_subgroups,
    loop_tiers,
    margin_gate,
    pairwise_tail,
    real_anchor,
    threshold,
)

_BY_NAME = {one.EXPERIMENT.name: one.EXPERIMENT for one in MODULES}
_ORDER = ("evidence-map", "corpora", *(name for claim in CLAIMS for name in claim.experiments))

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({name: _BY_NAME[name] for name in _ORDER if name in _BY_NAME})
"""Every experiment by name, in the order of the report: overview first, then claim by claim."""


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
