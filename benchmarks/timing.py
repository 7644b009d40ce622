"""Honest timing on a noisy machine: interleaved repeats in one run, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["machine", "medians"]


def medians(tasks: Mapping[str, Callable[[], Any]], seconds: float = 1.5, repeats: int = 15) -> dict[str, float]:
    """Median seconds of one call of each task; the tasks take turns, so that a slow spell of the machine meets all of them."""
    loops = {}
    for name, task in tasks.items():
        task()
        start = time.perf_counter()
        task()
        once = max(time.perf_counter() - start, 1e-7)
        loops[name] = max(1, int(seconds / repeats / once))
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            for _ in range(loops[name]):
                task()
            samples[name].append((time.perf_counter() - start) / loops[name])
    return {name: statistics.median(values) for name, values in samples.items()}


def machine() -> dict[str, Any]:
    """What the numbers were measured on, and with which versions."""
    import os
    import platform
    from importlib.metadata import version

    packages = ("slateproof", "numpy", "numba", "pyversity", "langchain-core", "pyarrow")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": [round(x, 2) for x in os.getloadavg()],
        "versions": {name: version(name) for name in packages},
    }
