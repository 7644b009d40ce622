"""The core is light: importing it loads none of the libraries of the extras."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("jax", "equinox", "optax", "matplotlib", "fastapi", "uvicorn", "ray", "implicit", "jinja2", "sklearn", "pandas", "polars")


def test_import_slateproof_loads_no_heavy_library() -> None:
    code = f"import sys, slateproof; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
