"""DKT and SAKT: conformance, formulas in plain NumPy, windows, what a session remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
from conformance import LearnerConformance

from slateproof import corpora, learn
from slateproof.errors import InvalidInput
from slateproof.learn.bkt import skills
from slateproof.learn.dkt import DKT
from slateproof.learn.protocol import Context, Feedback
from slateproof.learn.sakt import SAKT
from slateproof.learn.sequence_data import Windows, batches_of, grouped, longest, windows_of
from slateproof.learn.sequence_train import Training, mean_loss, next_answers, train_network

CORPUS = corpora.demo()
SMALL: dict[str, dict[str, Any]] = {
    "dkt": {"width": 12, "epochs": 2, "window": 24},
    "sakt": {"width": 12, "epochs": 2, "window": 24, "heads": 3},
}
"""One configuration of each, so that the code compiles once."""
MADE: dict[str, Any] = {"dkt": DKT, "sakt": SAKT}


@pytest.fixture(scope="module", params=["dkt", "sakt"])
def fitted(request: pytest.FixtureRequest) -> Any:
    return MADE[request.param](**SMALL[request.param]).fit(CORPUS, seed=3)


class TestDKT(LearnerConformance):
    exact = False

    def make(self) -> Any:
        return DKT(**SMALL["dkt"])


class TestSAKT(LearnerConformance):
    exact = False

    def make(self) -> Any:
        return SAKT(**SMALL["sakt"])


def lively(learner: Any, window: int = 9) -> Any:
    """A network of random parameters, the zeros of a fresh one included: nothing is hidden by a zero."""
    skill, count = skills(CORPUS)
    network = learner.network(skill, count, window, jax.random.key(1))
    rng = np.random.default_rng(5)

    def shaken(leaf: Any) -> Any:
        return leaf + rng.normal(0.0, 0.3, leaf.shape).astype(np.float32) if eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(shaken, network)


def answers(count: int, seed: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, len(CORPUS.items), count).astype(np.int32), (rng.random(count) < 0.6).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def dkt_by_hand(network: Any, items: Any, labels: Any, asked: int) -> float:
    """The module's formulas, float64."""
    p = {name: np.asarray(getattr(network, name), np.float64) for name in ("interaction", "head", "head_bias")}
    extra = [None if leaf is None else np.asarray(leaf, np.float64) for leaf in (network.item_input, network.item_bias)]
    w_x, w_h, b = (np.asarray(getattr(network.cell, n), np.float64) for n in ("weight_ih", "weight_hh", "bias"))
    skill, count = skills(CORPUS)
    h = c = np.zeros(w_h.shape[1])
    for item, right in zip(items, labels, strict=True):
        x = p["interaction"][skill[item] + int(right) * count]
        if extra[0] is not None:
            x = x + (2.0 * right - 1.0) * extra[0][item]
        i, f, g, o = np.split(w_x @ x + w_h @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    out = h @ p["head"][skill[asked]] + p["head_bias"][skill[asked]]
    return float(out if extra[1] is None else out + extra[1][asked])


def sakt_by_hand(network: Any, items: Any, labels: Any, asked: int) -> float:
    """The module's formulas, float64."""

    def plain(leaf: Any) -> Any:
        return np.asarray(leaf, np.float64)

    def norm(x: Any, layer: Any) -> Any:
        return (x - x.mean()) / np.sqrt(x.var() + layer.eps) * plain(layer.weight) + plain(layer.bias)

    skill, count = skills(CORPUS)
    with_items = network.item_bias is not None
    slots = [plain(network.start)]
    for place, (item, right) in enumerate(zip(items, labels, strict=True)):
        slot = plain(network.interaction)[skill[item] + int(right) * count] + plain(network.position)[place]
        slots.append(slot + (2.0 * right - 1.0) * plain(network.item_input)[item] if with_items else slot)
    query = plain(network.question)[skill[asked]] + (plain(network.item_question)[asked] if with_items else 0.0)
    part = network.attention
    q, k, v = (
        np.stack(np.split(np.atleast_2d(x) @ plain(layer.weight).T, part.num_heads, axis=1))
        for x, layer in ((query, part.query_proj), (np.array(slots), part.key_proj), (np.array(slots), part.value_proj))
    )
    logits = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    weights = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    mixed = plain(part.output_proj.weight) @ np.concatenate((weights @ v)[:, 0])
    a = norm(query + mixed, network.norms[0])
    inner = np.maximum(plain(network.inner.weight) @ a + plain(network.inner.bias), 0.0)
    z = norm(a + plain(network.outer.weight) @ inner + plain(network.outer.bias), network.norms[1])
    return float(
        z @ plain(network.head) + plain(network.skill_bias)[skill[asked]] + (plain(network.item_bias)[asked] if with_items else 0)
    )


CASES = [
    (learner(width=12, item_terms=terms), by_hand)
    for learner, by_hand in ((DKT, dkt_by_hand), (SAKT, sakt_by_hand))
    for terms in (True, False)
]


@pytest.mark.parametrize(("learner", "by_hand"), CASES)
@pytest.mark.parametrize("seen", [0, 1, 8])
def test_a_prediction_is_the_published_formula(learner: Any, by_hand: Any, seen: int) -> None:
    network = lively(learner)
    items, labels = answers(seen)
    memory = network.fresh()
    for item, right in zip(items, labels, strict=True):
        memory = network.write(memory, item, right, np.True_)
    asked = np.array([3, 77, 140], np.int32)
    found = np.asarray(network.read(memory, asked), np.float64)
    np.testing.assert_allclose(found, [by_hand(network, items, labels, int(one)) for one in asked], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("learner", [case[0] for case in CASES])
def test_a_window_is_read_as_a_session_steps_through_it(learner: Any) -> None:
    network = lively(learner)
    items, labels = answers(9)
    whole = np.asarray(network.window(items, labels, None))
    memory = network.fresh()
    for place, (item, right) in enumerate(zip(items, labels, strict=True)):
        np.testing.assert_allclose(
            np.asarray(network.read(memory, items[place : place + 1]))[0], whole[place], rtol=1e-4, atol=1e-5
        )
        memory = network.write(memory, np.int32(4), np.float32(1.0), np.False_)
        memory = network.write(memory, item, right, np.True_)
    later = labels.copy()
    later[5] = 1.0 - later[5]
    moved = np.asarray(network.window(items, later, None)) != whole
    assert not moved[:6].any(), "an answer must not predict itself or what came before it"
    assert moved[6:].all()


def test_sakt_remembers_the_last_window_and_dkt_everything() -> None:
    items, labels = answers(30)
    old = labels.copy()
    old[0] = 1.0 - old[0]
    for learner, forgets in ((SAKT(width=12), True), (DKT(width=12), False)):
        network, out = lively(learner), []
        for given in (labels, old):
            memory = network.fresh()
            for item, right in zip(items[:10], given[:10], strict=True):
                memory = network.write(memory, item, right, np.True_)
            out.append(np.asarray(network.read(memory, np.array([7], np.int32))))
        assert (out[0] == out[1]) == forgets


def test_scores_are_probabilities_of_the_next_answer(fitted: Any) -> None:
    """A session that saw a user's answers predicts the next as ``next_answers`` did."""
    users = np.zeros(CORPUS.users, np.bool_)
    users[[5, 9]] = True
    windows = windows_of(CORPUS, users, 13)
    firsts = np.flatnonzero(np.r_[True, np.diff(windows.items[:, 0]) != 0])[:1]
    items, labels = windows.items[firsts], windows.labels[firsts].astype(bool)
    expected = next_answers(fitted.network, Windows(items, labels.astype(np.float32)))
    context = Context.new(1)
    session = fitted.begin(context, 0)
    tried = np.ones((1, 12), np.bool_)
    session = fitted.update(session, context, Feedback(items[:, :12].astype(np.int64), tried, labels[:, :12]))
    got = fitted.score(session, context, items[:, 12:].astype(np.int64)).scores
    np.testing.assert_allclose(got, expected[:, 12:], rtol=1e-4)
    assert fitted.scale == "probability"


def test_windows_hold_every_answer_once_and_in_order() -> None:
    users = CORPUS.split().part == 0
    windows = windows_of(CORPUS, users, 10)
    assert windows.items.shape[1] == 10
    there = windows.items >= 0
    rows = users[CORPUS.user]
    np.testing.assert_array_equal(windows.items[there], CORPUS.item[rows])
    np.testing.assert_array_equal(windows.labels[there].astype(bool), CORPUS.positive[rows])
    assert (np.diff(there.astype(int), axis=1) <= 0).all(), "padding stands behind the last answer only"
    assert not windows.labels[~there].any()
    assert longest(CORPUS, users) == np.bincount(CORPUS.user[rows]).max()


def test_groups_and_batches_hold_every_window_once() -> None:
    windows = windows_of(CORPUS, np.ones(CORPUS.users, np.bool_), 30)
    groups = grouped(windows)
    assert [group.items.shape[1] for group in groups] == [10, 30]
    assert [group.items.shape[1] for group in grouped(windows_of(CORPUS, np.ones(CORPUS.users, np.bool_), 20))] == [20]
    for rng in (None, np.random.default_rng(0)):
        batches = batches_of(groups, 32, rng)
        assert all(len(batch.items) == 32 for batch in batches)
        listed = [tuple(row[row >= 0]) for batch in batches for row in batch.items if row[0] >= 0]
        assert sorted(listed) == sorted(tuple(row[row >= 0]) for row in windows.items)


def test_training_stops_early_and_keeps_the_best_epoch() -> None:
    part = CORPUS.split().part
    train, valid = (windows_of(CORPUS, part == which, 24) for which in (0, 1))
    skill, count = skills(CORPUS)
    fresh = DKT(width=12).network(skill, count, 24, jax.random.key(0))
    best, curve = train_network(fresh, train, valid, Training(30, 1, 64, 0.05), 7)
    losses = [loss for _, loss in curve]
    assert len(curve) < 30
    assert losses[-1] >= min(losses)
    held_out = batches_of(grouped(valid), 64)
    assert mean_loss(best, held_out) == pytest.approx(min(losses), rel=1e-6)
    assert min(losses) < mean_loss(fresh, held_out)


@pytest.mark.parametrize("name", ["dkt", "sakt"])
def test_both_learn_the_demo_corpus(name: str) -> None:
    scorer = MADE[name](**SMALL[name] | {"epochs": 15, "learning_rate": 0.01}).fit(CORPUS)
    measured = learn.evaluate(scorer, CORPUS, resamples=200)
    assert measured.auc is not None
    assert measured.auc.low > 0.55
    assert measured.log_loss is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dkt", "sakt"])
def test_published_settings_train_by_name_and_open_again(name: str, tmp_path: Path) -> None:
    scorer, report = learn.train(CORPUS, name, 42)
    assert report.held_out.auc is not None
    assert report.held_out.auc.low > 0.55
    scorer.save(tmp_path / "m")
    back = learn.open_model(tmp_path / "m", CORPUS)
    assert type(back) is type(scorer)
    assert back.name == name


@pytest.mark.parametrize(
    ("made", "settings", "field"),
    [
        (DKT, {"width": 0}, "width"),
        (DKT, {"dropout": 1.0}, "dropout"),
        (DKT, {"learning_rate": 0.0}, "learning_rate"),
        (SAKT, {"window": 0}, "window"),
        (SAKT, {"heads": 5}, "heads"),
        (SAKT, {"heads": 0}, "heads"),
    ],
)
def test_bad_settings_are_refused(made: Any, settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        made(**settings)
    assert refusal.value.field == field


def test_sessions_of_another_batch_are_refused(fitted: Any) -> None:
    session = fitted.begin(Context.new(2), 0)
    with pytest.raises(InvalidInput, match="session: must hold one session per context"):
        fitted.score(session, Context.new(3), np.zeros((3, 2), np.int64))
