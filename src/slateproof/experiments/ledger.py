"""The `ledger` experiment: the paper's epsilon labels beside what the same configurations cost, were they run as described.

Every figure is a pure function of (q, σ, T, δ): there is no data and no randomness in it.

Scope: figures about described mechanisms. None is a claim about a model: that comes from a ledger of releases that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slateproof import privacy as pv
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.ledger_page import markdown, number, up
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge

__all__ = ["DELTA", "EXPERIMENT", "TIERS", "LedgerTable", "Tier", "markdown", "noise_rows", "result", "rows", "run"]

LABEL = "tab:dp-hyperparams-app"

DELTA = 1e-5
UPDATES = (8, 20, 50, 80)
TARGETS = (1.0, 3.0, 8.0)
ROUNDS_PER_USER = 20


@dataclass(frozen=True, slots=True)
class Tier:
    """A nominal configuration of the paper and the labels that it prints, by number of updates."""

    name: str
    sampling_rate: float
    noise_multiplier: float
    printed: Mapping[int, str]


TIERS = (
    Tier("standard", 0.020, 1.2, {8: "0.2284", 20: "0.36", 50: "0.58", 80: "0.738"}),
    Tier("strong", 0.015, 2.0, {8: "0.1022", 20: "0.16", 50: "0.26", 80: "0.326"}),
    Tier("locked", 0.010, 3.0, {20: "0.07", 50: "0.11"}),
    # The 200-seed tables call this one eps_02 (T = 8) and Locked (T = 80); their labels fit σ = 2.8, not the stated 3.0.
    Tier("locked, 200-seed tables", 0.010, 2.8, {8: "0.04857", 80: "0.154"}),
)


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """Numbers of updates, target epsilons, delta, and the rounds of a user."""

    updates: tuple[int, ...] = UPDATES
    targets: tuple[float, ...] = TARGETS
    delta: float = DELTA
    rounds_per_user: int = ROUNDS_PER_USER


def run(task: Task) -> Result:
    """Every tier at every number of updates; no corpus and no seed is read."""
    config: LedgerTable = task.config
    total = len(TIERS) * len(config.updates)
    found = rows(
        config.updates, config.targets, config.delta, config.rounds_per_user, lambda done, what: task.progress(done, total, what)
    )
    return result(found, noise_rows(config.targets, config.delta, config.rounds_per_user), config.rounds_per_user)


def result(found: Sequence[Mapping[str, Any]], unsampled: Sequence[Row], rounds_per_user: int = ROUNDS_PER_USER) -> Result:
    """What is reported of ``rows`` and ``noise_rows``."""
    flat = tuple(_flat(row) for row in found)
    notes, tables = _notes(found, rounds_per_user), _tables(flat, unsampled, rounds_per_user)
    return Result(_summary(found), flat, _verdicts(found), notes, tables, (_figure(found, rounds_per_user),))


def rows(
    updates: Sequence[int] = UPDATES,
    targets: Sequence[float] = TARGETS,
    delta: float = DELTA,
    rounds_per_user: int = ROUNDS_PER_USER,
    tell: Callable[[int, str], None] = lambda done, what: None,
) -> list[dict[str, Any]]:
    """One row per tier and number of updates.

    ``pld`` and ``rdp``: per round, Poisson sampling at the tier's rate. ``streaming``: per round, every round in one release,
    no sampling. ``user_lift_*``: the lemma on ``pld`` over a cap of ``rounds_per_user``; ``user_group``: the same cap, accounted
    for the whole group at ``delta``; ``user_direct``: users clipped and sampled as the unit; ``user_streaming``: streaming, with
    at most one round of a user in a release and ``rounds_per_user`` releases; ``user_uncapped`` is None: without a cap there is
    no figure. ``noise_for``: per target epsilon, the noise multiplier that ``pld`` needs at this rate and number of updates.
    ``tell`` is called before each row with the number of finished ones.
    """
    needed: dict[tuple[float, int], dict[float, float]] = {}
    out: list[dict[str, Any]] = []
    for tier in TIERS:
        for steps in updates:
            tell(len(out), f"{tier.name}, T = {steps}")
            key = (tier.sampling_rate, steps)
            if key not in needed:
                needed[key] = {goal: pv.noise_for(epsilon=goal, delta=delta, steps=steps, sampling_rate=key[0]) for goal in targets}
            out.append({**_row(tier, steps, delta, rounds_per_user), "noise_for": needed[key]})
    return out


def _row(tier: Tier, steps: int, delta: float, rounds_per_user: int) -> dict[str, Any]:
    rate, noise = tier.sampling_rate, tier.noise_multiplier
    ledger, by_user, once, per_user = pv.Ledger(), pv.Ledger(unit="user"), pv.Ledger(), pv.Ledger(unit="user")
    for one in (ledger, by_user):
        one.record_poisson_gaussian(sampling_rate=rate, noise_multiplier=noise, count=steps)
    for step in range(steps):
        once.record_streaming(noise_multiplier=noise, span=(step, step + 1))
    per_user.record_gaussian(noise_multiplier=noise, count=rounds_per_user)
    pld = ledger.epsilon(delta)
    lifted = pv.user_level(epsilon=pld, delta=delta, max_rounds_per_user=rounds_per_user)
    return {
        "tier": tier.name,
        "sampling_rate": rate,
        "noise_multiplier": noise,
        "updates": steps,
        "delta": delta,
        "label_printed": tier.printed.get(steps),
        "label_formula": pv.nominal_label(sampling_rate=rate, noise_multiplier=noise, steps=steps, delta=delta),
        "pld": pld,
        "rdp": ledger.epsilon(delta, "rdp"),
        "streaming": once.epsilon(delta),
        "user_uncapped": None,
        "user_lift_epsilon": lifted.epsilon,
        "user_lift_delta": lifted.delta,
        "user_group": pv.user_level_at(ledger, delta=delta, max_rounds_per_user=rounds_per_user).epsilon,
        "user_direct": by_user.epsilon(delta),
        "user_streaming": per_user.epsilon(delta),
    }


def noise_rows(
    targets: Sequence[float] = TARGETS, delta: float = DELTA, rounds_per_user: int = ROUNDS_PER_USER
) -> list[dict[str, float]]:
    """Noise multiplier without sampling, per target: a round in one release, and a user in one release per round."""
    return [
        {
            "epsilon": goal,
            "round": pv.noise_for(epsilon=goal, delta=delta, steps=1, sampling_rate=None),
            "user": pv.noise_for(epsilon=goal, delta=delta, steps=rounds_per_user, sampling_rate=None),
        }
        for goal in targets
    ]


def _flat(row: Mapping[str, Any]) -> Row:
    """The row with one column per target."""
    needed = {f"noise_for_{goal:g}": noise for goal, noise in row["noise_for"].items()}
    return {**{key: value for key, value in row.items() if key != "noise_for"}, **needed}


def _verdicts(found: Sequence[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """Two for every printed label: as the value of its formula, and as what it is printed as, an epsilon."""
    by_cell = {(row["tier"], row["updates"]): row for row in found}
    verdicts = []
    for tier in TIERS:
        for steps, label in tier.printed.items():
            row = by_cell.get((tier.name, steps))
            why = None if row is not None else "the cell is not in a quick run"
            half = 0.5 * 10.0 ** -len(label.partition(".")[2])
            for name, what in (("label_formula", "label, by its formula"), ("pld", "label, as the ε of the tier (PLD)")):
                published = Published(
                    f"{tier.name}/{steps}/{name}",
                    _TABLES[steps],
                    f"{tier.name}, T={steps}: {what}",
                    float(label),
                    tolerance=half,
                    formula=name == "label_formula",
                )
                ours = Ours(None if row is None else row[name], why=why)
                verdicts.append(judge(published, ours, _CAUSE if name == "pld" else None))
    return tuple(verdicts)


_TABLES = {8: "tab:dp-sgd-tail-oulad-tiers", 20: LABEL, 50: LABEL, 80: "tab:dp-sgd-tail-oulad-steps"}
_CAUSE = "the formula behind the labels is no bound: below the truth for the standard tier, above it for the others"


def _summary(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Formula and truth by tier and number of updates, and how often the label is too small."""
    printed = [row for row in found if row["label_printed"] is not None]
    out: dict[str, Any] = {
        "labels_below_truth": sum(float(row["label_printed"]) < row["pld"] for row in printed),
        "labels_above_truth": sum(float(row["label_printed"]) > row["pld"] for row in printed),
    }
    names = {"label_formula": "label", "pld": "pld", "rdp": "rdp", "streaming": "streaming", "user_streaming": "user_streaming"}
    for row in found:
        if row["tier"] in _STATED:
            out |= {f"{name}_{row['tier']}_{row['updates']}": row[key] for key, name in names.items()}
    return out


