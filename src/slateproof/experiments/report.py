"""``report.html``: one file, nothing loaded from anywhere; made to be read on a screen and on paper.

Scope: none; presentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.draw import to_svg
from slateproof.experiments.figures import Figure
from slateproof.experiments.output import shown
from slateproof.experiments.verdicts import KINDS, Verdict, count

if TYPE_CHECKING:
    from slateproof.experiments.run import Finished, Outcome

__all__ = ["render"]

LONG = 16
"""Rows beyond which a table is folded; what is folded is printed when it is opened."""

MOST = 20
"""Numbers that differ and are shown above the fold."""

MAP = "evidence-map"

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
        computing=outcome.computing,
        count=len(outcome.finished),
        groups=_groups(outcome),
        skipped=outcome.skipped,
        manifest=manifest,
        long=LONG,
    )


def _groups(outcome: Outcome) -> list[dict[str, Any]]:
    """Sections claim by claim; what belongs to no claim comes first, without a heading."""
    sections = {part.experiment.name: _section(part) for part in outcome.finished}
    rows = {row["claim"]: row for part in outcome.finished if part.experiment.name == MAP for row in part.result.rows}
    named = {name for claim in CLAIMS for name in claim.experiments}
    groups: list[dict[str, Any]] = [
        {"key": "overview", "title": "", "sections": [one for name, one in sections.items() if name not in named]}
    ]
    for place, claim in enumerate(CLAIMS, 1):
        kind = f"Claim {place}" if claim.published else "Beyond the paper"
        found = {name: rows.get(claim.title, {}).get(name) for name in ("ours", "check", "holds", "numbers")}
        mine = [sections[name] for name in claim.experiments if name in sections]
        if mine:
            facts = {"key": claim.key, "title": claim.title, "kind": kind, "published": claim.published}
            groups.append({**facts, "sections": mine, **found})
    return groups


def _section(part: Finished) -> dict[str, Any]:
    experiment, result = part.experiment, part.result
    folded = len(result.verdicts) > LONG
    off = [one for one in result.verdicts if one.verdict == "differs"][:MOST] if folded else list(result.verdicts)
    rest = [one for one in result.verdicts if one not in off]
    # Causes of what is shown come first, so that the fold cuts their list, too.
    causes = list(dict.fromkeys(one.cause for one in (*off, *rest) if one.cause is not None))
    above = len({one.cause for one in off if one.cause is not None})

    def numbered(verdicts: list[Verdict]) -> list[dict[str, Any]]:
        return [{**one.to_dict(), "number": causes.index(one.cause) + 1 if one.cause else None} for one in verdicts]

    return {
        "name": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "labels": experiment.labels,
        "state": part.state,
        "seconds": part.seconds,
        "counts": count(result.verdicts),
        "total": len(result.verdicts),
        "notes": result.notes,
        "skipped": result.skipped,
        "figures": [_figure(one) for one in result.figures],
        "tables": [_table(one.caption, one.columns, one.heads, one.rows) for one in result.tables],
        "shown": numbered(off),
        "folded": numbered(rest),
        "causes": causes[:above],
        "folded_causes": causes[above:],
        "constants": part.manifest["constants"],
        "corpora": result.corpora,
        "digest": part.manifest["digest"],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {"svg": to_svg(figure), "caption": figure.caption, "columns": min(figure.columns, len(figure.panels), 3)}


def _table(caption: str, columns: Any, heads: Mapping[str, str], rows: Any) -> dict[str, Any]:
    cells = [[(shown(row.get(c)), _number(row.get(c))) for c in columns] for row in rows]
    return {"caption": caption, "heads": [heads.get(c, c) for c in columns], "rows": cells}


def _number(value: Any) -> bool:
    """Whether a cell is set flush right."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
