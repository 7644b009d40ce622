"""What is measured on a played mode: one number per session and metric; definitions in ``docs/simulator.md``.

Scope: none for outcomes of simulated people; stability only for jumps, windows and agreement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from slateproof.certify import drift
from slateproof.errors import InvalidInput
from slateproof.simulate.record import Rounds
from slateproof.simulate.responses.core import sigmoid
from slateproof.types.columns import Floats

__all__ = [
    "GRID",
    "METRICS",
    "Alignment",
    "Envelopes",
    "between",
    "engaged",
    "envelopes",
    "probe",
    "probe_alignment",
    "session_metrics",
    "subgroup_gap",
]

GRID: Floats = np.linspace(0.0, 1.0, 21)
"""d = 0, .05, ..., 1."""

TAIL = 5
"""Rounds at either end that the telemetry probe compares."""

METRICS: Mapping[str, str] = {
    "attempts_per_round": "attempted items per round",
    "uptake": "attempted items per shown item",
    "correctness": "correct rounds per attempted round",
    "utility_probe": "change of mean Rasch P(correct) over the grid",
    "telemetry_probe": "accuracy of the last five rounds minus the first five; the same rounds count twice below ten",
    "target_jump": "mean |d-bar of the next slate - d-bar of this one|",
    "accepted_target_jump": "the same of the attempted items, over pairs of rounds that both have some",
    "window_rate": "share of rounds with every shown item in the window",
    "accepted_window_rate": "share of attempted rounds with every attempted item in the window",
    "slate_overlap": "mean Jaccard of consecutive slates",
}
"""Metrics of every mode; modes with score noise have tau, jaccard and flip against their own clean slates besides."""


def probe(ability: Any) -> Any:
    """Mean of sigmoid(theta - d) over the grid: Rasch, discrimination 1."""
    return sigmoid(np.asarray(ability)[..., None] - GRID).mean(axis=-1)


def session_metrics(rounds: Rounds) -> dict[str, Floats]:
    """Every metric, one value per session; NaN where a session gives none (no attempt at all)."""
    attempted, correct = rounds.rectangle("attempted", False), rounds.rectangle("correct", False)
    tried, right = attempted.sum(axis=2), correct.sum(axis=2)
    size = rounds.column("size")
    a, y = rounds.column("round_attempted"), rounds.column("round_correct")
    tail = min(TAIL, rounds.rounds)
    out = {
        "attempts_per_round": tried.mean(axis=1),
        "uptake": tried.sum(axis=1) / size.sum(axis=1),
        "correctness": _ratio(y.sum(axis=1), a.sum(axis=1)),
        "utility_probe": probe(rounds.column("ability")[:, -1]) - probe(rounds.column("ability_before")[:, 0]),
        "telemetry_probe": _accuracy(tried[:, -tail:], right[:, -tail:]) - _accuracy(tried[:, :tail], right[:, :tail]),
        "target_jump": _mean_step(rounds.column("mean_target")),
        "accepted_target_jump": _mean_jump(rounds.column("accepted_mean")),
        "window_rate": rounds.column("in_window").mean(axis=1),
        "accepted_window_rate": _ratio(rounds.column("accepted_in_window").sum(axis=1), a.sum(axis=1)),
        "slate_overlap": _consecutive(rounds.rectangle("item", -1), size),
    }
    if "tau" in rounds.table.column_names:
        out["tau"], out["jaccard"] = rounds.column("tau").mean(axis=1), rounds.column("jaccard").mean(axis=1)
        out["flip"] = 1.0 - (rounds.column("jaccard") == 1.0).mean(axis=1)
    return out


def _ratio(above: Any, below: Any) -> Floats:
    return np.where(below > 0, above / np.maximum(below, 1), np.nan)


def _accuracy(tried: Any, right: Any) -> Floats:
    return _ratio(right.sum(axis=1), tried.sum(axis=1))


def _mean_step(column: Floats) -> Floats:
    return np.asarray(np.abs(np.diff(column, axis=1)).mean(axis=1)) if column.shape[1] > 1 else np.zeros(column.shape[0])


def _mean_jump(means: Floats) -> Floats:
    """Mean |step| over the pairs of rounds that both have a mean; NaN where there is no pair."""
    steps = np.abs(np.diff(means, axis=1))
    there = ~np.isnan(steps)
    return _ratio(np.where(there, steps, 0.0).sum(axis=1), there.sum(axis=1))


def _consecutive(items: Any, size: Any) -> Floats:
    """Mean Jaccard of the slates of rounds t and t + 1."""
    if items.shape[1] < 2:
        return np.zeros(items.shape[0])
    return np.asarray(_jaccard(items[:, 1:], size[:, 1:], items[:, :-1], size[:, :-1]).mean(axis=1))


def _jaccard(one: Any, one_size: Any, two: Any, two_size: Any) -> Any:
    shared = ((one[..., :, None] == two[..., None, :]) & (one[..., :, None] >= 0)).sum(axis=(-1, -2))
    return shared / (one_size + two_size - shared)


def between(one: Rounds, two: Rounds) -> dict[str, Floats]:
    """Slates of two modes on the same pools, per session: mean Jaccard@K and Flip@K (the share of rounds with another set)."""
    if (one.sessions, one.rounds) != (two.sessions, two.rounds) or one.table["session"] != two.table["session"]:
        raise InvalidInput("two", "must hold the same sessions and rounds", (two.sessions, two.rounds))
    same = _jaccard(one.rectangle("item", -1), one.column("size"), two.rectangle("item", -1), two.column("size"))
    return {"jaccard": same.mean(axis=1), "flip": (same < 1.0).mean(axis=1)}


@dataclass(frozen=True, slots=True)
class Envelopes:
    """The drift lemma on pairs of consecutive rounds: ``pairs``, those where both windows were kept (``applies``), jumps
    beyond the realised envelope |dm| + w_t + w_t+1 and beyond the prospective one eta + 2 Delta_max + w_t + w_t+1 among these,
    rounds with a ``relaxed`` window, and the largest ratio of a jump to its realised envelope.

    Scope: stability only.
    """

    pairs: int
    applies: int
    beyond_realised: int
    beyond_prospective: int
    relaxed: int
    tightest: float


def envelopes(rounds: Rounds, largest_shift: float, window: float, *, accepted: bool = False) -> Envelopes:
    """Check the lemma; ``window`` is the configured one, ``largest_shift`` Delta_max.

    With ``accepted`` of the attempted items, as the lemma is stated: pairs of rounds of which either has no attempt are left out,
    having no mean. Else of all shown items, which says more: whatever is accepted of them stays inside.
    """
    of = "accepted_" if accepted else ""
    target, width, mean = (rounds.column(n) for n in ("target", "window", "accepted_mean" if accepted else "mean_target"))
    kept, attempts = rounds.column(f"{of}in_window"), np.cumsum(rounds.column("round_attempted"), axis=1)
    before = np.concatenate([np.zeros((rounds.sessions, 1), np.int64), attempts[:, :-1]], axis=1)
    step = np.array([drift.running_mean_step(n) for n in range(rounds.rounds + 1)])
    applies = realised = prospective = 0
    tightest = 0.0
    for s, t in np.argwhere(kept[:, 1:] & kept[:, :-1]).tolist():
        moved = abs(mean[s, t + 1] - mean[s, t])
        bound = drift.realised_envelope(target[s, t], target[s, t + 1], width[s, t], width[s, t + 1])
        ahead = drift.envelope(step[before[s, t]], largest_shift, width[s, t], width[s, t + 1])
        applies, realised, prospective = applies + 1, realised + int(moved > bound), prospective + int(moved > ahead)
        tightest = max(tightest, moved / bound)
    there = ~np.isnan(mean)
    pairs = int((there[:, 1:] & there[:, :-1]).sum())
    return Envelopes(pairs, applies, realised, prospective, int((width > window).sum()), float(tightest))


def subgroup_gap(values: Floats, engagement: Floats) -> float:
    """Mean over the more ``engaged`` sessions minus the mean over the others.

    NaN values are left out; NaN where a group has no other.
    """
    high = engaged(engagement)
    if high.shape != np.shape(values):
        raise InvalidInput("values", f"must have one entry per session {high.shape}", np.shape(values))
    return _average(values[high]) - _average(values[~high])


def engaged(engagement: Floats) -> Any:
    """Which sessions count as more engaged: those above the median; those at the median where it is the largest value.

    Refuses values that are not finite, and equal engagement everywhere: then there are no two groups.
    """
    if not np.isfinite(engagement).all():
        raise InvalidInput("engagement", "must be finite", where=int(np.argmin(np.isfinite(engagement))))
    middle = np.median(engagement)
    high = engagement > middle if (engagement > middle).any() else engagement >= middle
    if high.all():
        raise InvalidInput("engagement", "must differ between sessions", float(engagement[0]))
    return high


def _average(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else float("nan")


@dataclass(frozen=True, slots=True)
class Alignment:
    """Do two probes agree over paired sessions: Pearson's r, Spearman's rho, share of equal signs (0 is a sign of its own).

    Scope: none.
    """

    pairs: int
    pearson: float
    spearman: float
    sign: float


def probe_alignment(telemetry: Any, utility: Any) -> Alignment:
    """Between paired differences of the telemetry probe and of the utility probe; pairs with a missing value are left out.

    Correlations are NaN where one side is constant.
    """
    one, two = (np.asarray(v, np.float64) for v in (telemetry, utility))
    if one.shape != two.shape or one.ndim != 1:
        raise InvalidInput("utility", f"must have one value per value of telemetry {one.shape}", two.shape)
    there = ~(np.isnan(one) | np.isnan(two))
    one, two = one[there], two[there]
    if one.size < 2:
        raise InvalidInput("telemetry", "must have at least two pairs without a missing value", one.size)
    constant = one.min() == one.max() or two.min() == two.max()
    pearson, spearman = (np.nan, np.nan) if constant else (stats.pearsonr(one, two)[0], stats.spearmanr(one, two)[0])
    return Alignment(one.size, float(pearson), float(spearman), float((np.sign(one) == np.sign(two)).mean()))
