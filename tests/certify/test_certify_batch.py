"""A batch's columns against one certificate at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from certify_builders import random_pool

from slateproof.certify import certify, certify_batch
from slateproof.select import GreedySelector, TopKSelector, WindowSelector
from slateproof.types import Levers, Pool, PoolBatch, State


@pytest.mark.parametrize("kind", ["vectors", "matrix", "tags", "none"])
@pytest.mark.parametrize("selector", [GreedySelector(), GreedySelector(dissimilarity="mean"), TopKSelector(), WindowSelector()])
def test_columns_equal_certificates(kind, selector):
    rng = np.random.default_rng(0)
    pools = [random_pool(rng, int(rng.integers(5, 20)), kind) for _ in range(25)]
    levers = [Levers(0.1, 0.4, float(rng.choice([0.0, 0.3, 0.6])), int(rng.integers(1, 5))) for _ in pools]
    batch = selector.select_batch(PoolBatch.of(pools), levers, State())
    margins, radii = certify_batch(batch)
    for b, slate in enumerate(batch):
        cert = certify(slate)
        assert margins[b] == pytest.approx(cert.margin, abs=1e-13)
        assert radii[b] == pytest.approx(cert.radius, abs=1e-12)
        assert 0.0 <= margins[b] <= slate.margin


def test_tiny_windows_take_the_careful_way():
    pools = [random_pool(np.random.default_rng(s), 8) for s in range(3)]
    batch = GreedySelector(window=1e-140).select_batch(PoolBatch.of(pools), Levers(diversity=0.3, size=2), State())
    assert certify_batch(batch)[0].tolist() == [0.0, 0.0, 0.0]


def loud(pool, factor=1e6):
    """The same pool with similarities a million times as large."""
    return Pool(
        ids=pool.ids, scores=pool.scores, targets=pool.targets, widths=pool.widths, similarity=pool.similarity.matrix * factor
    )


@pytest.mark.parametrize("selector", [GreedySelector(), GreedySelector(dissimilarity="mean"), WindowSelector()])
@pytest.mark.parametrize("arrow", [False, True])
def test_neighbours_do_not_change_certified_numbers(selector, arrow):
    """Alone, beside pools with huge similarities, and beside longer slates: the same margin and radius, bit for bit."""
    rng = np.random.default_rng(1)
    pools = [random_pool(rng, 12, "matrix") for _ in range(6)]
    levers = [Levers(0.1, 0.4, 0.3, 2 + b % 3) for b in range(6)]
    crowd = [*pools, loud(pools[0]), loud(pools[1], -1e6)]
    wide = [*levers, Levers(0.1, 0.4, 0.3, 9), Levers(0.1, 0.4, 0.3, 1)]

    def columns(some, settings):
        batch = PoolBatch.from_arrow(as_table(some)) if arrow else PoolBatch.of(some)
        return certify_batch(selector.select_batch(batch, settings, State()))

    together = columns(crowd, wide)
    for b, (pool, setting) in enumerate(zip(crowd, wide, strict=True)):
        margin, radius = columns([pool], [setting])
        assert (together[0][b], together[1][b]) == (margin[0], radius[0])
    assert together[0][:6].max() > 0.0


def as_table(pools):
    """Pools in the documented Arrow schema."""
    columns = {name: [getattr(pool, name).tolist() for pool in pools] for name in ("scores", "targets", "widths")}
    flat = [pool.similarity.matrix.reshape(-1).tolist() for pool in pools]
    return pa.table({"ids": [list(pool.ids) for pool in pools], **columns, "similarity": flat})


def test_precision_of_the_neighbours_vectors_does_not_matter():
    rng = np.random.default_rng(2)
    double = random_pool(rng, 9)
    single = Pool(ids=double.ids, scores=double.scores, targets=double.targets, widths=double.widths,
                  vectors=double.similarity.vectors.astype(np.float32))  # fmt: skip
    levers = Levers(0.1, 0.4, 0.3, 3)
    together = certify_batch(GreedySelector().select_batch(PoolBatch.of([double, single]), levers, State()))
    alone = certify_batch(GreedySelector().select_batch(PoolBatch.of([double]), levers, State()))
    assert (together[0][0], together[1][0]) == (alone[0][0], alone[1][0])
