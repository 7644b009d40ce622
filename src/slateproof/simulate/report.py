"""The report of a run: metrics by mode, paired differences, envelopes, subgroups, probe alignment, timing.

Scope: none for outcomes of simulated people; the envelopes are stability only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slateproof.simulate.metrics import METRICS, Alignment, Envelopes, envelopes, probe_alignment, session_metrics, subgroup_gap
from slateproof.simulate.plan import Plan
from slateproof.simulate.record import Rounds
from slateproof.simulate.report_text import SETTINGS, text_of
from slateproof.simulate.statistics import Interval, SettingRow, SignTest, by_setting, paired_bootstrap, sign_test
from slateproof.types.columns import Floats

__all__ = ["Comparison", "ModeReport", "Report", "report_on"]


@dataclass(frozen=True, slots=True)
class ModeReport:
    """One mode: means over sessions, envelopes of ``accepted`` and of ``shown`` items, gaps between engagement groups, and the
    privacy regime of what it consumed.

    Scope: see the module.
    """

    mode: str
    means: dict[str, float]
    accepted: Envelopes
    shown: Envelopes
    gaps: dict[str, float]
    regime: str
    epsilon: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One mode against the reference, paired by session.

    Scope: none.
    """

    mode: str
    intervals: dict[str, Interval]
    signs: dict[str, SignTest]
    alignment: Alignment
    settings: dict[str, list[SettingRow]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found. ``metrics`` holds every metric per session by mode, in the order of ``sessions``.

    Scope: see the module.
    """

    corpus: str
    digest: str
    reference: str
    sessions: tuple[str, ...]
    rounds: int
    modes: tuple[ModeReport, ...]
    comparisons: tuple[Comparison, ...]
    seconds: dict[str, dict[str, float]]
    calibration: str
    metrics: Mapping[str, Mapping[str, Floats]]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the sessions' numbers, which stand in ``sessions.parquet``; NaN becomes null."""
        return {
            "corpus": self.corpus,
            "digest": self.digest,
            "reference": self.reference,
            "sessions": len(self.sessions),
            "rounds": self.rounds,
            "modes": [_plain(asdict(one)) for one in self.modes],
            "comparisons": [_plain(asdict(one)) for one in self.comparisons],
            "seconds": self.seconds,
            "calibration": self.calibration,
        }

    def to_text(self) -> str:
        """Tables for a terminal."""
        return text_of(self)


def report_on(
    played: Mapping[str, Rounds], plan: Plan, shifts: Mapping[str, float], scopes: Mapping[str, tuple[str, float | None]],
    *, corpus: str, digest: str, reference: str, window: float, seconds: dict[str, dict[str, float]], calibration: str,
) -> Report:  # fmt: skip
    """The report of played modes; ``shifts`` is Delta_max by mode, ``scopes`` regime and epsilon by mode."""
    metrics = {name: session_metrics(rounds) for name, rounds in played.items()}
    start = np.array([one.profile.engagement for one in plan.sessions])
    modes = tuple(
        ModeReport(
            name, {m: _mean(v) for m, v in metrics[name].items()}, envelopes(rounds, shifts[name], window, accepted=True),
            envelopes(rounds, shifts[name], window), _gaps(metrics[name], start), *scopes[name],
        )
        for name, rounds in played.items()
    )  # fmt: skip
    comparisons = tuple(_compared(name, metrics[name], metrics[reference], plan) for name in played if name != reference)
    sessions = tuple(one.label for one in plan.sessions)
    return Report(corpus, digest, reference, sessions, plan.rounds, modes, comparisons, seconds, calibration, metrics)


def _gaps(metrics: Mapping[str, Floats], engagement: Floats) -> dict[str, float]:
    if engagement.min() == engagement.max():
        return {}
    return {name: subgroup_gap(metrics[name], engagement) for name in SETTINGS}


def _compared(name: str, mine: Mapping[str, Floats], theirs: Mapping[str, Floats], plan: Plan) -> Comparison:
    pairs = {m: (mine[m], theirs[m]) for m in METRICS if not np.isnan(mine[m] - theirs[m]).all()}
    models, profiles = [s.model for s in plan.sessions], [s.profile.name for s in plan.sessions]
    telemetry, utility = (mine[m] - theirs[m] for m in ("telemetry_probe", "utility_probe"))
    both = int((~np.isnan(telemetry + utility)).sum())
    return Comparison(
        name,
        {m: paired_bootstrap(*pair) for m, pair in pairs.items()},
        {m: sign_test(*pair) for m, pair in pairs.items()},
        probe_alignment(telemetry, utility) if both > 1 else Alignment(both, np.nan, np.nan, np.nan),
        {m: by_setting(*pairs[m], models, profiles) for m in SETTINGS if m in pairs},
    )


def _mean(values: Floats) -> float:
    return float("nan") if np.isnan(values).all() else float(np.nanmean(values))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
