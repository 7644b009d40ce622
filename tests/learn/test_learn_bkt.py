"""BKT against plain Python: Bayes by hand, likelihood and expectations by enumerating every hidden path."""

from __future__ import annotations

from itertools import chain, pairwise, product
from typing import Any

import numpy as np
import pytest

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn.bkt import BKT, skills
from slateproof.learn.bkt_em import _expect, fit_em
from slateproof.learn.protocol import Context, Feedback

CORPUS = corpora.demo()


def paths(answers: list[bool], theta: tuple[float, ...]) -> list[tuple[tuple[int, ...], float]]:
    """Every hidden path (0 not mastered, 1 mastered) with its joint probability with the answers."""
    initial, transit, slip, guess = theta
    out = []
    for path in product((0, 1), repeat=len(answers)):
        chance = initial if path[0] else 1 - initial
        for before, after in pairwise(path):
            chance *= {(0, 0): 1 - transit, (0, 1): transit, (1, 1): 1.0, (1, 0): 0.0}[before, after]
        for state, right in zip(path, answers, strict=True):
            chance *= (1 - slip if right else slip) if state else (guess if right else 1 - guess)
        out.append((path, chance))
    return out


def enumerated(sequences: list[list[bool]], theta: tuple[float, ...]) -> tuple[np.ndarray, float]:
    """Expected event counts and log-likelihood, as ``_expect`` gives them."""
    counts, value = np.zeros((4, 2)), 0.0
    for answers in sequences:
        weighted = paths(answers, theta)
        total = sum(chance for _, chance in weighted)
        value += np.log(total)
        for path, chance in weighted:
            w = chance / total
            counts[0] += w * np.array([path[0], 1])
            for before, after in pairwise(path):
                counts[1] += w * np.array([after, 1]) * (before == 0)
            for state, right in zip(path, answers, strict=True):
                counts[2] += w * np.array([not right, 1]) * (state == 1)
                counts[3] += w * np.array([right, 1]) * (state == 0)
    return counts, value


def simulated(learners: int, theta: tuple[float, ...], seed: int, length: int = 12) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    initial, transit, slip, guess = theta
    user, correct = [], []
    for u in range(learners):
        known = rng.random() < initial
        for _ in range(int(rng.integers(3, length + 1))):
            user.append(u)
            correct.append(rng.random() < (1 - slip if known else guess))
            known = known or rng.random() < transit
    return np.array(user), np.array(correct)


def test_expectations_are_those_of_all_hidden_paths() -> None:
    sequences = [[True, False, True, True], [False], [False, False, True, False, True], [True, True]]
    theta = (0.3, 0.15, 0.12, 0.22)
    answers = np.array(list(chain.from_iterable(sequences)))
    heads = np.cumsum([0, *map(len, sequences)])
    counts, value = _expect(answers, heads, np.array(theta), np.empty(answers.size), np.empty(answers.size))
    expected, likelihood = enumerated(sequences, theta)
    np.testing.assert_allclose(counts, expected, atol=1e-12)
    assert value == pytest.approx(likelihood, abs=1e-12)


def test_em_is_plain_em_over_all_hidden_paths() -> None:
    user, correct = simulated(12, (0.4, 0.2, 0.1, 0.25), seed=3, length=6)
    sequences = [correct[user == u].tolist() for u in range(12)]
    theta = (0.1, 0.1, 0.1, 0.2)
    for _ in range(7):
        counts, _ = enumerated(sequences, theta)
        theta = tuple(np.clip(counts[:, 0] / counts[:, 1], 1e-3, [0.999, 0.999, 0.5, 0.5]))
    start = np.array([[0.1, 0.1, 0.1, 0.2]])
    fitted = fit_em(np.zeros(user.size, np.int64), user, correct, start, 7, tolerance=-np.inf)
    np.testing.assert_allclose(fitted[0], theta, atol=1e-10)


def test_em_finds_the_parameters_that_made_the_answers() -> None:
    truth = (0.3, 0.12, 0.08, 0.22)
    user, correct = simulated(4000, truth, seed=1)
    fitted = fit_em(np.zeros(user.size, np.int64), user, correct, np.array([[0.1, 0.1, 0.1, 0.2]]), 500)
    np.testing.assert_allclose(fitted[0], truth, atol=0.03)


