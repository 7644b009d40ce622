"""How much noise a target needs, and the label that the paper prints.

Scope: ``noise_for`` end-to-end for the described releases once they have run as described; ``nominal_label`` none.
"""

from __future__ import annotations

import math
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.privacy.events import LEAST_NOISE, MOST_NOISE, whole
from slateproof.privacy.ledger import Ledger, check_delta
from slateproof.types.columns import finite_scalar

__all__ = ["noise_for", "nominal_label"]

_TOLERANCE = 1e-4  # relative width of the last interval; the answer is its safe end


def noise_for(*, epsilon: float, delta: float, steps: int, sampling_rate: float | None) -> float:
    """The smallest noise multiplier (to 1e-4, rounded up) with which ``steps`` releases stay within ``(epsilon, delta)``.

    ``sampling_rate`` is the rate of a Poisson sampler; None means that every unit may be in every release, without
    amplification (with ``steps=1``, also the streaming use of a unit that is read once). Add-or-remove-one, by bisection over
    the PLD curve. Refuses a ``delta`` that is not below the chance of a unit to be sampled at all: releases in clear meet it, and
    no noise is the smallest. Refuses an ``epsilon`` that needs noise beyond what a ledger records.

    Scope: a plan. The claim comes from the ledger, after the steps have run.
    """
    target = _positive(epsilon, "epsilon")
    delta = check_delta(delta)
    steps = whole(steps, "steps")
    if sampling_rate is not None:
        sampling_rate = _positive(sampling_rate, "sampling_rate", 1.0)
        if sampling_rate < 1.0 and delta >= -math.expm1(steps * math.log1p(-sampling_rate)):
            raise InvalidInput("delta", "lets the target be met without noise: a unit is hardly ever sampled", delta)

    def enough(noise: float) -> bool:
        ledger = Ledger()
        if sampling_rate is None:
            ledger.record_gaussian(noise_multiplier=noise, count=steps)
        else:
            ledger.record_poisson_gaussian(sampling_rate=sampling_rate, noise_multiplier=noise, count=steps)
        return ledger.epsilon(delta) <= target

    high = 1.0
    while not enough(high):
        high *= 2.0
        if high > MOST_NOISE:
            raise InvalidInput("epsilon", f"would need a noise multiplier above {MOST_NOISE:g}", target)
    low = high / 2.0
    while enough(low):
        low, high = low / 2.0, low
        if low < LEAST_NOISE:
            raise InvalidInput("epsilon", f"is met with a noise multiplier below {LEAST_NOISE:g}", target)
    while high / low > 1.0 + _TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def nominal_label(*, sampling_rate: float, noise_multiplier: float, steps: int, delta: float) -> float:
    """The number behind the paper's tier labels: q sqrt(2 T ln(1/δ))/σ + T q²/σ². It is **not** a bound on epsilon.

    It keeps the shape of a moments-accountant estimate and drops its constants and conditions. For the standard tier it says
    0.363 where the mechanism, even if it ran as described, has 0.530. Shown beside the truth, never in place of it.

    Scope: none; never a privacy claim.
    """
    rate = _positive(sampling_rate, "sampling_rate", 1.0)
    noise = _positive(noise_multiplier, "noise_multiplier")
    count = whole(steps, "steps")
    return rate * math.sqrt(2.0 * count * math.log(1.0 / check_delta(delta))) / noise + count * rate**2 / noise**2


def _positive(value: Any, field: str, high: float = math.inf) -> float:
    number = finite_scalar(value, field, 0.0, high)
    if number == 0.0:
        raise InvalidInput(field, "must be positive", number)
    return number
