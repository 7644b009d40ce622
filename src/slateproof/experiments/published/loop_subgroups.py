"""Table "tab:subgroup-gap-app".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["GAPS"]

GAPS = (
    # corpus, more engaged minus less engaged: correctness, post-test (x 10^-3), uptake
    ("OULAD", 0.013, -8.235, 0.216),
    ("EdNet", -0.006, 3.196, 0.031),
)
