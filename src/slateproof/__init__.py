"""slateproof: a governed selection layer for recommenders.

Scores go in; a slate comes out that is the same everywhere, explains itself, carries its margins, and can be replayed bit for bit.

>>> import slateproof as sp
>>> pool = sp.Pool(ids=["q1", "q2", "q3"], scores=[0.9, 0.8, 0.1], targets=[0.6, 0.5, 0.4])
>>> slate = sp.GreedySelector().select(pool, sp.Levers(target_shift=0.1, size=2), sp.State(knowledge=0.5))
>>> slate.ids
('q1', 'q2')
>>> sp.certify(slate).holds([0.91, 0.79, 0.12])
True
"""

from importlib.metadata import version as _version

from slateproof.audit import AuditLog, Checkpoint, ConsistencyProof, InclusionProof, VerifyReport
from slateproof.certify import Certificate, LowRank, SetCertificate, certify, certify_batch, drift, plan, topk
from slateproof.errors import InvalidInput, SlateproofError, SlateproofWarning
from slateproof.policy import Policy
from slateproof.select import GreedySelector, LeverMap, TopKSelector, WindowSelector
from slateproof.types import Catalog, LeverBounds, Levers, Pool, PoolBatch, Rule, Slate, SlateBatch, State, Trace, unit

__version__ = _version("slateproof")

__all__ = [
    "AuditLog",
    "Catalog",
    "Certificate",
    "Checkpoint",
    "ConsistencyProof",
    "GreedySelector",
    "InclusionProof",
    "InvalidInput",
    "LeverBounds",
    "LeverMap",
    "Levers",
    "LowRank",
    "Policy",
    "Pool",
    "PoolBatch",
    "Rule",
    "SetCertificate",
    "Slate",
    "SlateBatch",
    "SlateproofError",
    "SlateproofWarning",
    "State",
    "TopKSelector",
    "Trace",
    "VerifyReport",
    "WindowSelector",
    "__version__",
    "certify",
    "certify_batch",
    "drift",
    "plan",
    "topk",
    "unit",
]
