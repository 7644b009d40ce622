"""The paper, reproduced: one module per table or figure, published numbers beside ours, verdicts that are computed.

``reproduce`` runs them; ``EXPERIMENTS`` lists them. Needs the extra ``report`` (matplotlib, Jinja2), and ``learn`` for learners.

Scope: none; measurements.
"""

from slateproof.experiments.core import Experiment, Result, Table, Task
from slateproof.experiments.registry import EXPERIMENTS, ordered
from slateproof.experiments.run import Finished, Outcome, reproduce
from slateproof.experiments.summary_page import summary_page
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Finished",
    "Ours",
    "Outcome",
    "Published",
    "Result",
    "Table",
    "Task",
    "Verdict",
    "judge",
    "ordered",
    "reproduce",
    "summary_page",
]
