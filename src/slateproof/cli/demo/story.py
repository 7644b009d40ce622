"""The demo as it is told in a terminal: every step is done, then said in a few lines.

Scope: none; presentation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from slateproof.audit import VerifyReport
from slateproof.cli.demo import classroom, forge, steps
from slateproof.cli.demo.classroom import Class, Material
from slateproof.cli.demo.folder import Folder
from slateproof.cli.demo.forge import Attempt
from slateproof.cli.demo.page import Told, claim, commands, page
from slateproof.cli.demo.policies import class_policy
from slateproof.cli.demo.steps import SIGMA, Certified, Claims, Logged
from slateproof.cli.progress import progress_bar, stepper
from slateproof.policy import Policy
from slateproof.types import Slate

__all__ = ["tell"]

WIDTH = 88
"""Lines longer than this are hard to read, however wide the window."""


def tell(out: Path) -> Told:
    """Do and print every step, write the page, and return what was found out."""
    started = time.perf_counter()
    folder, say = Folder.claim(out), _Teller()
    say.line("[bold]slateproof demo[/]: scores in, slates out, and proof of what was done.")
    material = _learn(say)
    policy, taught = _select(say, material, folder)
    logged = _log(say, taught, policy, folder)
    verified = _verify(say, folder)
    certified = _certify(say, material, taught, policy)
    claims = _scope(say, material, policy, folder)
    attempts = _tamper(say, folder, certified.record)
    told = Told(
        material, policy, taught, logged, verified, certified, claims, attempts, seconds=time.perf_counter() - started
    )  # fmt: skip
    folder.report.write_text(page(told, out), encoding="utf-8")
    _end(say, told, out)
    return told


class _Teller:
    """A console of readable width, and a layout: number, title, what there is to say."""

    def __init__(self) -> None:
        console = Console(highlight=False)
        self.console = console if console.width <= WIDTH else Console(highlight=False, width=WIDTH)

    def line(self, markup: str) -> None:
        """One line by itself."""
        self.console.print(markup)

    def step(self, number: int, title: str, *said: RenderableType) -> None:
        """A finished step."""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=2, style="bold cyan", justify="right")
        grid.add_column(width=8, style="bold")
        grid.add_column(ratio=1)
        for place, one in enumerate(said):
            grid.add_row(str(number) if place == 0 else "", title if place == 0 else "", one)
        self.console.print()
        self.console.print(grid)

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """A spinner while something without a bar runs; nothing in a pipe."""
        with self.console.status(what) if self.console.is_terminal else _quiet():
            yield


@contextmanager
def _quiet() -> Iterator[None]:
    yield


def _learn(say: _Teller) -> Material:
    corpus = classroom.synthetic_corpus()
    counts = f"{len(corpus):,} answers of {corpus.users} learners to {len(corpus.items)} exercises"
    say.step(1, "Corpus", f"{counts}, {corpus.positive.mean():.0%} right. [dim]Synthetic: simulated people.[/]")
    with say.busy("fitting the model (the first run compiles)"):
        material = classroom.learn(corpus)
    fitted, found, other = int((corpus.split().part == 0).sum()), material.report.held_out, material.baseline.held_out
    say.step(
        2,
        "Learn",
        f"{found.scorer}, fitted on {fitted} learners. AUC on {found.users} held-out ones "
        rf"{found.auc}".replace("[", r"\[")
        + f"; item popularity {other.auc}".replace("[", r"\[")
        + ".",
    )
    return material


def _select(say: _Teller, material: Material, folder: Folder) -> tuple[Policy, Class]:
    folder.policy.write_text(class_policy(classroom.starting_width(material)), encoding="utf-8")
    policy = Policy.load(folder.policy)
    total = 4 * classroom.COPIES * classroom.ROUNDS
    with progress_bar("selecting slates (the first run compiles)", total) as advance:
        taught = classroom.play(material, policy, advance)
    say.step(
        3,
        "Select",
        f"{taught.slates} slates: {len(taught.names)} new learners, {len(taught.lessons)} rounds, {taught.sizes[0]} to "
        f"{taught.sizes[1]} of {classroom.POOL} candidates each. The policy is {folder.policy}, digest {policy.digest[:12]}.",
    )
    return policy, taught


def _log(say: _Teller, taught: Class, policy: Policy, folder: Folder) -> Logged:
    with progress_bar("logging", taught.slates) as advance:
        logged = steps.write_log(taught, policy, folder, advance)
    last = logged.checkpoints[-1]
    say.step(
        4,
        "Log",
        f"{last.size} records in {folder.log} ({logged.bytes / 1e6:.1f} MB), {len(logged.checkpoints)} signed checkpoints. "
        f"Root {last.root.hex()[:16]}…; the key is thrown away.",
    )
    return logged


def _verify(say: _Teller, folder: Folder) -> VerifyReport:
    with progress_bar("verifying", None) as advance:
        report = steps.verify(folder, stepper(advance))
    verdict = "[bold green]sound[/]" if report.ok else "[bold red]NOT SOUND[/]"
    say.step(
        5,
        "Verify",
        f"{verdict}: {report.replayed} of {report.size} slates selected again from the log, equal bit for bit; "
        f"hashes, roots and signature fit. {report.speed:,.0f} records/s.",
    )
    return report


def _certify(say: _Teller, material: Material, taught: Class, policy: Policy) -> Certified:
    with say.busy("certifying (the first run compiles)"):
        certified = steps.certify_class(material, taught, policy, steps.example_of(taught))
    certificate, rows = certified.certificate, certified.table.rows
    flip = next(row for row in certified.curve if row[0] == SIGMA)
    firm = sum(row["flip_probability"] <= 0.05 for row in rows)
    who, when = taught.names[certified.record % len(taught.names)], certified.record // len(taught.names) + 1
    say.step(
        6,
        "Certify",
        f"Record {certified.record} ({who}, round {when}), choice by choice:",
        _choices(certificate.slate),
        f"No change of scores below [bold]{certificate.radius:.6f}[/] changes this slate. One of {certified.size:.6f} was found "
        f"that does: {_difference(certified.inside, certified.other)}.",
        f"Noise of {SIGMA:g} on every score changes it with probability [bold]{flip[3]:.2f}[/] (the paper's bound: "
        f"{min(1.0, flip[1]):.2g}). Of the last {len(rows)} slates, {firm} stay below 5 %.",
    )
    return certified


def _choices(slate: Slate) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("")
    table.add_column("chosen", style="bold")
    for name in ("score", "+fit", "+explore", "+new", "-alike"):
        table.add_column(name, justify="right")
    table.add_column("second")
    table.add_column("lead", justify="right")
    for reason in slate.explain().reasons:
        one, second = reason.chosen, "-" if reason.runner_up is None else str(reason.runner_up.id)
        terms = (one.score, one.target_bonus, one.exploration_bonus, one.novelty_bonus, one.diversity_penalty)
        lead = f"{reason.margin:.6f}" if np.isfinite(reason.margin) else "-"
        table.add_row(str(reason.step), str(one.id), *(f"{term:.3f}" for term in terms), second, lead)
    return table


def _difference(before: Slate, after: Slate) -> str:
    place = next(place for place, (a, b) in enumerate(zip(before.ids, after.ids, strict=True)) if a != b)
    return f"{after.ids[place]} takes the place of {before.ids[place]}"


def _scope(say: _Teller, material: Material, policy: Policy, folder: Folder) -> Claims:
    with say.busy("releasing difficulties privately (the first run compiles)"):
        claims = steps.assess(material, policy, folder)
    raw = ", ".join(name for name, one in claims.as_run.inputs if one.kind == "non-private")
    say.step(
        7,
        "Scope",
        f"As run: [bold]{claims.as_run.regime}[/], {claim(claims.as_run)}: {raw} made from raw answers, without noise.",
        f"From one private release: [bold]{claims.private.regime}[/], {claim(claims.private)}, "
        f"but difficulties off by {claims.error:.2f} and one slate for all.",
    )
    return claims


def _tamper(say: _Teller, folder: Folder, record: int) -> tuple[Attempt, ...]:
    with progress_bar("forging", 4) as advance:
        attempts = forge.tamper(folder, record, advance)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for name in ("in a copy of the log", "verdict", "found"):
        table.add_column(name)
    for one in attempts:
        verdict = "[bold red]NOT CAUGHT[/]" if one.report.ok else "[bold green]caught[/]"
        found = "nothing" if one.report.ok else f"{one.report.problems[0].kind} at record {one.report.problems[0].index}"
        table.add_row(one.title, verdict, found)
    forged = (
        f"[dim]The score in record {record}: {attempts[1].detail}. The old state is a sound log by itself: only the checkpoint "
    )
    forged += "that the auditor kept gives it away.[/]"
    say.step(8, "Tamper", table, forged)
    return attempts


def _end(say: _Teller, told: Told, out: Path) -> None:
    certificate, caught = told.certified.certificate, sum(not one.report.ok for one in told.attempts)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_row(
        "trace",
        f"{told.verified.replayed} of {told.verified.size} slates recomputed; {caught} of {len(told.attempts)} forgeries caught",
    )
    grid.add_row("certificate", f"one slate firm up to changes of {certificate.radius:.6f}, and no further")
    grid.add_row("scope", f"{told.claims.as_run.regime} as run; {told.claims.private.regime} from one private release")
    grid.add_row("the page", Text(str(out / "report.html"), style="bold cyan"))
    say.console.print()
    say.console.print(Panel(grid, title=f"done in {told.seconds:.0f} s", title_align="left", border_style="cyan"))
    say.line("[dim]What now:[/]")
    for command, what in commands(told, out):
        say.console.print(Text(f"# {what}", style="dim"))
        say.console.print(Text(command), soft_wrap=True)
