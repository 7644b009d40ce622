"""Many slates as columns: what a batch selection returns. Any one of them is a ``Slate`` when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.leverbatch import LeverBatch, StateBatch
from slateproof.types.poolbatch import PoolBatch, one_place
from slateproof.types.rule import Rule
from slateproof.types.slate import Slate
from slateproof.types.steps import SetChoice

__all__ = ["QueriedSimilarities", "SlateBatch"]


@dataclass(frozen=True, slots=True, eq=False)
class QueriedSimilarities:
    """The similarities a batch asked for, and no others.

    ``known[c]`` says, for candidate c of the flat columns, to how many of the chosen items of its pool, counted from the first, the
    similarity was computed. ``parts`` holds the values, candidate after candidate, one array per ``chunk`` pools.

    Scope: none; intermediate values.
    """

    known: Any
    parts: tuple[Floats, ...]
    chunk: int

    def of(self, offsets: Ints, b: int) -> tuple[Ints, Floats]:
        """(known, values) of the candidates of pool ``b``."""
        known: Ints = self.known[offsets[b] : offsets[b + 1]].astype(np.int64)
        first = (b // self.chunk) * self.chunk
        start = int(self.known[offsets[first] : offsets[b]].sum(dtype=np.int64))
        return known, self.parts[b // self.chunk][start : start + int(known.sum())]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SlateBatch:
    """B slates: the steps of slate b stand at ``starts[b]:starts[b + 1]`` of the flat columns.

    ``chosen`` and ``runners`` are positions in the pool (-1: no runner-up); ``chosen_objective``, ``runner_objective`` and the two
    similarities are those of ``Steps``. A rule that chooses among sets (SCPO) has ``choices`` instead, and one margin per slate.
    ``queried`` is None where the trace was not kept; a slate asked for by number is then selected again, which gives the same one,
    bit for bit.

    Scope: stability only; a margin says nothing about privacy.
    """

    pools: PoolBatch
    levers: LeverBatch
    states: StateBatch
    rule: Rule
    target: Floats
    starts: Ints
    chosen: Ints
    runners: Ints
    chosen_objective: Floats
    chosen_similarity: Floats
    runner_objective: Floats
    runner_similarity: Floats
    queried: QueriedSimilarities | None
    choices: tuple[SetChoice, ...] | None
    policy_digest: str | None
    reselect: Callable[[SlateBatch, int], Slate]

    def __len__(self) -> int:
        return len(self.pools)

    def __repr__(self) -> str:
        return f"SlateBatch({len(self)} slates, {self.rule.kind})"

    def __getitem__(self, place: int) -> Slate:
        """Slate ``place``, with its trace."""
        return self.reselect(self, range(len(self))[one_place(place)])

    def __iter__(self) -> Iterator[Slate]:
        return (self[b] for b in range(len(self)))

    @property
    def margins(self) -> Floats:
        """Gamma_q of every step, flat; +inf where nothing else was left. For SCPO one margin per slate."""
        if self.choices is not None:
            return frozen(np.array([c.value - c.runner_value if c.proved else 0.0 for c in self.choices]))
        return frozen(self.chosen_objective - self.runner_objective)

    @property
    def margin(self) -> Floats:
        """Gamma of every slate, as evaluated in float64; ``certify`` rounds it down."""
        if self.choices is not None:
            return self.margins
        smallest: Floats = np.minimum.reduceat(self.margins, self.starts[:-1])
        return frozen(smallest)

    @property
    def ids(self) -> pa.Array:
        """The chosen ids, one list per slate."""
        return pa.ListArray.from_arrays(pa.array(self.starts, pa.int32()), self._names(self.chosen))

    def _names(self, places: Ints) -> pa.Array:
        """Ids of positions that stand in step order; null for -1."""
        pool = np.repeat(np.arange(len(self)), np.diff(self.starts))
        flat = self.pools.offsets[pool] + places
        missing = places < 0
        if self.pools.names is not None:
            return self.pools.names.take(pa.array(np.where(missing, 0, flat), mask=missing))
        if self.pools.catalog is not None:
            known = self.pools.catalog.ids
            rows = self.pools.rows[np.where(missing, 0, flat)].tolist()
            chosen = [None if gone else known[row] for row, gone in zip(rows, missing.tolist(), strict=True)]
            return _names_array(chosen, (known[0], known[-1]))  # integers come first: the ends tell of both kinds
        named = [None if p < 0 else self.pools[b].ids_at([p])[0] for b, p in zip(pool.tolist(), places.tolist(), strict=True)]
        return _names_array(named, named)

    def to_arrow(self) -> pa.Table:
        """One row per slate: ids, margins, margin, runners_up, target and levers; for SCPO also the search's outcome.

        An infinite margin (nothing else was left) is null.
        """
        steps = pa.array(self.starts, pa.int32())
        margins = self.margins
        marks = pa.array(np.arange(len(self) + 1), pa.int32()) if self.choices is not None else steps
        columns: dict[str, Any] = {
            "ids": self.ids,
            "margin": _finite(self.margin),
            "margins": pa.ListArray.from_arrays(marks, _finite(margins)),
            "target": self.target,
            "target_shift": self.levers.target_shift,
            "exploration": self.levers.exploration,
            "diversity": self.levers.diversity,
            "size": self.levers.size,
        }
        if self.choices is None:
            columns["runners_up"] = pa.ListArray.from_arrays(steps, self._names(self.runners))
        else:
            for name in ("window", "value", "proved", "gap", "nodes"):
                columns[name] = [getattr(choice, name) for choice in self.choices]
        columns["policy_digest"] = pa.array([self.policy_digest] * len(self), pa.string())
        return pa.table(columns)

    def named(self, policy_digest: str | None) -> SlateBatch:
        """The same slates, naming the policy that made them."""
        return replace(self, policy_digest=policy_digest)


def _finite(values: Floats) -> pa.Array:
    return pa.array(values, mask=~np.isfinite(values))


def _names_array(names: list[Any], among: Sequence[Any]) -> pa.Array:
    """Ids as an Arrow column, which cannot hold integers and strings: where both occur ``among`` all, all become strings."""
    kinds = {type(name) for name in among if name is not None}
    if len(kinds) > 1:
        return pa.array([None if name is None else str(name) for name in names], pa.string())
    return pa.array(names, pa.int64() if int in kinds else pa.string())
