"""The report: one file with every section, nothing loaded from anywhere; opened in a real browser where there is one."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from slateproof.experiments import EXPERIMENTS, Finished, Outcome, evidence_map, fixed_margin, summary_page
from slateproof.experiments.claims import CLAIMS
from slateproof.experiments.core import Experiment, Result, Task
from slateproof.experiments.report import _constant, _numeric, _together, render
from slateproof.experiments.run import manifest
from slateproof.experiments.shelf import Shelf
from slateproof.experiments.verdicts import BASES, Ours, Published, bases, judge
from tests.experiments.experiment_world import run

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def finished(experiment: Experiment, result: Result, state: str = "ran") -> Finished:
    facts = {**manifest(Shelf(None), 42, False, "slateproof reproduce"), "constants": {"pools": 4}, "digest": "d" * 64}
    return Finished(experiment, state, result, 1.5, facts)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All experiments: one real result, the evidence map of it, one number of every verdict, the others left out."""
    real = run(fixed_margin.EXPERIMENT, pools=8, draws=250)
    odd = tuple(
        judge(Published(f"k{n}", "tab:x", f"number <{n}>", 1.0), Ours(value, why=why), "a cause & more")
        for n, (value, why) in enumerate([(1.0, None), (2.0, None), (9.0, None), (None, "no corpus")] * 5)
    )
    results = {name: Result({}, skipped=("oulad: not in the data folder",)) for name in EXPERIMENTS}
    results |= {"fixed-margin": real, "corpora": Result({}, ({"a": 1},), odd, ("a <note>",))}
    task = Task(evidence_map.EvidenceMap(), Shelf(None), 42, lambda *_: None, results)
    results["evidence-map"] = evidence_map.run(task)
    parts = tuple(finished(one, results[name], "ran" if results[name].rows else "skipped") for name, one in EXPERIMENTS.items())
    return Outcome(parts, tmp_path_factory.mktemp("report"), False, 12.0)


@pytest.fixture(scope="module")
def page(outcome: Outcome) -> str:
    return render(outcome, outcome.finished[0].manifest)


