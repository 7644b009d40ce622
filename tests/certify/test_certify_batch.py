"""A batch's columns against one certificate at a time."""

from __future__ import annotations

import numpy as np
import pytest
from certify_builders import random_pool

from slateproof.certify import certify, certify_batch
from slateproof.select import GreedySelector, TopKSelector, WindowSelector
from slateproof.types import Levers, PoolBatch, State


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
