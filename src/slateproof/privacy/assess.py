"""The verdict: from declared statuses and the ledger to the regime and the composed budget ("Privacy Scope", Lemma postproc).

Scope: decides the scope; true as far as the declarations are true and the ledger holds everything that ran.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.privacy.accountants import ADD_OR_REMOVE
from slateproof.privacy.events import whole
from slateproof.privacy.ledger import Ledger, check_delta
from slateproof.privacy.lines import INPUTS, better, meaning
from slateproof.privacy.scope import Regime, Scope
from slateproof.privacy.status import Status, status
from slateproof.privacy.users import UserLevel, user_level

__all__ = ["assess"]


def assess(inputs: Mapping[str, Any], ledger: Ledger | None, delta: float = 1e-5, max_rounds_per_user: int | None = None) -> Scope:
    """What the pipeline may claim, of its slates and of their traces.

    Lemma "Post-processing privacy for decoupled selection": a deterministic selector that reads releases, public inputs and inputs
    with budgets of their own spends what those spent together. Corollary "Audit trace privacy": so do the traces. A conditioned
    input makes both conditional; a non-private anchor leaves no figure for either.

    ``inputs`` gives a status (or what a policy file holds, see ``status``) to each of ``scores``, ``candidates``, ``targets``,
    ``similarity``, ``widths``, ``state``, ``shown``, and to ``anchor`` where there is one. An input that is left out is refused
    by name, because silence must not improve a verdict; only a missing ``anchor`` means that none is used. ``ledger`` holds the
    releases that ran (None: none did); ``delta`` is the one at which it is read.

    1. A non-private input, or a non-private release in the ledger: "anchored", no figure.
    2. Else a conditioned input: "conditional". The figure leaves the conditioned inputs out.
    3. Else "end-to-end".

    Four declarations are not taken at their word. ``dp-output`` counts as conditioned while no release is recorded, as
    conditioned too where a release read other protected records as they are (``Ledger.conditions``), and as non-private when the
    ledger has a non-private one. ``shown`` as ``dp-output`` counts as whatever the weakest other input is, because it remembers
    slates that read it.

    The figure is the ledger's at ``delta``, plus the budget of every accounted input (basic composition: epsilons add, deltas
    add). With ``max_rounds_per_user`` it is also lifted to the user; the cap must have been enforced (``cap_contributions``).
    A ledger whose unit is the user needs no lift.

    Scope: see ``Scope``.
    """
    declared = _declared(inputs)
    delta = check_delta(delta)
    cap = None if max_rounds_per_user is None else whole(max_rounds_per_user, "max_rounds_per_user")
    ledger = Ledger() if ledger is None else ledger
    if not isinstance(ledger, Ledger):
        raise InvalidInput("ledger", "must be a Ledger or None", type(ledger).__name__)
    counted, because = _counted(declared, ledger)
    unprotected = tuple(name for name, kind in counted.items() if kind in ("conditioned", "non-private"))
    regime = _regime(counted, ledger)
    budget = _budget(declared, ledger, delta, regime)
    epsilon, total = (None, None) if budget is None else budget
    lifted = None if budget is None else _lift(budget, ledger, cap)
    return Scope(
        regime=regime,
        epsilon=epsilon,
        delta=total,
        user_level=lifted,
        unit=ledger.unit,
        neighbouring=ledger.neighbouring,
        inputs=tuple(declared.items()),
        unprotected=unprotected,
        because=because,
        improve=_improve(regime, declared, counted, ledger),
        notes=_notes(declared, unprotected, ledger, total, lifted, cap),
        releases=tuple(str(one) for one in ledger.releases),
        ledger_digest=ledger.digest if len(ledger) else None,
        conditions=ledger.conditions,
    )


def _declared(inputs: Mapping[str, Any]) -> dict[str, Status]:
    """Every input with its status, in the order of ``INPUTS``."""
    if not isinstance(inputs, Mapping):
        raise InvalidInput("inputs", "must be a table from input to status", inputs)
    for name in inputs:
        if name not in INPUTS:
            raise InvalidInput("inputs", f"is not an input of the selector ({', '.join(INPUTS)})", name)
    for name in INPUTS:
        if name not in inputs and name != "anchor":
            raise InvalidInput(f"inputs.{name}", "must be declared: an undeclared input supports no claim")
    declared = {}
    for name in INPUTS:
        if name in inputs:
            try:
                declared[name] = status(inputs[name])
            except InvalidInput as why:
                raise InvalidInput(f"inputs.{name}.{why.field}", why.rule, why.value) from why
    return declared


def _counted(declared: Mapping[str, Status], ledger: Ledger) -> tuple[dict[str, str], tuple[str, ...]]:
    """What every input counts as, and the line that says why."""
    counted: dict[str, str] = {}
    lines: dict[str, str] = {}
    for name, one in declared.items():
        counted[name], lines[name] = one.kind, meaning(name, one)
        if one.kind == "dp-output" and ledger.non_private is not None:
            counted[name] = "non-private"
            lines[name] = f"{name}: declared dp-output, but the ledger has a NON-PRIVATE release ({ledger.non_private})"
        elif one.kind == "dp-output" and not len(ledger):
            counted[name] = "conditioned"
            lines[name] = f"{name}: declared dp-output, but no release is recorded; counts as conditioned until a ledger shows one"
        elif one.kind == "dp-output" and ledger.conditions:
            counted[name] = "conditioned"
            lines[name] = (
                f"{name}: declared dp-output, but the ledger's releases read {', '.join(ledger.conditions)} of other protected "
                "records as they are; counts as conditioned"
            )
    if counted["shown"] == "dp-output":
        for weak in ("non-private", "conditioned"):
            names = [name for name, kind in counted.items() if kind == weak]
            if names:
                counted["shown"] = weak
                lines["shown"] = f"shown: declared dp-output, but earlier slates read {', '.join(names)}; counts as {weak}"
                break
    return counted, tuple(lines.values())


def _regime(counted: Mapping[str, str], ledger: Ledger) -> Regime:
    if ledger.non_private is not None or "non-private" in counted.values():
        return "anchored"
    return "conditional" if "conditioned" in counted.values() else "end-to-end"


def _budget(declared: Mapping[str, Status], ledger: Ledger, delta: float, regime: Regime) -> tuple[float, float] | None:
    """The composed budget, or None where there is no claim or nothing private that it could be about."""
    budgets = [(one.epsilon, one.delta) for one in declared.values() if one.kind == "accounted"]
    if regime == "anchored" or (regime == "conditional" and not budgets and not len(ledger)):
        return None
    if len(ledger):
        spent = ledger.epsilon(delta)
        if not math.isfinite(spent):
            raise InvalidInput("delta", "is so small that the accountant finds no finite epsilon", delta)
        budgets.append((spent, delta))
    epsilon = math.fsum(one for one, _ in budgets)
    return epsilon, min(1.0, math.fsum(one for _, one in budgets))


def _lift(budget: tuple[float, float], ledger: Ledger, cap: int | None) -> UserLevel | None:
    if ledger.unit == "user":
        return UserLevel(*budget, None)
    return None if cap is None else user_level(epsilon=budget[0], delta=budget[1], max_rounds_per_user=cap)


def _improve(regime: Regime, declared: Mapping[str, Status], counted: Mapping[str, str], ledger: Ledger) -> tuple[str, ...]:
    """What the next better regime needs: first whatever ends the claim, and only without it whatever conditions it."""
    weak = {"anchored": "non-private", "conditional": "conditioned"}.get(regime)
    lines = []
    resting = [name for name, kind in counted.items() if kind == weak and declared[name].kind == "dp-output"]
    missing = resting if not len(ledger) else []
    if ledger.non_private is not None:
        lines.append("ledger: train again with the noise on and a new ledger; a non-private release cannot be taken back")
    if resting and regime == "conditional" and ledger.conditions:
        lines.append(f"ledger: train so that no release reads {', '.join(ledger.conditions)} of other records (side inputs fixed)")
    for name in sorted((one for one, kind in counted.items() if kind == weak), key=lambda one: one == "shown"):
        if declared[name].kind != "dp-output":
            lines.append(better(name))
        elif name == "shown" and len(ledger) and ledger.non_private is None:
            lines.append("shown: follows from the others, once every earlier slate was made that way")
    if missing:
        lines.append(f"ledger: hand over that of the run that made {', '.join(missing)}")
    return tuple(lines)


def _notes(
    declared: Mapping[str, Status],
    unprotected: tuple[str, ...],
    ledger: Ledger,
    total: float | None,
    lifted: UserLevel | None,
    cap: int | None,
) -> tuple[str, ...]:
    notes = []
    if unprotected:
        notes.append(f"traces hold {', '.join(unprotected)} in clear: keep them as you keep the protected data")
    if total is not None and ledger.conditions:
        notes.append(f"the ledger's epsilon holds with {', '.join(ledger.conditions)} of other protected records held fixed")
    if any(one.kind == "accounted" for one in declared.values()):
        notes.append(f"accounted budgets are added as declared: they must be per {ledger.unit}, {ledger.neighbouring}")
    if ledger.neighbouring != ADD_OR_REMOVE:
        notes.append("replace-one figures do not compare with the usual add-or-remove-one figures")
    if total is not None and ledger.population is not None and total > 1.0 / ledger.population:
        notes.append(f"delta {total:g} is above 1/population ({1.0 / ledger.population:g}): it allows publishing a {ledger.unit}")
    if lifted is not None and lifted.max_rounds_per_user is not None and ledger.neighbouring != ADD_OR_REMOVE:
        notes.append(
            f"the user-level figure is for up to {lifted.max_rounds_per_user} rounds of a user replaced one by one; it says "
            "nothing about a user who is added or removed"
        )
    if lifted is not None and lifted.max_rounds_per_user is not None and lifted.delta > 1e-3:
        notes.append(
            f"the lifted delta {lifted.delta:.3g} promises next to nothing: see user_level_at, or clip and sample whole users"
        )
    if cap is not None and ledger.unit == "user":
        notes.append("the cap is not needed for the user-level figure: the unit of the ledger is the user")
    if total is not None:
        notes.append("what users see on screen and what they answer is outside the claim")
    return tuple(notes)
