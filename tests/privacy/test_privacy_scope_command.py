"""`slateproof scope`: the same verdict on the screen and as JSON, for every regime, with what would better it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from slateproof import privacy as pv
from slateproof.audit import AuditLog
from slateproof.cli.app import app
from slateproof.learn.modelfile import Model, write
from slateproof.policy import Policy

STRONG = {
    "scores": "dp-output", "candidates": "public", "targets": "public", "similarity": "public", "widths": "dp-output",
    "state": "public", "shown": "dp-output",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ledger = pv.Ledger()
    ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=1.2, count=20)
    (tmp_path / "ledger.json").write_text(json.dumps(ledger.to_dict()), encoding="utf-8")
    return tmp_path


def policy(folder: Path, named: bool = True, **inputs: str) -> Path:
    lines = ["[privacy]", 'ledger = "ledger.json"' if named else "", "[privacy.inputs]"]
    lines += [f'{name} = "{kind}"' for name, kind in {**STRONG, **inputs}.items()]
    path = folder / "policy.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["scope", *map(str, arguments)])


@pytest.mark.parametrize(
    ("inputs", "regime", "better"),
    [
        ({}, "end-to-end", None),
        ({"state": "conditioned"}, "conditional", ("end-to-end", "state  fix the levers")),
        ({"anchor": "non-private"}, "anchored", ("end-to-end", "anchor  leave the anchor out")),
        ({"anchor": "non-private", "state": "conditioned"}, "anchored", ("conditional", "anchor  leave the anchor out")),
    ],
)
def test_screen_and_json_hold_the_verdict(folder: Path, inputs: dict[str, str], regime: str, better: Any) -> None:
    path, out = policy(folder, **inputs), folder / "scope.json"
    done = run(path, "--json", out)
    assert done.exit_code == 0, done.output
    scope = Policy.load(path).scope(pv.Ledger.from_dict(json.loads((folder / "ledger.json").read_text(encoding="utf-8"))))
    assert json.loads(out.read_text(encoding="utf-8")) == json.loads(json.dumps(scope.to_dict()))
    assert done.output.startswith(f"Regime      {regime}\n")
    assert scope.to_text() in done.output
    assert ("ε = 0.53" in done.output) is (regime != "anchored")
    for name in scope.inputs:
        assert f"\n  {name[0]} " in done.output
    assert ("For the next better regime" in done.output) is (better is not None)
    if better is not None:
        assert f"For the next better regime ({better[0]})\n  {better[1]}" in done.output


def test_a_policy_without_its_ledger_claims_nothing(folder: Path) -> None:
    done = run(policy(folder, named=False))
    assert done.exit_code == 0
    assert "no figure: no private release is recorded" in done.output
    assert "ledger  hand over that of the run that made scores, widths, shown" in done.output
    assert run(policy(folder, named=False), "--ledger", folder / "ledger.json").output.startswith("Regime      end-to-end")


@pytest.mark.parametrize("content", ["{", '{"format": "another"}', None])
def test_a_ledger_that_cannot_be_read_is_an_error_that_names_it(folder: Path, content: str | None) -> None:
    (folder / "ledger.json").unlink()
    if content is not None:
        (folder / "ledger.json").write_text(content, encoding="utf-8")
    done = run(policy(folder))
    assert done.exit_code != 0
    assert "ledger" in f"{done.output}{done.exception}"
    assert "Regime" not in done.output


def test_the_ledger_of_a_model_file_is_read(folder: Path) -> None:
    """What `slateproof train --learner private-two-tower` writes carries its ledger; a model without one is non-private."""
    ledger = pv.Ledger.from_dict(json.loads((folder / "ledger.json").read_text(encoding="utf-8")))
    write(folder / "private.npz", Model("two-tower", {}, 0, "0" * 64, "corpus", {}, ledger))
    write(folder / "plain.npz", Model("als", {}, 42, "0" * 64, "corpus", {}))
    path = policy(folder, named=False)
    assert run(path, "--ledger", folder / "private.npz").output == run(path, "--ledger", folder / "ledger.json").output
    plain = run(path, "--ledger", folder / "plain.npz").output
    assert plain.startswith("Regime      anchored")
    assert "als trained without differential privacy" in plain


def test_no_line_is_wider_than_a_page(folder: Path) -> None:
    worst = dict.fromkeys(pv.INPUTS, "non-private")
    for inputs in ({}, worst, dict.fromkeys(pv.INPUTS, "conditioned")):
        body = run(policy(folder, **inputs)).output.split("\n\n", 1)[1]
        assert max(map(len, body.splitlines())) <= 110


def test_the_log_of_a_selection_holds_the_same_verdict(folder: Path) -> None:
    """Written by `slateproof select` from the same policy and the ledger that it names."""
    path, out, pools = policy(folder), folder / "scope.json", folder / "pools.jsonl"
    pool = {
        "ids": ["a", "b", "c"],
        "scores": [0.3, 0.2, 0.1],
        "targets": [0.4, 0.5, 0.6],
        "vectors": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]],
    }
    pools.write_text(json.dumps(pool) + "\n", encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8") + "\n[levers.fixed]\nsize = 2\n", encoding="utf-8")
    run(path, "--json", out)
    done = CliRunner().invoke(app, ["select", str(pools), "--policy", str(path), "--log", str(folder / "log")])
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    with AuditLog.open(folder / "log") as log:
        assert log.header.scope == json.loads(out.read_text(encoding="utf-8"))
        assert log.header.scope["regime"] == "end-to-end"
