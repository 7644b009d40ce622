"""The pictures of the first half of the page: the idea, the exercises, the model, the choices.

Scope: none; presentation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slateproof.cli.demo.classroom import Class, Material
from slateproof.cli.demo.svg import BLUE, GREEN, GREY, INK, LINE, ORANGE, SKY, SOFT, circle, line, path, picture, rect, text
from slateproof.simulate.profiles import PROFILES
from slateproof.types import Slate

__all__ = ["choices", "difficulties", "idea", "learners", "models"]


def idea() -> str:
    """A model's scores go in; a list comes out, with three things that stand behind it."""
    shapes = [
        *_box(8, 70, 150, "Your model", ("scores what each", "person might see")),
        *_arrow(166, 112, 216),
        *_box(224, 70, 176, "slateproof", ("chooses by one written", "policy, always the same"), fill="#e8f2f9", edge=BLUE),
        *_arrow(408, 112, 458),
        *_box(466, 70, 138, "A slate", ("the ordered list", "that people see")),
    ]
    behind = (
        ("a trace", "anyone can recompute the list, bit for bit"),
        ("a certificate", "how far scores may move before it changes"),
        ("a privacy scope", "what may be claimed, and what may not"),
    )
    for place, (name, what) in enumerate(behind):
        y = 22 + 64 * place
        shapes += [
            line(604, 112, 636, y + 22, stroke=GREY, width=1.5),
            rect(636, y, 292, 48, fill="#f6f7f9", stroke=LINE, round_=6),
            text(650, y + 20, name, bold=True, fill=BLUE, size=14),
            text(650, y + 38, what, size=12.5, fill=SOFT),
        ]
    return picture(936, 208, "A model scores; slateproof chooses; every slate has a trace, a certificate and a scope", shapes)


def difficulties(material: Material) -> str:
    """How many exercises have which difficulty."""
    counts, edges = np.histogram(material.catalog.targets, bins=20, range=(0.0, 1.0))
    left, base, width = 44, 150, 27.0
    unit = 118.0 / counts.max()
    shapes = [
        rect(left + place * width, base - n * unit, width - 2, n * unit, fill=SKY, title=f"{n} exercises from {edge:.2f}")
        for place, (n, edge) in enumerate(zip(counts.tolist(), edges.tolist(), strict=False))
    ]
    shapes += [line(left, base, left + 20 * width, base, stroke=INK)]
    shapes += [text(left + 20 * width * tick, base + 17, f"{tick:g}", size=12, anchor="middle") for tick in (0, 0.25, 0.5, 0.75, 1)]
    shapes += [
        text(left, base + 34, "easy: everybody got it right", size=12, fill=SOFT),
        text(left + 20 * width, base + 34, "hard", size=12, fill=SOFT, anchor="end"),
        text(left - 6, base - counts.max() * unit + 10, str(int(counts.max())), size=12, anchor="end"),
        text(left - 6, base + 4, "0", size=12, anchor="end"),
    ]
    return picture(600, 190, "Histogram of the difficulties of the exercises", shapes)


def models(material: Material) -> str:
    """AUC on held-out learners with its interval: the model and the baseline, beside tossing a coin."""
    left, width, low, high = 170, 400, 0.45, 0.85

    def x(value: float) -> float:
        return left + width * (value - low) / (high - low)

    shapes = [
        line(x(0.5), 16, x(0.5), 104, stroke=GREY, width=1.5, dash="4 3"),
        text(x(0.5), 12, "a coin", size=12, anchor="middle"),
    ]
    for place, (report, colour) in enumerate(((material.report, BLUE), (material.baseline, SOFT))):
        y, found = 40 + 40 * place, report.held_out.auc
        shapes.append(text(left - 14, y + 4, report.learner, anchor="end", bold=place == 0))
        if found is not None:
            shapes += [
                line(x(found.low), y, x(found.high), y, stroke=colour, width=3),
                circle(x(found.value), y, 6, fill=colour),
                text(x(found.high) + 10, y + 4, f"{found.value:.3f}", size=13, bold=place == 0),
            ]
    shapes.append(line(left, 104, left + width, 104, stroke=INK))
    for tick in (0.5, 0.6, 0.7, 0.8):
        shapes += [line(x(tick), 104, x(tick), 109, stroke=INK), text(x(tick), 122, f"{tick:g}", size=12, anchor="middle")]
    shapes.append(text(left + width / 2, 142, "AUC on held-out learners, with 95 % interval", size=12, fill=SOFT, anchor="middle"))
    return picture(640, 152, "AUC of model and baseline", shapes)


TERMS = (
    ("score", "model's score", BLUE),
    ("target_bonus", "fitting difficulty", GREEN),
    ("exploration_bonus", "little known yet", SKY),
    ("novelty_bonus", "not shown lately", "#E69F00"),
    ("diversity_penalty", "like one above it", ORANGE),
)
"""Terms of the objective: name in the explanation, name for people, colour."""


