"""Causes said once: sentences that differ in their figures only become one sentence, with ranges.

A cause of a single number stays as it was written, in the files of its experiment.

Scope: none; presentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["grouped"]

SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z])")
NUMBER = re.compile(r"(?<![\w.\-])[-+−]?(?:\d[\d,]*\d|\d)?(?:\.\d+)?(?<=\d)(?:e[-+]?\d+)?(?![\w])")
GAP = "\0"


def grouped(causes: Iterable[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """(cause -> number of its group, from 1; the groups' texts). Causes that share a sentence, figures apart, form one group."""
    listed = list(dict.fromkeys(causes))
    groups: list[tuple[set[str], list[str]]] = []
    for cause in listed:
        shapes, members = {_shape(one) for one in _sentences(cause)}, [cause]
        others = [group for group in groups if not group[0].isdisjoint(shapes)]
        for group in others:
            shapes |= group[0]
            members = [*group[1], *members]
            groups.remove(group)
        groups.append((shapes, members))
    groups.sort(key=lambda group: min(listed.index(one) for one in group[1]))
    places = {cause: place for place, (_, members) in enumerate(groups, 1) for cause in members}
    return places, tuple(_merged(sorted(members, key=listed.index)) for _, members in groups)


def _sentences(text: str) -> list[str]:
    return SENTENCE.split(text.strip())


def _shape(sentence: str) -> str:
    return NUMBER.sub(GAP, sentence)


def _merged(causes: Sequence[str]) -> str:
    """Every sentence once, in order of first sight, its figures as ranges over the causes."""
    found: dict[str, list[list[str]]] = {}
    for cause in causes:
        for sentence in _sentences(cause):
            found.setdefault(_shape(sentence), []).append(NUMBER.findall(sentence))
    return " ".join(_filled(shape, figures) for shape, figures in found.items())


def _filled(shape: str, figures: Sequence[Sequence[str]]) -> str:
    parts = shape.split(GAP)
    columns = zip(*figures, strict=True)
    return parts[0] + "".join(_range(column) + part for column, part in zip(columns, parts[1:], strict=True))


def _range(figures: Sequence[str]) -> str:
    ordered = sorted(figures, key=_value)
    low, high = ordered[0], ordered[-1]
    return low if _value(low) == _value(high) else f"{low} to {high}"


def _value(figure: str) -> float:
    return float(figure.replace(",", "").replace("−", "-"))
