"""Verified updates beside the nominal ones: the private two-tower in the loop, with the ledger of what really ran.

Per tier, two modes. *Verified*: a raw state and raw difficulties still steer the selector, so the claim is conditional. *End to
end*: neutral state, no use of difficulties, released vectors and scores; the figure is that of the slates.

Scope: that of each row's ``regime``; differences against Adaptive are measurements on simulated people, not private outputs.
"""

from __future__ import annotations

import math
from dataclasses import replace

from slateproof import privacy as pv
from slateproof.experiments.core import Row
from slateproof.experiments.loop_runs import Loop
from slateproof.experiments.loop_stats import delta, delta_columns
from slateproof.simulate import MODES, TIERS, Mode, Tier, between, mode
from slateproof.simulate.modes import PRIVATE
from slateproof.simulate.scope import scope_of

__all__ = ["DELTA", "METRICS", "PRIVATE_MODES", "described", "private_rows", "up"]

DELTA = 1e-5
METRICS = ("correctness", "utility_probe", "uptake", "attempts_per_round")

PRIVATE_MODES = (
    ("nominal", "adaptive-{tier}", "Adaptive, nominal tier"),
    ("verified", "adaptive-dp", "Adaptive-DP, verified"),
    ("end-to-end", "end-to-end-private", "end-to-end private"),
)
"""Kind, base mode, and how it is called."""

TRAINED = Mode("adaptive-dp-still", learner=PRIVATE, updates=False)
"""The private learner without live updates: what its training alone costs."""


def private_rows(loop: Loop, resamples: int) -> list[Row]:
    """Nominal, verified and end-to-end for every tier, and the trained learner by itself, against Adaptive."""
    rows = [_row(loop, "trained", "-", "private learner, no live update", TRAINED, resamples)]
    for tier in TIERS:
        for kind, base, title in PRIVATE_MODES:
            one = mode(base.format(tier=tier))
            if kind != "nominal":
                one = replace(one, name=f"{base}-{tier}", tier=tier)
            rows.append(_row(loop, kind, tier, title, one, resamples))
    return rows


def _row(loop: Loop, kind: str, tier: str, title: str, one: Mode, resamples: int) -> Row:
    rounds, reference = loop.rounds(one), MODES["adaptive"]
    ledger = rounds.ledger
    scope = scope_of(one, ledger)
    after, before = loop.metrics(one), loop.metrics(reference)
    found = {metric: delta(metric, after, before, resamples) for metric in METRICS}
    row: Row = {"label": "private", "corpus": loop.corpus.label, "paper_corpus": loop.paper, "kind": kind, "mode": one.name}
    row |= {"policy": title, "tier": tier, "sessions": rounds.sessions}
    row |= described(TIERS[tier], rounds.rounds) if tier in TIERS else dict.fromkeys(DESCRIBED)
    row |= {
        "ran_epsilon": None if ledger is None or ledger.non_private else ledger.epsilon(DELTA),
        "releases": 0 if ledger is None else len(ledger),
        "regime": scope.regime,
        "claim": scope.epsilon,
        "unprotected": ", ".join(scope.unprotected),
        "overlap": float(between(rounds, loop.rounds(reference))["jaccard"].mean()),
    }
    return row | delta_columns(found)


DESCRIBED = ("noise", "label_epsilon", "poisson_epsilon", "live_epsilon", "user_epsilon")


def described(tier: Tier, updates: int) -> Row:
    """What is said of a tier: the paper's label; PLD of the mechanism that it describes, were rounds Poisson sampled; of the one
    that runs in the loop, every live round in one release; and of a user with a round in every release."""
    sampled, live, user = pv.Ledger(), pv.Ledger(), pv.Ledger(unit="user")
    sampled.record_poisson_gaussian(sampling_rate=tier.rate, noise_multiplier=tier.noise, count=updates)
    for step in range(updates):
        live.record_streaming(noise_multiplier=tier.noise, span=(step, step + 1))
    user.record_gaussian(noise_multiplier=tier.noise, count=updates)
    label = pv.nominal_label(sampling_rate=tier.rate, noise_multiplier=tier.noise, steps=updates, delta=DELTA)
    epsilons = (label, *(one.epsilon(DELTA) for one in (sampled, live, user)))
    return dict(zip(DESCRIBED, (tier.noise, *epsilons), strict=True))


def up(value: float | None, digits: int = 3) -> float | None:
    """A budget for print, rounded up: never smaller than the computed one (noise behind the ninth digit does not count)."""
    return None if value is None else math.ceil(round(value * 10.0**digits, 9)) / 10.0**digits
