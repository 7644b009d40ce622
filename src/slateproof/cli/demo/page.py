"""The page of the demo: one file, no script, nothing fetched; every number in it was just computed.

Scope: none; presentation.
"""

from __future__ import annotations

import html
import platform
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np

import slateproof
from slateproof.audit import Problem, VerifyReport
from slateproof.cli.demo import pictures, proofs
from slateproof.cli.demo.classroom import POOL, SEED, Class, Material
from slateproof.cli.demo.forge import Attempt
from slateproof.cli.demo.steps import SIGMA, Certified, Claims, Logged
from slateproof.policy import Policy
from slateproof.privacy import Scope

__all__ = ["Told", "claim", "commands", "page"]

KINDS = {"public": "good", "dp-output": "good", "accounted": "good", "conditioned": "fair", "non-private": "bad"}


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Everything that the demo found out.

    Scope: each part has its own.
    """

    material: Material
    policy: Policy
    taught: Class
    logged: Logged
    verified: VerifyReport
    certified: Certified
    claims: Claims
    attempts: tuple[Attempt, ...]
    seconds: float


def page(told: Told, out: Path) -> str:
    """The page as HTML; numbers stand in ``<data id=... value=...>`` elements, unrounded in ``value``."""
    source = resources.files("slateproof.cli.demo").joinpath("page.html").read_text(encoding="utf-8")
    return Template(source).substitute(_pictures(told) | _numbers(told) | _words(told, out))


def commands(told: Told, out: Path) -> tuple[tuple[str, str], ...]:
    """What a reader may try next: a command that works, and what it shows."""
    return (
        (f"slateproof show {out / 'log'} {told.certified.record}", "why this slate"),
        (f"slateproof verify {out / 'log'} --public-key {out / 'public.vkey'}", "check the log"),
        (f"slateproof verify {out / 'tampered'} --public-key {out / 'public.vkey'}", "check the forged one"),
        (f"slateproof certify {out / 'log'} --sigma {SIGMA:g}", "how firm every slate is"),
        (f"slateproof diff {out / 'log'} --policy {out / 'private.toml'}", "what another policy would change"),
        (f"slateproof policy init {out / 'mine.toml'}", "start with your own"),
    )


def claim(scope: Scope) -> str:
    """The claim in a few words; a figure is rounded up."""
    if scope.epsilon is None or scope.delta is None:
        return "no claim"
    return f"ε ≤ {np.ceil(scope.epsilon * 1000 - 1e-9) / 1000:g}, δ = {f'{scope.delta:g}'.replace('e-0', 'e-')} per answer"


def _pictures(told: Told) -> dict[str, str]:
    forged = told.attempts[1]
    slates = told.taught.slates
    return {
        "idea": pictures.idea(),
        "difficulties": pictures.difficulties(told.material),
        "models": pictures.models(told.material),
        "learners": pictures.learners(told.taught, told.material, told.certified.record % len(told.taught.names)),
        "choices": pictures.choices(told.certified.certificate.slate),
        "checkpoints": proofs.checkpoints(told.logged),
        "same": proofs.records(told.taught, proofs.named(told.verified), f"{slates} records, all the same"),
        "reach": proofs.reach(told.certified),
        "curves": proofs.curves(told.certified),
        "scope": _scope(told.claims),
        "attempts": _attempts(told.attempts),
        "forged": proofs.records(told.taught, proofs.named(forged.report), f"{slates} records, one of them forged"),
    }


def _numbers(told: Told) -> dict[str, str]:
    corpus, taught, certified, verified = told.material.corpus, told.taught, told.certified, told.verified
    certificate, rows = certified.certificate, certified.table.rows
    flip = next(row for row in certified.curve if row[0] == SIGMA)
    firm = sum(row["flip_probability"] <= 0.05 for row in rows)
    error, noise = told.claims.error, told.claims.noise
    values: dict[str, tuple[float, str]] = {
        "seconds": (told.seconds, f"{told.seconds:.0f}"),
        "users": (corpus.users, f"{corpus.users}"),
        "answers": (len(corpus), f"{len(corpus):,}"),
        "items": (len(corpus.items), f"{len(corpus.items)}"),
        "share": (float(corpus.positive.mean()), f"{corpus.positive.mean():.0%}"),
        "heldout": (told.material.report.held_out.users, f"{told.material.report.held_out.users}"),
        "learners_count": (len(taught.names), f"{len(taught.names)}"),
        "rounds": (len(taught.lessons), f"{len(taught.lessons)}"),
        "pool": (POOL, f"{POOL}"),
        "slates": (taught.slates, f"{taught.slates}"),
        "slates_again": (verified.size, f"{verified.size}"),
        "slates_forged": (told.attempts[1].report.size, f"{told.attempts[1].report.size}"),
        "record": (certified.record, f"{certified.record}"),
        "record_again": (certified.record, f"{certified.record}"),
        "smallest": (taught.sizes[0], f"{taught.sizes[0]}"),
        "largest": (taught.sizes[1], f"{taught.sizes[1]}"),
        "round": (certified.record // len(taught.names) + 1, f"{certified.record // len(taught.names) + 1}"),
        "margin": (certificate.margin, f"{certificate.margin:.6f}"),
        "bytes": (told.logged.bytes, f"{told.logged.bytes / 1e6:.1f} MB"),
        "commits": (len(told.logged.checkpoints), f"{len(told.logged.checkpoints)}"),
        "early": (told.logged.early.size // len(taught.names), f"{told.logged.early.size // len(taught.names)}"),
        "replayed": (verified.replayed, f"{verified.replayed}"),
        "speed": (verified.speed, f"{verified.speed:,.0f}"),
        "sigma": (SIGMA, f"{SIGMA:g}"),
        "flip": (flip[3], f"{flip[3]:.2f}"),
        "bound": (flip[1], f"{min(1.0, flip[1]):.2g}, which says nothing" if flip[1] >= 1.0 else f"{flip[1]:.2g}"),
        "last": (len(rows), f"{len(rows)}"),
        "firm": (firm, f"{firm}"),
        "noise": (noise, f"{noise:.2f}"),
        "error": (error, f"{error:.2f}"),
    }
    return {name: f'<data id="{name}" value="{value!r}">{words}</data>' for name, (value, words) in values.items()}


def _words(told: Told, out: Path) -> dict[str, str]:
    verdict = "sound" if told.verified.ok else "NOT SOUND"
    plain = {
        "subject": told.taught.names[told.certified.record % len(told.taught.names)],
        "record_plain": str(told.certified.record),
        "sigma_plain": f"{SIGMA:g}",
        "out": str(out),
        "commands": "\n".join(f"# {what}\n{command}" for command, what in commands(told, out)),
        "version": slateproof.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "seed": str(SEED),
        "corpus": told.material.corpus.digest,
        "policy": told.policy.digest,
        "root": told.logged.checkpoints[-1].root.hex(),
    }
    tag = f'<span class="tag {"good" if told.verified.ok else "bad"}" id="verdict">{verdict}</span>'
    return {name: html.escape(words) for name, words in plain.items()} | {"verdict": tag}


def _scope(claims: Claims) -> str:
    """The inputs of both pipelines side by side, and what follows."""
    pair = (claims.as_run, claims.private)
    rows = [f"<tr><td>{name}</td>{''.join(_tag(dict(one.inputs)[name].kind) for one in pair)}</tr>" for name, _ in pair[0].inputs]
    verdicts = "".join(
        f'<td id="{name}">{one.regime}: {claim(one)}</td>' for name, one in zip(("as-run", "private"), pair, strict=True)
    )
    head = "<tr><th>what the selector reads</th><th>as the class was run</th><th>from one private release</th></tr>"
    return f'<table><thead>{head}</thead><tbody>{"".join(rows)}<tr class="sum"><td>verdict</td>{verdicts}</tr></tbody></table>'


def _tag(kind: str) -> str:
    return f'<td><span class="tag {KINDS[kind]}">{kind}</span></td>'


def _attempts(attempts: tuple[Attempt, ...]) -> str:
    rows = []
    for attempt in attempts:
        verdict = '<span class="tag good">not caught</span>' if attempt.report.ok else '<span class="tag bad">caught</span>'
        found = "nothing" if attempt.report.ok else _found(attempt.report.problems[0])
        rows.append(f"<tr><td><b>{attempt.title}</b><br>{html.escape(attempt.detail)}</td><td>{verdict}</td><td>{found}</td></tr>")
    head = "<tr><th>what was done</th><th>verdict</th><th>what verification says</th></tr>"
    return f'<table id="attempts"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _found(problem: Problem) -> str:
    return f"<b>{problem.kind}</b> at record {problem.index}: {html.escape(problem.message)}"
