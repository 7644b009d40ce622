"""What the demo does with the class it taught: log it, verify the log, certify a slate, and ask what may be claimed.

Scope: each result has its own; see the rooms that make them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slateproof import privacy
from slateproof.audit import AuditLog, Checkpoint, PublicKey, VerifyReport, verify_log
from slateproof.certify import Certificate, Table, certificates, certify
from slateproof.cli.demo.classroom import Class, Material
from slateproof.cli.demo.folder import Folder
from slateproof.cli.demo.policies import private_policy
from slateproof.policy import Policy
from slateproof.types import Catalog, Slate

__all__ = ["SIGMA", "Certified", "Claims", "Logged", "assess", "certify_class", "example_of", "verify", "write_log"]

SIGMA = 0.01
"""Standard deviation of the score noise that the certificates are asked about; scores here are near [0, 1]."""

EPSILON, DELTA = 2.0, 1e-5
"""What the private release may cost, per answer."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The checkpoints of the log, one per round; ``early`` of them were handed to the auditor halfway.

    Scope: none; commitments.
    """

    checkpoints: tuple[Checkpoint, ...]
    early: Checkpoint
    public: PublicKey
    bytes: int


@dataclass(frozen=True, slots=True)
class Certified:
    """One slate's certificate, and the table over the last round.

    ``record`` is its place in the log, ``curve`` rows of (sigma, paper's bound, union bound, probability), ``other`` the slate that
    the smallest change of scores leads to, ``inside`` the one just below the radius.

    Scope: stability only.
    """

    record: int
    certificate: Certificate
    table: Table
    curve: tuple[tuple[float, float, float, float], ...]
    size: float
    inside: Slate
    other: Slate


@dataclass(frozen=True, slots=True)
class Claims:
    """The verdict on the class, and on the same exercises chosen from private releases alone.

    ``noise`` is the standard deviation added to each count, ``error`` the mean absolute difference of released and counted
    difficulties.

    Scope: these *are* the scopes.
    """

    as_run: privacy.Scope
    private: privacy.Scope
    slate: Slate
    noise: float
    error: float


def write_log(taught: Class, policy: Policy, folder: Folder, advance: Callable[[int], None]) -> Logged:
    """All slates into a new log, one signed checkpoint per round. The private key is gone afterwards: nobody can sign again."""
    key = Ed25519PrivateKey.generate()
    checkpoints = []
    with AuditLog.create(folder.log, policy.trace.level, key, scope=policy.scope().to_dict()) as log:
        for number, lesson in enumerate(taught.lessons, 1):
            rounds = [f"round {number}"] * len(taught.names)
            log.append_batch(lesson.slates, round_ids=rounds, subjects=taught.names)
            checkpoints.append(log.commit())
            advance(len(taught.names))
    public, early = PublicKey.of(key), checkpoints[len(checkpoints) // 2 - 1]
    folder.early.write_text(str(early), encoding="utf-8")
    folder.key.write_text(public.vkey + "\n", encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.log.rglob("*") if file.is_file())
    return Logged(tuple(checkpoints), early, public, size)


def verify(folder: Folder, advance: Callable[[int, int], None]) -> VerifyReport:
    """What an auditor does who has the folder, the public key and the early checkpoint.

    Done twice: the first pass of a new installation compiles, and the second's time is the one to show.
    """
    verify_log(folder.log, folder.early, folder.key)
    return verify_log(folder.log, folder.early, folder.key, advance)


def example_of(taught: Class) -> int:
    """The record of the last round whose radius is the (lower) median: neither the clearest slate nor the closest call."""
    last = taught.lessons[-1].slates
    radius = np.array([certify(slate).radius for slate in last])
    return taught.slates - len(last) + int(np.argsort(radius, kind="stable")[(len(last) - 1) // 2])


def certify_class(material: Material, taught: Class, policy: Policy, record: int) -> Certified:
    """The example's certificate with both sides of its radius tried, and figures for the last round under noise of ``SIGMA``."""
    last = taught.lessons[-1].slates
    slate = last[record - (taught.slates - len(last))]
    certificate = certify(slate)
    if not isinstance(certificate, Certificate):
        raise TypeError("the demo's selector is greedy")
    change = certificate.witness()
    size = float(np.abs(change).max())
    pools = (material.catalog.pool(slate.pool.ids, slate.pool.scores + f * change, slate.pool.widths) for f in (0.999, 1.0))
    inside, other = (policy.select(pool, slate.state) for pool in pools)
    sigmas = [SIGMA * 10.0 ** (power / 8.0) for power in range(-12, 9)]
    return Certified(
        record, certificate, certificates(last, SIGMA), tuple(_rungs(certificate, s) for s in sigmas), size, inside, other
    )


def _rungs(certificate: Certificate, sigma: float) -> tuple[float, float, float, float]:
    probability = float(certificate.flip_probability(sigma))
    return sigma, certificate.flip_bound(sigma), certificate.flip_union(sigma), probability


def assess(material: Material, policy: Policy, folder: Folder) -> Claims:
    """The class as it ran; and one private release, its ledger, a slate made from nothing else, and what that may claim."""
    rules = Policy.parse(private_policy())
    ledger = privacy.Ledger(unit="round")
    noise = privacy.noise_for(epsilon=EPSILON, delta=DELTA, steps=1, sampling_rate=None)
    corpus, train = material.corpus, material.corpus.split().train
    released = privacy.release_difficulties(
        corpus.user[train], corpus.order[train], corpus.item[train], corpus.positive[train],
        item_count=len(corpus.items), clip=1.0, noise_multiplier=noise, ledger=ledger,
        rng=np.random.default_rng(secrets.randbits(128)),  # noise that anyone could draw again would protect nothing
    )  # fmt: skip
    catalog = Catalog(material.catalog.ids, released.values, tags=_tags(material))
    slate = rules.select(catalog.pool(catalog.ids, 1.0 - released.values))
    folder.private.write_text(private_policy(), encoding="utf-8")
    folder.ledger.write_text(json.dumps(ledger.to_dict(), indent=1) + "\n", encoding="utf-8")
    counted = _share_wrong(material)
    error = float(np.abs(released.values - counted).mean())
    return Claims(policy.scope(), rules.scope(ledger), slate, released.noise, error)


def _tags(material: Material) -> list[list[int]]:
    items = material.corpus.items
    return [one.tolist() for one in np.split(items.tag_codes, items.tag_starts[1:-1])]


def _share_wrong(material: Material) -> Any:
    """The share of wrong answers of each exercise among the training learners; the share of all where it was never tried."""
    corpus, train = material.corpus, material.corpus.split().train
    tried = np.bincount(corpus.item[train], minlength=len(corpus.items))
    wrong = np.bincount(corpus.item[train], ~corpus.positive[train], len(corpus.items))
    return np.where(tried > 0, wrong / np.maximum(tried, 1), wrong.sum() / tried.sum())
