"""`slateproof simulate`: the closed loop from a configuration file."""

from __future__ import annotations

from pathlib import Path

import typer

from slateproof.audit import AuditLog
from slateproof.cli.progress import progress_bar, stepper
from slateproof.simulate import load_config, play_all, prepare

__all__ = ["simulate"]


def simulate(
    config: Path = typer.Argument(..., help="A TOML file; examples/simulate.toml explains every key."),
    out: Path = typer.Option(..., "--out", help="Folder of the run: empty, or one of the same manifest, which is then finished."),
    log: Path | None = typer.Option(None, "--log", help="Audit log to append every slate to; made where there is none."),
    key: Path | None = typer.Option(None, "--key", help="PEM file with the Ed25519 key that signs the log's checkpoints."),
) -> None:
    """Play modes against simulated learners under matched pools and numbers, and compare them session by session."""
    wanted = load_config(config)
    with progress_bar("fitting", None) as advance:
        setting = prepare(wanted, out, stepper(advance))
    audit = None if log is None else _open_log(log, key)
    try:
        with progress_bar("simulating", None) as advance:
            report = play_all(setting, out, audit, stepper(advance))
    finally:
        if audit is not None:
            audit.close()
    typer.echo(report.to_text())
    typer.echo(f"wrote {out}: manifest.json, report.json, sessions.parquet, rounds/MODE.parquet, models/")
    if audit is not None:
        typer.echo(f"logged to {log}; check it with: slateproof verify {log}")


def _open_log(path: Path, key: Path | None) -> AuditLog:
    if path.exists() and any(path.iterdir()):
        return AuditLog.open(path, key=key)
    return AuditLog.create(path, level="replay", key=key)
