"""Operator S: deterministic selectors from scored candidates to slates.

``GreedySelector`` (the paper's default), ``TopKSelector`` (raw scores), ``WindowSelector`` (SCPO), and ``LeverMap``, which turns
states into levers. ``oracle`` states every formula in plain loops; the kernels equal it bit for bit.
"""

from slateproof.select.base import Selector, target_of
from slateproof.select.greedy import GreedySelector, TopKSelector
from slateproof.select.levermap import LeverMap
from slateproof.select.linucb import linucb
from slateproof.select.presets import PRESETS, Preset, preset
from slateproof.select.window import WindowSelector, selector_of

__all__ = [
    "PRESETS",
    "GreedySelector",
    "LeverMap",
    "Preset",
    "Selector",
    "TopKSelector",
    "WindowSelector",
    "linucb",
    "preset",
    "selector_of",
    "target_of",
]
