"""Expectation-maximisation for knowledge tracing: a two-state hidden Markov model per skill, all sequences of the skill at once.

Scope: non-private; fits to protected answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.learn.protocol import Progress
from slateproof.types.columns import Floats, Ints

__all__ = ["CEILING", "FLOOR", "fit_em"]

FLOOR, CEILING = 1e-3, 0.5
"""All four parameters stay in [FLOOR, 1 - FLOOR], and slip and guess below CEILING, so that the mastered state is the better one.

The expected log-likelihood is concave in each parameter, so clipping its maximiser maximises it under the bound, and the
likelihood still never falls.
"""

TOLERANCE = 1e-7
"""Gain of log-likelihood per answer below which a skill has converged."""


def fit_em(
    skill: Ints,
    user: Any,
    correct: Any,
    start: Floats,
    iterations: int,
    progress: Progress | None = None,
    tolerance: float = TOLERANCE,
) -> Floats:
    """(initial, transit, slip, guess) per skill, from rows whose order within a user is their order in time.

    ``start`` (skills, 4) is where EM begins, and what skills without rows keep.
    """
    order = np.lexsort((np.arange(skill.size), user, skill))
    answers, owner = np.asarray(correct, np.bool_)[order], np.asarray(user)[order]
    edges = np.searchsorted(skill[order], np.arange(start.shape[0] + 1))
    fitted = start.copy()
    for k in range(start.shape[0]):
        low, high = edges[k], edges[k + 1]
        if high > low:
            heads = np.flatnonzero(np.r_[True, owner[low + 1 : high] != owner[low : high - 1], True])
            fitted[k] = _em(answers[low:high], heads, start[k], iterations, tolerance)
        if progress is not None:
            progress(k + 1, start.shape[0], "expectation-maximisation")
    return fitted


@njit(cache=True, nogil=True)
def _em(answers: Any, heads: Ints, start: Floats, iterations: int, tolerance: float) -> Any:
    """EM over sequences ``answers[heads[q]:heads[q + 1]]``."""
    theta = np.empty(4)
    for j in range(4):
        theta[j] = min(max(start[j], FLOOR), 1.0 - FLOOR)
    before = -np.inf
    forward, scale = np.empty(answers.size), np.empty(answers.size)
    for _ in range(iterations):
        counts, value = _expect(answers, heads, theta, forward, scale)
        for j in range(4):
            if counts[j, 1] > 0.0:
                high = CEILING if j >= 2 else 1.0 - FLOOR
                theta[j] = min(max(counts[j, 0] / counts[j, 1], FLOOR), high)
        if value - before < tolerance * answers.size:
            break
        before = value
    return theta


@njit(cache=True, nogil=True)
def _expect(answers: Any, heads: Ints, theta: Floats, forward: Floats, scale: Floats) -> Any:
    """Expected (how often, out of) of the four events, and the log-likelihood under ``theta``.

    ``forward[t]`` is P(mastered at t | answers to t), ``scale[t]`` is P(answer t | answers before): the scaled forward pass. The
    backward pass carries (b1, b0), the scaled likelihoods of what follows given mastered or not.
    """
    initial, transit, slip, guess = theta
    counts, value = np.zeros((4, 2)), 0.0
    for q in range(heads.size - 1):
        known = initial
        for t in range(heads[q], heads[q + 1]):
            yes = known * (1.0 - slip if answers[t] else slip)
            no = (1.0 - known) * (guess if answers[t] else 1.0 - guess)
            scale[t] = yes + no
            forward[t] = yes / scale[t]
            value += np.log(scale[t])
            known = forward[t] + (1.0 - forward[t]) * transit
        b1, b0 = 1.0, 1.0
        for t in range(heads[q + 1] - 1, heads[q] - 1, -1):
            mastered = forward[t] * b1
            unmastered = (1.0 - forward[t]) * b0
            counts[2, 0] += 0.0 if answers[t] else mastered
            counts[2, 1] += mastered
            counts[3, 0] += unmastered if answers[t] else 0.0
            counts[3, 1] += unmastered
            if t == heads[q]:
                counts[0, 0] += mastered
                counts[0, 1] += 1.0
                break
            e1 = (1.0 - slip if answers[t] else slip) / scale[t]
            e0 = (guess if answers[t] else 1.0 - guess) / scale[t]
            crossed = (1.0 - forward[t - 1]) * transit * e1 * b1
            counts[1, 0] += crossed
            counts[1, 1] += crossed + (1.0 - forward[t - 1]) * (1.0 - transit) * e0 * b0
            b1, b0 = e1 * b1, transit * e1 * b1 + (1.0 - transit) * e0 * b0
    return counts, value
