"""An empirical audit of private training: canary rounds, a membership attack, and a lower confidence bound on epsilon.

One run (Steinke, Nasr, Jagielski 2023). m canary rounds, each about an item of its own and each in the log with probability 1/2,
independently. The attacker knows the first and the last parameters and scores canary j by how far its item's parameters moved
against the canary's gradient. The best guesses give, by the theorem behind ``CanaryScoreAuditor.epsilon_one_run``, an epsilon that
the training exceeds with the stated confidence. If it is above what the ledger claims, the training is not what the ledger says.

A bound that stays below the claim proves nothing: this attack may be too weak. Beside it stand structural checks: as many entries
as steps that were asked for, counted from outside the run, and no change of the model between them.

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

__all__ = ["AuditReport", "Watched", "audit", "canary_facts", "canary_log", "canary_scores", "canary_towers"]

SIZES = (8, 2)
"""Hidden and embedding size of the audited towers: enough hidden units that no item tower is dead at the start."""

Start = Callable[[Towers, Facts, Log, int], PrivateSteps]
Drive = Callable[["Watched"], None]


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


class Watched:
    """A run as ``drive`` sees it: ``sampled``, ``arrivals`` and ``waiting``, counted from outside.

    Scope: none.
    """

    def __init__(self, run: PrivateSteps) -> None:
        self._run = run
        self._before = len(run.ledger)
        self._asked = 0
        self._last = run.model
        self._moved_between = False

    @property
    def waiting(self) -> int:
        """How many rounds the run has not read."""
        return self._run.waiting

    def sampled(self, rate: float) -> None:
        """One offline step."""
        self._counted(lambda: self._run.sampled(rate))

    def arrivals(self, count: int) -> None:
        """One streaming step."""
        self._counted(lambda: self._run.arrivals(count))

    def problems(self) -> list[str]:
        """What does not fit: calls, steps and entries; and a model that moved where no step was asked for."""
        recorded, out = len(self._run.ledger) - self._before, []
        if not recorded == self._run.steps == self._asked:
            out.append(f"{self._asked} steps were asked for, {self._run.steps} moved the model, {recorded} are in the ledger")
        if self._moved_between or self._run.model is not self._last:
            out.append("the model moved where no step was asked for")
        return out

    def _counted(self, step: Callable[[], None]) -> None:
        self._moved_between |= self._run.model is not self._last
        step()
        self._asked += 1
        self._last = self._run.model


def audit(
    start: Start, drive: Drive, *, canaries: int, rows: int, delta: float, seed: int, confidence: float = 0.95
) -> AuditReport:
    """Train once on a log of canaries and try to refute what the ledger of the run claims.

    ``start(model, facts, log, seed)`` makes the run, ``drive(run)`` asks it for its steps, through ``Watched``. ``rows`` is the
    number of rows of a canary round, which should be the most that the learner allows.
    """
    check_whole(canaries, "canaries", 2)
    if not 0.5 < confidence < 1.0:
        raise InvalidInput("confidence", "must lie strictly between .5 and 1", confidence)
    inside = np.random.default_rng([seed, 7]).random(canaries) < 0.5
    model = canary_towers(canaries, seed)
    facts, everyone = canary_facts(canaries), canary_log(np.ones(canaries, np.bool_), rows)
    run = start(model, facts, canary_log(inside, rows), seed)
    watched = Watched(run)
    drive(watched)
    scores = canary_scores(model, run.model, facts, everyone, rows)
    auditor = CanaryScoreAuditor(scores[inside], scores[~inside])
    lower = float(auditor.epsilon_one_run(1.0 - confidence, delta))
    claimed = run.ledger.epsilon(delta)
    problems = []
    if lower > claimed:
        problems.append(
            f"membership shows: ε is at least {lower:.3g} with confidence {confidence:g}, the ledger claims {claimed:.3g}"
        )
    return AuditReport(lower, claimed, delta, confidence, canaries, tuple(problems + watched.problems()))


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
    """A place for every canary; one outside the mask has no rows there.

    Canary j is ``rows`` rows of item j, all with response j mod 2, first of its user. Equal rows point the same way, so that a clip
    per item shows; responses that alternate keep the shared parameters from moving. A canary that is out leaves its place empty:
    it moves no other to another step, and the length of the log, a run's population, tells nothing about how many are in.
    """
    item = np.arange(inside.size, dtype=np.int32)
    return Log(
        np.repeat(item, rows), np.repeat(item % 2, rows).astype(np.float32), np.full(item.size * rows, 0.5, np.float32),
        np.tile(np.arange(rows, dtype=np.int32), item.size), item * rows, np.where(inside, rows, 0).astype(np.int32), item,
    )  # fmt: skip


def canary_scores(before: Towers, after: Towers, facts: Facts, everyone: Log, rows: int) -> Floats:
    """How far each canary's own parameters (embedding row and bias of its item) moved against its gradient at ``before``."""
    batch = neutral(gather(Log(*map(jnp.asarray, everyone)), jnp.arange(everyone.first.size), rows))
    grad = jax.jit(jax.grad(lambda model: pointwise_loss(model, facts, batch)))(before)  # items are disjoint: rows do not mix
    moved = (after.embedding - before.embedding, after.item_bias - before.item_bias)
    along = -(moved[0] * grad.embedding).sum(1) - moved[1] * grad.item_bias
    size = jnp.sqrt((grad.embedding**2).sum(1) + grad.item_bias**2)  # so that the noise in every score is of one size
    return np.asarray(along / size, np.float64)
