"""Every scorer on every corpus: held-out AUC and NDCG with intervals, over seeds; the two-tower's lead; the anchors' gaps.

    python -m benchmarks.scorers --data ../shared/data

Writes ``benchmarks/results/scorers.json`` after every scorer, so that a stopped run keeps what it has (``--add`` continues it), and
its tables into ``docs/learners.md`` at the end; ``--page`` does only that. The protocol is that of ``slateproof.learn.evaluate``.
Learners that draw nothing are fitted once. Every corpus is measured with the difficulties of its training users in place of its
own, which count held-out answers too: no scorer can read what it is tested on.
A *lead* is the difference of two pooled AUCs on the same rows; its interval resamples users, the same for both scorers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import machine
from slateproof import corpora, learn
from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.blend import BlendScorer, standardised
from slateproof.learn.evaluate import held_out_scores
from slateproof.learn.features import training_difficulty
from slateproof.learn.metrics import auc_statistic, bootstrap
from slateproof.learn.modelfile import package_versions

CORPORA = ("oulad", "assistments-2009", "ml-25m", "amazon-musical-instruments-5")
LEARNERS = ("popularity", "mf-bce", "als", "linucb", "bkt", "bkt-em", "dkt", "sakt", "two-tower")
DRAW_NOTHING = ("popularity", "linucb", "bkt", "bkt-em")
RESULT = Path(__file__).parent / "results" / "scorers.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "learners.md"
PAPER_GAPS = {"mean": 0.08462, "median": 0.05775}


def blind(corpus: Corpus) -> Corpus:
    """The corpus with item difficulties that count training users only."""
    return replace(corpus, items=replace(corpus.items, difficulty=training_difficulty(corpus)))


def measure(corpus: Corpus, names: list[str], seeds: list[int], fitted: dict[tuple[str, int], Any]) -> Iterator[dict[str, Any]]:
    """One row per learner and seed, the scorers put into ``fitted``; the blend is made of the fitted anchor and two-tower."""
    for name in names:
        for seed in seeds[:1] if name in DRAW_NOTHING else seeds:
            start = time.perf_counter()
            try:
                scorer = learn.learner(name).fit(corpus, seed=seed)
            except InvalidInput as why:
                print(f"{corpus.label}: {name} left out: {why}")
                break
            fitted[name, seed] = scorer
            yield row(scorer, corpus, seed, time.perf_counter() - start)
            parts = [fitted.get((part, seed)) for part in ("mf-bce", "two-tower")]
            if name == "two-tower" and parts[0] is not None:
                yield row(BlendScorer(parts[0], parts[1], 0.75), corpus, seed, 0.0)


def row(scorer: Any, corpus: Corpus, seed: int, seconds: float) -> dict[str, Any]:
    start = time.perf_counter()
    result = learn.evaluate(scorer, corpus).to_dict()
    return {**result, "digest": corpus.digest, "seed": seed, "fit_seconds": seconds, "score_seconds": time.perf_counter() - start}


def leads(corpus: Corpus, seeds: list[int], fitted: dict[tuple[str, int], Any]) -> Iterator[dict[str, Any]]:
    """The two-tower's pooled AUC minus that of popularity, and of MF-BCE, with a paired interval."""
    for seed in seeds:
        ours = held_out_scores(fitted["two-tower", seed], corpus)
        mine = auc_statistic(ours.positive, ours.scores)
        for name in ("popularity", "mf-bce"):
            other = held_out_scores(learn.learner(name).fit(corpus, seed=seed), corpus)
            theirs = auc_statistic(other.positive, other.scores)
            found = bootstrap(ours.user, partial(_difference, mine, theirs), np.random.default_rng(42))
            yield {"corpus": corpus.label, "over": name, "seed": seed, "digest": corpus.digest, **found.to_dict()}


def _difference(mine: Any, theirs: Any, weights: Any) -> float:
    return float(mine(weights) - theirs(weights))


