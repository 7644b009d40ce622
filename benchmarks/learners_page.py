"""The measured tables of docs/learners.md, from the committed results: ``python -m benchmarks.learners_page``.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.marks import DOCS, put, read, table
from benchmarks.online_updates import online_table

PAGE = DOCS / "learners.md"
MEASURES = ("auc", "auc_user", "ndcg", "log_loss")


def scorers_table(result: dict[str, Any]) -> str:
    """One line per corpus and scorer: the first seed's value and interval, and the range of the AUC over seeds."""
    rows, lines = result["rows"], []
    for corpus, scorer in dict.fromkeys((row["corpus"], row["scorer"]) for row in rows):
        mine = [row for row in rows if (row["corpus"], row["scorer"]) == (corpus, scorer)]
        cells = ["-" if v is None else f"{v['value']:.3f} [{v['low']:.3f}, {v['high']:.3f}]" for v in map(mine[0].get, MEASURES)]
        every = [row["auc"]["value"] for row in mine]
        spread = "draws nothing" if scorer in result["draw_nothing"] else f"{min(every):.3f} to {max(every):.3f} ({len(every)})"
        lines.append([corpus, scorer, cells[0], spread, *cells[1:]])
    return table(("corpus", "scorer", "AUC, pooled", "AUC over seeds", "AUC, per user", "NDCG@10", "log loss"), lines)


def leads_table(result: dict[str, Any]) -> str:
    """One line per corpus and seed."""
    found = {(one["corpus"], one["seed"], one["over"]): one for one in result["leads"]}
    lines = []
    for corpus, seed in sorted({(corpus, seed) for corpus, seed, _ in found}):
        cells = [found[corpus, seed, over] for over in ("popularity", "mf-bce")]
        lines.append([corpus, str(seed), *(f"{v['value']:+.3f} [{v['low']:+.3f}, {v['high']:+.3f}]" for v in cells)])
    return table(("corpus", "seed", "two-tower over popularity", "two-tower over mf-bce"), lines)


def gaps_table(result: dict[str, Any]) -> str:
    """One line per anchor and seed."""
    lines = []
    for one in result["gaps"]:
        cells = [
            (f"{v['average']:.4f} [{v['low']:.4f}, {v['high']:.4f}]", f"{v['paper']:.4f}") for v in (one["mean"], one["median"])
        ]
        lines.append([one["learner"], str(one["seed"]), *cells[0], *cells[1]])
    return table(("anchor", "seed", "mean gap", "published", "median gap", "published"), lines)


def peers_table(result: dict[str, Any]) -> str:
    """One line per model and seed: test AUCs of both sides on the same answers."""
    lines = []
    rows = sorted(result["sequences"], key=lambda row: (row["model"], row["seed"]))
    for row in [*rows, result["bkt"]]:
        ours, theirs = row["slateproof"], row["peer"]["auc"]
        full = f"{row['item_terms']:.4f}" if "item_terms" in row else ""
        peer = "pyBKT" if row["model"] == "bkt-em" else "pykt-toolkit"
        lines.append(
            [
                row["model"],
                str(row["seed"]),
                f"{ours:.4f}",
                f"{peer} {row['peer'][peer]}: {theirs:.4f}",
                f"{ours - theirs:+.4f}",
                full,
            ]
        )
    return table(("model", "seed", "slateproof", "peer", "difference", "slateproof, with item terms"), lines)


def write(page: Path = PAGE) -> None:
    """Put every table between its marks."""
    found = read("scorers")
    made = {"scorers": scorers_table(found), "leads": leads_table(found), "gaps": gaps_table(found)}
    put(page, made | {"peers": peers_table(read("learner_peers")), "online": online_table(read("online_updates"))})


if __name__ == "__main__":
    write()
