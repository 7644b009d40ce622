"""`evidence-map`: the paper's claims, what tests each, and what came out here: claim by claim, computed from the other results.

Two answers per claim. *Holds*: does the claim hold in our own runs, by a stated check that needs no published number? *Numbers*:
the verdict on the published figures that the paper puts into this row: the worst of those that can be compared.

Scope: none; a summary of measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slateproof.experiments.claims import CLAIMS, Claim
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.verdicts import KINDS, Verdict, count

__all__ = ["CHECKS", "EXPERIMENT", "Check", "EvidenceMap", "run", "worst"]

Results = Mapping[str, Result]


@dataclass(frozen=True, slots=True)
class Check:
    """How a claim is tested on our results: the rule in words, the rule, what was found in words, and the keys of the published
    figures of this row: (experiment, end of the key).

    Scope: none.
    """

    rule: str
    holds: Callable[[Results], bool]
    found: Callable[[Results], str]
    numbers: tuple[tuple[str, str], ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Experiments whose results it needs."""
        return tuple(dict.fromkeys(name for name, _ in self.numbers))


@dataclass(frozen=True, slots=True)
class EvidenceMap:
    """R² from which a relation counts as linear."""

    linear: float = 0.98


def _of(results: Results, name: str) -> Mapping[str, Any]:
    return results[name].summary


def _slopes(results: Results) -> str:
    s = _of(results, "fixed-margin")
    return (
        f"Independent: slope {s['slope_independent']:.3f} [{s['slope_low']:.3f}, {s['slope_high']:.3f}], R² "
        f"{s['r_squared_independent']:.3f}; exact {s['exact_slope']:.4f}. Correlated: {s['slope_low_rank']:.3f}, R² "
        f"{s['r_squared_low_rank']:.3f}."
    )


def _churn(results: Results) -> str:
    s, t = _of(results, "real-anchor"), _of(results, "threshold")
    return (
        f"MF-BCE: {s['smallest_drop_mf_bce']:.0%} to {s['largest_drop_mf_bce']:.0%}, {s['cells_inside_mf_bce']} of "
        f"{s['cells_mf_bce']} cells inside 53 to 81 %; ALS: {s['smallest_drop_als']:.0%} to "
        f"{s['largest_drop_als']:.0%}. Over thresholds, MF-BCE: {t['smallest_drop_mf_bce']:.0%} to {t['largest_drop_mf_bce']:.0%}."
    )


def _tails(results: Results) -> str:
    worst_tail = _of(results, "pairwise-tail")["largest_ratio_to_bound"]
    updates = "below" if _of(results, "learner-update")["below_bound"] else "not all below"
    return f"The largest injected tail is {worst_tail:.2f} of the envelope; the tails of learner updates are {updates} it."


def _bridge(results: Results) -> str:
    s = _of(results, "margin-gate")
    positive = "positive in all pools" if s["all_positive"] else "not positive in all pools"
    return (
        f"Margins {positive}; {s['certified_violations']} of {s['certified_trials']:,} certified perturbations change a slate "
        f"({s['trials']:,} trials). The exact check disagrees with the selector {s['exact_disagreements']} times."
    )


def _events(results: Results) -> list[float]:
    """Shares of round pairs with the fixed-window event, under the default soft-window selector."""
    return [row["event_share"] for row in results["drift"].rows if row["mode"] == "adaptive"]


def _drift(results: Results) -> str:
    s, soft = _of(results, "drift"), _events(results)
    return (
        f"SCPO: {s['scpo_exceptions']} exceptions in {s['scpo_applies']:,} round pairs. Soft window, Adaptive: the event holds on "
        f"{min(soft):.0%} to {max(soft):.0%} of pairs; {s['exceptions']} exceptions where it does, in all modes."
    )


def _noise(results: Results) -> str:
    rows = results["score-noise"].rows
    parts = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        free, held = ([r["tau"] for r in rows if (r["corpus"], r["anchor_weight"]) == (corpus, w)] for w in (0.0, 0.75))
        parts.append(f"{corpus}: {min(held):.3f} to {max(held):.3f} with the anchor, {min(free):.3f} to {max(free):.3f} without")
    return "Kendall τ, " + "; ".join(parts) + "."


def _linear(results: Results) -> bool:
    s, least = _of(results, "fixed-margin"), EvidenceMap().linear
    straight = min(s["r_squared_independent"], s["r_squared_low_rank"]) >= least
    return bool(straight and s["slope_independent"] < 0.0 and s["slope_low_rank"] < 0.0)


