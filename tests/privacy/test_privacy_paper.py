"""The two statements about selection and its traces, each by name: figures by hand, and what ends them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

import slateproof as sp
from slateproof import privacy as pv
from slateproof.errors import InvalidInput

DELTA = 1e-5
NOISE = 4.0
CLEAN = {"candidates": pv.public(), "targets": pv.public(), "similarity": pv.public(), "widths": pv.public(), "state": pv.public()}
PRIVATE = {**CLEAN, "scores": pv.dp_output(), "shown": pv.dp_output()}


def one_release() -> pv.Ledger:
    ledger = pv.Ledger()
    ledger.record_gaussian(noise_multiplier=NOISE)
    return ledger


def gaussian_delta(epsilon: float) -> float:
    """The exact delta of one Gaussian release of sensitivity 1 (Balle and Wang, 2018)."""
    half = 1.0 / (2.0 * NOISE)
    return float(ndtr(half - epsilon * NOISE) - math.exp(epsilon + log_ndtr(-half - epsilon * NOISE)))


def gaussian_epsilon(delta: float) -> float:
    """By bisection: delta falls with epsilon."""
    low, high = 0.0, 20.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gaussian_delta(middle) > delta else (low, middle)
    return high


def test_lemma_post_processing_privacy_spends_what_the_learner_spent():
    """Selection from released scores and public side information: the budget is the release's, by the closed form."""
    scope = pv.assess(PRIVATE, one_release(), delta=DELTA)
    exact = gaussian_epsilon(DELTA)
    assert scope.regime == "end-to-end"
    assert exact <= scope.epsilon <= exact + 1e-3
    assert scope.delta == DELTA


@pytest.mark.parametrize(("epsilons", "deltas"), [((0.25,), (1e-7,)), ((0.25, 0.5), (1e-7, 2e-6))])
def test_lemma_post_processing_privacy_composes_auxiliary_outputs(epsilons, deltas):
    """Inputs with budgets (eps_j, delta_j) of their own: epsilons add, deltas add."""
    names = ("state", "targets")
    extra = {name: pv.accounted(e, d) for name, e, d in zip(names, epsilons, deltas, strict=False)}
    scope = pv.assess(PRIVATE | extra, one_release(), delta=DELTA)
    assert scope.regime == "end-to-end"
    assert scope.epsilon == pytest.approx(gaussian_epsilon(DELTA) + sum(epsilons), abs=1e-3)
    assert scope.epsilon >= gaussian_epsilon(DELTA) + sum(epsilons)
    assert scope.delta == pytest.approx(DELTA + sum(deltas), rel=1e-12)


def test_lemma_post_processing_privacy_is_conditional_on_conditioned_inputs():
    scope = pv.assess(PRIVATE | {"state": pv.conditioned()}, one_release(), delta=DELTA)
    assert scope.regime == "conditional"
    # The memory remembers slates that read the state, so it is left out too.
    assert scope.unprotected == ("state", "shown")
    assert scope.epsilon == pytest.approx(gaussian_epsilon(DELTA), abs=1e-3)


def test_lemma_post_processing_privacy_needs_a_release_and_every_input():
    assert pv.assess(PRIVATE, None, delta=DELTA).regime == "conditional"
    assert pv.assess(PRIVATE, None, delta=DELTA).epsilon is None
    for name in PRIVATE:
        rest = {other: kind for other, kind in PRIVATE.items() if other != name}
        with pytest.raises(InvalidInput, match=f"inputs.{name}: must be declared"):
            pv.assess(rest, one_release(), delta=DELTA)


def rounds(scores):
    """Slates and traces from released scores and fixed side information; the memory is made of earlier slates alone."""
    rng = np.random.default_rng(0)
    catalog = sp.Catalog(range(12), rng.random(12), vectors=sp.unit(rng.normal(size=(12, 3))))
    selector, shown, out = sp.GreedySelector(), (), []
    for row in scores:
        slate = selector.select(catalog.pool(range(12), row), sp.Levers(0.1, 0.2, 0.3, 3), sp.State(shown=shown))
        shown = (*shown, *slate.ids)
        out.append((slate.ids, slate.trace.to_dict()))
    return out


def test_corollary_audit_trace_privacy_traces_are_functions_of_the_releases():
    """h_z(L(D)): the same releases give the same slates and traces, to the last bit, whatever data they came from."""
    released = np.random.default_rng(1).normal(size=(4, 12))
    assert rounds(released) == rounds(released.copy())
    other = released.copy()
    other[0, 0] = math.nextafter(other[0, 0], 9.0)
    slates, traces = zip(*rounds(released), strict=True)
    changed_slates, changed_traces = zip(*rounds(other), strict=True)
    # Only what was released can be read from a trace: one changed bit of it is the one difference.
    assert slates == changed_slates
    assert traces[0] != changed_traces[0]
    assert traces[1:] == changed_traces[1:]


def test_corollary_audit_trace_privacy_spends_nothing_more():
    """The verdict is about slates and traces alike: every input of it stands in the trace, and no figure is added for that."""
    scope = pv.assess(PRIVATE, one_release(), delta=DELTA)
    assert scope.unprotected == ()
    assert not any("in clear" in note for note in scope.notes)
    assert scope.epsilon == one_release().epsilon(DELTA)


@pytest.mark.parametrize("kind", [pv.conditioned(), pv.non_private()])
def test_corollary_audit_trace_privacy_does_not_cover_raw_inputs(kind):
    scope = pv.assess(PRIVATE | {"state": kind}, one_release(), delta=DELTA)
    assert scope.regime != "end-to-end"
    assert any(note.startswith("traces hold state, shown in clear") for note in scope.notes)


def test_corollary_audit_trace_privacy_ends_with_a_non_private_anchor():
    """No figure at all, for slates and for traces, at record level or at user level, whatever else is private."""
    scope = pv.assess(PRIVATE | {"anchor": pv.non_private()}, one_release(), delta=DELTA, max_rounds_per_user=3)
    assert (scope.regime, scope.epsilon, scope.delta, scope.user_level) == ("anchored", None, None, None)
    assert any("traces hold" in note and "anchor" in note for note in scope.notes)
    # A public anchor costs nothing.
    assert pv.assess(PRIVATE | {"anchor": pv.public()}, one_release(), delta=DELTA).regime == "end-to-end"
