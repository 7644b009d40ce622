"""`end-to-end`: what it costs in slate quality when every selector input is public or a DP output.

Scope: end-to-end for the slates of a finite epsilon, per round, with the timetable, the subjects and the catalogue public. The
errors and overlaps compare with raw data: they are measurements for a paper, not private outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slateproof.corpora import Corpus, synthetic_education
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.counting import counting_rows
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.private_slates import rows
from slateproof.policy import Policy

__all__ = ["EXPERIMENT", "POLICY", "EndToEnd", "markdown", "run"]

POLICY = Policy.model_validate(
    {
        "name": "end-to-end",
        "selector": {"kind": "greedy", "preset": "oulad"},
        "levers": {"preset": "oulad"},
        "privacy": {
            "delta": 1e-6,
            "inputs": {
                **dict.fromkeys(("scores", "targets", "widths", "state", "shown"), "dp-output"),
                **dict.fromkeys(("candidates", "similarity"), "public"),
            },
        },
    }
)
"""``examples/end-to-end.toml``."""


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Budgets per round, seeds of noise and pools, subjects whose slates are compared, pool size, ticks of the noise table.

    ``users``: size of the synthetic corpus that stands in where OULAD is not at hand.
    """

    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
    seeds: tuple[int, ...] = (0, 1, 2)
    subjects: int = 2_000
    pool: int = 100
    ticks: tuple[int, ...] = (8, 20, 50, 80, 200)
    users: int = 2_000


def run(task: Task) -> Result:
    """On OULAD where it is at hand, else on a synthetic corpus, which every table says."""
    config: EndToEnd = task.config
    here, missing = task.corpora.split(("oulad",))
    corpus = task.corpora.get("oulad") if here else synthetic_education(users=config.users)
    total = len(config.seeds) * len(config.epsilons) + 1
    seeds = [task.seed + one for one in config.seeds]
    found = rows(
        POLICY, corpus, config.epsilons, seeds, config.subjects, config.pool, lambda done: task.progress(done, total, corpus.label)
    )
    task.progress(total - 1, total, "noise against T")
    counting = counting_rows(config.ticks)
    means = _means(found)
    return Result(
        summary=_summary(means),
        rows=tuple(found),
        notes=_notes(means),
        tables=_tables(corpus, means, counting),
        figures=_figures(corpus, means),
        skipped=tuple(f"{why}; a synthetic corpus stands in" for why in missing),
        corpora={corpus.label: corpus.digest},
    )


def _means(found: Sequence[Row]) -> list[Row]:
    """One row per budget: the mean over seeds of every number."""
    out = []
    for epsilon in dict.fromkeys(row["epsilon_target"] for row in found):
        same = [row for row in found if row["epsilon_target"] == epsilon]
        numbers = [name for name, value in same[0].items() if isinstance(value, float)]
        out.append({**same[0], **{name: sum(row[name] for row in same) / len(same) for name in numbers}})
    return out


def _summary(means: Sequence[Row]) -> dict[str, Any]:
    """Overlap with the raw slate and distance to the true target, by budget; and what random items and raw inputs reach."""
    at = {f"{row['epsilon_target']:g}": row for row in means}
    return {
        **{f"jaccard_{name}": row["jaccard"] for name, row in at.items()},
        **{f"target_distance_{name}": row["target_distance"] for name, row in at.items()},
        "target_distance_raw": means[0]["raw_target_distance"],
        "target_distance_random": means[0]["random_target_distance"],
        "jaccard_random": means[0]["random_jaccard"],
    }


def _notes(means: Sequence[Row]) -> tuple[str, ...]:
    raw, chance = means[0]["raw_target_distance"], means[0]["random_target_distance"]
    finite = [row for row in means if math.isfinite(row["epsilon_target"])]
    helps = [row["epsilon_target"] for row in finite if row["target_distance"] < row["fixed_target_distance"]]
    share = {row["epsilon_target"]: (chance - row["target_distance"]) / (chance - raw) for row in finite}
    kept = "; ".join(
        f"{share[row['epsilon_target']]:.0%} at ε = {row['epsilon_target']:g} ({_up(row['user_epsilon'])} per user)"
        for row in finite
    )
    first = f"from ε = {min(helps):g}" if helps else "at no budget tried"
    return (
        f"Distance between shown difficulty and true target: {raw:.3f} from raw inputs, {chance:.3f} for random items. Of that "
        f"gain the end-to-end slates keep {kept}.",
        f"A private state is closer to the target than one state for everybody {first}.",
        "The slate differs nearly always (Flip), even without noise: clipping alone moves difficulties enough for that. Distance "
        "to the target is what a learner feels.",
        "Seeds are public, so that the run can be repeated: every ε is that of the same releases with a secret seed.",
    )


