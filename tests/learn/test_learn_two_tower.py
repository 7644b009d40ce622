"""Two-tower: conformance, the forward pass against plain NumPy, the online step against the gradient, and quality."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conformance import LearnerConformance, contexts, feedback, pools

from slateproof import corpora as data
from slateproof.errors import InvalidInput
from slateproof.learn.features import training_difficulty
from slateproof.learn.metrics import auc
from slateproof.learn.protocol import Context, Feedback
from slateproof.learn.two_tower import TwoTower, towers_for
from slateproof.learn.two_tower_data import HISTORY, gather, log_of, neutral, on_device
from slateproof.learn.two_tower_model import facts_of, logits, pointwise_loss, state_vectors, temperature

TINY = TwoTower(hidden=8, embedding=4, epochs=2, learning_rate=1e-2, batch=64)


class TestTwoTowerPointwise(LearnerConformance):
    exact = False

    def make(self) -> TwoTower:
        return TINY


class TestTwoTowerPairwiseBootstrap(LearnerConformance):
    exact = False
    draws = True

    def make(self) -> TwoTower:
        return replace(TINY, loss="pairwise", widths="bootstrap", heads=4)


@pytest.fixture(scope="module")
def corpus() -> data.Corpus:
    return data.demo()


@pytest.fixture(scope="module")
def scorer(corpus: data.Corpus) -> object:
    return TINY.fit(corpus)


def test_rounds_carry_the_state_and_history_before_their_first_row(corpus: data.Corpus) -> None:
    """Against a walk through each user's answers, one at a time."""
    users = corpus.split().part == 0
    log = log_of(corpus, users, 4)
    batch = gather(on_device(log), jnp.arange(log.first.size), 4)
    at = 0
    for user in np.flatnonzero(users):
        rows = slice(corpus.user_starts[user], corpus.user_starts[user + 1])
        items, right = corpus.item[rows], corpus.positive[rows]
        for start in range(0, items.size, 4):
            mine = items[start : start + 4]
            assert np.asarray(batch.items[at]).tolist() == [*mine.tolist(), *[-1] * (4 - mine.size)]
            assert np.asarray(batch.labels[at])[: mine.size].tolist() == right[start : start + 4].astype(float).tolist()
            known = right[:start].mean() if start else 0.5
            assert np.asarray(batch.state[at]) == pytest.approx([known, 0.5, (start + 1) ** -0.5], abs=1e-6)
            past = items[:start][::-1][:HISTORY].tolist()
            assert np.asarray(batch.past[at]).tolist() == [*past, *[-1] * (HISTORY - len(past))]
            signs = (2.0 * right[:start][::-1][:HISTORY] - 1.0).tolist()
            assert np.asarray(batch.signs[at]).tolist() == [*signs, *[0.0] * (HISTORY - len(signs))]
            at += 1
    assert at == log.first.size


def test_padding_rounds_hold_nothing(corpus: data.Corpus) -> None:
    log = on_device(log_of(corpus, corpus.split().part == 0, 3))
    batch = gather(log, jnp.array([-1, 5]), 3)
    assert (np.asarray(batch.items[0]) == -1).all()
    assert (np.asarray(batch.past[0]) == -1).all()
    assert np.asarray(batch.state[0]).tolist() == [0.5, 0.5, 1.0]
    bare = neutral(batch)
    assert (np.asarray(bare.state) == 0.5).all()
    assert (np.asarray(bare.past) == -1).all()
    assert np.array_equal(bare.items, batch.items)


def test_the_score_is_the_formula(corpus: data.Corpus, scorer) -> None:
    """cos(u, v)/temperature + b_i + beta in float64 NumPy, written out on its own."""
    m = {name: np.asarray(getattr(scorer.model, name), np.float64) for name in scorer.model.__dataclass_fields__}
    rng = np.random.default_rng(0)
    m |= {name: rng.normal(0, 0.5, m[name].shape) for name in ("film", "state_bias", "item_bias")}
    model = type(scorer.model)(**{name: jnp.asarray(value, jnp.float32) for name, value in m.items()})
    log = log_of(corpus, corpus.split().part == 0, 3)
    batch = gather(on_device(log), jnp.array([40]), 3)
    items = np.arange(0, 150, 7)
    ours = np.asarray(logits(model, facts_of(corpus), batch, jnp.asarray(items)[None]))[0]
    past, signs, state = (np.asarray(x, np.float64)[0] for x in (batch.past, batch.signs, batch.state))
    there = past >= 0
    summary = (signs[there, None] * m["embedding"][past[there].astype(int)]).sum(0) / np.sqrt(there.sum())
    h = np.maximum(m["state_first"] @ np.concatenate([summary, state - 0.5]) + m["state_first_bias"], 0)
    gain, shift = np.split(m["film"] @ (state - 0.5), 2)
    h = (1 + gain) * h + shift
    u = m["state_second"] @ h
    for place, item in enumerate(items):
        tags = corpus.items.tag_vectors()[item]
        x = m["item_first"] @ m["embedding"][item] + m["tag_weight"] @ tags + m["item_first_bias"]
        x += (training_difficulty(corpus)[item] - 0.5) * m["difficulty_weight"]
        v = m["item_second"] @ np.maximum(x, 0)
        cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
        heat = 0.25 * 16 ** (1 / (1 + np.exp(-m["heat"])))
        assert ours[place] == pytest.approx(cosine / heat + m["item_bias"][item] + m["state_bias"] @ h + m["level"], abs=2e-5)


