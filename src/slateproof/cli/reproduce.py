"""`slateproof reproduce`: the paper's tables and figures, regenerated, judged, and written to a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from slateproof.cli.data import DATA, data_folder
from slateproof.errors import InvalidInput

if TYPE_CHECKING:
    from slateproof.experiments import Finished, Outcome

__all__ = ["reproduce"]

NEEDED = {"matplotlib": "report", "jinja2": "report", "jax": "learn", "equinox": "learn", "optax": "learn"}
"""Modules that experiments need, and the extras that bring them."""


def reproduce(
    names: list[str] | None = typer.Argument(None, metavar="[NAME]...", help="Experiments; none means all. --list names them."),
    data: Path | None = DATA,
    out: Path = typer.Option(Path("results"), "--out", help="Folder for report.html, tables, figures, and finished parts."),
    quick: bool = typer.Option(False, "--quick", help="Small samples, minutes; the report says so."),
    strict: bool = typer.Option(False, "--strict", help="Exit 1 if a published number differs or anything was left out."),
    page: Path | None = typer.Option(None, "--page", help="Also write a summary in Markdown here (RESULTS.md)."),
    list_: bool = typer.Option(False, "--list", help="Name the experiments and what each asks, and stop."),
) -> None:
    """Regenerate the paper's tables and figures from the corpora in hand, beside what was published, with computed verdicts.

    Finished parts are kept in OUT/.cache and used again while nothing they depend on has changed; an interrupted run goes on where
    it stopped. Exit 0: it ran; 1: --strict, and a number differs or something was left out; 2: a refusal.
    """
    from slateproof import experiments as x

    if list_:
        return _list()
    _check_extras()
    chosen = x.ordered(names or ())
    folder = data_folder(data)
    if folder is None:
        typer.echo("no data folder (--data, SLATEPROOF_DATA): what needs a corpus is left out", err=True)
    if page is not None and not page.resolve().parent.is_dir():
        raise InvalidInput("page", "its folder does not exist", str(page))
    with _bars(len(chosen)) as (tell, done):
        outcome = x.reproduce(names or (), folder, out, quick, tell, finished=done, command=_command())
    _print(outcome)
    if page is not None:
        page.write_text(x.summary_page(outcome, page.resolve().parent), encoding="utf-8")
        typer.echo(f"wrote    {page}")
    raise typer.Exit(outcome.exit_code(strict))


def _check_extras() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        extras = ",".join(dict.fromkeys(NEEDED[name] for name in missing))
        rule = f"needs {', '.join(missing)}: pip install 'slateproof[{extras}]'"
        raise InvalidInput("reproduce", rule)


def _command() -> str:
    """What was typed, without the path of the program."""
    return shlex.join(["slateproof", *sys.argv[1:]])


def _list() -> None:
    from slateproof.experiments import EXPERIMENTS

    wide = max(map(len, EXPERIMENTS))
    for name, one in EXPERIMENTS.items():
        typer.echo(f"{name.ljust(wide)}  {one.question}")


@contextmanager
def _bars(total: int) -> Iterator[tuple[Any, Any]]:
    """A line for every finished experiment; on a terminal a bar over experiments and one within the current one, too."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}", table_column=None), BarColumn(bar_width=24), TextColumn("{task.fields[what]}"))
    count = 0
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        whole: TaskID = bar.add_task("experiments", total=total, what="")
        inner: TaskID = bar.add_task("", total=None, what="")

        def tell(name: str, done: int, parts: int, what: str) -> None:
            bar.update(inner, description=name, completed=done, total=parts, what=what)

        def done(part: Finished) -> None:
            nonlocal count
            count += 1
            bar.update(whole, completed=count, what=f"{count} of {total}")
            console.print(f"[{count:>2}/{total}] {_line(part)}".replace("[", r"\["))

        yield tell, done


def _line(part: Finished) -> str:
    """Name, what happened, seconds, verdicts."""
    from slateproof.experiments.verdicts import count

    counts = [f"{n} {kind}" for kind, n in count(part.result.verdicts).items() if n]
    left = f"  left out: {'; '.join(part.result.skipped)}" if part.result.skipped else ""
    return f"{part.experiment.name:<16} {part.state:<7} {part.seconds:6.1f} s  {', '.join(counts) or 'no published number'}{left}"


def _print(outcome: Outcome) -> None:
    from slateproof.experiments.verdicts import KINDS, count

    title = "Published numbers, by verdict" + ("   (quick run: small samples)" if outcome.quick else "")
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", show_footer=True)
    table.add_column("experiment", footer="all")
    for kind in KINDS:
        table.add_column(kind, justify="right", footer=str(outcome.counts[kind]))
    table.add_column("seconds", justify="right", footer=f"{outcome.seconds:.1f}")
    table.add_column("")
    for part in outcome.finished:
        cells = [str(n) if n else "·" for n in count(part.result.verdicts).values()]
        table.add_row(part.experiment.name, *cells, f"{part.seconds:.1f}", "" if part.state == "ran" else part.state)
    console = Console(soft_wrap=True, highlight=False)
    console.print(table)
    for why in outcome.skipped:
        console.print(f"left out  {why}", markup=False)
    console.print(f"report    {outcome.out / 'report.html'}", markup=False)
