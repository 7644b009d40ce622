"""One scale, an anchor mixed in, disturbed updates, and what a mode may claim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from world import MadeUp, scorer, whole

from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Context, Feedback
from slateproof.privacy import Ledger
from slateproof.select import preset
from slateproof.simulate import MODES, Mode, mode, scoring_of
from slateproof.simulate.draws import Draws, session_key
from slateproof.simulate.modes import TIERS, VARIANTS
from slateproof.simulate.scope import scope_of
from slateproof.types import Levers

ITEMS = np.arange(24).reshape(2, 12)


def context() -> Context:
    half = np.full(2, 0.5)
    return Context(np.array([3, 4]), half, half, half)


@dataclass(frozen=True)
class Logits(MadeUp):
    scale: str = "logit"


def test_logits_become_probabilities_and_other_scores_stay() -> None:
    made = MadeUp(seed=1)
    raw = made.score(0, context(), ITEMS).scores
    for one, expected in ((made, raw), (Logits(seed=1), 1.0 / (1.0 + np.exp(-raw)))):
        scoring = scoring_of(Mode("x", learner="m"), {"m": one})
        assert scoring.score(scoring.begin(context(), 0), context(), ITEMS).scores == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", ["two-tower", "private-two-tower", "mf-bce", "bkt"])
def test_scores_of_the_learners_are_on_the_unit_scale(name: str) -> None:
    scoring = scoring_of(Mode("x", learner=name), {name: scorer(name)})
    scores = scoring.score(scoring.begin(context(), 0), context(), ITEMS).scores
    assert scores.min() >= 0.0
    assert scores.max() <= 1.0


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.75, 1.0])
def test_the_mix_is_the_documented_one(weight: float) -> None:
    """In plain Python, one session at a time."""
    parts = {"a": MadeUp(seed=1), "b": MadeUp(seed=2)}
    one = Mode("x", learner="a", anchor="b", anchor_weight=weight)
    scoring = scoring_of(one, parts)
    found = scoring.score(scoring.begin(context(), 0), context(), ITEMS)
    own, anchor = (parts[n].score(0, context(), ITEMS) for n in ("a", "b"))
    assert own.widths is not None
    assert found.widths is not None
    for s in range(2):

        def z(row: Any) -> Any:
            mean = sum(row) / len(row)
            sd = (sum((x - mean) ** 2 for x in row) / len(row)) ** 0.5
            return [(x - mean) / sd for x in row], mean, sd

        (za, mean, sd), (zb, _, _) = z(own.scores[s].tolist()), z(anchor.scores[s].tolist())
        mixed = [mean + sd * (weight * b + (1.0 - weight) * a) for a, b in zip(za, zb, strict=True)]
        assert found.scores[s] == pytest.approx(mixed, abs=1e-12)
        assert found.widths[s] == pytest.approx((1.0 - weight) * own.widths[s])
    assert np.array_equal(found.own, own.widths)


def feedback() -> Feedback:
    tried = np.ones((2, 5), bool)
    return Feedback(ITEMS[:, :5], tried, tried)


def moved(one: Mode, draws: Draws, t: int = 0) -> Any:
    """(offset, level) of the two sessions after a round, as one matrix."""
    scoring = scoring_of(one, {one.learner: scorer(one.learner)})  # type: ignore[arg-type,dict-item]
    before = scoring.begin(context(), 0)
    keys = np.array([session_key("one"), session_key("two")], np.uint64)
    after = scoring.update(before, context(), feedback(), draws, keys, t).adaptive
    return np.column_stack([np.asarray(after.offset, np.float64), np.asarray(after.level, np.float64)]), after, scoring


def test_a_tier_clips_the_round_and_adds_its_noise() -> None:
    """Over many seeds: the mean step is the clipped gradient, its deviation rate * sigma * C in every coordinate."""
    rate = scorer("two-tower").online.rate
    for name, tier in TIERS.items():
        steps = np.array([moved(mode(f"adaptive-{name}"), Draws(seed))[0] for seed in range(200)])
        clean = moved(mode("adaptive"), Draws(0))[0] / rate
        norm = np.linalg.norm(clean, axis=1, keepdims=True)
        assert (norm > tier.clip).all()
        expected = rate * clean * tier.clip / norm
        deviation = rate * tier.noise * tier.clip
        count = steps[0].size
        z = (steps.mean(axis=0) - expected) / (deviation / np.sqrt(200))
        assert abs((z**2).sum() - count) < 5 * np.sqrt(2 * count)
        assert steps.std(axis=0).mean() == pytest.approx(deviation, rel=0.05)


def test_a_verified_update_moves_nothing_but_the_noisy_gradient() -> None:
    _, after, scoring = moved(mode("adaptive-dp"), Draws(3))
    before = scoring.begin(context(), 0).adaptive
    for name in ("past", "signs", "last", "rounds"):
        assert np.array_equal(np.asarray(getattr(before, name)), np.asarray(getattr(after, name))), name
    assert not np.array_equal(np.asarray(before.offset), np.asarray(after.offset))
    nominal = moved(replace(mode("adaptive-locked"), learner="two-tower"), Draws(3))[1]
    assert np.asarray(nominal.past).max() >= 0  # a nominal tier keeps the raw history


def test_verified_updates_need_a_ledger() -> None:
    with pytest.raises(InvalidInput, match=r"modes\.verified: needs a learner with a ledger"):
        scoring_of(mode("adaptive-dp"), {"private-two-tower": scorer("two-tower")})


REGIMES = {
    "adaptive": "anchored",
    "adaptive-als": "anchored",
    "als": "anchored",
    "fixed": "anchored",
    "greedy-target": "conditional",
    "adaptive-dp": "conditional",
    "end-to-end-private": "end-to-end",
}


@pytest.mark.parametrize(("name", "regime"), REGIMES.items())
def test_what_a_mode_may_claim(name: str, regime: str) -> None:
    scope = scope_of(mode(name), whole(name).ledger)
    assert scope.regime == regime
    if regime == "end-to-end":
        ledger = whole(name).ledger
        assert ledger is not None
        alone = Ledger()
        alone.record_gaussian(noise_multiplier=TIERS["locked"].noise)
        # More than one release of the live stream, the training being in it; not more than both, composed.
        assert scope.epsilon == ledger.epsilon(1e-5)
        assert scope.epsilon > alone.epsilon(1e-5)


def test_one_raw_input_ends_the_end_to_end_claim() -> None:
    ledger, one = whole("end-to-end-private").ledger, mode("end-to-end-private")
    assert scope_of(one, ledger).regime == "end-to-end"
    assert scope_of(replace(one, open_loop=False), ledger).regime == "conditional"
    assert scope_of(replace(one, removed=frozenset()), ledger).regime == "conditional"
    assert scope_of(replace(one, selector="window"), ledger).regime == "conditional"
    assert scope_of(replace(one, anchor="mf-bce", anchor_weight=0.5), ledger).regime == "anchored"
    assert scope_of(one, None).regime == "anchored"
    assert scope_of(MODES["greedy-target"], None, tags=True).regime == "conditional"


def test_a_removed_term_counts_in_the_verdict_as_it_acts_in_the_loop() -> None:
    """Constant levers: the claim that similarities are not read is made exactly where diversity is off when slates are picked."""
    levers = Levers(target_shift=0.1, exploration=0.0, diversity=0.4, size=5)
    half = np.full(3, 0.5)
    for one, acts in (
        (Mode("x", learner=None, levers=levers), True),
        (Mode("x", learner=None, levers=levers, removed=frozenset({"diversity"})), False),
        (Mode("x", learner=None, levers=replace(levers, diversity=0.0)), False),
        (Mode("x", learner=None), True),
        (Mode("x", learner=None, removed=frozenset({"diversity"})), False),
        (Mode("x", learner=None, selector="top-k"), False),
    ):
        assert one.compares is acts
        assert scope_of(one, None).regime == ("anchored" if acts else "conditional")
        if one.selector != "top-k":
            assert bool(one.lever_columns(preset("oulad"), half, half).diversity.any()) is acts


def test_every_variant_is_named_after_its_base() -> None:
    assert set(VARIANTS) == {
        *(f"adaptive-no-{term}" for term in ("target", "exploration", "diversity", "size")),
        *(f"{base}-{what}" for base in ("adaptive", "adaptive-als") for what in ("noise", "standard", "strong", "locked")),
        "adaptive-dp",
        "end-to-end-private",
    }  # fmt: skip
