"""`slateproof train` and `slateproof score`: operator L on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from slateproof.cli.data import DATA, SET, open_corpus
from slateproof.cli.logs import write_json
from slateproof.cli.progress import progress_bar, stepper
from slateproof.cli.tables import TableWriter, read_table
from slateproof.errors import InvalidInput
from slateproof.learn import registry
from slateproof.learn.checks import check_seed
from slateproof.learn.registry import LEARNERS, open_model
from slateproof.learn.train import score_pools
from slateproof.learn.train import train as fit

__all__ = ["score", "train"]


def train(
    corpus: str = typer.Argument(..., help="A corpus from `slateproof data list`, or a .toml file from `data load --save`."),
    learner: str = typer.Option(..., "--learner", help=f"One of {', '.join(LEARNERS)}."),
    out: Path = typer.Option(..., "--out", help="Model file to write."),
    seed: int | None = typer.Option(
        None, "--seed", help="Everything random follows from it; 42 if not given, for private-two-tower a secret one."
    ),
    epsilon: float | None = typer.Option(None, "--epsilon", help="For private-two-tower: the budget of a round (3 if not given)."),
    delta: float | None = typer.Option(None, "--delta", help="For private-two-tower: its delta (1e-5 if not given)."),
    settings: list[str] = SET,
    learner_settings: list[str] = typer.Option(
        [],
        "--learner-set",
        metavar="KEY=VALUE",
        help="A setting of the learner, such as epochs=3 or anchor.factors=16; repeatable.",
    ),
    data: Path | None = DATA,
    report: Path | None = typer.Option(None, "--json", help="Write the held-out table here as JSON, too."),
) -> None:
    """Fit a learner on a corpus, measure it on held-out users, and write a model file."""
    if seed is not None:
        check_seed(seed)
    chosen = registry.settings_of(learner, learner_settings)
    # A bad seed, an unknown name or setting, or a library that is not installed, is told before the corpus is read.
    registry.learner(learner, epsilon=epsilon, delta=delta, settings=chosen)
    _make_room(out)
    known = open_corpus(corpus, data, settings)
    if not sys.stderr.isatty():
        typer.echo(f"training {learner} on {known.label}: {len(known):,} interactions", err=True)
    with progress_bar(f"training {learner}", None) as advance:
        scorer, told = fit(known, learner, seed, stepper(advance), epsilon=epsilon, delta=delta, settings=chosen)
    scorer.save(out)
    typer.echo(told.to_text())
    typer.echo(f"wrote {out}")
    write_json(report, told.to_dict())


def _make_room(out: Path) -> None:
    """The folder of the model file, before the work is done rather than after."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise InvalidInput("out", f"cannot be written ({why.strerror})", str(out)) from why
    if out.is_dir():
        raise InvalidInput("out", "must be a file, not a folder", str(out))


def score(
    model: Path = typer.Argument(..., help="A model file from `slateproof train`."),
    pools: Path = typer.Argument(..., help="Pools with a column ids (and user, where known): .parquet, .arrow or .jsonl."),
    corpus: str = typer.Option(..., "--corpus", help="The corpus that the model was trained on."),
    out: Path = typer.Option(..., "--out", help="The same pools with scores, widths and targets."),
    seed: int = typer.Option(42, "--seed", help="For scorers that draw."),
    settings: list[str] = SET,
    data: Path | None = DATA,
) -> None:
    """Score candidate pools with a model, ready for `slateproof select`."""
    known = open_corpus(corpus, data, settings)
    scorer = open_model(model, known)
    table = score_pools(scorer, known, read_table(pools, "pools"), seed)
    with TableWriter(out, "out") as writer:
        writer.write(table)
    typer.echo(f"scored {table.num_rows:,} pools with {scorer.name}; wrote {out}")
