"""Tables "tab:rq1-vs-als-app" and "tab:rq1-summary-app", whose shared cells are the same numbers.

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["INTERVALS", "JUMPS", "SCPO_PROBE"]

INTERVALS = (
    # corpus, mode; against ALS, mean and 95 % interval: correctness, post-test and telemetry (x 10^-3), uptake, attempts per round
    (
        "OULAD",
        "adaptive",
        (0.121, 0.105, 0.137),
        (14.824, 13.172, 16.350),
        (69.248, 44.959, 91.789),
        (0.150, 0.138, 0.162),
        (0.714, 0.650, 0.777),
    ),
    (
        "OULAD",
        "adaptive-scpo",
        (0.169, -0.051, 0.390),
        (13.485, -7.606, 34.577),
        (64.098, 26.179, 102.016),
        (0.195, 0.190, 0.200),
        (0.975, 0.950, 1.000),
    ),
    (
        "OULAD",
        "adaptive-als",
        (0.197, 0.004, 0.390),
        (15.862, 3.468, 28.257),
        (68.054, 40.751, 95.357),
        (0.240, 0.200, 0.280),
        (1.200, 1.000, 1.400),
    ),
    (
        "OULAD",
        "als-selector",
        (-0.002, -0.013, 0.009),
        (-0.163, -0.794, 0.485),
        (-12.940, -31.719, 6.588),
        (0.020, 0.019, 0.021),
        (0.002, -0.000, 0.004),
    ),
    (
        "EdNet",
        "adaptive",
        (0.026, 0.014, 0.039),
        (0.032, -1.062, 1.148),
        (22.168, 1.875, 41.991),
        (0.039, 0.034, 0.043),
        (0.140, 0.115, 0.168),
    ),
    (
        "EdNet",
        "adaptive-scpo",
        (0.023, 0.011, 0.034),
        (1.530, 0.505, 2.597),
        (10.883, -7.953, 31.653),
        (0.037, 0.032, 0.042),
        (0.134, 0.109, 0.160),
    ),
    (
        "EdNet",
        "adaptive-als",
        (0.037, 0.025, 0.049),
        (3.137, 2.016, 4.338),
        (25.597, 4.873, 45.559),
        (0.057, 0.052, 0.063),
        (0.241, 0.211, 0.271),
    ),
    (
        "EdNet",
        "als-selector",
        (0.004, -0.005, 0.014),
        (0.150, -0.567, 0.884),
        (15.519, -0.431, 30.961),
        (0.012, 0.010, 0.013),
        (-0.001, -0.005, 0.004),
    ),
)

JUMPS = (
    # corpus, mode, absolute target-value jump
    ("OULAD", "adaptive", 0.105),
    ("OULAD", "adaptive-scpo", 0.145),
    ("EdNet", "adaptive", 0.195),
    ("EdNet", "adaptive-scpo", 0.173),
)

SCPO_PROBE = (("OULAD", -1.339), ("EdNet", 1.498))
"""Section "Selector components and drift": post-test probe of Adaptive-SCPO minus Adaptive, x 10^-3."""
