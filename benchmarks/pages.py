"""The measured tables of docs/batches.md and docs/scpo.md: ``python -m benchmarks.pages``, part of ``make bench``.

They come from the committed results. Tables stand between marks (``<!-- name -->``, ``<!-- /name -->``); the tests check that pages
and results agree.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

from typing import Any

from benchmarks import marks
from benchmarks.marks import DOCS, read, table


def goals_table(result: dict[str, Any]) -> str:
    """How many times faster than pyversity's MMR, with what was asked for, and what a trace costs."""
    rows = []
    for row in result["headline"]:
        cells = [f"{row['n']:,}", str(row["d"]), str(row["k"]), f"{row['pyversity_us']:.1f}"]
        cells += [
            f"{row[f'{name}_us']:.1f} ({row[f'{name}_ratio']:.1f}x of {goal}x)"
            for name, goal in ((name, row["goals"][name]) for name in ("one", "one_with_catalog", "batch"))
        ]
        rows.append([*cells, f"{row['trace_cost']:.2f}"])
    heads = ("n", "d", "K", "pyversity, µs", "one slate", "with `catalog.pool`", "batch, per slate", "full trace, times")
    return f"{machine_line(result)}\n\n{table(heads, rows)}"


def profile_table(result: dict[str, Any]) -> str:
    """Shares of one slate of a batch on one core, part by part."""
    rows = []
    for row in result.get("profile_us", []):
        whole = row["with_trace"]
        first, steps, similar = (
            row[name] for name in ("shaping_and_first_item", "all_steps_without_similarities", "with_similarities")
        )
        parts = (first, steps - first, similar - steps, row["the_dot_products_alone"], whole - similar)
        again = 1 - row["with_similarities_on_runs_of_equal_pools"] / similar
        cells = [f"{row['n']:,}", f"{row['k']}", f"{whole:.2f}", *(f"{part / whole:.0%}" for part in parts)]
        rows.append([*cells, f"{row['similarities']:.0f} of {row['n'] * row['k']:,}", f"{again:.0%}"])
    heads = (
        "n", "K", "µs", "shaping, first item", "other items, no similarities", "similarities", "(their dot products)",
        "full trace", "similarities computed", "saved on equal pools",
    )  # fmt: skip
    return table(heads, rows)


def python_table(result: dict[str, Any]) -> str:
    """What of a single `select` is not the compiled kernel."""
    rows = [
        [f"{r['n']:,}", f"{r['select_us']:.1f}", f"{r['kernel_us']:.1f}", f"{r['python_share']:.0%}"]
        for r in result["python_share"]
    ]
    return table(("n", "`select`, µs", "kernel, µs", "share of Python"), rows)


def memory_line(result: dict[str, Any]) -> str:
    """Peak memory of a large batch over its input's bytes."""
    memory = result["memory"]
    times = f"{memory['ratio']:.2f} times the bytes of its table, the table included"
    return f"A batch of {memory['pools']:,} pools of 100 candidates needs {times}."


def scpo_table(result: dict[str, Any]) -> str:
    """One line per case."""
    rows = [
        [
            row["name"].replace("|", "\\|").removeprefix("goal: "), _ms(row["median_ms"]), _ms(row["p95_ms"]),
            f"{row['median_nodes']:,.0f}", f"{row['max_nodes']:,}", str(row["stopped"]), str(row["pools"]),
        ]
        for row in result["rows"]
    ]  # fmt: skip
    heads = ("case", "ms median", "ms p95", "nodes median", "nodes max", "stopped", "pools")
    return f"{machine_line(result)}\n\n{table(heads, rows)}"


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3f}"


def machine_line(result: dict[str, Any]) -> str:
    """What it was measured on, and how busy that was."""
    found = result["machine"]
    versions = found["versions"]
    return (
        f"Measured by `{result['command']}` on {found['cores']} cores ({found['machine']}), "
        f"load {found['load_before'][0]:g} before the run, Python {found['python']}, "
        f"NumPy {versions['numpy']}, Numba {versions['numba']}."
    )


PAGES = {
    "batches.md": (
        "select",
        {"memory": memory_line, "goals": goals_table, "profile": profile_table, "python": python_table},
    ),
    "scpo.md": ("scpo", {"measured": scpo_table}),
}


def filled(name: str, text: str) -> str:
    """The page's text with every table as the committed results have it."""
    source, tables = PAGES[name]
    result = read(source)
    return marks.filled(name, text, {mark: make(result) for mark, make in tables.items()})


def main() -> None:
    for name in PAGES:
        page = DOCS / name
        page.write_text(filled(name, page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
