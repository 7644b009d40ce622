"""What one protected record is: users by hash, the cap, whole users, later rounds, one ledger for several runs."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slateproof import corpora as data
from slateproof import learn
from slateproof import privacy as pv
from slateproof.errors import InvalidInput
from slateproof.learn.dp_config import Private
from slateproof.learn.dp_records import capped, facts_for, joined, log_for, parts
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.dp_train import PrivateTwoTower
from slateproof.learn.two_tower import TwoTower, towers_for
from slateproof.learn.two_tower_data import gather, log_of, neutral
from slateproof.learn.two_tower_model import facts_of, pointwise_loss

TOWER = TwoTower(hidden=8, embedding=4)
HOW = Private(clip=0.5, noise_multiplier=1.5, physical_batch=16, learning_rate=0.3, side_inputs="fixed")
USERS = replace(HOW, unit="user", rows_per_user=12, side_inputs="conditioned")
LEARNER = PrivateTwoTower(tower=TOWER, private=HOW, steps=4, sampling_rate=0.05)
KEY = b"a key of the operator's"


@pytest.fixture(scope="module")
def corpus() -> data.Corpus:
    return data.demo()


def without(corpus: data.Corpus, rows: np.ndarray) -> data.Corpus:
    """The corpus without the rows in the mask; a user without rows is gone, as if never there."""
    keep = ~rows
    left = np.unique(corpus.user[keep])
    code = np.full(corpus.users, -1, corpus.user.dtype)
    code[left] = np.arange(left.size)
    return replace(
        corpus, user=code[corpus.user[keep]], item=corpus.item[keep], response=corpus.response[keep],
        positive=corpus.positive[keep], user_ids=corpus.user_ids[left],
    )  # fmt: skip


def flat(model) -> np.ndarray:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(model)])


def begin(corpus: data.Corpus, how: Private, **given) -> PrivateSteps:
    return PrivateSteps(towers_for(corpus, TOWER, 3), facts_for(corpus, how), log_for(corpus, how), how, seed=3, **given)


def rounds_by_user(corpus: data.Corpus, log) -> dict:
    out: dict = {}
    for first, count, user in zip(log.first.tolist(), log.count.tolist(), log.user.tolist(), strict=True):
        out.setdefault(str(corpus.user_ids[user]), []).append((corpus.item[first : first + count].tolist(), count))
    return out


def test_a_user_who_leaves_moves_nobody_else_to_another_part(corpus) -> None:
    part = dict(zip(corpus.user_ids.tolist(), parts(corpus).tolist(), strict=True))
    assert set(part.values()) == {0, 1, 2}
    moved = []
    for gone in range(0, corpus.users, 17):
        other = without(corpus, corpus.user == gone)
        assert dict(zip(other.user_ids.tolist(), parts(other).tolist(), strict=True)) == {
            one: p for one, p in part.items() if one != corpus.user_ids[gone]
        }
        moved.append((corpus.split().part[np.arange(corpus.users) != gone] != other.split().part).any())
    assert any(moved), "the split of a corpus does move others, which is why it is not used here"


def test_parts_have_the_shares_of_the_split() -> None:
    part = parts(data.synthetic_education(users=4000, items=20, per_user=4.0))
    assert np.bincount(part) / part.size == pytest.approx([0.72, 0.08, 0.20], abs=0.03)


def test_a_round_that_leaves_changes_no_other_record_of_the_learner(corpus) -> None:
    """The last round of one training user: everybody else's rounds are the same, and so is every other round of that user."""
    log = log_for(corpus, HOW)
    last = int(np.flatnonzero(log.user == log.user[0])[-1])
    rows = np.zeros(len(corpus), np.bool_)
    rows[log.first[last] : log.first[last] + log.count[last]] = True
    mine, others = rounds_by_user(corpus, log), rounds_by_user(without(corpus, rows), log_for(without(corpus, rows), HOW))
    name = str(corpus.user_ids[log.user[0]])
    assert {**mine, name: mine[name][:-1]} == others


def test_the_learner_reads_no_answer_of_a_user_it_holds_out(corpus) -> None:
    held = LEARNER.held_out(corpus)
    assert 0 < held.sum() < corpus.users
    other = replace(corpus, positive=np.where(held[corpus.user], ~corpus.positive, corpus.positive))
    for side in ("fixed", "conditioned"):
        learner = replace(LEARNER, private=replace(HOW, side_inputs=side))
        models = []
        for one in (corpus, other):
            run = learner.start(one, 5)
            run.sampled(0.05)
            models.append(flat(run.model))
        assert np.array_equal(*models)