def choices(slate: Slate) -> str:
    """Each choice as a bar of its terms, with its runner-up's bar, thinner, under it."""
    reasons = slate.explain().reasons
    pairs = [(reason.chosen, reason.runner_up) for reason in reasons]
    every = [part for pair in pairs for part in pair if part is not None]
    reach = max(sum(getattr(part, name) for name, _, _ in TERMS[:-1]) for part in every)
    depth = max(part.diversity_penalty for part in every)
    left, width = 70, 640.0
    unit = width / (reach + depth)
    zero = left + depth * unit
    shapes, x = [], float(left)
    for _, name, colour in TERMS:
        shapes += [rect(x, 4, 11, 11, fill=colour), text(x + 16, 14, name, size=12)]
        x += 34 + 6.4 * len(name)
    for place, reason in enumerate(reasons):
        y = 30 + 40 * place
        shapes.append(text(left - 8, y + 13, str(reason.chosen.id), anchor="end", bold=True))
        shapes += _stack(reason.chosen, zero, y, 17, unit)
        shapes.append(text(left + width + 8, y + 13, f"{reason.chosen.objective:.4f}", size=12, bold=True))
        if reason.runner_up is not None:
            shapes.append(text(left - 8, y + 28, str(reason.runner_up.id), size=11, anchor="end", fill=SOFT))
            shapes += _stack(reason.runner_up, zero, y + 19, 9, unit)
            shapes.append(text(left + width + 8, y + 28, f"{reason.runner_up.objective:.4f}", size=11, fill=SOFT))
    bottom = 30 + 40 * len(reasons)
    shapes.append(line(zero, 26, zero, bottom, stroke=INK))
    return picture(800, bottom + 4, "The terms of every choice of one slate", shapes)


def _stack(part: object, zero: float, y: float, height: float, unit: float) -> list[str]:
    """The terms of one item from zero to the right, the penalty to the left."""
    out, x = [], zero
    for name, words, colour in TERMS:
        value = getattr(part, name)
        wide = abs(value) * unit
        start = zero - wide if name == "diversity_penalty" else x
        if name != "diversity_penalty":
            x += wide
        if wide > 0.0:
            out.append(rect(start, y, wide, height, fill=colour, title=f"{words}: {value:.4f}"))
    return out


def learners(taught: Class, material: Material) -> str:
    """Four learners over the rounds: the difficulty aimed at, the exercises chosen, and what was done with them."""
    gap, wide, tall = 26.0, 205.0, 170.0
    shapes: list[str] = []
    for place, profile in enumerate(PROFILES):
        shapes += _learner(taught, material, _typical(taught, profile), profile, 40 + place * (wide + gap), wide, tall)
    for tick in (0, 0.5, 1):
        shapes.append(text(32, 40 + tall * (1 - tick) + 4, f"{tick:g}", size=12, anchor="end"))
    legend = ((GREEN, GREEN, "right"), (ORANGE, "#fff", "wrong"), (GREY, GREY, "not tried"))
    x = 40.0
    for edge, fill, words in legend:
        shapes += [circle(x + 5, 250, 4, fill=fill, stroke=edge), text(x + 14, 254, words, size=12)]
        x += 84
    shapes += [line(x, 250, x + 26, 250, stroke=INK, width=2), text(x + 32, 254, "difficulty that the policy aims at", size=12)]
    return picture(964, 262, "Four learners: the difficulty aimed at, and the exercises chosen, round by round", shapes)


def _learner(taught: Class, material: Material, who: int, profile: str, left: float, wide: float, tall: float) -> list[str]:
    step, top = wide / len(taught.lessons), 40.0
    shapes = [
        rect(left, top, wide, tall, fill="#f6f7f9"),
        text(left, top - 22, profile.replace("_", " "), bold=True),
        text(left, top - 7, taught.names[who], size=11, fill=SOFT),
    ]
    for t, lesson in enumerate(taught.lessons):
        middle, aim = left + (t + 0.5) * step, top + tall * (1 - float(lesson.slates.target[who]))
        shapes.append(line(middle - step / 2, aim, middle + step / 2, aim, stroke=INK, width=2))
        shapes.append(text(middle, top + tall + 16, str(t + 1), size=11, anchor="middle", fill=SOFT))
        for code, tried, right in zip(lesson.items[who], lesson.attempted[who], lesson.correct[who], strict=True):
            if code >= 0:
                d = float(material.catalog.targets[code])
                edge, fill = (GREEN, GREEN) if right else (ORANGE, "#fff") if tried else (GREY, GREY)
                shapes.append(
                    circle(middle, top + tall * (1 - d), 3.2, fill=fill, stroke=edge, title=f"{material.catalog.ids[code]}")
                )
    return shapes


def _typical(taught: Class, profile: str) -> int:
    """The learner of a profile whose target in the last round is the (lower) median of the profile."""
    rows = [place for place, name in enumerate(taught.names) if name.startswith(profile)]
    last = np.asarray(taught.lessons[-1].slates.target)[rows]
    return rows[int(np.argsort(last, kind="stable")[(len(rows) - 1) // 2])]


def _box(x: float, y: float, wide: float, name: str, lines: Sequence[str], *, fill: str = "#fff", edge: str = GREY) -> list[str]:
    words = [
        text(x + wide / 2, y + 50 + 17 * place, words, size=12.5, fill=SOFT, anchor="middle") for place, words in enumerate(lines)
    ]
    return [
        rect(x, y, wide, 84, fill=fill, stroke=edge, round_=8),
        text(x + wide / 2, y + 27, name, size=16, anchor="middle", bold=True),
        *words,
    ]


def _arrow(x: float, y: float, until: float) -> list[str]:
    return [
        line(x, y, until, y, stroke=SOFT, width=2),
        path([(until - 8, y - 6), (until, y), (until - 8, y + 6)], stroke=SOFT),
    ]
