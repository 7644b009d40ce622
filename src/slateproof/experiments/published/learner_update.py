"""Tables "tab:dp-sgd-tail-oulad-tiers" and "tab:dp-sgd-tail-oulad-steps".

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["STEPS", "TIERS"]

TIERS = (
    # tier, label, mean tau, tail at 2, bound at 2, tail at 2.5, bound at 2.5, Flip@K at w = 0, .50, .75, Jaccard at w = .75
    ("standard", 0.2284, 0.6672, 0.02063, 0.1353, 0.003025, 0.04394, 1.0, 0.9988, 0.945, 0.7229),
    ("strong", 0.1022, 0.6683, 0.02058, 0.1353, 0.002975, 0.04394, 1.0, 0.9988, 0.9466, 0.7218),
    ("locked", 0.04857, 0.6688, 0.02059, 0.1353, 0.002938, 0.04394, 1.0, 0.9984, 0.9466, 0.7215),
)

STEPS = (
    # updates, tier, label, mean tau, tail at 2, tail at 2.5, Flip@K at w = .75, Jaccard at w = .75
    (8, "standard", 0.228, 0.667, 0.0206, 0.003, 0.945, 0.723),
    (8, "strong", 0.102, 0.668, 0.0206, 0.003, 0.947, 0.722),
    (8, "locked", 0.049, 0.669, 0.0206, 0.0029, 0.947, 0.722),
    (80, "standard", 0.738, 1.166, 0.0228, 0.0062, 0.985, 0.629),
    (80, "strong", 0.326, 1.172, 0.0227, 0.0062, 0.986, 0.627),
    (80, "locked", 0.154, 1.174, 0.0227, 0.0062, 0.986, 0.627),
)