def gaps(corpus: Corpus, name: str, seed: int, draws: int = 100) -> dict[str, Any]:
    """Top-10 gaps of z-scored pools of 100 for 16 training users in 20 shared pools (the paper's 320 records), ``draws`` times."""
    scorer = learn.learner(name).fit(corpus, seed=seed)
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(corpus.split().part == 0)
    found = []
    for _ in range(draws):
        user = np.tile(rng.choice(known, 16, replace=False), 20)
        items = np.repeat(np.argsort(rng.random((20, len(corpus.items))), axis=1)[:, :100], 16, axis=0)
        half = np.full(user.size, 0.5)
        context = learn.Context(user.astype(np.int64), half, half, half)
        z = -np.sort(-standardised(scorer.score(scorer.begin(context, seed), context, items).scores)[0], axis=1)
        found.append(z[:, 9] - z[:, 10])
    per_draw = {"mean": np.mean(found, axis=1), "median": np.median(found, axis=1)}
    return {"learner": name, "corpus": corpus.label, "seed": seed, "draws": draws} | {
        what: {
            "average": float(v.mean()),
            "low": float(np.quantile(v, 0.025)),
            "high": float(np.quantile(v, 0.975)),
            "paper": PAPER_GAPS[what],
        }
        for what, v in per_draw.items()
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line per corpus and scorer: the first seed's value and interval, and the range of the AUC over seeds."""
    head = "| corpus | scorer | AUC, pooled | AUC over seeds | AUC, per user | NDCG@10 | log loss |"
    lines = [head, "|" + "---|" * 7]
    for corpus, scorer in dict.fromkeys((r["corpus"], r["scorer"]) for r in rows):
        mine = [r for r in rows if (r["corpus"], r["scorer"]) == (corpus, scorer)]
        cells = ["-" if v is None else f"{v['value']:.3f} [{v['low']:.3f}, {v['high']:.3f}]" for v in map(mine[0].get, MEASURES)]
        every = [r["auc"]["value"] for r in mine]
        spread = "draws nothing" if scorer in DRAW_NOTHING else f"{min(every):.3f} to {max(every):.3f} ({len(every)})"
        cells.insert(1, spread)
        lines.append(f"| {corpus} | {scorer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def leads_table(result: dict[str, Any]) -> str:
    """One line per corpus and seed."""
    lines = ["| corpus | seed | two-tower over popularity | two-tower over mf-bce |", "|" + "---|" * 4]
    found = {(one["corpus"], one["seed"], one["over"]): one for one in result.get("leads", [])}
    for corpus, seed in dict.fromkeys((corpus, seed) for corpus, seed, _ in found):
        cells = [found[corpus, seed, over] for over in ("popularity", "mf-bce")]
        shown = " | ".join(f"{v['value']:+.3f} [{v['low']:+.3f}, {v['high']:+.3f}]" for v in cells)
        lines.append(f"| {corpus} | {seed} | {shown} |")
    return "\n".join(lines)


def gaps_table(result: dict[str, Any]) -> str:
    """One line per anchor and seed."""
    lines = ["| anchor | seed | mean gap | published | median gap | published |", "|" + "---|" * 6]
    for one in result["gaps"]:
        cells = [f"{v['average']:.4f} [{v['low']:.4f}, {v['high']:.4f}] | {v['paper']:.4f}" for v in (one["mean"], one["median"])]
        lines.append(f"| {one['learner']} | {one['seed']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(result: dict[str, Any], page: Path = PAGE) -> None:
    """Put the tables between the marks of the page."""
    text = page.read_text(encoding="utf-8")
    for name, made in (("scorers", table(result["rows"])), ("leads", leads_table(result)), ("gaps", gaps_table(result))):
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, rest = text.split(start)
        text = head + start + made + "\n" + rest[rest.index(end) :]
    page.write_text(text, encoding="utf-8")


MEASURES = ("auc", "auc_user", "ndcg", "log_loss")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", action="store_true", help="only write the tables of --out into the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44])
    parser.add_argument("--add", action="store_true", help="keep the rows of --out that this run does not measure again")
    asked = parser.parse_args()
    if asked.page:
        write_page(json.loads(asked.out.read_text()))
        return
    if asked.data is None:
        parser.error("--data names the folder of the corpora")
    result: dict[str, Any] = {"rows": [], "gaps": []}
    if asked.add and asked.out.exists():
        result = json.loads(asked.out.read_text())
    result["versions"] = package_versions("jax", "equinox", "optax", "implicit", "scipy", "numba")
    result["machine"], result["command"] = machine(), " ".join(["python", "-m", "benchmarks.scorers", *sys.argv[1:]])
    for name in asked.corpora:
        corpus = blind(corpora.load(name, asked.data))
        fitted: dict[tuple[str, int], Any] = {}
        for one in measure(corpus, asked.learners, asked.seeds, fitted):
            same = [r for r in result["rows"] if all(r[k] == one[k] for k in ("corpus", "scorer", "seed"))]
            result["rows"] = [r for r in result["rows"] if r not in same] + [one]
            print(f"{one['corpus']:30s} {one['scorer']:12s} seed {one['seed']}: AUC {one['auc']['value']:.4f}", flush=True)
            save(asked.out, result)
        if "two-tower" in asked.learners:
            kept = [one for one in result.get("leads", []) if one["corpus"] != corpus.label]
            result["leads"] = kept + list(leads(corpus, asked.seeds, fitted))
            save(asked.out, result)
        if name == "oulad":
            result["gaps"] = [gaps(corpus, anchor, seed) for anchor in ("mf-bce", "als") for seed in asked.seeds]
            save(asked.out, result)
    if asked.out == RESULT:
        write_page(result)
    print(table(result["rows"]), leads_table(result), gaps_table(result), sep="\n\n")


def save(path: Path, result: dict[str, Any]) -> None:
    order = {name: place for place, name in enumerate((*LEARNERS, "blend"))}
    result["rows"].sort(key=lambda r: (r["corpus"], order.get(r["scorer"], 99), r["seed"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
