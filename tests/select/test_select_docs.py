"""The pages about batches and SCPO: their code runs as printed, their tables are those of the committed results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import pages

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_code_of_the_page_runs_as_printed() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "batches.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {"__name__": "batches_page"}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("name", list(pages.PAGES))
def test_the_page_shows_the_committed_results(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert pages.filled(name, text) == text, "python -m benchmarks.pages"


@pytest.mark.parametrize("name", list(pages.PAGES))
def test_another_result_is_another_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the check above can fail: doubled numbers do not give the same text."""

    def doubled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: doubled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [doubled(part) for part in value]
        return 2 * value if isinstance(value, float) else value

    read, text = pages.read, (DOCS / name).read_text(encoding="utf-8")
    monkeypatch.setattr(pages, "read", lambda source: doubled(read(source)))
    assert pages.filled(name, text) != text


def test_a_profile_is_shown_in_shares_of_the_whole() -> None:
    row = {
        "n": 100, "d": 48, "k": 8, "similarities": 130.0, "shaping_and_first_item": 1.0, "all_steps_without_similarities": 3.0,
        "with_similarities": 7.0, "with_trace": 10.0, "the_dot_products_alone": 1.5,
        "with_similarities_on_runs_of_equal_pools": 5.6,
    }  # fmt: skip
    assert pages.profile_table({"profile_us": [row]}).splitlines()[-1] == (
        "| 100 | 8 | 10.00 | 10% | 20% | 40% | 15% | 30% | 130 of 800 | 20% |"
    )
