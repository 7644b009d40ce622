"""`corpora`: what was read, beside what the paper's table says of its corpora.

Scope: none; counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slateproof.corpora import Corpus
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.inhand import STANDS_FOR, get, in_hand, lacking, not_the_papers
from slateproof.experiments.published.corpus_summary import COUNTS
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge

__all__ = ["EXPERIMENT", "CorpusSummary", "run"]

LABEL = "tab:datasets-app"


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """``users``: learners of EdNet or its surrogate that the other experiments read."""

    users: int = 10_000


def run(task: Task) -> Result:
    """Counts of every corpus that stands for one of the paper's."""
    config: CorpusSummary = task.config
    found, skipped = in_hand(task.corpora, STANDS_FOR)
    rows: list[Row] = []
    digests: dict[str, str] = {}
    corpora: dict[str, Corpus] = {}
    for place, (paper, name) in enumerate(found.items()):
        task.progress(place, len(found), name)
        corpus = corpora[paper] = get(task.corpora, name, config.users)
        digests[corpus.label] = corpus.digest
        rows.append(_row(paper, corpus))
    verdicts = [one for paper in COUNTS for one in _verdicts(paper, corpora.get(paper), rows)]
    notes = tuple(f"{one.label}: {lacking(one).strip()}" for one in corpora.values() if lacking(one))
    notes += tuple(f"{one.label}: {not_the_papers(one)}." for one in corpora.values() if not_the_papers(one))
    summary = {f"interactions_{paper}": len(corpus) for paper, corpus in corpora.items()}
    return Result(summary, tuple(rows), tuple(verdicts), notes, _tables(rows), (), skipped, digests)


def _row(paper: str, corpus: Corpus) -> Row:
    d = corpus.items.difficulty
    return {
        "corpus": corpus.label,
        "paper_corpus": paper,
        "synthetic": corpus.synthetic,
        "users": corpus.users,
        "items": len(corpus.items),
        "interactions": len(corpus),
        "density": corpus.density,
        "per_user": corpus.per_user,
        "positive_share": float(corpus.positive.mean()),
        "smallest_difficulty": float(d.min()),
        "mean_difficulty": float(d.mean()),
        "largest_difficulty": float(d.max()),
    }


TITLES = {
    "users": "users",
    "items": "items",
    "interactions": "interactions",
    "density": "density (‰)",
    "per_user": "interactions per user",
}


def _verdicts(paper: str, corpus: Corpus | None, rows: list[Row]) -> list[Verdict]:
    row: dict[str, Any] = next((row for row in rows if row["paper_corpus"] == paper), {})
    why = "the corpus is not in hand" if corpus is None else not_the_papers(corpus) or _cut(corpus)
    verdicts = []
    for name, value in zip(TITLES, COUNTS[paper], strict=True):
        # Counts must be equal; density and rows per user are printed with two decimals.
        room = {"density": 0.005, "per_user": 0.05 if paper == "ednet" else 0.005}.get(name, 0.0)
        published = Published(f"{paper}/{name}", LABEL, f"{paper}: {TITLES[name]}", float(value), tolerance=room)
        ours = row.get(name)
        verdicts.append(judge(published, Ours(None if ours is None else float(ours), why=why)))
    return verdicts


def _cut(corpus: Corpus) -> str | None:
    """EdNet itself is read for so many users as the closed loop has."""
    return "a cut: so many users as the closed loop has" if corpus.name == "ednet-kt2" else None


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {"density": "density (‰)", "per_user": "per user", "positive_share": "positive", "smallest_difficulty": "d min"}
    heads |= {"mean_difficulty": "d mean", "largest_difficulty": "d max", "paper_corpus": "stands for"}
    columns = ("corpus", "paper_corpus", "synthetic", *TITLES, "positive_share", "smallest_difficulty", "mean_difficulty")
    caption = "Corpora that were read, and what each stands for."
    return (Table("corpora", caption, (*columns, "largest_difficulty"), tuple(rows), heads),) if rows else ()


EXPERIMENT = Experiment(
    name="corpora",
    title="Corpora",
    question="What was read, and is it what the paper had?",
    labels=(LABEL,),
    full=CorpusSummary(),
    quick=CorpusSummary(users=1_000),
    run=run,
    corpora=tuple(name for names in STANDS_FOR.values() for name in names),
)
