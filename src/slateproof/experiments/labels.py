"""Every table and figure of the paper, and the experiment that answers for it.

Scope: none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["COVERED", "NOT_MEASURED", "labels_of"]

COVERED: Mapping[str, str] = MappingProxyType(
    {
        "tab:main-evidence-map": "evidence-map",
        "fig:topk-flip-theorem": "fixed-margin",
        "fig:real-anchor-heatmaps": "real-anchor",
        "tab:datasets-app": "corpora",
        "fig:sim-validation-app": "simulator",
        "tab:dp-hyperparams-app": "ledger",
        "tab:rq1-summary-app": "closed-loop",
        "tab:choice-robustness-app": "robustness",
        "tab:fixed-margin-fit-cells": "fixed-margin",
        "tab:fixed-margin-pairtau-fit": "fixed-margin",
        "tab:topk-flip-threshold-sensitivity": "threshold",
        "tab:topk-flip-real-anchor-summary": "real-anchor",
        "tab:oulad-margin-gate": "margin-gate",
        "tab:oulad-selector-perturb": "margin-gate",
        "tab:ednet-margin-gate": "margin-gate",
        "tab:ednet-selector-perturb": "margin-gate",
        "fig:tail-margin-diagnostics-app": "pairwise-tail",
        "tab:pairwise-tail-oulad": "pairwise-tail",
        "tab:dp-sgd-tail-oulad-tiers": "learner-update",
        "tab:dp-sgd-tail-oulad-steps": "learner-update",
        "tab:rq1-vs-als-app": "closed-loop",
        "tab:probe-alignment-app": "probe-alignment",
        "tab:rq2-dp-deltas-app": "tiers",
        "tab:rq2-dp-resilience-oulad-lambda": "tiers",
        "tab:rq2-dp-resilience-ednet": "tiers",
        "tab:ednet-applied-score-noise": "score-noise",
        "tab:ednet25k-locked-followup": "tiers",
        "tab:subgroup-gap-app": "subgroups",
    }
)
"""Label to experiment. ``components`` and ``drift`` answer for sections of text, which have no table."""

NOT_MEASURED: Mapping[str, str] = MappingProxyType(
    {
        "fig:dpr-two-ops": "a drawing of the two operators",
        "fig:dpr-three-stages": "a drawing of the three stages",
        "tab:stability-quantities": "a table of definitions",
        "tab:benefits-app": "a table of related work",
    }
)
"""Labels that hold no number."""


def labels_of(tex: str) -> tuple[str, ...]:
    """All labels of tables and figures in LaTeX source, in order."""
    return tuple(re.findall(r"\\label\{((?:tab|fig):[^}]*)\}", tex))
