"""Operator L inside the loop: scorers on one scale, an anchor mixed in, disturbed updates.

*Scale.* The selector's constants (target gain, novelty) are written for scores in [0, 1]. Scorers that give logits are passed
through the sigmoid; the others are used as they come. With an anchor, both parts are standardised within the pool and the mix is
put back on the adaptive part's scale,

    mu = mean_a + sd_a (w z_anchor + (1 - w) z_adaptive),    widths (1 - w) sigma,

so that w = 0 is the adaptive mode itself and the constants keep their meaning. Uncertainty u is a ratio of widths to their
reference, so it is taken from the adaptive part's own widths: the factor 1 - w would cancel, were it not for the floor.

Scope: that of the parts; anchored where the anchor was fitted on protected data without privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from slateproof.errors import InvalidInput
from slateproof.learn.blend import standardised
from slateproof.learn.protocol import Context, Feedback, Scorer, Scores
from slateproof.privacy import Ledger
from slateproof.simulate.draws import Draws
from slateproof.simulate.modes import PRIVATE, TIERS, Mode
from slateproof.simulate.responses.core import sigmoid
from slateproof.types.columns import Floats, Ints

__all__ = ["Mixed", "Scoring", "scoring_of", "width_reference"]

REFERENCE_QUANTILE = 0.95
"""sigma_ref is this quantile of training widths."""

LOGITS = ("two-tower", PRIVATE)
"""Scorers without a ``scale`` of their own whose scores are logits."""


class Session(NamedTuple):
    """S sessions of a mode: what its parts hold, and what ran under differential privacy."""

    adaptive: Any
    anchor: Any
    ledger: Ledger | None


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Scores on the selector's scale (S, n), their ``widths``, and the adaptive part's ``own`` widths; None where it knows none.

    Scope: that of the parts.
    """

    scores: Floats
    widths: Floats | None
    own: Floats | None


@dataclass(frozen=True, slots=True)
class Scoring:
    """The scorers of a mode, ready to run. A session is the parts' sessions, None where a part is missing, and the ledger so far.

    Scope: that of the parts.
    """

    mode: Mode
    adaptive: Scorer | None
    anchor: Scorer | None

    @property
    def name(self) -> str:
        """What errors call it."""
        return " + ".join(part.name for part in (self.adaptive, self.anchor) if part is not None) or "no scorer"

    def begin(self, context: Context, seed: int) -> Session:
        """Fresh sessions."""
        adaptive, anchor = (None if part is None else part.begin(context, seed) for part in (self.adaptive, self.anchor))
        return Session(adaptive, anchor, None if self.adaptive is None else self.adaptive.ledger)

    def score(self, session: Session, context: Context, items: Ints) -> Mixed:
        """Scores on the selector's scale.

        Refuses a part that returns scores or widths that are no finite numbers, or negative widths; ``where`` of the refusal is
        (the part's name, the row).
        """
        if self.adaptive is None:
            return Mixed(np.zeros(items.shape), None, None)
        own = _checked(self.adaptive, session.adaptive, context, items)
        scores = _on_scale(self.adaptive, own.scores)
        if self.anchor is None:
            return Mixed(scores, own.widths, own.widths)
        weight = self.mode.anchor_weight
        anchored, _ = standardised(_checked(self.anchor, session.anchor, context, items).scores)
        adaptive, scale = standardised(scores)
        middle = scores.mean(axis=1, keepdims=True)
        mixed = middle + scale[:, None] * (weight * anchored + (1.0 - weight) * adaptive)
        return Mixed(mixed, None if own.widths is None else (1.0 - weight) * own.widths, own.widths)

    def update(self, session: Session, context: Context, feedback: Feedback, draws: Draws, keys: Any, t: int) -> Session:
        """The adaptive part learns, disturbed where the mode has a tier; the anchor stays as it is."""
        if self.adaptive is None or not self.mode.updates:
            return session
        before, tier = session.adaptive, self.mode.tier
        if self.mode.verified:
            assert tier is not None
            # A private scorer ignores feedback; what it would have learned is computed here, to be clipped and noised.
            raw = replace(self.adaptive, ledger=None).update(before, context, feedback)  # type: ignore[type-var]
            moved = _disturbed(self.adaptive, before, raw, tier, draws, keys, t)
            return session._replace(adaptive=before._replace(**moved), ledger=_recorded(session.ledger, tier, keys.size, t))
        after = self.adaptive.update(before, context, feedback)
        if tier is not None:
            # History and widths stay raw: a nominal tier is a stress test, not a mechanism.
            after = after._replace(**_disturbed(self.adaptive, before, after, tier, draws, keys, t))
        return session._replace(adaptive=after)


