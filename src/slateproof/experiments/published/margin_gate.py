"""Tables "tab:oulad-margin-gate", "tab:oulad-selector-perturb" and the same for EdNet.

Scope: none; other people's numbers.
"""

from __future__ import annotations

__all__ = ["GATES", "PERTURBED"]

GATES = {
    # mean, median, positive rate, near-zero rate
    ("oulad", "gap"): (0.08462, 0.05775, 1.0, 0.0),
    ("oulad", "margin"): (0.0008477, 0.0007332, 1.0, 0.0),
    ("ednet", "gap"): (0.01007, 0.00706, 1.0, 0.0),
    ("ednet", "margin"): (0.0003949, 0.0002794, 1.0, 0.0),
}

PERTURBED = {
    # sigma, certified, same order, same set, certified violations, median M / Gamma
    "oulad": (
        (5e-05, 0.9962, 1.0, 1.0, 0.0, 0.1343),
        (0.0001, 0.9844, 1.0, 1.0, 0.0, 0.2698),
        (0.0002, 0.4306, 0.9975, 0.9988, 0.0, 0.537),
        (0.0005, 0.01188, 0.9125, 0.9975, 0.0, 1.347),
        (0.001, 0.0, 0.6569, 0.9875, 0.0, 2.725),
    ),
    "ednet": (
        (5e-05, 0.5931, 0.9519, 0.9775, 0.0, 0.3442),
        (0.0001, 0.3944, 0.8925, 0.9587, 0.0, 0.682),
        (0.0002, 0.1856, 0.8275, 0.9375, 0.0, 1.387),
        (0.0005, 0.003125, 0.6669, 0.8962, 0.0, 3.452),
        (0.001, 0.0, 0.4275, 0.8225, 0.0, 7.198),
    ),
}
