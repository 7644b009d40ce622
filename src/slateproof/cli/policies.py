"""`slateproof policy init | check`."""

from __future__ import annotations

from pathlib import Path

import typer

from slateproof.errors import InvalidInput
from slateproof.policy import TEMPLATE, Policy

__all__ = ["policy_app"]

policy_app = typer.Typer(help="Write and check policy files.", no_args_is_help=True)


@policy_app.command()
def init(
    file: Path = typer.Argument(Path("policy.toml"), help="Where to write the policy."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
) -> None:
    """Write a policy with every key, explained, valid as it stands."""
    if file.exists() and not force:
        raise InvalidInput("policy", "the file exists (--force overwrites it)", str(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TEMPLATE, encoding="utf-8")
    typer.echo(f"wrote {file}; check it with: slateproof policy check {file}")


@policy_app.command()
def check(file: Path = typer.Argument(..., help="A policy file.")) -> None:
    """Check a policy and print every constant it resolves to, and its digest."""
    policy = Policy.load(file)
    typer.echo(policy.to_text())
    typer.echo(f"digest = {policy.digest}")
    typer.echo(f"{file} is a valid policy")
