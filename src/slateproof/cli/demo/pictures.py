"""The pictures of the first half of the page: the idea, the exercises, the model, the choices.

Scope: none; presentation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slateproof.cli.demo.classroom import Class, Material
from slateproof.cli.demo.svg import BLUE, GREEN, GREY, INK, LINE, ORANGE, SKY, SOFT, circle, line, path, picture, rect, text
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
            rect(636, y, 308, 48, fill="#f6f7f9", stroke=LINE, round_=6),
            text(650, y + 20, name, bold=True, fill=BLUE, size=14),
            text(650, y + 38, what, size=12.5, fill=SOFT),
        ]
    return picture(952, 208, "A model scores; slateproof chooses; every slate has a trace, a certificate and a scope", shapes)


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
    ("score", "model's score", "#00395C"),
    ("target_bonus", "fitting difficulty", SKY),
    ("exploration_bonus", "little known yet", "#00664B"),
    ("novelty_bonus", "not shown lately", "#F0E442"),
    ("diversity_penalty", "too like one above (−)", ORANGE),
)
"""Terms of the objective: name in the explanation, name for people, colour. Neighbours differ in lightness: they print in grey."""


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
    for term, name, colour in TERMS:
        if not any(getattr(part, term) for part in every):
            continue
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


KINDS = (("struggling", ORANGE, "9 3 2 3"), ("steady", "#9A6A00", "2 3"), ("advancing", "#2E86B5", "7 4"), ("high_flyer", BLUE, ""))
"""Kinds of learners, weakest first, with their colours and dashes."""

_LEFT, _TOP, _WIDE, _TALL = 46.0, 44.0, 330.0, 180.0


def learners(taught: Class, material: Material, who: int) -> str:
    """Left: mean difficulty of what each kind of learner got, by round. Right: what one learner got, dot by dot."""
    right = _LEFT + _WIDE + 150
    shapes = [*_frame(_LEFT, taught, "what they get, on average"), *_frame(right, taught, f"what {taught.names[who]} gets")]
    ends = []
    for kind, colour, dash in KINDS:
        means = _means(taught, material, kind)
        shapes.append(path([_at(_LEFT, t, d, taught) for t, d in enumerate(means)], stroke=colour, width=2.6, dash=dash))
        ends.append((means[-1], kind, colour, dash))
    below, beside = 0.0, _LEFT + _WIDE + 4
    for value, kind, colour, dash in sorted(ends, reverse=True):
        y = max(_at(_LEFT, 0, value, taught)[1] + 4, below)
        shapes.append(line(beside, y - 4, beside + 24, y - 4, stroke=colour, width=2.6, dash=dash))
        shapes.append(text(beside + 30, y, kind.replace("_", " "), fill=colour, bold=True))
        below = y + 16
    for t, lesson in enumerate(taught.lessons):
        x, aim = _at(right, t, float(lesson.slates.target[who]), taught)
        half = _WIDE / len(taught.lessons) / 2
        shapes.append(line(x - half, aim, x + half, aim, stroke=INK, width=2))
        for code, tried, well in zip(lesson.items[who], lesson.attempted[who], lesson.correct[who], strict=True):
            if code >= 0:
                edge, fill = (GREEN, GREEN) if well else (ORANGE, "#fff") if tried else (GREY, GREY)
                y = _at(right, t, float(material.catalog.targets[code]), taught)[1]
                shapes.append(circle(x, y, 3.6, fill=fill, stroke=edge, title=str(material.catalog.ids[code])))
    x, y = right, _TOP + _TALL + 50
    for edge, fill, words in ((GREEN, GREEN, "right"), (ORANGE, "#fff", "wrong"), (GREY, GREY, "not tried")):
        shapes += [circle(x + 5, y - 4, 4, fill=fill, stroke=edge), text(x + 14, y, words, size=12)]
        x += 66 if words != "not tried" else 84
    shapes += [line(x, y - 4, x + 24, y - 4, stroke=INK, width=2), text(x + 30, y, "aimed at", size=12)]
    return picture(
        910, _TOP + _TALL + 58, "Difficulty of the chosen exercises by kind of learner and round; one learner's in detail", shapes
    )


def _means(taught: Class, material: Material, kind: str) -> list[float]:
    rows = [place for place, name in enumerate(taught.names) if name.startswith(kind)]
    chosen = [lesson.items[rows] for lesson in taught.lessons]
    return [float(material.catalog.targets[items[items >= 0]].mean()) for items in chosen]


def _at(left: float, t: int, difficulty: float, taught: Class) -> tuple[float, float]:
    return left + (t + 0.5) * _WIDE / len(taught.lessons), _TOP + _TALL * (1.0 - difficulty)


def _frame(left: float, taught: Class, title: str) -> list[str]:
    shapes = [text(left, 20, title, bold=True, size=14), text(left, 37, "difficulty", size=12, fill=SOFT)]
    for tick in (0, 0.5, 1):
        y = _TOP + _TALL * (1 - tick)
        shapes += [line(left, y, left + _WIDE, y), text(left - 7, y + 4, f"{tick:g}", size=12, anchor="end")]
    for t in range(len(taught.lessons)):
        x = _at(left, t, 0.0, taught)[0]
        shapes.append(text(x, _TOP + _TALL + 17, str(t + 1), size=12, anchor="middle", fill=SOFT))
    return [*shapes, text(left + _WIDE, _TOP + _TALL + 32, "round", size=12, anchor="end", fill=SOFT)]


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
