"""MF-BCE against JAX's gradient and optax's Adam, and what it does with users it does not know."""

from __future__ import annotations

import numpy as np
import pytest

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.mf_bce import MFBCE
from slateproof.learn.modelfile import read
from slateproof.learn.protocol import Context

CORPUS = corpora.demo()


def test_five_steps_are_those_of_optax_on_the_gradient_of_jax(tmp_path) -> None:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    with jax.enable_x64(True):
        jnp = jax.numpy
        train = CORPUS.split().train
        user, item = jnp.array(CORPUS.user[train]), jnp.array(CORPUS.item[train])
        y = jnp.array(CORPUS.positive[train], float)
        known = np.unique(CORPUS.user[train])
        rng = np.random.default_rng(42)
        P = np.zeros((CORPUS.users, 33))
        P[known, :-1] = rng.normal(0.0, 0.01, (known.size, 32))
        Q = np.zeros((len(CORPUS.items), 33))
        Q[:, :-1] = rng.normal(0.0, 0.01, (len(CORPUS.items), 32))

        def loss(both):
            p, q = both[0][user], both[1][item]
            logit = (p[:, :-1] * q[:, :-1]).sum(1) + p[:, -1] + q[:, -1]
            return jnp.mean(jnp.logaddexp(0.0, logit) - y * logit)

        parameters = (jnp.array(P), jnp.array(Q))
        adam = optax.adam(0.01)
        state = adam.init(parameters)
        for _ in range(5):
            moves, state = adam.update(jax.grad(loss)(parameters), state)
            parameters = optax.apply_updates(parameters, moves)
        P, Q = (np.asarray(part) for part in parameters)
    scorer = MFBCE().fit(CORPUS, seed=42)
    scorer.save(tmp_path / "m")
    arrays = read(tmp_path / "m").arrays
    np.testing.assert_allclose(arrays["P"], P[known], atol=1e-10)
    np.testing.assert_allclose(arrays["Q"], Q, atol=1e-10)
    u = int(known[3])
    context = Context(np.array([u]), np.array([0.5]), np.array([0.5]), np.array([0.5]))
    logit = Q[:, :-1] @ P[u, :-1] + P[u, -1] + Q[:, -1]
    np.testing.assert_allclose(scorer.score(None, context, np.arange(len(Q))[None]).scores[0], 1 / (1 + np.exp(-logit)), atol=1e-10)


def test_users_that_training_did_not_know_get_the_mean_user() -> None:
    scorer = MFBCE().fit(CORPUS)
    held_out = int(np.flatnonzero(CORPUS.split().part == 2)[0])
    half = np.full(3, 0.5)
    context = Context(np.array([held_out, -1, int(np.flatnonzero(CORPUS.split().part == 0)[0])]), half, half, half)
    scores = scorer.score(None, context, np.tile(np.arange(20), (3, 1))).scores
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_seeds_matter_and_loss_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    one = MFBCE().fit(CORPUS, seed=1, progress=lambda *step: told.append(step))
    other = MFBCE().fit(CORPUS, seed=2)
    context, items = Context.new(1), np.arange(10)[None]
    assert not np.array_equal(one.score(None, context, items).scores, other.score(None, context, items).scores)
    assert [step[:2] for step in told] == [(i, 5) for i in range(1, 6)]
    losses = [float(step[2].split()[1]) for step in told]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(np.log(2.0), abs=1e-3)


@pytest.mark.parametrize(("field", "value"), [("factors", 0), ("steps", 0), ("learning_rate", 0.0), ("initial_sd", -1.0)])
def test_bad_settings_are_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        MFBCE(**{field: value})
    with pytest.raises(InvalidInput, match="seed"):
        MFBCE().fit(CORPUS, seed=-1)
