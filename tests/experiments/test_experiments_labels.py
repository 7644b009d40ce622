"""The checklist: every table and figure of the paper has an experiment that answers for it; and the registry is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from slateproof.errors import InvalidInput
from slateproof.experiments import EXPERIMENTS, ordered
from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.evidence_map import CHECKS
from slateproof.experiments.labels import COVERED, NOT_MEASURED, labels_of

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "paper.tex"

LABELS = (
    "fig:dpr-two-ops", "fig:dpr-three-stages", "tab:stability-quantities", "tab:main-evidence-map", "fig:topk-flip-theorem",
    "fig:real-anchor-heatmaps", "tab:datasets-app", "fig:sim-validation-app", "tab:dp-hyperparams-app", "tab:benefits-app",
    "tab:rq1-summary-app", "tab:choice-robustness-app", "tab:fixed-margin-fit-cells", "tab:fixed-margin-pairtau-fit",
    "tab:topk-flip-threshold-sensitivity", "tab:topk-flip-real-anchor-summary", "tab:oulad-margin-gate",
    "tab:oulad-selector-perturb", "tab:ednet-margin-gate", "tab:ednet-selector-perturb", "fig:tail-margin-diagnostics-app",
    "tab:pairwise-tail-oulad", "tab:dp-sgd-tail-oulad-tiers", "tab:rq1-vs-als-app", "tab:probe-alignment-app",
    "tab:rq2-dp-deltas-app", "tab:dp-sgd-tail-oulad-steps", "tab:rq2-dp-resilience-oulad-lambda", "tab:rq2-dp-resilience-ednet",
    "tab:ednet-applied-score-noise", "tab:ednet25k-locked-followup", "tab:subgroup-gap-app",
)  # fmt: skip
"""All labels of tables and figures of the paper, in its order."""

DESIGN = (
    "fixed-margin", "real-anchor", "margin-gate", "pairwise-tail", "threshold", "learner-update", "closed-loop", "components",
    "drift", "tiers", "score-noise", "robustness", "subgroups", "probe-alignment", "simulator", "ledger", "evidence-map",
)  # fmt: skip
"""Names that the design fixes."""


def test_the_list_is_that_of_the_paper() -> None:
    if not PAPER.exists():
        pytest.skip("paper.tex not present")
    assert labels_of(PAPER.read_text(encoding="utf-8")) == LABELS


@pytest.mark.parametrize("label", LABELS)
def test_every_label_has_an_experiment_that_answers_for_it(label: str) -> None:
    if label in NOT_MEASURED:
        assert label not in COVERED
        return
    assert label in EXPERIMENTS[COVERED[label]].labels


def test_no_experiment_claims_a_label_that_is_not_there() -> None:
    assert {label for one in EXPERIMENTS.values() for label in one.labels} <= set(LABELS)
    assert set(COVERED) | set(NOT_MEASURED) == set(LABELS)


def test_the_names_of_the_design_are_all_there() -> None:
    assert set(DESIGN) <= set(EXPERIMENTS)
    assert all(name == one.name for name, one in EXPERIMENTS.items())


def test_every_experiment_stands_under_one_claim_or_above_them() -> None:
    under = [name for claim in CLAIMS for name in claim.experiments]
    assert sorted([*under, "evidence-map", "corpora"]) == sorted(EXPERIMENTS)
    assert set(CHECKS) == {claim.key for claim in CLAIMS if claim.published}


def test_what_is_read_runs_first() -> None:
    names = [one.name for one in ordered(())]
    assert sorted(names) == sorted(EXPERIMENTS)
    for one in EXPERIMENTS.values():
        assert all(names.index(name) < names.index(one.name) for name in one.after)
    assert {one.name for one in ordered(("evidence-map",))} == {"evidence-map", *EXPERIMENTS["evidence-map"].after}
    assert [one.name for one in ordered(("threshold",))] == ["threshold"]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"name: must be one of evidence-map, corpora, .* \(got 'fixed'\)"):
        ordered(("fixed",))


def test_quick_and_full_configurations_are_of_one_kind() -> None:
    for one in EXPERIMENTS.values():
        assert type(one.quick) is type(one.full)
        hash(one.full)  # frozen
