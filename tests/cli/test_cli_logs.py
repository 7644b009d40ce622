"""`slateproof verify | show | diff | certify` through the real command line: what is said, what is written, and the exit code."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slateproof as sp
from slateproof.audit import AuditLog, PublicKey, diff, masked_copy, show
from slateproof.audit.header import Header
from slateproof.audit.keys import private_key
from slateproof.certify import certify
from slateproof.cli import main
from slateproof.policy import Policy
from slateproof.types import Slate

KEY = private_key(bytes(range(32)))
SIGMA = 0.05


def run(monkeypatch: pytest.MonkeyPatch, *words: Any) -> int:
    """Run a command as the shell does; return its exit code."""
    monkeypatch.setattr("sys.argv", ["slateproof", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def slates() -> list[Slate]:
    """Eight slates: catalogue pools, pools with vectors of their own, one of SCPO and one of top-K."""
    rng = np.random.default_rng(11)
    catalog = sp.Catalog([f"q{i}" for i in range(40)], rng.random(40), vectors=sp.unit(rng.normal(size=(40, 4))))
    state, levers = sp.State(0.4, 0.6, 0.5, ("q3", "q8")), sp.Levers(0.1, 0.2, 0.4, 3)
    out = []
    for place in range(8):
        scores, widths = rng.normal(size=15), rng.random(15)
        if place % 2:
            names = [f"x{i}" for i in range(15)]
            pool = sp.Pool(names, scores, rng.random(15), widths, vectors=sp.unit(rng.normal(size=(15, 4))))
        else:
            pool = catalog.pool([f"q{i}" for i in rng.permutation(40)[:15]], scores, widths)
        selector = {5: sp.WindowSelector(window=0.9), 6: sp.TopKSelector()}.get(place, sp.GreedySelector())
        out.append(selector.select(pool, levers, state))
    return out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with logs of both levels, a checkpoint after four records, the public key and a policy."""
    monkeypatch.chdir(tmp_path)
    for level in ("replay", "monitor"):
        with AuditLog.create(tmp_path / level, level, KEY) as log:
            log.append_batch(slates()[:4], round_ids=range(4))
            (tmp_path / f"{level}.note").write_text(str(log.commit()), encoding="utf-8")
            log.append_batch(slates()[4:], round_ids=range(4, 8))
    (tmp_path / "public.vkey").write_text(PublicKey.of(KEY).vkey)
    (tmp_path / "other.vkey").write_text(PublicKey.of(private_key(bytes(32))).vkey)
    assert run(monkeypatch, "policy", "init", "policy.toml") == 0
    return tmp_path


