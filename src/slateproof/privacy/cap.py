"""The contribution cap: at most B rounds per user, chosen by keyed hash, before training.

Scope: makes a user-level figure possible; carries no claim by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slateproof.errors import InvalidInput
from slateproof.privacy.events import whole
from slateproof.types.columns import Ints, frozen
from slateproof.types.ids import ItemId, as_ids

__all__ = ["Cap", "canonical", "cap_contributions", "check_cap"]

_DOMAIN = b"slateproof cap 1"  # BLAKE2b personalisation, 16 bytes


@dataclass(frozen=True, slots=True, eq=False)
class Cap:
    """Which rows stay. ``kept`` are row numbers, ascending; a round stays or goes with all its rows.

    ``users``, ``capped_users`` (those who lost a round), ``rounds`` and ``dropped_rounds`` are counts of the protected data:
    for the operator's eyes; they are not private outputs.

    Scope: none; the figure is ``user_level``'s.
    """

    kept: Ints
    max_rounds_per_user: int
    users: int
    capped_users: int
    rounds: int
    dropped_rounds: int

    def to_dict(self) -> dict[str, int]:
        """The counts, without the rows."""
        names = ("max_rounds_per_user", "users", "capped_users", "rounds", "dropped_rounds")
        return {name: getattr(self, name) for name in names}


def cap_contributions(users: Iterable[Any], rounds: Iterable[Any], *, max_rounds_per_user: int, key: bytes) -> Cap:
    """Keep for every user the ``max_rounds_per_user`` rounds with the smallest keyed hash.

    ``users`` and ``rounds`` have one id per row (integers or strings); rows with the same pair are one round. The hash is
    BLAKE2b with 16 bytes of digest, ``key`` (16 to 64 bytes) and personalisation "slateproof cap 1", over user and round, each
    as ``i`` or ``s``, the length in bytes (8, little endian) and the bytes (an integer as 8 bytes, little endian, signed; a
    string in UTF-8). So the choice depends on the key and on this user's own rounds alone: not on the order of rows, on other
    users, or on anything that happened in a round; and who does not know the key cannot steer it.

    Scope: after it each user has at most B rounds, which is what the lemma needs. Round-level epsilon is then about the capped
    data: one round more or less *before* the cap can change two rounds after it.
    """
    cap = whole(max_rounds_per_user, "max_rounds_per_user")
    if not isinstance(key, bytes) or not 16 <= len(key) <= 64:
        raise InvalidInput("key", "must be 16 to 64 bytes", None if not isinstance(key, bytes) else len(key))
    table = _Rounds(users, rounds)
    over = np.flatnonzero(table.per_user[table.owner] > cap)
    first, second = _hashes(table, over, key)
    order = np.lexsort((second, first, table.owner[over]))
    owner = table.owner[over][order]
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]]) if owner.size else np.zeros(0, np.int64)
    place = np.arange(owner.size) - np.repeat(starts, np.diff(np.r_[starts, owner.size]))
    stays = np.ones(table.owner.size, bool)
    stays[over[order][place >= cap]] = False
    return Cap(
        kept=frozen(np.flatnonzero(stays[table.round_of_row])),
        max_rounds_per_user=cap,
        users=table.per_user.size,
        capped_users=int((table.per_user > cap).sum()),
        rounds=table.owner.size,
        dropped_rounds=int((~stays).sum()),
    )


def check_cap(users: Iterable[Any], rounds: Iterable[Any], *, max_rounds_per_user: int) -> None:
    """Refuse data in which a user has more rounds than the cap, naming the user with the most (the first such in the data).

    Scope: none; a precondition of the user-level figure.
    """
    cap = whole(max_rounds_per_user, "max_rounds_per_user")
    table = _Rounds(users, rounds)
    if table.per_user.size and table.per_user.max() > cap:
        worst = int(table.per_user.argmax())
        rule = f"is below the {int(table.per_user[worst])} rounds recorded for a user"
        raise InvalidInput("max_rounds_per_user", rule, cap, where=table.user_ids[worst])


class _Rounds:
    """Distinct (user, round) pairs of a log: ``owner`` of each, how many ``per_user``, and the round of each row."""

    __slots__ = ("owner", "per_user", "round_ids", "round_number", "round_of_row", "user_ids")

    def __init__(self, users: Iterable[Any], rounds: Iterable[Any]) -> None:
        of_user, self.user_ids = _numbered(users, "users")
        of_round, self.round_ids = _numbered(rounds, "rounds")
        if of_user.size != of_round.size:
            raise InvalidInput("rounds", f"must have one id per row ({of_user.size})", of_round.size)
        width = max(1, len(self.round_ids))
        pairs, self.round_of_row = np.unique(of_user * width + of_round, return_inverse=True)
        self.owner: Ints = pairs // width
        self.round_number: Ints = pairs % width
        self.per_user: Ints = np.bincount(self.owner, minlength=len(self.user_ids))


def _numbered(ids: Iterable[Any], field: str) -> tuple[Ints, list[ItemId]]:
    """A number per row, in order of first appearance, and the distinct ids."""
    numbers: dict[ItemId, int] = {}
    rows = [numbers.setdefault(one, len(numbers)) for one in as_ids(ids, field=field)]
    for one in numbers:
        canonical(one, field)
    return np.array(rows, np.int64), list(numbers)


def _hashes(table: _Rounds, chosen: Ints, key: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Digests of the chosen rounds as two 64-bit halves, to be compared in this order."""
    base = hashlib.blake2b(digest_size=16, key=key, person=_DOMAIN)
    users, rounds = table.user_ids, table.round_ids
    encoded_round = {number: canonical(rounds[number]) for number in set(table.round_number[chosen].tolist())}
    encoded_user = {number: canonical(users[number]) for number in set(table.owner[chosen].tolist())}
    digests = bytearray()
    for owner, number in zip(table.owner[chosen].tolist(), table.round_number[chosen].tolist(), strict=True):
        hasher = base.copy()
        hasher.update(encoded_user[owner] + encoded_round[number])
        digests += hasher.digest()
    halves = np.frombuffer(bytes(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return halves[:, 0], halves[:, 1]


def canonical(item: ItemId, field: str = "id") -> bytes:
    """Prefix-free bytes of an id: type, length, content. Refuses text without a UTF-8 form (half a surrogate pair)."""
    try:
        content = item.to_bytes(8, "little", signed=True) if isinstance(item, int) else item.encode()
    except UnicodeEncodeError as why:
        raise InvalidInput(field, "must be text with a UTF-8 form", ascii(item)) from why
    return (b"i" if isinstance(item, int) else b"s") + len(content).to_bytes(8, "little") + content
