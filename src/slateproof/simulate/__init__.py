"""The closed loop: slate, response, state, update, for many simulated learners and many modes under matched pools and numbers.

>>> from slateproof import simulate
>>> report = simulate.run(simulate.load_config("simulate.toml"), "out")   # doctest: +SKIP

See ``docs/simulator.md``. Statistics and metrics also take a user's own paired results.

Scope: conditional; outcomes are those of simulated people, states are made from their raw responses.
"""

from slateproof.simulate.calibration import Calibration, calibrate
from slateproof.simulate.config import Config, load_config
from slateproof.simulate.engine import Stopwatch, play
from slateproof.simulate.metrics import METRICS, between, envelopes, probe, probe_alignment, session_metrics, subgroup_gap
from slateproof.simulate.modes import MODES, TIERS, VARIANTS, Mode, Tier, mode
from slateproof.simulate.plan import Plan, Session, World
from slateproof.simulate.profiles import PROFILES, Profile
from slateproof.simulate.record import Rounds
from slateproof.simulate.report import Report
from slateproof.simulate.responses import MODELS, Response, ResponseModel, Shown, Start, response_model
from slateproof.simulate.run import Setting, play_all, prepare, rerun_session, run
from slateproof.simulate.scoring import Scoring, scoring_of
from slateproof.simulate.statistics import Interval, SignTest, by_setting, paired_bootstrap, sign_test
from slateproof.simulate.validation import Validation, validate

__all__ = [
    "METRICS",
    "MODELS",
    "MODES",
    "PROFILES",
    "TIERS",
    "VARIANTS",
    "Calibration",
    "Config",
    "Interval",
    "Mode",
    "Plan",
    "Profile",
    "Report",
    "Response",
    "ResponseModel",
    "Rounds",
    "Scoring",
    "Session",
    "Setting",
    "Shown",
    "SignTest",
    "Start",
    "Stopwatch",
    "Tier",
    "Validation",
    "World",
    "between",
    "by_setting",
    "calibrate",
    "envelopes",
    "load_config",
    "mode",
    "paired_bootstrap",
    "play",
    "play_all",
    "prepare",
    "probe",
    "probe_alignment",
    "rerun_session",
    "response_model",
    "run",
    "scoring_of",
    "session_metrics",
    "sign_test",
    "subgroup_gap",
    "validate",
]
