"""Small slates of every kind, and logs of them, for the tests of the audit room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof.audit import AuditLog
from slateproof.select import GreedySelector, TopKSelector, WindowSelector
from slateproof.types import Catalog, Levers, Pool, Slate, State, unit

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
SCOPE = {"regime": "conditional", "epsilon": None, "because": ["state is conditioned"]}
SELECTORS = (GreedySelector(), TopKSelector(), WindowSelector(window=0.9), GreedySelector(dissimilarity="mean"))


def catalogs(rng: np.random.Generator, size: int = 60) -> list[Catalog]:
    targets = rng.random(size)
    names: list[Any] = [f"q{i}" for i in range(size)]
    gram = rng.random((size, size))
    return [
        Catalog(names, targets, vectors=unit(rng.normal(size=(size, 5)))),
        Catalog(range(size), targets, similarity=(gram + gram.T) / 2),
        Catalog([1, "1", *names[2:]], targets, tags=[rng.integers(0, 9, 3).tolist() for _ in range(size)]),
        Catalog(range(size), targets, vectors=unit(rng.normal(size=(size, 5))).astype(np.float32)),
    ]


def pools(rng: np.random.Generator, shelf: list[Catalog], n: int = 14) -> list[Pool]:
    """One pool of every make: catalogues, own vectors, own matrix, own tags, no similarity; ids of every type."""
    mixed: list[Any] = [3, "b", 1, "a", -7, "3"]
    gram = rng.random((n, n))
    out = []
    for catalog in shelf:
        picked = rng.choice(len(catalog), n, replace=False)
        widths = rng.random(n) if rng.random() < 0.7 else None
        out.append(catalog.pool([catalog.ids[i] for i in picked], rng.normal(size=n), widths))
    targets = rng.random(n)
    out.append(Pool(rng.permutation(n), rng.normal(size=n), targets, rng.random(n), vectors=unit(rng.normal(size=(n, 4)))))
    out.append(Pool([f"é{i}" for i in range(n)], rng.normal(size=n), targets, None, similarity=(gram + gram.T) / 2))
    tags = [rng.integers(0, 6, 3).tolist() for _ in range(len(mixed))]
    out.append(Pool(mixed, rng.normal(size=len(mixed)), rng.random(len(mixed)), None, tags=tags))
    out.append(Pool(range(n), rng.integers(0, 2, n), targets))
    return out


def slates(count: int, seed: int = 0) -> list[Slate]:
    """``count`` slates, cycling through all makes of pools and all selectors."""
    rng = np.random.default_rng(seed)
    shelf = catalogs(rng)
    out: list[Slate] = []
    while len(out) < count:
        for pool in pools(rng, shelf):
            selector = SELECTORS[int(rng.integers(len(SELECTORS)))]
            levers = Levers(0.1, float(rng.random()), float(rng.choice([0.0, 0.3, 1.0])), int(rng.integers(1, 6)))
            shown = [(), ("q3", "q4"), (3, 5, 9), (3, "q3", 4), ("b", 3, "b")][int(rng.integers(5))]
            out.append(selector.select(pool, levers, State(float(rng.random()), 0.4, 0.6, shown)))
    return out[:count]


def write_log(path: Path, made: list[Slate], commits: int = 1, **options: Any) -> list[Any]:
    """A closed log of ``made`` in so many commits; returns their checkpoints."""
    options.setdefault("key", KEY)
    checkpoints = []
    with AuditLog.create(path, **options) as log:
        for part in np.array_split(np.arange(len(made)), commits):
            for i in part:
                log.append(made[i], round_id=f"r{i}", subject=f"user {i % 3}")
            checkpoints.append(log.commit())
    return checkpoints
