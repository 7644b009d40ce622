"""`slateproof select`: a file of pools in, a file of certified slates out, and a log of traces where one is wanted."""

from __future__ import annotations

from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from slateproof.audit import AuditLog
from slateproof.cli.progress import progress_bar
from slateproof.cli.scope import verdict
from slateproof.cli.tables import Piece, TableWriter, count_rows, read_pieces, read_table
from slateproof.errors import InvalidInput
from slateproof.policy import Policy
from slateproof.policy.table import Selected, select_rows
from slateproof.types import Catalog
from slateproof.types.arrowpools import PoolReader
from slateproof.types.row import BadRows, Row, number_of

__all__ = ["select"]


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
    run = _Run(rules, items, on_error, threads, trace=log is not None)
    total = count_rows(pools, "pools")
    if log is not None:
        # A record cannot be taken back, so the whole file is selected once before the first one is written.
        with progress_bar("checking", total) as advance:
            for piece in read_pieces(pools, batch, "pools"):
                run.select(piece)
                advance(piece.rows)
        run.check_any(pools)
        run = _Run(rules, items, on_error, threads, trace=True)
    told = _Told(show)
    with ExitStack() as stack:
        advance = stack.enter_context(progress_bar("selecting", total))
        writer = None if out is None else stack.enter_context(TableWriter(out, "out"))
        audit = None if log is None else stack.enter_context(closing(_open_log(log, rules, policy, key)))
        before = 0 if audit is None else len(audit)
        try:
            for piece in read_pieces(pools, batch, "pools"):
                _hand_on(run.select(piece), writer, audit, told)
                advance(piece.rows)
            run.check_any(pools)
            checkpoint = None if audit is None else audit.commit()
        except InvalidInput as why:
            if audit is None:
                raise
            raise _said(why, audit.commit().size - before) from why
    _report(rules, run, told, out, log, checkpoint)


def _open_log(path: Path, rules: Policy, policy: Path, key: Path | None) -> AuditLog:
    if path.exists() and any(path.iterdir()):
        return AuditLog.open(path, key=key)
    return AuditLog.create(path, level=rules.trace.level, key=key, scope=verdict(rules, policy).to_dict())


def _said(error: InvalidInput, logged: int) -> InvalidInput:
    """The error, with what the log holds already."""
    return InvalidInput(
        error.field, f"{error.rule}; {logged:,} slates of this run stand in the log", error.value, where=error.where
    )


class _Run:
    """One pass over a file: which rows there were, which were refused."""

    def __init__(self, rules: Policy, items: Catalog | None, on_error: OnError, threads: int | None, *, trace: bool) -> None:
        self.rules, self.on_error, self.threads, self.trace = rules, on_error, threads, trace
        self.reader = PoolReader(items)
        self.rows = self.selected = 0
        self.skipped: list[InvalidInput] = []

    def select(self, piece: Piece) -> tuple[Selected, pa.Table] | None:
        """The slates of a piece, and the rows that they are of; a bad row stops the run, or is noted and left out."""
        table, numbers, refused = piece.table, np.asarray(piece.numbers, np.int64), list(piece.refused)
        found = None
        while table.num_rows and found is None:
            try:
                pools = self.reader.read(table)
                found = select_rows(self.rules, table, pools, numbers, threads=self.threads, trace=self.trace)
            except BadRows as bad:
                refused += [_in_file(error, numbers) for error in bad.rows]
                keep = np.ones(table.num_rows, bool)
                keep[[number_of(error) for error in bad.rows]] = False
                table, numbers = table.filter(pa.array(keep)), numbers[keep]
        refused.sort(key=number_of)
        if refused and self.on_error is OnError.fail:
            raise refused[0]
        self.rows += piece.rows
        self.selected += table.num_rows
        self.skipped += refused
        return None if found is None else (found, table)

    def check_any(self, pools: Path) -> None:
        """Refuse a file without a single row that could be selected."""
        if self.selected == 0:
            why = f"; the first of {len(self.skipped)} bad rows: {self.skipped[0]}" if self.skipped else ""
            raise InvalidInput("pools", f"no row could be selected{why}", str(pools))


def _in_file(error: InvalidInput, numbers: Any) -> InvalidInput:
    """The refusal with the number that the row has in the file."""
    item = error.where.item if isinstance(error.where, Row) else None
    return InvalidInput(error.field, error.rule, error.value, where=Row(int(numbers[number_of(error)]), item))


class _Told:
    """What a run says of itself: the first slates, and the numbers of its last lines."""

    def __init__(self, show: int) -> None:
        self.left = show
        self.margins: list[Any] = []
        self.radii: list[Any] = []

    def add(self, found: Selected) -> None:
        """Note the numbers; explain slates while some are asked for."""
        self.margins.append(found.margins)
        self.radii.append(found.radii)
        rows = found.table["row"].slice(0, self.left).to_pylist()
        for slate, row, margin, radius in zip(found.slates, rows, found.margins, found.radii, strict=False):
            typer.echo(f"\nrow {row}: {list(slate.ids)}  margin {margin:.6g}, radius {radius:.6g}")
            typer.echo(slate.explain().to_text())
        self.left -= len(rows)


def _hand_on(found: tuple[Selected, pa.Table] | None, writer: TableWriter | None, audit: AuditLog | None, told: _Told) -> None:
    """Write, log and show the slates of one piece."""
    if found is None:
        return
    selected, table = found
    if writer is not None:
        writer.write(selected.table)
    if audit is not None:
        rounds = table["round_id"] if "round_id" in table.column_names else selected.table["row"]
        subjects = table["subject"].to_pylist() if "subject" in table.column_names else None
        audit.append_batch(selected.slates, round_ids=rounds.to_pylist(), subjects=subjects)
    told.add(selected)


def _report(rules: Policy, run: _Run, told: _Told, out: Path | None, log: Path | None, checkpoint: Any) -> None:
    """What was done, in a few lines."""
    margins, radii = np.concatenate(told.margins), np.concatenate(told.radii)
    typer.echo(f"selected {run.selected:,} slates from {run.rows:,} pools with policy {rules.name} ({rules.digest[:12]})")
    typer.echo(
        f"margin: median {_median(margins):.4g}, positive in {(margins > 0).mean():.1%}; radius: median {_median(radii):.4g}"
    )
    if run.skipped:
        typer.echo(f"skipped {len(run.skipped)} bad rows; the first: {run.skipped[0]}")
    if out is not None:
        typer.echo(f"wrote {out}")
    if out is not None or log is not None:
        _note_skipped(out or log, run.skipped)
    if log is not None:
        typer.echo(f"logged to {log}: {checkpoint.size:,} records, root {checkpoint.root.hex()[:16]}")


def _note_skipped(beside: Path | None, skipped: list[InvalidInput]) -> None:
    """Write the list of what this run skipped beside its result; without any, no list of an earlier run stays there."""
    if beside is None:
        return
    notes = beside.with_name(beside.name + ".skipped.jsonl")
    if not skipped:
        notes.unlink(missing_ok=True)
        return
    rows = [{"row": number_of(error), "field": error.field, "error": str(error)} for error in skipped]
    with TableWriter(notes, "out") as writer:
        writer.write(pa.Table.from_pylist(rows))
    typer.echo(f"wrote {notes}")


def _median(values: Any) -> float:
    """The lower median, as in the tables of certificates: no mean of a number and an infinity."""
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])
