"""The rounds of a mode as columns, and as an Arrow table: one row per session and round, session after session.

Scope: conditional; responses are simulated, states are made from them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.privacy import Ledger
from slateproof.select import Preset
from slateproof.simulate.agreement import Agreement
from slateproof.simulate.modes import Mode
from slateproof.simulate.plan import Plan, World
from slateproof.simulate.responses import Response, Shown
from slateproof.simulate.state import round_of
from slateproof.types import LeverBatch, SlateBatch, StateBatch
from slateproof.types.columns import Floats

__all__ = ["SCALARS", "Recorder", "Rounds"]

SCALARS = (
    "target", "window", "margin", "mean_target", "worst_distance", "knowledge", "engagement", "uncertainty", "target_shift",
    "exploration", "diversity", "ability_before", "ability", "latent_engagement", "fatigue",
)  # fmt: skip
"""Float columns of a round that always have a value."""

ACCEPTED = ("accepted_mean", "accepted_distance")
"""Of the attempted items, which are the paper's accepted ones: d-bar(A_t), largest |d - m|; NaN where nothing was attempted."""

NOISE = ("tau", "jaccard")

LEDGER = "slateproof.ledger"
"""Key of the ledger in the table's metadata."""


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """A played mode: ``table`` in the schema of ``docs/simulator.md``.

    Scope: conditional.
    """

    mode: str
    sessions: int
    rounds: int
    table: pa.Table

    def column(self, name: str) -> Any:
        """A scalar column as (S, T)."""
        return self.table[name].to_numpy().reshape(self.sessions, self.rounds)

    def rectangle(self, name: str, fill: Any) -> Any:
        """A list column as (S, T, K), filled up where a slate is shorter than the longest."""
        column = self.table[name].combine_chunks()
        sizes = np.diff(column.offsets.to_numpy())
        there = np.arange(int(sizes.max())) < sizes[:, None]
        values = column.values.to_numpy(zero_copy_only=False)
        out = np.full(there.shape, fill, values.dtype)
        out[there] = values
        return out.reshape(self.sessions, self.rounds, -1)

    @property
    def ledger(self) -> Ledger | None:
        """What ran under differential privacy up to the last round; None where nothing did."""
        held = (self.table.schema.metadata or {}).get(LEDGER.encode())
        return None if held is None else Ledger.from_dict(json.loads(held))

    def session(self, place: int) -> pa.Table:
        """The rows of one session."""
        return self.table.slice(place * self.rounds, self.rounds)