def test_noise_needs_a_seed_that_somebody_drew(corpus) -> None:
    with pytest.raises(InvalidInput, match=r"secrets\.randbits") as refusal:
        LEARNER.fit(corpus)
    assert refusal.value.field == "seed"
    assert replace(LEARNER, private=replace(HOW, noise_multiplier=None)).fit(corpus).ledger.non_private


# Conditions


@pytest.mark.parametrize(
    ("how", "conditions"),
    [(HOW, ()), (replace(HOW, side_inputs="conditioned"), ("history", "item difficulty", "learner state")),
     (replace(USERS, side_inputs="fixed"), ()), (USERS, ("item difficulty",))],
)  # fmt: skip
def test_every_step_writes_what_it_is_conditioned_on(corpus, how: Private, conditions: tuple[str, ...]) -> None:
    run = begin(corpus, how)
    assert run.ledger.conditions == ()
    run.sampled(0.05)
    assert run.ledger.conditions == conditions
    inputs = {
        **dict.fromkeys(("scores", "widths", "similarity", "shown"), "dp-output"), "candidates": "public", "targets": "public",
        "state": pv.accounted(1.0, 1e-6),
    }  # fmt: skip
    scope = pv.assess(inputs, run.ledger)
    assert scope.regime == ("conditional" if conditions else "end-to-end")
    assert scope.unprotected == (("scores", "similarity", "widths", "shown") if conditions else ())


def test_fixed_side_inputs_leave_difficulties_unread_whatever_facts_are_handed_over(corpus) -> None:
    log, facts = log_for(corpus, HOW), facts_of(corpus)
    assert (np.asarray(facts.difficulty) != 0.5).any()
    other = facts._replace(difficulty=1.0 - facts.difficulty)
    sums = []
    for one in (facts, other):
        run = PrivateSteps(towers_for(corpus, TOWER, 3), one, log, HOW, seed=3)
        run._model = jax.tree.map(lambda leaf: leaf + 0.1, run._model)  # a fresh tower ignores the difficulty
        sums.append(flat(run._sum(np.arange(20))))
    assert np.array_equal(*sums)


# One run, one noise


def test_a_run_cannot_be_copied_or_pickled(corpus) -> None:
    run = begin(corpus, HOW)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a copy would draw the same noise"):
            attempt(run)


@pytest.mark.parametrize("name", ["ledger", "steps", "how", "model", "cap"])
def test_what_a_run_says_of_itself_cannot_be_assigned(corpus, name: str) -> None:
    run = begin(corpus, HOW)
    with pytest.raises(AttributeError):
        setattr(run, name, None)


# One ledger


def test_two_runs_write_into_one_ledger_and_draw_different_noise(corpus) -> None:
    ledger = pv.Ledger()
    one = begin(corpus, HOW, ledger=ledger)
    one.sampled(0.05)
    two = begin(corpus, HOW, ledger=ledger)
    two.sampled(0.05)
    assert one.ledger is two.ledger is ledger
    assert (len(ledger), one.steps, two.steps) == (2, 1, 1)
    assert not np.array_equal(jax.random.key_data(one._key), jax.random.key_data(two._key)), "the seed is the same"
    alone = begin(corpus, HOW)
    alone.sampled(0.05)
    assert len(alone.ledger.merge(ledger)) == 3


