"""The kernels as plain Python give the same bits as the compiled ones."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib
import numpy as np
import slateproof as sp

def digest():
    rng = np.random.default_rng(11)
    hasher = hashlib.sha256()
    for trial in range(12):
        n, k = int(rng.integers(2, 40)), 0
        k = int(rng.integers(1, n + 1))
        tags = [set(rng.integers(0, 5, 2).tolist()) for _ in range(n)]
        source = {"vectors": sp.unit(rng.normal(size=(n, 5)))} if trial % 3 else {"tags": tags}
        pool = sp.Pool(rng.permutation(99)[:n], np.round(rng.normal(size=n), 1), rng.uniform(size=n), rng.uniform(size=n), **source)
        for kind in ("max", "mean"):
            selector = sp.GreedySelector(dissimilarity=kind)
            levers, state = sp.Levers(0.1, 0.3, 0.6, k), sp.State(shown=tuple(range(20)))
            slate = selector.select(pool, levers, state)
            hasher.update(slate.steps.places.tobytes() + slate.steps.numbers.tobytes())
            batch = selector.select_batch(sp.PoolBatch.of([pool]), levers, state)
            hasher.update(batch.chosen.tobytes() + batch.margins.tobytes())
    return hasher.hexdigest()

print(digest())
"""


def test_with_and_without_numba() -> None:
    space: dict[str, object] = {}
    exec(SCRIPT, space)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    compiled = space["digest"]
    assert callable(compiled)
    assert plain.stdout.strip() == compiled()
    assert len(plain.stdout.strip()) == len(hashlib.sha256().hexdigest())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernel_equals_oracle", "batch", "worked_examples", "lanes"])
def test_the_generated_cases_pass_without_numba_too(name: str) -> None:
    """The property tests themselves (ties, duplicates, permutations, threads, batch sizes), with the kernels as plain Python."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here / f"test_select_{name}.py")]
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, cwd=here.parents[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
