"""A writer who signs nonsense: verification never breaks on it, and no false outcome gets through."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from audit_world import slates

from slateproof.audit import AuditLog, LogError, diff, show
from slateproof.audit.batchreplay import agreeing
from slateproof.audit.records import Records
from slateproof.audit.replay import difference, select_again
from slateproof.audit.rows import Entry, rows_of
from slateproof.audit.schema import COLUMNS, Column
from slateproof.select import TopKSelector

NUMBERS = {
    pa.float64(): [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324],
    pa.int64(): [0, 1, -1, 7, 100, 2**63 - 1, -(2**63)],
    pa.int32(): [0, 1, -1, 7, 100, 2**31 - 1, -(2**31)],
    pa.bool_(): [True, False],
    pa.string(): ["", "x", "greedy", "window", "mean", "matrix", "none", "catalog", "\0", "f" * 64, "../x", "é"],
}
OUTCOME = {column.name for column in COLUMNS if column.field == "steps"} | {"shaped", "target", "margins", "pool_size", "tie_rule"}
"""Columns that follow from the inputs: any other value in them is a lie."""


def nonsense(rng: random.Random, value: Any, kind: pa.DataType) -> Any:
    """Something else of the same type."""
    if not pa.types.is_list(kind):
        return None if rng.random() < 0.1 else rng.choice(NUMBERS[kind])
    if not value or rng.random() < 0.4:
        return [rng.choice(NUMBERS[kind.value_type]) for _ in range(rng.choice([0, 1, 2, 5, 14]))]
    listed, place = list(value), rng.randrange(len(value))
    if rng.random() < 0.5:
        listed[place] = rng.choice(NUMBERS[kind.value_type])
    elif rng.random() < 0.5:
        listed.pop(place)
    else:
        listed.append(listed[place])
    return listed


def spoiled(rng: random.Random, count: int, log: AuditLog) -> tuple[pa.RecordBatch, list[Column | None]]:
    """Rows of ``count`` slates with one column of each record replaced; None where the new value is the old one."""
    made = slates(count, seed=1)
    for slate in made:
        if slate.pool.catalog is not None:
            log.catalogs.put(slate.pool.catalog)
    rows = rows_of([Entry(slate, None, None, None, None) for slate in made], log.header.context)
    lists = {column.name: rows.column(column.name).to_pylist() for column in COLUMNS}
    touched: list[Column | None] = []
    for row in range(count):
        column = rng.choice(COLUMNS)
        old = lists[column.name][row]
        new = nonsense(rng, old, column.type)
        lists[column.name][row] = new
        touched.append(None if repr(new) == repr(old) else column)
    arrays = [pa.array(lists[column.name], column.type) for column in COLUMNS]
    return pa.RecordBatch.from_arrays(arrays, names=list(lists)), touched


@pytest.mark.parametrize("seed", range(2))
def test_nonsense_is_reported_and_breaks_nothing(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with AuditLog.create(tmp_path / "log") as log:
        rows, touched = spoiled(rng, 96, log)
        log._writer.claim()
        log._writer.write([rows], 0)
        report = log.verify()
        assert sum(report.counts.values()) == len(report.problems) < 100
        found = {problem.index for problem in report.problems}
        (batch,) = log.store.batches()
        alike = np.flatnonzero(agreeing(batch, log.catalogs, log.header.schema_version)).tolist()
        assert alike
        assert not set(alike) & {problem.index for problem in report.problems if problem.kind in ("inputs", "replay")}
        records = Records(batch, log.catalogs)
        for row in alike:
            assert difference(records, row, select_again(records, row), log.header.schema_version) is None, (row, touched[row])
        lies = [row for row, column in enumerate(touched) if column is not None and column.name in OUTCOME]
        assert len(lies) > 10
        assert set(lies) <= found, [(row, touched[row]) for row in lies if row not in found]
        assert not found & {row for row, column in enumerate(touched) if column is None}
        for row in range(0, 96, 7):
            view = show(log, row)
            assert view.to_text()
            assert view.to_dict()["index"] == row
        named = {column.name for column in touched if column is not None}
        if "catalog_digest" in named:
            with pytest.raises(LogError, match="catalogue"):
                diff(log, TopKSelector())
        else:
            assert diff(log, TopKSelector()).size == 96
