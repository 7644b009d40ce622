"""slateproof: a governed selection layer for recommenders.

Scores go in; a slate comes out that is the same everywhere, explains itself, carries its margins, and can be replayed bit for bit.
"""

from importlib.metadata import version as _version

from slateproof.errors import InvalidInput, SlateproofError, SlateproofWarning
from slateproof.select import GreedySelector, LeverMap, TopKSelector, WindowSelector
from slateproof.types import Catalog, LeverBounds, Levers, Pool, PoolBatch, Rule, Slate, SlateBatch, State, Trace, unit

__version__ = _version("slateproof")

__all__ = [
    "Catalog",
    "GreedySelector",
    "InvalidInput",
    "LeverBounds",
    "LeverMap",
    "Levers",
    "Pool",
    "PoolBatch",
    "Rule",
    "Slate",
    "SlateBatch",
    "SlateproofError",
    "SlateproofWarning",
    "State",
    "TopKSelector",
    "Trace",
    "WindowSelector",
    "__version__",
    "unit",
]
