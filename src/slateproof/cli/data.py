"""`slateproof data list | fetch | check | describe | load`: corpora in their publishers' formats."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from slateproof import corpora
from slateproof.cli.logs import write_json, write_text
from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput

__all__ = ["DATA", "SET", "data_app", "data_folder", "open_corpus"]

data_app = typer.Typer(help="List, fetch, check, describe and load corpora.", no_args_is_help=True)

DATA = typer.Option(None, "--data", envvar="SLATEPROOF_DATA", help="Folder with the corpora.")
_NAME = typer.Argument(..., help="A name from `slateproof data list`, or a .toml file from `slateproof data load --save`.")
SET = typer.Option([], "--set", metavar="KEY=VALUE", help="A setting of the corpus' loader, such as like_at=3.5; repeatable.")
_JSON = typer.Option(None, "--json", help="Write the result here as JSON, too.")


def data_folder(data: Path | None) -> Path | None:
    """The folder given, or ../shared/data or data where it exists."""
    if data is not None:
        if not data.is_dir():
            raise InvalidInput("data", "is not a folder", str(data))
        return data
    return next((path for path in (Path("data"), Path("../shared/data")) if path.is_dir()), None)


def open_corpus(name: str, data: Path | None, settings: Sequence[str] = ()) -> Corpus:
    """A registered corpus or the .toml file of a table; or a clear word on how to get it. ``settings`` are ``key=value`` words."""
    return corpora.load(name, data_folder(data), **corpora.options_of(name, settings))


@data_app.command("list")
def list_(data: Path | None = DATA) -> None:
    """Every corpus that is known, whether it is here, and its licence."""
    folder = data_folder(data)
    typer.echo("no data folder (--data, or SLATEPROOF_DATA)" if folder is None else f"data folder: {folder}")
    typer.echo(corpora.list_corpora(folder).to_text())


@data_app.command()
def fetch(
    name: str = typer.Argument(..., help="A name from `slateproof data list`."),
    data: Path = typer.Option(Path("data"), "--data", envvar="SLATEPROOF_DATA", help="Folder to put it in."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask whether the licence is accepted."),
) -> None:
    """Download a corpus from its publisher: licence first, then a progress bar; an interrupted download is resumed."""
    typer.echo(corpora.licence_notice(name))
    if not yes and not typer.confirm("Download?"):
        raise typer.Exit(1)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file, total=total)
            bar.update(tasks[file], completed=done, total=total)

        fetched = corpora.fetch(name, data, progress=progress)
    typer.echo(fetched.to_text())


@data_app.command()
def check(name: str = _NAME, settings: list[str] = SET, data: Path | None = DATA, out: Path | None = _JSON) -> None:
    """Compare a corpus with its published counts. Exit 0: they agree or none are published, 1: they differ."""
    report = corpora.check(open_corpus(name, data, settings))
    typer.echo(report.to_text())
    write_json(out, report.to_dict())
    raise typer.Exit(1 if report.ok is False else 0)


@data_app.command()
def describe(name: str = _NAME, settings: list[str] = SET, data: Path | None = DATA, out: Path | None = _JSON) -> None:
    """Counts, filters, difficulty rule, licence and digest of a corpus."""
    description = open_corpus(name, data, settings).describe()
    typer.echo(description.to_text())
    write_json(out, description.to_dict())


@data_app.command()
def load(
    file: Path = typer.Argument(..., help="A table: .csv, .tsv, .parquet or .jsonl (text also as .gz)."),
    user: str = typer.Option(..., "--user", help="Column with the user."),
    item: str = typer.Option(..., "--item", help="Column with the item."),
    response: str = typer.Option(..., "--response", help="Column with the response: a number, or true and false."),
    time: str | None = typer.Option(None, "--time", help="Column with the time."),
    tags: str | None = typer.Option(None, "--tags", help="Column with the item's tags."),
    tag_separator: str = typer.Option("|", "--tag-separator", help="What separates the tags of a cell."),
    difficulty: str | None = typer.Option(None, "--difficulty", help="Column with the item's difficulty in [0, 1]."),
    vectors: str | None = typer.Option(None, "--vectors", help="Column with the item's vector: a list of numbers."),
    rule: str = typer.Option("success", "--difficulty-rule", help="Without that column: success, success-rescaled or score."),
    positive_at: float | None = typer.Option(None, "--positive-at", help="Responses from here on count as positive."),
    min_user: int = typer.Option(1, "--min-user", min=1, help="Users with fewer rows are left out, counted."),
    min_item: int = typer.Option(1, "--min-item", min=1, help="Items with fewer rows are left out, counted."),
    max_bad_rows: int = typer.Option(0, "--max-bad-rows", min=0, help="Malformed rows to leave out, counted, before giving up."),
    licence: str = typer.Option("not stated", "--licence", help="Whose terms the rows stand under, for descriptions."),
    name: str | None = typer.Option(None, "--name", help="What to call the corpus (default: the file's name)."),
    save: Path | None = typer.Option(None, "--save", help="Keep these choices in a .toml file; it then is a corpus to name."),
    out: Path | None = _JSON,
) -> None:
    """Load any table as a corpus and describe it; a file that --save wrote is a corpus for `train`, `score` and the others."""
    if save is not None and save.suffix != ".toml":
        raise InvalidInput("save", "the name must end in .toml", str(save))
    options = {
        "user": user, "item": item, "response": response, "time": time, "tags": tags, "tag_separator": tag_separator,
        "difficulty_column": difficulty, "vectors": vectors, "difficulty": rule, "licence": licence, "positive_at": positive_at,
        "min_user": min_user, "min_item": min_item, "max_bad_rows": max_bad_rows,
        "name": name or (None if save is None else save.stem),
    }  # fmt: skip
    corpus = corpora.load_table(file, **options)  # type: ignore[arg-type]
    typer.echo(corpus.describe().to_text())
    write_json(out, corpus.describe().to_dict())
    if save is not None:
        write_text("save", save, corpora.tablefile_text(file, save.parent, options))
