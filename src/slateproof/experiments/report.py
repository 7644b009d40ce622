"""``report.html``: one file, nothing loaded from anywhere; made to be read on a screen and on paper.

Scope: none; presentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slateproof.experiments.causes import grouped
from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.draw import to_svg
from slateproof.experiments.figures import Figure
from slateproof.experiments.output import shown
from slateproof.experiments.verdicts import BASES, KINDS, Verdict, bases, count

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
    environment.filters["constant"] = _constant
    environment.filters["together"] = _together
    environment.filters["slug"] = lambda text: text.replace(" ", "-")
    counts = outcome.counts
    return environment.get_template("report.html.j2").render(
        counts=counts,
        total=sum(counts.values()),
        kinds=KINDS,
        meaning=MEANING,
        bases=BASES,
        by=bases(one for part in outcome.finished for one in part.result.verdicts),
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
    above, below = (grouped(one.cause for one in part if one.cause is not None) for part in (off, rest))
    first = len(above[1])

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
        "shown": _numbered(off, above[0], 0),
        "folded": _numbered(rest, below[0], first),
        "causes": above[1],
        "folded_causes": below[1],
        "constants": part.manifest["constants"],
        "corpora": result.corpora,
        "digest": part.manifest["digest"],
    }


def _numbered(verdicts: list[Verdict], places: Mapping[str, int], first: int) -> list[dict[str, Any]]:
    """Verdicts as rows, each with the number of its cause."""
    return [{**one.to_dict(), "number": first + places[one.cause] if one.cause else None} for one in verdicts]


def _figure(figure: Figure) -> dict[str, Any]:
    return {"svg": to_svg(figure), "caption": figure.caption, "columns": min(figure.columns, len(figure.panels), 3)}


def _table(caption: str, columns: Any, heads: Mapping[str, str], rows: Any) -> dict[str, Any]:
    right = [_numeric([row.get(c) for row in rows]) for c in columns]
    cells = [[(shown(row.get(c)), flush) for c, flush in zip(columns, right, strict=True)] for row in rows]
    return {"caption": caption, "heads": [heads.get(c, c.replace("_", " ")) for c in columns], "rows": cells}


NUMERIC = re.compile(r"[-−+]?[\d.,]+(e[-+]?\d+)? ?%?|none|∞|–|")


def _numeric(values: list[Any]) -> bool:
    """Whether a column is set flush right: numbers, printed or not."""
    if any(isinstance(one, bool) for one in values):
        return False
    return all(one is None or isinstance(one, (int, float)) or NUMERIC.fullmatch(str(one)) is not None for one in values)


def _constant(value: Any) -> str:
    """A constant as people write it: no quotes, no brackets of Python."""
    if isinstance(value, (list, tuple)):
        parts = [f"({_constant(one)})" if isinstance(one, (list, tuple)) and len(one) > 1 else _constant(one) for one in value]
        return ", ".join(parts) or "none"
    return shown(value) if isinstance(value, bool) else str(value)


def _together(text: str) -> Any:
    """An interval in brackets is not broken over lines."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\[[^\[\]]{1,30}\]", r'<span class="nb">\g<0></span>', str(escape(text))))
