"""What a run is made of before any mode plays: the world, the sessions, and their pools.

Scope: none; settings and public item facts.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slateproof.corpora import Corpus
from slateproof.simulate.draws import Draw, Draws, session_key
from slateproof.simulate.pools import matched_pools
from slateproof.simulate.profiles import Profile, profile
from slateproof.simulate.responses import ResponseModel, Start
from slateproof.types import Catalog
from slateproof.types.columns import Floats, Ints, frozen

__all__ = ["Plan", "Session", "World", "skills_of"]


@dataclass(frozen=True, slots=True)
class Session:
    """One simulated learner: response model, profile, and which of its copies. The label names its random numbers.

    Scope: none.
    """

    model: str
    profile: Profile
    copy: int

    @property
    def label(self) -> str:
        """Model, profile and copy."""
        return f"{self.model}/{self.profile.name}/{self.copy}"


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The items: ``catalog`` (row = item code), ``skill`` codes, and the training ``users`` that sessions may stand for.

    Scope: conditional; difficulties computed from protected responses are conditioned inputs.
    """

    corpus: Corpus
    catalog: Catalog
    skill: Ints
    users: Ints

    @classmethod
    def of(cls, corpus: Corpus, catalog: Catalog) -> World:
        """The world of a corpus."""
        return cls(corpus, catalog, skills_of(corpus), np.flatnonzero(corpus.split().part == 0))

    @property
    def difficulty(self) -> Floats:
        """d(i) in code order."""
        return self.catalog.targets


def skills_of(corpus: Corpus) -> Ints:
    """The skill of every item (``items.skill``); where it has none a checksum of its id, which does not follow difficulty."""
    items = corpus.items
    sums = [zlib.crc32(str(item).encode()) for item in items.ids.tolist()]
    return np.asarray(frozen(np.where(items.skill >= 0, items.skill, sums)))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Who plays how long on what: ``pools`` (T, S, n), session ``keys`` and ``users`` (S,), response ``models`` by name.

    Scope: none.
    """

    draws: Draws
    sessions: tuple[Session, ...]
    models: Mapping[str, ResponseModel]
    pools: Ints
    keys: Any
    users: Ints

    @classmethod
    def of(
        cls,
        world: World,
        models: Mapping[str, ResponseModel],
        profiles: Sequence[str],
        copies: int,
        rounds: int,
        size: int,
        seed: int,
    ) -> Plan:
        """Models x profiles x copies sessions."""
        draws = Draws(seed)
        who = tuple(Session(m, profile(p), c) for m in models for p in profiles for c in range(copies))
        keys = np.array([session_key(one.label) for one in who], np.uint64)
        pools = matched_pools(draws, keys, rounds, len(world.catalog), size)
        pick = draws.bits("user", keys, 0, np.zeros((len(who), 1), np.int64))[:, 0] % np.uint64(world.users.size)
        return cls(draws, who, models, pools, keys, world.users[pick.astype(np.int64)])

    @property
    def rounds(self) -> int:
        """T."""
        return self.pools.shape[0]

    def rows(self, rows: Any) -> Plan:
        """Some of the sessions, repeats allowed: ``rows`` are their numbers."""
        chosen = tuple(self.sessions[int(r)] for r in rows)
        return replace(self, sessions=chosen, pools=self.pools[:, rows], keys=self.keys[rows], users=self.users[rows])

    def alone(self, place: int) -> Plan:
        """One session in a crowd of its own copies, as many as there were sessions.

        Compiled array code may round by the shape of a batch; in a crowd of the same shape, and in its old place, a session meets
        the same arithmetic as before.
        """
        return self.rows(np.full(len(self.sessions), place))

    def groups(self) -> list[tuple[ResponseModel, Ints]]:
        """The rows of each response model."""
        names = np.array([one.model for one in self.sessions])
        return [(model, np.flatnonzero(names == name)) for name, model in self.models.items() if (names == name).any()]

    def start(self, rows: Ints) -> tuple[Start, Draw]:
        """The profiles of some sessions as columns, and their numbers before round 0."""
        chosen = [self.sessions[int(r)].profile for r in rows]
        columns = (np.array([getattr(p, n) for p in chosen]) for n in ("knowledge", "fatigue", "engagement", "trust"))
        return Start(*columns), Draw(self.draws, self.keys[rows], -1, np.zeros((rows.size, 0), np.int64))
