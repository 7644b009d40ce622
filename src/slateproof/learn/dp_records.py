"""The protected records of private training: which users are trained on, what one record is, and the cap on rounds per user.

A record is a round (up to ``rows_per_round`` rows of one user) or a whole user (up to ``rows_per_user`` rows, in rounds). Who is
trained on hangs on the user's own id alone, so that a user or a round that is added or taken out moves nobody else to another part:
the split of ``corpora`` permutes all users together, and a claim about one record more or less could not rest on it.

Scope: none by itself; what the claim of ``dp_step`` is about.
"""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp
import numpy as np

from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.dp_config import Private
from slateproof.learn.features import training_difficulty
from slateproof.learn.two_tower_data import Log, Rounds, gather, log_of, neutral
from slateproof.learn.two_tower_model import Facts
from slateproof.privacy import Cap, cap_contributions, check_cap
from slateproof.privacy.cap import canonical
from slateproof.types.columns import Ints
from slateproof.types.ids import as_ids

__all__ = ["batch_of", "by_arrival", "capped", "facts_for", "joined", "log_for", "parts"]

_TRAIN, _VALID = 0.72, 0.80  # the shares of ``corpora.split``: 80/20, then 90/10
_HASH = b"slateproof part1"


def parts(corpus: Corpus) -> Ints:
    """Per user 0 train, 1 validation, 2 test: the place of a hash of the user's id in [0, 1), cut at .72 and .80."""
    heads = (
        hashlib.blake2b(canonical(one), digest_size=8, person=_HASH).digest() for one in as_ids(corpus.user_ids, field="users")
    )
    place = np.array([int.from_bytes(head, "big") for head in heads], np.float64) / 2.0**64
    return np.digitize(place, (_TRAIN, _VALID)).astype(np.int64)


def log_for(corpus: Corpus, how: Private) -> Log:
    """The records of the training users: rounds in user order, then time; or one record per user."""
    users = parts(corpus) == 0
    if not users.any():
        raise InvalidInput("corpus", "has no user whose id falls into the training part", corpus.label)
    if how.unit == "round":
        return log_of(corpus, users, how.rows_per_round)
    whole = log_of(corpus, users, how.rows_per_round)
    first = np.flatnonzero(whole.seen[whole.first] == 0)
    rows = np.diff(corpus.user_starts)[whole.user[first]].astype(np.int32)
    return whole._replace(first=whole.first[first], count=np.minimum(rows, how.rows_per_user), user=whole.user[first])


def facts_for(corpus: Corpus, how: Private) -> Facts:
    """Tags, and the difficulty among the training users; .5 for all where side inputs are fixed."""
    rows = (parts(corpus) == 0)[corpus.user]
    difficulty = np.full(len(corpus.items), 0.5) if how.side_inputs == "fixed" else training_difficulty(corpus, rows)
    return Facts(jnp.asarray(difficulty, jnp.float32), jnp.asarray(corpus.items.tag_vectors(), jnp.float32))


def by_arrival(log: Log, corpus: Corpus) -> Log:
    """The rounds in the order in which they were complete: by the time of their last row where the corpus has a clock."""
    if corpus.time is None:
        return log
    order = np.argsort(corpus.time[log.first + log.count - 1], kind="stable")
    return log._replace(first=log.first[order], count=log.count[order], user=log.user[order])


def capped(log: Log, corpus: Corpus, rows: int, *, max_rounds_per_user: int, key: bytes, keep_places: bool) -> tuple[Log, Cap]:
    """The log with at most B rounds of each user, checked, and the report of the cap.

    A round's id is its number among the user's own rounds of ``rows`` rows. With ``keep_places`` a dropped round leaves its place
    empty (a round of no rows), as a stream must.
    """
    owner = corpus.user_ids[log.user].tolist()
    number = ((log.first - corpus.user_starts[log.user]) // rows).tolist()
    cap = cap_contributions(owner, number, max_rounds_per_user=max_rounds_per_user, key=key)
    stays = np.zeros(log.first.size, np.bool_)
    stays[cap.kept] = True
    log = (
        log._replace(count=np.where(stays, log.count, 0).astype(log.count.dtype))
        if keep_places
        else log._replace(first=log.first[stays], count=log.count[stays], user=log.user[stays])
    )
    left = np.flatnonzero(log.count > 0)
    check_cap(log.user[left], log.first[left], max_rounds_per_user=max_rounds_per_user)
    return log, cap


def joined(log: Log, more: Log) -> Log:
    """``log`` with the rounds of ``more`` behind its own. ``more`` is complete in itself: the history of a round stands in it."""
    rows = int(log.item.shape[0])
    first = np.asarray(more.first)
    if first.size and (np.asarray(more.seen)[first] > first).any():
        raise InvalidInput("log", "must hold the rows that its rounds have as history, before the round")
    moved = more._replace(first=first + rows)
    return Log(*(np.concatenate([np.asarray(one), np.asarray(other, one.dtype)]) for one, other in zip(log, moved, strict=True)))


def batch_of(log: Log, index: jax.Array, how: Private) -> Rounds:
    """The records at ``index`` (B,), -1 for padding: rounds (B, ...), or users (B, P, ...) of P rounds each."""
    batch = gather(log, index, how.rows_per_round) if how.unit == "round" else _users(log, index, how)
    return neutral(batch) if how.side_inputs == "fixed" else batch


def _users(log: Log, index: jax.Array, how: Private) -> Rounds:
    """Every round of a record under its own state and history, which are the user's own rows as well."""
    start = how.rows_per_round * jnp.arange(-(-how.rows_per_user // how.rows_per_round))
    rows = jnp.where(index >= 0, jnp.minimum(log.count[index], how.rows_per_user), 0)
    count = jnp.clip(rows[:, None] - start, 0, how.rows_per_round)
    first = jnp.where(count > 0, log.first[index][:, None] + start, 0)
    rounds = log._replace(first=first.ravel(), count=count.ravel())
    found = gather(rounds, jnp.where(count > 0, jnp.arange(count.size).reshape(count.shape), -1).ravel(), how.rows_per_round)
    return Rounds(*(one.reshape(*count.shape, *one.shape[1:]) for one in found))
