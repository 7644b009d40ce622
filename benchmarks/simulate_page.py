"""The measured parts of docs/simulator.md from ``results/simulate.json``: ``python -m benchmarks.simulate --page`` writes them.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.marks import table

__all__ = ["made"]

PARTS = {
    "update": "updates",
    "begin": "fresh sessions",
    "score": "scores",
    "select": "selection",
    "respond": "responses",
    "record": "recording",
}


def made(result: dict[str, Any], drift: dict[str, Any]) -> dict[str, str]:
    """What stands between the marks of the page, by name; ``drift`` is the summary of ``results/drift.json``."""
    return {
        "machine": _machine(result),
        "time": _time(result),
        "parts": _parts(result["all_modes"]),
        "windows": _windows(result),
        "drift": (
            f"`slateproof reproduce drift` looks at more sessions' rounds: {drift['scpo_applies']:,} pairs of SCPO, "
            f"{drift['scpo_exceptions']} jumps beyond an envelope."
        ),
    }


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    cores, load = machine["cores"], machine["load_before"][0]
    text = (
        f"Measured on {_or(machine['processor'], 'a processor that was not written down')}, {cores} cores, Python "
        f"{machine['python']}, at a load of {load:g} before; code {_or(result['code'], 'not written down')[:16]}."
    )
    if load > 0.5:
        text += "\n**The machine had other work**: wall times are above what a quiet one takes, processor times say by how much."
    return text


def _time(result: dict[str, Any]) -> str:
    one, every = result["adaptive"], result["all_modes"]
    rows: Sequence[tuple[str, list[dict[str, Any]], Callable[[dict[str, Any]], str]]] = (
        ("`adaptive`, updates included, after compilation: wall, median of 5", one, lambda r: _seconds(r["median_wall"])),
        ("the same, processor time", one, lambda r: _seconds(r["median_cpu"])),
        ("first run, with compilation: wall", one, lambda r: _seconds(r["first_run_with_compilation"])),
        ("all eleven modes: playing, metrics, bootstraps, Parquet: wall", every, lambda r: _seconds(r["wall"])),
        ("the same, processor time", every, lambda r: _seconds(r["cpu"])),
        ("fitting all learners before that, `dkt` and `sakt` included: wall", every, lambda r: _seconds(r["fitting_wall"])),
        ("fitting and playing together: wall", every, lambda r: _seconds(r["fitting_wall"] + r["wall"])),
        ("peak memory", every, lambda r: f"{r['peak_mib']:,} MiB"),
    )
    return table(_heads(result), [[what, *(cell(r) for r in measured)] for what, measured, cell in rows])


def _parts(every: list[dict[str, Any]]) -> str:
    """Seconds of each part, over all modes."""
    lines = []
    for part, words in PARTS.items():
        sums = [sum(mode[part] for mode in r["seconds"].values()) for r in every]
        most = [max(r["seconds"], key=lambda mode: r["seconds"][mode][part]) for r in every]
        cells = [f"{_seconds(s)} (`{m}` {_seconds(r['seconds'][m][part])})" for s, m, r in zip(sums, most, every, strict=True)]
        lines.append([words, *cells])
    return table(["part, all modes (the most in one), compilation included", *(r["corpus"] for r in every)], lines)


def _windows(result: dict[str, Any]) -> str:
    every = result["all_modes"]
    lines = []
    for of in ("accepted", "shown"):
        found = [r["scpo"][of] for r in every]
        beyond = [None if f is None else f"{f['pairs']:,}, {f['beyond_realised']}, {f['beyond_prospective']}" for f in found]
        lines.append(
            [f"SCPO, {of} items: pairs of rounds, jumps beyond the realised and the prospective envelope", *map(_or, beyond)]
        )
    relaxed = [f"{r['scpo']['shown']['relaxed']:,} of {r['sessions'] * r['rounds']:,}" for r in every]
    lines.append(["SCPO: rounds with a relaxed window", *relaxed])
    for mode in ("adaptive", "als-selector", "greedy-target"):
        for of in ("accepted", "shown"):
            shares = [r["window_rate"][mode][of] for r in every]
            lines.append([f"`{mode}`: rounds with every {of} item in the window", *(_or(s, write=_percent) for s in shares)])
    return table(_heads(result), lines)


def _heads(result: dict[str, Any]) -> list[str]:
    return ["", *(r["corpus"] for r in result["all_modes"])]


def _or(value: Any, otherwise: str = "not measured", write: Callable[[Any], str] = str) -> str:
    return otherwise if value is None else write(value)


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10.0 else f"{value:,.0f} s"
