"""The configuration file: every refusal names its field, and the example is what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slateproof.errors import InvalidInput
from slateproof.simulate import MODES, Calibration, load_config
from slateproof.simulate.config import read_config

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "simulate.toml"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"modes": ["adaptiv"]}, r"modes: must be among adaptive, als-selector.*\(got 'adaptiv'\)"),
        ({"modes": ["als", "als"]}, r"modes: must not repeat a name \(got 'als'\)"),
        ({"modes": []}, "modes: must name at least one mode"),
        ({"models": ["irtt"]}, r"models: must be among irt, mirt, zpd, contextual_zpd, legacy \(got 'irtt'\)"),
        ({"models": []}, "models: "),
        ({"profiles": ["lazy"]}, r"profiles: must be among struggling, steady, advancing, high_flyer \(got 'lazy'\)"),
        ({"preset": "movielens"}, "preset: "),
        ({"corpus": {"name": "ouladd"}}, "ouladd"),
        ({"rounds": 0}, r"rounds: .*\(got 0\)"),
        ({"copies": 0}, r"copies: .*\(got 0\)"),
        ({"seed": -1}, r"seed: .*\(got -1\)"),
        ({"pool_size": 5}, r"pool_size: must be at least 8, the largest slate of mode adaptive \(got 5\)"),
        ({"parameters": {"legacy": {"decay": 0.1}}}, r"parameters: must be about models of this run.*\(got 'legacy'\)"),
        ({"parameters": {"irt": {"gess": 0.1}}}, r"parameters.irt: has only .*\(got 'gess'\)"),
        ({"parameters": {"irt": {"guess": 1.1}}}, r"parameters.irt.guess: must lie in \[0, 1\] \(got 1.1\)"),
        ({"parameters": {"irt": {"guess": float("nan")}}}, r"parameters.irt.guess: .*\(got nan\)"),
        ({"reference": "bkt", "modes": ["als"]}, r"reference: must be a mode of this run \(als\) \(got 'bkt'\)"),
        ({"rouns": 3}, "rouns: is not a key of a simulation"),
        ({"mode": [{"name": "x", "base": "y"}]}, r"mode.base: must be among .*\(got 'y' at '\[\[mode\]\] x'\)"),
        ({"mode": [{"name": "als"}]}, r"modes: must not repeat a name \(got 'als'\)"),
        ({"mode": [{"name": "x", "learner": "magic"}]}, r"mode.learner: must be one of .*\(got 'magic' at '\[\[mode\]\] x'\)"),
        ({"mode": [{"name": "x", "noise": 0.1}]}, "mode.0.noise: is not a key of a simulation"),
        ({"mode": [{"name": "x", "levers": {"size": 0}}]}, r"mode.levers.size: .*\(got 0 at"),
        ({"mode": [{"name": "x", "score_noise": -0.1}]}, "mode.score_noise: must be at least 0"),
        ({"mode": [{"name": "x", "target_gain": -1.0}]}, "mode.target_gain: must be at least 0"),
        ({"mode": [{"name": "x", "removed": ["trust"]}]}, "mode.removed: must be among target, exploration, diversity, size"),
        ({"mode": [{"name": "x", "tier": "locked", "learner": "bkt"}]}, r"mode.tier: needs a learner .*\(got 'bkt' at"),
        ({"copies": 10_000, "rounds": 1000}, r"copies: times models, profiles, rounds and pool_size must be at most 100,000,000"),
        ({"similarity": "text"}, "similarity: "),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_config(values)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="config: cannot be read"):
        load_config(tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("modes = [")
    with pytest.raises(InvalidInput, match="config: is not TOML"):
        load_config(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="config: cannot be read"):
        load_config(broken)


def test_an_empty_file_is_the_paper_s_design(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("")
    config = load_config(path)
    assert (config.seed, config.rounds, config.copies, config.pool_size) == (42, 20, 16, 100)
    assert len(config.models) * len(config.profiles) * config.copies == 256
    assert tuple(one.name for one in config.all_modes()) == tuple(MODES)


def test_a_variant_keeps_what_it_does_not_name() -> None:
    config = read_config({"mode": [{"name": "mild", "base": "adaptive-als", "anchor_weight": 0.5, "removed": ["size"]}]})
    made, base = config.all_modes()[-1], MODES["adaptive-als"]
    assert (made.name, made.anchor_weight, made.removed) == ("mild", 0.5, frozenset({"size"}))
    assert (made.learner, made.anchor, made.selector, made.updates) == (base.learner, base.anchor, base.selector, base.updates)
    assert config.learners() == tuple(dict.fromkeys(["two-tower", "mf-bce", "linucb", "bkt", "dkt", "sakt"]))


def test_fitted_parameters_stand_below_those_of_the_file() -> None:
    config = read_config({"models": ["irt", "legacy"], "parameters": {"irt": {"ease": 0.5}}})
    fit = Calibration(1.0, 1.0, 4.0, 0.3, 10, 100, -0.5, -0.6, eases=(("irt", 2.0),))
    models = config.response_models(fit)
    assert (models["irt"].ease, models["irt"].centre) == (0.5, 0.3)  # type: ignore[attr-defined]
    assert read_config({"models": ["irt"]}).response_models(fit)["irt"].ease == 2.0  # type: ignore[attr-defined]
    assert models["legacy"] == config.response_models()["legacy"]


def test_the_example_is_valid_and_names_every_key() -> None:
    config = load_config(EXAMPLE)
    assert len(config.all_modes()) == 8
    text = EXAMPLE.read_text()
    for key in type(config).model_fields:
        assert f"\n{key} = " in text or f"\n[{key}" in text or f"\n[[{key}" in text, key