@pytest.mark.parametrize("heat", [-50.0, 0.0, 50.0])
def test_the_temperature_stays_in_its_bounds(scorer, heat: float) -> None:
    value = float(temperature(scorer.model.__class__(**{**_fields(scorer.model), "heat": jnp.float32(heat)})))
    assert 0.25 - 1e-6 <= value <= 4.0 + 1e-5
    assert value == pytest.approx({-50.0: 0.25, 0.0: 1.0, 50.0: 4.0}[heat], rel=1e-5)


def test_the_state_gates_the_score(scorer) -> None:
    items = np.arange(20)[None]
    scores = []
    for knowledge in (0.1, 0.9):
        context = Context(np.array([-1]), np.array([knowledge]), np.array([0.5]), np.array([0.3]))
        scores.append(scorer.score(scorer.begin(context, 0), context, items).scores[0])
    assert scores[1].mean() > scores[0].mean()
    assert np.std(scores[1] - scores[0]) > 1e-4, "a gate that only moves the level is no gate"


def test_engagement_has_no_effect_where_the_log_never_moved_it(scorer) -> None:
    items = np.arange(20)[None]
    out = []
    for engagement in (0.0, 1.0):
        context = Context(np.array([-1]), np.array([0.4]), np.array([engagement]), np.array([0.3]))
        out.append(scorer.score(scorer.begin(context, 0), context, items).scores)
    np.testing.assert_array_equal(out[0], out[1])


def test_the_online_step_is_one_gradient_step_on_offset_and_level(scorer, corpus: data.Corpus) -> None:
    context, one = contexts(corpus), feedback(corpus, 5)
    before = scorer.begin(context, 1)
    after = scorer.update(before, context, one)
    heat = temperature(scorer.model)
    for s in range(context.user.size):
        state = jnp.array([context.knowledge[s], context.engagement[s], context.uncertainty[s]], jnp.float32)
        tried = one.attempted[s]
        items, right = jnp.asarray(one.items[s][tried]), jnp.asarray(one.correct[s][tried], jnp.float32)

        def loss(offset, level, state=state, items=items, right=right):
            u, beta = state_vectors(scorer.model, state, jnp.full(HISTORY, -1), jnp.zeros(HISTORY))
            z = scorer.vectors[items] @ (u + offset) / heat + scorer.model.item_bias[items] + beta + level
            return (jnp.logaddexp(0.0, z) - right * z).sum()

        by_offset, by_level = jax.jit(jax.grad(loss, argnums=(0, 1)))(before.offset[s], before.level[s])
        np.testing.assert_allclose(after.offset[s], -scorer.online.rate * by_offset, atol=1e-6)
        np.testing.assert_allclose(after.level[s], -scorer.online.rate * by_level, atol=1e-6)
        seen = one.items[s][tried].tolist()
        assert np.asarray(after.past[s])[: len(seen)].tolist() == seen
        assert (np.asarray(after.past[s])[len(seen) :] == -1).all()


def test_ridge_widths_are_the_posterior(scorer, corpus: data.Corpus) -> None:
    """Against a float64 inverse of the whole precision, after two rounds; and what was attempted has shrunk."""
    context, rounds = contexts(corpus), [feedback(corpus, 5), feedback(corpus, 6)]
    session = scorer.begin(context, 1)
    items = pools(corpus)
    fresh = scorer.score(session, context, items).widths
    for one in rounds:
        session = scorer.update(session, context, one)
    later = scorer.score(session, context, items).widths
    v = np.asarray(scorer.vectors, np.float64)
    train = corpus.split().train
    share = np.bincount(corpus.item[train], minlength=len(corpus.items)) / train.sum()
    prior = TINY.ridge * np.eye(4) + TINY.prior_rows * (v * share[:, None]).T @ v
    for s in range(context.user.size):
        a = prior + sum(np.outer(v[i], v[i]) for one in rounds for i in one.items[s][one.attempted[s]])
        expected = np.sqrt(np.einsum("nj,jk,nk->n", v[items[s]], np.linalg.inv(a), v[items[s]]))
        np.testing.assert_allclose(later[s], expected, rtol=2e-5)
    assert (later <= fresh + 1e-6).all()
    assert (later < fresh - 1e-4).any()


