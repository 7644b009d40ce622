"""``RESULTS.md``: what came out of a run, on one page that a repository shows; links go to the files of the run.

Scope: none; presentation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slateproof.experiments.causes import grouped
from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.output import shown
from slateproof.experiments.signature import versions
from slateproof.experiments.verdicts import BASES, KINDS, bases, count

if TYPE_CHECKING:
    from slateproof.experiments.run import Finished, Outcome

__all__ = ["summary_page"]

MEANING = (
    "A verdict is computed from the published number and ours by a stated rule "
    "([how](docs/reproduction.md#verdicts)); nobody writes it. *Reproduced*: in the published interval, or within a stated "
    "tolerance. *Same direction*: another size, on the same side of its reference. *Differs*: neither. *Not comparable*: no number "
    "of ours, or another quantity; the reason is given."
)
OVERVIEW = ("evidence-map", "corpora")


def summary_page(outcome: Outcome, folder: Path) -> str:
    """The page as Markdown, for a file in ``folder``."""
    out = Path(os.path.relpath(outcome.out.resolve(), folder)).as_posix()
    parts = {part.experiment.name: part for part in outcome.finished}
    lines = ["# Results", "", *_head(outcome, out), "", *_verdicts(outcome, out)]
    if "evidence-map" in parts:
        lines += ["", *_map(parts["evidence-map"])]
    for claim in CLAIMS:
        mine = [parts[name] for name in claim.experiments if name in parts]
        if mine:
            lines += ["", f"## {claim.title}"]
            lines += [line for part in mine for line in _experiment(part, out)]
    lines += ["", *_differs(outcome), "", *_not_compared(outcome), "", *_made_with(outcome)]
    return "\n".join(lines).rstrip() + "\n"


def _head(outcome: Outcome, out: str) -> list[str]:
    command = outcome.finished[0].manifest["command"] if outcome.finished else ""
    machine = outcome.finished[0].manifest["machine"] if outcome.finished else ""
    lines = [
        "Written by the command below; do not edit it. The whole report, with every number, plot and table, is "
        f"[`{out}/report.html`]({out}/report.html): one file, download it and open it.",
        "",
        "```",
        command,
        "```",
        "",
        f"{_minutes(outcome.computing)} of computing on {machine}, compilation included. Seed "
        f"{outcome.finished[0].manifest['seed'] if outcome.finished else '-'}.",
    ]
    if outcome.quick:
        lines += ["", "**A quick run: small samples. The figures are noisier than those of a full run.**"]
    if outcome.skipped:
        lines += ["", "Left out, and never filled in:", "", *(f"- {why}" for why in outcome.skipped)]
    return lines


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} minutes"


def _verdicts(outcome: Outcome, out: str) -> list[str]:
    counts = outcome.counts
    text = ", ".join(f"**{counts[kind]}** {kind}" for kind in KINDS)
    rows = []
    for part in outcome.finished:
        found = count(part.result.verdicts)
        name = part.experiment.name
        cells = [str(found[kind]) if found[kind] else "·" for kind in KINDS]
        rows.append([f"{part.experiment.title} ([`{name}`]({out}/{name}.json))", *cells, f"{part.seconds:.0f}"])
    rows.append(["**all**", *(f"**{counts[kind]}**" for kind in KINDS), f"**{outcome.computing:.0f}**"])
    heads = ["experiment", *KINDS, "seconds"]
    return [
        "## Verdicts", "", f"{sum(counts.values()):,} published numbers: {text}. {_by_what(outcome)}", "", MEANING, "",
        *_table(heads, rows, right=range(1, len(heads))),
    ]  # fmt: skip


def _by_what(outcome: Outcome) -> str:
    """How the reproduced ones were: what a formula gives is no evidence, and noise is weaker than a tolerance."""
    found = bases(one for part in outcome.finished for one in part.result.verdicts)
    parts = ", ".join(f"{number} {BASES[basis]}" for basis, number in found.items() if number)
    return f"Reproduced are {parts}." if parts else ""


def _map(part: Finished) -> list[str]:
    sign = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        [f"**{r['claim']}**", r["published"], r["ours"], f"{sign[r['holds']]}: {r['check']}", r["numbers"]]
        for r in part.result.rows
    ]
    heads = ["claim", "the paper", "here", "holds? by which check", "its numbers"]
    return ["## Evidence map", "", *(_text(part.result.notes)), "", *_table(heads, rows)]


def _text(notes: Iterable[str]) -> list[str]:
    return [" ".join(notes)]


def _experiment(part: Finished, out: str) -> list[str]:
    lines = ["", f"### {part.experiment.title}", "", part.experiment.question, ""]
    lines += [f"Left out: {why}" for why in part.result.skipped]
    lines += [f"- {_escaped(note)}" for note in part.result.notes]
    for figure in part.result.figures:
        lines += ["", f"![{figure.describes}]({out}/{figure.name}.svg)"]
    return lines


def _differs(outcome: Outcome) -> list[str]:
    """Every number that differs, by experiment, with the cause that was found; what repeats but for its figures is said once."""
    lines, causes = ["## Numbers that differ", ""], list[str]()
    for part in outcome.finished:
        found = [one for one in part.result.verdicts if one.verdict == "differs"]
        places, texts = grouped(one.cause for one in found if one.cause)
        first = len(causes)
        rows = [
            [v.what, shown(v.published), shown(v.ours), f"[{first + places[v.cause]}]" if v.cause else "not found"] for v in found
        ]
        if rows:
            head = f"{part.experiment.title} (`{part.experiment.name}`)"
            lines += [f"**{head}**", "", *_table(["number", "published", "ours", "cause"], rows, right=(1, 2)), ""]
        causes += [f"`{part.experiment.name}`: {_escaped(text)}" for text in texts]
    if not causes and len(lines) == 2:
        return [*lines, "None."]
    note = "Figures of several numbers are given as ranges; each number's own stand in its experiment's `-published.csv`."
    return [*lines, "Causes found. " + note, "", *(f"{place}. {cause}" for place, cause in enumerate(causes, 1))]


def _not_compared(outcome: Outcome) -> list[str]:
    """Why numbers were not compared, how many, and where."""
    reasons: dict[str, dict[str, int]] = {}
    for part in outcome.finished:
        for one in part.result.verdicts:
            if one.verdict == "not comparable":
                counts = reasons.setdefault(one.rule, {})
                counts[part.experiment.name] = counts.get(part.experiment.name, 0) + 1
    rows = [
        [_escaped(why), str(sum(counts.values())), ", ".join(f"`{name}` {number}" for name, number in counts.items())]
        for why, counts in sorted(reasons.items(), key=lambda item: -sum(item[1].values()))
    ]
    lines = ["## Numbers not compared", ""]
    return [*lines, *_table(["why", "numbers", "where"], rows, right=(1,))] if rows else [*lines, "None."]


def _made_with(outcome: Outcome) -> list[str]:
    corpora = {label: digest for part in outcome.finished for label, digest in part.result.corpora.items()}
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items() if version)
    python = outcome.finished[0].manifest["python"] if outcome.finished else ""
    rows = [[label, f"`{digest[:16]}`"] for label, digest in corpora.items()]
    return ["## Made with", "", f"Python {python}, {libraries}.", "", *_table(["corpus", "digest"], rows)]


def _escaped(text: str) -> str:
    """Stars, underscores and pipes as themselves."""
    return "".join("\\" + c if c in "*_|<" else c for c in text)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """A Markdown table; ``right`` are the columns of numbers."""
    numbers = set(right)
    rule = ["---:" if place in numbers else "---" for place in range(len(heads))]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (heads, rule, *rows)]
