"""Shared fixtures: the real corpora where they are present, and hypothesis profiles."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora: SLATEPROOF_DATA, or ../shared/data beside the checkout."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("SLATEPROOF_DATA", root.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("corpus not present")
    return folder
