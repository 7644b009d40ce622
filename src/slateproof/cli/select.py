"""`slateproof select`: a file of pools in, a file of certified slates out, and a log of traces where one is wanted."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from slateproof.audit import AuditLog
from slateproof.certify import certify_batch
from slateproof.cli.progress import progress_bar
from slateproof.cli.scope import verdict
from slateproof.cli.tables import TableWriter, count_rows, read_batches, read_table
from slateproof.errors import InvalidInput
from slateproof.policy import Policy
from slateproof.types import Catalog, PoolBatch, SlateBatch, StateBatch
from slateproof.types.arrowpools import find_bad_rows
from slateproof.types.row import Row

__all__ = ["select"]

POOL_COLUMNS = {"ids", "scores", "targets", "widths", "vectors", "similarity", "tags"}
STATE_COLUMNS = {"knowledge", "engagement", "uncertainty", "shown"}


class OnError(StrEnum):
    """What a bad row does."""

    fail = "fail"
    skip = "skip"


def select(
    pools: Path = typer.Argument(..., help="Pools, one per row: .parquet, .arrow or .jsonl (columns: docs/batches.md)."),
    policy: Path = typer.Option(..., "--policy", help="Policy file (`slateproof policy init` writes one)."),
    out: Path | None = typer.Option(None, "--out", help="Slates to write: .parquet, .arrow or .jsonl."),
    log: Path | None = typer.Option(None, "--log", help="Audit log to append every trace to; made where there is none."),
    key: Path | None = typer.Option(None, "--key", help="PEM file with the Ed25519 key that signs the log's checkpoints."),
    catalog: Path | None = typer.Option(None, "--catalog", help="Items that the pools refer to: id, target, vector or tags."),
    on_error: OnError = typer.Option(OnError.fail, "--on-error", help="fail: stop at the first bad row; skip: leave it out."),
    show: int = typer.Option(0, "--show", min=0, help="Explain the first N slates in the terminal."),
    threads: int | None = typer.Option(None, "--threads", min=1, help="Threads (default: all cores); never changes a slate."),
    batch: int = typer.Option(8192, "--batch", min=1, help="Pools in memory at a time; never changes a slate."),
) -> None:
    """Select slates for a file of pools, with margins and certified radii."""
    rules = Policy.load(policy)
    if out is None and log is None and show == 0:
        raise InvalidInput("out", "nothing would be kept: give --out, --log or --show")
    items = None if catalog is None else Catalog.from_arrow(read_table(catalog, "catalog"))
    run = _Run(rules, items, on_error, threads, show)
    audit = None if log is None else _open_log(log, rules, policy, key)
    try:
        with progress_bar("selecting", count_rows(pools, "pools")) as advance:
            if out is None:
                for table in read_batches(pools, batch, "pools"):
                    run.take(table, None, audit)
                    advance(table.num_rows)
            else:
                with TableWriter(out, "out") as writer:
                    for table in read_batches(pools, batch, "pools"):
                        run.take(table, writer, audit)
                        advance(table.num_rows)
                    run.check_any(pools)
        run.check_any(pools)
        checkpoint = None if audit is None else audit.commit()
    finally:
        if audit is not None:
            audit.close()
    run.report(out, log, checkpoint)


def _open_log(path: Path, rules: Policy, policy: Path, key: Path | None) -> AuditLog:
    if path.exists() and any(path.iterdir()):
        return AuditLog.open(path, key=key)
    return AuditLog.create(path, level=rules.trace.level, key=key, scope=verdict(rules, policy).to_dict())


class _Run:
    """The state of one command: counts, skipped rows, and what was asked to be shown."""

    def __init__(self, rules: Policy, items: Catalog | None, on_error: OnError, threads: int | None, show: int) -> None:
        self.rules, self.items, self.on_error, self.threads, self.show = rules, items, on_error, threads, show
        self.rows = self.selected = self.certified = 0
        self.margins: list[Any] = []
        self.radii: list[Any] = []
        self.skipped: list[InvalidInput] = []

    def take(self, table: pa.Table, writer: TableWriter | None, audit: AuditLog | None) -> None:
        """Select one batch of rows and hand the slates on."""
        good, numbers = self._good_rows(table)
        slates = None
        while good.num_rows and slates is None:
            try:
                pools = PoolBatch.from_arrow(good, self.items)
                slates = self.rules.select_batch(pools, StateBatch.of(good, len(pools)), threads=self.threads)
            except InvalidInput as error:
                good, numbers = self._without(good, numbers, error)
        self.rows += table.num_rows
        if slates is None:
            return
        margins, radii = certify_batch(slates)
        self.margins.append(margins)
        self.radii.append(radii)
        if writer is not None:
            writer.write(_result(good, numbers, slates, margins, radii))
        if audit is not None:
            audit.append_batch(slates, round_ids=_labels(good, "round_id", numbers), subjects=_labels(good, "subject", None))
        for b in range(min(self.show - self.selected, len(slates))):
            typer.echo(f"\nrow {numbers[b]}: {list(slates[b].ids)}  margin {margins[b]:.6g}, radius {radii[b]:.6g}")
            typer.echo(slates[b].explain().to_text())
        self.selected += len(slates)

    def _good_rows(self, table: pa.Table) -> tuple[pa.Table, Any]:
        """The rows that can be selected, with their numbers in the file; a bad one stops the run or is noted and left out."""
        numbers = np.arange(self.rows, self.rows + table.num_rows)
        bad = [_moved(error, self.rows) for error in find_bad_rows(table, self.items)]
        if not bad:
            return table, numbers
        if self.on_error is OnError.fail:
            raise bad[0]
        self.skipped += bad
        keep = np.isin(numbers, [error.where.number for error in bad], invert=True)  # type: ignore[attr-defined]
        return table.filter(pa.array(keep)), numbers[keep]

    def _without(self, table: pa.Table, numbers: Any, error: InvalidInput) -> tuple[pa.Table, Any]:
        """The rows but the one that a state, a lever or an overflow spoiled."""
        place = error.where
        if not isinstance(place, Row):
            raise error
        known = InvalidInput(error.field, error.rule, error.value, where=Row(int(numbers[place.number]), place.item))
        if self.on_error is OnError.fail:
            raise known from error
        self.skipped.append(known)
        keep = np.arange(table.num_rows) != place.number
        return table.filter(pa.array(keep)), numbers[keep]

    def check_any(self, pools: Path) -> None:
        """Refuse a file without a single row that could be selected."""
        if self.selected == 0:
            why = f"; the first of {len(self.skipped)} bad rows: {self.skipped[0]}" if self.skipped else ""
            raise InvalidInput("pools", f"no row could be selected{why}", str(pools))

    def report(self, out: Path | None, log: Path | None, checkpoint: Any) -> None:
        """What was done, in a few lines."""
        margins, radii = np.concatenate(self.margins), np.concatenate(self.radii)
        typer.echo(
            f"selected {self.selected:,} slates from {self.rows:,} pools with policy {self.rules.name} ({self.rules.digest[:12]})"
        )
        typer.echo(
            f"margin: median {_median(margins):.4g}, positive in {(margins > 0).mean():.1%}; radius: median {_median(radii):.4g}"
        )
        if self.skipped:
            typer.echo(f"skipped {len(self.skipped)} bad rows; the first: {self.skipped[0]}")
        if out is not None:
            typer.echo(f"wrote {out}")
            if self.skipped:
                notes = out.with_name(out.name + ".skipped.jsonl")
                with TableWriter(notes, "out") as writer:
                    writer.write(_skipped_table(self.skipped))
                typer.echo(f"wrote {notes}")
        if log is not None:
            typer.echo(f"logged to {log}: {checkpoint.size:,} records, root {checkpoint.root.hex()[:16]}")


def _moved(error: InvalidInput, first: int) -> InvalidInput:
    place = error.where
    if not isinstance(place, Row):
        return error
    return InvalidInput(error.field, error.rule, error.value, where=Row(first + place.number, place.item))


def _skipped_table(skipped: list[InvalidInput]) -> pa.Table:
    rows = [{"row": e.where.number, "field": e.field, "error": str(e)} for e in skipped]  # type: ignore[attr-defined]
    return pa.Table.from_pylist(rows)


def _labels(table: pa.Table, name: str, default: Any) -> list[Any] | None:
    if name in table.column_names:
        return list(table[name].to_pylist())
    return None if default is None else [int(number) for number in default]


def _result(table: pa.Table, numbers: Any, slates: SlateBatch, margins: Any, radii: Any) -> pa.Table:
    """What the file brought along (round_id, subject, ...), the slates, and the certified margin and radius."""
    carried = [name for name in table.column_names if name not in POOL_COLUMNS | STATE_COLUMNS]
    result = table.select(carried)
    if "row" not in carried:
        result = result.append_column("row", pa.array(numbers))
    chosen = slates.to_arrow()
    for name in chosen.column_names:
        if name != "margin" and name not in result.column_names:
            result = result.append_column(name, chosen[name])
    result = result.append_column("margin", pa.array(margins, mask=~np.isfinite(margins)))
    return result.append_column("radius", pa.array(radii, mask=~np.isfinite(radii)))


def _median(values: Any) -> float:
    """The lower median, as in the tables of certificates: no mean of a number and an infinity."""
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])
