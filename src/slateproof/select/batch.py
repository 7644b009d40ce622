"""Selection for many pools at once: the same kernel, pool after pool, on as many threads as wanted.

Slates do not know of each other, so neither the number of threads nor the size of the batch can change one of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.select.batch_kernel import greedy_chunk
from slateproof.select.kernels import MATRIX
from slateproof.select.run import EMPTY, scratch
from slateproof.types import Rule, Slate, Steps
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.leverbatch import LeverBatch, StateBatch
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.row import Row, refuse
from slateproof.types.similarity import NONE
from slateproof.types.slatebatch import QueriedSimilarities, SlateBatch
from slateproof.types.steps import SetChoice

__all__ = ["CHUNK", "CHUNK_CANDIDATES", "batch_targets", "run_greedy_batch", "run_window_batch"]

CHUNK, CHUNK_CANDIDATES = 256, 25_600
"""Most pools, and about how many candidates, per task: enough to outweigh its dispatch, few enough that threads end together."""


def batch_targets(states: StateBatch, levers: LeverBatch) -> Floats:
    """m_t = clip(k-hat + Delta, 0, 1), per pool."""
    target: Floats = np.minimum(1.0, np.maximum(0.0, states.knowledge + levers.target_shift))
    return frozen(target)


def check_sizes(pools: PoolBatch, levers: LeverBatch) -> None:
    """Refuse the rows with a size above the pool's."""
    sizes = pools.sizes
    refuse(
        [
            InvalidInput("levers.size", f"must not exceed the pool's {sizes[b]} candidates", int(levers.size[b]), where=Row(int(b)))
            for b in np.flatnonzero(levers.size > sizes)
        ]
    )


@dataclass(frozen=True, slots=True)
class Room:
    """What one thread works in, for all its chunks: new memory costs more than what is written to it."""

    kept: Floats
    places: Ints
    numbers: Floats
    table: Floats
    spare: Floats

    @classmethod
    def of(cls, largest: int, steps: int, kept: int) -> Room:
        """Room for pools of up to ``largest`` candidates and ``steps`` steps; ``kept`` similarities of a chunk, 0 for none."""
        table = np.empty((largest, steps) if kept else (0, 0))
        return cls(
            np.empty(kept + steps), np.empty(2 * steps, np.int64), np.empty(4 * steps + largest), table, scratch(largest, steps)
        )


@dataclass(frozen=True, slots=True)
class Work:
    """What the tasks of one batch share: inputs, and the flat columns that they fill, each its own part."""

    pools: PoolBatch
    levers: LeverBatch
    states: StateBatch
    rule: Rule
    target: Floats
    starts: Ints
    places: Ints
    numbers: Floats
    known: Any
    wrong: Ints


