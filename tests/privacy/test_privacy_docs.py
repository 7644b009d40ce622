"""Every Python block of docs/privacy.md runs, in order, in one namespace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "privacy.md"


def test_the_examples_run() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"```python\n(.*?)```", text, flags=re.S))
    assert len(blocks) == 8
    space: dict[str, object] = {}
    for block in blocks:
        above = "\n" * text.count("\n", 0, block.start(1))  # so that a failure names the line of the page
        exec(compile(above + block[1], str(PAGE), "exec"), space)


def test_reading_a_scope_does_not_import_the_accountant() -> None:
    code = "import sys\nfrom slateproof import privacy\nassert 'dp_accounting' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
