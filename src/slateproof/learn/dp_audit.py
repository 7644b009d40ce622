"""An empirical audit of private training: canary rounds, a membership attack, and a lower confidence bound on epsilon.

One run (Steinke, Nasr, Jagielski 2023). m canary rounds, each about an item of its own and each in the log with probability 1/2,
independently. The attacker knows the first and the last parameters and scores canary j by how far its item's parameters moved
against the canary's gradient. The best guesses give, by the theorem behind ``CanaryScoreAuditor.epsilon_one_run``, an epsilon that
the training exceeds with the stated confidence. If it is above what the ledger claims, the training is not what the ledger says.

A bound that stays below the claim proves nothing: this attack may be too weak. Beside it stands one structural check, that as many
steps are recorded as have moved the model.

Scope: stability of a claim only; an audit refutes claims and never makes one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor

from slateproof.errors import InvalidInput
from slateproof.learn.checks import check_whole
from slateproof.learn.dp_step import PrivateSteps
from slateproof.learn.two_tower_data import Log, gather, neutral
from slateproof.learn.two_tower_model import Facts, Towers, pointwise_loss
from slateproof.types.columns import Floats

__all__ = ["AuditReport", "audit", "canary_facts", "canary_log", "canary_scores", "canary_towers"]

SIZES = (8, 2)
"""Hidden and embedding size of the audited towers: enough hidden units that no item tower is dead at the start."""

Train = Callable[[Towers, Facts, Log, int], PrivateSteps]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """``lower`` is the bound, ``claimed`` the ledger's epsilon at ``delta``; ``problems`` is empty where nothing was refuted.

    Scope: none; a measurement.
    """

    lower: float
    claimed: float
    delta: float
    confidence: float
    canaries: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the claim survived."""
        return not self.problems

    def to_text(self) -> str:
        """One line, and one for each problem."""
        head = (
            f"claimed ε {self.claimed:.3g}, at least {self.lower:.3g} with confidence {self.confidence:g} "
            f"(δ {self.delta:g}, {self.canaries} canaries)"
        )
        return "\n".join([head, *(f"PROBLEM: {line}" for line in self.problems)])


def audit(train: Train, *, canaries: int, rows: int, delta: float, seed: int, confidence: float = 0.95) -> AuditReport:
    """Train once on a log of canaries with ``train(model, facts, log, seed)`` and try to refute what its ledger claims.

    ``rows`` is the number of rows of a canary round, which should be the most that the learner allows.
    """
    check_whole(canaries, "canaries", 2)
    if not 0.5 < confidence < 1.0:
        raise InvalidInput("confidence", "must lie strictly between .5 and 1", confidence)
    inside = np.random.default_rng([seed, 7]).random(canaries) < 0.5
    model = canary_towers(canaries, seed)
    facts, everyone = canary_facts(canaries), canary_log(np.ones(canaries, np.bool_), rows)
    run = train(model, facts, canary_log(inside, rows), seed)
    scores = canary_scores(model, run.model, facts, everyone, rows)
    auditor = CanaryScoreAuditor(scores[inside], scores[~inside])
    lower = float(auditor.epsilon_one_run(1.0 - confidence, delta))
    claimed = run.ledger.epsilon(delta)
    problems = []
    if lower > claimed:
        problems.append(
            f"membership shows: ε is at least {lower:.3g} with confidence {confidence:g}, the ledger claims {claimed:.3g}"
        )
    if len(run.ledger) != run.steps:
        problems.append(f"{run.steps} steps moved the model, {len(run.ledger)} are in the ledger")
    return AuditReport(lower, claimed, delta, confidence, canaries, tuple(problems))


def canary_towers(canaries: int, seed: int) -> Towers:
    """Where the audited training starts. The attacker chooses it, and chooses it so that a canary's gradient is mostly its own.

    Item vectors have unit length: the smaller an embedding, the larger its gradient, and the larger the layer behind it, the
    smaller that layer's. The median share of a canary's gradient norm that lies in its own embedding row and bias is above .99.
    """
    fresh = Towers.new(canaries, 0, *SIZES, jax.random.key(seed))
    start = (1e-3 * fresh.embedding, 100.0 * fresh.item_first, jnp.zeros(SIZES[0]))
    return eqx.tree_at(lambda m: (m.embedding, m.item_first, m.item_first_bias), fresh, start)


def canary_facts(canaries: int) -> Facts:
    """A catalogue of one item per canary, without tags."""
    return Facts(jnp.full(canaries, 0.5), jnp.zeros((canaries, 0)))


def canary_log(inside: np.ndarray, rows: int) -> Log:
    """The rounds of the canaries in the mask: canary j is ``rows`` rows of item j, all with response j mod 2, first of its user.

    Equal rows point the same way, so that a clip per item shows; responses that alternate keep the shared parameters from moving.
    """
    item = np.flatnonzero(inside).astype(np.int32)
    place = np.arange(item.size, dtype=np.int32)
    return Log(
        np.repeat(item, rows), np.repeat(item % 2, rows).astype(np.float32), np.full(item.size * rows, 0.5, np.float32),
        np.tile(np.arange(rows, dtype=np.int32), item.size), place * rows, np.full(item.size, rows, np.int32), place,
    )  # fmt: skip


def canary_scores(before: Towers, after: Towers, facts: Facts, everyone: Log, rows: int) -> Floats:
    """How far each canary's own parameters (embedding row and bias of its item) moved against its gradient at ``before``."""
    batch = neutral(gather(Log(*map(jnp.asarray, everyone)), jnp.arange(everyone.first.size), rows))
    grad = jax.jit(jax.grad(lambda model: pointwise_loss(model, facts, batch)))(before)  # items are disjoint: rows do not mix
    moved = (after.embedding - before.embedding, after.item_bias - before.item_bias)
    along = -(moved[0] * grad.embedding).sum(1) - moved[1] * grad.item_bias
    size = jnp.sqrt((grad.embedding**2).sum(1) + grad.item_bias**2)  # so that the noise in every score is of one size
    return np.asarray(along / size, np.float64)
