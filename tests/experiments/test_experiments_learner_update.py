"""What the learner-update diagnostic measures, on movements that are known; and the updates themselves, small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from slateproof.experiments import learner_update
from slateproof.experiments.learner_update import _tails, measured
from slateproof.learn.blend import standardised
from tests.experiments.experiment_world import SmallShelf, run


@pytest.fixture
def before() -> np.ndarray:
    return standardised(np.random.default_rng(0).standard_normal((4, 60)))[0]


def test_what_does_not_move_has_no_flips(before: np.ndarray) -> None:
    cell = measured(before, np.repeat(before[None], 3, axis=0) + 1e-9, 10, 20, np.random.default_rng(1))
    assert (cell["flip_w000"], cell["flip_w075"], cell["jaccard_w075"]) == (0.0, 0.0, 1.0)


def test_scale_and_level_of_raw_scores_do_not_count(before: np.ndarray) -> None:
    after = np.random.default_rng(2).standard_normal((3, 4, 60))
    one, other = (measured(before, scores, 10, 20, np.random.default_rng(1)) for scores in (after, 7.0 * after - 3.0))
    assert one == pytest.approx(other)


def test_tails_are_beyond_the_own_scale_of_each_pair() -> None:
    scale = np.repeat([0.5, 2.0], 20)
    cell = _tails(scale * np.random.default_rng(0).standard_normal((4_000, 40)))
    assert cell["tau"] == pytest.approx(1.25, rel=0.01)
    assert cell["tau_spread"] == pytest.approx(0.75 / 1.25, rel=0.02)
    pooled = np.sqrt((0.25 + 4.0) / 2.0)
    for tag, u in (("20", 2.0), ("25", 2.5)):
        assert cell[f"tail_{tag}"] == pytest.approx(norm.sf(u), abs=1e-3)
        assert cell[f"tail_{tag}_pooled"] == pytest.approx(norm.sf(u * pooled / scale).mean(), abs=1e-3)
        assert cell[f"tail_{tag}_pooled"] > 1.5 * cell[f"tail_{tag}"]


def test_movement_has_its_own_scale_and_shrinks_the_old_lead(before: np.ndarray) -> None:
    after = before + 0.3 * np.random.default_rng(3).standard_normal((400, 4, 60))
    cell = measured(before, after, 10, 50, np.random.default_rng(1))
    assert cell["mean"] > 0.05  # what moves a pool shrinks the lead of its top items
    # Standardised again, the noise shrinks by sqrt(1 + .3²), and the old scores with it.
    assert cell["tau"] == pytest.approx(0.3 * np.sqrt(2.0 / 1.09), rel=0.1)
    assert cell["flip_w000"] >= cell["flip_w050"] >= cell["flip_w075"] > 0.0


def test_without_the_corpus_nothing_is_compared() -> None:
    found = run(learner_update.EXPERIMENT, SmallShelf(()))
    assert {one.verdict for one in found.verdicts} == {"not comparable"}
    assert found.skipped == ("oulad: not in the data folder (a file)",)


@pytest.mark.slow
def test_adam_hides_the_tier_that_sgd_shows() -> None:
    changes = {"seeds": 10, "quiet_seeds": 10, "depths": (8,), "pools": 4, "candidates": 30, "rounds": 100, "warm": 8}
    # Standardised scores cannot move farther than 2: a step so small that no tier comes near it.
    changes |= {"sgd_step": 0.01}
    found = run(learner_update.EXPERIMENT, **changes)
    assert found.summary["tau_adam_locked_over_standard_8"] < 1.3
    assert found.summary["tau_sgd_locked_over_standard_8"] > 3.0
    assert len(found.rows) == 8
