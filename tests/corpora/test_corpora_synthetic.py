"""Synthetic corpora: seeded, called synthetic, and true to their documented models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof.corpora import CORPORA, check, demo, load, load_surrogate, synthetic_education, synthetic_ratings
from slateproof.corpora.synthetic import answers, counts_per_user, draw_items, rasch_difficulties
from slateproof.errors import InvalidInput

MAKERS = {"synthetic-education": synthetic_education, "synthetic-ratings": synthetic_ratings, "synthetic-demo": demo}


@pytest.mark.parametrize("name", MAKERS)
def test_each_is_seeded_and_says_that_it_is_synthetic(name: str) -> None:
    one, again, other = MAKERS[name](), MAKERS[name](seed=42), MAKERS[name](seed=7)
    assert one.digest == again.digest != other.digest
    assert one.name == name
    assert one.synthetic
    assert CORPORA[name].synthetic
    assert "synthetic" in one.label
    assert "synthetic" in one.describe().to_text().splitlines()[0]
    assert one.describe().to_dict()["synthetic"] is True
    assert load(name).digest == one.digest
    assert check(one).ok is None


@settings(max_examples=40)
@given(st.integers(1, 300), st.floats(1.0, 90.0), st.floats(0.0, 2.0), st.integers(0, 9))
def test_counts_are_at_least_one_and_sum_to_the_stated_mean(users: int, mean: float, tail: float, seed: int) -> None:
    counts = counts_per_user(users, mean, tail, np.random.default_rng(seed))
    assert counts.size == users
    assert counts.min() >= 1
    assert counts.sum() == round(mean * users)


def test_the_tail_is_lognormal() -> None:
    logs = np.log(counts_per_user(40_000, 300.0, 1.5, np.random.default_rng(3)))
    assert logs.std() == pytest.approx(1.5, abs=0.05)
    assert np.mean((logs - logs.mean()) ** 3) / logs.std() ** 3 == pytest.approx(0.0, abs=0.15)


def test_every_item_is_drawn_and_popular_ones_more_often() -> None:
    rng = np.random.default_rng(0)
    even = np.bincount(draw_items(200_000, 100, 0.0, rng), minlength=100)
    skewed = np.sort(np.bincount(draw_items(200_000, 100, 1.0, rng), minlength=100))[::-1]
    assert even.min() > 1_700
    expected = 1 / (np.arange(100) + 10.0)
    assert skewed / 200_000 == pytest.approx(expected / expected.sum(), abs=0.002)
    assert sorted(set(draw_items(100, 100, 1.0, rng).tolist())) == list(range(100))
    assert set(draw_items(10, 100, 1.0, rng).tolist()) <= set(range(100))


def test_answers_follow_the_rasch_curve_with_learning() -> None:
    """With two items at b = -1 and 1 and many one-ability users, the log odds differ by 2 up to the spread of ability."""
    rng = np.random.default_rng(1)
    users, length = 20_000, 60
    counts = np.full(users, length)
    user = np.repeat(np.arange(users, dtype=np.int32), counts)
    item = rng.integers(0, 2, user.size).astype(np.int32)
    right = answers(user, counts, item, np.array([-1.0, 1.0]), 0.6, rng)
    assert right.mean() == pytest.approx(0.6, abs=0.01)
    place = np.tile(np.arange(length), users)
    # An independent integral over ability gives the share at each place and difficulty, for the level that gives .6 overall.
    grid, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()

    def share(level: float, b: float, n: int) -> float:
        return float(weight @ (1 / (1 + np.exp(-(grid + 0.6 * (1 - np.exp(-n / 40)) - b + level)))))

    levels = np.linspace(-2, 2, 401)
    overall = [np.mean([share(v, b, n) for b in (-1, 1) for n in range(0, 60, 4)]) for v in levels]
    level = float(np.interp(0.6, overall, levels))
    for n in (0, 59):
        for code, b in ((0, -1.0), (1, 1.0)):
            found = right[(place == n) & (item == code)].mean()
            assert found == pytest.approx(share(level, b, n), abs=0.025)
    assert share(level, 1.0, 59) - share(level, 1.0, 0) > 0.08  # learning is visible


def test_a_third_of_the_difficulty_is_shared_through_tags() -> None:
    tags = np.repeat(np.arange(400), 50)[:, None]
    b = rasch_difficulties(tags, np.random.default_rng(5))
    assert (b.mean(), b.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    assert b.reshape(400, 50).mean(axis=1).var() == pytest.approx(1 / 3 + (2 / 3) / 50, abs=0.04)


def test_harder_items_are_answered_rightly_less_often() -> None:
    corpus = synthetic_education(users=3_000, items=60, per_user=60.0)
    share = 1 - np.bincount(corpus.item, corpus.positive) / corpus.items.count
    assert np.corrcoef(share, corpus.items.difficulty)[0, 1] > 0.97
    assert corpus.positive.mean() == pytest.approx(0.65, abs=0.02)
    assert all(len(corpus.items.tags(i)) == 1 for i in range(60))


def test_ratings_are_half_stars_and_genres_carry_taste() -> None:
    corpus = synthetic_ratings(users=1_500, items=200, per_user=60.0)
    assert set((corpus.response * 2).tolist()) <= set(range(1, 11))
    assert (corpus.positive == (corpus.response >= 4.0)).all()
    tags = corpus.items.tag_vectors()
    centred = corpus.response - (np.bincount(corpus.item, corpus.response) / corpus.items.count)[corpus.item]
    taste = np.zeros((corpus.users, tags.shape[1]))
    np.add.at(taste, corpus.user, centred[:, None] * tags[corpus.item])
    # users like items of the genres they liked in the *other* half of their rows more than those they did not
    half = corpus.order % 2 == 0
    first = np.zeros_like(taste)
    np.add.at(first, corpus.user[half], centred[half, None] * tags[corpus.item[half]])
    predicted = np.einsum("ij,ij->i", first[corpus.user[~half]], tags[corpus.item[~half]])
    assert np.corrcoef(predicted, centred[~half])[0, 1] > 0.2


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"users": 2}, "users"),
        ({"items": 0}, "items"),
        ({"per_user": 0.5}, "per_user"),
        ({"per_user": float("nan")}, "per_user"),
        ({"tail": -1.0}, "tail"),
        ({"correct_share": 1.0}, "correct_share"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        synthetic_education(**options)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_the_surrogate_keeps_questions_and_simulates_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    rows = [f"q{k},b{k},e{k},{'abcd'[k % 4]},{k % 7 + 1},{k % 9};{k % 5},1" for k in range(1, 301)]
    path.write_text("\n".join(["question_id,bundle_id,explanation_id,correct_answer,part,tags,deployed_at", *rows]) + "\n", "utf-8")
    corpus = load_surrogate(path, users=500, items=200, per_user=40.0)
    assert (len(corpus), corpus.users, len(corpus.items)) == (20_000, 500, 200)
    assert corpus.label == "ednet-surrogate (synthetic)"
    assert len(set(corpus.items.ids.tolist())) == 200
    assert set(corpus.items.ids.tolist()) <= {f"q{k}" for k in range(1, 301)}
    code = corpus.items.ids.tolist().index("q17") if "q17" in corpus.items.ids else 0
    k = int(str(corpus.items.ids[code])[1:])
    assert set(corpus.items.tags(code)) == {f"part {k % 7 + 1}", f"skill {k % 9}", f"skill {k % 5}"}
    assert all(str(u).startswith("synthetic") for u in corpus.user_ids)
    with pytest.raises(InvalidInput, match="at most the 300 questions"):
        load_surrogate(path, items=301)
