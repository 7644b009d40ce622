"""What a pipeline may claim about privacy: declared input statuses, a ledger of what ran, and the verdict from both.

Nothing here makes anything private. The ledger composes the releases that a learner recorded; ``assess`` decides how far their
guarantee reaches through the deterministic selector, input by input.

Scope: end-to-end, conditional or none, as the verdict says.
"""

from slateproof.privacy.assess import assess
from slateproof.privacy.calibrate import noise_for, nominal_label
from slateproof.privacy.cap import Cap, cap_contributions, check_cap
from slateproof.privacy.ledger import Ledger
from slateproof.privacy.lines import INPUTS
from slateproof.privacy.scope import Scope
from slateproof.privacy.status import Status, accounted, conditioned, dp_output, non_private, public, status
from slateproof.privacy.users import UserLevel, user_level, user_level_at

__all__ = [
    "INPUTS",
    "Cap",
    "Ledger",
    "Scope",
    "Status",
    "UserLevel",
    "accounted",
    "assess",
    "cap_contributions",
    "check_cap",
    "conditioned",
    "dp_output",
    "noise_for",
    "nominal_label",
    "non_private",
    "public",
    "status",
    "user_level",
    "user_level_at",
]
