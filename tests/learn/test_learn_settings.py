"""Settings of corpora and learners by name: typed, listed where one is unknown, and carried into reports and model files."""

from __future__ import annotations

from pathlib import Path

import pytest

from slateproof import corpora, learn
from slateproof.errors import InvalidInput
from slateproof.learn import modelfile, registry

CORPUS = corpora.demo()


def test_words_become_values_of_the_settings_type() -> None:
    assert registry.settings_of("bkt", ["slip=.2", "iterations=7"]) == {"slip": 0.2, "iterations": 7}
    assert registry.settings_of("dkt", ["item_terms=false"]) == {"item_terms": False}
    words = ["anchor_weight=1", "anchor.factors=4", "adaptive.loss=pairwise"]
    blend = learn.learner("blend", settings=registry.settings_of("blend", words))
    assert (blend.anchor_weight, blend.anchor.factors, blend.adaptive.loss) == (1.0, 4, "pairwise")  # type: ignore[attr-defined]
    assert corpora.options_of("ml-25m", ["like_at=3.5", "difficulty=success-rescaled"]) == {
        "like_at": 3.5,
        "difficulty": "success-rescaled",
    }
    assert corpora.options_of("ednet-kt4", ["max_users=none"]) == {"max_users": None}
    assert corpora.options_of("ednet-kt4", ["max_users=3"]) == {"max_users": 3}


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("bkt", ["slipp=.2"], "slipp: is no setting of bkt, which has initial, transit, slip, guess, fitted, iterations"),
        ("bkt-em", ["fitted=false"], "fitted: is no setting of bkt-em"),
        ("two-tower", ["name=mine"], "name: is no setting of two-tower"),
        ("blend", ["raw=true", "raw=false"], "raw: must be set once (got 'false')"),
        ("blend-raw", ["raw=true"], "raw: is no setting of blend-raw"),
        ("private-two-tower", ["steps=3"], "steps: is no setting of private-two-tower"),
        ("bkt", ["slip"], "settings: must be key=value (got 'slip')"),
        ("bkt", ["iterations=2.5"], "iterations: must be a whole number (got '2.5')"),
        ("bkt", ["slip=low"], "slip: must be a number (got 'low')"),
        ("dkt", ["item_terms=1"], "item_terms: must be true or false (got '1')"),
    ],
)
def test_other_words_are_refused(name: str, words: list[str], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        registry.settings_of(name, words)
    assert str(refused.value).startswith(said)


def test_corpora_refuse_what_their_loaders_do_not_take(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"like_at: is no setting of oulad, which has pass_mark, difficulty, min_user"):
        corpora.load("oulad", tmp_path, like_at=3.0)
    with pytest.raises(InvalidInput, match=r"name: is no setting of ml-25m"):
        corpora.options_of("ml-25m", ["name=mine"])
    with pytest.raises(InvalidInput, match=r"user: is no setting of assistments-2009"):
        corpora.options_of("assistments-2009", ["user=x"])
    with pytest.raises(InvalidInput, match=r"difficulty: must be one of score, success"):
        corpora.options_of("oulad", ["difficulty=hard"])
    with pytest.raises(InvalidInput, match=r"settings: of a table stand in its .toml file"):
        corpora.options_of("mine.toml", ["min_user=3"])
    assert len(corpora.load("synthetic-education", users=30, items=20, per_user=5.0)) == 150
    assert not any("name" in one.settings for one in corpora.CORPORA.values())


def test_settings_stand_in_the_report_and_in_the_model_file(tmp_path: Path) -> None:
    scorer, report = learn.train(CORPUS, "two-tower", settings={"epochs": 2, "hidden": 8, "embedding": 4, "loss": "pairwise"})
    assert "settings: epochs=2, hidden=8, embedding=4, loss=pairwise" in report.to_text()
    told = report.to_dict()
    assert told["settings"]["loss"] == "pairwise"
    assert [(one["done"], one["total"]) for one in told["steps"]] == [(1, 2), (2, 2)]
    assert all("training loss" in one["what"] and "validation loss" in one["what"] for one in told["steps"])
    assert f"last step: 2 of 2, {told['steps'][-1]['what']}" in report.to_text()
    scorer.save(tmp_path / "m")
    held = modelfile.read(tmp_path / "m").config
    assert (held["settings"]["epochs"], held["settings"]["negatives"], held["scale"]) == (2, 4, "none")
    learn.open_model(tmp_path / "m", CORPUS).save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    _, plain = learn.train(CORPUS, "popularity")
    assert (plain.to_dict()["settings"], "settings" in plain.to_text()) == ({}, False)
