"""What ``slateproof policy init`` writes: a policy with every key, explained, that is valid as it stands."""

from __future__ import annotations

__all__ = ["TEMPLATE"]

TEMPLATE = """\
# A slateproof policy: everything that decides a slate besides its inputs.
# Check it with `slateproof policy check FILE`, see what it may claim with `slateproof scope FILE`.
name = "my-policy"

[selector]
kind = "greedy"          # greedy: soft-window greedy (the paper's default); window: SCPO; top-k: raw scores
preset = "oulad"         # published constants for what is not given below: oulad or ednet
# target_gain = 0.2      # weight of closeness to the target value (eta_tg)
# window = 0.3           # width within which closeness counts; what SCPO enforces (w)
# novelty = 0.1          # greedy only: bonus for items not shown lately (nu)
# dissimilarity = "max"  # greedy only: max: MMR, mean: MSD
# node_budget = 1000000  # window only: nodes that SCPO may search before it says "not proved"

[levers]
preset = "oulad"         # clipped affine maps from state to levers; replace single constants below
# exploration_base = 0.475
# exploration_uncertainty = 0.96
# exploration_engagement = 0.64
# diversity_base = 0.25
# diversity_engagement = 0.80
# size_base = 5
# shift_base = 0.10
# size_adapts = true

# [levers.fixed]         # instead of a map: the same levers for everyone
# target_shift = 0.1
# exploration = 0.3
# diversity = 0.3
# size = 5

# [levers.bounds]        # the box that levers may not leave
# exploration = [0.05, 0.90]
# diversity = [0.05, 0.60]
# size = [2, 8]
# target_shift = [0.06, 0.22]

[state]
memory = 200             # displayed ids remembered (L_H)
# width_reference = 0.5  # width that counts as fully uncertain (sigma_ref), from the training split

[trace]
level = "replay"         # replay: slates can be selected again from the log; monitor: margins only

# Privacy status of every input: public, dp-output, conditioned, non-private,
# or { status = "accounted", epsilon = 0.5, delta = 1e-6 }. Add `anchor = ...` where scores are blended with one.
[privacy.inputs]
scores = "conditioned"
candidates = "conditioned"
targets = "conditioned"
similarity = "conditioned"
widths = "conditioned"
state = "conditioned"
shown = "conditioned"

[privacy]
# ledger = "ledger.json" # what ran under differential privacy, written by the learner
delta = 1e-5
# max_rounds_per_user = 20
"""
