"""Hypothesis strategies shared by the rooms: pools full of ties, duplicated vectors, mixed ids, every similarity source."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from slateproof.types import Levers, Pool, State, unit

GRID = [k / 4 for k in range(-8, 9)]
"""Few distinct values, so that ties are common."""


@st.composite
def id_lists(draw: Any, size: int) -> list[Any]:
    """Unique ids: integers, strings, or both."""
    integers = st.integers(-50, 50)
    strings = st.text(alphabet="abcZ9é", min_size=0, max_size=3)
    kind = draw(st.sampled_from([integers, strings, st.one_of(integers, strings)]))
    return draw(st.lists(kind, min_size=size, max_size=size, unique=True))


def floats(tied: bool) -> Any:
    """Scores: from a small grid, or anything moderate."""
    return st.sampled_from(GRID) if tied else st.floats(-1e3, 1e3, allow_nan=False)


@st.composite
def pools(draw: Any, min_size: int = 1, max_size: int = 14, targets: bool | None = None) -> Pool:
    """A pool of any size, similarity source, with or without targets and widths."""
    n = draw(st.integers(min_size, max_size))
    tied = draw(st.booleans())
    column = st.lists(floats(tied), min_size=n, max_size=n)
    unit_column = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=n, max_size=n)
    facts: dict[str, Any] = {"ids": draw(id_lists(n)), "scores": draw(column)}
    if targets or (targets is None and draw(st.booleans())):
        facts["targets"] = draw(unit_column)
    if draw(st.booleans()):
        facts["widths"] = draw(unit_column)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    source = draw(st.sampled_from(["none", "vectors", "float32", "matrix", "tags"]))
    if source in ("vectors", "float32"):
        d = draw(st.integers(1, 9))
        few = unit(rng.normal(size=(max(1, n // 2), d)))  # duplicated vectors
        table = few[rng.integers(0, len(few), n)]
        facts["vectors"] = table.astype(np.float32) if source == "float32" else table
    elif source == "matrix":
        half = rng.choice([*GRID, -0.0], size=(n, n))
        facts["similarity"] = np.where(np.tri(n, dtype=bool), half, half.T)  # not a sum, in which -0.0 would be lost
    elif source == "tags":
        facts["tags"] = [set(rng.integers(0, 5, rng.integers(0, 4)).tolist()) for _ in range(n)]
    return Pool(**facts)


@st.composite
def levers_for(draw: Any, size: int) -> Levers:
    """Levers that fit a pool of ``size``; every lever is sometimes at an end of its range."""
    return Levers(
        target_shift=draw(st.sampled_from([-1.0, -0.1, 0.0, 0.1, 1.0])),
        exploration=draw(st.sampled_from([0.0, 0.3, 2.0])),
        diversity=draw(st.sampled_from([0.0, 0.05, 0.3, 0.6, 1.0])),
        size=draw(st.integers(1, size)),
    )


@st.composite
def states_for(draw: Any, pool: Pool) -> State:
    """A state whose memory holds some of the pool's ids and some others."""
    known = draw(st.lists(st.sampled_from(pool.ids), max_size=6))
    return State(
        knowledge=draw(st.sampled_from([0.0, 0.35, 0.5, 1.0])),
        engagement=draw(st.floats(0, 1)),
        uncertainty=draw(st.floats(0, 1)),
        shown=(*known, "not a candidate", 10**6),
    )
