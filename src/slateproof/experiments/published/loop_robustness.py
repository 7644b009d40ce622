"""Table "tab:choice-robustness-app".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["CELLS"]

CELLS = (
    # corpus, mode; against ALS, mean, SD, smallest: correctness, post-test (x 10^-3), uptake
    ("OULAD", "adaptive", (0.114, 0.006, 0.106), (12.456, 1.840, 10.034), (0.144, 0.009, 0.130)),
    ("OULAD", "adaptive-als", (0.010, 0.006, 0.002), (1.873, 0.492, 1.164), (0.026, 0.002, 0.024)),
    ("EdNet", "adaptive", (0.025, 0.010, 0.014), (2.647, 1.672, 0.477), (0.039, 0.015, 0.021)),
    ("EdNet", "adaptive-als", (0.033, 0.008, 0.028), (3.469, 1.457, 2.300), (0.060, 0.007, 0.054)),
)
