"""From an Arrow table of pools to an Arrow table of certified slates: what the command line and every engine call.

Scope: stability only; margins and radii are those of ``certify_batch``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slateproof.certify import certify_batch
from slateproof.errors import InvalidInput
from slateproof.types import PoolBatch, SlateBatch, StateBatch
from slateproof.types.columns import Floats

if TYPE_CHECKING:
    from slateproof.policy.model import Policy

__all__ = ["POOL_COLUMNS", "RESULT_COLUMNS", "STATE_COLUMNS", "Selected", "check_carried", "select_rows"]

POOL_COLUMNS = ("ids", "scores", "targets", "widths", "vectors", "similarity", "tags")
STATE_COLUMNS = ("knowledge", "engagement", "uncertainty", "shown")
RESULT_COLUMNS = (
    "row", "ids", "margins", "target", "target_shift", "exploration", "diversity", "size", "runners_up",
    "window", "value", "proved", "gap", "nodes", "policy_digest", "margin", "radius",
)  # fmt: skip
"""Names of the result, whatever the selector; a table may not carry columns of these names along."""


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """The slates of a table, their certified margins and radii, and all of it as a table.

    Scope: stability only.
    """

    slates: SlateBatch
    margins: Floats
    radii: Floats
    table: pa.Table


def check_carried(names: list[str]) -> None:
    """Refuse a table whose own columns would hide those of the result."""
    for name in names:
        if name in RESULT_COLUMNS and name not in POOL_COLUMNS:
            raise InvalidInput(name, "is the name of a column of the result; rename it in the table of pools")


def select_rows(
    policy: Policy, table: pa.Table, pools: PoolBatch, numbers: Any = None, *, threads: int | None = None, trace: bool = False
) -> Selected:
    """The slates of ``table``, whose pools are ``pools``; ``numbers`` are its rows in the file (None: 0, 1, ...).

    The state stands in the columns ``knowledge``, ``engagement``, ``uncertainty`` and ``shown``, neutral where missing or null;
    every column that means nothing here is carried along.
    """
    check_carried(table.column_names)
    slates = policy.select_batch(pools, StateBatch.of(table, len(pools)), trace=trace, threads=threads)
    margins, radii = certify_batch(slates)
    rows = np.arange(table.num_rows) if numbers is None else np.asarray(numbers)
    return Selected(slates, margins, radii, _result(table, rows, slates, margins, radii))


def _result(table: pa.Table, numbers: Any, slates: SlateBatch, margins: Floats, radii: Floats) -> pa.Table:
    """What the table brought along (round_id, subject, ...), the slates, and the certified margin and radius."""
    columns = {name: _plain(table[name]) for name in table.column_names if name not in POOL_COLUMNS + STATE_COLUMNS}
    columns["row"] = pa.array(numbers, pa.int64())
    chosen = slates.to_arrow()
    columns |= {name: chosen[name] for name in chosen.column_names if name != "margin"}
    columns["margin"] = pa.array(margins, mask=~np.isfinite(margins))
    columns["radius"] = pa.array(radii, mask=~np.isfinite(radii))
    return pa.table(columns)


def _plain(column: Any) -> Any:
    """Without a dictionary: pieces of one file may have different ones, and a file has one."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
