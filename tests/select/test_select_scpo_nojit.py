"""The kernel is plain Python: with Numba disabled it returns the same choice, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, unit


def choices():
    """Choices for a few pools of every kind, as JSON-ready numbers (floats in hexadecimal)."""
    result = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n, kind = 30, seed % 4
        columns = {"scores": rng.normal(size=n) * 0.1, "targets": rng.random(n), "widths": rng.random(n)}
        if kind == 0:
            columns["vectors"] = unit(rng.normal(size=(n, 16)))
        elif kind == 1:
            columns["vectors"] = unit(rng.normal(size=(n, 16))).astype(np.float32)
        elif kind == 2:
            matrix = rng.normal(size=(n, n))
            columns["similarity"] = (matrix + matrix.T) / 2
        else:
            columns["scores"] = rng.integers(0, 3, n)
            columns["tags"] = [set(rng.integers(0, 6, 2).tolist()) for _ in range(n)]
        levers = Levers(exploration=0.3, diversity=(0.3, 0.7, 1.0)[seed % 3], size=5)
        choice = choose_set(Pool(range(n), **columns), Rule("window", node_budget=500), levers, float(rng.random()))
        floats = (choice.value, choice.runner_value, choice.similarity, choice.runner_similarity, choice.window, choice.bound)
        places = (choice.chosen.tolist(), choice.runner_up.tolist(), choice.nodes, choice.proved)
        result.append([*(x.hex() for x in floats), *places])
    return result


def test_same_choices_without_numba():
    script = (
        "import json, test_select_scpo_nojit as t; import numba; assert numba.config.DISABLE_JIT; print(json.dumps(t.choices()))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(choices()))
