"""`slateproof scope`: what a policy may claim about privacy."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from slateproof.cli.logs import write_json
from slateproof.errors import InvalidInput
from slateproof.policy import Policy
from slateproof.privacy import Ledger, Scope

__all__ = ["read_ledger", "scope", "verdict"]

_ARCHIVE = b"PK"  # how a model file begins


def scope(
    policy: Path = typer.Argument(..., help="A policy file."),
    ledger: Path | None = typer.Option(
        None, "--ledger", help="Ledger of what ran (JSON, or a model file), instead of the one that the policy names."
    ),
    out: Path | None = typer.Option(None, "--json", help="Write the verdict here as JSON, too."),
) -> None:
    """Print the regime, the composed budget, one line per input, and what would have to change for the next better regime."""
    found = verdict(Policy.load(policy), policy, ledger)
    typer.echo(found.to_text())
    write_json(out, found.to_dict())


def verdict(rules: Policy, policy: Path, ledger: Path | None = None) -> Scope:
    """The scope of the rules in the file ``policy``, with ``ledger``, or else the ledger that the policy names beside itself."""
    named = policy.parent / rules.privacy.ledger if rules.privacy.ledger is not None else None
    path = ledger or named
    return rules.scope(None if path is None else read_ledger(path))


def read_ledger(path: Path) -> Ledger:
    """The ledger in a JSON file, as `Ledger.to_dict` wrote it, or the one in a model file; a model without one is non-private."""
    try:
        content = path.read_bytes()
        if content.startswith(_ARCHIVE):
            return _of_model(path)
        value = json.loads(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as why:
        raise InvalidInput("ledger", f"cannot be read ({why})", str(path)) from why
    return Ledger.from_dict(value)


def _of_model(path: Path) -> Ledger:
    from slateproof.learn.modelfile import read

    model = read(path)
    if model.ledger is not None:
        return model.ledger
    ledger = Ledger()
    ledger.record_non_private(f"{model.learner} trained without differential privacy")
    return ledger
