"""`slateproof simulate`: the closed loop from a configuration file."""

from __future__ import annotations

from pathlib import Path

import typer

from slateproof.audit import AuditLog
from slateproof.cli.progress import progress_bar, stepper
from slateproof.errors import InvalidInput
from slateproof.simulate import Setting, load_config, play_all, prepare

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
        held = {} if audit is None else _slates_by_mode(audit)
        if log is not None:
            _refuse_gaps(setting, out, log, held)
            audit = audit or AuditLog.create(log, level="replay", key=key)
        with progress_bar("simulating", None) as advance:
            report = play_all(setting, out, audit, stepper(advance))
        logged = {} if audit is None else _slates_by_mode(audit)
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is finished stays in {out}, and the same command goes on from there", err=True)
        raise
    finally:
        if audit is not None:
            audit.close()
    typer.echo(report.to_text())
    typer.echo(f"\nwrote {out}: manifest.json, report.json, sessions.parquet, rounds/MODE.parquet, models/")
    if log is not None:
        new = {mode: count - held.get(mode, 0) for mode, count in logged.items() if count > held.get(mode, 0)}
        what = ", ".join(f"{count:,} of {mode}" for mode, count in new.items())
        told = f"logged {sum(new.values()):,} slates to {log} ({what})" if new else f"nothing was logged: {log} holds every slate"
        typer.echo(f"{told}; check it with: slateproof verify {log}")


def _slates_by_mode(log: AuditLog) -> dict[str, int]:
    """How many slates of each mode a log holds: the loop's subjects are MODE/SESSION."""
    counts: dict[str, int] = {}
    for batch in log.store.batches(["subject"]):
        for subject in batch.column("subject").to_pylist():
            mode = "" if subject is None else subject.partition("/")[0]
            counts[mode] = counts.get(mode, 0) + 1
    return counts


def _refuse_gaps(setting: Setting, out: Path, log: Path, held: dict[str, int]) -> None:
    """Finished modes are read, not played: a log that lacks them would stay without their slates, and nobody would see it."""
    size = len(setting.plan.sessions) * setting.config.rounds
    finished = [one.name for one in setting.config.all_modes() if (out / "rounds" / f"{one.name}.parquet").exists()]
    lacking = [name for name in finished if held.get(name, 0) < size]
    if lacking:
        rule = f"does not hold the slates of finished modes ({', '.join(lacking)}): delete their files in {out / 'rounds'}"
        rule += " to play and log them"
        raise InvalidInput("log", rule, str(log))


def _holds_something(log: Path) -> bool:
    """Whether there is a log to open; a file is none."""
    if log.exists() and not log.is_dir():
        raise InvalidInput("log", "must be a folder", str(log))
    return log.is_dir() and any(log.iterdir())
