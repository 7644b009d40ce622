"""Selector formulas against examples worked out by hand from the paper, and LinUCB's rule as a special case."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slateproof as sp
from slateproof.select import linucb


def test_lever_map_by_hand() -> None:
    """e = .6, u = .8: alpha = .475 + .96*.3 - .64*.1 = .699; lambda = .25 + .8*.1 = .33; K = floor(5*1.04 + .5) = 5;
    Delta = .1*1.16 = .116."""
    levers = sp.LeverMap.preset("oulad")(sp.State(engagement=0.6, uncertainty=0.8))
    assert levers.exploration == pytest.approx(0.699, abs=1e-15)
    assert levers.diversity == pytest.approx(0.33, abs=1e-15)
    assert levers.size == 5
    assert levers.target_shift == pytest.approx(0.116, abs=1e-15)


def test_lever_map_at_the_corners_is_clipped() -> None:
    """e = 1, u = 0: alpha = .475 - .48 - .32 < .05; lambda = .65 > .60; K = floor(6.5) = 6; Delta = .14.
    e = 0, u = 1: alpha = .475 + .48 + .32 > .90; lambda = -.15 < .05; K = floor(4.5) = 4; Delta = .08."""
    lever_map = sp.LeverMap.preset("ednet")
    eager = lever_map(sp.State(engagement=1.0, uncertainty=0.0))
    assert (eager.exploration, eager.diversity, eager.size) == (0.05, 0.60, 6)
    assert eager.target_shift == pytest.approx(0.14)
    tired = lever_map(sp.State(engagement=0.0, uncertainty=1.0))
    assert (tired.exploration, tired.diversity, tired.size) == (0.90, 0.05, 4)
    assert tired.target_shift == pytest.approx(0.08)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8), st.sampled_from(["oulad", "ednet"]))
def test_lever_columns_equal_the_scalar_map(states: list[tuple[float, float]], name: str) -> None:
    lever_map = sp.LeverMap.preset(name)
    columns = lever_map.columns(np.array([e for e, _ in states]), np.array([u for _, u in states]))
    for b, (e, u) in enumerate(states):
        levers = lever_map(sp.State(engagement=e, uncertainty=u))
        assert [columns[n][b] for n in ("target_shift", "exploration", "diversity", "size")] == [
            levers.target_shift,
            levers.exploration,
            levers.diversity,
            levers.size,
        ]


def test_size_rounds_half_up() -> None:
    """floor(x + 1/2): 2.5 becomes 3, not the even 2."""
    constants = {
        **sp.LeverMap.preset("oulad").to_dict(),
        "size_base": 2.5,
        "bounds": sp.LeverBounds(size=(1, 9)),
        "size_adapts": False,
    }
    assert sp.LeverMap(**constants)(sp.State()).size == 3


@pytest.mark.parametrize("through_json", [False, True])
def test_a_lever_map_comes_back_from_its_constants(through_json: bool) -> None:
    for whole in (sp.LeverMap.preset("ednet"), replace(sp.LeverMap.preset("oulad"), size_adapts=False)):
        told = json.loads(json.dumps(whole.to_dict())) if through_json else whole.to_dict()
        again = sp.LeverMap(**told)
        assert again == whole
        assert again(sp.State(0.3, 0.9, 0.2)) == whole(sp.State(0.3, 0.9, 0.2))
    with pytest.raises(sp.InvalidInput, match="bounds: has no such lever"):
        sp.LeverMap(**{**whole.to_dict(), "bounds": {"speed": (0, 1)}})


def test_greedy_by_hand() -> None:
    """m = .5 + .1 = .6, w = .3, eta = .2, alpha = 1, lambda = .5, nu = .1, a and b alike, a shown before.

    prox: a .6 -> 1; b .9 -> 1 - .09/.09 = 0; c .45 -> 1 - .0225/.09 = .75.
    shaped: a 1 + .2 + 0 = 1.2; b 1.3 + 0 + .1 = 1.4; c .2 + .15 + .2 = .55.
    First step, (1-lambda) shaped + nu: a .6 (shown), b .8, c .375. So b, margin .2.
    Second: a .6 - .5*1 = .1; c .275 - .5*0 + .1 = .375. So c, margin .275.
    """
    similarity = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    pool = sp.Pool(["a", "b", "c"], [1.0, 1.3, 0.2], [0.6, 0.9, 0.45], [0.0, 0.1, 0.2], similarity=similarity)
    slate = sp.GreedySelector(0.2, 0.3, 0.1).select(pool, sp.Levers(0.1, 1.0, 0.5, 2), sp.State(shown=("a",)))
    assert slate.target == pytest.approx(0.6)
    assert slate.ids == ("b", "c")
    assert slate.margins == pytest.approx([0.2, 0.275], abs=1e-12)
    assert slate.margin == slate.margins.min()
    reasons = slate.explain().reasons
    assert reasons[0].runner_up is not None
    assert (reasons[0].chosen.id, reasons[0].runner_up.id) == ("b", "a")
    assert reasons[1].chosen.novelty_bonus == 0.1
    assert reasons[1].chosen.target_bonus == pytest.approx(0.5 * 0.2 * 0.75)
    assert reasons[1].runner_up is not None
    assert reasons[1].runner_up.diversity_penalty == pytest.approx(0.5)


def test_mean_dissimilarity_by_hand() -> None:
    """After x and y (alike to z by 1 and 0), z pays the mean .5 under "mean" and 1 under "max"."""
    similarity = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    pool = sp.Pool(["x", "y", "z"], [3.0, 2.0, 1.0], similarity=similarity)
    levers = sp.Levers(diversity=0.5, size=3)
    for kind, third in (("max", 0.5 * 1.0 - 0.5 * 1.0), ("mean", 0.5 * 1.0 - 0.5 * 0.5)):
        slate = sp.GreedySelector(0.0, 0.3, 0.0, kind).select(pool, levers)
        assert slate.ids == ("x", "y", "z")
        assert slate.steps.chosen_objective[2] == third
        assert slate.margins[2] == np.inf


def test_jaccard_tags_by_hand() -> None:
    """{1,2} and {2,3}: one common of three."""
    pool = sp.Pool(["p", "q"], [2.0, 1.0], tags=[{1, 2}, {2, 3}])
    slate = sp.GreedySelector(0.0, 0.3, 0.0).select(pool, sp.Levers(diversity=0.5, size=2))
    assert slate.steps.chosen_similarity[1] == 1 / 3


def test_terms_switched_off_are_the_component_removals() -> None:
    """Each term alone decides: with only that term on, the item it favours wins."""
    pool = sp.Pool(["near", "wide", "new"], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0])
    state = sp.State(shown=("near", "wide"))
    assert sp.GreedySelector(1.0, 0.3, 0.0).select(pool, sp.Levers(size=1), state).ids == ("near",)
    assert sp.GreedySelector(0.0, 0.3, 0.0).select(pool, sp.Levers(exploration=1.0, size=1), state).ids == ("wide",)
    assert sp.GreedySelector(0.0, 0.3, 1.0).select(pool, sp.Levers(size=1), state).ids == ("new",)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 12))
@settings(max_examples=60)
def test_linucb_is_recovered(seed: int, d: int, n: int) -> None:
    """Proposition "LinUCB recovery": a textbook LinUCB run on a random linear problem, action by action.

    Everything off but exploration, K = 1, widths ||x||_{A^-1}, scores x' theta-hat.
    """
    rng = np.random.default_rng(seed)
    theta, alpha = rng.normal(size=d), 1.5
    a, b = np.eye(d), np.zeros(d)
    selector = sp.GreedySelector(target_gain=0.0, novelty=0.0)
    for _ in range(15):
        arms = rng.normal(size=(n, d))
        inverse = np.linalg.inv(a)
        mean, width = arms @ inverse @ b, np.sqrt(np.einsum("ij,jk,ik->i", arms, inverse, arms))
        textbook = int(np.argmax(mean + alpha * width))
        slate = selector.select(sp.Pool(range(n), mean, widths=width), sp.Levers(exploration=alpha, size=1))
        assert slate.indices.tolist() == [textbook]
        assert linucb(slate.pool, alpha) == slate
        x = arms[textbook]
        a += np.outer(x, x)
        b += x * (x @ theta + rng.normal(scale=0.1))


def test_linucb_needs_its_widths() -> None:
    with pytest.raises(sp.InvalidInput, match="widths: the proposition assumes LinUCB's posterior widths"):
        linucb(sp.Pool([1, 2], [0.1, 0.2]), 1.0)


def test_a_slate_shows_itself() -> None:
    pool = sp.Pool(["a", "<b>"], [1.0, 0.5], [0.5, 0.4])
    slate = sp.GreedySelector().select(pool, sp.Levers(size=2))
    assert repr(slate).startswith("Slate(['a', '<b>'], margin=")
    text = slate.explain().to_text()
    assert "1." in text
    assert "over" in text
    html = slate._repr_html_()
    assert "<table" in html
    assert "&lt;b&gt;" in html
    assert "<svg" in slate.explain().to_svg()
    table = slate.explain().to_arrow()
    assert table["id"].to_pylist() == ["a", "<b>"]
    parts = table["score"][0].as_py() + table["target_bonus"][0].as_py() + table["novelty_bonus"][0].as_py()
    assert parts == pytest.approx(table["objective"][0].as_py())


def test_the_trace_holds_the_whole_tuple() -> None:
    pool = sp.Pool(["b", "a"], [1.0, 0.5], [0.5, 0.4], [0.1, 0.2], vectors=[[1.0, 0.0], [0.0, 1.0]])
    trace = sp.GreedySelector().select(pool, sp.Levers(0.1, 0.2, 0.3, 2), sp.State(shown=("a",))).trace
    told = trace.to_dict()
    assert told["candidates"] == ["a", "b"]
    assert told["scores"] == [0.5, 1.0]
    assert told["chosen"] == ["b", "a"]
    assert told["runners_up"] == ["a", None]
    assert told["margins"][1] is None
    assert told["similarities"] == [[0.0], []]
    for name in ("levers", "state", "shown", "target", "rule", "tie_rule", "shaped", "targets", "widths"):
        assert told[name] is not None
