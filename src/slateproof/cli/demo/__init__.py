"""`slateproof demo`: the whole loop on a synthetic class, told in the terminal and on a page with pictures.

Only the core's libraries are used, and no network.

Scope: none; a demonstration on simulated people.
"""

from __future__ import annotations

from pathlib import Path

import typer

__all__ = ["demo"]


def demo(
    out: Path = typer.Option(Path("demo"), "--out", help="Folder to write to: new, empty, or an earlier demo's."),
) -> None:
    """Show what this is for, in two minutes: learn, select, log, verify, certify, assess privacy, and catch a forgery."""
    from slateproof.cli.demo.story import tell  # only this command needs the simulator

    tell(out)
