"""Private steps: clipping, sampling, noise, division and the ledger, each against its own oracle."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conformance import LearnerConformance

from slateproof import corpora as data
from slateproof.errors import InvalidInput
from slateproof.learn import dp_seed
from slateproof.learn.dp_config import Private
from slateproof.learn.dp_records import by_arrival
from slateproof.learn.dp_step import OFF, PrivateSteps
from slateproof.learn.dp_train import PrivateTwoTower
from slateproof.learn.modelfile import read
from slateproof.learn.protocol import Context
from slateproof.learn.two_tower import TwoTower, towers_for
from slateproof.learn.two_tower_data import gather, log_of, neutral
from slateproof.learn.two_tower_model import facts_of, pointwise_loss
from slateproof.privacy import Ledger

TOWER = TwoTower(hidden=8, embedding=4)
HOW = Private(clip=0.5, noise_multiplier=1.5, rows_per_round=5, physical_batch=16, learning_rate=0.3)
LEARNER = PrivateTwoTower(tower=TOWER, private=HOW, steps=4, sampling_rate=0.05)


class _Private(LearnerConformance):
    exact = False
    online = False

    def test_the_model_file_says_where_it_comes_from(self, scorer, corpus, tmp_path) -> None:
        """All but the seed: it would take the noise off."""
        scorer.save(tmp_path / "m.npz")
        model = read(tmp_path / "m.npz")
        assert (model.corpus_digest, model.seed) == (corpus.digest, 0)
        assert model.ledger is not None
        assert model.ledger.non_private is None


class TestPrivateOffline(_Private):
    def make(self) -> PrivateTwoTower:
        return LEARNER


class TestPrivateStreaming(_Private):
    def make(self) -> PrivateTwoTower:
        return replace(LEARNER, regime="streaming", arrivals_per_step=200)


class TestNoiseOff(LearnerConformance):
    """The same code without noise: it may learn online, because it claims nothing."""

    exact = False

    def make(self) -> PrivateTwoTower:
        return replace(LEARNER, private=replace(HOW, noise_multiplier=None))


@pytest.fixture(scope="module")
def corpus() -> data.Corpus:
    return data.demo()


@pytest.fixture(scope="module")
def log(corpus: data.Corpus):
    return log_of(corpus, corpus.split().part == 0, 5)


def begin(corpus: data.Corpus, log, how: Private = HOW, seed: int = 3) -> PrivateSteps:
    model = towers_for(corpus, TOWER, 3)
    return PrivateSteps(model, facts_of(corpus, fixed=how.side_inputs == "fixed"), log, how, seed=seed)


def flat(model) -> np.ndarray:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(model)])


@jax.jit
def one_gradient(model, facts, batch):
    return jax.grad(pointwise_loss)(model, facts, batch)


def round_gradients(run: PrivateSteps, index) -> np.ndarray:
    """The gradient of each round's summed loss, one at a time, without any clip."""
    out = []
    for i in index:
        batch = gather(run._log, jnp.array([i]), run.how.rows_per_round)
        batch = neutral(batch) if run.how.side_inputs == "fixed" else batch
        out.append(flat(one_gradient(run.model, run._facts, batch)))
    return np.array(out)


@pytest.mark.parametrize("side", ["conditioned", "fixed"])
def test_the_sum_is_that_of_clipped_round_gradients(corpus, log, side: str) -> None:
    run = begin(corpus, log, replace(HOW, side_inputs=side))
    index = np.arange(0, 90, 3)
    each = round_gradients(run, index)
    norm = np.linalg.norm(each, axis=1)
    assert (norm > HOW.clip).any()
    assert (norm > 0).all()
    expected = (each * np.minimum(1.0, HOW.clip / norm)[:, None]).sum(0)
    np.testing.assert_allclose(flat(run._sum(index)), expected, atol=2e-5)


@pytest.mark.parametrize("physical", [1, 7, 64, 256])
def test_a_draw_larger_than_the_physical_batch_is_worked_off_whole(corpus, log, physical: int) -> None:
    index = np.random.default_rng(0).permutation(log.first.size)[:150]
    expected = flat(begin(corpus, log)._sum(index))
    np.testing.assert_allclose(flat(begin(corpus, log, replace(HOW, physical_batch=physical))._sum(index)), expected, atol=1e-4)


