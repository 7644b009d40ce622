"""A policy: one TOML file that says how slates are selected, which inputs are protected, and what is logged.

Its digest stands in every trace, so that a slate names the rule that made it.
"""

from slateproof.policy.model import Policy
from slateproof.policy.template import TEMPLATE

__all__ = ["TEMPLATE", "Policy"]
