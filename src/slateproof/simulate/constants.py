"""Every constant that a run follows from and no configuration sets, gathered for its manifest.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from slateproof.simulate import calibration, crowd, engine, learners, metrics, scoring, state, statistics, validation
from slateproof.simulate.modes import PRIVATE
from slateproof.simulate.profiles import PROFILES

__all__ = ["constants_of"]


def constants_of(names: Iterable[str]) -> dict[str, Any]:
    """The constants; ``names`` are the learners of the run, whose settings stand there, too."""
    settings = {name: asdict(learners.make(name)) for name in names}  # type: ignore[call-overload]
    private = {"epsilon": learners.EPSILON, "delta": learners.DELTA} if PRIVATE in settings else {}
    return {
        "profiles": {name: asdict(one) for name, one in PROFILES.items()},
        "learners": settings,
        "private_training": private,
        "state_prior": state.PRIOR,
        "width_reference": {"sessions": engine.REFERENCE_SESSIONS, "quantile": scoring.REFERENCE_QUANTILE},
        "probe_grid": metrics.GRID.tolist(),
        "telemetry_rounds": metrics.TAIL,
        "bootstrap": {"resamples": statistics.RESAMPLES, "seed": statistics.SEED, "level": statistics.LEVEL},
        "calibration": {
            "users": calibration.USERS,
            "answers": calibration.ANSWERS,
            "quadrature_nodes": calibration.NODES,
            "crowd": calibration.LEARNERS,
            "crowd_rounds": calibration.ROUNDS,
            "crowd_items": crowd.SIZE,
            "crowd_seed": calibration.SEED,
            "ease_below": calibration.BELOW,
            "ease_above": calibration.ABOVE,
            "difficulty_bins": validation.BINS,
            "least_answers": validation.LEAST,
        },
    }
