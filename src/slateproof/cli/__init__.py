"""The command line: `slateproof COMMAND --help` says what each command does."""

from slateproof.cli.app import main

__all__ = ["main"]
