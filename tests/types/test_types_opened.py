"""Values that are filled quickly are the values that a constructor makes, and as frozen."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import slateproof as sp
from slateproof.types import Steps


def parts() -> tuple[Any, ...]:
    catalog = sp.Catalog([1, 2, 3], [0.2, 0.5, 0.8], vectors=np.eye(3))
    pool = catalog.pool([3, 1, 2], [0.3, 0.2, 0.1], [0.1, 0.0, 0.2])
    slate = sp.GreedySelector().select(pool, sp.Levers(diversity=0.3, size=2))
    return pool, slate, slate.steps


def test_they_are_of_the_frozen_class_and_stay_so() -> None:
    for value, kind in zip(parts(), (sp.Pool, sp.Slate, Steps), strict=True):
        assert type(value) is kind
        for name in (*kind.__slots__, "__class__", "anything"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, None)


def test_every_slot_is_filled_and_survives_copies() -> None:
    for value in parts():
        for other in (value, copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            for name in type(value).__slots__:
                getattr(other, name)


def test_a_slate_made_quickly_is_the_one_made_in_full() -> None:
    pool, slate, steps = parts()
    whole = sp.Slate(pool, slate.levers, slate.state, slate.rule, slate.target, steps, slate.policy_digest)
    assert whole == slate
    assert whole.trace.to_dict() == slate.trace.to_dict()


def test_arrays_of_a_selection_cannot_be_written() -> None:
    pool, slate, steps = parts()
    for array in (
        pool.scores,
        pool.targets,
        pool.widths,
        pool.rows,
        steps.places,
        steps.numbers,
        steps.similarities,
        slate.indices,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
