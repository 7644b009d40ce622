"""`slateproof data check` and `slateproof train` on every corpus in the data folder, and reruns that give the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slateproof import learn
from slateproof.cli import main
from slateproof.corpora import CORPORA, entry, load
from slateproof.learn import modelfile

COUNTS = {
    "oulad": 0,
    "assistments-2009": 0,
    "ml-25m": 1,  # a prefix of the publisher's
    "amazon-musical-instruments-5": 0,
    "ednet-kt4": 0,  # nobody states its counts
    "ednet-surrogate": 0,
}
"""What `data check` exits with."""

LARGE = ("oulad", "assistments-2009", "ednet-surrogate")

SMALL = ("--learner-set", "epochs=1", "--learner-set", "hidden=16", "--learner-set", "embedding=8")
SHORT = ("--learner-set", "epochs=1", "--learner-set", "width=8")


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["slateproof", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def needs(data: Path, name: str) -> None:
    if entry(name).missing(data):
        pytest.skip(f"corpus not present: {name}")


@pytest.mark.corpus
def test_every_corpus_of_the_folder_is_tested(corpora: Path) -> None:
    here = {name for name, one in CORPORA.items() if one.needs and not one.missing(corpora)}
    assert here <= set(COUNTS)


@pytest.mark.corpus
@pytest.mark.parametrize("name", COUNTS)
def test_check(name: str, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(corpora, name)
    assert run(monkeypatch, "data", "check", name, "--data", str(corpora)) == COUNTS[name]


@pytest.mark.corpus
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in COUNTS])
def test_train(
    name: str, corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(corpora, name)
    for learner in ("popularity", "bkt"):
        out = str(tmp_path / learner)
        assert run(monkeypatch, "train", name, "--data", str(corpora), "--learner", learner, "--out", out) == 0
        assert "AUC, pooled          0." in capsys.readouterr().out
    corpus = load(name, corpora)
    assert learn.open_model(tmp_path / "bkt", corpus).corpus_digest == corpus.digest


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(("learner", "settings"), [("two-tower", SMALL), ("dkt", SHORT), ("sakt", SHORT)])
def test_networks_train_on_every_corpus(
    name: str, learner: str, settings: tuple[str, ...], corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(corpora, name)
    fewer = ("--set", "users=1500") if name == "ednet-surrogate" else ()
    words = ("train", name, "--data", str(corpora), *fewer, "--learner", learner, *settings, "--out", str(tmp_path / "m"))
    assert run(monkeypatch, *words) == 0
    assert modelfile.read(tmp_path / "m").learner == learner


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "settings"), [("two-tower", {"epochs": 2}), ("dkt", {"epochs": 2})])
def test_two_processes_write_the_same_model_file(learner: str, settings: dict[str, int], tmp_path: Path) -> None:
    """Bit for bit, on one machine; another seed gives another file."""
    words = [word for key, value in settings.items() for word in ("--learner-set", f"{key}={value}")]
    files = {}
    for out, seed in (("one", "7"), ("two", "7"), ("other", "8")):
        command = [
            "-c",
            "from slateproof.cli import main; main()",
            "train",
            "synthetic-demo",
            "--learner",
            learner,
            "--seed",
            seed,
            "--out",
            out,
            *words,
        ]
        subprocess.run([sys.executable, *command], check=True, capture_output=True, cwd=tmp_path)
        files[out] = (tmp_path / out).read_bytes()
    assert files["one"] == files["two"]
    assert files["one"] != files["other"]