@pytest.mark.parametrize("rounds", [0, 1, 33, 64])
def test_padding_adds_exactly_nothing(corpus, log, rounds: int) -> None:
    """Inner batches of padding are not computed; a draw that ends inside one, or is empty, comes out the same."""
    index, padded = np.arange(rounds), begin(corpus, log, replace(HOW, physical_batch=128))
    one_by_one = begin(corpus, log, replace(HOW, physical_batch=1))
    expected = sum((flat(one_by_one._sum(index[i : i + 1])) for i in range(rounds)), np.zeros(flat(padded.model).size))
    np.testing.assert_allclose(flat(padded._sum(index)), expected, atol=1e-4)


def test_one_round_moves_the_sum_by_at_most_the_clip(corpus, log) -> None:
    run = begin(corpus, log, replace(HOW, clip=0.1))
    rng = np.random.default_rng(1)
    for _ in range(10):
        index = rng.permutation(log.first.size)[:20]
        moved = np.linalg.norm(flat(run._sum(index)) - flat(run._sum(index[:-1])))
        assert moved <= 0.1 * (1 + 1e-3)
        assert moved > 0.05


def test_a_fixed_side_input_round_depends_on_nothing_but_itself(corpus, log) -> None:
    """Flip every earlier answer of the user: the later round's gradient stays, unless side inputs are conditioned."""
    late = int(np.flatnonzero(log.seen[log.first] >= 10)[0])
    flipped = log.label.copy()
    flipped[log.first[late] - 5 : log.first[late]] = 1.0 - flipped[log.first[late] - 5 : log.first[late]]
    other = log._replace(label=flipped, knowledge=1.0 - log.knowledge)
    for side, same in (("fixed", True), ("conditioned", False)):
        how = replace(HOW, side_inputs=side)
        here, there = (flat(begin(corpus, one, how)._sum(np.array([late]))) for one in (log, other))
        assert np.array_equal(here, there) is same


def test_noise_stands_on_the_sum_and_the_divisor_is_the_expected_batch(corpus, log) -> None:
    """An empty draw moves the model by noise alone: standard deviation rate * clip * sigma / (q N)."""
    for q in (0.02, 0.5):
        run = begin(corpus, log)
        run._draw = lambda rate: np.zeros(0, np.int64)  # type: ignore[method-assign]
        before = flat(run.model)
        moved = []
        for _ in range(8):
            run.sampled(q)
            moved.append(flat(run.model) - before)
            before = flat(run.model)
        moved = np.array(moved)
        expected = HOW.learning_rate * HOW.clip * 1.5 / (q * log.first.size)
        assert moved.std() == pytest.approx(expected, rel=0.05)
        assert abs(moved.mean()) < 5 * expected / np.sqrt(moved.size)
        assert abs(np.corrcoef(moved[0], moved[1])[0, 1]) < 0.15, "noise must be fresh in every step"
        # float32 differences of a thousand coordinates meet by chance now and then; noise used twice would meet everywhere.
        assert moved[0].size - np.unique(moved[0]).size < 10, "noise must be fresh in every coordinate"


def test_without_noise_the_step_is_plain_sgd_and_the_ledger_says_so(corpus, log) -> None:
    run = begin(corpus, log, replace(HOW, noise_multiplier=None))
    index = np.arange(30)
    run._draw = lambda rate: index  # type: ignore[method-assign]
    before = flat(run.model)
    expected = round_gradients(run, index).sum(0)
    run.sampled(0.1)
    np.testing.assert_allclose(flat(run.model) - before, -0.3 * expected / (0.1 * log.first.size), atol=2e-5)
    assert run.ledger.non_private == OFF
    assert run.ledger.epsilon(1e-5) == np.inf