@pytest.mark.parametrize(
    ("ledger", "field"),
    [(pv.Ledger(unit="user"), "ledger.unit"), (pv.Ledger(neighbouring="replace-one"), "ledger.neighbouring"),
     (pv.Ledger(record="a fortnight of one user"), "ledger.record"), ({}, "ledger")],
)  # fmt: skip
def test_a_ledger_about_other_records_is_refused(corpus, ledger, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        begin(corpus, HOW, ledger=ledger)
    assert refusal.value.field == field


# The cap


def test_the_cap_is_enforced_and_reported(corpus) -> None:
    learner = replace(LEARNER, max_rounds_per_user=2, cap_key=KEY)
    run = learner.start(corpus, 5)
    free = log_for(corpus, HOW)
    per_user = np.bincount(np.asarray(run._log.user), minlength=corpus.users)
    assert per_user.max() == 2
    assert (per_user > 0).sum() == np.unique(free.user).size
    assert run.cap is not None
    assert run.cap.to_dict() == {
        "max_rounds_per_user": 2, "users": np.unique(free.user).size, "rounds": free.first.size,
        "capped_users": int((np.bincount(free.user) > 2).sum()),
        "dropped_rounds": int(np.maximum(np.bincount(free.user) - 2, 0).sum()),
    }  # fmt: skip
    assert run.ledger.population == run.cap.rounds - run.cap.dropped_rounds
    assert LEARNER.start(corpus, 5).cap is None
    assert "operator" not in repr(learner)
    run.sampled(0.05)
    level = pv.user_level_at(run.ledger, delta=1e-5, max_rounds_per_user=2)
    assert level.epsilon > run.ledger.epsilon(1e-5)


def test_the_cap_of_one_user_does_not_depend_on_the_others(corpus) -> None:
    log, gone = log_for(corpus, HOW), int(log_for(corpus, HOW).user[0])
    other = without(corpus, corpus.user == gone)
    kept = []
    for one, mine in ((corpus, log), (other, log_for(other, HOW))):
        left, _ = capped(mine, one, 5, max_rounds_per_user=2, key=KEY, keep_places=False)
        kept.append(rounds_by_user(one, left))
    assert {name: rounds for name, rounds in kept[0].items() if name != str(corpus.user_ids[gone])} == kept[1]


def test_a_capped_stream_keeps_every_place(corpus) -> None:
    learner = replace(LEARNER, regime="streaming", max_rounds_per_user=2, cap_key=KEY)
    run, free = learner.start(corpus, 5), replace(LEARNER, regime="streaming").start(corpus, 5)
    assert run.waiting == free.waiting
    count = np.asarray(run._log.count)
    assert (count == 0).sum() == run.cap.dropped_rounds > 0
    assert np.array_equal(count[count > 0], np.asarray(free._log.count)[count > 0])


@pytest.mark.parametrize(
    ("given", "field"),
    [({"max_rounds_per_user": 2}, "cap_key"), ({"cap_key": KEY}, "cap_key"),
     ({"max_rounds_per_user": 0, "cap_key": KEY}, "max_rounds_per_user"),
     ({"max_rounds_per_user": 2, "cap_key": KEY, "private": USERS}, "max_rounds_per_user"),
     ({"regime": "streaming", "private": USERS}, "unit")],
)  # fmt: skip
def test_caps_that_break_a_rule_are_refused(given: dict, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        replace(LEARNER, **given)
    assert refusal.value.field == field


def test_a_short_cap_key_is_refused_and_not_repeated(corpus) -> None:
    with pytest.raises(InvalidInput, match="key") as refusal:
        replace(LEARNER, max_rounds_per_user=2, cap_key=b"short").start(corpus, 5)
    assert "short" not in str(refusal.value)


# Whole users


def test_a_user_is_one_record_and_the_ledger_says_so(corpus) -> None:
    run = begin(corpus, USERS)
    training = np.flatnonzero(parts(corpus) == 0)
    assert np.asarray(run._log.user).tolist() == training.tolist()
    assert run.population == run.ledger.population == training.size
    assert run.ledger.unit == "user"
    run.sampled(0.1)
    level = pv.user_level_at(run.ledger, delta=1e-5, max_rounds_per_user=99)
    assert level == pv.UserLevel(run.ledger.epsilon(1e-5), 1e-5, None)


@pytest.mark.parametrize("side", ["conditioned", "fixed"])
def test_the_sum_is_that_of_clipped_user_gradients(corpus, side: str) -> None:
    """Oracle: every round of the first 12 rows by itself, under its own state and history; gradients added, then clipped."""
    how = replace(USERS, side_inputs=side)
    run = begin(corpus, how)
    rounds = log_of(corpus, parts(corpus) == 0, how.rows_per_round)
    one_gradient = jax.jit(jax.grad(pointwise_loss))
    index, expected, clipped = np.arange(9), 0.0, 0
    for user in np.asarray(run._log.user)[index]:
        total, left = 0.0, 12
        for place in np.flatnonzero(rounds.user == user):
            count = min(left, int(rounds.count[place]))
            single = rounds._replace(first=rounds.first[[place]], count=np.array([count]))
            batch = gather(type(single)(*map(jnp.asarray, single)), jnp.array([0]), how.rows_per_round)
            total = total + flat(one_gradient(run.model, run._facts, neutral(batch) if side == "fixed" else batch))
            left -= count
        norm = np.linalg.norm(total)
        clipped += norm > how.clip
        expected = expected + total * min(1.0, how.clip / norm)
    assert clipped > 0
    np.testing.assert_allclose(flat(run._sum(index)), expected, atol=3e-5)


def test_one_user_moves_the_sum_by_at_most_the_clip(corpus) -> None:
    run = begin(corpus, replace(USERS, clip=0.1))
    index = np.arange(run.population)
    whole = flat(run._sum(index))
    for gone in index[::11]:
        moved = np.linalg.norm(whole - flat(run._sum(np.delete(index, gone))))
        assert 0.05 < moved <= 0.1 * (1 + 1e-3)


def test_rows_beyond_the_bound_are_not_read(corpus) -> None:
    run = begin(corpus, USERS)
    user = int(np.argmax(np.diff(corpus.user_starts) * (parts(corpus) == 0)))
    place, start = int(np.flatnonzero(np.asarray(run._log.user) == user)[0]), corpus.user_starts[user]
    assert np.diff(corpus.user_starts)[user] > 13
    for row, same in ((start + 12, True), (start + 11, False)):
        positive = corpus.positive.copy()
        positive[row] = ~positive[row]
        other = PrivateSteps(run.model, run._facts, log_for(replace(corpus, positive=positive), USERS), USERS, seed=3)
        assert np.array_equal(flat(run._sum(np.array([place]))), flat(other._sum(np.array([place])))) is same


def test_two_records_of_one_user_are_refused(corpus) -> None:
    with pytest.raises(InvalidInput, match="one record per user"):
        PrivateSteps(towers_for(corpus, TOWER, 3), facts_of(corpus), log_for(corpus, HOW), USERS, seed=3)


def test_whole_users_do_not_stream_and_do_not_grow(corpus) -> None:
    run = begin(corpus, USERS)
    with pytest.raises(InvalidInput, match="unit: of a stream"):
        run.arrivals(3)
    with pytest.raises(InvalidInput, match="cannot grow"):
        run.extend(log_for(corpus, USERS))


# Rounds that come later


def test_rounds_that_come_later_take_the_next_places(corpus) -> None:
    """Two halves of a log one after the other are the log: the same steps, the same entries, the same bits."""
    how = replace(HOW, side_inputs="conditioned")
    whole = log_for(corpus, how)
    half = whole.first.size // 2 // 10 * 10
    early, late = (
        whole._replace(first=whole.first[s], count=whole.count[s], user=whole.user[s]) for s in (slice(half), slice(half, None))
    )
    runs = [PrivateSteps(towers_for(corpus, TOWER, 3), facts_of(corpus), one, how, seed=3) for one in (whole, early)]
    for _ in range(half // 10):
        runs[1].arrivals(10)
    assert runs[1].waiting == 0
    runs[1].extend(late)
    assert runs[1].waiting == late.first.size
    assert runs[1].population == runs[1].ledger.population == whole.first.size
    for run in runs:
        while run.waiting:
            run.arrivals(10)
    assert runs[0].steps == runs[1].steps
    assert runs[0].ledger.digest == runs[1].ledger.digest
    assert np.array_equal(flat(runs[0].model), flat(runs[1].model))


def test_a_history_that_is_not_in_the_later_log_is_refused(corpus) -> None:
    log = log_for(corpus, HOW)
    with pytest.raises(InvalidInput, match="must hold the rows that its rounds have as history"):
        joined(log, log._replace(seen=np.asarray(log.seen) + len(corpus)))


def test_a_run_that_goes_on_elsewhere_keeps_ledger_and_place(corpus) -> None:
    log = log_for(corpus, HOW)
    first = begin(corpus, HOW)
    first.arrivals(30)
    rest = log._replace(first=log.first[30:], count=log.count[30:], user=log.user[30:])
    ledger = pv.Ledger.from_dict(first.ledger.to_dict())
    with pytest.raises(InvalidInput, match="was used already"):
        PrivateSteps(first.model, facts_of(corpus), rest, HOW, seed=4, ledger=ledger).arrivals(30)
    second = PrivateSteps(first.model, facts_of(corpus), rest, HOW, seed=4, ledger=ledger, place=30)
    second.arrivals(30)
    assert len(ledger) == 2
    assert ledger.epsilon(1e-5) == first.ledger.epsilon(1e-5)


# By name


@pytest.mark.slow
def test_the_private_learner_is_trained_by_name_with_a_seed_that_nobody_is_told(corpus, tmp_path) -> None:
    scorer, report = learn.train(corpus, "private-two-tower", epsilon=2.0, delta=1e-6)
    assert 1.99 < scorer.ledger.epsilon(1e-6) <= 2.0
    assert (scorer.ledger.conditions, scorer.seed, report.seed) == ((), 0, None)
    assert "secret seed" in report.to_text()
    assert report.held_out.users == int((LEARNER.held_out(corpus) & (np.diff(corpus.user_starts) >= 2)).sum())
    again, _ = learn.train(corpus, "private-two-tower", epsilon=2.0, delta=1e-6)
    assert not np.array_equal(np.asarray(scorer.vectors), np.asarray(again.vectors))
    scorer.save(tmp_path / "m.npz")
    assert learn.open_model(tmp_path / "m.npz", corpus).ledger.digest == scorer.ledger.digest


def test_a_budget_is_for_private_learners() -> None:
    assert learn.learner("private-two-tower").name == "private-two-tower"
    for budget in ({"epsilon": 1.0}, {"delta": 1e-6}):
        with pytest.raises(InvalidInput, match="is for private learners") as refusal:
            learn.learner("als", **budget)
        assert refusal.value.field in budget
