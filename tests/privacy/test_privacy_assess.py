"""The verdict against an independent truth table over every combination of statuses, and its monotonicity."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof import privacy as pv
from slateproof.errors import InvalidInput

NAMES = ("scores", "candidates", "targets", "similarity", "widths", "state", "shown", "anchor")
KINDS = ("public", "dp-output", "accounted", "conditioned", "non-private")
RANK = {"end-to-end": 0, "conditional": 1, "anchored": 2}
BUDGET = (0.25, 1e-7)
DELTA = 1e-5


def of(kind: str) -> pv.Status:
    return pv.accounted(*BUDGET) if kind == "accounted" else pv.status(kind)


def ran() -> pv.Ledger:
    ledger = pv.Ledger()
    ledger.record_gaussian(noise_multiplier=5.0)
    return ledger


def broken() -> pv.Ledger:
    ledger = ran()
    ledger.record_non_private("noise off")
    return ledger


def read_others() -> pv.Ledger:
    """A release whose gradients read other rounds as they are."""
    ledger = pv.Ledger()
    ledger.record_gaussian(noise_multiplier=5.0, given=("history", "state"))
    return ledger


RAN, EMPTY, BROKEN, GIVEN = ran(), pv.Ledger(), broken(), read_others()
LEDGERS = {"ran": RAN, "empty": EMPTY, "broken": BROKEN, "given": GIVEN}
SPENT = RAN.epsilon(DELTA)


def truth(kinds: dict[str, str], ledger: str) -> tuple[str, float | None, set[str]]:
    """Restated from the paper's definition, with sets: (regime, epsilon, unprotected)."""
    present = set(kinds.values())
    bad = {"non-private"} | ({"dp-output"} if ledger == "broken" else set())
    soft = {"conditioned"} | ({"dp-output"} if ledger in ("empty", "given") else set())
    open_inputs = {name for name, kind in kinds.items() if kind in bad | soft}
    if open_inputs and kinds["shown"] == "dp-output":
        open_inputs.add("shown")
    extra = sum(BUDGET[0] for kind in kinds.values() if kind == "accounted")
    if ledger == "broken" or present & bad:
        return "anchored", None, open_inputs
    spent = SPENT if ledger in ("ran", "given") else 0.0
    if present & soft:
        return "conditional", None if ledger == "empty" and "accounted" not in present else spent + extra, open_inputs
    return "end-to-end", spent + extra, open_inputs


def test_every_combination_agrees_with_the_truth_table() -> None:
    """The verdict treats seven inputs alike, so 5^4 combinations over four places, `shown` among them, meet every case twice."""
    places = ("scores", "state", "shown", "anchor")
    seen = set()
    for kinds in itertools.product(KINDS, repeat=4):
        chosen = dict.fromkeys(NAMES, "public") | dict(zip(places, kinds, strict=True))
        for name, ledger in LEDGERS.items():
            scope = pv.assess({key: of(kind) for key, kind in chosen.items()}, ledger)
            regime, epsilon, unprotected = truth(chosen, name)
            assert (scope.regime, set(scope.unprotected)) == (regime, unprotected), (chosen, name)
            assert scope.epsilon == (None if epsilon is None else pytest.approx(epsilon, rel=1e-12)), (chosen, name)
            assert (scope.epsilon is None) == (scope.delta is None)
            seen.add((regime, name, epsilon is None))
    assert len(seen) == 11  # every regime under every ledger that allows it, conditional without a figure included


@pytest.mark.slow
@pytest.mark.parametrize("name", LEDGERS)
def test_all_eight_inputs_in_every_combination_agree_with_the_truth_table(name: str) -> None:
    """5^8 = 390,625 of them per ledger: nothing rests on the inputs being alike."""
    statuses = {kind: of(kind) for kind in KINDS}
    for kinds in itertools.product(KINDS, repeat=len(NAMES)):
        chosen = dict(zip(NAMES, kinds, strict=True))
        scope = pv.assess({key: statuses[kind] for key, kind in chosen.items()}, LEDGERS[name])
        regime, epsilon, unprotected = truth(chosen, name)
        assert (scope.regime, set(scope.unprotected)) == (regime, unprotected), chosen
        assert scope.epsilon is None if epsilon is None else abs(scope.epsilon - epsilon) <= 1e-12 * epsilon, chosen


assignments = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from(KINDS)))


@settings(max_examples=300)
@given(assignments, st.sampled_from(list(LEDGERS)))
def test_all_eight_inputs_agree_with_the_truth_table(kinds: dict[str, str], name: str) -> None:
    scope = pv.assess({key: of(kind) for key, kind in kinds.items()}, LEDGERS[name], max_rounds_per_user=3)
    regime, epsilon, unprotected = truth(kinds, name)
    assert (scope.regime, set(scope.unprotected)) == (regime, unprotected)
    assert scope.epsilon == (None if epsilon is None else pytest.approx(epsilon, rel=1e-12))
    assert (scope.user_level is None) == (scope.epsilon is None)
    assert len(scope.because) == 8
    assert all(line.startswith(f"{key}: ") for key, line in zip(NAMES, scope.because, strict=True))
    assert bool(scope.improve) == (scope.regime != "end-to-end")


