"""Tables over many rounds: the share that each rung certifies, radii and flip probabilities.

``certificates`` needs whole slates (a replay-level log), ``from_margins`` only margins and levers (a monitor-level log); what
it cannot tell is left out, with the reason in ``notes``.

Scope: stability only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from slateproof.certify.certificate import Certificate
from slateproof.certify.checks import floats, fraction, positive, share_of_noise
from slateproof.certify.columns import radii
from slateproof.certify.make import certify
from slateproof.certify.prospective import subgaussian_bound
from slateproof.certify.setchoice import SetCertificate
from slateproof.certify.table import Table, summary_of
from slateproof.errors import InvalidInput
from slateproof.types import Slate

__all__ = ["Table", "certificates", "from_margins"]

NEEDS_POOL = "needs scores and similarities: a replay-level log"
MAX_FLIP = 0.05


def certificates(
    slates: Iterable[Slate], sigma: float, anchor_weight: float = 0.0, *, draws: int = 0, seed: int = 0,
    max_flip: float = MAX_FLIP, set_flips: bool | Callable[[int], bool] = False,
) -> Table:  # fmt: skip
    """Certificates of many rounds under independent score noise of standard deviation ``sigma``: one row per round.

    A row has margin, radius, the paper's bound, the union bound, the flip probability with its error. With ``draws`` each slate is
    perturbed that often, and the row has the share that the norm check certifies beside the share that stays (exact check).
    ``set_flips`` adds the probability that the *set* changes (all similarities of a pool, some 4,096 selections each): for all
    rounds, or for those whose number it says yes to. ``max_flip`` is the probability that the summary counts rounds against.

    Scope: stability only; prospective figures are only as true as the assumed noise.
    """
    deviation, share, target = positive(sigma, "sigma"), share_of_noise(anchor_weight), fraction(max_flip, "max_flip")
    rng, rows = np.random.default_rng(seed), []
    sets = conditional = 0
    for place, slate in enumerate(slates):
        certificate = certify(slate)
        row = {"round": place, "items": slate.pool.size, "size": len(slate), **_plain(certificate, deviation * share)}
        wanted = set_flips(place) if callable(set_flips) else set_flips
        row |= _prospective(certificate, deviation, anchor_weight, seed, wanted)
        if set_flips is False:
            del row["set_flip_probability"], row["set_error"]
        if draws > 0:
            noise = rng.normal(0.0, deviation * share, (draws, slate.pool.size))
            rates = certificate.rates(slate.pool.scores + noise)
            row |= {"norm": rates["norm"], "exact": rates["exact"]}
        rows.append(row)
        if isinstance(certificate, SetCertificate):
            sets, conditional = sets + 1, conditional + (not certificate.budget_free)
    return Table(tuple(rows), summary_of(rows, deviation, anchor_weight, target), _notes(sets, conditional))


def _prospective(certificate: Certificate, sigma: float, anchor_weight: float, seed: int, sets: bool) -> dict[str, float | None]:
    """Union bound and probabilities; None where there are no stepwise gaps, or no figure about the set is asked for."""
    row: dict[str, float | None] = dict.fromkeys(("flip_union", "flip_probability", "error", "set_flip_probability", "set_error"))
    if isinstance(certificate, SetCertificate):
        return row
    estimate = certificate.flip_probability(sigma, anchor_weight=anchor_weight, seed=seed)
    row |= {
        "flip_union": certificate.flip_union(sigma, anchor_weight),
        "flip_probability": float(estimate),
        "error": estimate.error,
    }
    if sets:
        estimate = certificate.set_flip_probability(sigma, anchor_weight=anchor_weight, seed=seed)
        row |= {"set_flip_probability": float(estimate), "set_error": estimate.error}
    return row


def _notes(sets: int, conditional: int) -> tuple[str, ...]:
    notes = []
    if sets:
        notes.append(f"flip_union, flip_probability: {sets} SCPO rounds are left out, one choice among sets has no stepwise gaps")
    if conditional:
        notes.append(
            f"radius, flip_bound: in {conditional} SCPO rounds they hold where the search under the other scores completes, too "
            "(its slate says so); only there could other scores exhaust the node budget"
        )
    return tuple(notes)


def from_margins(
    margins: Sequence[Any], diversity: Any, items: Sequence[int], sigma: float, anchor_weight: float = 0.0, *,
    magnitude: Any = 1.0, novelty: Any = 0.0, similarity: Any = 1.000003, similarity_error: Any = 1e-13, max_flip: float = MAX_FLIP,
) -> Table:  # fmt: skip
    """The same table from a monitor-level log: margins per round (one array of K each), lambda and pool size per round.

    Four bounds stand for what such a log does not hold, and every figure is only as true as they are; each is one number or one
    per round. ``magnitude`` bounds |mu| + eta_tg + alpha sigma, ``novelty`` nu, ``similarity`` the similarities in size and
    ``similarity_error`` their rounding (see ``radii``; the defaults fit unit vectors of up to 800 dimensions, tags, and matrices
    with entries in [-1, 1]). Union bound and flip probability need the pool and are left out.

    Scope: stability only.
    """
    if not len(margins) == len(items):
        raise InvalidInput("margins", "margins, diversity and items must have one entry per round", len(margins))
    if np.ndim(diversity) == 1 and len(diversity) != len(margins):
        raise InvalidInput("diversity", "margins, diversity and items must have one entry per round", len(diversity))
    deviation, share, target = positive(sigma, "sigma"), share_of_noise(anchor_weight), fraction(max_flip, "max_flip")
    smallest = np.array([_smallest(row, place) for place, row in enumerate(margins)])
    sizes = [_items(n, len(row), place) for place, (n, row) in enumerate(zip(items, margins, strict=True))]
    lower, radius = radii(smallest, diversity, magnitude, novelty=novelty, similarity=similarity, similarity_error=similarity_error)
    rows = []
    for place, (margin, reach, n) in enumerate(zip(lower.tolist(), radius.tolist(), sizes, strict=True)):
        bound = _bound(n, margin, reach, deviation * share)
        rows.append(
            {"round": place, "items": n, "size": len(margins[place]), "margin": margin, "radius": reach, "flip_bound": bound}
        )
    missing = tuple(f"{name}: {NEEDS_POOL}" for name in ("flip_union", "flip_probability", "set_flip_probability", "exact check"))
    return Table(tuple(rows), summary_of(rows, deviation, anchor_weight, target), missing)


def _smallest(row: Any, place: int) -> float:
    """The smallest margin of a round; refuses no margins at all, and what is not a row of numbers."""
    values = floats(row, "margins")
    if values.ndim != 1 or values.size == 0 or np.isnan(values).any():
        raise InvalidInput("margins", "must be a row of numbers per round, one per step", values.shape, where=place)
    return float(values.min())


def _items(n: Any, size: int, place: int) -> int:
    if isinstance(n, (bool, np.bool_)) or not isinstance(n, (int, np.integer)) or n < size:
        raise InvalidInput("items", f"must be a whole number of candidates, at least the {size} chosen", n, where=place)
    return int(n)


def _plain(certificate: Certificate, noise: float) -> dict[str, Any]:
    bound = _bound(certificate.slate.pool.size, certificate.margin, certificate.radius, noise)
    return {"margin": certificate.margin, "radius": certificate.radius, "flip_bound": bound}


def _bound(items: int, margin: float, radius: float, noise: float) -> float | None:
    """The paper's bound; None where its premise (a positive margin) is missing; 0 where no noise arrives."""
    if noise == 0.0 or math.isinf(radius):
        return 0.0
    return None if margin == 0.0 else subgaussian_bound(items, radius, noise)
