"""Frozen values filled quickly.

A frozen dataclass sets each field through ``object.__setattr__``, which takes a sixth of a selection from 100 candidates. A value
whose parts were validated elsewhere is made as an object of an *open* class with the same slots, filled by plain assignment, and
then handed the frozen class; nobody sees it before that.

Scope: none; construction only.
"""

from __future__ import annotations

from typing import Any

__all__ = ["open_twin"]


def open_twin(kind: type) -> Any:
    """A class with the slots of ``kind`` and no guard. Set ``__class__`` to ``kind`` once every slot is filled."""
    slots: Any = kind.__dict__["__slots__"]
    return type(f"Open{kind.__name__}", (), {"__slots__": tuple(slots)})
