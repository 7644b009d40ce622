"""`flip-size`: how does the probability that noise changes a slate grow with the slate and with the pool?

Exact probabilities, no draws of noise: raw top-K by quadrature, greedy slates by the integral over the chosen items' noise. Scores
are those of MF-BCE and of ALS, standardised within the pool, so that σ means the same everywhere.

Scope: stability only; prospective, under independent Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from slateproof.certify import certify, topk
from slateproof.corpora import Corpus
from slateproof.experiments.anchors import ANCHORS, SHOWN, AnchorPools, anchor_of, anchor_pools
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.inhand import STANDS_FOR, in_hand
from slateproof.experiments.stats import between
from slateproof.learn.catalog import catalog_of
from slateproof.select import GreedySelector, LeverMap
from slateproof.types import Catalog, PoolBatch, State
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "FlipSize", "run"]

PAPERS = ("oulad", "ml-25m")
PRESET = "oulad"


@dataclass(frozen=True, slots=True)
class FlipSize:
    """Slate ``sizes`` in pools of ``pool``, then slates of ``size`` in pools of other sizes (what the catalogue allows)."""

    sizes: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 20)
    pool: int = 100
    size: int = 5
    candidates: tuple[int, ...] = (20, 50, 100, 180, 500, 1_000, 2_000)
    sigma: float = 0.05
    weights: tuple[float, ...] = (0.0, 0.75)
    pools: int = 48
    points: int = 1_024
    largest_greedy: int = 8


def run(task: Task) -> Result:
    """Raw and greedy, two anchors, on both corpora."""
    config: FlipSize = task.config
    found, skipped = in_hand(task.corpora, PAPERS)
    rows: list[Row] = []
    digests: dict[str, str] = {}
    for place, name in enumerate(found.values()):
        corpus = task.corpora.get(name)
        digests[corpus.label] = corpus.digest
        for step, anchor in enumerate(ANCHORS):
            task.progress(place * len(ANCHORS) + step, len(found) * len(ANCHORS), f"{name}, {anchor}")
            for along, n, k in _cells(config, len(corpus.items)):
                # Pools of one size are the same pools for every slate size.
                key = ("flip-size", name, anchor, n, config.pools)
                pools = task.corpora.once(key, partial(anchor_pools, corpus, anchor_of(anchor), config.pools, n, task.seed))
                for weight in config.weights:
                    rows.append(
                        {
                            "corpus": corpus.label,
                            "anchor": anchor,
                            "along": along,
                            "candidates": n,
                            "size": k,
                            "sigma": config.sigma,
                        }
                        | {"anchor_weight": weight, **_cell(corpus, pools, k, weight, config)}
                    )
    return Result(_summary(rows), tuple(rows), (), _notes(rows, config), _tables(rows), _figures(rows), skipped, digests)


def _cells(config: FlipSize, items: int) -> Iterator[tuple[str, int, int]]:
    """(what varies, pool size, slate size)."""
    yield from (("size", min(config.pool, items), k) for k in config.sizes)
    yield from (("candidates", n, config.size) for n in config.candidates if n <= items)


def _cell(corpus: Corpus, pools: AnchorPools, k: int, weight: float, config: FlipSize) -> Row:
    gaps = np.asarray(topk.gap(pools.scores, k), np.float64)
    raw = np.asarray(topk.flip_probability(pools.scores, k, config.sigma, weight), np.float64)
    # The corollary asks for a positive gap; a tie at the border promises nothing.
    bound, apart = np.ones(gaps.size), gaps > 0.0
    bound[apart] = np.minimum(1.0, topk.flip_bound(gaps[apart], k, pools.scores.shape[1], sigma=config.sigma, anchor_weight=weight))
    row: Row = {
        "pools": len(gaps),
        "bound": float(bound.mean()),
        "gap_median": float(np.median(gaps)),
        "raw": float(raw.mean()),
        "error_raw": between(raw),
    }
    if k > config.largest_greedy or k < 2:
        return row | {"greedy": None, "error_greedy": None}
    greedy = _greedy(catalog_of(corpus), corpus.items.ids, pools, k, weight, config)
    return row | {"greedy": float(greedy.mean()), "error_greedy": between(greedy)}


def _greedy(catalog: Catalog, ids: Any, pools: AnchorPools, k: int, weight: float, config: FlipSize) -> Floats:
    """Flip probability of every pool's greedy slate under the preset, with slates of ``k``."""
    state = State()
    levers = replace(LeverMap.preset(PRESET)(state), size=k)
    listed = [catalog.pool(ids[row].tolist(), one) for row, one in zip(pools.items, pools.scores, strict=True)]
    slates = GreedySelector.preset(PRESET).select_batch(PoolBatch.of(listed), levers, state)
    return np.array(
        [float(certify(one).flip_probability(config.sigma, anchor_weight=weight, points=config.points)) for one in slates]
    )