def scoring_of(mode: Mode, scorers: Mapping[str, Scorer]) -> Scoring:
    """The mode with its fitted scorers, by learner name."""
    parts = [None if name is None else scorers[name] for name in (mode.learner, mode.anchor)]
    if mode.tier is not None and not hasattr(parts[0], "online"):
        raise InvalidInput("modes.tier", "needs the two-tower: only its online update has a gradient to disturb", mode.learner)
    if mode.verified and getattr(parts[0], "ledger", None) is None:
        raise InvalidInput("modes.verified", "needs a learner with a ledger", mode.learner)
    return Scoring(mode, *parts)


def _checked(part: Scorer, session: Any, context: Context, items: Ints) -> Scores:
    """A part's scores; what is wrong with them is said with its name and the row."""
    try:
        found = part.score(session, context, items)
    except InvalidInput as why:
        row = why.where[0] if isinstance(why.where, tuple) else 0
        raise InvalidInput(why.field, why.rule, why.value, where=(part.name, row)) from why
    _all(part, "scores", "must be finite", found.scores, np.isfinite(found.scores))
    if found.widths is not None:
        good = np.isfinite(found.widths) & (found.widths >= 0.0)
        _all(part, "widths", "must be finite and at least 0", found.widths, good)
    return found


def _all(part: Scorer, field: str, rule: str, values: Floats, good: Any) -> None:
    if not good.all():
        row, place = (int(v) for v in np.argwhere(~good)[0])
        raise InvalidInput(field, rule, float(values[row, place]), where=(part.name, row))


def _on_scale(scorer: Scorer, scores: Floats) -> Floats:
    scale = getattr(scorer, "scale", "logit" if scorer.name in LOGITS else "none")
    return np.asarray(sigmoid(scores)) if scale == "logit" else scores


def _recorded(ledger: Ledger | None, tier: str, sessions: int, t: int) -> Ledger:
    """The ledger with one release: rounds numbered t * sessions to (t + 1) * sessions - 1, each used here and never again.

    A round's number is its place in the timetable, whether anything was answered or not.
    """
    assert ledger is not None
    now = ledger.merge(Ledger(ledger.unit, ledger.neighbouring))
    span = (t * sessions, (t + 1) * sessions)
    now.record_streaming(noise_multiplier=TIERS[tier].noise, span=span, stream="live rounds")
    return now


def _disturbed(scorer: Any, before: Any, after: Any, tier: str, draws: Draws, keys: Any, t: int) -> dict[str, Any]:
    """Offset and level after the round's gradient, clipped to C, with N(0, sigma^2 C^2) added to each of its numbers."""
    how, rate = TIERS[tier], scorer.online.rate
    step = [np.asarray(getattr(after, name) - getattr(before, name), np.float64) / rate for name in ("offset", "level")]
    gradient = np.column_stack(step)
    norm = np.linalg.norm(gradient, axis=1, keepdims=True)
    gradient *= np.minimum(1.0, how.clip / np.maximum(norm, 1e-300))
    places = np.tile(np.arange(gradient.shape[1]), (gradient.shape[0], 1))
    noise = ndtri(draws.uniforms("tier", keys, t, places))
    gradient += how.noise * how.clip * noise
    moved = (rate * gradient).astype(np.float32)
    return {"offset": before.offset + moved[:, :-1], "level": before.level + moved[:, -1]}


def width_reference(scoring: Scoring, users: Ints, pools: Ints, floor: float, seed: int) -> float | None:
    """sigma_ref: the 95th percentile of the adaptive part's widths, in fresh sessions of training ``users`` (S,) on training
    ``pools`` (S, n), at least ``floor``.

    None where the scorer knows no uncertainty. Public to the run: fixed before any evaluation. Refuses what ``score`` refuses.
    """
    half = np.full(users.size, 0.5)
    context = Context(users, half, half, half)
    widths = scoring.score(scoring.begin(context, seed), context, pools).own
    return None if widths is None else max(floor, float(np.quantile(widths, REFERENCE_QUANTILE)))
