"""Causes: what differs in figures only is said once, with ranges; what is different stays apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof.experiments.causes import grouped


def test_figures_become_ranges() -> None:
    causes = [
        "The step is not stated. The tail is 0.0107 at top-10, -3 to it; 1,000 pools.",
        "The step is not stated. The tail is 0.0104 at top-10, -5 to it; 1,000 pools.",
    ]
    assert grouped(causes) == (
        dict.fromkeys(causes, 1),
        ("The step is not stated. The tail is 0.0104 to 0.0107 at top-10, -5 to -3 to it; 1,000 pools.",),
    )


def test_other_sentences_of_a_group_are_kept_once_and_other_causes_stay_apart() -> None:
    causes = ["Gap .5. Pearson r is 0.52.", "Another thing.", "Gap .7. Spearman is +1.", "Gap .6. Pearson r is 0.40."]
    places, texts = grouped(causes)
    assert [places[one] for one in causes] == [1, 2, 1, 1]
    assert texts == ("Gap .5 to .7. Pearson r is 0.40 to 0.52. Spearman is +1.", "Another thing.")


def test_a_later_cause_can_join_two_groups() -> None:
    causes = ["One 1.", "Two 2.", "Two 3. One 4."]
    assert grouped(causes) == (dict.fromkeys(causes, 1), ("One 1 to 4. Two 2 to 3.",))


def test_nothing_gives_nothing() -> None:
    assert grouped([]) == ({}, ())


@pytest.mark.parametrize("text", ["-0.5 [-1.2, .3], 12 %, 1e-05, 25,000,095", "×10⁻³ of 0.5%; mirt/x2y, γ=.35.", "−0.25 and −1.5."])
def test_a_single_cause_stays_as_it_is(text: str) -> None:
    assert grouped([text]) == ({text: 1}, (text,))


@given(st.lists(st.text("ab. A0123456789,.-+e%[]", max_size=40).map(str.strip), max_size=6))
def test_every_cause_has_a_group_and_every_group_a_text(causes: list[str]) -> None:
    places, texts = grouped(causes)
    assert set(places) == set(causes)
    assert set(places.values()) == set(range(1, len(texts) + 1))


def test_the_committed_causes_say_each_thing_once() -> None:
    """Of a full run: no sentence stands twice in the list of an experiment."""
    results = Path(__file__).resolve().parents[2] / "results"
    for file in sorted(results.glob("*.json")):
        causes = [one["cause"] for one in json.loads(file.read_text())["published"] if one["cause"] is not None]
        _, texts = grouped(causes)
        assert len(texts) <= 12, file.name
        sentences = [part for text in texts for part in text.split(". ")]
        assert len(sentences) == len(set(sentences)), file.name
