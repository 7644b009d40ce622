"""What a pipeline may claim about privacy: declared input statuses, a ledger of what ran, and the verdict from both.

The ledger composes the releases that a learner recorded; ``assess`` decides how far their guarantee reaches through the
deterministic selector, input by input. Neither makes anything private. ``releases`` does: item difficulties and learner state.

Scope: end-to-end, conditional or none, as the verdict says.
"""

from slateproof.privacy.assess import assess
from slateproof.privacy.calibrate import noise_for, nominal_label
from slateproof.privacy.cap import Cap, cap_contributions, check_cap
from slateproof.privacy.ledger import Ledger
from slateproof.privacy.lines import INPUTS
from slateproof.privacy.releases import Difficulties, Factorisation, StateColumns, StateStream, release_difficulties
from slateproof.privacy.scope import Scope
from slateproof.privacy.status import Status, accounted, conditioned, dp_output, non_private, public, status
from slateproof.privacy.users import UserLevel, user_level, user_level_at

__all__ = [
    "INPUTS",
    "Cap",
    "Difficulties",
    "Factorisation",
    "Ledger",
    "Scope",
    "StateColumns",
    "StateStream",
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
    "release_difficulties",
    "status",
    "user_level",
    "user_level_at",
]
