"""Table "tab:topk-flip-threshold-sensitivity".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["CELLS"]

CELLS = (
    # corpus, threshold, sigma, Flip@K at w = 0, w = .75, difference, relative drop
    ("amazon-musical-instruments", 3.5, 0.05, 0.262, 0.045, 0.216, 0.827),
    ("amazon-musical-instruments", 3.5, 0.1, 0.49, 0.11, 0.38, 0.776),
    ("amazon-musical-instruments", 3.5, 0.2, 0.768, 0.254, 0.514, 0.669),
    ("amazon-musical-instruments", 4.0, 0.05, 0.301, 0.082, 0.219, 0.727),
    ("amazon-musical-instruments", 4.0, 0.1, 0.512, 0.162, 0.35, 0.683),
    ("amazon-musical-instruments", 4.0, 0.2, 0.781, 0.306, 0.475, 0.608),
    ("amazon-musical-instruments", 4.5, 0.05, 0.272, 0.076, 0.196, 0.72),
    ("amazon-musical-instruments", 4.5, 0.1, 0.492, 0.133, 0.359, 0.73),
    ("amazon-musical-instruments", 4.5, 0.2, 0.758, 0.27, 0.488, 0.644),
    ("ml-25m", 3.5, 0.05, 0.316, 0.077, 0.239, 0.756),
    ("ml-25m", 3.5, 0.1, 0.528, 0.161, 0.367, 0.694),
    ("ml-25m", 3.5, 0.2, 0.788, 0.315, 0.474, 0.601),
    ("ml-25m", 4.0, 0.05, 0.352, 0.102, 0.25, 0.709),
    ("ml-25m", 4.0, 0.1, 0.605, 0.176, 0.429, 0.709),
    ("ml-25m", 4.0, 0.2, 0.859, 0.356, 0.504, 0.586),
    ("ml-25m", 4.5, 0.05, 0.254, 0.081, 0.173, 0.682),
    ("ml-25m", 4.5, 0.1, 0.445, 0.147, 0.297, 0.669),
    ("ml-25m", 4.5, 0.2, 0.697, 0.253, 0.444, 0.636),
)
