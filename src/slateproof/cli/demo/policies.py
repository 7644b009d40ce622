"""The two policies of the demo: the one the class is taught by, and one that reads private releases only.

Scope: none by themselves; ``Policy.scope`` says what may be claimed.
"""

from __future__ import annotations

from string import Template

__all__ = ["class_policy", "private_policy"]

_CLASS = Template("""\
# How the class of `slateproof demo` gets its exercises. Written by the demo; every key is explained by `slateproof policy init`.
name = "demo-class"

[selector]
kind = "greedy"              # one exercise after the other: score, closeness to the target, variety, novelty
preset = "oulad"             # the paper's published constants, but
target_gain = 1.0            # a fitting difficulty counts as much as the whole score

[levers]
preset = "oulad"             # how strongly each counts follows from the learner's state

[state]
width_reference = $width     # a width that counts as fully unsure: 95th percentile before the first answer

[trace]
level = "replay"             # the log holds every input, so that each slate can be selected again

[privacy.inputs]
scores = "non-private"       # the model was fitted on learners' answers, without noise
candidates = "public"        # drawn at random from the whole catalogue
targets = "conditioned"      # difficulties are shares of wrong answers
similarity = "public"        # skills, as tagged by the authors of the exercises
widths = "conditioned"       # follow from what each learner has answered
state = "conditioned"        # shares of right answers
shown = "conditioned"        # earlier slates read all of the above
""")

_PRIVATE = """\
# The same exercises chosen from private releases alone. Written by `slateproof demo`.
name = "demo-private"

[selector]
kind = "greedy"
preset = "oulad"
target_gain = 1.0

[levers.fixed]               # the same for everyone: no learner's state is read
target_shift = 0.1
exploration = 0.0
diversity = 0.3
size = 5

[privacy.inputs]
scores = "dp-output"         # the released share of right answers
candidates = "public"        # the whole catalogue
targets = "dp-output"        # the released difficulties
similarity = "public"        # skills, as tagged by the authors of the exercises
widths = "public"            # none are used
state = "public"             # the neutral state, always
shown = "public"             # empty, always

[privacy]
ledger = "ledger.json"       # what ran, and how much noise it had
delta = 1e-5
"""


def class_policy(width_reference: float) -> str:
    """The policy of the class as TOML; ``width_reference`` is known once the model is fitted."""
    return _CLASS.substitute(width=repr(width_reference))


def private_policy() -> str:
    """The policy that reads private releases only, as TOML."""
    return _PRIVATE