_STATED = tuple(tier.name for tier in TIERS[:3])


def _notes(found: Sequence[Mapping[str, Any]], rounds_per_user: int) -> tuple[str, ...]:
    printed = [row for row in found if row["label_printed"] is not None]
    worst = max(printed, key=lambda row: row["pld"] / float(row["label_printed"]))
    below = [row for row in printed if float(row["label_printed"]) < row["pld"]]
    return (
        f"{len(below)} of {len(printed)} printed labels are below what the mechanism costs, even if it runs as described; worst "
        f"{worst['tier']} at T = {worst['updates']}: {worst['label_printed']} against {up(worst['pld'])}. The others are above.",
        f"A round that is used once, without sampling, costs {', '.join(up(row['streaming']) for row in _first(found))} (standard, "
        f"strong, locked), whatever T is; a user of {rounds_per_user} such rounds "
        f"{', '.join(up(row['user_streaming']) for row in _first(found))}; without a cap a user has no figure.",
        "No figure is a guarantee about a model of the paper: neither sampler, nor population, nor the clipping of whole rounds is "
        "established there.",
    )


def _first(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One row of each stated tier."""
    return [next(row for row in found if row["tier"] == name) for name in _STATED]


def _tables(flat: Sequence[Row], plain: Sequence[Row], rounds_per_user: int) -> tuple[Table, ...]:
    bounds = ("pld", "rdp", "streaming", "user_lift_epsilon", "user_lift_delta", "user_group", "user_direct", "user_streaming")
    needed = tuple(name for name in flat[0] if name.startswith("noise_for_"))
    shown = tuple({**row, **{name: up(row[name]) for name in (*bounds, *needed)}, "user_uncapped": "none"} for row in flat)
    heads = {
        "sampling_rate": "q", "noise_multiplier": "σ", "updates": "T", "label_printed": "printed", "label_formula": "formula",
        "pld": "PLD", "rdp": "RDP", "streaming": "single use", "user_uncapped": "no cap", "user_lift_epsilon": "lemma: ε",
        "user_lift_delta": "lemma: δ", "user_group": "group", "user_direct": "user as unit", "user_streaming": "single use",
        **{name: f"ε = {name.removeprefix('noise_for_')}" for name in needed},
    }  # fmt: skip
    tier = ("tier", "sampling_rate", "noise_multiplier", "updates")
    rounds = ("label_printed", "label_formula", *bounds[:3])
    unsampled = tuple({key: f"{value:g}" if key == "epsilon" else up(value) for key, value in row.items()} for row in plain)
    return (
        Table(
            "ledger-rounds",
            f"One round as the protected unit, δ = {number(flat[0]['delta'])}; bounds rounded up.",
            (*tier, *rounds),
            shown,
            heads,
        ),
        Table(
            "ledger-users",
            f"One user with {rounds_per_user} rounds as the protected unit; bounds rounded up.",
            ("tier", "updates", "user_uncapped", *bounds[3:]),
            shown,
            heads,
        ),
        Table("ledger-noise", "Noise multiplier needed, with sampling.", ("sampling_rate", "updates", *needed), shown, heads),
        Table("ledger-noise-unsampled", "Noise multiplier needed, without sampling.", ("epsilon", "round", "user"), unsampled),
    )


def _figure(found: Sequence[Mapping[str, Any]], rounds_per_user: int) -> Figure:
    lines = {"formula": "label_formula", "PLD": "pld", "RDP": "rdp", "single use": "streaming", "one user": "user_streaming"}
    panels = []
    for name in _STATED:
        mine = [row for row in found if row["tier"] == name]
        x = tuple(row["updates"] for row in mine)
        series = tuple(
            Series(label, x, tuple(row[key] for row in mine), "line", slot) for slot, (label, key) in enumerate(lines.items())
        )
        title = f"{name}: q = {mine[0]['sampling_rate']:g}, σ = {mine[0]['noise_multiplier']:g}"
        panels.append(Panel(title, "updates T", "ε", series, y_scale="log"))
    return Figure(
        "ledger",
        f"What the tiers cost, δ = {number(found[0]['delta'])}",
        "Three panels, one per tier, epsilon on a log scale against the number of updates: the formula of the label, PLD and RDP "
        f"bounds with sampling, a round used once, and one user over {rounds_per_user} such rounds. The formula is below PLD for "
        "the standard tier and above it for the others; single use and users lie far above all of them.",
        tuple(panels),
        3,
    )


EXPERIMENT = Experiment(
    name="ledger",
    title="What the privacy labels cost",
    question="What do the nominal configurations cost, were they run as described, per round and per user?",
    labels=(LABEL,),
    full=LedgerTable(),
    quick=LedgerTable(updates=(20,), targets=(3.0,)),
    run=run,
)
