"""The end-to-end experiment: rounds from a log, the regime with its ledger, what the rows say, and the page in docs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slateproof import corpora as data
from slateproof import privacy as pv
from slateproof.corpora import Corpus, synthetic_education
from slateproof.experiments import end_to_end as x
from slateproof.experiments import private_inputs as i
from slateproof.experiments import private_slates as w
from slateproof.experiments.core import Result, Task
from slateproof.experiments.counting import counting_rows
from slateproof.experiments.output import plain
from slateproof.experiments.shelf import Shelf
from slateproof.policy import Policy
from slateproof.privacy.releases import bounded_counts

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "end-to-end.md"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load(ROOT / "examples" / "end-to-end.toml")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_education(users=400, items=60, per_user=20.0, skills=6)


@pytest.fixture(scope="module")
def table(policy: Policy, corpus: Corpus) -> list[dict[str, Any]]:
    return w.rows(policy, corpus, epsilons=(0.5, 8.0, math.inf), seeds=(0, 1), subjects=80)


def test_the_policy_uses_types_one_to_three_only(policy: Policy) -> None:
    scope = policy.scope()
    assert {status.kind for _, status in scope.inputs} == {"public", "dp-output"}
    assert scope.regime == "conditional"  # without a ledger
    assert scope.epsilon is None


def test_with_the_ledger_of_the_releases_it_is_end_to_end(policy: Policy, corpus: Corpus) -> None:
    ledger = pv.Ledger()
    i.private(i.timetable(corpus), 2.0, ledger, (0,))
    scope = policy.scope(ledger)
    assert (scope.regime, scope.unprotected, len(ledger)) == ("end-to-end", (), 2)
    assert scope.delta == i.DELTA
    assert scope.epsilon is not None
    assert 1.99 < scope.epsilon <= 2.0
    # Two Gaussians compose to one: Balle and Wang's delta at this epsilon, in plain formulas.
    s = sum(1 / one.noise_multiplier**2 for one in ledger.releases if isinstance(one, pv.ledger.Gaussian)) ** -0.5
    normal = lambda t: 0.5 * math.erfc(-t / math.sqrt(2))  # noqa: E731
    delta = normal(0.5 / s - scope.epsilon * s) - math.exp(scope.epsilon) * normal(-0.5 / s - scope.epsilon * s)
    assert delta == pytest.approx(i.DELTA, rel=1e-3)


@pytest.mark.parametrize("weak", ["scores", "targets", "state", "widths", "candidates"])
def test_one_raw_input_ends_it(policy: Policy, corpus: Corpus, weak: str) -> None:
    ledger = pv.Ledger()
    i.private(i.timetable(corpus), 2.0, ledger, (0,))
    inputs = {**policy.privacy.inputs, weak: "conditioned"}
    scope = pv.assess(inputs, ledger, delta=i.DELTA)
    assert scope.regime == "conditional"
    assert scope.unprotected == tuple(name for name in pv.INPUTS if name in (weak, "shown"))


def test_raw_inputs_by_a_plain_loop(corpus: Corpus) -> None:
    log = i.timetable(corpus)
    found = i.raw(log)
    for subject in (0, 7, 399):
        mine = np.flatnonzero(log.subject == subject)
        by_tick = {t: [log.correct[r] for r in mine if log.tick[r] == t] for t in set(log.tick[mine].tolist())}
        assert found.engagement[subject] == pytest.approx(len(by_tick) / 20)
        assert found.knowledge[subject] == pytest.approx(sum(sum(v) / len(v) for v in by_tick.values()) / len(by_tick))
    for item in (0, 59):
        assert found.difficulty[item] == pytest.approx(1 - log.correct[log.item == item].mean())


def test_a_round_less_changes_one_tick_of_one_subject(corpus: Corpus) -> None:
    log = i.timetable(corpus)
    keep = ~((log.subject == 5) & (log.tick == log.tick[log.subject == 5][0]))
    less = replace(log, subject=log.subject[keep], tick=log.tick[keep], item=log.item[keep], correct=log.correct[keep])
    pairs = [np.stack([a * c, a * (1 - c)], axis=2) for a, c in (i.rounds_of(log), i.rounds_of(less))]
    moved = pairs[0] - pairs[1]
    assert np.linalg.norm(moved) <= 1.0
    assert (np.abs(moved).sum(axis=2) > 0).sum() == 1
    assert np.linalg.norm(pv.Factorisation.square_root(20).encoder @ moved[:, 5]) <= 1.4199
    counts = [
        bounded_counts(one.subject, one.tick, one.item, one.correct, item_count=one.items, clip=i.CLIP, unit="round")
        for one in (log, less)
    ]
    assert 0 < np.linalg.norm(counts[0] - counts[1]) <= i.CLIP * (1 + 1e-12)


def test_slates_read_nothing_but_what_was_released(policy: Policy, corpus: Corpus) -> None:
    """Another log with the same released values gives the same slates: Lemma "Post-processing privacy", as a check of the code."""
    released = i.private(i.timetable(corpus), 4.0, pv.Ledger(), (0,))
    others = synthetic_education(users=400, items=60, per_user=20.0, skills=6, seed=7)
    pools = np.argsort(np.random.default_rng(0).random((30, 60)), axis=1)[:, :40]
    public = replace(others, items=replace(others.items, **{n: getattr(corpus.items, n) for n in ("tag_starts", "tag_codes")}))
    slates = [w.select(policy, one, released, pools, np.arange(30)) for one in (corpus, public)]
    assert [slates[0][b].ids for b in range(30)] == [slates[1][b].ids for b in range(30)]


def test_slates_are_read_in_order_and_by_item(policy: Policy, corpus: Corpus) -> None:
    log = i.timetable(corpus)
    pools = np.argsort(np.random.default_rng(0).random((10, 60)), axis=1)[:, :30]
    world = w.World(policy, corpus, log, pools, np.arange(10))
    batch = w.select(policy, corpus, world.truth, pools, np.arange(10))
    assert [tuple(corpus.items.ids[list(one)]) for one in world.slates] == [batch[b].ids for b in range(10)]
    same = world.compare(world.slates)
    assert (same["jaccard"], same["flip"]) == (1.0, 0.0)
    swapped = [(one[1], one[0], *one[2:]) for one in world.slates]
    assert (world.compare(swapped)["jaccard"], world.compare(swapped)["flip"]) == (1.0, 1.0)
    first = world.slates[0]
    distance = [abs(world.difficulty[i] - world.target[0]) for i in first]
    assert w.World.compare(world, world.slates[:1] * 10)["target_distance"] != same["target_distance"]
    assert min(distance) <= sum(distance) / len(distance)


def test_rows_say_what_ran(table: list[dict[str, Any]]) -> None:
    assert [(row["seed"], row["epsilon_target"]) for row in table] == [(s, e) for s in (0, 1) for e in (0.5, 8.0, math.inf)]
    for row in table:
        assert row["corpus"] == "synthetic-education (synthetic)"
        finite = math.isfinite(row["epsilon_target"])
        assert row["regime"] == ("end-to-end" if finite else "anchored")
        assert row["epsilon"] <= row["epsilon_target"] < row["user_epsilon"] or not finite
        assert row["epsilon"] > 0.999 * row["epsilon_target"] or not finite
    for little, much, off in (table[:3], table[3:]):
        for name in ("difficulty_error", "knowledge_error", "engagement_error"):
            assert little[name] > much[name] > off[name] >= 0, name
        assert off["knowledge_error"] == 0.0
        assert off["jaccard"] > much["jaccard"]
        assert off["target_distance"] < little["target_distance"]


def test_a_row_depends_on_its_seed_and_epsilon_only(policy: Policy, corpus: Corpus, table: list[dict[str, Any]]) -> None:
    assert w.rows(policy, corpus, epsilons=(8.0,), seeds=(1,), subjects=80) == [table[4]]


def test_without_oulad_the_experiment_is_synthetic_and_says_so() -> None:
    told: list[int] = []
    task = Task(x.EXPERIMENT.quick, Shelf(None), 42, lambda done, total, what: told.append(done))
    result = x.EXPERIMENT.run(task)
    assert told == sorted(told)
    assert len(result.rows) == 3
    assert all(row["corpus"].endswith("(synthetic)") for row in result.rows)
    assert "synthetic" in result.tables[0].caption
    assert "synthetic" in result.figures[0].caption
    assert result.skipped == ("oulad: no data folder given; a synthetic corpus stands in",)
    assert Result.from_dict(plain(result.to_dict())).summary == plain(result.summary)
    noise, budget = result.summary["target_distance_1"], result.summary["target_distance_inf"]
    assert result.summary["target_distance_raw"] < budget < noise


def test_the_policy_of_the_experiment_is_that_of_the_example(policy: Policy) -> None:
    assert x.POLICY.resolved() == policy.resolved()


def test_the_example_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.finditer(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile("\n" * text.count("\n", 0, block.start(1)) + block[1], str(PAGE), "exec"), {})


def test_the_page_holds_the_noise_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    lines = x.markdown([], counting_rows(ticks=(8, 20)))[1].splitlines()
    assert len(lines) == 6
    for line in lines:
        assert line in page, line


def test_budgets_are_rounded_up() -> None:
    assert [x._up(one) for one in (0.5, 14.3225, 82.012, 613.7, math.inf)] == ["0.5", "14.4", "82.1", "614", "∞"]


@pytest.mark.corpus
@pytest.mark.slow
def test_the_page_holds_the_figures_of_oulad(corpora: Path, policy: Policy) -> None:
    corpus = data.load("oulad", corpora)
    assert i.raw(i.timetable(corpus)).difficulty == pytest.approx(corpus.items.difficulty, abs=1e-12)
    page = PAGE.read_text(encoding="utf-8")
    for line in x.markdown(w.rows(policy, corpus, epsilons=(1.0, math.inf), seeds=(42, 43, 44)), [])[0].splitlines():
        assert line in page, line
