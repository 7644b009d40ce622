"""`slateproof simulate`: the closed loop from a configuration file."""

from __future__ import annotations

from pathlib import Path

import typer

from slateproof.audit import AuditLog
from slateproof.cli.progress import progress_bar, stepper
from slateproof.errors import InvalidInput
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
    if key is not None and log is None:
        raise InvalidInput("key", "signs a log: name it with --log", str(key))
    if log is not None and log.resolve() == out.resolve():
        raise InvalidInput("log", "must be another folder than --out", str(log))
    audit = None if log is None or not _holds_something(log) else AuditLog.open(log, key=key)
    try:
        with progress_bar("fitting", None) as advance:
            setting = prepare(wanted, out, stepper(advance))
        if log is not None and audit is None:
            audit = AuditLog.create(log, level="replay", key=key)
        with progress_bar("simulating", None) as advance:
            report = play_all(setting, out, audit, stepper(advance))
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is finished stays in {out}, and the same command goes on from there", err=True)
        raise
    finally:
        if audit is not None:
            audit.close()
    typer.echo(report.to_text())
    typer.echo(f"\nwrote {out}: manifest.json, report.json, sessions.parquet, rounds/MODE.parquet, models/")
    if audit is not None:
        typer.echo(f"logged to {log}; check it with: slateproof verify {log}")


def _holds_something(log: Path) -> bool:
    """Whether there is a log to open; a file is none."""
    if log.exists() and not log.is_dir():
        raise InvalidInput("log", "must be a folder", str(log))
    return log.is_dir() and any(log.iterdir())
