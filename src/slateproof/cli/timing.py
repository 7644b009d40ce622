"""Timing on a noisy machine: interleaved repeats in one run, medians, ratios.

Scope: none; measurements.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["machine", "medians"]

PACKAGES = ("slateproof", "numpy", "numba", "pyarrow", "pyversity", "langchain-core")


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
    """What numbers were measured on, and with which versions (those installed)."""
    load = [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else []
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": load,
        "versions": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
