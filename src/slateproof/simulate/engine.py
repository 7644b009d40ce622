"""The closed loop: pool, scores, state, levers, slate, responses, update; all sessions of a mode at once, round by round.

Scope: conditional; the state is made from raw simulated responses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from slateproof.errors import InvalidInput
from slateproof.learn.protocol import Context, Feedback
from slateproof.select import Preset
from slateproof.simulate.agreement import agreement
from slateproof.simulate.draws import Draw
from slateproof.simulate.modes import Mode
from slateproof.simulate.plan import Plan, World
from slateproof.simulate.pools import matched_pools
from slateproof.simulate.record import Recorder, Rounds
from slateproof.simulate.responses import Response, Shown
from slateproof.simulate.scoring import Mixed, Scoring, width_reference
from slateproof.simulate.state import Observed, round_of, uncertainty
from slateproof.types import PoolBatch, SlateBatch, StateBatch
from slateproof.types.columns import Floats, Ints, frozen

__all__ = ["RoundLog", "Stopwatch", "Ticker", "play"]

Ticker = Callable[[int], None]
"""Called after every round with the number of sessions that advanced."""

REFERENCE_SESSIONS = 256
"""How many fresh training sessions give sigma_ref."""


class RoundLog(Protocol):
    """Where traces go: an ``AuditLog``."""

    def append_batch(
        self, slates: SlateBatch, *, round_ids: Iterable[str | int | None] | None, subjects: Iterable[str | int | None] | None
    ) -> None:
        """Take the slates of one round."""
        ...

    def commit(self) -> Any:
        """Make what was taken durable."""
        ...


class Stopwatch:
    """Seconds per part of the loop."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Add the time since the last call to ``part``."""
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._last
        self._last = now


@dataclass(slots=True)
class _Loop:
    """One mode on one plan; the only thing here that changes."""

    mode: Mode
    world: World
    plan: Plan
    constants: Preset
    scoring: Scoring
    reference: float | None
    observed: Observed
    minds: Any
    people: list[Any]
    doubt: Floats
    clock: Stopwatch


def play(
    mode: Mode,
    world: World,
    plan: Plan,
    constants: Preset,
    scoring: Scoring,
    *,
    log: RoundLog | None = None,
    ticker: Ticker | None = None,
    clock: Stopwatch | None = None,
    threads: int | None = None,
) -> Rounds:
    """Play all rounds of all sessions under one mode.

    Refused, with session, round and learner named: scores or widths that are not finite numbers, negative widths. A pool smaller
    than the largest slate is refused before the first round. With a ``log`` every slate is appended, and committed at the end.
    """
    largest = mode.largest_size(constants)
    if plan.pools.shape[2] < largest:
        raise InvalidInput("pool_size", f"must be at least {largest}, the largest slate of mode {mode.name}", plan.pools.shape[2])
    loop = _open(mode, world, plan, constants, scoring, clock or Stopwatch())
    recorder = Recorder(plan, world, largest, noisy=mode.score_noise > 0.0)
    for t in range(plan.rounds):
        _round(loop, t, recorder, log, threads)
        if ticker is not None:
            ticker(len(plan.sessions))
    if log is not None:
        log.commit()
        loop.clock.lap("log")
    return recorder.rounds(mode, constants, loop.minds.ledger)


def _open(mode: Mode, world: World, plan: Plan, constants: Preset, scoring: Scoring, clock: Stopwatch) -> _Loop:
    size = plan.pools.shape[2]
    number = np.arange(REFERENCE_SESSIONS, dtype=np.uint64)
    users = world.users[np.arange(REFERENCE_SESSIONS) % world.users.size]
    pools = matched_pools(plan.draws, number, 1, len(world.catalog), size, "width reference")[0]
    try:
        reference = width_reference(scoring, users, pools, constants.width_floor, plan.draws.seed)
    except InvalidInput as why:
        raise _named(why, mode, "width reference") from why
    sessions = len(plan.sessions)
    half = np.full(sessions, 0.5)
    begun = scoring.begin(Context(plan.users, half, half, half), plan.draws.seed)
    people = [model.begin(*plan.start(rows)) for model, rows in plan.groups()]
    clock.lap("begin")
    observed = Observed.nothing(sessions, len(world.catalog), constants.memory)
    return _Loop(mode, world, plan, constants, scoring, reference, observed, begun, people, half, clock)


def _round(loop: _Loop, t: int, recorder: Recorder, log: RoundLog | None, threads: int | None) -> None:
    mode, plan, clock = loop.mode, loop.plan, loop.clock
    items = plan.pools[t]
    context = _context(loop)
    clean = _scores(loop, context, items, t)
    scores = clean if mode.score_noise == 0.0 else _noisy(loop, clean, items, t)
    clock.lap("score")
    loop.doubt = uncertainty(clean.own, loop.reference, len(plan.sessions))
    states = _states(loop)
    levers = mode.lever_columns(loop.constants, states.engagement, states.uncertainty)
    operator = mode.operator(loop.constants)
    slates = operator.select_batch(_pools(loop, items, scores), levers, states, trace=log is not None, threads=threads)
    same = None
    if scores is not clean:
        before = operator.select_batch(_pools(loop, items, clean), levers, states, trace=False, threads=threads)
        same = agreement(clean.scores, scores.scores, before.chosen, slates.chosen, slates.starts)
    clock.lap("select")
    if log is not None:
        labels = [f"{mode.name}/{one.label}" for one in plan.sessions]
        log.append_batch(slates, round_ids=[t] * len(labels), subjects=labels)
        clock.lap("log")
    shown, ids = _shown(loop, slates, items, t)
    response, before_ability = _respond(loop, shown, t)
    clock.lap("respond")
    feedback = Feedback(shown.items, response.attempted, response.correct)
    loop.minds = loop.scoring.update(loop.minds, context, feedback, plan.draws, plan.keys, t)
    clock.lap("update")
    attempted, correct = round_of(response)
    loop.observed = loop.observed.after(shown.items, ids, attempted, correct)
    recorder.add(t, slates, levers, states, shown, response, before_ability, _latent(loop), same)
    clock.lap("record")


