"""The empirical audit: the real learner passes, and every planted fault is caught. The faults live here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slateproof.errors import InvalidInput
from slateproof.learn import dp_step
from slateproof.learn.dp_audit import AuditReport, Watched, audit, canary_facts, canary_log, canary_scores, canary_towers
from slateproof.learn.dp_config import Private
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.two_tower_data import Log, gather, neutral
from slateproof.learn.two_tower_model import Towers, pointwise_loss

DELTA, ROWS = 1e-5, 16
CANARIES = 600
HOW = Private(clip=0.1, rows_per_round=ROWS, side_inputs="fixed", physical_batch=256, learning_rate=1e-5)


class NoiseOff(PrivateSteps):
    """Records noise and adds none."""

    def _noisy(self, total, key, deviation):
        return total


class NoiseByBatch(PrivateSteps):
    """Noise for a mean, put on a sum."""

    def _noisy(self, total, key, deviation):
        return dp_step._add_noise(total, key, deviation / CANARIES)


class ClipPerItem(PrivateSteps):
    """Every item row is clipped by itself, so that a round moves the sum by up to its number of rows times the clip."""

    def _sum(self, index):
        log = self._log
        index = index[np.asarray(log.count)[index] > 0]
        rows = (np.asarray(log.first)[index][:, None] + np.arange(self.how.rows_per_round)).ravel()
        single = log._replace(first=jnp.arange(log.item.size), count=jnp.ones(log.item.size, jnp.int32))
        total = jax.tree.map(jnp.zeros_like, self._model)
        for part in dp_step.split_and_pad_global_batch(rows, self.how.physical_batch):
            at = jnp.asarray(part, jnp.int32)
            total = dp_step._add_clipped(replace(self.how, rows_per_round=1), total, self._model, self._facts, single, at)
        return total


class EveryRound(PrivateSteps):
    """Claims the amplification of a sample and takes everyone."""

    def _draw(self, rate):
        return np.arange(self._rounds)


class SkipsEntries(PrivateSteps):
    """Every other step forgets its entry."""

    def _release(self, index, expected, record):
        super()._release(index, expected, (lambda **values: None) if self.steps % 2 else record)


class SkipsBoth(PrivateSteps):
    """Every other step forgets its entry, and forgets to count itself: to the run's own eyes, nothing is missing."""

    calls = 0

    def _release(self, index, expected, record):
        self.calls += 1
        if self.calls % 2:
            super()._release(index, expected, record)
        else:
            self._model = dp_step._move(self._model, self._sum(index), self.how.learning_rate / expected)


class MovesBetween(PrivateSteps):
    """A step of its own, before the first that is asked for."""

    @property
    def waiting(self):
        self._model = dp_step._move(self._model, self._sum(np.arange(4)), 1.0)
        return super().waiting


Training = tuple[Callable[..., PrivateSteps], Callable[[Watched], None]]


def begun(kind: type[PrivateSteps], noise: float | None) -> Callable[..., PrivateSteps]:
    return lambda model, facts, log, seed: kind(model, facts, log, replace(HOW, noise_multiplier=noise), seed=seed)


def offline(kind: type[PrivateSteps], *, rate: float = 0.01, steps: int = 60, noise: float = 1.0) -> Training:
    def drive(run: Watched) -> None:
        for _ in range(steps):
            run.sampled(rate)

    return begun(kind, noise), drive


def streaming(kind: type[PrivateSteps], *, noise: float | None = 3.0, size: int = CANARIES) -> Training:
    def drive(run: Watched) -> None:
        while run.waiting:
            run.arrivals(size)

    return begun(kind, noise), drive


def attack(train: Training, seed: int = 5) -> AuditReport:
    report = audit(*train, canaries=CANARIES, rows=ROWS, delta=DELTA, seed=seed)
    print(report.to_text())  # `pytest -rP` shows the figures
    return report


def test_the_real_learner_passes() -> None:
    report = attack(streaming(PrivateSteps))
    assert report.ok, report.to_text()
    assert report.claimed == pytest.approx(1.27, abs=0.01)
    assert report.lower <= report.claimed


@pytest.mark.parametrize("fault", [NoiseOff, NoiseByBatch])
def test_too_little_noise_is_caught(fault: type[PrivateSteps]) -> None:
    report = attack(streaming(fault))
    assert report.lower > 2.0 * report.claimed
    assert "membership shows" in report.problems[0]


def test_a_clip_per_item_is_caught() -> None:
    report = attack(streaming(ClipPerItem))
    assert report.lower > 2.0 * report.claimed
    assert "membership shows" in report.problems[0]


def test_no_sampling_with_claimed_amplification_is_caught() -> None:
    report = attack(offline(EveryRound))
    assert report.lower > 2.0 * report.claimed
    assert "membership shows" in report.problems[0]


def test_a_step_without_an_entry_is_caught() -> None:
    report = attack(offline(SkipsEntries, steps=4))
    assert report.problems == ("4 steps were asked for, 4 moved the model, 2 are in the ledger",)


def test_a_step_without_entry_and_count_is_caught_from_outside() -> None:
    report = attack(offline(SkipsBoth, steps=4))
    assert report.problems == ("4 steps were asked for, 2 moved the model, 2 are in the ledger",)


