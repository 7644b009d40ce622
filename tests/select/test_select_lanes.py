"""Eight dot products at once are eight plain dot products, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from slateproof.select.lanes import LANES, eight_dots, plain_eight_dots


@njit
def compiled_eight(vectors, lanes, other, out):  # type: ignore[no-untyped-def]
    eight_dots(vectors, lanes, other, out)


@pytest.mark.parametrize("storage", [np.float64, np.float32])
def test_every_dimension_has_the_bits_of_the_plain_loop(storage: type) -> None:
    rng = np.random.default_rng(3)
    for d in (*range(1, 19), 48, 97):
        scale = 10.0 ** rng.integers(-8, 8, (40, d))  # so that another order of summation shows
        vectors = (rng.normal(size=(40, d)) * scale).astype(storage)
        vectors[rng.random(vectors.shape) < 0.1] = -0.0
        vectors.setflags(write=False)
        lanes = rng.integers(0, 40, LANES)
        fast, plain = np.full(LANES, np.nan), np.empty(LANES)
        compiled_eight(vectors, lanes, 7, fast)
        plain_eight_dots(vectors, lanes, 7, plain)
        assert fast.tobytes() == plain.tobytes(), d


def test_the_test_would_see_another_order() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(40, 48)) * 10.0 ** rng.integers(-8, 8, (40, 48))
    plain, other = np.empty(LANES), np.empty(LANES)
    plain_eight_dots(vectors, np.arange(LANES), 7, plain)
    plain_eight_dots(np.ascontiguousarray(vectors[:, ::-1]), np.arange(LANES), 7, other)
    assert plain.tobytes() != other.tobytes()