def test_poisson_sampling_takes_each_round_independently(corpus, log) -> None:
    run, q, draws = begin(corpus, log), 0.1, 400
    taken = np.zeros((draws, log.first.size), np.bool_)
    for d in range(draws):
        index = run._draw(q)
        assert np.unique(index).size == index.size
        taken[d, index] = True
    size = taken.sum(1)
    n = log.first.size
    assert size.std() == pytest.approx(np.sqrt(n * q * (1 - q)), rel=0.15), "a fixed batch size is not Poisson sampling"
    assert size.mean() == pytest.approx(n * q, rel=0.03)
    each = taken.mean(0)
    assert np.abs(each - q).max() < 5 * np.sqrt(q * (1 - q) / draws)
    assert abs(np.corrcoef(taken[:-1, 0], taken[1:, 0])[0, 1]) < 0.2


def test_every_step_writes_one_entry(corpus, log) -> None:
    run = begin(corpus, log)
    assert len(run.ledger) == run.steps == 0
    assert run.ledger.epsilon(1e-5) == 0.0
    for t in range(1, 4):
        run.sampled(0.05)
        assert len(run.ledger) == run.steps == t
    expected = Ledger()
    expected.record_poisson_gaussian(sampling_rate=0.05, noise_multiplier=1.5, count=3)
    assert run.ledger.epsilon(1e-5) == expected.epsilon(1e-5)
    assert run.ledger.population == log.first.size
    assert run.ledger.unit == "round"


def test_a_refused_entry_leaves_the_model_where_it_was(corpus, log, monkeypatch) -> None:
    run = begin(corpus, log)
    before = flat(run.model)

    def refuse(self, **values):
        raise InvalidInput("ledger", "is full")

    monkeypatch.setattr(Ledger, "record_poisson_gaussian", refuse)
    with pytest.raises(InvalidInput, match="ledger"):
        run.sampled(0.05)
    assert np.array_equal(flat(run.model), before)
    assert run.steps == 0


def test_the_stream_reads_each_round_once(corpus, log) -> None:
    run = begin(corpus, log)
    read: list[int] = []
    inner = run._sum
    run._sum = lambda index: (read.extend(index.tolist()), inner(index))[1]  # type: ignore[method-assign]
    while run.waiting:
        run.arrivals(100)
    assert read == list(range(log.first.size))
    single = Ledger()
    single.record_gaussian(noise_multiplier=1.5)
    assert run.ledger.epsilon(1e-5) == pytest.approx(single.epsilon(1e-5))
    with pytest.raises(InvalidInput, match="rounds: of a stream are used once"):
        run.arrivals(1)


def test_a_round_that_is_taken_out_leaves_its_place_empty_and_moves_no_other(corpus, log) -> None:
    """What parallel composition needs: the step that it was in changes by its clipped gradient, every other one not at all."""
    place, size = 37, 20
    count = log.count.copy()
    count[place] = 0
    here, there = begin(corpus, log), begin(corpus, log._replace(count=count))
    changed = []
    for first in range(0, 100, size):
        step = np.arange(first, first + size)
        one, other = flat(here._sum(step)), flat(there._sum(step))
        if not np.array_equal(one, other):
            changed.append((first, np.linalg.norm(one - other)))
    ((first, moved),) = changed
    assert first <= place < first + size
    assert moved == pytest.approx(min(HOW.clip, np.linalg.norm(round_gradients(here, [place])[0])), rel=1e-3)


def test_a_closed_gap_would_move_every_later_step(corpus, log) -> None:
    """The opposite, so that the contract is not read as a formality."""
    keep = np.delete(np.arange(log.first.size), 37)
    closed = log._replace(first=log.first[keep], count=log.count[keep], user=log.user[keep])
    here, there = begin(corpus, log), begin(corpus, closed)
    later = [np.arange(first, first + 20) for first in range(40, 100, 20)]
    assert not any(np.array_equal(flat(here._sum(step)), flat(there._sum(step))) for step in later)


def test_rounds_arrive_by_the_clock_of_their_last_row() -> None:
    from types import SimpleNamespace

    corpus = data.demo()
    log = log_of(corpus, np.ones(corpus.users, np.bool_), 5)
    assert by_arrival(log, corpus) is log
    clock = np.random.default_rng(0).permutation(len(corpus))
    ordered = by_arrival(log, SimpleNamespace(time=clock))
    assert (np.diff(clock[ordered.first + ordered.count - 1]) > 0).all()
    assert sorted(ordered.first.tolist()) == sorted(log.first.tolist())


