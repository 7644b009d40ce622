"""Every scorer on every corpus: held-out AUC and NDCG with intervals, over seeds; the two-tower's lead; the anchors' gaps.

    python -m benchmarks.scorers --data ../shared/data

Writes ``benchmarks/results/scorers.json`` after every scorer, so that a stopped run keeps what it has (``--add`` continues it), and
the tables of ``docs/learners.md`` at the end. The protocol is that of ``slateproof.learn.evaluate``. Learners that draw nothing are
fitted once; one that refuses a corpus is listed under ``left_out`` with its reason. Every corpus is measured with the difficulties
of its training users in place of its own, which count held-out answers too: no scorer can read what it is tested on.
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
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import learners_page
from benchmarks.marks import RESULTS
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
ELSEWHERE = {"private-two-tower": "draws its training users itself, and keeps them secret: measured by benchmarks.dp_training"}
RESULT = RESULTS / "scorers.json"
PAPER_GAPS = {"mean": 0.08462, "median": 0.05775}


def blind(corpus: Corpus) -> Corpus:
    """The corpus with item difficulties that count training users only."""
    return replace(corpus, items=replace(corpus.items, difficulty=training_difficulty(corpus)))


def measure(corpus: Corpus, names: list[str], seeds: list[int], fitted: dict[tuple[str, int], Any]) -> Iterator[dict[str, Any]]:
    """One row per learner and seed, the scorers put into ``fitted``; the blends are made of the fitted anchor and two-tower.

    A learner that refuses the corpus gives one row with the reason (``why``) and no measures.
    """
    for name in names:
        for seed in seeds[:1] if name in DRAW_NOTHING else seeds:
            start = time.perf_counter()
            try:
                scorer = learn.learner(name).fit(corpus, seed=seed)
            except InvalidInput as why:
                yield {"corpus": corpus.label, "scorer": name, "why": str(why)}
                break
            fitted[name, seed] = scorer
            yield row(scorer, corpus, seed, time.perf_counter() - start)
            anchor = fitted.get(("mf-bce", seed))
            if name == "two-tower" and anchor is not None:
                for raw in (False, True):
                    yield row(BlendScorer(anchor, scorer, 0.75, raw), corpus, seed, 0.0)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44])
    parser.add_argument("--add", action="store_true", help="keep the rows of --out that this run does not measure again")
    asked = parser.parse_args()
    result: dict[str, Any] = {"rows": [], "gaps": [], "leads": [], "left_out": [], "commands": []}
    if asked.add and asked.out.exists():
        result |= json.loads(asked.out.read_text())
    result["versions"] = package_versions("jax", "equinox", "optax", "implicit", "scipy", "numba")
    result["machine"] = machine()
    result["commands"] = [*result["commands"], " ".join(["python -m benchmarks.scorers", *sys.argv[1:]])]
    result["draw_nothing"] = list(DRAW_NOTHING)
    for name in asked.corpora:
        corpus = blind(corpora.load(name, asked.data))
        fitted: dict[tuple[str, int], Any] = {}
        elsewhere = ({"corpus": corpus.label, "scorer": other, "why": why} for other, why in ELSEWHERE.items())
        for one in chain(elsewhere, measure(corpus, asked.learners, asked.seeds, fitted)):
            put(result, one)
            save(asked.out, result)
        if "two-tower" in asked.learners:
            kept = [one for one in result["leads"] if one["corpus"] != corpus.label]
            result["leads"] = kept + list(leads(corpus, asked.seeds, fitted))
            save(asked.out, result)
        if name == "oulad":
            result["gaps"] = [gaps(corpus, anchor, seed) for anchor in ("mf-bce", "als") for seed in asked.seeds]
            save(asked.out, result)
    if asked.out == RESULT:
        learners_page.write()
    print(
        *(made(result) for made in (learners_page.scorers_table, learners_page.leads_table, learners_page.gaps_table)), sep="\n\n"
    )


def put(result: dict[str, Any], one: dict[str, Any]) -> None:
    """Put a row of ``measure`` in the place of the one that it repeats."""
    where, keys = ("left_out", ("corpus", "scorer")) if "why" in one else ("rows", ("corpus", "scorer", "seed"))
    result[where] = [old for old in result[where] if any(old[key] != one[key] for key in keys)] + [one]
    found = (
        one["why"] if "why" in one else f"seed {one['seed']}: AUC {one['auc']['value']:.4f}, fitted in {one['fit_seconds']:.0f} s"
    )
    print(f"{one['corpus']:30s} {one['scorer']:12s} {found}", flush=True)


def save(path: Path, result: dict[str, Any]) -> None:
    order = {name: place for place, name in enumerate((*LEARNERS, "blend", "blend-raw"))}
    result["rows"].sort(key=lambda r: (r["corpus"], order[r["scorer"]], r["seed"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