def _tables(corpus: Corpus, means: Sequence[Row], counting: Sequence[Row]) -> tuple[Table, ...]:
    shown = tuple({**row, "round": _up(row["epsilon_target"]), "user": _up(row["user_epsilon"])} for row in means)
    heads = {"round": "ε, round", "user": "ε, user", **{name: head for head, name in _QUALITY.items()}}
    noise = {"ticks": "T", "worst": "worst noise", "last": "noise at T", "independent": "independent releases"}
    return (
        Table(
            "end-to-end-quality",
            f"Cost of the end-to-end regime on {corpus.label}: errors of the released inputs, overlap with the slate from raw "
            "inputs, distance to the true target. Means over seeds.",
            ("round", "user", "regime", *_QUALITY.values()),
            shown,
            heads,
        ),
        Table(
            "end-to-end-noise",
            "Noise of continual counting against T, simulated subjects.",
            tuple(counting[0]),
            tuple(counting),
            noise,
        ),
    )


def _figures(corpus: Corpus, means: Sequence[Row]) -> tuple[Figure, ...]:
    finite = [row for row in means if math.isfinite(row["epsilon_target"])]
    x = tuple(row["epsilon_target"] for row in finite)

    def panel(title: str, name: str, y: str, references: Mapping[str, tuple[int, float]]) -> Panel:
        lines = (
            Series("private state", x, tuple(row[name] for row in finite), "line", 0),
            Series("one state for everybody", x, tuple(row[f"fixed_{name}"] for row in finite), "line", 1),
            *(Series(label, x, (value,) * len(x), "curve", slot) for label, (slot, value) in references.items()),
        )
        return Panel(title, "ε per round", y, lines, x_scale="log")

    ends = {"raw inputs": (2, finite[0]["raw_target_distance"]), "random items": (3, finite[0]["random_target_distance"])}
    return (
        Figure(
            "end-to-end",
            f"End-to-end private slates on {corpus.label}",
            "Two panels against the privacy budget per round: mean distance between shown difficulty and the true target, with "
            "lines for raw inputs and random items; and Jaccard overlap with the slate from raw inputs.",
            (
                panel("Distance to the true target", "target_distance", "mean |d − m|", ends),
                panel("Overlap with the raw slate", "jaccard", "Jaccard", {"random items": (3, finite[0]["random_jaccard"])}),
            ),
        ),
    )


_QUALITY = {
    "d": "difficulty_error",
    "k̂": "knowledge_error",
    "ê": "engagement_error",
    "Jaccard": "jaccard",
    "Flip": "flip",
    "distance": "target_distance",
    "Jaccard, one state": "fixed_jaccard",
    "Flip, one state": "fixed_flip",
    "distance, one state": "fixed_target_distance",
}


def markdown(table: Sequence[Mapping[str, Any]], counting: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Both tables as Markdown: means over seeds with the largest deviation of one seed from them; and the noise against T."""
    quality = []
    for epsilon in dict.fromkeys(row["epsilon_target"] for row in table):
        same = [row for row in table if row["epsilon_target"] == epsilon]
        cells = [_spread([row[name] for row in same]) for name in _QUALITY.values()]
        budgets = (_up(same[0][name]) for name in ("epsilon_target", "user_epsilon"))
        quality.append([*budgets, same[0]["regime"], *cells])
    errors = [name for name in (counting[0] if counting else {}) if "_error_" in name]
    heads = [f"{'k̂' if name[0] == 'k' else 'ê'}, ε = {name.rsplit('_', 1)[1]}" for name in errors]
    noise = [
        [str(row["ticks"]), row["mechanism"], *(f"{row[name]:.2f}" for name in ("worst", "last", "independent"))]
        + [f"{row[name]:.3f}" for name in errors]
        for row in counting
    ]
    return (
        _table(("ε, round", "ε, user", "regime", *_QUALITY), quality),
        _table(("T", "mechanism", "worst", "at T", "independent", *heads), noise),
    )


def _up(value: float) -> str:
    """Three significant digits, rounded up."""
    if math.isinf(value):
        return "∞"
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(round(value / step, 9)) * step:.3g}"


def _spread(found: Sequence[float]) -> str:
    mean = sum(found) / len(found)
    return f"{mean:.3f} ± {max(abs(one - mean) for one in found):.3f}"


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))


EXPERIMENT = Experiment(
    name="end-to-end",
    title="What an end-to-end private selector costs",
    question="If every selector input is public or a DP output, how far are the slates from those of raw data?",
    labels=(),
    full=EndToEnd(),
    quick=EndToEnd(epsilons=(1.0, 8.0, math.inf), seeds=(0,), subjects=300, ticks=(8, 20), users=600),
    run=run,
    corpora=("oulad",),
)
