"""Every named mode passes the conformance suite; what sets each apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mode_conformance import ModeConformance
from world import CONSTANTS, MadeUp, plan, played, scorer, whole, world

from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Context
from slateproof.simulate import MODES, TIERS, VARIANTS, Mode, mode, response_model
from slateproof.types import Levers, State

NEURAL = ("dkt", "sakt")
LATER = (*NEURAL, *(f"{base}-{tier}" for base in ("adaptive", "adaptive-als") for tier in ("standard", "strong")))
"""Learners that take long to fit, and tiers that differ from "locked" in one number."""
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LATER else name for name in (*MODES, *VARIANTS)]


class TestEveryMode(ModeConformance):
    @pytest.fixture(params=NAMES, scope="class", autouse=True)
    @classmethod
    def prepared(cls, request: pytest.FixtureRequest) -> None:
        cls.mode, cls.world = mode(request.param), world()
        cls.plan, cls.rounds = plan(cls.world), whole(request.param)


def test_the_modes_of_the_paper_are_eleven_and_differ() -> None:
    assert len(MODES) == 11
    names = [name for name in (*MODES, *VARIANTS) if name not in NEURAL]
    slates = {name: str(whole(name).table["slate"].to_pylist()) for name in names}
    assert len(set(slates.values())) == len(names)


def test_scpo_keeps_every_item_in_the_window_and_the_others_do_not() -> None:
    assert whole("adaptive-scpo").column("in_window").all()
    assert not whole("adaptive").column("in_window").all()


def test_als_is_its_scorer_s_top_five() -> None:
    rounds, who = whole("als"), plan(world())
    anchor = scorer("mf-bce")
    half = np.full(len(who.sessions), 0.5)
    context = Context(who.users, half, half, half)
    for t in (0, 5):
        scores = anchor.score(anchor.begin(context, 0), context, who.pools[t]).scores
        for s in range(len(who.sessions)):
            order = sorted(range(scores.shape[1]), key=lambda j: (-scores[s, j], j))[:5]
            assert rounds.rectangle("item", -1)[s, t].tolist() == [int(who.pools[t, s, j]) for j in order]


def test_greedy_target_shows_the_items_nearest_to_the_target() -> None:
    rounds, where, who = whole("greedy-target"), world(), plan(world())
    for row, (s, t) in zip(rounds.table.to_pylist(), np.ndindex(len(who.sessions), who.rounds), strict=True):
        away = sorted(np.abs(where.difficulty[who.pools[t, s]] - row["target"]).tolist())
        # Beyond the window all are equally far; inside, the nearest win.
        first = min(sum(x < 0.3 for x in away), row["size"])
        assert sorted(abs(float(where.difficulty[code]) - row["target"]) for code in row["item"])[:first] == away[:first]


def test_noise_is_scaled_by_the_adaptive_share_and_none_reaches_the_anchor() -> None:
    where, who = world(), plan(world(), copies=2)
    weights = (0.0, 0.5, 0.75, 1.0)
    taus = []
    for weight in weights:
        one = replace(MODES["adaptive-als"], name="x", anchor_weight=weight, score_noise=0.1)
        taus.append(played(one, where, who).column("tau").mean())
    assert taus == sorted(taus)
    assert taus[-1] == 1.0
    assert taus[0] < 0.9
    assert "tau" not in whole("adaptive").table.column_names


def test_an_anchor_without_weight_changes_nothing() -> None:
    where, who = world(), plan(world())
    bare = MODES["adaptive"]
    anchored = played(replace(bare, anchor="mf-bce"), where, who).table
    plain = played(bare, where, who).table
    # Standardising and putting back rounds in the last places: the slates are the same.
    assert anchored["slate"].equals(plain["slate"])


def test_only_learning_modes_learn() -> None:
    """Frozen updates: the margins of a session then depend on its past only through the state."""
    where, who = world(), plan(world())
    frozen = played(replace(MODES["adaptive"], updates=False), where, who)
    assert not frozen.table["margin"].equals(whole("adaptive").table["margin"])
    assert frozen.table["margin"].slice(0, 1).equals(whole("adaptive").table["margin"].slice(0, 1))


def test_tiers_disturb_by_their_noise() -> None:
    """More noise, further from the undisturbed session; equal before the first update."""
    plain = whole("adaptive").table["margin"].to_numpy().reshape(-1, 8)
    apart = []
    for tier in TIERS:
        other = whole(f"adaptive-{tier}").table["margin"].to_numpy().reshape(-1, 8)
        assert np.array_equal(plain[:, 0], other[:, 0])
        apart.append(np.abs(other - plain).mean())
    assert apart[0] > 0.0


def test_open_loop_modes_do_not_look() -> None:
    for name in ("fixed", "end-to-end-private"):
        for column in ("knowledge", "engagement", "uncertainty"):
            assert set(whole(name).column(column).ravel()) == {0.5}


def test_a_private_mode_records_every_release_once() -> None:
    for name in ("adaptive-dp", "end-to-end-private"):
        ledger = whole(name).ledger
        assert ledger is not None
        live = [one for one in ledger.releases if getattr(one, "stream", "") == "live rounds"]
        sessions, rounds = whole(name).sessions, whole(name).rounds
        assert [(one.start, one.stop, one.count, one.noise_multiplier) for one in live] == [(0, sessions * rounds, rounds, 3.0)]
        assert len(ledger) == rounds + 3  # and those of the training
    assert whole("adaptive").ledger is None
    assert len(scorer("private-two-tower").ledger) == 3  # the scorer's own is not written to


def test_end_to_end_slates_depend_on_responses_through_the_noisy_gradient_alone() -> None:
    """Plant: other people, the same noise. Until the first update slates agree; people who never answer leave pure noise."""

    where = world()
    keen, idle = (
        plan(where, models={"irt": response_model("irt", attempt_base=base)}) for base in (50.0, -50.0)
    )  # fmt: skip
    one = mode("end-to-end-private")
    a, b = (played(one, where, who).rectangle("item", -1) for who in (keen, idle))
    assert np.array_equal(a[:, 0], b[:, 0])
    assert not np.array_equal(a, b)
    off = replace(one, tier=None, verified=False)
    c, e = (played(off, where, who).rectangle("item", -1) for who in (keen, idle))
    assert np.array_equal(c, e)  # without updates nothing that people do reaches a slate


def test_slates_are_those_of_the_scalar_selector() -> None:
    """The batch against ``select`` one by one, for each kind of selector."""

    where, who = world(), plan(world(), rounds=3)
    made = MadeUp(seed=4)
    for name in ("adaptive", "adaptive-scpo", "als"):
        one = replace(mode(name), name="x", learner="made-up", anchor=None)
        rounds = played(one, where, who, {"made-up": made})
        past: list[list[str]] = [[] for _ in who.sessions]
        for t in range(3):
            half = np.full(len(who.sessions), 0.5)
            scores = made.score(t if one.updates else 0, Context(who.users, half, half, half), who.pools[t])
            for s in range(len(who.sessions)):
                row = rounds.session(s).slice(t, 1).to_pylist()[0]
                levers = Levers(row["target_shift"], row["exploration"], row["diversity"], row["size"])
                state = State(row["knowledge"], row["engagement"], row["uncertainty"], tuple(past[s]))
                widths = np.maximum(CONSTANTS.width_floor, scores.widths[s])
                ids = [where.catalog.ids[c] for c in who.pools[t, s]]
                pool = where.catalog.pool(ids, scores.scores[s], widths=widths)
                slate = one.operator(CONSTANTS).select(pool, levers, state)
                assert list(slate.ids) == row["slate"]
                past[s] += row["slate"]


def test_constant_levers_obey_component_removal() -> None:
    """The slates are those of levers that are 0 from the start, and the columns say so."""
    where, who = world(), plan(world())
    levers = Levers(target_shift=0.1, exploration=0.5, diversity=0.6, size=5)
    made = {"made-up": MadeUp()}
    full = Mode("x", learner="made-up", levers=levers)
    for term in ("exploration", "diversity"):
        removed = played(replace(full, removed=frozenset({term})), where, who, made)
        zero = played(replace(full, levers=replace(levers, **{term: 0.0})), where, who, made)
        assert removed.table.equals(zero.table)
        assert not removed.column(term).any()
        assert not removed.table["slate"].equals(played(full, where, who, made).table["slate"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "a/b"}, "modes.name: must be letters"),
        ({"selector": "random"}, "modes.selector: must be one of greedy, window, top-k"),
        ({"anchor_weight": 1.5}, r"modes.anchor_weight: must lie in \[0, 1\] \(got 1.5\)"),
        ({"anchor_weight": 0.5}, "modes.anchor: must be named where there is an anchor_weight"),
        ({"score_noise": float("nan")}, "modes.score_noise"),
        ({"novelty": -1.0}, r"modes.novelty: must be at least 0 \(got -1.0\)"),
        ({"removed": frozenset({"noise"})}, "modes.removed: must be among target, exploration, diversity, size"),
        (
            {"selector": "top-k", "removed": frozenset({"diversity"})},
            "modes.removed: must be empty or size: top-k has no other term",
        ),
        ({"tier": "none"}, "modes.tier: must be one of standard, strong, locked"),
        ({"tier": "locked", "updates": False}, "modes.tier: disturbs updates, and this mode makes none"),
        ({"verified": True}, "modes.verified: needs a tier and the learner private-two-tower"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Mode(**({"name": "x"} | wrong))  # type: ignore[arg-type]


def test_unknown_modes_and_impossible_tiers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="modes: must be among adaptive, als-selector"):
        mode("adaptve")
    with pytest.raises(InvalidInput, match=r"modes.tier: needs the two-tower: .* \(got 'linucb'\)"):
        played(Mode("x", learner="linucb", tier="locked"), world(), plan(world()))
