"""The application: its commands, and what a refusal looks like in a terminal."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

import slateproof
from slateproof.cli.bench import bench
from slateproof.cli.data import data_app
from slateproof.cli.demo import demo
from slateproof.cli.logs import certify_command, diff_command, show_command, verify_command
from slateproof.cli.models import score, train
from slateproof.cli.policies import policy_app
from slateproof.cli.reproduce import reproduce
from slateproof.cli.scope import scope
from slateproof.cli.select import select
from slateproof.cli.simulate import simulate
from slateproof.errors import SlateproofError

__all__ = ["app", "main"]

app = typer.Typer(
    name="slateproof",
    help="A governed selection layer for recommenders: deterministic slates, traces, certificates, honest privacy scope.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(select)
app.add_typer(policy_app, name="policy")
app.command("verify")(verify_command)
app.command("show")(show_command)
app.command("diff")(diff_command)
app.command("certify")(certify_command)
app.command()(scope)
app.add_typer(data_app, name="data")
app.command()(train)
app.command()(score)
app.command()(simulate)
app.command()(reproduce)
app.command()(bench)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slateproof {slateproof.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Options that belong to no command."""


def main() -> None:
    """Run a command; a refusal is one line on standard error and exit code 2."""
    try:
        app()
    except SlateproofError as why:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]error[/]: {_plain(str(why))}")
        sys.exit(2)


def _plain(text: str) -> str:
    """The text with square brackets kept from being read as markup."""
    return text.replace("[", r"\[")
