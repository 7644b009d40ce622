"""`slateproof bench`: what slates, certificates and traces cost on this machine, in half a minute.

Inputs are synthetic: standard normal scores, random unit vectors. The comparison with peers is `make bench`.

Scope: none; measurements.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import slateproof as sp
from slateproof.certify import certify_batch
from slateproof.cli.progress import progress_bar
from slateproof.cli.timing import machine, medians
from slateproof.errors import InvalidInput

__all__ = ["bench"]

CASES = ((100, 48, 8, 2_000), (1_000, 64, 10, 400), (10_000, 64, 20, 40))
"""Candidates, dimension, slate size, pools in the batch."""
LEVERS = {"target_shift": 0.1, "exploration": 0.3, "diversity": 0.3}
WHAT = {
    "one": "one slate",
    "batch": "batch, per slate",
    "certified": "batch with certificates, per slate",
    "radius": "one certificate: margin, radius",
    "flip": "one flip probability (quasi-Monte Carlo)",
    "scpo": "one exact SCPO slate",
    "log": "audit log: append and commit, per slate",
    "verify": "audit log: verify, per slate",
}


def bench(json_path: Path | None = typer.Option(None, "--json", help="Write the figures to this file too.")) -> None:
    """Measure slates, certificates and traces on this machine (synthetic inputs; half a minute)."""
    if json_path is not None and not json_path.resolve().parent.is_dir():
        raise InvalidInput("json", "its folder does not exist", str(json_path))
    found: dict[str, Any] = {"command": "slateproof bench", "machine": machine(), "rows": []}
    with progress_bar("measuring", len(CASES) + 1) as advance:
        for n, d, k, pools in CASES:
            found["rows"] += _selection(n, d, k, pools)
            advance(1)
        found["rows"] += _log()
        advance(1)
    _print(found)
    if json_path is not None:
        json_path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _catalog(n: int, d: int) -> sp.Catalog:
    rng = np.random.default_rng(0)
    return sp.Catalog(np.arange(n), rng.uniform(size=n), vectors=sp.unit(rng.normal(size=(n, d))))


def _pools(catalog: sp.Catalog, n: int, count: int) -> sp.PoolBatch:
    rng = np.random.default_rng(1)
    return sp.PoolBatch.of([catalog.pool(np.arange(n), rng.normal(size=n), rng.uniform(size=n)) for _ in range(count)])


def _selection(n: int, d: int, k: int, count: int) -> list[dict[str, Any]]:
    every = _pools(_catalog(n, d), n, count)
    selector, levers, state = sp.GreedySelector(), sp.Levers(**LEVERS, size=k), sp.State()
    certificate = sp.certify(selector.select(every[0], levers, state))
    tasks: dict[str, Callable[[], Any]] = {
        "one": partial(selector.select, every[0], levers, state),
        "batch": partial(selector.select_batch, every, levers, state),
        "certified": lambda: certify_batch(selector.select_batch(every, levers, state)),
        "radius": lambda: sp.certify(selector.select(every[0], levers, state)).radius,
    }
    if n <= 1_000:
        tasks["flip"] = partial(certificate.flip_probability, 0.01)
    if n == 100:
        tasks["scpo"] = partial(sp.WindowSelector().select, every[0], levers, state)
    seconds = medians(tasks, seconds=0.6, repeats=7)
    per = {"batch": count, "certified": count}
    return [_row(name, n, k, value / per.get(name, 1)) for name, value in seconds.items()]


def _log(count: int = 4_000) -> list[dict[str, Any]]:
    n, d, k, _ = CASES[0]
    slates = sp.GreedySelector().select_batch(_pools(_catalog(n, d), n, count), sp.Levers(**LEVERS, size=k))
    written, checked = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, sp.AuditLog.create(Path(folder) / "log") as log:
            start = time.perf_counter()
            log.append_batch(slates)
            log.commit()
            middle = time.perf_counter()
            log.verify()
            written.append(middle - start)
            checked.append(time.perf_counter() - middle)
    return [_row("log", n, k, sorted(written)[1] / count), _row("verify", n, k, sorted(checked)[1] / count)]


def _row(name: str, n: int, k: int, seconds: float) -> dict[str, Any]:
    return {"what": WHAT[name], "candidates": n, "size": k, "microseconds": 1e6 * seconds}


def _print(found: dict[str, Any]) -> None:
    facts = found["machine"]
    table = Table(
        box=SIMPLE_HEAD, title=f"{facts['cores']} cores, Python {facts['python']}; synthetic inputs", title_justify="left"
    )
    table.add_column("")
    for head in ("candidates", "K", "µs", "per second"):
        table.add_column(head, justify="right")
    for row in found["rows"]:
        cost = row["microseconds"]
        table.add_row(row["what"], f"{row['candidates']:,}", str(row["size"]), f"{cost:,.1f}", f"{1e6 / cost:,.0f}")
    Console().print(table)
