"""Slate batches to rows: the same rows as ``rows.rows_of`` gives, made from columns without one Python object per candidate.

Scope: conditional; a record inherits the privacy status of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from slateproof.audit.idlists import encode_flat, encode_ids, list_array
from slateproof.audit.rows import assemble
from slateproof.audit.shaping import shaped_scores
from slateproof.errors import InvalidInput
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.slatebatch import SlateBatch
from slateproof.types.trace import TIE_RULE

__all__ = ["Span", "is_columnar", "rows_of_span"]


class Span(NamedTuple):
    """The slates ``first:last`` of a batch, and their labels.

    Scope: none; a value waiting to be written.
    """

    slates: SlateBatch
    first: int
    last: int
    round_ids: Sequence[str | None]
    subjects: Sequence[str | None]

    def __len__(self) -> int:
        return self.last - self.first


def is_columnar(slates: SlateBatch) -> bool:
    """Whether a batch can be written column by column: stepwise choices, and ids that stand in a column or in one catalogue."""
    return slates.choices is None and (slates.pools.catalog is not None or slates.pools.names is not None)


def rows_of_span(span: Span, context: Mapping[str, str | None]) -> pa.RecordBatch:
    """The rows of a span; see ``rows.rows_of``."""
    frame = _Frame(span.slates, span.first, span.last)
    batch, part, size = span.slates, slice(span.first, span.last), len(span)
    columns: dict[str, Any] = {
        "round_id": list(span.round_ids),
        "subject": list(span.subjects),
        **{name: getattr(batch.states, name)[part] for name in ("knowledge", "engagement", "uncertainty")},
        **{name: getattr(batch.levers, name)[part] for name in ("target_shift", "exploration", "diversity")},
        "size": batch.levers.size[part].astype(np.int32),
        "target": batch.target[part],
        "pool_size": frame.sizes.astype(np.int32),
        **_ids("shown", encode_ids([batch.states.shown_of(b) for b in range(span.first, span.last)])),
        **frame.candidates(),
        **frame.scores(),
        **frame.similarities(),
        **frame.outcome(),
        **dict.fromkeys(context),
    }
    rule = batch.rule.to_dict()
    same = {"rule_kind": rule.pop("kind"), **rule, "tie_rule": TIE_RULE, "policy_digest": batch.policy_digest, **context}
    return assemble({**columns, **{name: [value] * size for name, value in same.items()}}, size)


def _ids(name: str, columns: Sequence[pa.Array]) -> dict[str, pa.Array]:
    return dict(zip((f"{name}_int", f"{name}_str", f"{name}_at"), columns, strict=True))


class _Frame:
    """The candidates of a span in id order, and where everything went."""

    def __init__(self, slates: SlateBatch, first: int, last: int) -> None:
        self.slates, self.first, self.last = slates, first, last
        pools = slates.pools
        self.start, self.stop = int(pools.offsets[first]), int(pools.offsets[last])
        self.sizes = np.diff(pools.offsets[first : last + 1])
        self.offsets = pools.offsets[first : last + 1] - self.start
        self.order = _order(pools, self.start, self.stop, self.sizes)
        self.steps = slice(int(slates.starts[first]), int(slates.starts[last]))
        self.step_sizes = np.diff(slates.starts[first : last + 1])

    def _take(self, column: Any) -> Any:
        """The column's values of the span, in id order."""
        return column[self.start : self.stop][self.order]

    def _per_candidate(self, values: Any) -> pa.Array:
        return list_array(values, self.sizes, pa.float64())

    def candidates(self) -> dict[str, Any]:
        pools, size = self.slates.pools, len(self.sizes)
        if pools.catalog is not None:
            rows = self._take(pools.rows).astype(np.int32)
            return {"catalog_digest": [pools.catalog.digest] * size, "candidate_rows": list_array(rows, self.sizes, pa.int32())}
        assert pools.names is not None
        names = pools.names.slice(self.start, self.stop - self.start).take(pa.array(self.order))
        name = "candidate_int" if pa.types.is_integer(names.type) else "candidate_str"
        kind = pa.int64() if name == "candidate_int" else pa.string()
        return {name: list_array(names.cast(kind), self.sizes, kind)}

    def scores(self) -> dict[str, pa.Array]:
        slates, pools = self.slates, self.slates.pools
        parts = {name: getattr(pools, name) for name in ("scores", "targets", "widths")}
        taken = {name: None if column is None else self._take(column) for name, column in parts.items()}
        if pools.catalog is not None:
            taken["targets"] = pools.catalog.targets[self._take(pools.rows)]
        columns = (taken["scores"], taken["targets"], taken["widths"])
        part = slice(self.first, self.last)
        taken["shaped"] = shaped_scores(columns, self.offsets, slates.target[part], slates.levers.exploration[part], slates.rule)
        if pools.catalog is not None:
            taken["targets"] = None
        return {name: self._per_candidate(column) for name, column in taken.items() if column is not None}

    def similarities(self) -> dict[str, Any]:
        """What ``rows`` stores: nothing for a catalogue, otherwise what was asked for."""
        pools, size = self.slates.pools, len(self.sizes)
        if pools.catalog is not None:
            return {"similarity_kind": ["catalog"] * size}
        kind = pools.source.kind if pools.matrices is None else "matrix"
        if kind == "none":
            return {"similarity_kind": ["none"] * size}
        limits, part = (pools.source, ...) if pools.matrices is None else (pools.matrices, slice(self.first, self.last))
        known, values, lengths = self._queried()
        return {
            "similarity_kind": [kind] * size,
            "similarity_lower": np.full(size, np.asarray(limits.lower)[part]),
            "similarity_higher": np.full(size, np.asarray(limits.higher)[part]),
            "similarity_known": list_array(known.astype(np.int32), self.sizes, pa.int32()),
            "similarity_values": list_array(values, lengths, pa.float64()),
        }

    def _queried(self) -> tuple[Any, Any, Any]:
        """(known, values, values per slate) in id order; a slate without diversity asks for nothing."""
        slates, total = self.slates, self.stop - self.start
        used = (slates.levers.diversity[self.first : self.last] != 0.0) & (slates.rule.kind != "top-k")
        if not used.any():
            return np.zeros(total, np.int64), np.zeros(0), np.zeros(len(self.sizes), np.int64)
        if slates.queried is None:
            raise InvalidInput("slates", "their similarities were not kept (trace=False); a replay log needs them, or a catalogue")
        parts = [slates.queried.of(slates.pools.offsets, b) for b in range(self.first, self.last)]
        known = np.concatenate([part[0] for part in parts])
        values = np.concatenate([part[1] for part in parts])
        starts = (np.cumsum(known) - known)[self.order]
        counts = np.where(np.repeat(used, self.sizes), known[self.order], 0)
        index = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
        return counts, values[index], np.array([part[1].size for part in parts]) * used

    def outcome(self) -> dict[str, Any]:
        slates, pools = self.slates, self.slates.pools
        place = np.empty(self.stop - self.start + 1, np.int32)
        place[self.order] = np.arange(self.stop - self.start) - np.repeat(self.offsets[:-1], self.sizes)
        shift = np.repeat(self.offsets[:-1], self.step_sizes)
        chosen, runners = slates.chosen[self.steps], slates.runners[self.steps]
        second = np.where(runners < 0, np.int32(-1), place[shift + np.maximum(runners, 0)])
        out: dict[str, Any] = {
            "chosen": list_array(place[shift + chosen], self.step_sizes, pa.int32()),
            "runners": list_array(second.astype(np.int32), self.step_sizes, pa.int32()),
            "margins": self._per_step(slates.margins),
        }
        for name in ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity"):
            out[name] = self._per_step(getattr(slates, name))
        flat = shift + chosen + self.start
        if pools.catalog is not None:
            ids = pools.catalog.ids
            named = [ids[row] for row in pools.rows[flat].tolist()]
        else:
            assert pools.names is not None
            named = pools.names.take(pa.array(flat)).to_pylist()
        return out | _ids("slate", encode_flat(named, self.step_sizes))

    def _per_step(self, column: Any) -> pa.Array:
        return list_array(column[self.steps], self.step_sizes, pa.float64())


def _order(pools: PoolBatch, start: int, stop: int, sizes: Any) -> Any:
    """Places in ``start:stop`` that put every pool into id order."""
    rank, pool = pools.rank[start:stop], np.repeat(np.arange(sizes.size), sizes)
    low, high = int(rank.min()), int(rank.max())
    reach = high - low + 1
    if reach * (sizes.size + 1) < 2**62:
        return np.argsort(pool * reach + (rank - low))
    return np.lexsort((rank, pool))
