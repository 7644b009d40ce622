"""Table "tab:datasets-app".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["COUNTS"]

COUNTS = {
    # users, items, interactions, density per mille, interactions per user
    "oulad": (23_351, 188, 173_739, 39.58, 7.44),
    "ednet": (296_701, 11_555, 23_384_480, 6.82, 78.8),
}