def test_likelihood_never_falls_and_skills_do_not_mix() -> None:
    user, correct = simulated(60, (0.3, 0.1, 0.1, 0.2), seed=5)
    other_user, other = simulated(50, (0.6, 0.3, 0.05, 0.4), seed=6)
    start = np.tile([0.1, 0.1, 0.1, 0.2], (3, 1))
    skill = np.r_[np.zeros(user.size, np.int64), np.full(other.size, 2)]
    both = fit_em(skill, np.r_[user, other_user], np.r_[correct, other], start, 30)
    np.testing.assert_array_equal(both[1], start[1])
    np.testing.assert_array_equal(both[0], fit_em(skill[: user.size], user, correct, start, 30)[0])
    heads = np.flatnonzero(np.r_[True, user[1:] != user[:-1], True])
    values = []
    for rounds in range(1, 12):
        theta = fit_em(skill[: user.size], user, correct, start, rounds, tolerance=-np.inf)[0]
        values.append(_expect(correct, heads, theta, np.empty(user.size), np.empty(user.size))[1])
    assert np.diff(values).min() > -1e-9


def test_a_session_follows_bayes_and_transit() -> None:
    scorer = BKT().fit(CORPUS)
    skill, _ = skills(CORPUS)
    same = np.flatnonzero(skill == skill[0])[:3]
    context = Context.new(1)
    session = scorer.begin(context, 0)
    assert scorer.score(session, context, same[None]).scores[0, 0] == pytest.approx(0.1 * 0.9 + 0.9 * 0.2)
    known = 0.1
    for right in (True, False, True):
        one = Feedback(same[None, :1], np.array([[True]]), np.array([[right]]))
        session = scorer.update(session, context, one)
        yes, no = (known * 0.9, (1 - known) * 0.2) if right else (known * 0.1, (1 - known) * 0.8)
        known = yes / (yes + no) + (1 - yes / (yes + no)) * 0.1
        expected = known * 0.9 + (1 - known) * 0.2
        np.testing.assert_allclose(scorer.score(session, context, same[None]).scores[0], expected, atol=1e-12)


def test_skills_are_those_of_the_corpus_or_the_items(tmp_path) -> None:
    skill, count = skills(CORPUS)
    assert count == len(CORPUS.items.tag_names)  # of which every one is some item's skill
    assert [CORPUS.items.tag_names[k] for k in skill[:20]] == [CORPUS.items.tags(i)[0] for i in range(20)]
    rows = [f"{u},{i},{(u + i) % 2},{tags}" for u in range(4) for i, tags in enumerate(["b|a", "", "b"])]
    (tmp_path / "t.csv").write_text("u,i,r,t\n" + "\n".join(rows) + "\n")
    tagged = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r", tags="t")
    assert tagged.items.tags(0) == ("a", "b")
    assert [tagged.items.tag_names[t] for t in tagged.items.skill[[0, 2]]] == ["b", "b"]
    assert (skills(tagged)[0].tolist(), skills(tagged)[1]) == ([0, 1, 0], 2)
    plain = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r")
    assert skills(plain)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("field", "value"), [("initial", 1.2), ("slip", 0.85), ("iterations", 0), ("guess", float("nan"))])
def test_bad_settings_are_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        BKT(**{field: value})


def test_impossible_answers_teach_nothing() -> None:
    scorer = BKT(initial=1.0, slip=0.0, guess=0.0, transit=0.0).fit(CORPUS)
    context = Context.new(1)
    wrong = Feedback(np.array([[0]]), np.array([[True]]), np.array([[False]]))
    session = scorer.update(scorer.begin(context, 0), context, wrong)
    assert scorer.score(session, context, np.array([[0]])).scores[0, 0] == 1.0


def test_em_ends_where_pybkt_ends() -> None:
    """pyBKT 1.4.3, best of three random starts, on these answers (it stops at a gain of .001, hence the tolerance)."""
    pybkt = np.array([0.35114392, 0.10023391, 0.07230813, 0.18822462])
    user, correct = simulated(400, (0.3, 0.12, 0.08, 0.22), seed=8)
    fitted = fit_em(np.zeros(user.size, np.int64), user, correct, np.array([[0.1, 0.1, 0.1, 0.2]]), 5000, tolerance=1e-12)[0]
    np.testing.assert_allclose(fitted, pybkt, atol=1.5e-3)
    heads = np.flatnonzero(np.r_[True, user[1:] != user[:-1], True])
    ours, theirs = (_expect(correct, heads, theta, np.empty(user.size), np.empty(user.size))[1] for theta in (fitted, pybkt))
    assert ours >= theirs
