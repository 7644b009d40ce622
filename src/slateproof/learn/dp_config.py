"""Settings of private training. Everything here is public, and must be chosen without looking at the protected rounds.

Scope: none; settings. The claim comes from the ledger, after the steps have run.
"""

from __future__ import annotations

from dataclasses import dataclass

from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_whole
from slateproof.privacy.ledger import UNITS
from slateproof.types.columns import finite_scalar

__all__ = ["REGIMES", "SIDE_INPUTS", "Private"]

REGIMES = ("offline", "streaming")
SIDE_INPUTS = ("conditioned", "fixed")
_ADAM = (
    "must be sgd: Adam divides each coordinate by its own noise-dominated size, so that its steps hardly depend on the noise, "
    "and a run with too little of it looks like a private one"
)


@dataclass(frozen=True, slots=True)
class Private:
    """How a step protects a record: a round, or with ``unit`` "user" everything of one user.

    The gradient of a record's summed loss is clipped to ``clip``; the sum over the batch gets Gaussian noise with standard
    deviation ``clip * noise_multiplier`` and is divided by the expected batch size. ``noise_multiplier`` None turns noise and
    clipping off, and the ledger then says non-private. A round has at most ``rows_per_round`` rows. A user's record are the first
    ``rows_per_user`` rows, in rounds; the bound is public, and what lies beyond it is not read.

    ``side_inputs`` says what else a record's loss may read. "conditioned": the state and history that a round was served under and
    d(i). They come from *other* protected records, so the claim holds with these inputs fixed, and does not protect what stands in
    them; the ledger says so (``given``), and no verdict from it is end-to-end. Where the record is the user, state and history are
    the record's own, and only d(i) is left as a condition. "fixed": a neutral state, an empty history and d(i) = .5; then nothing
    but the record itself enters its gradient, and the claim is unconditional.

    ``physical_batch`` is how many records are computed at once; a larger draw is worked off in several, none is cut.

    Scope: none; settings.
    """

    clip: float = 1.0
    noise_multiplier: float | None = 1.0
    learning_rate: float = 1.0
    rows_per_round: int = 5
    physical_batch: int = 64
    side_inputs: str = "conditioned"
    optimizer: str = "sgd"
    unit: str = "round"
    rows_per_user: int = 50

    def __post_init__(self) -> None:
        _positive(self.clip, "clip")
        _positive(self.learning_rate, "learning_rate")
        if self.noise_multiplier is not None:
            _positive(self.noise_multiplier, "noise_multiplier")
        check_whole(self.rows_per_round, "rows_per_round", 1)
        check_whole(self.rows_per_user, "rows_per_user", 1)
        check_whole(self.physical_batch, "physical_batch", 1)
        if self.unit not in UNITS:
            raise InvalidInput("unit", f"must be one of {', '.join(UNITS)}", self.unit)
        if self.side_inputs not in SIDE_INPUTS:
            raise InvalidInput("side_inputs", f"must be one of {', '.join(SIDE_INPUTS)}", self.side_inputs)
        if self.optimizer != "sgd":
            raise InvalidInput("optimizer", _ADAM, self.optimizer)

    @property
    def given(self) -> tuple[str, ...]:
        """What a record's gradient reads of other records as it is: the conditions of every ledger entry."""
        if self.side_inputs == "fixed":
            return ()
        return ("history", "item difficulty", "learner state") if self.unit == "round" else ("item difficulty",)

    @property
    def record(self) -> str:
        """What one protected record is, for the ledger."""
        rounds = f"up to {self.rows_per_round} consecutive rows of one user"
        return rounds if self.unit == "round" else f"the first {self.rows_per_user} rows of one user"


def _positive(value: object, field: str) -> None:
    if finite_scalar(value, field, 0.0) == 0.0:
        raise InvalidInput(field, "must be positive", value)