def test_a_model_that_moves_between_the_steps_is_caught() -> None:
    report = attack(streaming(MovesBetween, size=200))
    assert "the model moved where no step was asked for" in report.problems


def test_the_real_learner_passes_over_several_streaming_steps() -> None:
    """Six steps of a hundred places each: the claim is that of one, because a canary that is out moves no other."""
    report = attack(streaming(PrivateSteps, size=100))
    assert report.ok, report.to_text()
    assert report.claimed == pytest.approx(1.27, abs=0.01)


@pytest.mark.parametrize("fault", [NoiseOff, ClipPerItem])
def test_faults_show_over_several_streaming_steps(fault: type[PrivateSteps]) -> None:
    assert attack(streaming(fault, size=100)).lower > 1.27


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_real_learner_passes_in_both_regimes_and_with_little_noise(seed: int) -> None:
    for train in (
        streaming(PrivateSteps),
        streaming(PrivateSteps, noise=0.5),
        offline(PrivateSteps),
        offline(PrivateSteps, rate=0.3),
    ):
        report = attack(train, seed)
        assert report.ok, report.to_text()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("fault", [NoiseOff, NoiseByBatch, ClipPerItem, EveryRound, SkipsEntries, SkipsBoth])
def test_every_fault_is_caught_whatever_the_seed(fault: type[PrivateSteps], seed: int) -> None:
    train = offline(fault) if fault in (EveryRound, SkipsEntries, SkipsBoth) else streaming(fault)
    assert not attack(train, seed).ok


@pytest.mark.slow
def test_the_attack_finds_what_little_noise_leaves() -> None:
    """The audit has teeth: at noise .25 (claimed epsilon above 20) the bound is far from 0, and below the claim."""
    report = attack(streaming(PrivateSteps, noise=0.25))
    assert report.claimed > 20
    assert 3.0 < report.lower <= report.claimed


def test_a_run_without_noise_that_says_so_is_not_refuted() -> None:
    report = attack(streaming(PrivateSteps, noise=None))
    assert report.claimed == np.inf
    assert report.ok
    assert report.lower > 2.0


def test_canaries_have_their_own_item_and_alternate_their_response() -> None:
    inside = np.array([True, False, True, True])
    log = canary_log(inside, 3)
    assert log.item.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert log.label.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert log.first.tolist() == [0, 3, 6, 9]
    assert log.count.tolist() == [3, 0, 3, 3], "a canary that is out leaves its place empty"


def own_gradient(model: Towers, canary: int, canaries: int, rows: int) -> Towers:
    """The gradient of one canary's round alone."""
    log = canary_log(np.arange(canaries) == canary, rows)
    batch = neutral(gather(Log(*map(jnp.asarray, log)), jnp.array([canary]), rows))
    return jax.jit(jax.grad(pointwise_loss))(model, canary_facts(canaries), batch)


def test_the_score_is_the_move_against_the_canary_s_gradient() -> None:
    """A model moved by half a unit against one canary's own gradient: that canary scores a half, the others nothing."""
    model = canary_towers(4, 0)
    everyone = canary_log(np.ones(4, np.bool_), 3)
    grad = own_gradient(model, 1, 4, 3)
    parts = grad.embedding, grad.item_bias
    size = np.sqrt(sum(float((part**2).sum()) for part in parts))
    target = model.embedding - 0.5 * parts[0] / size, model.item_bias - 0.5 * parts[1] / size
    moved = eqx.tree_at(lambda m: (m.embedding, m.item_bias), model, target)
    scores = canary_scores(model, moved, canary_facts(4), everyone, 3)
    assert scores[1] == pytest.approx(0.5, rel=1e-3)
    assert np.abs(np.delete(scores, 1)).max() < 1e-12


@pytest.mark.parametrize("seed", [0, 5])
def test_a_canary_s_gradient_is_mostly_its_own_and_larger_than_the_clip(seed: int) -> None:
    """Single rows: one that no clip touches would leak nothing when rows are clipped one by one."""
    model, facts = canary_towers(CANARIES, seed), canary_facts(CANARIES)
    log = Log(*map(jnp.asarray, canary_log(np.ones(CANARIES, np.bool_), 1)))
    one = jax.grad(lambda m, at: pointwise_loss(m, facts, neutral(gather(log, at[None], 1))))
    grad = jax.jit(jax.vmap(one, (None, 0)))(model, jnp.arange(CANARIES))
    own = np.asarray((grad.embedding**2).sum((1, 2)) + (grad.item_bias**2).sum(1))
    norm = np.asarray(sum((leaf**2).reshape(CANARIES, -1).sum(1) for leaf in jax.tree.leaves(grad)))
    assert np.sqrt(norm).min() > 5 * HOW.clip
    assert np.median(np.sqrt(own / norm)) > 0.99


@pytest.mark.parametrize(("field", "given"), [("canaries", {"canaries": 1}), ("confidence", {"confidence": 0.4})])
def test_audit_settings_that_break_a_rule_are_refused(field: str, given: dict) -> None:
    settings = {"canaries": 10, "rows": 2, "delta": DELTA, "seed": 0} | given
    with pytest.raises(InvalidInput, match=field):
        audit(*streaming(PrivateSteps), **settings)
