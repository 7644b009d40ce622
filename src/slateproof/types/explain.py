"""Explanations: per step, the chosen item and its runner-up with the parts of their objectives, and the margin between them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slateproof.types.chart import stacked_bars
from slateproof.types.ids import ItemId
from slateproof.types.steps import SetChoice, Steps

if TYPE_CHECKING:
    from slateproof.types.slate import Slate

__all__ = ["Explanation", "Parts", "Reason"]

TERMS = ("score", "target_bonus", "exploration_bonus", "diversity_penalty", "novelty_bonus")


@dataclass(frozen=True, slots=True)
class Parts:
    """One item's objective, in the units of the objective; the terms add up to ``objective`` but for rounding.

    ``score``, ``target_bonus`` and ``exploration_bonus`` are already scaled by 1 - diversity; ``diversity_penalty`` is
    subtracted: it is diversity x similarity, and negative similarity makes it negative.

    Scope: none; a description.
    """

    id: ItemId
    raw_score: float
    score: float
    target_bonus: float
    exploration_bonus: float
    diversity_penalty: float
    novelty_bonus: float
    objective: float


@dataclass(frozen=True, slots=True)
class Reason:
    """One choice: who won, who came second (None: nothing else was left), and by how much.

    Scope: stability only.
    """

    step: int
    chosen: Parts
    runner_up: Parts | None
    margin: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why this slate: one ``Reason`` per step; show it as text, dict, Arrow table, SVG or HTML.

    For SCPO the items are listed in slate order with their shaped parts, ``second_best`` are those of the second-best feasible set,
    (of those that the search saw) in the same order, and ``note`` tells the one margin there is: best against second-best.

    Scope: stability only; it explains the selector, not the model.
    """

    reasons: tuple[Reason, ...]
    note: str = ""
    second_best: tuple[Parts, ...] = ()

    @classmethod
    def of(cls, slate: Slate) -> Explanation:
        """The explanation of a slate."""
        if isinstance(slate.steps, SetChoice):
            items, others = _set_items(slate, slate.steps)
            margin = float(slate.margins[0])
            reasons = tuple(Reason(q + 1, item, None, margin) for q, item in enumerate(items))
            return cls(reasons, _set_note(slate, slate.steps), others)
        return cls(_step_reasons(slate, slate.steps))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: ``{"reasons": [...], "note": ..., "second_best": [...]}``; an infinite margin is None."""
        reasons = [asdict(reason) | {"margin": _finite(reason.margin)} for reason in self.reasons]
        return {"reasons": reasons, "note": self.note, "second_best": [asdict(parts) for parts in self.second_best]}

    def to_arrow(self) -> pa.Table:
        """One row per step: columns of the chosen item, of the runner-up (``runner_*``) and the margin; ids as strings.

        For SCPO ``runner_*`` is the item at the same place of the second-best set.
        """
        rows = []
        for reason, other in self._pairs():
            row: dict[str, Any] = {"step": reason.step, "margin": reason.margin, **_columns(reason.chosen, "")}
            row |= _columns(other, "runner_")
            rows.append(row)
        return pa.Table.from_pylist(rows, schema=_SCHEMA)

    def _pairs(self) -> Iterator[tuple[Reason, Parts | None]]:
        """Every reason with what stands beside it in a table."""
        for place, reason in enumerate(self.reasons):
            yield reason, self.second_best[place] if self.second_best else reason.runner_up

    def to_text(self) -> str:
        """Two lines per step, aligned, for a terminal."""
        width = max(len(str(p.id)) for r in self.reasons for p in (r.chosen, r.runner_up) if p is not None)
        head = f"{'':>4}  {'item':<{max(width, 4)}}" + "".join(f"{name:>11}" for name in _HEADINGS) + f"{'margin':>12}"
        lines = [head]
        for reason in self.reasons:
            lines.append(_line(f"{reason.step}.", reason.chosen, width, f"{_shown(reason.margin, 6):>12}"))
            if reason.runner_up is not None:
                lines.append(_line("over", reason.runner_up, width, ""))
        return "\n".join([*lines, self.note] if self.note else lines)

    def to_svg(self) -> str:
        """A small stacked-bar chart, one bar per chosen item, as SVG source."""
        labels = [str(reason.chosen.id) for reason in self.reasons]
        series = {name: [_signed(reason.chosen, name) for reason in self.reasons] for name in TERMS}
        return stacked_bars(labels, series)

    def to_html(self) -> str:
        """A table with the chart under it, for notebooks and reports."""
        other = "in the second-best set" if self.second_best else "runner-up"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("step", "item", *_HEADINGS, other, "margin"))
        body = "".join(_html_row(reason, other) for reason, other in self._pairs())
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f'<table class="slate"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}{self.to_svg()}'

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


_HEADINGS = ("score", "target", "explore", "-diverse", "novel", "objective")
_SCHEMA = pa.schema(
    [("step", pa.int64()), ("margin", pa.float64())]
    + [
        (prefix + name, pa.string() if name == "id" else pa.float64())
        for prefix in ("", "runner_")
        for name in Parts.__dataclass_fields__
    ]
)


def _columns(parts: Parts | None, prefix: str) -> dict[str, Any]:
    if parts is None:
        return {prefix + name: None for name in Parts.__dataclass_fields__}
    return {prefix + name: str(value) if name == "id" else value for name, value in asdict(parts).items()}


def _numbers(parts: Parts) -> list[float]:
    return [_signed(parts, name) for name in TERMS] + [parts.objective]


def _signed(parts: Parts, term: str) -> float:
    value: float = getattr(parts, term)
    return -value if term == "diversity_penalty" else value


def _line(lead: str, parts: Parts, width: int, tail: str) -> str:
    return f"{lead:>4}  {parts.id!s:<{max(width, 4)}}" + "".join(f"{_shown(value, 5):>11}" for value in _numbers(parts)) + tail


def _shown(value: float, digits: int) -> str:
    """A number for reading; what rounds to nothing has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _html_row(reason: Reason, beside: Parts | None) -> str:
    other = "" if beside is None else html.escape(str(beside.id))
    cells = [str(reason.step), f"<b>{html.escape(str(reason.chosen.id))}</b>"]
    cells += [_shown(value, 5) for value in _numbers(reason.chosen)] + [other, f"{reason.margin:.6g}"]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _parts(slate: Slate, place: int, similarity: float, objective: float, *, novelty: float) -> Parts:
    """Split F into its terms. Each is scaled as it enters the objective, so a reader can add them up."""
    levers, pool = slate.levers, slate.pool
    keep = 0.0 if slate.rule.kind == "top-k" else 1.0
    relevance = 1.0 if slate.rule.kind == "top-k" else 1.0 - levers.diversity
    score = float(pool.scores[place])
    width = 0.0 if pool.widths is None else float(pool.widths[place])
    exploration = keep * levers.exploration * width
    bonus = keep * slate.rule.target_gain * _proximity(slate, place)
    return Parts(
        id=pool.ids[place],
        raw_score=score,
        score=relevance * score,
        target_bonus=relevance * bonus,
        exploration_bonus=relevance * exploration,
        diversity_penalty=keep * levers.diversity * similarity,
        novelty_bonus=novelty,
        objective=objective,
    )