def test_a_sound_log(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("verify", "replay", "--checkpoint", "replay.note", "--public-key", "public.vkey", "--json", "out/report.json")
    assert run(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    assert "sound: 8 records, 8 selected again bit for bit, 0 without inputs" in out
    assert f"signed by {PublicKey.of(KEY).vkey}" in out
    assert "note:" not in out
    report = json.loads((folder / "out" / "report.json").read_text())
    assert (report["ok"], report["exit_code"], report["size"], report["replayed"]) == (True, 0, 8, 8)


def test_many_logs_verify_together(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A report for each, and the exit code of the worst."""
    assert run(monkeypatch, "verify", "replay", "monitor", "--public-key", "public.vkey") == 0
    out = capsys.readouterr().out
    assert out.index("replay:\nsound: 8 records, 8 selected") < out.index("monitor:\nsound: 8 records, 0 selected")
    nudge(sorted((folder / "replay").glob("records-*.parquet"))[1], 2)
    assert run(monkeypatch, "verify", "monitor", "replay", "--json", "both.json") == 1
    found = json.loads((folder / "both.json").read_text())
    assert [(one["log"], one["ok"]) for one in found["logs"]] == [("monitor", True), ("replay", False)]
    assert run(monkeypatch, "verify", "replay", "nowhere", "monitor") == 2
    out = capsys.readouterr().out
    assert "NOT SOUND" in out
    assert "nowhere:\ncould not be checked" in out
    assert "monitor:\nsound" in out
    assert run(monkeypatch, "verify", "replay", "monitor", "--checkpoint", "replay.note") == 2
    assert "checkpoint: belongs to one log" in capsys.readouterr().err


def nudge(path: Path, row: int) -> None:
    """The last bit of one score of one record."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[row]["scores"][0] = math.nextafter(rows[row]["scores"][0], 9.0)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def test_a_log_that_is_not_sound(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nudge(sorted((folder / "replay").glob("records-*.parquet"))[1], 2)
    assert run(monkeypatch, "verify", "replay", "--public-key", "public.vkey", "--json", "report.json") == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT SOUND: 8 records")
    assert "changed at record 6: its values do not give the digest that was committed for it" in out
    report = json.loads((folder / "report.json").read_text())
    assert (report["exit_code"], report["problems"][0]["kind"], report["problems"][0]["index"]) == (1, "changed", 6)
    assert run(monkeypatch, "show", "replay", 6) == 0
    assert "record 6: DAMAGED: its digest does not fit" in capsys.readouterr().out
    assert run(monkeypatch, "certify", "replay", "--sigma", SIGMA) == 2
    assert "error: record 6 does not give the digest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["replay", "--public-key", "other.vkey"], 1, "signature: the last checkpoint is not signed by"),
        (["replay", "--checkpoint", "monitor.note"], 1, "origin: the given checkpoint belongs to"),
        (["nowhere"], 2, "could not be checked: "),
        (["."], 2, "holds no slateproof log"),
        (["replay", "--checkpoint", "policy.toml"], 2, "checkpoint: must be a signed note"),
        (["replay", "--checkpoint", "nowhere.note"], 2, "checkpoint: cannot be read"),
        (["replay", "--public-key", "nowhere.vkey"], 2, "cannot read 'nowhere.vkey'"),
        (["replay", "--public-key", "policy.toml"], 2, "public key: must look like name+hash+key"),
    ],
)
def test_what_verify_says_and_returns(
    words: list[str], code: int, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", *words) == code
    assert said in capsys.readouterr().out


def test_show_gives_text_and_json(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "show", "replay", 1) == 0
    text = capsys.readouterr().out
    with AuditLog.open(folder / "replay") as log:
        view = show(log, 1)
    assert text == view.to_text() + "\n"
    assert run(monkeypatch, "show", "replay", 1, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(view.to_dict()))
    assert found["slate"] == list(slates()[1].ids)
    assert found["fields"]["slate"]["pool_size"] == 15


def test_show_of_a_monitor_log(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "show", "monitor", 2) == 0
    assert "withheld: state, shown, candidates, scores, similarities, steps" in capsys.readouterr().out


def test_diff_says_what_would_change(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "diff", "replay", "--policy", "policy.toml", "--json", "diff.json") == 0
    out = capsys.readouterr().out
    with AuditLog.open(folder / "replay") as log:
        report = diff(log, Policy.load(folder / "policy.toml"))
    assert report.changed > 0
    assert out.startswith(report.to_text())
    assert json.loads((folder / "diff.json").read_text()) == json.loads(json.dumps(report.to_dict()))


def test_diff_of_a_monitor_log_compares_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "diff", "monitor", "--policy", "policy.toml") == 0
    out = capsys.readouterr().out
    assert "0 of 0 slates would change" in out
    assert "not compared: 8 records: inputs are not in the record" in out


def test_certify_bounds_what_logged_similarities_leave_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log holds only the similarities that were asked for: its figures bound those of the whole pool, and are no NaN."""
    words = ("certify", "replay", "--sigma", SIGMA, "--draws", 50, "--max-flip", 0.2, "--out", "cert")
    assert run(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    assert "nan" not in out
    assert "3 of 8 rounds hold only the similarities that the selector asked for" in out
    found = json.loads((folder / "cert" / "certificates.json").read_text())
    assert (folder / "cert" / "certificates.svg").read_text().startswith("<svg")
    assert (folder / "cert" / "certificates.txt").read_text() == out[: out.index("wrote ")]
    listed = list(csv.DictReader((folder / "cert" / "certificates.csv").open()))
    assert [float(row["radius"]) for row in listed] == [row["radius"] for row in found["rows"]]
    assert [row["flip_union"] == "" for row in listed] == [row["flip_union"] is None for row in found["rows"]]
    likely = [row["flip_probability"] for row in found["rows"] if row["flip_probability"] is not None]
    assert found["summary"]["max_flip"] == 0.2
    assert found["summary"]["flip_probability_at_most"] == sum(p <= 0.2 for p in likely) / 8
    for place, (slate, row) in enumerate(zip(slates(), found["rows"], strict=True)):
        whole = certify(slate)
        assert row["margin"] == pytest.approx(whole.margin, abs=1e-12), place
        assert row["radius"] == pytest.approx(whole.radius, abs=1e-12)
        if slate.rule.kind == "window":
            assert row["flip_union"] is None
            continue
        if place in (1, 3, 7):
            # The set needs similarities that nobody asked for.
            assert row["set_flip_probability"] is None
            # More than rounding, or the bound would not be one.
            assert row["flip_union"] >= whole.flip_union(SIGMA) * (1 - 1e-12)
            assert row["flip_probability"] >= whole.flip_probability(SIGMA) - 4 * row["error"]
        else:
            assert row["flip_union"] == whole.flip_union(SIGMA)
            assert row["flip_probability"] == float(whole.flip_probability(SIGMA))
            # The log has the candidates in id order, so the same draws fall on other candidates.
            assert abs(row["set_flip_probability"] - whole.set_flip_probability(SIGMA)) < 5 * row["set_error"]


def test_certify_of_a_monitor_log(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Margins and pool sizes are enough for the paper's bound; the other rungs are left out, and it says why."""
    assert run(monkeypatch, "certify", "monitor", "--sigma", SIGMA, "--draws", 5, "--out", "cert") == 0
    out = capsys.readouterr().out
    for rung in ("flip_union", "flip_probability", "set_flip_probability", "exact check", "--draws"):
        assert f"note: {rung}: needs scores and similarities: a replay-level log" in out
    rows = json.loads((folder / "cert" / "certificates.json").read_text())["rows"]
    assert "1 SCPO rounds are left out" in out
    assert "|score| plus bonuses up to 1000, similarities up to 1000 in size and unit vectors of up to 4096 dimensions" in out
    stepwise = [(place, slate) for place, slate in enumerate(slates()) if slate.rule.kind != "window"]
    for (place, slate), row in zip(stepwise, rows, strict=True):
        whole = certify(slate)
        assert (row["round"], row["items"]) == (place, 15)
        assert row["margin"] == pytest.approx(whole.margin, abs=1e-9)
        assert row["radius"] == pytest.approx(whole.radius, abs=1e-9)
        assert (row["margin"], row["radius"]) <= (whole.margin, whole.radius)
        assert row["flip_bound"] == pytest.approx(whole.flip_bound(SIGMA), rel=1e-6)


def test_certify_of_a_masked_copy(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What an outside auditor gets: with the inputs it is certified like the original, without them from its margins."""
    with AuditLog.open(folder / "replay") as log:
        masked_copy(log, folder / "whole")
        masked_copy(log, folder / "scant", drop=["state", "shown"])
    said = []
    for name in ("replay", "whole", "monitor", "scant"):
        assert run(monkeypatch, "certify", name, "--sigma", SIGMA) == 0
        said.append(capsys.readouterr().out)
    assert said[1] == said[0]
    assert said[3] == said[2] != said[0]


def test_certify_of_an_old_monitor_log(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Schema version 1 had no pool sizes: a bound about an unknown number of candidates is refused."""
    new = Header.new
    monkeypatch.setattr(Header, "new", lambda *words: replace(new(*words), schema_version=1))
    with AuditLog.create(folder / "old", "monitor") as log:
        log.append_batch(slates()[:2])
    assert run(monkeypatch, "certify", "old", "--sigma", SIGMA) == 2
    assert "schema version 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "replay", "8"], "index: must be a committed record, 0 to 7 (got 8)"),
        (["show", "nowhere", "0"], "holds no slateproof log"),
        (["diff", "replay", "--policy", "nowhere.toml"], "policy: cannot be read"),
        (["diff", "nowhere", "--policy", "policy.toml"], "holds no slateproof log"),
        (["certify", "nowhere", "--sigma", "1"], "holds no slateproof log"),
        (["certify", "empty", "--sigma", "1"], "log: has no records yet"),
        (["certify", "replay", "--sigma", "1", "--max-flip", "1"], "max_flip: must lie strictly between 0 and 1"),
        (["certify", "bare", "--sigma", "1"], "does not hold margins, levers, rule and pool sizes"),
        (["verify", "replay", "--json", "policy.toml/report.json"], "json: cannot be written"),
        (["certify", "monitor", "--sigma", "1", "--out", "policy.toml"], "out: cannot be written"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(
    words: list[str], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    AuditLog.create(folder / "empty").close()
    with AuditLog.open(folder / "replay") as log:
        masked_copy(log, folder / "bare", drop=["policy", "scores"])
    assert run(monkeypatch, *words) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