class Reader(HTMLParser):
    """Ids, links within the page, and every attribute that would make a browser fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id" and tag in ("section", "div"):
                self.ids.append(str(value))
            if tag == "a" and name == "href":
                self.links.append(str(value))
            elif name in ("src", "href", "xlink:href", "srcset", "data", "action") and not str(value).startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")


def test_it_has_every_section_and_fetches_nothing(page: str) -> None:
    reader = Reader()
    reader.feed(page)
    assert {"summary", "manifest", *EXPERIMENTS, *(f"claim-{claim.key}" for claim in CLAIMS)} == set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.fetched == []
    assert not {"script", "link", "iframe", "img"} & set(reader.tags)
    assert re.search(r"@import|url\((?!#)", page) is None
    assert {link[1:] for link in reader.links} <= set(reader.ids)


def test_it_says_what_came_out(page: str, outcome: Outcome) -> None:
    for kind, number in outcome.counts.items():
        assert f"<b>{number}</b><span>{kind}</span>" in page
    found = bases(one for part in outcome.finished for one in part.result.verdicts)
    assert all(f"{number} {BASES[basis]}" in page for basis, number in found.items() if number)
    assert sum(found.values()) == outcome.counts["reproduced"]
    assert "number &lt;2&gt;" in page
    assert "a &lt;note&gt;" in page
    assert "oulad: not in the data folder" in page
    assert "Holds if both fits fall" in page
    assert "Quick run" not in page


@pytest.mark.parametrize(
    ("value", "text"),
    [((), "none"), ((0.05, 0.1), "0.05, 0.1"), ((("a", ("b", "c")), "d"), "(a, (b, c)), d"), (True, "yes"), (10_000, "10000")],
)
def test_constants_are_written_for_people(value: Any, text: str) -> None:
    assert _constant(value) == text


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ([1, 2.5, None], True),
        (["3.55", "–", "none", "−0.2"], True),
        ([True, 1], False),
        (["0.1 [0.0, 0.2]"], False),
        (["a"], False),
    ],
)
def test_columns_of_numbers_are_set_flush_right(values: list[Any], right: bool) -> None:
    assert _numeric(values) is right


def test_an_interval_stays_on_one_line_and_text_stays_text() -> None:
    assert _together("<b> -0.1 [-0.2, 0.3]") == '&lt;b&gt; -0.1 <span class="nb">[-0.2, 0.3]</span>'


def test_a_quick_run_says_so(outcome: Outcome) -> None:
    quick = Outcome(outcome.finished, outcome.out, True, 12.0)
    assert "Quick run" in render(quick, outcome.finished[0].manifest)
    assert "A quick run" in summary_page(quick, outcome.out)


def test_the_page_for_the_repository_has_links_to_files_of_the_run(outcome: Outcome) -> None:
    text = summary_page(outcome, outcome.out.parent)
    folder = outcome.out.name
    assert f"({folder}/fixed-margin.svg)" in text
    assert f"({folder}/report.html)" in text
    assert all(f"({folder}/{name}.json)" in text for name in EXPERIMENTS)
    assert all(f"## {claim.title}" in text for claim in CLAIMS)
    assert str(outcome.out.parent) not in text
    assert text.count("a cause & more") == 1
    assert "| no corpus | 5 | `corpora` 5 |" in text
    assert "Reproduced are " in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| number")}
    assert widths == {5}


def test_the_map_measures_what_it_can(outcome: Outcome) -> None:
    part = next(one for one in outcome.finished if one.experiment.name == "evidence-map")
    assert (part.result.summary["claims"], part.result.summary["not_measured"]) == (6, 5)
    (row,) = [row for row in part.result.rows if row["holds"] is not None]
    assert row["claim"] == "Top-K exponent"


@pytest.mark.parametrize(("r_squared", "slope", "holds"), [(0.99, -0.5, True), (0.97, -0.5, False), (0.99, 0.1, False)])
def test_a_claim_holds_or_not_by_its_rule(r_squared: float, slope: float, holds: bool) -> None:
    ours = {"slope_independent": -0.2, "slope_low_rank": slope, "r_squared_independent": 0.99, "r_squared_low_rank": r_squared}
    assert evidence_map.CHECKS["exponent"].holds({"fixed-margin": Result(ours)}) is holds


@pytest.mark.parametrize(("exceptions", "event", "holds"), [(0, 0.99, True), (0, 0.10, False), (1, 0.99, False)])
def test_both_halves_of_the_drift_claim_must_hold(exceptions: int, event: float, holds: bool) -> None:
    summary = {"exceptions": exceptions, "scpo_exceptions": exceptions, "scpo_applies": 10}
    drift = Result(summary, ({"mode": "adaptive", "event_share": event}, {"mode": "adaptive-scpo", "event_share": 1.0}))
    assert evidence_map.CHECKS["drift"].holds({"drift": drift}) is holds
    assert str(exceptions) in evidence_map.CHECKS["drift"].found({"drift": drift})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1.0, 1.0), "reproduced"),
        ((1.0, 2.0), "same direction"),
        ((9.0, 2.0), "differs"),
        ((None,), "not comparable"),
        ((), "not comparable"),
    ],
)
def test_the_worst_verdict_speaks_for_a_claim(values: tuple[float | None, ...], kind: str) -> None:
    assert evidence_map.worst([judge(Published("k", "t", "w", 1.0), Ours(one)) for one in values]) == kind


PROBE = """<script>addEventListener("load", () => {
  const seen = [...document.querySelectorAll("[id]")].filter(one => one.getBoundingClientRect().height > 20).map(one => one.id);
  document.title = JSON.stringify({fetched: performance.getEntriesByType("resource").map(one => one.name), seen});
});</script>"""
"""Asks the browser itself what it laid out, and what the page made it fetch."""


def looked_at(page: str, folder: Path) -> dict[str, list[str]]:
    file = folder / "probed.html"
    file.write_text(page.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    found = re.search(r"<title>(.*?)</title>", _browse(file, folder, "--dump-dom"))
    assert found is not None
    return dict(json.loads(html.unescape(found[1])))


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: .ci/run installs it where it can")
def test_a_browser_shows_every_section_and_fetches_nothing(page: str, tmp_path: Path) -> None:
    found = looked_at(page, tmp_path)
    assert {"summary", "manifest", *EXPERIMENTS, *(f"claim-{claim.key}" for claim in CLAIMS)} <= set(found["seen"])
    assert found["fetched"] == []
    away = looked_at(page.replace("</body>", '<img src="http://127.0.0.1:9/x.png"></body>'), tmp_path)
    assert away["fetched"] == ["http://127.0.0.1:9/x.png"]  # the probe would have seen it


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: .ci/run installs it where it can")
def test_it_prints(page: str, tmp_path: Path) -> None:
    file, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    file.write_text(page, encoding="utf-8")
    _browse(file, tmp_path, f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")


def _browse(file: Path, folder: Path, *what: str) -> str:
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *what, file.as_uri()]
    home = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=home, check=True)
    return done.stdout


ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_page_and_report_are_whole() -> None:
    """Every link of RESULTS.md leads to a file, every figure is one that code hosts draw, every experiment has its section."""
    text = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)}
    assert [link for link in links if not (ROOT / link).is_file()] == []
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(pictures) >= 15
    assert all((ROOT / name).read_text(encoding="utf-8").startswith("<svg") for name in pictures)
    reader = Reader()
    reader.feed((ROOT / "results" / "report.html").read_text(encoding="utf-8"))
    assert {"summary", "manifest", *EXPERIMENTS, *(f"claim-{claim.key}" for claim in CLAIMS)} == set(reader.ids)
    assert reader.fetched == []


def test_the_registry_is_a_view() -> None:
    assert isinstance(EXPERIMENTS, MappingProxyType)
    view: Any = EXPERIMENTS
    with pytest.raises(TypeError):
        view["x"] = None