def _context(loop: _Loop) -> Context:
    """What the scorer is told: the state, with u of the round before, because this round's u comes from its own widths."""
    half = np.full(len(loop.plan.sessions), 0.5)
    if loop.mode.open_loop:
        return Context(loop.plan.users, half, half, half)
    return Context(loop.plan.users, loop.observed.knowledge, loop.observed.engagement, loop.doubt)


def _states(loop: _Loop) -> StateBatch:
    half = np.full(len(loop.plan.sessions), 0.5)
    if loop.mode.open_loop:
        return StateBatch(half, half, half, loop.observed.shown)
    return StateBatch(loop.observed.knowledge, loop.observed.engagement, loop.doubt, loop.observed.shown)


def _scores(loop: _Loop, context: Context, items: Ints, t: int) -> Mixed:
    """Checked scores, with the width floor; the first wrong one is named."""
    try:
        found = loop.scoring.score(loop.minds, context, items)
    except InvalidInput as why:
        session = loop.plan.sessions[why.where[1]] if isinstance(why.where, tuple) else loop.plan.sessions[0]
        raise _named(why, loop.mode, f"session {session.label}, round {t}") from why
    floor = loop.constants.width_floor
    widths, own = (None if one is None else np.maximum(floor, one) for one in (found.widths, found.own))
    return Mixed(found.scores, widths, own)


def _named(why: InvalidInput, mode: Mode, place: str) -> InvalidInput:
    """A scorer's refusal with learner, mode and place; ``where`` is (learner, row), as ``Scoring.score`` gives it."""
    learner = why.where[0] if isinstance(why.where, tuple) else mode.learner
    return InvalidInput(why.field, why.rule, why.value, where=f"learner {learner}, mode {mode.name}, {place}")


def _noisy(loop: _Loop, clean: Mixed, items: Ints, t: int) -> Mixed:
    """(1 - w) sigma n added to the mix: noise of standard deviation sigma on the adaptive score, the same n in every mode."""
    normal = ndtri(loop.plan.draws.uniforms("score noise", loop.plan.keys, t, items))
    scale = (1.0 - loop.mode.anchor_weight) * loop.mode.score_noise
    if loop.scoring.mode.learner is None:
        scale = 0.0
    return replace(clean, scores=clean.scores + scale * normal)


def _pools(loop: _Loop, items: Ints, scores: Mixed) -> PoolBatch:
    """The pools as columns; scores and widths were checked, items are catalogue rows without repeats."""
    catalog, rows = loop.world.catalog, frozen(np.ascontiguousarray(items.reshape(-1)))
    widths = None if scores.widths is None else frozen(np.ascontiguousarray(scores.widths.reshape(-1)))
    return PoolBatch(
        offsets=frozen(np.arange(items.shape[0] + 1) * items.shape[1]),
        scores=frozen(np.ascontiguousarray(scores.scores.reshape(-1))),
        targets=frozen(catalog.targets[rows]),
        widths=widths,
        rank=rows,
        rows=rows,
        source=catalog.similarity,
        catalog=catalog,
    )


def _shown(loop: _Loop, slates: SlateBatch, items: Ints, t: int) -> tuple[Shown, list[list[Any]]]:
    """The slates as a rectangle of item codes, and as ids."""
    sizes = np.diff(slates.starts)
    # Always the mode's largest slate: compiled scorers then meet one shape in all rounds.
    there = np.arange(loop.mode.largest_size(loop.constants)) < sizes[:, None]
    codes = np.full(there.shape, -1, np.int64)
    codes[there] = items[np.repeat(np.arange(sizes.size), sizes), slates.chosen]
    safe = np.maximum(codes, 0)
    seen = np.take_along_axis(loop.observed.seen, safe, axis=1)
    names = loop.world.catalog.ids
    rows: Any = codes.tolist()
    ids = [[names[c] for c in row if c >= 0] for row in rows]
    return Shown(codes, there, loop.world.difficulty[safe], loop.world.skill[safe], seen, t), ids


def _respond(loop: _Loop, shown: Shown, t: int) -> tuple[Response, Floats]:
    """Every model's sessions respond and advance; ability before the round comes along."""
    shape = shown.items.shape
    whole = Response(np.zeros(shape, np.bool_), np.zeros(shape, np.bool_), np.zeros(shape))
    before = np.zeros(shape[0])
    everyone = Draw(loop.plan.draws, loop.plan.keys, t, shown.items)
    for place, (model, rows) in enumerate(loop.plan.groups()):
        draw, slate = everyone.take(rows), shown.take(rows)
        before[rows] = model.ability(loop.people[place])
        part = model.respond(loop.people[place], slate, draw)
        whole.attempted[rows], whole.correct[rows], whole.chance[rows] = part.attempted, part.correct, part.chance
        loop.people[place] = model.advance(loop.people[place], slate, part, draw)
    return whole, before


def _latent(loop: _Loop) -> dict[str, Floats]:
    """Ability, engagement and fatigue after the round."""
    out = {name: np.zeros(len(loop.plan.sessions)) for name in ("ability", "engagement", "fatigue")}
    for place, (model, rows) in enumerate(loop.plan.groups()):
        for name, column in out.items():
            column[rows] = getattr(model, name)(loop.people[place])
    return out
