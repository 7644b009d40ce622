"""`docs/ledger.md`: the tables of the `ledger` experiment as Markdown, every bound rounded up.

Scope: none; presentation of figures about described mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["markdown", "number", "up"]

_ROUND_HEADS = ("tier", "q", "σ", "T", "printed", "formula", "PLD", "RDP", "single use")
_USER_HEADS = ("tier", "T", "no cap", "lemma: ε", "lemma: δ", "group", "user as unit", "single use")


def markdown(table: Sequence[Mapping[str, Any]], noise: Sequence[Mapping[str, float]], rounds_per_user: int = 20) -> str:
    """Both tables as Markdown; every bound and every noise multiplier is rounded up to three digits, labels to four.

    ``rounds_per_user`` is the one that both were made with.
    """
    goals = list(table[0]["noise_for"]) if table else []
    rounds = _table(_ROUND_HEADS, (_round_cells(one) for one in table))
    users = _table(_USER_HEADS, (_user_cells(one) for one in table))
    distinct = {(one["sampling_rate"], one["updates"]): one for one in table}.values()
    heads = ("q", "T", *(f"ε = {goal:g}" for goal in goals))
    sampled = _table(
        heads, ((f"{one['sampling_rate']:g}", str(one["updates"]), *map(up, one["noise_for"].values())) for one in distinct)
    )
    plain = _table(
        ("target ε", "per round", "per user"), ((f"{one['epsilon']:g}", up(one["round"]), up(one["user"])) for one in noise)
    )
    delta = number(table[0]["delta"] if table else 1e-5)
    return _PAGE.format(rounds=rounds, users=users, sampled=sampled, plain=plain, delta=delta, cap=rounds_per_user)


def _round_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    rate, noise = f"{row['sampling_rate']:.3f}", f"{row['noise_multiplier']:.1f}"
    label = f"{row['label_formula']:.4f}"
    bounds = (up(row[name]) for name in ("pld", "rdp", "streaming"))
    return (row["tier"], rate, noise, str(row["updates"]), row["label_printed"] or "-", label, *bounds)


def _user_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    figures = (up(row[name]) for name in ("user_lift_epsilon", "user_lift_delta", "user_group", "user_direct", "user_streaming"))
    return (row["tier"], str(row["updates"]), "none", *figures)


def number(value: float) -> str:
    """1e-5, not 1e-05."""
    mantissa, _, exponent = f"{value:g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def up(value: float) -> str:
    """Three significant digits, rounded up; 0 and infinity as they are."""
    if value == 0.0 or math.isinf(value):
        return "∞" if value else "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step) * step:#.3g}"


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * len(heads)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *lines))


_PAGE = """# The privacy ledger of the paper's tiers

Made by (about a minute):

```
python -c "from slateproof.experiments import ledger as x; print(x.markdown(x.rows(), x.noise_rows()), end='')" > docs/ledger.md
```

`slateproof reproduce ledger` gives the same rows as JSON, CSV and LaTeX, a figure, and a verdict on every printed label.

δ = {delta}, add-or-remove-one. Bounds and noise multipliers are rounded up to three digits. The mechanisms are taken as
described; the paper says itself that its artifact establishes neither sampler, nor population, nor clipping of whole rounds,
so **no figure here is a guarantee about a model of the paper**.

## One round as the protected unit

*printed*: the label in the paper. *formula*: q√(2T ln(1/δ))/σ + Tq²/σ², which reproduces it and is **not a bound**. *PLD*,
*RDP*: upper bounds, if T updates run on fresh Poisson samples of rounds at rate q, and each round's gradient is clipped as
one. *single use*: each round is used in one update, when it arrives: nothing is sampled, so nothing is amplified, and T does
not matter.

{rounds}

For the standard tier the printed label is below what the mechanism costs (0.36 against 0.530 at T = 20; PLD rounded the other
way, as a lower bound, gives 0.5289); for the other tiers it is above. A formula that errs in both directions bounds nothing.
The labels 0.04857 and 0.154 of the 200-seed tables belong to σ = 2.8, although the tier is stated with 3.0.

## One user as the protected unit, {cap} rounds each

*no cap*: without an enforced cap there is no figure. *lemma*: (Bε, δ(e^(Bε) - 1)/(e^ε - 1)) with B = {cap} on the PLD column; a
δ near 1 promises nothing. *group*: the same cap, accounted for {cap} rounds at once at δ = {delta} (a binomial mixture of
Gaussians). *user as unit*: users are sampled at rate q, and all that a user contributes to an update is clipped as one; no cap
is needed, but the same noise now stands against one clipped user, not one clipped round. *single use*: {cap} releases without
sampling, at most one round of the user in each; should two of them share a release, this figure does not hold.

{users}

## Noise needed

Noise multiplier with Poisson sampling at rate q over T updates, for a target ε of the sampled unit:

{sampled}

Without sampling: a round in one release (*per round*); a user in {cap} releases, one round in each (*per user*):

{plain}
"""
