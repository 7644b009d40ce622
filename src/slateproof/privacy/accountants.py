"""From recorded releases to an (epsilon, delta) curve, through the event algebra of dp-accounting.

dp-accounting is imported inside the functions: it takes most of a second, and reading a scope needs none of it.

Scope: end-to-end, for the releases given and nothing else; the figures are upper bounds for the composed mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from slateproof.errors import InvalidInput
from slateproof.privacy.events import Gaussian, NonPrivate, PoissonGaussian, Release, Streaming

__all__ = ["ACCOUNTANTS", "ADD_OR_REMOVE", "RELATIONS", "REPLACE", "Curve", "curve", "dp_event"]

Curve: TypeAlias = Callable[[float], float]
"""delta -> the smallest epsilon that the accountant can show."""

ACCOUNTANTS = ("pld", "rdp")
ADD_OR_REMOVE, REPLACE = "add-or-remove-one", "replace-one"
RELATIONS = (ADD_OR_REMOVE, REPLACE)

# Widths of the grid of privacy losses. Rounding is towards a larger loss, whatever the width.
_COARSE, _FINE = 1e-2, 1e-4
_TYPICAL_DELTA = 1e-5  # only to guess the size of the loss

# Privacy losses beyond this overflow the transforms of dp-accounting; an epsilon of that size promises nothing either way.
_LARGEST = 1e5


def curve(releases: Sequence[Release], neighbouring: str, accountant: str, group: int = 1) -> Curve:
    """The curve of all ``releases`` together, adaptively composed.

    With ``group`` > 1 it is the curve for the presence of ``group`` units at once, under "pld" and add-or-remove-one only: an
    unsampled sum moves by up to ``group`` sensitivities (for a stream: all of them in one release is the worst case), and a
    Poisson-sampled one is a mixture of Gaussians with binomial weights (Ganesh 2024, arXiv 2401.10294).

    Unsampled Gaussian releases compose exactly into one with 1/s² = Σ 1/s_i². Alone they are evaluated in closed form under
    ``"pld"`` (Balle and Wang 2018), which is what the discretised distribution approaches from above.
    """
    if any(isinstance(one, NonPrivate) for one in releases):
        return _infinite
    plain, sampled = _split(releases)
    if not plain and not sampled:
        return _zero
    if accountant == "pld" and not sampled:
        return _closed_form(group**2 * plain, neighbouring)
    if accountant == "rdp":
        return _rdp(plain, sampled, neighbouring)
    return _pld(plain, sampled, neighbouring, group)


def dp_event(releases: Sequence[Release]) -> Any:
    """The releases as one ``dp_accounting.DpEvent``, for another accountant of the reader's choice.

    A stream stands there as one Gaussian release with its smallest noise multiplier: see ``Ledger.record_streaming``.
    """
    import dp_accounting as dp

    events: list[Any] = [dp.NonPrivateDpEvent() for one in releases if isinstance(one, NonPrivate)]
    for one in releases:
        if isinstance(one, Gaussian):
            events.append(dp.SelfComposedDpEvent(dp.GaussianDpEvent(one.noise_multiplier), one.count))
        elif isinstance(one, PoissonGaussian):
            inner = dp.GaussianDpEvent(one.noise_multiplier)
            events.append(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(one.sampling_rate, inner), one.count))
    events.extend(dp.GaussianDpEvent(noise) for noise in _streams(releases).values())
    return dp.ComposedDpEvent(events)


def _streams(releases: Sequence[Release]) -> dict[str, float]:
    """Smallest noise multiplier of every stream: less noise dominates more, whichever release a unit was in."""
    least: dict[str, float] = {}
    for one in releases:
        if isinstance(one, Streaming):
            least[one.stream] = min(one.noise_multiplier, least.get(one.stream, math.inf))
    return least


def _split(releases: Sequence[Release]) -> tuple[float, dict[tuple[float, float], int]]:
    """Precision Σ 1/s² of everything that is not sampled, and the counts of sampled releases by (rate, noise)."""
    terms = [1.0 / noise**2 for noise in _streams(releases).values()]
    sampled: dict[tuple[float, float], int] = {}
    for one in releases:
        if isinstance(one, Gaussian) or (isinstance(one, PoissonGaussian) and one.sampling_rate == 1.0):
            terms.append(one.count / one.noise_multiplier**2)
        elif isinstance(one, PoissonGaussian):
            key = (one.sampling_rate, one.noise_multiplier)
            sampled[key] = sampled.get(key, 0) + one.count
    return math.fsum(terms), sampled


def _closed_form(precision: float, neighbouring: str) -> Curve:
    import dp_accounting as dp

    deviation = _scaled(precision**-0.5, neighbouring)

    def epsilon(delta: float) -> float:
        return float(dp.get_epsilon_gaussian(deviation, delta))

    return epsilon


def _scaled(noise: float, neighbouring: str) -> float:
    """Replacing a unit moves a sum by up to 2C, so the same noise is worth half as much."""
    return noise / 2.0 if neighbouring == REPLACE else noise


def _rdp(precision: float, sampled: dict[tuple[float, float], int], neighbouring: str) -> Curve:
    """Rényi accounting. dp-accounting 0.6 composes a Gaussian under replace-one as if it were add-or-remove; hence ``_scaled``."""
    if sampled and neighbouring == REPLACE:
        raise InvalidInput("accountant", f"rdp knows no Poisson sampling under {REPLACE}: use pld", "rdp")
    import dp_accounting as dp
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant()
    if precision:
        accountant.compose(dp.GaussianDpEvent(_scaled(precision**-0.5, neighbouring)))
    for (rate, noise), count in sampled.items():
        accountant.compose(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), count)
    return lambda delta: float(accountant.get_epsilon(delta))


def _pld(precision: float, sampled: dict[tuple[float, float], int], neighbouring: str, group: int) -> Curve:
    """Privacy loss distributions, on a grid that grows with the loss: else little noise would fill the memory.

    The grid only sets how tight the bound is, never whether it holds, so a first, coarse pass may choose it. Where even the same
    releases without sampling cost more than any grid can hold, their closed form is the answer: sampling never adds to the loss.
    """
    unsampled = precision + math.fsum(count / noise**2 for (_, noise), count in sampled.items())
    without = _closed_form(group**2 * unsampled, neighbouring)
    most = without(_TYPICAL_DELTA)
    if most > _LARGEST:
        return without
    rough = _pld_accountant(precision, sampled, neighbouring, group, _COARSE * max(1.0, most / 100.0)).get_epsilon(_TYPICAL_DELTA)
    width = _FINE * max(1.0, 5.0 * min(float(rough), most))
    accountant = _pld_accountant(precision, sampled, neighbouring, group, width)
    return lambda delta: float(accountant.get_epsilon(delta))


def _pld_accountant(precision: float, sampled: dict[tuple[float, float], int], neighbouring: str, group: int, width: float) -> Any:
    import dp_accounting as dp
    from dp_accounting import pld

    relations = {ADD_OR_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE, REPLACE: dp.NeighboringRelation.REPLACE_ONE}
    accountant = pld.PLDAccountant(relations[neighbouring], width)
    if precision:
        accountant.compose(dp.GaussianDpEvent(precision**-0.5 / group))
    for (rate, noise), count in sampled.items():
        event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)) if group == 1 else _grouped(rate, noise, group)
        accountant.compose(event, count)
    return accountant


def _grouped(rate: float, noise: float, group: int) -> Any:
    """Poisson sampling seen by ``group`` units: Binomial(group, rate) of them are in the sum, each with the full sensitivity."""
    from dp_accounting.dp_event import MixtureOfGaussiansDpEvent
    from scipy.stats import binom

    many = range(group + 1)
    return MixtureOfGaussiansDpEvent(noise, [float(one) for one in many], [float(binom.pmf(one, group, rate)) for one in many])


def _infinite(delta: float) -> float:
    return math.inf


def _zero(delta: float) -> float:
    return 0.0