CHECKS: Mapping[str, Check] = {
    "exponent": Check(
        "both fits fall, with R² of at least .98",
        _linear,
        _slopes,
        (
            ("fixed-margin", "slope_independent"), ("fixed-margin", "r_squared_independent"),
            ("fixed-margin", "slope_low_rank"), ("fixed-margin", "r_squared_low_rank"),
        ),
    ),
    "churn": Check(
        "flips fall from w = 0 to .50 to .75 in every cell of both anchors, and at every threshold",
        lambda results: bool(_of(results, "real-anchor")["monotone"] and _of(results, "threshold")["monotone"]),
        _churn,
        (("real-anchor", "drop/smallest"), ("real-anchor", "drop/largest"), ("threshold", "/relative_drop")),
    ),
    "condition": Check(
        "no tail exceeds exp(−u²/2)",
        lambda results: bool(_of(results, "pairwise-tail")["below_bound"] and _of(results, "learner-update")["below_bound"]),
        _tails,
        (("pairwise-tail", "/tail"), ("learner-update", "/tail_20"), ("learner-update", "/tail_25")),
    ),
    "bridge": Check(
        "every margin is positive, and no certified perturbation changes a slate",
        lambda results: bool(
            _of(results, "margin-gate")["all_positive"] and _of(results, "margin-gate")["certified_violations"] == 0
        ),
        _bridge,
        (("margin-gate", "/positive_rate"), ("margin-gate", "/certified_violations")),
    ),
    "drift": Check(
        "no jump leaves its envelope where the lemma applies, and under the soft window the event holds on more than 98 % of pairs",
        lambda results: bool(_of(results, "drift")["exceptions"] == 0 and min(_events(results)) > 0.98),
        _drift,
        (("drift", "beyond_realised"), ("drift", "beyond_prospective"), ("drift", "/event")),
    ),
    "downstream": Check(
        "Kendall τ is higher with the anchor at every σ",
        lambda results: bool(_of(results, "score-noise")["tau_higher_with_anchor"]),
        _noise,
        (("score-noise", "/tau"),),
    ),
}  # fmt: skip
"""By the claim's key; a claim that the paper does not make has none."""


def run(task: Task) -> Result:
    """One row per claim."""
    rows = [_row(claim, CHECKS[claim.key], task.results) for claim in CLAIMS if claim.key in CHECKS]
    held = [row["holds"] for row in rows]
    summary = {
        "claims": len(rows),
        "hold": sum(one is True for one in held),
        "do_not_hold": sum(one is False for one in held),
        "not_measured": sum(one is None for one in held),
    }
    return Result(summary, tuple(rows), (), _notes(rows), _tables(rows))


def _row(claim: Claim, check: Check, results: Results) -> Row:
    here = all(name in results and results[name].rows for name in check.reads)
    verdicts = [one for name, end in check.numbers if name in results for one in results[name].verdicts if one.key.endswith(end)]
    numbers = count(verdicts)
    return {
        "claim": claim.title,
        "diagnostic": claim.diagnostic,
        "published": claim.published,
        "ours": check.found(results) if here else "not measured: a corpus is not in hand",
        "check": check.rule,
        "holds": check.holds(results) if here else None,
        "verdict": worst(verdicts),
        "numbers": ", ".join(f"{n} {kind}" for kind, n in numbers.items() if n),
        "experiments": list(check.reads),
    }


def worst(verdicts: list[Verdict]) -> str:
    """The least good of the verdicts on numbers that can be compared; *not comparable* if there are none."""
    kinds = {one.verdict for one in verdicts} - {KINDS[-1]}
    return max(kinds, key=KINDS.index) if kinds else KINDS[-1]


def _notes(rows: list[Row]) -> tuple[str, ...]:
    hold = sum(row["holds"] is True for row in rows)
    fails = [row["claim"] for row in rows if row["holds"] is False]
    missing = [row["claim"] for row in rows if row["holds"] is None]
    text = [f"{hold} of {len(rows)} claims hold in our runs, each by a check that needs no published number."]
    text += [f"Does not hold: {', '.join(fails)}."] if fails else []
    return (*text, *([f"Not measured: {', '.join(missing)}."] if missing else []))


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {"published": "the paper", "holds": "holds", "numbers": "its numbers", "check": "holds if", "verdict": "numbers, worst"}
    columns = ("claim", "published", "ours", "check", "holds", "numbers")
    return (Table("evidence-map", "Claims of the paper, the check, and what came out.", columns, tuple(rows), heads),)


EXPERIMENT = Experiment(
    name="evidence-map",
    title="Evidence map",
    question="Which of the paper's claims hold in our runs, and which of its figures come out the same?",
    labels=("tab:main-evidence-map",),
    full=EvidenceMap(),
    quick=EvidenceMap(),
    run=run,
    after=tuple(dict.fromkeys(name for check in CHECKS.values() for name in check.reads)),
)
