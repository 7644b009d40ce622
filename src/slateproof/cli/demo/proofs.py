"""The pictures of the second half of the page: the log, the checks, the certificate.

Scope: none; presentation.
"""

from __future__ import annotations

import math

from slateproof.audit import VerifyReport
from slateproof.cli.demo.classroom import Class
from slateproof.cli.demo.steps import SIGMA, Certified, Logged
from slateproof.cli.demo.svg import BLUE, GREEN, GREY, INK, ORANGE, SOFT, circle, line, path, picture, rect, text

__all__ = ["checkpoints", "curves", "named", "reach", "records"]


def checkpoints(logged: Logged) -> str:
    """One block per commit, each root covering everything before it, the last one signed."""
    many = len(logged.checkpoints)
    wide = 920.0 / many
    shapes, before = [], 0
    for place, one in enumerate(logged.checkpoints):
        x, early = 8 + place * wide, one == logged.early
        edge = ORANGE if early else BLUE
        shapes += [
            rect(x, 34, wide - 12, 34, fill="#e8f2f9", stroke=BLUE, round_=5),
            text(x + (wide - 12) / 2, 56, f"{before}–{one.size - 1}", size=12.5, anchor="middle"),
            path([(x + 6, 70), (x + (wide - 12) / 2, 96), (x + wide - 18, 70)], stroke=GREY, width=1.4),
            rect(x, 98, wide - 12, 26, fill="#fff", stroke=edge, round_=5),
            text(x + (wide - 12) / 2, 115, one.root.hex()[:8] + "…", size=12, anchor="middle", fill=edge),
        ]
        if place:
            shapes.append(line(x - 12, 111, x, 111, stroke=GREY, width=2))
        before = one.size
        if early:
            shapes.append(text(x + (wide - 12) / 2, 144, "the auditor keeps", size=12, fill=ORANGE, anchor="middle"))
            shapes.append(text(x + (wide - 12) / 2, 159, "this one", size=12, fill=ORANGE, anchor="middle"))
    shapes += [
        text(8, 20, "records, one commit per round", size=12.5, fill=SOFT),
        text(916, 144, "signed root over", size=12, anchor="end", fill=BLUE),
        text(916, 159, f"all {before} records", size=12, anchor="end", fill=BLUE),
    ]
    return picture(924, 166, "Commits of the log, each with a signed Merkle root", shapes)


def records(taught: Class, bad: dict[int, str], caption: str) -> str:
    """One square per record, a row per round: green where it was selected again, orange where it is named by a problem."""
    across, side = len(taught.names), 7.0
    shapes = []
    for t in range(len(taught.lessons)):
        y = 8 + t * (side + 5)
        shapes.append(text(52, y + side, f"round {t + 1}", size=11, anchor="end", fill=SOFT))
        for s in range(across):
            place = t * across + s
            wrong = place in bad
            title = f"record {place}, {taught.names[s]}: {bad.get(place, 'the same, bit for bit')}"
            grow = 2.0 if wrong else 0.0
            fill = ORANGE if wrong else GREEN
            shapes.append(
                rect(60 + s * (side + 0.3) - grow, y - grow, side - 0.7 + 2 * grow, side + 2 * grow, fill=fill, title=title)
            )
    for place in sorted(bad):
        t, s = divmod(place, across)
        x, y = 60 + s * (side + 0.3) + side / 2, 8 + t * (side + 5) + side / 2
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="none" stroke="{ORANGE}" stroke-width="2.5"/>')
    height = 8 + len(taught.lessons) * (side + 5) + 8
    return picture(70 + across * (side + 0.3), height, caption, shapes)


def reach(certified: Certified) -> str:
    """The largest change of any score, from none to where one is known to change the slate."""
    radius, size = certified.certificate.radius, certified.size
    left, width, end = 20.0, 760.0, 2.0 * radius
    edge = left + width * radius / end
    first = next(place for place, (a, b) in enumerate(zip(certified.inside.ids, certified.other.ids, strict=True)) if a != b)
    moved = f"{certified.inside.ids[first]} gives way to {certified.other.ids[first]} in place {first + 1}"
    shapes = [
        rect(left, 34, edge - left, 30, fill=GREEN),
        rect(edge, 34, left + width - edge, 30, fill="#f6d9c6"),
        text(left + 12, 54, "proved: a change this small does nothing", fill="#fff", bold=True),
        text(edge + 14, 54, "some changes of this size make it another", fill="#8c3508", bold=True),
        line(edge, 24, edge, 70, stroke=INK, width=2),
        text(edge, 18, f"radius {radius:.6f}", anchor="middle", bold=True),
        circle(left + width * size / end, 76, 5, fill=ORANGE),
        text(edge, 98, f"found: a change of {size:.6f} after which {moved}", size=12.5, anchor="middle"),
        text(left, 82, "0", size=12, anchor="middle"),
        text(left + width, 82, f"{end:.4f}", size=12, anchor="end"),
    ]
    return picture(800, 106, "The exact radius of one slate", shapes)


def curves(certified: Certified) -> str:
    """Probability that the slate changes against the noise of the scores: the paper's bound, the union bound, the truth."""
    left, top, width, tall = 60.0, 20.0, 560.0, 190.0
    sigmas = [row[0] for row in certified.curve]
    low, high = math.log(sigmas[0]), math.log(sigmas[-1])

    def at(sigma: float, value: float) -> tuple[float, float]:
        return left + width * (math.log(sigma) - low) / (high - low), top + tall * (1 - min(1.0, value))

    shapes = [line(left, at(sigmas[0], v)[1], left + width, at(sigmas[0], v)[1]) for v in (0, 0.25, 0.5, 0.75, 1)]
    shapes += [text(left - 8, at(sigmas[0], v)[1] + 4, f"{v:g}", size=12, anchor="end") for v in (0, 0.5, 1)]
    here = at(SIGMA, 0)[0]
    shapes += [line(here, top, here, top + tall, stroke=GREY, width=1.5, dash="4 3")]
    lines = ((1, ORANGE, "5 3", "the paper's bound"), (2, BLUE, "2 3", "union bound"), (3, INK, "", "the probability"))
    for place, (column, colour, dash, name) in enumerate(lines):
        shapes.append(path([at(row[0], row[column]) for row in certified.curve], stroke=colour, width=2.4, dash=dash))
        y = top + 30 + 24 * place
        shapes += [line(left + width + 16, y, left + width + 46, y, stroke=colour, width=2.4, dash=dash)]
        shapes.append(text(left + width + 52, y + 4, name, size=13, fill=colour))
    value = next(row[3] for row in certified.curve if row[0] == SIGMA)
    x, y = at(SIGMA, value)
    shapes += [circle(x, y, 5, fill=INK), text(x + 10, y + 14, f"{value:.2f} at noise {SIGMA:g}", bold=True)]
    for sigma in (0.001, 0.01, 0.1):
        shapes.append(text(at(sigma, 0)[0], top + tall + 17, f"{sigma:g}", size=12, anchor="middle"))
    shapes.append(
        text(
            left + width / 2, top + tall + 36, "standard deviation of the noise in every score", size=12, fill=SOFT, anchor="middle"
        )
    )
    return picture(830, 252, "Probability of a change against noise", shapes)


def named(report: VerifyReport) -> dict[int, str]:
    """The records that a report names one by one, and what it says of each."""
    return {p.index: p.message for p in report.problems if p.kind == "changed" and p.index is not None}
