"""The trace schema, version 2: which columns a record has, and under which commitment each of them stands.

One row is one slate. Columns are grouped into *fields*; a field is what a masked copy keeps or drops as a whole. The order of
columns here is the order of the canonical bytes, so it belongs to the version and never changes; what a later version adds comes
last in its field. A log keeps the version it was made with. ``docs/trace.md`` says what each column means.

Scope: conditional; a record inherits the privacy status of whatever stands in it (Corollary "Audit trace privacy").
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

__all__ = ["COLUMNS", "FIELDS", "MONITOR_DROPS", "REPLAY_NEEDS", "SCHEMA", "SCHEMA_VERSION", "Column", "columns_of", "schema_of"]

SCHEMA_VERSION = 2


class Column(NamedTuple):
    """A column: its name, Arrow type, the field it belongs to, and the schema version that brought it.

    Scope: none; naming only.
    """

    name: str
    type: pa.DataType
    field: str
    since: int = 1


_F64, _I64, _I32, _STR = pa.float64(), pa.int64(), pa.int32(), pa.string()
_F64S, _I64S, _I32S, _STRS = pa.list_(_F64), pa.list_(_I64), pa.list_(_I32), pa.list_(_STR)

COLUMNS: tuple[Column, ...] = (
    Column("round_id", _STR, "round"),
    Column("subject", _STR, "subject"),
    Column("knowledge", _F64, "state"),
    Column("engagement", _F64, "state"),
    Column("uncertainty", _F64, "state"),
    Column("shown_int", _I64S, "shown"),
    Column("shown_str", _STRS, "shown"),
    Column("shown_at", _I32S, "shown"),
    Column("target_shift", _F64, "levers"),
    Column("exploration", _F64, "levers"),
    Column("diversity", _F64, "levers"),
    Column("size", _I32, "levers"),
    Column("target", _F64, "levers"),
    Column("catalog_digest", _STR, "candidates"),
    Column("candidate_rows", _I32S, "candidates"),
    Column("candidate_int", _I64S, "candidates"),
    Column("candidate_str", _STRS, "candidates"),
    Column("scores", _F64S, "scores"),
    Column("shaped", _F64S, "scores"),
    Column("widths", _F64S, "scores"),
    Column("targets", _F64S, "scores"),
    Column("similarity_kind", _STR, "similarities"),
    Column("similarity_lower", _F64, "similarities"),
    Column("similarity_higher", _F64, "similarities"),
    Column("similarity_known", _I32S, "similarities"),
    Column("similarity_values", _F64S, "similarities"),
    Column("similarity_table", _F64S, "similarities"),
    Column("rule_kind", _STR, "policy"),
    Column("target_gain", _F64, "policy"),
    Column("window", _F64, "policy"),
    Column("novelty", _F64, "policy"),
    Column("dissimilarity", _STR, "policy"),
    Column("node_budget", _I64, "policy"),
    Column("tie_rule", _STR, "policy"),
    Column("policy_digest", _STR, "policy"),
    Column("scope_digest", _STR, "policy"),
    Column("regime", _STR, "policy"),
    Column("software", _STR, "policy"),
    Column("slate_int", _I64S, "slate"),
    Column("slate_str", _STRS, "slate"),
    Column("slate_at", _I32S, "slate"),
    Column("margins", _F64S, "slate"),
    Column("certified_margin", _F64, "slate"),
    Column("certified_radius", _F64, "slate"),
    Column("movement", _F64, "slate"),
    Column("pool_size", _I32, "slate", since=2),
    Column("chosen", _I32S, "steps"),
    Column("runners", _I32S, "steps"),
    Column("chosen_objective", _F64S, "steps"),
    Column("runner_objective", _F64S, "steps"),
    Column("chosen_similarity", _F64S, "steps"),
    Column("runner_similarity", _F64S, "steps"),
    Column("set_window", _F64, "steps"),
    Column("set_nodes", _I64, "steps"),
    Column("set_bound", _F64, "steps"),
    Column("set_proved", pa.bool_(), "steps"),
)

FIELDS: tuple[str, ...] = tuple(dict.fromkeys(column.field for column in COLUMNS))
"""The fields, in the order of their commitments: round, subject, state, shown, levers, candidates, scores, ..."""

MONITOR_DROPS = ("state", "shown", "candidates", "scores", "similarities", "steps")
"""What a log of level "monitor" does not hold; the commitments stay as references to the inputs."""

REPLAY_NEEDS = ("state", "shown", "levers", "candidates", "scores", "similarities", "policy", "slate", "steps")
"""What must be present for a record to be selected again."""

_HEAD = (
    pa.field("index", pa.int64()),
    pa.field("leaf_hash", pa.binary()),
    pa.field("commitments", pa.list_(pa.binary())),
    pa.field("salts", pa.list_(pa.binary())),
    pa.field("pseudonym", pa.string()),
)


def schema_of(version: int) -> pa.Schema:
    """The Arrow schema of a table of this version: place and commitments first, then the columns of the fields."""
    return pa.schema([*_HEAD, *(pa.field(column.name, column.type) for column in COLUMNS if column.since <= version)])


SCHEMA: pa.Schema = schema_of(SCHEMA_VERSION)
"""The schema of the present version, and of every batch in memory: what an older log lacks is null there."""


def columns_of(field: str, version: int) -> tuple[Column, ...]:
    """The columns of a field under a version, in canonical order."""
    return tuple(column for column in COLUMNS if column.field == field and column.since <= version)