def run_greedy_batch(
    pools: PoolBatch, levers: LeverBatch, states: StateBatch, rule: Rule, trace: bool, threads: int | None, reselect: Any
) -> SlateBatch:
    """Greedy or top-K slates for a whole batch."""
    starts = np.concatenate([[0], np.cumsum(levers.size)])
    steps = int(starts[-1])
    target = batch_targets(states, levers)
    known = np.zeros(pools.scores.size, np.uint8 if int(levers.size.max()) < 2**8 else np.int64) if trace else None
    places, numbers, wrong = np.empty((2, steps), np.int64), np.empty((4, steps)), np.empty(len(pools), np.int64)
    work = Work(pools, levers, states, rule, target, starts, places, numbers, known, wrong)
    chunk = max(1, min(CHUNK, CHUNK_CANDIDATES * len(pools) // pools.scores.size))
    firsts = range(0, len(pools), chunk)
    asked = np.add.reduceat(pools.sizes * levers.size, firsts) if trace else np.zeros(1, np.int64)
    room = partial(Room.of, int(pools.sizes.max()), int(levers.size.max()), int(asked.max()))
    parts = _on_threads(lambda first, own: _run_chunk(work, own, first, min(first + chunk, len(pools))), firsts, threads, room)
    refuse([_overflow(pools, int(b), int(wrong[b])) for b in np.flatnonzero(wrong >= 0)])
    for column in (places, numbers):
        frozen(column)
    queried = None if known is None else QueriedSimilarities(frozen(known), tuple(parts), chunk)
    chosen, runners = places
    chosen_objective, chosen_similarity, runner_objective, runner_similarity = numbers
    return SlateBatch(
        pools, levers, states, rule, target, frozen(starts), chosen, runners,
        chosen_objective, chosen_similarity, runner_objective, runner_similarity, queried, None, None, reselect,
    )  # fmt: skip


def run_window_batch(
    pools: PoolBatch,
    levers: LeverBatch,
    states: StateBatch,
    rule: Rule,
    threads: int | None,
    one: Callable[[int], SetChoice],
    reselect: Any,
) -> SlateBatch:
    """SCPO slates for a whole batch; ``one(b)`` makes the choice for pool b."""

    def choice(b: int) -> SetChoice | InvalidInput:
        try:
            return one(b)
        except InvalidInput as why:
            item = why.where if isinstance(why.where, (int, str)) else None
            return InvalidInput(why.field, why.rule, why.value, where=Row(b, item))

    found = _on_threads(lambda b, _: choice(b), range(len(pools)), threads, lambda: None)
    refuse([error for error in found if isinstance(error, InvalidInput)])
    choices = tuple(choice for choice in found if isinstance(choice, SetChoice))
    starts = np.concatenate([[0], np.cumsum(levers.size)])
    chosen = np.concatenate([choice.chosen for choice in choices])
    nothing, target = frozen(np.zeros(0)), batch_targets(states, levers)
    return SlateBatch(
        pools, levers, states, rule, target, frozen(starts), frozen(chosen), frozen(np.full(chosen.size, -1)),
        nothing, nothing, nothing, nothing, None, choices, None, reselect,
    )  # fmt: skip


def _on_threads(task: Callable[[int, Any], Any], items: range, threads: int | None, room: Callable[[], Any]) -> list[Any]:
    """``task(item, room)`` for all items, in order; the calling thread works too, and each thread has its own room."""
    count = (os.cpu_count() or 1) if threads is None else threads
    if count < 1:
        raise InvalidInput("threads", "must be at least 1", threads)
    done: list[Any] = [None] * len(items)
    left, guard = iter(range(len(items))), Lock()

    def take() -> int | None:
        with guard:
            return next(left, None)

    def work() -> None:
        own = room()
        while (place := take()) is not None:
            done[place] = task(items[place], own)

    others = min(count, len(items)) - 1
    if others == 0:
        work()
        return done
    with ThreadPoolExecutor(others) as executor:
        running = [executor.submit(work) for _ in range(others)]
        work()
        for one in running:
            one.result()
    return done


def _run_chunk(work: Work, room: Room, first: int, last: int) -> Floats:
    """Select pools ``first:last``; return the similarities that were asked for, or nothing where they are not kept."""
    pools, levers, rule = work.pools, work.levers, work.rule
    known = _NO_KNOWN if work.known is None else work.known
    shown_starts, shown = _shown_ranks(work, first, last)
    source = NONE if rule.kind == "top-k" else pools.source
    matrices = None if rule.kind == "top-k" else pools.matrices
    limits = (np.array([source.lower]), np.array([source.higher])) if matrices is None else (matrices.lower, matrices.higher)
    # A catalogue's targets are looked up as they are needed: a column for the whole batch would be as large as the scores.
    targets = (_or_empty(pools.targets), 0) if pools.catalog is None else (pools.targets_between(first, last), pools.offsets[first])
    used = greedy_chunk(
        first, last, pools.offsets, work.starts,
        pools.scores, *targets, _or_empty(pools.widths), pools.rank, pools.rows, shown_starts, shown,
        MATRIX if matrices is not None else source.code, source.vectors, EMPTY if matrices is None else matrices.flat,
        _NO_STARTS if matrices is None else matrices.starts, source.flat, source.rows, source.tag_ptr, source.tag_ids,
        *limits, work.target, rule.window, rule.target_gain, rule.novelty, levers.exploration, levers.diversity,
        rule.dissimilarity == "mean", rule.kind == "top-k",
        work.places, work.numbers, work.wrong, known, room.kept, room.places, room.numbers, room.table, room.spare,
    )  # fmt: skip
    return frozen(room.kept[:used].copy())


def _overflow(pools: PoolBatch, b: int, place: int) -> InvalidInput:
    rule = "the objective must stay finite; scores, weights or similarities are too large"
    return InvalidInput("scores", rule, float(pools.scores[pools.offsets[b] + place]), where=Row(b, pools.item(b, place)))


_NO_STARTS: Ints = frozen(np.zeros(0, np.int64))
_NO_KNOWN = np.zeros(0, np.uint8)


def _or_empty(column: Floats | None) -> Floats:
    return EMPTY if column is None else column


def _shown_ranks(work: Work, first: int, last: int) -> tuple[Ints, Ints]:
    """Per pool of a chunk, the sorted ranks of the ids in its novelty memory, one list after another."""
    if work.rule.novelty == 0.0 or not any(work.states.shown):
        return np.zeros(last - first + 1, np.int64), np.zeros(0, np.int64)
    ranks = [work.pools.ranks_of(b, frozenset(work.states.shown_of(b))) for b in range(first, last)]
    return np.cumsum([0] + [part.size for part in ranks]), np.concatenate(ranks)


def rebuild(batch: SlateBatch, b: int, shaped: Callable[[Any, Any, float], Floats]) -> Steps | None:
    """The steps of slate ``b`` from the columns; None where the trace was not kept."""
    if batch.queried is None:
        return None
    k, a = int(batch.levers.size[b]), int(batch.starts[b])
    known, values = batch.queried.of(batch.pools.offsets, b)
    kept = np.zeros((known.size, k))
    kept[np.repeat(np.arange(known.size), known), _within(known)] = values
    places = np.concatenate([batch.chosen[a : a + k], batch.runners[a : a + k], known])
    columns = (batch.chosen_objective, batch.chosen_similarity, batch.runner_objective, batch.runner_similarity)
    numbers = np.concatenate(
        [*(column[a : a + k] for column in columns), shaped(batch.pools[b], batch.levers[b], float(batch.target[b]))]
    )
    return Steps(k, frozen(places), frozen(numbers), frozen(kept))


def _within(counts: Ints) -> Ints:
    """0, 1, ... within each group of the given sizes."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def slate_of(batch: SlateBatch, b: int, steps: Steps | SetChoice) -> Slate:
    """Slate ``b`` of a batch, around its steps."""
    return Slate(batch.pools[b], batch.levers[b], batch.states[b], batch.rule, float(batch.target[b]), steps, batch.policy_digest)
