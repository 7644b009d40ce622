"""`slateproof verify | show | diff | certify`: what an auditor asks of a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from slateproof.audit import AuditLog, NotReplayable, bounded, diff, show, verify_log
from slateproof.certify import Table, certificates, from_margins
from slateproof.certify.rounding import UNIT
from slateproof.certify.tables import NEEDS_POOL
from slateproof.cli.progress import progress_bar, stepper
from slateproof.errors import InvalidInput
from slateproof.policy import Policy
from slateproof.types import Slate

__all__ = ["certify_command", "diff_command", "show_command", "verify_command"]

_LOG = typer.Argument(..., help="The log's folder, or object store URL (credentials come from the environment).")
_JSON = typer.Option(None, "--json", help="Write the result here as JSON, too.")


def write_text(option: str, path: Path, text: str) -> None:
    """Write a result; refuses, in the name of its option, a place that cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as why:
        raise InvalidInput(option, f"cannot be written ({why.strerror})", str(path)) from why
    typer.echo(f"wrote {path}")


def write_json(path: Path | None, value: dict[str, Any], option: str = "json") -> None:
    """Write a result where a path is given."""
    if path is not None:
        write_text(option, path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def verify_command(
    logs: list[str] = typer.Argument(..., metavar="LOG...", help="Folders, or object store URLs; each gets a report of its own."),
    checkpoint: Path | None = typer.Option(
        None, "--checkpoint", help="An earlier checkpoint (a signed note) that the one log must extend."
    ),
    public_key: Path | None = typer.Option(None, "--public-key", help="The public key: a PEM file, or a file with name+hash+key."),
    out: Path | None = _JSON,
) -> None:
    """Check logs: digests, Merkle tree, signatures, every slate selected again. Exit 0: sound, 1: one is not, 2: not checkable."""
    if checkpoint is not None and len(logs) > 1:
        raise InvalidInput("checkpoint", "belongs to one log: verify that one by itself", str(checkpoint))
    reports = []
    for log in logs:
        with progress_bar("verifying", None) as advance:
            reports.append(verify_log(log, checkpoint, public_key, stepper(advance)))
        if len(logs) > 1:
            typer.echo(f"{log}:")
        typer.echo(reports[-1].to_text())
    code = max(report.exit_code for report in reports)
    together = [{"log": log, **report.to_dict()} for log, report in zip(logs, reports, strict=True)]
    write_json(out, reports[0].to_dict() if len(logs) == 1 else {"exit_code": code, "logs": together})
    raise typer.Exit(code)


def show_command(
    log: str = _LOG,
    index: int = typer.Argument(..., min=0, help="Which record, counted from 0."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of text."),
) -> None:
    """Show one record: what is stored, whether its digest fits, and why the slate was chosen."""
    with AuditLog.open(log) as opened:
        view = show(opened, index)
    typer.echo(json.dumps(view.to_dict(), indent=1, ensure_ascii=False) if as_json else view.to_text())


def diff_command(
    log: str = _LOG,
    policy: Path = typer.Option(..., "--policy", help="The other policy."),
    out: Path | None = _JSON,
) -> None:
    """Replay a log under another policy: which logged slates it would have changed, and why."""
    rules = Policy.load(policy)
    with AuditLog.open(log) as opened, progress_bar("replaying", len(opened)) as advance:
        report = diff(opened, rules, progress=stepper(advance))
    typer.echo(report.to_text())
    write_json(out, report.to_dict())


def certify_command(
    log: str = _LOG,
    sigma: float = typer.Option(..., "--sigma", min=0.0, help="Standard deviation of the score noise."),
    anchor_weight: float = typer.Option(
        0.0, "--anchor-weight", min=0.0, max=1.0, help="Share of the score that a fixed anchor supplies."
    ),
    draws: int = typer.Option(0, "--draws", min=0, help="Also perturb each round this often: norm check beside exact check."),
    max_flip: float = typer.Option(0.05, "--max-flip", help="Count the rounds that change with at most this probability."),
    out: Path | None = typer.Option(None, "--out", help="Folder for certificates.json, .csv (all rounds), .txt and .svg."),
    limit: int = typer.Option(10, "--limit", min=0, help="Rounds listed one by one in the terminal."),
) -> None:
    """How far scores may move before the logged slates change, and how likely noise of SIGMA changes them, rung by rung."""
    with AuditLog.open(log) as opened:
        if len(opened) == 0:
            raise InvalidInput("log", "has no records yet", log)
        try:
            table = _of_replay(opened, sigma, anchor_weight, draws, max_flip)
        except NotReplayable:
            table = _of_monitor(opened, sigma, anchor_weight, draws, max_flip)
    text = table.to_text(limit)
    typer.echo(text)
    if out is not None:
        write_json(out / "certificates.json", table.to_dict(), "out")
        for name, content in (("csv", table.to_csv()), ("txt", text + "\n"), ("svg", table.to_svg())):
            write_text("out", out / f"certificates.{name}", content)


def _of_replay(log: AuditLog, sigma: float, anchor_weight: float, draws: int, max_flip: float) -> Table:
    filled: set[int] = set()
    with progress_bar("certifying", len(log)) as advance:

        def slates() -> Iterator[Slate]:
            for place, slate in enumerate(log.replay_all()):
                whole = bounded(slate)
                if whole is not None:
                    filled.add(place)
                yield slate if whole is None else whole
                advance(1)

        table = certificates(
            slates(), sigma, anchor_weight, draws=draws, max_flip=max_flip, set_flips=lambda place: place not in filled
        )
    if not filled:
        return table
    said = f"{len(filled)} of {len(log)} rounds hold only the similarities that the selector asked for; there {_BOUNDED}"
    return replace(table, notes=(*table.notes, said))


_BOUNDED = (
    "margin, radius and flip_bound are as usual, flip_union and flip_probability are upper bounds "
    "(a similarity that was not asked for stands at its smallest value), the exact check is a lower one, "
    "and set_flip_probability, which needs all similarities, is left out (flip_probability bounds it)"
)


def _of_monitor(log: AuditLog, sigma: float, anchor_weight: float, draws: int, max_flip: float) -> Table:
    """Margins, lambda and pool sizes of the stepwise rounds; a log of schema version 1 has no pool sizes."""
    names = ["index", "rule_kind", "dissimilarity", "novelty", "margins", "diversity", "pool_size"]
    rows = [row for batch in log.store.batches(names, 0, len(log)) for row in batch.to_pylist()][: len(log)]
    if any(row[name] is None for row in rows for name in names):
        raise InvalidInput(
            "log", "does not hold margins, levers, rule and pool sizes (a masked copy, or schema version 1)", log.store.folder.uri
        )
    steps = [row for row in rows if row["rule_kind"] != "window"]
    # Top-K compares scores as they are, whatever lambda says.
    diversity = [0.0 if row["rule_kind"] == "top-k" else row["diversity"] for row in steps]
    margins, sizes = [row["margins"] for row in steps], [row["pool_size"] for row in steps]
    sums = [len(row["margins"]) * SIMILARITY if row["dissimilarity"] == "mean" else 0.0 for row in steps]
    table = from_margins(
        margins,
        diversity,
        sizes,
        sigma,
        anchor_weight,
        magnitude=MAGNITUDE,
        novelty=[row["novelty"] for row in steps],
        similarity=SIMILARITY,
        similarity_error=[1.01 * UNIT * (1.000003 * DIMENSIONS + added) for added in sums],
        max_flip=max_flip,
    )
    notes = [
        *table.notes,
        f"rounding allows for |score| plus bonuses up to {MAGNITUDE:g}, similarities up to {SIMILARITY:g} in size and unit vectors "
        f"of up to {DIMENSIONS} dimensions; beyond that a replay-level log is needed",
    ]
    if draws > 0:
        notes.append(f"--draws: {NEEDS_POOL}")
    if len(steps) < len(rows):
        notes.append(f"{len(rows) - len(steps)} SCPO rounds are left out: their radius needs scores, which a replay-level log has")
    numbered = tuple({**row, "round": record["index"]} for row, record in zip(table.rows, steps, strict=True))
    return replace(table, rows=numbered, notes=tuple(notes))


MAGNITUDE = 1e3
"""Largest |mu| + eta_tg + alpha sigma that the rounding of a monitor log's margins allows for; the log does not hold them."""

SIMILARITY = 1e3
"""Largest similarity in size that it allows for."""

DIMENSIONS = 4096
"""Most dimensions of unit vectors, whose dot products are rounded; tags and matrix entries need less."""
