"""The columnar road against the one by one: the same rows, the same digests, the same verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from audit_world import KEY, catalogs

from slateproof.audit import AuditLog, LogError, verify_log
from slateproof.audit import replay as slow_road
from slateproof.audit.batchreplay import agreeing
from slateproof.audit.batchrows import Span, is_columnar, rows_of_span
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.files import Folder
from slateproof.audit.rows import Entry, rows_of
from slateproof.audit.schema import SCHEMA_VERSION
from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector, TopKSelector, WindowSelector
from slateproof.types import Catalog, Levers, State, unit
from slateproof.types.poolbatch import PoolBatch

CONTEXT = {"software": "test", "scope_digest": "d", "regime": "conditional"}
RULES = (GreedySelector(), GreedySelector(dissimilarity="mean", novelty=0.0), TopKSelector(), GreedySelector(target_gain=0.0))


def ragged(rng: np.random.Generator, ids: list[Any], count: int) -> tuple[list[list[Any]], list[int]]:
    sizes = rng.integers(5, 12, count).tolist()
    return [[ids[i] for i in rng.choice(len(ids), size, replace=False)] for size in sizes], sizes


def table(rng: np.random.Generator, ids: list[Any], count: int, own: str | None, widths: bool) -> pa.Table:
    names, sizes = ragged(rng, ids, count)
    columns: dict[str, Any] = {"ids": names, "scores": [rng.normal(size=n).tolist() for n in sizes]}
    if widths:
        columns["widths"] = [rng.random(n).tolist() for n in sizes]
    if own is not None:
        columns["targets"] = [rng.random(n).tolist() for n in sizes]
    if own == "vectors":
        columns["vectors"] = [unit(rng.normal(size=(n, 3))).tolist() for n in sizes]
    if own == "similarity":
        grams = [rng.random((n, n)) for n in sizes]
        columns["similarity"] = [((g + g.T) / 2).reshape(-1).tolist() for g in grams]
    return pa.table(columns)


def batches(rng: np.random.Generator, count: int = 30) -> list[PoolBatch]:
    names = [f"q{i}" for i in range(40)]
    uniform = [Catalog(range(40), rng.random(40), vectors=unit(rng.normal(size=(40, 4)))), *catalogs(rng, 40)[:2]]
    out = [
        PoolBatch.from_arrow(table(rng, list(catalog.ids), count, None, widths), catalog)
        for catalog in uniform
        for widths in (True, False)
    ]
    for ids in (list(range(-20, 20)), names):
        for own in ("vectors", "similarity", "none"):
            made = table(rng, ids, count, own, True)
            try:
                out.append(PoolBatch.from_arrow(made))
            except InvalidInput as why:  # the layout of a source column belongs to another room
                raise AssertionError(f"{own}: {why}") from why
    return out


def inputs(rng: np.random.Generator, count: int) -> tuple[list[Levers], list[State]]:
    levers = [Levers(0.1, float(rng.random()), float(rng.choice([0.0, 0.4])), int(rng.integers(1, 5))) for _ in range(count)]
    shown = [(), (3, 4), ("q3",), (3, "q3", 5)]
    states = [State(float(rng.random()), 0.5, 0.5, shown[int(rng.integers(4))]) for _ in range(count)]
    return levers, states


def test_columns_give_the_rows_that_slates_give() -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for pools in batches(rng):
        for selector in RULES:
            levers, states = inputs(rng, len(pools))
            slates = selector.select_batch(pools, levers, states)
            assert is_columnar(slates)
            entries = [Entry(slate, f"r{i}", None, None, None) for i, slate in enumerate(slates)]
            wanted = rows_of(entries[5:25], CONTEXT)
            found = rows_of_span(Span(slates, 5, 25, [f"r{i}" for i in range(5, 25)], [None] * 20), CONTEXT)
            for name in wanted.schema.names:
                if name in ("similarity_lower", "similarity_higher"):  # bounds of a batch hold for its pools, and may be wider
                    continue
                if name in ("similarity_known", "similarity_values"):  # what is asked for follows from the bounds
                    assert found.column(name).null_count == wanted.column(name).null_count
                    continue
                assert found.column(name).equals(wanted.column(name)), (name, selector.rule)
            seen += 20
    assert seen >= 12 * 4 * 20


def test_a_log_of_batches_is_sound_and_replays(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kept = []
    with AuditLog.create(tmp_path / "log", key=KEY) as log:
        for pools in batches(rng):
            for selector in RULES:
                levers, states = inputs(rng, len(pools))
                slates = selector.select_batch(pools, levers, states)
                log.append_batch(slates, round_ids=range(len(slates)))
                log.append(slates[0])
                kept += [*slates, slates[0]]
        log.commit()
    report = verify_log(tmp_path / "log", None, KEY.public_key())
    assert report.ok, report.to_text()
    assert report.replayed == len(kept)
    log = AuditLog.open(tmp_path / "log")
    for index in range(0, len(kept), 61):
        assert log.replay(index) == kept[index]


def test_a_window_batch_goes_slate_by_slate(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    pools = batches(rng, 6)[0]
    slates = WindowSelector(window=0.9).select_batch(pools, Levers(0.1, 0.2, 0.3, 3), State())
    with AuditLog.create(tmp_path / "log") as log:
        log.append_batch(slates)
        log.commit()
        report = log.verify()
    assert report.ok, report.to_text()
    assert report.replayed == 6


@pytest.mark.parametrize("level", ["replay", "monitor"])
def test_slates_without_their_similarities_are_refused(tmp_path: Path, level: str) -> None:
    """At once, before they wait: a commit that can never succeed would block everything behind it."""
    pools = batches(np.random.default_rng(3), 6)[6]
    slates = GreedySelector().select_batch(pools, Levers(0.1, 0.2, 0.3, 3), State(), trace=False)
    with AuditLog.create(tmp_path / "log", level) as log:
        with pytest.raises(InvalidInput, match="similarities were not kept"):
            log.append_batch(slates)
        assert log.commit().size == 0


def test_slates_that_asked_for_nothing_need_no_similarities(tmp_path: Path) -> None:
    pools = batches(np.random.default_rng(3), 6)[6]
    slates = GreedySelector().select_batch(pools, Levers(0.1, 0.2, 0.0, 3), State(), trace=False)
    with AuditLog.create(tmp_path / "log") as log:
        log.append_batch(slates)
        assert log.commit().size == 6
        report = log.verify()
    assert report.ok, report.to_text()
    assert report.replayed == 6


@pytest.mark.parametrize(
    "name", ["scores", "shaped", "widths", "margins", "chosen", "runners", "chosen_objective", "slate_int", "target", "knowledge",
             "candidate_rows", "exploration", "pool_size"],
)  # fmt: skip
def test_the_fast_road_never_agrees_with_a_lie(tmp_path: Path, name: str) -> None:
    """One value of one record changed: the fast road must not confirm it where the slow one objects."""
    rng = np.random.default_rng(4)
    pools = batches(rng, 40)[0]
    levers, states = inputs(rng, 40)
    slates = GreedySelector().select_batch(pools, levers, states)
    shelf = CatalogShelf(Folder(tmp_path))
    assert pools.catalog is not None
    shelf.put(pools.catalog)
    rows = rows_of_span(Span(slates, 0, 40, [None] * 40, [None] * 40), CONTEXT)
    assert agreeing(rows, shelf, SCHEMA_VERSION).all()
    values = rows.column(name).to_pylist()
    if isinstance(values[17], list):
        values[17][0] = values[17][0] + 1 if isinstance(values[17][0], int) else float(np.nextafter(values[17][0], 9.0))
        values[17][0] += float(name == "widths")  # a width's last bit may round away
    else:
        values[17] = values[17] + 1 if isinstance(values[17], int) else float(np.nextafter(values[17], 9.0))
    kind = rows.column(name).type
    spoiled = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, kind))
    agreed = agreeing(spoiled, shelf, SCHEMA_VERSION)
    records = slow_road.Records(spoiled, shelf)
    try:
        wrong = slow_road.difference(records, 17, slow_road.select_again(records, 17), SCHEMA_VERSION)
    except InvalidInput as why:
        wrong = str(why)
    assert wrong is not None
    assert not agreed[17]


OWN = ("scores", "shaped", "widths", "targets", "margins", "chosen", "runners", "chosen_objective", "runner_similarity",
       "slate_int", "slate_str", "target", "knowledge", "candidate_int", "candidate_str", "exploration", "diversity", "pool_size",
       "similarity_known", "similarity_values", "similarity_lower", "similarity_higher", "similarity_kind", "rule_kind",
       "catalog_digest", "candidate_rows", "shown_int", "size")  # fmt: skip


def judged(rows: pa.RecordBatch, shelf: CatalogShelf, row: int) -> str | None:
    """What the slow road says of a record; None where it agrees."""
    records = slow_road.Records(rows, shelf)
    try:
        return slow_road.difference(records, row, slow_road.select_again(records, row), SCHEMA_VERSION)
    except (InvalidInput, LogError) as why:
        return str(why)


@pytest.mark.parametrize("own", ["vectors", "similarity", "none"])
@pytest.mark.parametrize("text", [False, True])
def test_pools_of_their_own_take_the_fast_road(tmp_path: Path, own: str, text: bool) -> None:
    """All of them agree; spoil any value of any column, and the fast road says no more than the slow one."""
    rng = np.random.default_rng(6)
    ids: list[Any] = [f"q{i}" for i in range(40)] if text else list(range(-20, 20))
    pools = PoolBatch.from_arrow(table(rng, ids, 40, own, True))
    levers, states = inputs(rng, 40)
    slates = GreedySelector().select_batch(pools, levers, states)
    shelf = CatalogShelf(Folder(tmp_path))
    rows = rows_of_span(Span(slates, 0, 40, [None] * 40, [None] * 40), CONTEXT)
    assert agreeing(rows, shelf, SCHEMA_VERSION).all()
    told = 0
    for name in OWN:
        column = rows.column(name)
        for row in (3, 17, 29):
            for change in range(4):
                values = column.to_pylist()
                values[row] = spoil(values[row], change, column.type)
                if repr(values[row]) == repr(column[row].as_py()):
                    continue
                spoiled = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, column.type))
                agreed = agreeing(spoiled, shelf, SCHEMA_VERSION)
                wrong = judged(spoiled, shelf, row)
                assert wrong is None or not agreed[row], (name, row, change, wrong)
                told += wrong is not None
    assert told > 80


def spoil(value: Any, change: int, kind: pa.DataType) -> Any:
    """Another value of the same type, in one of four ways."""
    if not pa.types.is_list(kind):
        if change == 0:
            return None
        if isinstance(value, str) or pa.types.is_string(kind):
            return ["x", "matrix", "window", "none"][change]
        if isinstance(value, int):
            return value + change - 2
        return None if value is None else [0.0, float(np.nextafter(value, 9.0)), -value][change - 1]
    if not value:
        return [None, [1 if pa.types.is_integer(kind.value_type) else "a" if pa.types.is_string(kind.value_type) else 0.5]][
            change % 2
        ]
    listed, place = list(value), len(value) // 2
    if change == 0:
        return None
    if change == 1:
        return listed[:-1]
    if change == 2:
        return [*listed[:place], *reversed(listed[place:])]
    one = listed[place]
    listed[place] = one + "x" if isinstance(one, str) else one + 1 if isinstance(one, int) else float(np.nextafter(one, -9.0))
    return listed


def test_unlogged_similarities_that_matter_are_not_guessed(tmp_path: Path) -> None:
    """With any logged value taken away the fast road agrees only where the slow one does, too."""
    rng = np.random.default_rng(7)
    pools = PoolBatch.from_arrow(table(rng, list(range(-20, 20)), 60, "similarity", True))
    levers = [Levers(0.1, 0.2, 0.6, 4)] * 60
    slates = GreedySelector().select_batch(pools, levers, State())
    rows = rows_of_span(Span(slates, 0, 60, [None] * 60, [None] * 60), CONTEXT)
    shelf = CatalogShelf(Folder(tmp_path))
    known, values = (rows.column(f"similarity_{name}").to_pylist() for name in ("known", "values"))
    for row in range(60):
        place = int(rng.choice(np.flatnonzero(known[row])))
        del values[row][sum(known[row][: place + 1]) - 1]
        known[row][place] -= 1
    spoiled = rows
    for name, column in (("similarity_known", known), ("similarity_values", values)):
        kind = rows.column(name).type
        spoiled = spoiled.set_column(rows.schema.get_field_index(name), name, pa.array(column, kind))
    agreed = agreeing(spoiled, shelf, SCHEMA_VERSION)
    wrong = [judged(spoiled, shelf, row) for row in range(60)]
    assert [said is None for said in wrong] == agreed.tolist()
    assert 0 < sum(agreed) < 60


def test_memory_bound_splits_a_batch_into_commits(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    pools = batches(rng, 30)[0]
    slates = GreedySelector().select_batch(pools, Levers(0.1, 0.2, 0.3, 3), State())
    with AuditLog.create(tmp_path / "log", max_pending_bytes=1) as log:
        log.append_batch(slates)
        assert len(log) == 30
        log.append_batch(slates)
        assert len(log) == 60
        assert log.verify().ok
