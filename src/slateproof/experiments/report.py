"""``report.html``: one file, nothing loaded from anywhere; made to be read on a screen and on paper.

Scope: none; presentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slateproof.experiments.draw import to_svg
from slateproof.experiments.output import shown
from slateproof.experiments.verdicts import KINDS, count

if TYPE_CHECKING:
    from slateproof.experiments.run import Finished, Outcome

__all__ = ["render"]

LONG = 14
"""Rows beyond which a table is folded on the screen (paper always shows all)."""

MEANING = {
    "reproduced": "in the published interval, or within a stated tolerance",
    "same direction": "another size, but on the same side of its reference",
    "differs": "neither; a cause is named where one was found",
    "not comparable": "no number of ours, or another quantity; the reason is given",
}


def render(outcome: Outcome, manifest: Mapping[str, Any]) -> str:
    """The whole page as HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("slateproof.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["slug"] = lambda text: text.replace(" ", "-")
    counts = outcome.counts
    return environment.get_template("report.html.j2").render(
        counts=counts,
        total=sum(counts.values()),
        kinds=KINDS,
        meaning=MEANING,
        quick=outcome.quick,
        seconds=outcome.seconds,
        sections=[_section(part) for part in outcome.finished],
        skipped=outcome.skipped,
        manifest=manifest,
        long=LONG,
    )


def _section(part: Finished) -> dict[str, Any]:
    experiment, result = part.experiment, part.result
    verdicts = result.verdicts
    causes = dict.fromkeys(one.cause for one in verdicts if one.cause is not None)
    numbers = {cause: place for place, cause in enumerate(causes, 1)}
    return {
        "name": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "labels": experiment.labels,
        "state": part.state,
        "seconds": part.seconds,
        "counts": count(verdicts),
        "total": len(verdicts),
        "notes": result.notes,
        "skipped": result.skipped,
        "figures": [{"svg": to_svg(one), "caption": one.caption, "wide": len(one.panels) > 1} for one in result.figures],
        "tables": [_table(one.caption, one.columns, one.heads, one.rows) for one in result.tables],
        "verdicts": [{**one.to_dict(), "number": numbers.get(one.cause) if one.cause else None} for one in verdicts],
        "causes": list(causes),
        "constants": part.manifest["constants"],
        "corpora": result.corpora,
        "digest": part.manifest["digest"],
    }


def _table(caption: str, columns: Any, heads: Mapping[str, str], rows: Any) -> dict[str, Any]:
    cells = [[(shown(row.get(c)), isinstance(row.get(c), (int, float))) for c in columns] for row in rows]
    return {"caption": caption, "heads": [heads.get(c, c) for c in columns], "rows": cells}