def test_the_same_seed_gives_the_same_bits(corpus, log) -> None:
    def run(seed: int) -> np.ndarray:
        one = begin(corpus, log, seed=seed)
        for _ in range(3):
            one.sampled(0.05)
        return flat(one.model)

    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


def test_every_bit_of_the_seed_reaches_the_noise(corpus, log) -> None:
    """JAX reads 32 bits of a seed: a noise that hung on those alone could be searched for."""
    keys = [tuple(jax.random.key_data(begin(corpus, log, seed=3 + high)._key).tolist()) for high in (0, 2**32, 2**45, 2**61, 2**90)]
    assert len(set(keys)) == len({high for high, _ in keys}) == len({low for _, low in keys}) == 5


def test_first_parameters_tell_nothing_of_the_seed(corpus) -> None:
    """They may show in a released model: drawn from ``jax.random.key(seed)`` they would give 32 bits of the secret away."""
    starts = [LEARNER.start(corpus, seed).model for seed in (3, 3 + 2**32, 3 + 2**61, 4)]
    plain = towers_for(corpus, TOWER, 3)
    first = [np.asarray(one.embedding) for one in (*starts, plain)]
    for i, one in enumerate(first):
        assert not any(np.array_equal(one, other) for other in first[:i])
    run = LEARNER.start(corpus, 3)
    assert not np.array_equal(jax.random.key_data(run._key), jax.random.key_data(dp_seed.key(3, "first parameters")))
    assert np.array_equal(np.asarray(LEARNER.start(corpus, 3).model.embedding), first[0])


@pytest.mark.parametrize("regime", ["offline", "streaming"])
def test_calibration_meets_its_target_in_the_ledger(corpus, regime: str) -> None:
    learner = replace(LEARNER, regime=regime, arrivals_per_step=300).calibrated(epsilon=2.0, delta=1e-5)
    scorer = learner.fit(corpus, seed=7)
    assert 1.99 < scorer.ledger.epsilon(1e-5) <= 2.0
    assert len(scorer.ledger) == (4 if regime == "offline" else 2)


def test_widths_of_a_private_scorer_read_no_counts(corpus) -> None:
    """They are a function of the released vectors alone."""
    scorer = LEARNER.fit(corpus, seed=7)
    v = np.asarray(scorer.vectors, np.float64)
    precision = TOWER.ridge * np.eye(4) + TOWER.prior_rows * v.T @ v / len(v)
    items = np.arange(150)[None]
    widths = scorer.score(scorer.begin(Context.new(1), 0), Context.new(1), items).widths[0]
    np.testing.assert_allclose(widths, np.sqrt(np.einsum("nj,jk,nk->n", v, np.linalg.inv(precision), v)), rtol=1e-5)


@pytest.mark.parametrize(
    ("field", "value"),
    [("clip", 0.0), ("clip", -1.0), ("noise_multiplier", 0.0), ("learning_rate", 0.0), ("rows_per_round", 0), ("physical_batch", 0),
     ("side_inputs", "public"), ("optimizer", "adam")],
)  # fmt: skip
def test_private_settings_that_break_a_rule_are_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Private(**{field: value})
    assert refusal.value.field == field


def test_adam_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput, match="Adam divides each coordinate by its own noise-dominated size"):
        Private(optimizer="adam")


@pytest.mark.parametrize(
    ("field", "given"),
    [("regime", {"regime": "online"}), ("steps", {"steps": 0}), ("sampling_rate", {"sampling_rate": 0.0}),
     ("sampling_rate", {"sampling_rate": 1.5}), ("arrivals_per_step", {"arrivals_per_step": 0}),
     ("widths", {"tower": TwoTower(widths="bootstrap")}), ("loss", {"tower": TwoTower(loss="pairwise")})],
)  # fmt: skip
def test_learner_settings_that_break_a_rule_are_refused(field: str, given: dict) -> None:
    with pytest.raises(InvalidInput) as refusal:
        PrivateTwoTower(**given)
    assert refusal.value.field == field


def test_a_population_that_is_no_count_is_refused(corpus, log) -> None:
    with pytest.raises(InvalidInput, match="population"):
        PrivateSteps(towers_for(corpus, TOWER, 0), facts_of(corpus), log, HOW, seed=0, population=0)
