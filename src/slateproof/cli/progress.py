"""Progress bars on standard error: shown to people, silent in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["progress_bar", "stepper"]


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A bar to ``total`` (None: unknown); call the value with how many more are done."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(more: int, total: int | None = None, what: str | None = None) -> None:
            if total is not None or what is not None:
                bar.update(task, total=total, description=what)
            bar.advance(task, more)

        yield advance


def stepper(advance: Callable[..., None]) -> Callable[..., None]:
    """The same bar for callers that report (steps done, steps in all, what is going on)."""
    seen = 0

    def step(done: int, total: int | None = None, what: str | None = None) -> None:
        nonlocal seen
        advance(done - seen, total, what)
        seen = done

    return step
