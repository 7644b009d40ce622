"""A slice of the attack suite; ``python -m benchmarks.attack`` runs it in full."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def attack() -> ModuleType:
    root = str(Path(__file__).resolve().parents[2])
    if root not in sys.path:
        sys.path.insert(0, root)
    return importlib.import_module("benchmarks.attack")


def check_flips(result: dict[str, object], count: int) -> None:
    assert result["flips"] == count
    assert result["undetected"] == []
    assert result["outcome"]["detected"] > count / 3  # type: ignore[index]


def check_kills(result: dict[str, object]) -> None:
    assert result["failures"] == []
    assert result["acknowledged_commits"] > 0  # type: ignore[operator]
    assert result["records"] > 4  # type: ignore[operator]


def test_flipped_bits_are_found(attack: ModuleType) -> None:
    check_flips(attack.flips(80, seed=5), 80)


def test_killed_writers_lose_nothing(attack: ModuleType) -> None:
    check_kills(attack.kills(3, seed=5))


@pytest.mark.slow
def test_a_thousand_flipped_bits(attack: ModuleType) -> None:
    check_flips(attack.flips(1000, seed=1), 1000)


@pytest.mark.slow
def test_a_hundred_killed_writers(attack: ModuleType) -> None:
    check_kills(attack.kills(100, seed=1))