def strength(kind: str, ledger: str) -> int:
    """Place in the order from strong to weak: `dp-output` is worth what the ledger makes of it."""
    if kind == "dp-output" and ledger != "ran":
        kind = {"empty": "conditioned", "given": "conditioned", "broken": "non-private"}[ledger]
    return KINDS.index(kind)


def cost(scope: pv.Scope) -> float:
    """Epsilon as a cost: no claim costs everything, and a conditional scope without any private release spends nothing."""
    if scope.epsilon is None:
        return math.inf if scope.regime == "anchored" else 0.0
    return scope.epsilon


@settings(max_examples=500)
@given(assignments, st.sampled_from(NAMES), st.sampled_from(KINDS), st.sampled_from(["ran", "ran", "given", "empty", "broken"]))
def test_weakening_never_improves_a_verdict(kinds: dict[str, str], name: str, other: str, which: str) -> None:
    ledger = LEDGERS[which]
    strong, weak = sorted((kinds[name], other), key=lambda kind: strength(kind, which))
    before = pv.assess({key: of(kind) for key, kind in {**kinds, name: strong}.items()}, ledger)
    after = pv.assess({key: of(kind) for key, kind in {**kinds, name: weak}.items()}, ledger)
    assert RANK[after.regime] >= RANK[before.regime]
    assert set(after.unprotected) >= set(before.unprotected)
    if set(after.unprotected) == set(before.unprotected):
        assert cost(after) >= cost(before)


def inputs(**changed: object) -> dict[str, object]:
    strong = {"scores": "dp-output", "candidates": "public", "targets": "public", "similarity": "public"}
    return {**strong, "widths": "dp-output", "state": "public", "shown": "dp-output", **changed}


def test_budgets_add_up_and_come_in_policy_form() -> None:
    scope = pv.assess(inputs(state={"status": "accounted", "epsilon": 1.0, "delta": 1e-6}, targets=pv.accounted(0.5, 2e-6)), RAN)
    assert scope.regime == "end-to-end"
    assert scope.epsilon == pytest.approx(SPENT + 1.5)
    assert scope.delta == pytest.approx(1.3e-5)
    assert any("added as declared" in note for note in scope.notes)


def test_only_the_anchor_may_be_left_out() -> None:
    assert pv.assess(inputs(), RAN).regime == "end-to-end"
    for name in NAMES[:-1]:
        partial = {key: value for key, value in inputs().items() if key != name}
        with pytest.raises(InvalidInput, match="must be declared") as caught:
            pv.assess(partial, RAN)
        assert caught.value.field == f"inputs.{name}"


@pytest.mark.parametrize(
    ("given_", "field"),
    [
        (inputs(levers="public"), "inputs"),
        ("public", "inputs"),
        (inputs(scores="private"), "inputs.scores.status"),
        (inputs(state={"status": "accounted", "epsilon": -1.0, "delta": 0.0}), "inputs.state.epsilon"),
    ],
)
def test_bad_inputs_are_refused_by_name(given_: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pv.assess(given_, RAN)
    assert caught.value.field == field


@pytest.mark.parametrize("ledger", [{}, "ledger.json", [RAN]])
def test_a_ledger_that_is_none_is_refused_by_name(ledger: object) -> None:
    with pytest.raises(InvalidInput, match="must be a Ledger or None") as caught:
        pv.assess(inputs(), ledger)  # type: ignore[arg-type]
    assert caught.value.field == "ledger"


def test_a_ledger_that_read_other_rounds_supports_no_end_to_end_claim() -> None:
    """The case of docs/privacy.md: state accounted, targets public, scores by a learner that read raw states of other rounds."""
    declared = inputs(state=pv.accounted(1.0, 1e-6))
    assert pv.assess(declared, RAN).regime == "end-to-end"
    scope = pv.assess(declared, GIVEN)
    assert (scope.regime, scope.unprotected, scope.conditions) == (
        "conditional",
        ("scores", "widths", "shown"),
        ("history", "state"),
    )
    assert scope.epsilon == pytest.approx(SPENT + 1.0)
    assert "read history, state of other protected records" in scope.because[0]
    assert scope.improve == (
        "ledger: train so that no release reads history, state of other records (side inputs fixed)",
        "shown: follows from the others, once every earlier slate was made that way",
    )
    assert any("held fixed" in note for note in scope.notes)
    assert scope.to_dict()["conditions"] == ["history", "state"]
    assert "conditions" not in pv.assess(declared, RAN).to_dict()
    with_anchor = pv.assess({**declared, "anchor": "non-private"}, GIVEN).to_text()
    assert "next better regime (conditional)" in with_anchor


def test_a_condition_survives_json_and_merging() -> None:
    for ledger in (pv.Ledger.from_dict(json.loads(json.dumps(GIVEN.to_dict()))), RAN.merge(GIVEN), GIVEN.merge(RAN)):
        assert ledger.conditions == ("history", "state")
        assert pv.assess(inputs(), ledger).regime == "conditional"


def test_bad_delta_and_cap_are_refused_even_where_nothing_is_computed() -> None:
    everything = dict.fromkeys(NAMES, "non-private")
    for kwargs, field in (({"delta": 0.0}, "delta"), ({"max_rounds_per_user": 0}, "max_rounds_per_user")):
        with pytest.raises(InvalidInput) as caught:
            pv.assess(everything, None, **kwargs)  # type: ignore[arg-type]
        assert caught.value.field == field


def test_a_delta_beyond_the_accountant_is_refused_not_printed_as_infinity() -> None:
    ledger = pv.Ledger()
    ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=1.2, count=20)
    assert ledger.epsilon(1e-40) == math.inf
    with pytest.raises(InvalidInput, match="no finite epsilon") as caught:
        pv.assess(inputs(), ledger, delta=1e-40)
    assert caught.value.field == "delta"


