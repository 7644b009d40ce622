"""One experiment's files: JSON, CSV, LaTeX, SVG and PNG, each written whole or not at all.

Scope: none.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slateproof.experiments.core import Result, Table
from slateproof.experiments.draw import to_png, to_svg
from slateproof.experiments.verdicts import Verdict

__all__ = ["csv_text", "latex", "plain", "shown", "write_atomic", "write_result"]


def write_result(out: Path, name: str, result: Result, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Write everything of one experiment below ``out``; returns the file names."""
    files: dict[str, str | bytes] = {
        f"{name}.json": json.dumps(plain({**result.to_dict(), "manifest": dict(manifest)}), indent=1, ensure_ascii=False) + "\n",
        f"{name}.csv": csv_text(result.rows),
    }
    tables = [latex(one) for one in result.tables]
    if result.verdicts:
        files[f"{name}-published.csv"] = csv_text([one.to_dict() for one in result.verdicts])
        tables.append(verdict_latex(name, result.verdicts))
    files[f"{name}.tex"] = "\n".join(tables)
    for figure in result.figures:
        files[f"{figure.name}.svg"] = to_svg(figure)
        files[f"{figure.name}.png"] = to_png(figure)
    for file, content in files.items():
        write_atomic(out / file, content)
    return tuple(files)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Into a new file beside the old one, then renamed: readers see the old content or the new, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def plain(value: Any) -> Any:
    """NumPy scalars as Python's, tuples as lists, numbers that are not finite as None: what JSON can say."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """All keys that occur, in the order of first sight; floats in full precision."""
    listed = list(rows)
    heads = list(dict.fromkeys(key for row in listed for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, heads, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain(row) for row in listed)
    return out.getvalue()


def shown(value: Any) -> str:
    """A cell for people: four significant digits, thousands set off, a dash where there is nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(one) for one in value) + "]"
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and 100.0 <= abs(value) < 1e12:
        return f"{value:,.0f}".replace("-", "−")
    if value == 0.0 or value == math.inf:
        return "0" if value == 0.0 else "∞"
    if 1e-4 <= abs(value) < 1e5:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        return f"{value:.{min(digits, 6)}f}".replace("-", "−")
    return f"{value:.2e}".replace("-", "−")


_TEX = {
    **{c: "\\" + c for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
    "σ": r"$\sigma$",
    "γ": r"$\gamma$",
    "Γ": r"$\Gamma$",
    "τ": r"$\tau$",
    "τ̂": r"$\hat\tau$",
    "ρ": r"$\rho$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "Δ": r"$\Delta$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "²": r"$^2$",
    "Φ": r"$\Phi$",
    "λ": r"$\lambda$",
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in text)


def latex(table: Table) -> str:
    """A booktabs table with caption and label."""
    heads = [table.heads.get(c, c) for c in table.columns]
    numeric = [all(isinstance(row.get(c), (int, float, type(None))) for row in table.rows) for c in table.columns]
    lines = [[shown(row.get(c)) for c in table.columns] for row in table.rows]
    return _tabular(table.name, table.caption, heads, lines, "".join("r" if one else "l" for one in numeric))


def verdict_latex(name: str, verdicts: Sequence[Verdict]) -> str:
    """Published and ours, side by side."""
    lines = [[v.what, shown(v.published), shown(v.ours), shown(v.difference), v.verdict] for v in verdicts]
    heads = ["", "published", "ours", "difference", "verdict"]
    return _tabular(f"{name}-published", "Published and reproduced", heads, lines, "lrrrl")


def _tabular(name: str, caption: str, heads: Sequence[str], lines: Sequence[Sequence[str]], spec: str) -> str:
    body = [" & ".join(_tex(cell) for cell in line) + r" \\" for line in lines]
    parts = [
        r"\begin{table}",
        r"\centering\scriptsize",
        rf"\caption{{{_tex(caption)}}}",
        rf"\label{{tab:{name}}}",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        " & ".join(_tex(head) for head in heads) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"
