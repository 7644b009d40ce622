"""Flip probabilities of many slates, on as many threads as wanted: what a log or a batch is asked for.

Scope: stability only; prospective, and only as true as the assumed noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from slateproof.certify.certificate import Certificate
from slateproof.certify.make import certify
from slateproof.certify.prospective import check_sampling
from slateproof.errors import InvalidInput
from slateproof.types import SetChoice, Slate, SlateBatch
from slateproof.types.columns import Floats, frozen

__all__ = ["FlipProbabilities", "flip_probabilities", "on_threads", "stepwise_certificates"]


class FlipProbabilities(NamedTuple):
    """``probability`` and its standard ``error``, one per slate, in their order; ``plan.quantiles`` sums a column up.

    Scope: stability only.
    """

    probability: Floats
    error: Floats


def flip_probabilities(
    slates: Any, sigma: Any, *, anchor_weight: float = 0.0, tolerance: float | None = None, points: int = 4096, seed: int = 0,
    threads: int | None = None,
) -> FlipProbabilities:  # fmt: skip
    """Pr[the ordered slate changes] for every slate: ``Certificate.flip_probability`` over many pools, some 2 ms each per thread.

    ``slates`` is a ``SlateBatch``, or a sequence of slates or certificates. ``sigma`` is one number for all of them, or a list with
    one entry per slate, each of any kind that ``flip_probability`` takes. ``threads`` defaults to the number of processors; the
    figures depend neither on it nor on the other slates. Refused: SCPO slates, which have no stepwise gaps, by number.

    Scope: stability only; prospective.
    """
    count, wanted, start = check_sampling(points, tolerance, seed)
    makers = stepwise_certificates(slates)
    noise = list(sigma) if isinstance(sigma, (list, tuple)) else [sigma] * len(makers)
    if len(noise) != len(makers) or (not isinstance(sigma, (list, tuple)) and np.ndim(sigma) != 0):
        raise InvalidInput("sigma", f"must be one number, or a list with one entry per slate ({len(makers)})", np.shape(sigma))
    out = np.empty((2, len(makers)))

    def one(place: int) -> None:
        certificate = makers[place]()
        estimate = certificate.flip_probability(
            noise[place], tolerance=wanted, anchor_weight=anchor_weight, points=count, seed=start
        )
        out[:, place] = estimate, estimate.error

    on_threads(one, len(makers), threads)
    return FlipProbabilities(frozen(out[0]), frozen(out[1]))


def stepwise_certificates(slates: Any) -> Sequence[Callable[[], Certificate]]:
    """How to make each slate's certificate, when its turn comes; refuses SCPO and what is no slate, by number."""
    if isinstance(slates, SlateBatch):
        if slates.choices is not None:
            raise InvalidInput("slates", "SCPO makes one choice among sets and has no stepwise gaps", slates.rule.kind)
        return [_later(slates, b) for b in range(len(slates))]
    if isinstance(slates, (str, Slate, Certificate)) or not isinstance(slates, Iterable):
        raise InvalidInput("slates", "must be a SlateBatch or a sequence of slates or certificates", type(slates).__name__)
    listed = list(slates)
    for place, slate in enumerate(listed):
        if not isinstance(slate, (Slate, Certificate)):
            raise InvalidInput("slates", "must hold slates or certificates", type(slate).__name__, where=place)
        if isinstance((slate if isinstance(slate, Slate) else slate.slate).steps, SetChoice):
            raise InvalidInput("slates", "SCPO makes one choice among sets and has no stepwise gaps", "window", where=place)
    return [_later(listed, place) for place in range(len(listed))]


def _later(slates: Any, place: int) -> Callable[[], Certificate]:
    def make() -> Certificate:
        slate = slates[place]
        return slate if isinstance(slate, Certificate) else certify(slate)

    return make


def on_threads(task: Callable[[int], None], count: int, threads: int | None) -> None:
    """``task`` for 0, ..., count - 1; an exception ends it."""
    workers = (os.cpu_count() or 1) if threads is None else threads
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidInput("threads", "must be a whole number, at least 1", threads)
    if workers == 1 or count <= 1:
        for place in range(count):
            task(place)
        return
    with ThreadPoolExecutor(workers) as executor:
        for _ in executor.map(task, range(count)):
            pass
