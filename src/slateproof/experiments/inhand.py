"""Which corpus in hand stands for which of the paper, and what it lacks.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slateproof.corpora import CORPORA, Corpus
from slateproof.experiments.shelf import Shelf

__all__ = ["EDNET", "EDUCATION", "STANDS_FOR", "get", "in_hand", "lacking", "not_the_papers"]

EDNET = ("ednet-kt2", "ednet-surrogate")
"""EdNet, or simulated answers to its real questions."""

STANDS_FOR = {
    "oulad": ("oulad",),
    "ednet": EDNET,
    "ml-25m": ("ml-25m",),
    "amazon-musical-instruments": ("amazon-musical-instruments", "amazon-musical-instruments-5"),
}
"""Corpora of the paper, and what is taken for each, best first; a smaller cut keeps its own name in every row."""

EDUCATION = ("oulad", "ednet")


def in_hand(shelf: Shelf, papers: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """(corpus of the paper -> the corpus taken for it), and why others are missing."""
    found: dict[str, str] = {}
    skipped: list[str] = []
    for paper in papers:
        here, reasons = shelf.split(STANDS_FOR[paper])
        if here:
            found[paper] = here[0]
        else:
            skipped += reasons
    return found, tuple(skipped)


def get(shelf: Shelf, name: str, users: int, **options: Any) -> Corpus:
    """The corpus; of EdNet and its surrogate ``users`` learners, which the paper's closed loop has, too."""
    cut = {"ednet-kt2": {"max_users": users}, "ednet-surrogate": {"users": users}}.get(name, {})
    return shelf.get(name, **cut, **options)


def lacking(corpus: Corpus) -> str:
    """What the publisher's corpus has more of, as a sentence; empty where nothing is known to be missing."""
    stated = CORPORA[corpus.name].published if corpus.name in CORPORA else None
    full = None if stated is None or corpus.synthetic else stated.interactions
    if corpus.name == "amazon-musical-instruments-5":
        return "In hand is the 5-core (10,261 of 500,176 ratings). "
    if full is None or full == len(corpus):
        return ""
    return f"In hand are {len(corpus):,} of {full:,} interactions. "


def not_the_papers(corpus: Corpus) -> str | None:
    """Why a number measured on this corpus is another quantity than the paper's; None if it may be compared."""
    if corpus.name == "ednet-surrogate":
        return "simulated answers to the real questions (ednet-surrogate), not EdNet's answers"
    return f"{corpus.label} is synthetic" if corpus.synthetic else None