def _summary(rows: list[Row]) -> dict[str, Any]:
    """Ends of both curves, without an anchor and with."""
    out: dict[str, Any] = {}
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        for anchor in ANCHORS:
            for along in ("size", "candidates"):
                mine = [r for r in rows if (r["corpus"], r["anchor"], r["along"]) == (corpus, anchor, along)]
                for weight in dict.fromkeys(row["anchor_weight"] for row in mine):
                    flips = [row["raw"] for row in mine if row["anchor_weight"] == weight]
                    tag = f"{corpus}_{anchor}_{along}_w{round(100 * weight):03d}"
                    out |= {f"first_{tag}": flips[0], f"last_{tag}": flips[-1]}
    return out


def _notes(rows: list[Row], config: FlipSize) -> tuple[str, ...]:
    notes = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        for anchor in ANCHORS:
            mine = [r for r in rows if (r["corpus"], r["anchor"], r["anchor_weight"]) == (corpus, anchor, 0.0)]
            size, pool = ([row for row in mine if row["along"] == along] for along in ("size", "candidates"))
            by_size = " to ".join(f"{one['raw']:.2f} at K={one['size']}" for one in (size[0], size[-1]))
            by_pool = " to ".join(f"{one['raw']:.2f} among {one['candidates']:,}" for one in (pool[0], pool[-1]))
            notes.append(
                f"{corpus}, {SHOWN[anchor]}, σ={config.sigma:g}, w=0: the top-K changes with probability {by_size} "
                f"({size[0]['candidates']} candidates), and {by_pool} candidates (K={config.size})."
            )
    loose = [row for row in rows if row["bound"] > 0.95]
    slates = [row for row in rows if row["greedy"] is not None]
    if rows:
        notes.append(
            "A larger slate is always less stable here; a larger pool is not: where the best items stand far out (ALS on ratings), "
            "the gap grows faster than the number of rivals. The factor K(|C|-K) of the bound says otherwise, and in "
            f"{len(loose)} of {len(rows)} cells the bound is above .95."
            if _rises(rows)
            else f"In {len(loose)} of {len(rows)} cells the bound is above .95."
        )
    if slates:
        above = sum(row["greedy"] > row["raw"] for row in slates)
        notes.append(
            f"The ordered greedy slate changes more often than the raw top-K set in {above} of {len(slates)} cells: its order "
            "counts, too, and every step has its own runner-up."
        )
    return tuple(notes)


def _rises(rows: list[Row]) -> bool:
    """Whether the largest slate flips more often than the smallest everywhere, and the largest pool less often somewhere."""
    pairs: dict[str, list[tuple[float, float]]] = {"size": [], "candidates": []}
    for along, found in pairs.items():
        series = dict.fromkeys((r["corpus"], r["anchor"], r["anchor_weight"]) for r in rows)
        for key in series:
            y = [r["raw"] for r in rows if (r["corpus"], r["anchor"], r["anchor_weight"]) == key and r["along"] == along]
            found.append((y[0], y[-1]))
    return all(a < b for a, b in pairs["size"]) and any(a > b for a, b in pairs["candidates"])


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    columns = ("corpus", "anchor", "candidates", "size", "anchor_weight", "gap_median", "bound", "raw", "error_raw", "greedy")
    heads = {"size": "K", "anchor_weight": "w", "gap_median": "median gap", "raw": "top-K set", "greedy": "greedy slate"}
    heads |= {"error_raw": "± (pools)", "error_greedy": "± (pools) ", "bound": "the paper's bound"}
    caption = "Probability that the raw top-K set, and the ordered greedy slate, change; means over pools; bounds as min(1, bound)."
    return (Table("flip-size", caption, (*columns, "error_greedy"), tuple(rows), heads),) if rows else ()


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        for along, x in (("size", "slate size K"), ("candidates", "candidates")):
            mine = [row for row in rows if row["corpus"] == corpus and row["along"] == along]
            panels.append(Panel(corpus, x, "probability of a change", tuple(_lines(mine, along)), "log", y_limits=(0.0, 1.03)))
    if not panels:
        return ()
    text = "Per corpus, the probability of a change against slate size, and against pool size, by anchor and anchor weight."
    return (Figure("flip-size", "Flip probability of the raw top-K against slate size and pool size", text, tuple(panels)),)


def _lines(rows: list[Row], along: str) -> Iterator[Series]:
    for slot, (anchor, weight) in enumerate(dict.fromkeys((row["anchor"], row["anchor_weight"]) for row in rows)):
        mine = [row for row in rows if (row["anchor"], row["anchor_weight"]) == (anchor, weight)]
        x, y = tuple(row[along] for row in mine), tuple(row["raw"] for row in mine)
        low, high = (tuple(row["raw"] + side * row["error_raw"] for row in mine) for side in (-2.0, 2.0))
        yield Series(f"{SHOWN[anchor]}, w = {weight:g}", x, y, "line", slot, low, high)


EXPERIMENT = Experiment(
    name="flip-size",
    title="Flip probability against slate size and pool size",
    question="How does the probability that score noise changes a slate grow with the slate and with the pool?",
    labels=(),
    full=FlipSize(),
    quick=FlipSize(sizes=(1, 5, 20), candidates=(20, 100, 500), pools=12, points=256),
    run=run,
    corpora=tuple(name for paper in PAPERS for name in STANDS_FOR[paper]),
)
