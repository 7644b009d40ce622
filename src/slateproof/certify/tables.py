"""Tables over many rounds: the share that each rung certifies, radii and flip probabilities.

``certificates`` needs whole slates (a replay-level log), ``from_margins`` only margins and levers (a monitor-level log); what
it cannot tell is left out, with the reason in ``notes``.

Scope: stability only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify.certificate import Certificate
from slateproof.certify.checks import positive, share_of_noise
from slateproof.certify.columns import radii
from slateproof.certify.figure import share_lines
from slateproof.certify.make import certify
from slateproof.certify.prospective import subgaussian_bound
from slateproof.certify.setchoice import SetCertificate
from slateproof.errors import InvalidInput
from slateproof.types import Slate
from slateproof.types.columns import Floats

__all__ = ["Table", "certificates", "from_margins"]

RUNGS = ("flip_bound", "flip_union", "flip_probability")
"""Figures about the probability of a change, loosest first."""

NEEDS_POOL = "needs scores and similarities: a replay-level log"
NEEDS_STEPS = "SCPO rounds have no stepwise gaps: union and probability leave them out"


@dataclass(frozen=True, slots=True)
class Table:
    """``rows``: one dict per round; ``summary``: one dict over all rounds; ``notes``: what is missing and why.

    Scope: stability only.
    """

    rows: tuple[dict[str, Any], ...]
    summary: dict[str, Any]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON (infinite radii as None)."""
        clean = [{name: _finite(value) for name, value in row.items()} for row in self.rows]
        return {"summary": {n: _finite(v) for n, v in self.summary.items()}, "rows": clean, "notes": list(self.notes)}

    def to_text(self, limit: int = 20) -> str:
        """The summary, then the first ``limit`` rounds, aligned; bounds shown as min(1, bound)."""
        width = max(len(name) for name in self.summary)
        lines = [f"{name:<{width}}  {_shown(name, value)}" for name, value in self.summary.items()]
        if self.rows:
            names = list(self.rows[0])
            lines += ["", "  ".join(f"{name:>12}" for name in names)]
            lines += ["  ".join(f"{_shown(name, row[name]):>12}" for name in names) for row in self.rows[:limit]]
            if len(self.rows) > limit:
                lines.append(f"... {len(self.rows) - limit} more rounds")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_svg(self) -> str:
        """Share of rounds whose figure is at most p, one line per rung that the table has; SVG source."""
        columns = {rung: [row[rung] for row in self.rows if row.get(rung) is not None] for rung in RUNGS}
        return share_lines({rung: values for rung, values in columns.items() if values})

    def __str__(self) -> str:
        return self.to_text()


def certificates(slates: Iterable[Slate], sigma: float, anchor_weight: float = 0.0, *, draws: int = 0, seed: int = 0) -> Table:
    """One row per slate: margin, radius, the paper's bound, the union bound, the flip probability with its error.

    With ``draws`` > 0 each round is also perturbed that often by noise of ``sigma``, and the shares that the norm check certifies
    and that the exact check finds unchanged stand side by side (``norm``, ``exact``).

    Scope: stability only; prospective figures are only as true as the assumed noise.
    """
    deviation, share = positive(sigma, "sigma"), share_of_noise(anchor_weight)
    rng, rows, notes = np.random.default_rng(seed), [], []
    for place, slate in enumerate(slates):
        certificate = certify(slate)
        row = {"round": place, "items": slate.pool.size, "size": len(slate), **_plain(certificate, deviation * share)}
        if isinstance(certificate, SetCertificate):
            row |= {"flip_union": None, "flip_probability": None, "error": None}
            notes.append(NEEDS_STEPS)
        else:
            estimate = certificate.flip_probability(deviation, anchor_weight=anchor_weight, seed=seed)
            union = certificate.flip_union(deviation, anchor_weight)
            row |= {"flip_union": union, "flip_probability": float(estimate), "error": estimate.error}
        if draws > 0:
            noise = rng.normal(0.0, deviation * share, (draws, slate.pool.size))
            rates = certificate.rates(slate.pool.scores + noise)
            row |= {"norm": rates["norm"], "exact": rates["exact"]}
        rows.append(row)
    return Table(tuple(rows), _summary(rows, deviation, anchor_weight), tuple(dict.fromkeys(notes)))


def from_margins(
    margins: Sequence[Any], diversity: Sequence[float], items: Sequence[int], sigma: float, anchor_weight: float = 0.0,
    *, magnitude: float = 1.0,
) -> Table:  # fmt: skip
    """The same table from a monitor-level log: margins per round (one array of K each), lambda and pool size per round.

    ``magnitude`` bounds |mu| + eta_tg + alpha sigma, for the rounding. Union bound and flip probability need the pool and are
    None.

    Scope: stability only.
    """
    if not len(margins) == len(diversity) == len(items):
        raise InvalidInput("margins", "margins, diversity and items must have one entry per round", len(margins))
    deviation, share = positive(sigma, "sigma"), share_of_noise(anchor_weight)
    smallest = np.array([float(np.min(row)) for row in margins])
    lower, radius = radii(smallest, np.asarray(diversity, np.float64), np.float64(magnitude), similarity_error=1e-13)
    rows = []
    for place, (margin, reach, n) in enumerate(zip(lower.tolist(), radius.tolist(), items, strict=True)):
        bound = _bound(int(n), margin, reach, deviation * share)
        rows.append({"round": place, "items": int(n), "margin": margin, "radius": reach, "flip_bound": bound})
    missing = tuple(f"{name}: {NEEDS_POOL}" for name in ("flip_union", "flip_probability", "exact check"))
    return Table(tuple(rows), _summary(rows, deviation, anchor_weight), missing)


def _plain(certificate: Certificate, noise: float) -> dict[str, Any]:
    bound = _bound(certificate.slate.pool.size, certificate.margin, certificate.radius, noise)
    return {"margin": certificate.margin, "radius": certificate.radius, "flip_bound": bound}


def _bound(items: int, margin: float, radius: float, noise: float) -> float | None:
    """The paper's bound; None where its premise (a positive margin) is missing; 0 where no noise arrives."""
    if noise == 0.0 or math.isinf(radius):
        return 0.0
    return None if margin == 0.0 else subgaussian_bound(items, radius, noise)


def _summary(rows: Sequence[dict[str, Any]], sigma: float, anchor_weight: float) -> dict[str, Any]:
    """Shares with a figure below .05, by rung, and medians."""
    out: dict[str, Any] = {"rounds": len(rows), "sigma": sigma, "anchor_weight": anchor_weight}
    if not rows:
        return out
    out["median_margin"], out["median_radius"] = _median(rows, "margin"), _median(rows, "radius")
    out["positive_margin"] = float(np.mean([row["margin"] > 0.0 for row in rows]))
    for rung in RUNGS:
        if rung in rows[0]:
            out[f"median_{rung}"] = _median(rows, rung)
            known = [row[rung] <= 0.05 for row in rows if row[rung] is not None]
            out[f"{rung}_at_most_05"] = sum(known) / len(rows) if known else None
    for check in ("norm", "exact"):
        if check in rows[0]:
            out[f"{check}_check_share"] = float(np.mean([row[check] for row in rows]))
    return out


def _median(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    values: Floats = np.array([row[name] for row in rows if row[name] is not None], np.float64)
    if values.size == 0:
        return None
    # The lower median: no mean of a number and an infinity.
    return float(np.sort(values)[(values.size - 1) // 2])


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{min(1.0, value):.6g}" if name.endswith(("flip_bound", "flip_union")) else f"{value:.6g}"
    return str(value)
