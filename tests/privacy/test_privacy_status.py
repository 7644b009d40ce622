"""Statuses: what a policy file may hold, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof import privacy as pv
from slateproof.errors import InvalidInput

PLAIN = {"public": pv.public, "dp-output": pv.dp_output, "conditioned": pv.conditioned, "non-private": pv.non_private}


@pytest.mark.parametrize("name", PLAIN)
def test_names_and_tables_are_read(name: str) -> None:
    assert pv.status(name) == pv.status({"status": name}) == PLAIN[name]()
    assert PLAIN[name]().to_dict() == name


@given(epsilon=st.floats(0, 1e6), delta=st.floats(0, 1, exclude_max=True))
def test_accounted_comes_back_as_it_was(epsilon: float, delta: float) -> None:
    one = pv.accounted(epsilon, delta)
    assert pv.status(one.to_dict()) == one
    assert one.to_dict() == {"status": "accounted", "epsilon": epsilon, "delta": delta}


def test_a_status_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        pv.public().kind = "dp-output"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "field", "word"),
    [
        ("private", "status", "must be one of"),
        ("accounted", "status", "must state its budget"),
        (None, "status", "must be a name or a table"),
        (3, "status", "must be a name or a table"),
        ({"status": "publik"}, "status", "must be one of"),
        ({"status": ["public"]}, "status", "must be one of"),
        ({}, "status", "must have the key"),
        ({"status": "public", "epsilon": 1.0}, "status", "has a key"),
        ({"status": "accounted", "epsilon": 1.0}, "status", "must have the key 'delta'"),
        ({"status": "accounted", "epsilon": 1.0, "delta": 0.0, "note": ""}, "status", "has a key"),
        ({"status": "accounted", "epsilon": -1.0, "delta": 0.0}, "epsilon", "at least 0"),
        ({"status": "accounted", "epsilon": float("inf"), "delta": 0.0}, "epsilon", "finite"),
        ({"status": "accounted", "epsilon": float("nan"), "delta": 0.0}, "epsilon", "finite"),
        ({"status": "accounted", "epsilon": "1", "delta": 0.0}, "epsilon", "number"),
        ({"status": "accounted", "epsilon": 1.0, "delta": 1.0}, "delta", "below 1"),
        ({"status": "accounted", "epsilon": 1.0, "delta": -1e-9}, "delta", "lie in"),
    ],
)
def test_refusals_name_field_and_rule(value: object, field: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=word) as caught:
        pv.status(value)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_budget_belongs_to_accounted_alone() -> None:
    with pytest.raises(InvalidInput, match="only an accounted input"):
        pv.Status("public", 1.0, 0.0)
