"""What if: a log replayed under another policy, and which slates would have been others, and why.

Scope: stability only; it compares selections on logged inputs, not what people would have done with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.log import AuditLog
from slateproof.audit.queried import choose
from slateproof.audit.records import Inputs, Records
from slateproof.audit.replay import check_digest, with_source
from slateproof.audit.rows import asks_nothing
from slateproof.audit.schema import FIELDS, REPLAY_NEEDS
from slateproof.audit.seal import commitments_of, leaves_in
from slateproof.errors import InvalidInput
from slateproof.select import Selector
from slateproof.types import Levers, SetChoice, Slate
from slateproof.types.ids import ItemId

__all__ = ["Change", "DiffReport", "Policy", "diff"]

MOST = 1000
"""Changes described one by one; all are counted."""


@runtime_checkable
class Policy(Protocol):
    """Anything that selects from a pool and a state."""

    def select(self, pool: Any, state: Any) -> Slate:
        """The slate of this policy."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One slate that would have been another: the first step that differs, and why the logged item loses there.

    Scope: stability only.
    """

    index: int
    before: tuple[ItemId, ...]
    after: tuple[ItemId, ...]
    same_set: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "index": self.index,
            "before": list(self.before),
            "after": list(self.after),
            "same_set": self.same_set,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class DiffReport:
    """``size`` records, of which ``compared`` could be selected under the other policy and ``changed`` give another slate.

    ``reordered`` of the changed ones hold the same items in another order. ``not_compared`` counts reasons.

    Scope: stability only.
    """

    size: int
    compared: int
    changed: int
    reordered: int
    changes: tuple[Change, ...]
    not_compared: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "size": self.size,
            "compared": self.compared,
            "changed": self.changed,
            "reordered": self.reordered,
            "changes": [change.to_dict() for change in self.changes],
            "not_compared": dict(self.not_compared),
        }

    def to_text(self) -> str:
        """For people."""
        lines = [f"{self.changed} of {self.compared} slates would change ({self.reordered} only in their order)"]
        lines += [f"not compared: {number} records: {reason}" for reason, number in self.not_compared.items()]
        for change in self.changes[:20]:
            lines += [f"record {change.index}: {list(change.before)} -> {list(change.after)}", f"  {change.why}"]
        return "\n".join([*lines, f"and {self.changed - 20} more"] if self.changed > 20 else lines)


def diff(
    log: AuditLog,
    policy: Policy | Selector,
    levers: Levers | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DiffReport:
    """Select every record of ``log`` again under ``policy`` and compare with the logged slates.

    ``policy`` is a selector, which gets the logged levers (or ``levers`` for all), or an object with ``select(pool, state)``, which
    makes its own. Records that hold no inputs are counted, not compared; so are those whose logged similarities do not answer
    the questions of the other policy. A record that does not give its committed digest ends it with ``DamagedRecord``.

    Scope: stability only.
    """
    select = _chooser(policy, levers)
    shelf = CatalogShelf(log.store.folder)
    found: list[Change] = []
    skipped: Counter[str] = Counter()
    compared = changed = reordered = done = 0
    for batch in log.store.batches(None, 0, len(log)):
        records = Records(batch, shelf)
        commitments, hidden = commitments_of(batch, log.store.secret, log.header.schema_version)
        needed = [hidden[FIELDS.index(field)] for field in REPLAY_NEEDS]
        for row, leaf in enumerate(leaves_in(batch, commitments)):
            place = done + row
            check_digest(records, row, place, leaf)
            if any(gone[row] for gone in needed):
                skipped["inputs are not in the record"] += 1
                continue
            pair = _select(select, records, row, skipped)
            if pair is None:
                continue
            compared += 1
            before, after = pair
            if after.ids != before:
                changed += 1
                same_set = set(before) == set(after.ids)
                reordered += same_set
                if len(found) < MOST:
                    found.append(Change(place, before, after.ids, same_set, _why(before, after)))
        done += len(batch)
        if progress is not None:
            progress(done, len(log))
    return DiffReport(done, compared, changed, reordered, tuple(found), dict(skipped))


def _chooser(policy: Any, levers: Levers | None) -> Callable[[Inputs], Slate]:
    if hasattr(policy, "rule"):
        return lambda inputs: policy.select(inputs.pool, inputs.levers if levers is None else levers, inputs.state)
    if levers is not None:
        raise InvalidInput("levers", "a policy makes its own levers")
    if not isinstance(policy, Policy):
        raise InvalidInput("policy", "must be a selector or have select(pool, state)", type(policy).__name__)
    return lambda inputs: policy.select(inputs.pool, inputs.state)


def _select(
    choose_: Callable[[Inputs], Slate], records: Records, row: int, skipped: Counter[str]
) -> tuple[tuple[ItemId, ...], Slate] | None:
    """The logged ids, and the slate of the other policy; None, and a reason is counted, where there is no telling."""
    try:
        before, inputs = records.ids("slate", row), records.inputs(row)
        if inputs.queried is None:
            return before, choose_(inputs)
        # A first run tells which levers and rule the policy takes; what it chose may rest on values that are not known.
        probe = choose_(inputs._replace(pool=with_source(inputs.pool, inputs.queried, 0.0)))
        if asks_nothing(probe.rule, probe.levers):
            return before, probe
        steps = None
        if probe.rule.kind == "greedy":
            steps = choose(probe.pool, probe.levers, probe.state, probe.rule, inputs.queried)
    except InvalidInput as why:
        skipped[f"{why.field}: {why.rule}"] += 1
        return None
    if steps is None:
        skipped["the logged similarities do not answer the questions of the other policy"] += 1
        return None
    return before, replace(probe, steps=steps)


def _why(before: tuple[ItemId, ...], after: Slate) -> str:
    """The first step that differs, with the objective of both items under the other policy where it is known."""
    place = next(
        (q for q, pair in enumerate(zip(before, after.ids, strict=False)) if pair[0] != pair[1]), min(len(before), len(after.ids))
    )
    if place == len(after.ids):
        return f"the slate ends after {place} items"
    if place == len(before):
        return f"the slate goes on with {after.ids[place]!r} at step {place + 1}"
    steps, lost = after.steps, before[place]
    head = f"step {place + 1}: {after.ids[place]!r} instead of {lost!r}"
    if isinstance(steps, SetChoice):
        return f"{head}; the set is worth {steps.value:.6g}, the next best {steps.runner_value:.6g}"
    if lost not in after.pool.ids:
        return f"{head}, which was no candidate"
    shaped = steps.shaped[after.pool.position(lost)]
    won = f"objective {steps.chosen_objective[place]:.6g} (shaped {steps.shaped[steps.chosen[place]]:.6g}"
    won += f", similarity {steps.chosen_similarity[place]:.6g})"
    runner = steps.runners[place]
    if runner >= 0 and after.pool.ids_at([int(runner)])[0] == lost:
        return f"{head}; {won} against {steps.runner_objective[place]:.6g} (shaped {shaped:.6g})"
    return f"{head}; {won}; {lost!r} (shaped {shaped:.6g}) is not even second"
