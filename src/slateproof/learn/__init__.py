"""Operator L: learners that turn a corpus into scores, behind one protocol that your own model can satisfy too.

>>> from slateproof import corpora, learn
>>> corpus = corpora.load("synthetic-demo")
>>> scorer = learn.learner("popularity").fit(corpus)
>>> scorer.score(None, learn.Context.new(1), [[0, 1]]).scores.shape
(1, 2)

Importing this loads neither JAX nor implicit: ``learner(name)`` imports what the named learner needs.

Scope: whatever a scorer's ``ledger`` says ran; a scorer without one is non-private.
"""

from slateproof.learn.blend import Blend, BlendScorer
from slateproof.learn.catalog import catalog_of, codes_of, pools_of
from slateproof.learn.estimator import FromEstimator
from slateproof.learn.evaluate import Evaluation, evaluate
from slateproof.learn.protocol import Context, Feedback, Learner, Progress, Scorer, Scores
from slateproof.learn.registry import LEARNERS, learner, open_model
from slateproof.learn.train import TrainReport, score_pools, train
from slateproof.learn.wrap import Ask, FromCallable

__all__ = [
    "LEARNERS",
    "Ask",
    "Blend",
    "BlendScorer",
    "Context",
    "Evaluation",
    "Feedback",
    "FromCallable",
    "FromEstimator",
    "Learner",
    "Progress",
    "Scorer",
    "Scores",
    "TrainReport",
    "catalog_of",
    "codes_of",
    "evaluate",
    "learner",
    "open_model",
    "pools_of",
    "score_pools",
    "train",
]
