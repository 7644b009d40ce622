"""Selecting a logged record again, and comparing what comes out with what was logged, bit for bit.

Scope: stability only; that a slate follows from its inputs says nothing about where the inputs came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from slateproof import certify
from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.errors import DamagedRecord, LogUnreadable, NotReplayable
from slateproof.audit.queried import Queried, choose
from slateproof.audit.records import Records
from slateproof.audit.rows import asks_nothing
from slateproof.audit.schema import FIELDS, REPLAY_NEEDS
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.audit.store import Store
from slateproof.errors import InvalidInput
from slateproof.select import selector_of, target_of
from slateproof.types import Levers, Pool, SetChoice, Similarity, Slate
from slateproof.types.columns import frozen
from slateproof.types.trace import TIE_RULE

__all__ = [
    "bounded",
    "check_digest",
    "check_size",
    "difference",
    "find_record",
    "replay_all",
    "replay_record",
    "select_again",
    "with_source",
]

_NEEDED = [FIELDS.index(field) for field in REPLAY_NEEDS]


def find_record(store: Store, shelf: CatalogShelf, index: int) -> tuple[Records, int]:
    """The batch and the row that hold record ``index``."""
    for batch in store.batches(None, index, index + 1):
        places = np.flatnonzero(batch.column("index").to_numpy(zero_copy_only=False) == index)
        if places.size:
            return Records(batch.slice(int(places[0]), 1), shelf), 0
    raise LogUnreadable(f"record {index} is not in the files of the log")


def replay_record(store: Store, shelf: CatalogShelf, index: int) -> Slate:
    """Check the digest of a record, then select it again from its inputs."""
    records, _ = find_record(store, shelf, index)
    return next(_replay(store, records, index))


def replay_all(store: Store, shelf: CatalogShelf, size: int) -> Iterator[Slate]:
    """The first ``size`` records one after the other, each as ``replay_record`` gives it."""
    place = 0
    for batch in store.batches(None, 0, size):
        part = batch.slice(0, size - place)
        yield from _replay(store, Records(part, shelf), place)
        place += len(part)
    if place < size:
        raise LogUnreadable(f"record {place} is not in the files of the log")


def _replay(store: Store, records: Records, first: int) -> Iterator[Slate]:
    """The records of a batch, which must be those from ``first`` on, digests checked."""
    commitments, withheld = commitments_of(records.batch, store.secret, store.header.schema_version)
    for row, found in enumerate(leaves_in(records.batch, commitments)):
        index = first + row
        check_digest(records, row, index, found)
        missing = [FIELDS[place] for place in _NEEDED if withheld[place][row]]
        if missing:
            raise NotReplayable(f"record {index} does not hold {', '.join(missing)}: it cannot be selected again")
        yield select_again(records, row)


def check_digest(records: Records, row: int, index: int, found: bytes) -> None:
    """Refuse a row that is not record ``index``, or whose values give another leaf hash (``found``) than the stored one."""
    if found != records.value("leaf_hash", row) or records.value("index", row) != index:
        raise DamagedRecord(f"record {index} does not give the digest that was committed for it")


def select_again(records: Records, row: int) -> Slate:
    """The slate that the logged inputs give; refuses inputs that no selector would take, or that do not decide the choice.

    Where similarities are logged values, the pool of the slate holds them, and NaN for those that nobody asked for.
    """
    inputs = records.inputs(row)
    pool, levers, state, rule = inputs.pool, inputs.levers, inputs.state, inputs.rule
    if inputs.queried is None or asks_nothing(rule, levers):
        slate = selector_of(rule).select(pool, levers, state)
        return replace(slate, policy_digest=inputs.policy_digest)
    check_size(levers, pool)
    steps = choose(pool, levers, state, rule, inputs.queried)
    if steps is None:
        raise InvalidInput("similarity_values", "do not decide the choice: similarities that matter are not logged")
    return Slate(
        with_source(pool, inputs.queried, np.nan), levers, state, rule, target_of(state, levers), steps, inputs.policy_digest
    )


def with_source(pool: Pool, queried: Queried, unknown: float) -> Pool:
    """The pool with its logged similarities as a matrix, ``unknown`` elsewhere."""
    return _with_similarity(pool, queried.matrix(unknown))


def _with_similarity(pool: Pool, source: Similarity) -> Pool:
    names = ("_ids", "scores", "targets", "widths", "rows", "rank", "catalog")
    return Pool._trusted(similarity=source, **{name: getattr(pool, name) for name in names})


def bounded(slate: Slate) -> Slate | None:
    """A replayed slate whose unlogged similarities stand at their lower bound; None where none is missing.

    No objective of another candidate is then below its true value, so every stepwise gap is at most the true one, and those to the
    runner-ups, which were logged, are exact: union bound and flip probability become upper bounds, margin and radius stay.

    Scope: stability only.
    """
    source = slate.pool.similarity
    if asks_nothing(slate.rule, slate.levers) or source.kind != "matrix" or not np.isnan(source.matrix).any():
        return None
    filled = frozen(np.where(np.isnan(source.matrix), source.lower, source.matrix))
    return replace(slate, pool=_with_similarity(slate.pool, replace(source, matrix=filled)))


def check_size(levers: Levers, pool: Pool) -> None:
    """Refuse a slate longer than the pool, as every selector does."""
    if levers.size > pool.size:
        raise InvalidInput("levers.size", f"must not exceed the pool's {pool.size} candidates", levers.size)


def difference(records: Records, row: int, slate: Slate, version: int) -> str | None:
    """What a log of schema ``version`` says otherwise than the slate selected again; None where all agree bit for bit."""
    for name, found in _outcome(slate).items():
        logged = records.numbers(name, row)
        if logged is None or logged.size != found.size or logged.tobytes() != found.tobytes():
            return _sentence(name, logged, found)
    if records.ids("slate", row) != slate.ids:
        return f"slate is logged as {list(records.ids('slate', row))}, and the inputs give {list(slate.ids)}"
    scalars: dict[str, Any] = {"target": slate.target, "tie_rule": TIE_RULE}
    if version >= 2:
        scalars["pool_size"] = slate.pool.size
    sets = isinstance(slate.steps, SetChoice)
    scalars |= {f"set_{name}": getattr(slate.steps, name) if sets else None for name in ("window", "nodes", "bound", "proved")}
    for name, found in scalars.items():
        logged = records.value(name, row)
        if logged != found:
            return f"{name} is logged as {logged!r}, and the inputs give {found!r}"
    certified = [records.value(name, row) for name in ("certified_margin", "certified_radius")]
    return None if certified == [None, None] else _certificate_difference(records, row, slate)


def _certificate_difference(records: Records, row: int, slate: Slate) -> str | None:
    """Margin and radius certified again: the same, where all similarities can be computed again.

    Where similarities are logged values, the rounding behind them is not in the record; the logged certificate allowed for it,
    so it must not claim more than one that takes the values as exact.
    """
    exact = records.value("similarity_kind", row) in ("catalog", "none")
    queried = None if exact else records.inputs(row).queried
    # What nobody asked for entered no choice; 0 stands for it.
    certificate = certify.certify(slate if queried is None else replace(slate, pool=with_source(slate.pool, queried, 0.0)))
    for name, found in (("certified_margin", certificate.margin), ("certified_radius", certificate.radius)):
        logged = records.value(name, row)
        if logged is None or not (logged == found if exact else logged <= found):
            return f"{name} is logged as {logged!r}, and the inputs give {found!r}"
    return None


def _outcome(slate: Slate) -> dict[str, Any]:
    """The numeric outcome of a slate, as it is logged; a replayed pool stands in id order."""
    steps = slate.steps
    out: dict[str, Any] = {"shaped": steps.shaped, "chosen": steps.chosen.astype(np.int32)}
    if isinstance(steps, SetChoice):
        out |= {
            "runners": steps.runner_up.astype(np.int32),
            "chosen_objective": np.array([steps.value]),
            "runner_objective": np.array([steps.runner_value]),
            "chosen_similarity": np.array([steps.similarity]),
            "runner_similarity": np.array([steps.runner_similarity]),
        }
    else:
        out["runners"] = steps.runners.astype(np.int32)
        for name in ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity"):
            out[name] = getattr(steps, name)
    return out | {"margins": slate.margins}


def _sentence(name: str, logged: Any, found: Any) -> str:
    if logged is None or logged.size != found.size:
        return f"{name} is logged with {0 if logged is None else logged.size} values, and the inputs give {found.size}"
    place = int(np.flatnonzero(~((logged == found) | (np.isnan(logged) & np.isnan(found))))[:1].sum())
    return f"{name} at place {place} is logged as {logged[place].item()!r}, and the inputs give {found[place].item()!r}"
