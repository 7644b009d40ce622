"""Answer sequences for knowledge tracing, cut into windows and grouped by length.

A *window* is up to ``length`` consecutive answers of one user; a longer history gives several, each read from its own beginning.
Windows are padded to a third or the whole of ``length``: short histories cost little, and code compiles for two shapes only. Up to
``SHORT`` places there is one shape: padding then costs less than compiling.

Scope: none; a batch of protected rows carries no claim.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slateproof.corpora import Corpus
from slateproof.learn.two_tower_data import rounds_of

__all__ = ["Windows", "batches_of", "grouped", "longest", "windows_of"]

SHORT = 24


class Windows(NamedTuple):
    """N windows of L places: ``items`` (N, L) int32 codes, -1 behind the last answer, ``labels`` (N, L) float32 (0 there)."""

    items: Any
    labels: Any


def longest(corpus: Corpus, users: Any) -> int:
    """The most answers that one of the ``users`` (a boolean mask) has; 1 where there are none."""
    return int(np.diff(corpus.user_starts)[users].max(initial=1))


def windows_of(corpus: Corpus, users: Any, length: int) -> Windows:
    """The windows of the users in the boolean mask ``users``, in user order, then time."""
    first, count, _ = rounds_of(corpus, users, length)
    place = np.arange(length)
    inside = place < count[:, None]
    row = np.where(inside, first[:, None] + place, 0)
    items = np.where(inside, corpus.item[row], -1).astype(np.int32)
    return Windows(items, np.where(inside, corpus.positive[row], False).astype(np.float32))


def grouped(windows: Windows) -> list[Windows]:
    """The same windows in one or two groups: those that fit into L/3 places are cut to them."""
    length = windows.items.shape[1]
    count = (windows.items >= 0).sum(axis=1)
    limits = [length] if length <= SHORT else [-(-length // 3), length]
    group = np.searchsorted(limits, count)
    parts = ((np.flatnonzero(group == g), limit) for g, limit in enumerate(limits))
    return [Windows(windows.items[rows, :limit], windows.labels[rows, :limit]) for rows, limit in parts if rows.size]


def batches_of(groups: list[Windows], size: int, rng: np.random.Generator | None = None) -> list[Windows]:
    """Batches of ``size`` windows of one group, the last of a group filled with empty windows; shuffled with ``rng``."""
    out = []
    for group in groups:
        rows = np.arange(len(group.items)) if rng is None else rng.permutation(len(group.items))
        for low in range(0, rows.size, size):
            some = rows[low : low + size]
            missing = ((0, size - some.size), (0, 0))
            items = np.pad(group.items[some], missing, constant_values=-1)
            out.append(Windows(items, np.pad(group.labels[some], missing)))
    return out if rng is None else [out[place] for place in rng.permutation(len(out))]