class Recorder:
    """Fills the columns round by round."""

    def __init__(self, plan: Plan, world: World, largest: int, noisy: bool) -> None:
        self._plan, self._world = plan, world
        shape = (plan.rounds, len(plan.sessions))
        self._scalars = {name: np.zeros(shape) for name in SCALARS + ACCEPTED + (NOISE if noisy else ())}
        self._flags = {name: np.zeros(shape, np.bool_) for name in ("round_attempted", "round_correct", "proved", "same_slate")}
        self._size = np.zeros(shape, np.int64)
        self._items = np.full((*shape, largest), -1, np.int64)
        self._attempted, self._correct = (np.zeros((*shape, largest), np.bool_) for _ in range(2))
        self._noisy = noisy

    def add(
        self, t: int, slates: SlateBatch, levers: LeverBatch, states: StateBatch, shown: Shown, response: Response,
        before: Floats, latent: dict[str, Floats], same: Agreement | None,
    ) -> None:  # fmt: skip
        """One round."""
        width, put = shown.items.shape[1], self._scalars
        self._items[t, :, :width], self._size[t] = shown.items, levers.size
        self._attempted[t, :, :width], self._correct[t, :, :width] = response.attempted, response.correct
        self._flags["round_attempted"][t], self._flags["round_correct"][t] = round_of(response)
        self._flags["proved"][t] = True if slates.choices is None else [c.proved for c in slates.choices]
        put["window"][t] = slates.rule.window if slates.choices is None else [c.window for c in slates.choices]
        put["target"][t], put["margin"][t] = slates.target, slates.margin
        away = np.abs(shown.difficulty - slates.target[:, None])
        put["worst_distance"][t] = np.where(shown.there, away, 0.0).max(axis=1)
        put["mean_target"][t] = np.where(shown.there, shown.difficulty, 0.0).sum(axis=1) / levers.size
        tried, count = response.attempted, response.attempted.sum(axis=1)
        mean = np.where(tried, shown.difficulty, 0.0).sum(axis=1) / np.maximum(count, 1)
        put["accepted_mean"][t] = np.where(count > 0, mean, np.nan)
        put["accepted_distance"][t] = np.where(count > 0, np.where(tried, away, 0.0).max(axis=1), np.nan)
        for name in ("knowledge", "engagement", "uncertainty"):
            put[name][t] = getattr(states, name)
        for name in ("target_shift", "exploration", "diversity"):
            put[name][t] = getattr(levers, name)
        put["ability_before"][t], put["ability"][t] = before, latent["ability"]
        put["latent_engagement"][t], put["fatigue"][t] = latent["engagement"], latent["fatigue"]
        if same is not None:
            put["tau"][t], put["jaccard"][t], self._flags["same_slate"][t] = same.tau, same.jaccard, same.same

    def rounds(self, mode: Mode, constants: Preset, ledger: Ledger | None) -> Rounds:
        """The table. ``in_window`` is |d - m| <= window for every shown item: by construction for SCPO, an event elsewhere.

        ``accepted_in_window`` says so of the attempted items, and false where there are none.
        """
        plan, rounds = self._plan, self._plan.rounds
        who = plan.sessions
        columns: dict[str, Any] = {
            "mode": _repeated([mode.name] * len(who), rounds),
            "session": _repeated([one.label for one in who], rounds),
            "model": _repeated([one.model for one in who], rounds),
            "profile": _repeated([one.profile.name for one in who], rounds),
            "copy": np.repeat([one.copy for one in who], rounds),
            "round": np.tile(np.arange(rounds), len(who)),
            "size": _flat(self._size),
        }
        there = np.arange(self._items.shape[2]) < self._size[:, :, None]
        columns |= self._lists(there)
        flags = {name: _flat(value) for name, value in self._flags.items() if name != "same_slate" or self._noisy}
        scalars = {name: _flat(value) for name, value in self._scalars.items()}
        window = constants.window if mode.selector == "top-k" else scalars["window"]
        scalars["window"] = np.broadcast_to(window, scalars["target"].shape).copy()
        kept = {
            "in_window": scalars["worst_distance"] <= scalars["window"],
            "accepted_in_window": scalars["accepted_distance"] <= scalars["window"],
        }
        columns |= flags | kept | scalars
        for name in ("margin", *ACCEPTED):
            columns[name] = pa.array(scalars[name], mask=~np.isfinite(scalars[name]))
        notes = {} if ledger is None else {LEDGER: json.dumps(ledger.to_dict(), sort_keys=True)}
        return Rounds(mode.name, len(who), rounds, pa.table(columns).replace_schema_metadata(notes))

    def _lists(self, there: Any) -> dict[str, pa.Array]:
        mask = there.transpose(1, 0, 2)
        offsets = pa.array(np.concatenate([[0], np.cumsum(self._size.T.reshape(-1))]), pa.int32())
        names = pa.array(list(self._world.catalog.ids))
        flat = {
            "slate": names.take(pa.array(self._items.transpose(1, 0, 2)[mask])),
            "item": pa.array(self._items.transpose(1, 0, 2)[mask].astype(np.int32)),
            "attempted": pa.array(self._attempted.transpose(1, 0, 2)[mask]),
            "correct": pa.array(self._correct.transpose(1, 0, 2)[mask]),
        }
        return {name: pa.ListArray.from_arrays(offsets, values) for name, values in flat.items()}


def _flat(values: Any) -> Any:
    """(T, S) as one column, session after session."""
    return np.ascontiguousarray(values.T).reshape(-1)


def _repeated(names: list[str], times: int) -> pa.Array:
    return pa.array(np.repeat(np.array(names), times).tolist(), pa.string())
