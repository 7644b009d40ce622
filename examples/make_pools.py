"""Write a small synthetic file of pools: 200 learners, 100 candidate questions each.

    python examples/make_pools.py demo/pools.parquet

Everything in it is synthetic: scores, difficulties, widths and states are drawn from one seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slateproof as sp

POOLS, CANDIDATES, ITEMS, DIMENSIONS = 200, 100, 400, 16


def synthetic_pools(seed: int = 7) -> pa.Table:
    rng = np.random.default_rng(seed)
    vectors = sp.unit(rng.normal(size=(ITEMS, DIMENSIONS)))
    difficulty = rng.uniform(size=ITEMS)
    ability = rng.beta(4, 4, POOLS)
    rows = []
    for learner in range(POOLS):
        items = rng.permutation(ITEMS)[:CANDIDATES]
        rows.append(
            {
                "round_id": f"round-{learner}",
                "subject": f"learner-{learner}",
                "ids": [f"q{item:03d}" for item in items],
                "scores": (ability[learner] - difficulty[items] + rng.normal(scale=0.3, size=CANDIDATES)).tolist(),
                "targets": difficulty[items].tolist(),
                "widths": rng.uniform(0.05, 0.5, CANDIDATES).tolist(),
                "vectors": vectors[items].tolist(),
                "knowledge": float(ability[learner]),
                "engagement": float(rng.uniform()),
                "uncertainty": float(rng.uniform()),
                "shown": [f"q{item:03d}" for item in rng.permutation(ITEMS)[:20]],
            }
        )
    return pa.Table.from_pylist(rows)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "pools.parquet")
    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(synthetic_pools(), out)
    print(f"wrote {out}: {POOLS} synthetic pools of {CANDIDATES} candidates")


if __name__ == "__main__":
    main()
