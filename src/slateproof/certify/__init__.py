"""Certificates: how far scores may move before a slate changes, and how likely they will.

``certify(slate)`` answers for one slate, ``certify_batch`` and ``flip_probabilities`` for many, ``radii`` and ``from_margins`` for
margins alone, ``certificates`` makes a table of a log; ``topk`` is about raw score rankings, ``drift`` about target values over
rounds, ``plan`` the other way round: which anchor weight or noise keeps a flip probability.

Scope: stability only.
"""

from slateproof.certify import drift, plan, topk
from slateproof.certify.batch import certify_batch
from slateproof.certify.certificate import Certificate, ItemRadii
from slateproof.certify.columns import radii
from slateproof.certify.make import certify
from slateproof.certify.many import FlipProbabilities, flip_probabilities
from slateproof.certify.noise import Estimate, LowRank
from slateproof.certify.setchoice import SetCertificate
from slateproof.certify.tables import Table, certificates, from_margins

__all__ = [
    "Certificate",
    "Estimate",
    "FlipProbabilities",
    "ItemRadii",
    "LowRank",
    "SetCertificate",
    "Table",
    "certificates",
    "certify",
    "certify_batch",
    "drift",
    "flip_probabilities",
    "from_margins",
    "plan",
    "radii",
    "topk",
]
