"""Table "tab:probe-alignment-app".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["CELLS"]

CELLS = (
    # corpus, mode (against ALS), sessions, Pearson r, Spearman rho, sign agreement
    ("OULAD", "adaptive", 256, 0.312, 0.268, 0.684),
    ("OULAD", "als-selector", 256, 0.534, 0.513, 0.711),
    ("EdNet", "adaptive", 256, 0.337, 0.354, 0.566),
    ("EdNet", "adaptive-scpo", 256, 0.343, 0.334, 0.625),
    ("EdNet", "adaptive-als", 256, 0.318, 0.323, 0.633),
    ("EdNet", "als-selector", 256, 0.559, 0.551, 0.852),
)