def _proximity(slate: Slate, place: int) -> float:
    """prox_w(d, m) = 1 - min{1, (d - m)^2 / w^2}; 0 where the pool has no targets."""
    if slate.pool.targets is None:
        return 0.0
    distance = float(slate.pool.targets[place]) - slate.target
    return 1.0 - min(1.0, (distance * distance) / (slate.rule.window * slate.rule.window))


def _step_reasons(slate: Slate, steps: Steps) -> tuple[Reason, ...]:
    shown = slate.state.shown_set
    nu = slate.rule.novelty if slate.rule.kind == "greedy" else 0.0
    reasons = []
    for q, margin in enumerate(slate.margins.tolist()):
        pair = []
        for place, similarity, objective in (
            (int(steps.chosen[q]), float(steps.chosen_similarity[q]), float(steps.chosen_objective[q])),
            (int(steps.runners[q]), float(steps.runner_similarity[q]), float(steps.runner_objective[q])),
        ):
            novelty = 0.0 if slate.pool.ids[place] in shown else nu
            pair.append(None if place < 0 else _parts(slate, place, similarity, objective, novelty=novelty))
        chosen, runner = pair
        if chosen is not None:
            reasons.append(Reason(q + 1, chosen, runner, margin))
    return tuple(reasons)


def _set_items(slate: Slate, steps: SetChoice) -> tuple[tuple[Parts, ...], tuple[Parts, ...]]:
    """The parts of the chosen set and of the second-best one, both in slate order."""
    relevance, rank = 1.0 - slate.levers.diversity, slate.pool.rank

    def parts(place: int) -> Parts:
        return _parts(slate, place, 0.0, relevance * float(steps.shaped[place]), novelty=0.0)

    others = sorted(steps.runner_up.tolist(), key=lambda place: (-steps.shaped[place], rank[place]))
    return tuple(map(parts, steps.chosen.tolist())), tuple(map(parts, others))


def _set_note(slate: Slate, steps: SetChoice) -> str:
    penalty = slate.levers.diversity * steps.similarity
    value, less = _shown(steps.value, 6), _shown(penalty, 6)
    lines = [f"set value {value} = items' sum - diversity x largest pairwise similarity ({less})"]
    lines.append(f"window realised: {steps.window:.6g} (asked: {slate.rule.window:.6g}), target {slate.target:.6g}")
    if not steps.proved:
        lines.append(
            f"search stopped after {steps.nodes} nodes: proved within {steps.gap:.6g} of the best set; no margin is claimed"
        )
    elif len(steps.runner_up):
        ids = ", ".join(str(slate.pool.ids[i]) for i in steps.runner_up.tolist())
        lines.append(f"second-best set: {{{ids}}}, value {_shown(steps.runner_value, 6)}")
    else:
        lines.append("no other feasible set")
    return "\n".join(lines)