def test_similarity_vectors_are_unit_rows(scorer) -> None:
    rows = scorer.similarity_vectors
    np.testing.assert_allclose((rows**2).sum(1), 1.0, atol=1e-12)
    np.testing.assert_allclose(rows, scorer.vectors, atol=1e-6)


def test_loss_of_a_batch_is_the_sum_of_its_rounds(scorer, corpus: data.Corpus) -> None:
    log = on_device(log_of(corpus, corpus.split().part == 0, 5))
    facts = facts_of(corpus)
    each = [float(pointwise_loss(scorer.model, facts, gather(log, jnp.array([i]), 5))) for i in range(6)]
    together = float(pointwise_loss(scorer.model, facts, gather(log, jnp.arange(6), 5)))
    assert together == pytest.approx(sum(each), rel=1e-5)


def test_it_learns(corpus: data.Corpus) -> None:
    """On a larger synthetic corpus, held-out users: better than the item mean, which knows no user."""
    big = data.synthetic_education(users=400, items=50, per_user=25.0)
    fitted = TwoTower(hidden=16, embedding=8, epochs=5, learning_rate=1e-2).fit(big)
    part = big.split().part
    log = on_device(log_of(big, part == 2, 1))
    batch = gather(log, jnp.arange(log.first.size), 1)
    score = np.asarray(logits(fitted.model, facts_of(big), batch, batch.items))[:, 0]
    y, item = np.asarray(batch.labels)[:, 0] > 0.5, np.asarray(batch.items)[:, 0]
    assert auc(y, score) > auc(y, -big.items.difficulty[item]) + 0.02


def test_early_stopping_keeps_the_best_epoch(corpus: data.Corpus) -> None:
    seen: list[str] = []
    replace(TINY, epochs=40, learning_rate=0.1, patience=1).fit(corpus, progress=lambda done, total, text: seen.append(text))
    losses = [float(text.rsplit(" ", 1)[1]) for text in seen]
    assert len(losses) < 40
    assert losses[-1] >= min(losses[:-1])


@pytest.mark.parametrize(
    ("field", "value"),
    [("hidden", 0), ("embedding", True), ("loss", "hinge"), ("widths", "constant"), ("ridge", 0.0), ("learning_rate", float("nan")),
     ("heads", 1), ("prior_rows", -1.0), ("rate", -0.1)],
)  # fmt: skip
def test_settings_that_break_a_rule_are_refused(field: str, value: object) -> None:
    given = {"online_rate" if field == "rate" else field: value}
    with pytest.raises(InvalidInput) as refusal:
        TwoTower(**given)
    assert refusal.value.field == field


def test_sessions_of_another_size_are_refused(scorer, corpus: data.Corpus) -> None:
    session = scorer.begin(Context.new(2), 0)
    with pytest.raises(InvalidInput, match="session"):
        scorer.score(session, Context.new(3), np.zeros((3, 2), np.int64))


def test_fresh_towers_depend_on_the_seed(corpus: data.Corpus) -> None:
    one, two = towers_for(corpus, TINY, 1), towers_for(corpus, TINY, 2)
    assert not np.array_equal(one.embedding, two.embedding)


@pytest.mark.slow
def test_256_sessions_take_20_rounds_in_under_3_seconds(corpus: data.Corpus) -> None:
    fitted = replace(TINY, hidden=96, embedding=48, epochs=1).fit(corpus)
    context = Context.new(256)
    rng = np.random.default_rng(0)
    items = rng.integers(0, len(corpus.items), (20, 256, 5))
    tried = np.ones((256, 5), np.bool_)
    session = fitted.begin(context, 0)
    fitted.update(session, context, Feedback(items[0], tried, tried))  # compiles
    begun = time.perf_counter()
    for t in range(20):
        session = fitted.update(session, context, Feedback(items[t], tried, rng.random((256, 5)) < 0.5))
    jax.block_until_ready(session)
    assert time.perf_counter() - begun < 3.0


@pytest.mark.slow
@pytest.mark.corpus
def test_it_beats_the_item_mean_on_oulad(corpora: Path) -> None:
    oulad = data.load("oulad", corpora)
    begun = time.perf_counter()
    fitted = TwoTower(epochs=3).fit(oulad)
    assert time.perf_counter() - begun < 60.0
    split = oulad.split()
    log = on_device(log_of(oulad, split.part == 2, 1))
    batch = gather(log, jnp.arange(log.first.size), 1)
    score = np.asarray(logits(fitted.model, facts_of(oulad), batch, batch.items))[:, 0]
    y, item = np.asarray(batch.labels)[:, 0] > 0.5, np.asarray(batch.items)[:, 0]
    count = np.bincount(oulad.item[split.train], minlength=len(oulad.items))
    right = np.bincount(oulad.item[split.train], oulad.positive[split.train], len(oulad.items))
    assert auc(y, score) > auc(y, ((right + 1) / (count + 2))[item]) + 0.03


def _fields(model: object) -> dict[str, object]:
    return {name: getattr(model, name) for name in model.__dataclass_fields__}
