"""Explanations: strict JSON, no signed nothings, and the second-best set of SCPO beside the chosen one."""

from __future__ import annotations

import json
from typing import Any

import pytest

import slateproof as sp


def strict(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def test_an_infinite_margin_is_none_in_the_dict() -> None:
    """Two candidates, two places: at the second step nothing else is left."""
    slate = sp.GreedySelector().select(sp.Pool(["a", "b"], [1.0, 0.5], [0.5, 0.4]), sp.Levers(size=2))
    told = strict(slate.explain().to_dict())
    assert [reason["margin"] for reason in told["reasons"]] == [slate.margins[0], None]
    assert told["reasons"][1]["runner_up"] is None
    assert told["second_best"] == []


@pytest.mark.parametrize("selector", [sp.GreedySelector(novelty=0.0), sp.WindowSelector()])
def test_what_rounds_to_nothing_has_no_sign(selector: Any) -> None:
    pool = sp.Pool(["a", "b", "c"], [-1e-9, -0.0, 0.0], [0.0, 0.0, 0.0], similarity=[[-1e-12] * 3] * 3)
    explained = selector.select(pool, sp.Levers(diversity=0.5, size=2), sp.State(knowledge=1.0)).explain()
    for shown in (explained.to_text(), explained.to_html()):
        assert "-0.0000" not in shown
        assert " 0.00000" in shown or ">0.00000" in shown


def test_scpo_tells_the_second_best_set() -> None:
    """Scores 4, 3, 2, 1, nothing else: the best pair is {a, b}, the second best {a, c}, both in slate order."""
    pool = sp.Pool(["c", "a", "b", "d"], [2.0, 4.0, 3.0, 1.0], [0.5] * 4)
    slate = sp.WindowSelector(target_gain=0.0).select(pool, sp.Levers(size=2))
    explained = slate.explain()
    assert slate.ids == ("a", "b")
    assert [parts.id for parts in explained.second_best] == ["a", "c"]
    told = strict(explained.to_dict())
    assert [(parts["id"], parts["objective"]) for parts in told["second_best"]] == [("a", 4.0), ("c", 2.0)]
    table = explained.to_arrow()
    assert table["runner_id"].to_pylist() == ["a", "c"]
    assert table["runner_objective"].to_pylist() == [4.0, 2.0]
    assert "in the second-best set" in explained.to_html()
    assert "second-best set: {a, c}, value 6.000000" in explained.to_text()


def test_scpo_without_another_set() -> None:
    explained = sp.WindowSelector().select(sp.Pool(["a", "b"], [1.0, 0.5], [0.5, 0.4]), sp.Levers(size=2)).explain()
    told = strict(explained.to_dict())
    assert told["second_best"] == []
    assert [reason["margin"] for reason in told["reasons"]] == [None, None]
    assert explained.to_arrow()["runner_id"].to_pylist() == [None, None]