def test_without_a_ledger_dp_output_is_a_word() -> None:
    scope = pv.assess(inputs(), None)
    assert (scope.regime, scope.epsilon, scope.user_level) == ("conditional", None, None)
    assert "no release is recorded" in scope.because[0]
    assert scope.improve == ("ledger: hand over that of the run that made scores, widths, shown",)
    assert "no figure" in scope.to_text()


def test_nothing_protected_is_read_and_nothing_ran() -> None:
    scope = pv.assess(dict.fromkeys(NAMES, "public"), None)
    assert (scope.regime, scope.epsilon, scope.delta, scope.ledger_digest) == ("end-to-end", 0.0, 0.0, None)


def test_the_memory_is_as_weak_as_what_earlier_slates_read() -> None:
    scope = pv.assess(inputs(targets="conditioned"), RAN)
    assert scope.unprotected == ("targets", "shown")
    assert "earlier slates read targets" in scope.because[6]
    anchored = pv.assess(inputs(targets="conditioned", anchor="non-private"), RAN)
    assert "counts as non-private" in anchored.because[6]
    assert not any(line.startswith("targets") for line in anchored.improve)


def test_a_cap_lifts_and_a_user_ledger_does_not_need_one() -> None:
    lifted = pv.assess(inputs(), RAN, max_rounds_per_user=20).user_level
    assert lifted == pv.user_level(epsilon=SPENT, delta=DELTA, max_rounds_per_user=20)
    assert pv.assess(inputs(), RAN).user_level is None
    user = pv.Ledger(unit="user")
    user.record_gaussian(noise_multiplier=5.0)
    scope = pv.assess(inputs(), user, max_rounds_per_user=20)
    assert scope.user_level == pv.UserLevel(SPENT, DELTA, None)
    assert any("the cap is not needed" in note for note in scope.notes)


def test_a_lift_over_replaced_rounds_says_what_it_is_not_about() -> None:
    ledger = pv.Ledger(neighbouring="replace-one")
    ledger.record_gaussian(noise_multiplier=5.0)
    note = "it says nothing about a user who is added or removed"
    assert any(note in line for line in pv.assess(inputs(), ledger, max_rounds_per_user=2).notes)
    assert not any(note in line for line in pv.assess(inputs(), RAN, max_rounds_per_user=2).notes)


def test_text_says_what_is_left_out_and_rounds_up() -> None:
    conditional = pv.assess(inputs(state="conditioned"), RAN).to_text()
    assert "only given state, shown, which it does not protect" in conditional
    assert "under the same condition" in pv.assess(inputs(state="conditioned"), RAN, max_rounds_per_user=2).to_text()
    assert "traces hold state, shown in clear" in conditional
    strong = pv.assess(inputs(), RAN, max_rounds_per_user=2).to_text()
    assert "same condition" not in strong
    assert "in clear" not in strong
    anchored = pv.assess(inputs(anchor="non-private"), RAN, max_rounds_per_user=2).to_text()
    assert "no differential privacy claim" in anchored
    assert "ε =" not in anchored
    printed = float(pv.assess(inputs(), RAN).to_text().split("ε = ")[1].split(",")[0])
    assert SPENT <= printed < SPENT * 1.001
    assert "δ = 1e-05)" in strong


def test_a_void_lift_is_not_printed_as_a_figure() -> None:
    ledger = pv.Ledger(population=10)
    ledger.record_gaussian(noise_multiplier=1.0)
    with pytest.warns(UserWarning, match="1/population"):
        scope = pv.assess(inputs(), ledger, delta=0.2, max_rounds_per_user=20)
    assert "User level  none: lifted over 20 rounds, delta reaches 1" in scope.to_text()
    assert any("above 1/population" in note for note in scope.notes)


def test_a_scope_is_frozen_and_json_safe() -> None:
    scope = pv.assess(inputs(state=pv.accounted(1.0, 0.0)), RAN, max_rounds_per_user=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scope.regime = "end-to-end"  # type: ignore[misc]
    again = json.loads(json.dumps(scope.to_dict(), allow_nan=False))
    assert again["epsilon"] == scope.epsilon
    assert again["ledger"] == RAN.digest
    assert pv.assess(again["inputs"], RAN, max_rounds_per_user=2) == scope
