"""The words of slateproof as frozen, validated values: what goes into a selection and what comes out.

Imports nothing of ours but the errors. A value that exists is valid; nothing here decides anything.
"""

from slateproof.types.catalog import Catalog
from slateproof.types.explain import Explanation
from slateproof.types.leverbatch import LeverBatch, StateBatch
from slateproof.types.levers import LeverBounds, Levers
from slateproof.types.pool import Pool
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.row import BadRows
from slateproof.types.rule import Rule
from slateproof.types.similarity import Similarity, unit
from slateproof.types.slate import Slate
from slateproof.types.slatebatch import SlateBatch
from slateproof.types.state import Round, State
from slateproof.types.steps import SetChoice, Steps
from slateproof.types.trace import Trace

__all__ = [
    "BadRows",
    "Catalog",
    "Explanation",
    "LeverBatch",
    "LeverBounds",
    "Levers",
    "Pool",
    "PoolBatch",
    "Round",
    "Rule",
    "SetChoice",
    "Similarity",
    "Slate",
    "SlateBatch",
    "State",
    "StateBatch",
    "Steps",
    "Trace",
    "unit",
]
