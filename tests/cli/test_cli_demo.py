"""`slateproof demo`: run once, with every optional library and the network taken away, then checked against the files it wrote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from slateproof import corpora
from slateproof.audit import AuditLog, verify_log
from slateproof.certify import certify
from slateproof.cli import main
from slateproof.cli.demo import demo
from slateproof.cli.demo.folder import Folder
from slateproof.errors import InvalidInput
from slateproof.policy import Policy
from slateproof.privacy import Ledger

ALONE = """
import socket, sys
GONE = {"jax", "equinox", "optax", "jax_privacy", "implicit", "matplotlib", "jinja2", "fastapi", "ray", "pandas", "polars",
        "duckdb", "sklearn"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
def refuse(*what):
    raise AssertionError(f"the demo went to the network: {what}")
sys.meta_path.insert(0, Absent())
socket.socket.connect = socket.getaddrinfo = refuse
import typer
from slateproof.cli.demo import demo
app = typer.Typer()
app.command()(demo)
app()
"""


class Reader(HTMLParser):
    """Collects ``<data id value>`` elements with their words, texts of ids, and the colours of squares by section."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.values: dict[str, float] = {}
        self.words: dict[str, str] = {}
        self.fills: dict[str, list[str]] = {}
        self.titles: dict[str, list[str]] = {}
        self._section = self._open = ""
        self._in_title = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "section":
            self._section = found["id"]
        if tag == "data":
            assert found["id"] not in self.values, "an id stands once"
            self.values[found["id"]] = float(found["value"])
        if "id" in found:
            self._open = found["id"]
            self.words[self._open] = ""
        if tag == "rect":
            self.fills.setdefault(self._section, []).append(found["fill"])
        self._in_title = tag == "title"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.words[self._open] += data
        if self._in_title:
            self.titles.setdefault(self._section, []).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in ("data", "td", "span"):
            self._open = ""


@dataclass(frozen=True)
class Ran:
    """A finished demo: the folder that holds ``demo``, and what was printed."""

    home: Path
    printed: str

    @property
    def out(self) -> Path:
        return self.home / "demo"

    @property
    def source(self) -> str:
        return (self.out / "report.html").read_text(encoding="utf-8")


def run_alone(home: Path) -> Ran:
    env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=home, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return Ran(home, done.stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_alone(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def page(ran: Ran) -> Reader:
    return Reader(ran.source)


def test_the_log_it_leaves_is_sound_and_the_forged_copy_is_not(ran: Ran, page: Reader) -> None:
    report = verify_log(ran.out / "log", ran.out / "early.note", ran.out / "public.vkey")
    assert report.ok
    assert page.words["verdict"] == "sound"
    assert page.values["replayed"] == page.values["slates"] == page.values["slates_again"] == report.replayed == report.size == 960
    forged = verify_log(ran.out / "tampered", ran.out / "early.note", ran.out / "public.vkey")
    assert [(p.kind, p.index) for p in forged.problems] == [("changed", page.values["record"]), ("root", 840)]
    found = [("unreadable", 840), ("changed", int(page.values["record"])), ("root", 840), ("rollback", 360)]
    rows = re.findall(r" caught +(\w+) at record (\d+)", ran.printed)
    assert [(kind, int(place)) for kind, place in rows] == found
    cells = re.findall(r">caught</span></td><td><b>(\w+)</b> at record (\d+):", ran.source)
    assert [(kind, int(place)) for kind, place in cells] == found
    assert "4 of 4 forgeries caught" in ran.printed
    assert "not caught" not in (ran.printed + ran.source).lower()


def test_one_forged_number_is_all_that_differs(ran: Ran, page: Reader) -> None:
    record = int(page.values["record"])
    with AuditLog.open(ran.out / "log") as log, AuditLog.open(ran.out / "tampered") as forged:
        a, b = (list(one.store.batches(["scores"], 0, 960)) for one in (log, forged))
    differ = []
    for left, right in zip(a, b, strict=True):
        pairs = zip(left.column("scores").to_pylist(), right.column("scores").to_pylist(), strict=True)
        differ += [[(x, y) for x, y in zip(*pair, strict=True) if x != y] for pair in pairs]
    assert [place for place, found in enumerate(differ) if found] == [record]
    ((old, new),) = differ[record]
    assert new == np.nextafter(old, np.inf)
    assert f"{old!r} became {new!r}" in ran.source


def test_the_page_certifies_what_the_log_holds(ran: Ran, page: Reader) -> None:
    value, record = page.values, int(page.values["record"])
    with AuditLog.open(ran.out / "log") as log:
        last = [certify(log.replay(place)) for place in range(840, 960)]
    certificate = last[record - 840]
    assert value["margin"] == certificate.margin
    assert f"radius {certificate.radius:.6f}" in ran.source
    assert sorted(one.radius for one in last)[59] == certificate.radius, "the example has the median radius"
    assert value["flip"] == float(certificate.flip_probability(value["sigma"]))
    assert value["bound"] == certificate.flip_bound(value["sigma"])
    assert value["firm"] == sum(float(one.flip_probability(value["sigma"])) <= 0.05 for one in last)
    assert value["last"] == 120
    change = certificate.witness()
    assert not certificate.exact(certificate.slate.pool.scores + change)
    assert f"a change of {np.abs(change).max():.6f} after which" in ran.source
    for number in (f"{certificate.radius:.6f}", f"{value['flip']:.2f}", f"{value['firm']:.0f} stay below"):
        assert number in ran.printed


def test_the_page_counts_the_corpus_and_the_class(ran: Ran, page: Reader) -> None:
    corpus, value = corpora.load("synthetic-demo"), page.values
    assert (value["users"], value["answers"], value["items"]) == (corpus.users, len(corpus), len(corpus.items))
    assert value["share"] == corpus.positive.mean()
    assert value["heldout"] == (corpus.split().part == 2).sum()
    assert value["learners_count"] * value["rounds"] == value["slates"]
    assert value["round"] == value["record"] // value["learners_count"] + 1
    with AuditLog.open(ran.out / "log") as log:
        assert len(log.store.checkpoints()) - 1 == value["commits"] == value["rounds"]
        slate = log.replay(int(value["record"]))
        root = log.checkpoint.root.hex()
    assert slate.pool.size == value["pool"]
    assert slate.policy_digest == Policy.load(ran.out / "policy.toml").digest
    for digest in (root, corpus.digest, slate.policy_digest):
        assert digest in ran.source
    for item in slate.ids:
        assert f">{item}</text>" in ran.source
    assert "synthetic" in ran.source
    assert "ynthetic" in ran.printed


def test_the_verdicts_are_those_of_the_policies(ran: Ran, page: Reader) -> None:
    assert page.words["as-run"] == "anchored: no claim"
    assert Policy.load(ran.out / "policy.toml").scope().regime == "anchored"
    ledger = Ledger.from_dict(json.loads((ran.out / "ledger.json").read_text()))
    scope = Policy.load(ran.out / "private.toml").scope(ledger)
    assert scope.regime == "end-to-end"
    assert scope.epsilon is not None
    told = re.fullmatch(r"end-to-end: ε ≤ (\S+), δ = (\S+) per answer", page.words["private"])
    assert told is not None
    assert scope.epsilon <= float(told[1]) < scope.epsilon + 0.001
    assert float(told[2]) == scope.delta
    assert page.values["noise"] == ledger.releases[0].noise_multiplier  # type: ignore[union-attr]
    assert 0.0 < page.values["error"] < 0.2


def test_words_agree_with_values(page: Reader) -> None:
    scale = {"share": ("%", 100.0), "bytes": (" MB", 1e-6)}
    for name, value in page.values.items():
        if name == "bound":
            assert page.words[name].startswith(f"{min(1.0, value):.2g}")
            continue
        unit, factor = scale.get(name, ("", 1.0))
        words = page.words[name].replace(",", "").removesuffix(unit)
        digits = len(words.partition(".")[2])
        assert float(words) == pytest.approx(value * factor, abs=0.5 * 10.0**-digits * 1.0001), name


def test_squares_show_the_verdict_record_by_record(page: Reader) -> None:
    green, orange = "#009E73", "#D55E00"
    assert page.fills["verify"] == [green] * 960
    assert sorted(page.fills["tamper"]) == sorted([green] * 959 + [orange])
    record = int(page.values["record"])
    odd = [title for title in page.titles["tamper"] if "the same, bit for bit" not in title]
    assert len(odd) == 1
    assert odd[0].startswith(f"record {record},")


def test_what_the_captions_say_is_so(ran: Ran) -> None:
    """Two captions state a result in words: harder exercises for those who know more, and overlapping intervals."""
    got: dict[str, list[float]] = {"struggling": [], "high_flyer": []}
    with AuditLog.open(ran.out / "log") as log:
        for kind, first in (("struggling", 840), ("high_flyer", 930)):
            for slate in (log.replay(place) for place in range(first, first + 30)):
                assert slate.pool.targets is not None
                got[kind] += slate.pool.targets[slate.indices].tolist()
    assert np.mean(got["struggling"]) < np.mean(got["high_flyer"]) - 0.1
    model, popularity = re.findall(r"\[(\d\.\d+), (\d\.\d+)\]", " ".join(ran.printed.split()))
    assert max(float(model[0]), float(popularity[0])) < min(float(model[1]), float(popularity[1]))


def test_the_page_stands_alone(ran: Ran) -> None:
    for fetched in ("http", "src=", "<script", "<link", "@import", "url("):
        assert fetched not in ran.source
    assert "$" not in ran.source, "every placeholder was filled"
    assert all(
        f'<section id="{name}">' in ran.source for name in ("corpus", "learn", "select", "log", "verify", "certify", "scope")
    )


def test_the_terminal_is_eighty_columns_and_plain(ran: Ran) -> None:
    assert "\x1b" not in ran.printed
    told = [line.rstrip() for line in ran.printed.splitlines() if not line.startswith("slateproof ")]
    assert max(map(len, told)) <= 80
    assert "…" not in ran.printed.replace("…; the key", ""), "no cell is cut off"
    for step, title in enumerate(("Corpus", "Learn", "Select", "Log", "Verify", "Certify", "Scope", "Tamper"), 1):
        assert re.search(rf"^ {step} {title} ", ran.printed, re.M)


def test_the_commands_it_names_work(ran: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ran.home)
    lines = [line.strip() for line in ran.printed.splitlines() if line.startswith("slateproof ") and "demo/" in line]
    lines += re.findall(r"<code>(slateproof \w+ demo/[^<]*)</code>", ran.source)
    assert len(lines) >= 11
    codes = {}
    for line in dict.fromkeys(lines):
        monkeypatch.setattr("sys.argv", line.split())
        try:
            main()
        except SystemExit as end:
            codes[line] = int(end.code or 0)
        assert line in codes
    assert codes.pop("slateproof verify demo/tampered --public-key demo/public.vkey") == 1
    assert set(codes.values()) == {0}
    (ran.out / "mine.toml").unlink()


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(InvalidInput, match="out: is not empty and was not made by a demo"):
        demo(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(InvalidInput, match="out: must be a folder"):
        demo(out=tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "three years of work"


def test_an_own_folder_is_replaced_and_strangers_in_it_stay(tmp_path: Path) -> None:
    folder = Folder.claim(tmp_path / "a" / "demo")
    (folder.log / "deep").mkdir(parents=True)
    folder.report.write_text("old")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    folder.tampered.symlink_to(tmp_path / "kept")
    (folder.path / "mine.toml").write_text("mine")
    again = Folder.claim(folder.path)
    assert sorted(path.name for path in again.path.iterdir()) == [".slateproof-demo", "mine.toml"]
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_help_says_what_it_does() -> None:
    app = typer.Typer()
    app.command()(demo)
    told = CliRunner().invoke(app, ["--help"])
    assert told.exit_code == 0
    assert "--out" in told.output


@pytest.mark.slow
def test_a_second_run_replaces_the_first_and_finds_the_same(ran: Ran, page: Reader) -> None:
    vary = {"seconds", "speed", "error", "bytes"}  # clocks, privacy noise, compressed salts
    before = (ran.out / "public.vkey").read_text()
    again = Reader(run_alone(ran.home).source)
    assert {n: v for n, v in again.values.items() if n not in vary} == {n: v for n, v in page.values.items() if n not in vary}
    assert (ran.out / "public.vkey").read_text() != before
    with AuditLog.open(ran.out / "log") as log:
        assert len(log) == 960
