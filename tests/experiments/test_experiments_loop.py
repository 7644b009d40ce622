"""Every loop experiment runs on a small world, reads nothing that is not there, and computes its verdicts from its rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from loop_world import SMALL, loop, task

from slateproof.experiments import (
    loop_closed,
    loop_components,
    loop_drift,
    loop_noise,
    loop_probes,
    loop_robustness,
    loop_runs,
    loop_simulator,
    loop_subgroups,
    loop_tiers,
)
from slateproof.experiments.core import Result
from slateproof.experiments.draw import to_svg
from slateproof.experiments.labels import COVERED
from slateproof.experiments.loop_runs import LoopConfig
from slateproof.experiments.output import csv_text, latex, plain
from slateproof.simulate import MODES, mode
from slateproof.simulate.modes import PRIVATE

CONFIGS: dict[Any, LoopConfig] = {
    loop_closed: LoopConfig(**SMALL),
    loop_components: LoopConfig(**SMALL),
    loop_drift: LoopConfig(**SMALL),
    loop_robustness: LoopConfig(**SMALL),
    loop_subgroups: LoopConfig(**SMALL),
    loop_probes: LoopConfig(**SMALL),
    loop_simulator: loop_simulator.SimulatorConfig(**SMALL, learners=60),
    loop_noise: loop_noise.NoiseConfig(**SMALL, noise_copies=1, sigmas=(0.02, 0.20)),
    loop_tiers: loop_tiers.TierConfig(**SMALL, sweep_copies=1, cohort_users=100),
}


@cache
def result(module: Any) -> Result:
    """What came out on the small loops; a tick that goes backwards is refused on the way."""
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        for where in (loop_runs, loop_tiers):
            patch.setattr(where, "loop_on", lambda shelf, paper, name, constants, config, seed: loop(paper))
        found: Result = module.run(task(CONFIGS[module], told))
    assert told == sorted(told)
    return found


@pytest.mark.parametrize("module", CONFIGS, ids=lambda one: one.EXPERIMENT.name)
def test_it_runs_and_can_be_written(module: Any) -> None:
    found = result(module)
    assert found.rows
    assert not found.skipped
    held = plain(found.to_dict())
    assert plain(Result.from_dict(held).to_dict()) == held
    assert csv_text(found.rows).count("\n") == len(found.rows) + 1
    for table in found.tables:
        assert table.rows
        assert all(column in row for row in table.rows for column in table.columns), table.name
        assert latex(table).startswith("\\begin{table}")
    for figure in found.figures:
        assert to_svg(figure).startswith("<svg")
    assert found.notes


@pytest.mark.parametrize("module", CONFIGS, ids=lambda one: one.EXPERIMENT.name)
def test_a_synthetic_corpus_is_called_so_and_is_not_comparable(module: Any) -> None:
    found = result(module)
    assert list(found.corpora) == ["synthetic-demo (synthetic)"]
    for one in found.verdicts:
        if "synthetic" not in one.what:
            assert one.verdict == "not comparable", one.what
            assert "synthetic" in one.rule


@pytest.mark.parametrize("module", CONFIGS, ids=lambda one: one.EXPERIMENT.name)
def test_without_corpora_it_says_so(module: Any) -> None:
    found = module.run(task(module.EXPERIMENT.quick))
    assert not found.rows
    assert not found.verdicts
    assert not found.figures
    assert [line.split(":")[0] for line in found.skipped] == ["oulad", "ednet-kt2", "ednet-surrogate"]


@pytest.mark.parametrize("module", CONFIGS, ids=lambda one: one.EXPERIMENT.name)
def test_labels_are_those_of_the_checklist(module: Any) -> None:
    one = module.EXPERIMENT
    assert sorted(one.labels) == sorted(label for label, name in COVERED.items() if name == one.name)
    allowed = {*one.labels, "tab:main-evidence-map", "subsec:results-levers", "subsec:results-dp"}
    assert {verdict.label for verdict in result(module).verdicts} <= allowed
    keys = [verdict.key for verdict in result(module).verdicts]
    assert len(keys) == len(set(keys))


def test_modes_of_the_private_learner_compare_items_by_released_vectors() -> None:
    one = loop("OULAD")
    common, private = one.world(MODES["adaptive"]), one.world(mode("adaptive-dp"))
    assert common is one.setting.worlds["adaptive"]
    released = one.scorers[PRIVATE].similarity_vectors
    assert private.catalog.similarity.vectors == pytest.approx(released, abs=1e-9)
    assert common.catalog.similarity.vectors != pytest.approx(released, abs=1e-9)
    assert (private.catalog.targets == common.catalog.targets).all()
    assert private.catalog.ids == common.catalog.ids


def test_part_of_a_plan_are_the_first_learners_of_each_kind() -> None:
    one = loop("OULAD")
    name = one.part(1)
    labels = [session.label for session in one.plans[name].sessions]
    assert len(labels) == 16
    assert all(label.endswith("/0") for label in labels)
    assert labels == [one.plans["main"].sessions[place].label for place in one.first(1)]
    assert (one.plans[name].pools == one.plans["main"].pools[:, one.first(1)]).all()


def test_the_quick_configurations_are_the_common_one() -> None:
    for module in CONFIGS:
        quick = module.EXPERIMENT.quick
        assert quick.users == loop_runs.QUICK.users < module.EXPERIMENT.full.users
        assert quick.copies == loop_runs.QUICK.copies
