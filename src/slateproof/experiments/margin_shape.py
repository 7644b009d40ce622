"""How the margin Γ spreads over pools, in units of its median: what the published shares say, an exponential, ours.

Γ is the smallest of the gaps along a slate. Over independently drawn candidates small gaps are as likely as their size: the share
of pools with Γ > x medians is near 2^-x. The published shares of certified trials say what it is in the paper, because M hardly
varies: certified at σ means Γ > 2M, and M is the published median of M/Γ times the median of Γ.

Scope: stability only.
"""

from __future__ import annotations

import numpy as np

from slateproof.corpora import Corpus
from slateproof.experiments.anchors import AnchorPools
from slateproof.experiments.core import Row, Table
from slateproof.experiments.published.margin_gate import PERTURBED
from slateproof.learn import Context, learner
from slateproof.learn.blend import standardised
from slateproof.types.columns import Floats

__all__ = ["SETS", "cause_of", "one_candidate_set", "shape_rows", "shape_table"]

SETS = 8
"""Candidate sets that are tried, each for all users."""
LOW, HIGH = 1e-4, 5e-4
"""The noise scales between which a sentence counts margins."""


def one_candidate_set(corpus: Corpus, pools: AnchorPools, seed: int) -> list[AnchorPools]:
    """Pools of the same users where all share their candidates; ``SETS`` times, with other candidates each time."""
    scorer = learner("mf-bce").fit(corpus, seed=seed)
    half = np.full(pools.users.size, 0.5)
    context = Context(pools.users, half, half.copy(), half.copy())
    rng = np.random.default_rng([seed, 8])
    made = []
    for _ in range(SETS):
        drawn = np.sort(rng.choice(len(corpus.items), pools.items.shape[1], replace=False)).astype(np.int64)
        items = np.tile(drawn, (pools.users.size, 1))
        raw = scorer.score(scorer.begin(context, seed), context, items).scores
        made.append(AnchorPools(standardised(raw)[0], raw, pools.users, items))
    return made


def shape_rows(label: str, paper: str, margins: Floats, shared: list[Floats]) -> list[Row]:
    """Per published noise scale: the share of pools with Γ beyond x medians. ``shared``: margins of each single candidate set."""
    mine = margins / np.median(margins)
    single = np.concatenate([one / np.median(one) for one in shared])
    rows = []
    for sigma, certified, *_, ratio in PERTURBED[paper]:
        x = 2.0 * ratio
        row: Row = {"corpus": label, "paper_corpus": paper, "sigma": sigma, "medians": x, "published": certified}
        rows.append(row | {"independent": 2.0**-x, "ours": float((mine > x).mean()), "one_set": float((single > x).mean())})
    return rows


def cause_of(rows: list[Row], paper: str) -> str:
    """Why shares of trials are what they are: the spread of Γ in the paper, of independent pools, and in ours."""
    mine = {row["sigma"]: row for row in rows if row["paper_corpus"] == paper}
    low, high = mine.get(LOW), mine.get(HIGH)
    if low is None or high is None:
        return "At a given σ these shares are set by the spread of Γ over pools."
    inside = {name: low[name] - high[name] for name in ("published", "independent", "ours", "one_set")}
    narrow = inside["published"] > inside["independent"] + 0.1
    return (
        f"At a given σ these shares are set by the spread of Γ over pools. Between {low['medians']:.2f} and {high['medians']:.1f} "
        f"medians lie {inside['published']:.0%} of the published margins and {inside['ours']:.0%} of ours; pools drawn "
        f"independently would have {inside['independent']:.0%} there"
        + (f", pools with one candidate set {inside['one_set']:.0%}: the published ones are more alike." if narrow else ".")
    )


def shape_table(rows: list[Row]) -> Table:
    """All of it."""
    heads = {"medians": "x", "independent": "independent pools, 2^-x", "one_set": "one candidate set", "sigma": "σ"}
    columns = ("corpus", "sigma", "medians", "published", "independent", "ours", "one_set")
    return Table("margin-gate-spread", "Share of pools with Γ beyond x medians.", columns, tuple(rows), heads)
