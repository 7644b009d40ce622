"""Slates to rows: one Arrow record batch of many slates, column by column.

Everything that stands per candidate is put into id order, so that the order of the input leaves no mark. Rows know nothing of the
log yet: places, salts and digests are added when they are committed.

Scope: conditional; a record inherits the privacy status of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from slateproof.audit.idlists import encode_ids, list_array, null_array
from slateproof.audit.schema import COLUMNS
from slateproof.errors import InvalidInput
from slateproof.select.kernels import jaccard
from slateproof.types import Levers, Pool, Rule, SetChoice, Similarity, Slate
from slateproof.types.trace import TIE_RULE

__all__ = ["Entry", "asks_nothing", "assemble", "bytes_of", "rows_of", "source_bytes"]


class Entry(NamedTuple):
    """A slate and what its round is called; ``certified`` is (margin, radius) where a certificate was given.

    Scope: none; a value waiting to be written.
    """

    slate: Slate
    round_id: str | None
    subject: str | None
    certified: tuple[float, float] | None
    movement: float | None


def bytes_of(slate: Slate) -> int:
    """About how much memory a waiting slate holds, without the similarity source of its pool."""
    asked = getattr(slate.steps, "similarities", None)
    return 2048 + 64 * slate.pool.size + 16 * len(slate.state.shown) + (0 if asked is None else asked.nbytes)


def source_bytes(source: Similarity) -> int:
    """How much memory the tables of a similarity source take."""
    return source.vectors.nbytes + source.matrix.nbytes + source.tag_ptr.nbytes + source.tag_ids.nbytes


def rows_of(entries: Sequence[Entry], context: Mapping[str, str | None]) -> pa.RecordBatch:
    """The rows of ``entries``; ``context`` gives ``software``, ``scope_digest`` and ``regime``, the same for all."""
    slates = [entry.slate for entry in entries]
    orders = [slate.pool.order for slate in slates]
    columns: dict[str, Any] = {
        "round_id": [entry.round_id for entry in entries],
        "subject": [entry.subject for entry in entries],
        "certified_margin": [None if entry.certified is None else entry.certified[0] for entry in entries],
        "certified_radius": [None if entry.certified is None else entry.certified[1] for entry in entries],
        "movement": [entry.movement for entry in entries],
        **_ids("shown", [slate.state.shown for slate in slates]),
        **_ids("slate", [slate.ids for slate in slates]),
        **_settings(slates),
        **_candidates(slates, orders),
        **_scores(slates, orders),
        **_similarities(slates, orders),
        **_outcomes(slates, orders),
        **{name: [value] * len(entries) for name, value in context.items()},
    }
    return assemble(columns, len(entries))


def assemble(columns: Mapping[str, Any], size: int) -> pa.RecordBatch:
    """A record batch of rows from columns by name; a column that is not there is null."""
    return pa.RecordBatch.from_arrays(
        [_array(columns.get(column.name), column.type, size) for column in COLUMNS],
        names=[column.name for column in COLUMNS],
    )


def _array(values: Any, kind: pa.DataType, size: int) -> pa.Array:
    if values is None:
        return null_array(kind, size)
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _ids(name: str, lists: Sequence[Sequence[Any]]) -> dict[str, pa.Array]:
    return dict(zip((f"{name}_int", f"{name}_str", f"{name}_at"), encode_ids(lists), strict=True))


def _settings(slates: Sequence[Slate]) -> dict[str, list[Any]]:
    """State, levers and rule: one value per slate."""
    out: dict[str, list[Any]] = {}
    for name in ("knowledge", "engagement", "uncertainty"):
        out[name] = [getattr(slate.state, name) for slate in slates]
    for name in ("target_shift", "exploration", "diversity", "size"):
        out[name] = [getattr(slate.levers, name) for slate in slates]
    for name in ("target_gain", "window", "novelty", "dissimilarity", "node_budget"):
        out[name] = [getattr(slate.rule, name) for slate in slates]
    out["rule_kind"] = [slate.rule.kind for slate in slates]
    out["target"] = [slate.target for slate in slates]
    out["policy_digest"] = [slate.policy_digest for slate in slates]
    out["tie_rule"] = [TIE_RULE] * len(slates)
    out["pool_size"] = [slate.pool.size for slate in slates]
    return out


def _candidates(slates: Sequence[Slate], orders: Sequence[Any]) -> dict[str, Any]:
    """Ids in id order; rows of the catalogue where there is one, which rise with the ids."""
    pools = [slate.pool for slate in slates]
    by_row = [pool.catalog is not None for pool in pools]
    out: dict[str, Any] = {"catalog_digest": [None if pool.catalog is None else pool.catalog.digest for pool in pools]}
    rows = [pool.rows[order] if known else _NO_ROWS for pool, order, known in zip(pools, orders, by_row, strict=True)]
    out["candidate_rows"] = list_array(np.concatenate(rows).astype(np.int32), [len(r) for r in rows], pa.int32(), by_row)
    if not all(by_row):
        named = [
            [] if known else [pool.ids[i] for i in order.tolist()] for pool, order, known in zip(pools, orders, by_row, strict=True)
        ]
        out.update(_ids("candidate", named))
    return out


_NO_ROWS = np.zeros(0, np.int64)


def _scores(slates: Sequence[Slate], orders: Sequence[Any]) -> dict[str, pa.Array]:
    """Columns per candidate. Targets of a catalogue are looked up, so they are not repeated."""
    sizes = [len(order) for order in orders]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    whole = np.concatenate([order + start for order, start in zip(orders, starts.tolist(), strict=True)])
    kind = pa.float64()
    out = {
        "scores": list_array(np.concatenate([s.pool.scores for s in slates])[whole], sizes, kind),
        "shaped": list_array(np.concatenate([s.steps.shaped for s in slates])[whole], sizes, kind),
    }
    columns = {
        "widths": [slate.pool.widths for slate in slates],
        "targets": [None if slate.pool.catalog is not None else slate.pool.targets for slate in slates],
    }
    for name, values in columns.items():
        kept = [column is not None for column in values]
        parts = [column[order] for column, order in zip(values, orders, strict=True) if column is not None]
        if parts:
            lengths = [size if here else 0 for size, here in zip(sizes, kept, strict=True)]
            out[name] = list_array(np.concatenate(parts), lengths, kind, kept)
    return out


def _similarities(slates: Sequence[Slate], orders: Sequence[Any]) -> dict[str, Any]:
    """Similarities of pools without a catalogue, candidate by candidate; a catalogue gives them by lookup."""
    kinds = [_kind(slate) for slate in slates]
    out: dict[str, Any] = {"similarity_kind": kinds}
    stored = [kind not in ("catalog", "none") for kind in kinds]
    if not any(stored):
        return out
    for name in ("lower", "higher"):
        out[f"similarity_{name}"] = [
            getattr(slate.pool.similarity, name) if here else None for slate, here in zip(slates, stored, strict=True)
        ]
    parts = [_stored(slate, order) if here else _NOTHING for slate, order, here in zip(slates, orders, stored, strict=True)]
    for place, name in enumerate(("known", "values", "table")):
        values = [part[place] for part in parts]
        present = [value is not None for value in values]
        if any(present):
            kind = pa.int32() if name == "known" else pa.float64()
            flat = np.concatenate([value for value in values if value is not None]).astype(kind.to_pandas_dtype())
            lengths = [0 if value is None else len(value) for value in values]
            out[f"similarity_{name}"] = list_array(flat, lengths, kind, present)
    return out


_NOTHING = (None, None, None)


def _kind(slate: Slate) -> str:
    return "catalog" if slate.pool.catalog is not None else slate.pool.similarity.kind


def asks_nothing(rule: Rule, levers: Levers) -> bool:
    """Whether a selection needs no similarity at all, whatever the pool."""
    return rule.kind == "top-k" or (rule.kind == "greedy" and levers.diversity == 0.0)


def _stored(slate: Slate, order: Any) -> tuple[Any, Any, Any]:
    """(known, values, table): what the greedy selector asked for; for a choice among sets the whole source of the pool."""
    steps = slate.steps
    if isinstance(steps, SetChoice):
        return None, None, source_table(slate.pool, order)
    if asks_nothing(slate.rule, slate.levers):
        return np.zeros(len(order)), np.zeros(0), None
    known = steps.known[order]
    if steps.similarities is None:
        raise InvalidInput("similarities", "were not kept by the selection; a trace needs them, or a catalogue")
    table = steps.similarities[order]
    return known, table[np.arange(table.shape[1]) < known[:, None]], None


def source_table(pool: Pool, order: Any) -> Any:
    """The rows of the similarity source in id order, flat: the vectors, or else the matrix of all pairs."""
    source, rows = pool.similarity, pool.rows[order]
    if source.kind == "vectors":
        return source.vectors[rows].astype(np.float64).reshape(-1)
    if source.kind == "matrix":
        return source.matrix[np.ix_(rows, rows)].reshape(-1)
    size = len(rows)
    table = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            table[i, j] = table[j, i] = jaccard(source.tag_ptr, source.tag_ids, rows[i], rows[j])
    return table.reshape(-1)


def _outcomes(slates: Sequence[Slate], orders: Sequence[Any]) -> dict[str, Any]:
    """What was chosen, what came second, and the objectives of both; places are in id order."""
    out: dict[str, Any] = {"margins": _lists([slate.margins for slate in slates], pa.float64())}
    sets = [slate.steps if isinstance(slate.steps, SetChoice) else None for slate in slates]
    chosen, runners = [], []
    for slate, order in zip(slates, orders, strict=True):
        place = np.empty(len(order) + 1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        place[-1] = -1
        second = slate.steps.runner_up if isinstance(slate.steps, SetChoice) else slate.steps.runners
        chosen.append(place[slate.steps.chosen])
        runners.append(place[second])
    out["chosen"], out["runners"] = _lists(chosen, pa.int32()), _lists(runners, pa.int32())
    for name in ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity"):
        parts = [
            np.array([getattr(steps, _SET_NAMES[name])]) if isinstance(steps, SetChoice) else getattr(steps, name)
            for steps in (slate.steps for slate in slates)
        ]
        out[name] = _lists(parts, pa.float64())
    if any(one is not None for one in sets):
        for name in ("window", "nodes", "bound", "proved"):
            out[f"set_{name}"] = [None if one is None else getattr(one, name) for one in sets]
    return out


_SET_NAMES = {
    "chosen_objective": "value",
    "runner_objective": "runner_value",
    "chosen_similarity": "similarity",
    "runner_similarity": "runner_similarity",
}


def _lists(parts: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return list_array(np.concatenate(parts), [len(part) for part in parts], kind)
