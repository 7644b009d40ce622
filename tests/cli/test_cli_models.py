"""`slateproof train` and `slateproof score` through the real command line, up to a log of slates that verifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slateproof import corpora, learn
from slateproof.cli import main
from slateproof.learn import modelfile

CORPUS = corpora.demo()


def run(monkeypatch: pytest.MonkeyPatch, *words: Any) -> int:
    """Run a command as the shell does; return its exit code."""
    monkeypatch.setattr("sys.argv", ["slateproof", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with pools of the demo corpus and a model of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLATEPROOF_DATA", raising=False)
    rng = np.random.default_rng(3)
    ids = CORPUS.items.ids.tolist()
    rows = [
        {"round_id": f"r{b}", "user": user, "ids": [ids[i] for i in rng.permutation(150)[: 20 + b]]}
        for b, user in enumerate(["s001", None, "s044"])
    ]
    pq.write_table(pa.Table.from_pylist(rows), "pools.parquet")
    learn.learner("linucb").fit(CORPUS, seed=1).save(tmp_path / "made.model")
    return tmp_path


def spoiled(**columns: list[Any]) -> None:
    pq.write_table(pa.table(columns), "spoiled.parquet")


def test_a_model_is_trained_scored_and_selected_with(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", "synthetic-demo", "--learner", "linucb", "--out", "deep/er/linucb.model", "--json", "report.json")
    assert run(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    for said in ("linucb fitted on synthetic-demo (synthetic) (digest", "AUC, pooled", "NDCG@10", "wrote deep/er/linucb.model"):
        assert said in out
    report = json.loads(Path("report.json").read_text())
    assert report["corpus_digest"] == CORPUS.digest
    assert report["held_out"]["auc"]["low"] > 0.5
    words = ("score", "deep/er/linucb.model", "pools.parquet", "--corpus", "synthetic-demo", "--out", "scored.parquet")
    assert run(monkeypatch, *words) == 0
    assert "scored 3 pools with linucb; wrote scored.parquet" in capsys.readouterr().out
    rows = pq.read_table("scored.parquet").to_pylist()
    assert [row["round_id"] for row in rows] == ["r0", "r1", "r2"]
    scorer = learn.learner("linucb").fit(CORPUS)
    context = learn.Context.new(1)
    expected = scorer.score(scorer.begin(context, 42), context, learn.codes_of(CORPUS, rows[1]["ids"])[None])
    assert rows[1]["scores"] == expected.scores[0].tolist()
    assert rows[1]["widths"] == expected.widths[0].tolist()
    assert rows[1]["targets"] == CORPUS.items.difficulty[learn.codes_of(CORPUS, rows[1]["ids"])].tolist()
    assert run(monkeypatch, "policy", "init", "policy.toml") == 0
    assert run(monkeypatch, "select", "scored.parquet", "--policy", "policy.toml", "--log", "log") == 0
    assert run(monkeypatch, "verify", "log") == 0


def test_a_rerun_writes_the_same_bytes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        assert run(monkeypatch, "train", "synthetic-demo", "--learner", "als", "--out", name, "--seed", 7) == 0
    assert Path("one").read_bytes() == Path("two").read_bytes()
    model = modelfile.read("one")
    assert (model.seed, model.corpus_digest, model.ledger) == (7, CORPUS.digest, None)
    assert {"python", "slateproof", "numpy", "implicit"} <= set(model.versions)
    assert run(monkeypatch, "train", "synthetic-demo", "--learner", "als", "--out", "two", "--seed", 8) == 0
    assert Path("one").read_bytes() != Path("two").read_bytes()


def test_settings_of_corpus_and_learner(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--set", "users=40", "--set", "items=30", "--set", "per_user=20")
    words = ("train", "synthetic-education", *small, "--learner", "bkt", "--learner-set", "slip=0.05", "--out", "m")
    assert run(monkeypatch, *words) == 0
    said = capsys.readouterr()
    assert "settings: slip=0.05" in said.out
    assert said.err == "training bkt on synthetic-education (synthetic): 800 interactions\n"
    held = modelfile.read("m")
    assert held.config["slip"] == 0.05
    corpus = corpora.synthetic_education(users=40, items=30, per_user=20.0)
    assert held.corpus_digest == corpus.digest
    Path("p.jsonl").write_text(json.dumps({"ids": corpus.items.ids[:4].tolist()}) + "\n")
    words = ("score", "m", "p.jsonl", "--out", "s.jsonl", "--corpus", "synthetic-education")
    assert run(monkeypatch, *words, *small) == 0
    assert run(monkeypatch, *words) == 2  # the corpus of other settings is another corpus
    assert run(monkeypatch, "data", "describe", "synthetic-education", *small) == 0
    assert "interactions             800" in capsys.readouterr().out
    assert run(monkeypatch, "data", "check", "synthetic-education", *small) == 0


def test_a_table_of_ones_own_is_trained_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{u},{i},{(u + i) % 3 % 2}" for u in range(20) for i in range(6)]
    Path("answers.csv").write_text("who,what,right\n" + "\n".join(rows) + "\n")
    words = ("--user", "who", "--item", "what", "--response", "right", "--save", "answers.toml")
    assert run(monkeypatch, "data", "load", "answers.csv", *words) == 0
    assert run(monkeypatch, "train", "answers.toml", "--learner", "popularity", "--out", "m") == 0
    Path("pools.jsonl").write_text('{"ids": [0, 3, 5], "user": 4}\n{"ids": [1, 2, 4], "user": null}\n')
    assert run(monkeypatch, "score", "m", "pools.jsonl", "--corpus", "answers.toml", "--out", "s.jsonl") == 0
    assert [len(json.loads(line)["scores"]) for line in Path("s.jsonl").read_text().splitlines()] == [3, 3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "synthetic-demo", "--learner", "guess", "--out", "m"), "learner: must be one of popularity, mf-bce"),
        (("train", "nothing", "--learner", "linucb", "--out", "m"), "corpus: must be the .toml file of a table, or one of"),
        (("train", "oulad", "--learner", "linucb", "--out", "m"), "oulad is read from a data folder: name it"),
        (("train", "synthetic-demo", "--learner", "linucb", "--out", "."), "out: must be a file, not a folder"),
        (("train", "synthetic-demo", "--learner", "linucb", "--out", "made.model/m"), "out: cannot be written"),
        (("train", "synthetic-demo", "--learner", "linucb", "--out", "m", "--seed", "-1"), "seed: must be a whole number"),
        (
            ("train", "synthetic-demo", "--learner", "bkt", "--out", "m", "--learner-set", "slipp=1"),
            "slipp: is no setting of bkt, ",
        ),
        (
            ("train", "synthetic-demo", "--learner", "bkt", "--out", "m", "--set", "users=3"),
            "users: is no setting of synthetic-demo",
        ),
        (("score", "made.model", "nulls.jsonl"), "ids: must not hold a null (at 1)"),
        (("score", "made.model", "pools.parquet", "--seed", "-1"), "seed: must be a whole number"),
        (("score", "away", "pools.parquet"), "model: cannot be read"),
        (("score", "pools.parquet", "pools.parquet"), "model: is damaged, truncated or no model file"),
        (("score", "cut.model", "pools.parquet"), "model: is damaged, truncated or no model file"),
        (("score", "old.model", "pools.parquet"), "format: of this model file must be 2: it was written by another version"),
        (("score", "made.model", "away.parquet"), "pools: cannot be read"),
        (("score", "made.model", "spoiled.parquet"), "ids: is not in the corpus (got 'e999' at "),
        (("score", "made.model", "stranger.parquet"), "user: is not in the corpus; a new user is null (got 'nobody' at 0)"),
        (("score", "made.model", "made.model"), "pools: the name must end in one of"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(
    words: tuple[str, ...], said: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Path("made.model").read_bytes()
    Path("cut.model").write_bytes(made[:-200])
    pq.write_table(pa.table({"ids": [["e001"]], "user": ["nobody"]}), "stranger.parquet")
    spoiled(ids=[["e001", "e002"], ["e003", "e999"]])
    Path("nulls.jsonl").write_text('{"ids": ["e001"]}\n{"ids": ["e001", null]}\n')
    ours = modelfile.FORMAT
    monkeypatch.setattr(modelfile, "FORMAT", 0)
    learn.learner("linucb").fit(CORPUS).save(Path("old.model"))
    monkeypatch.setattr(modelfile, "FORMAT", ours)
    more = ("--corpus", "synthetic-demo", "--out", "s.parquet") if words[0] == "score" else ()
    assert run(monkeypatch, *words, *more) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert not Path("s.parquet").exists()
    assert not Path("m").exists()


def test_a_model_of_another_corpus_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("score", "made.model", "pools.parquet", "--corpus", "synthetic-education", "--out", "s.parquet")
    assert run(monkeypatch, *words) == 2
    err = capsys.readouterr().err
    assert "corpus: must be the one the model was fitted on (synthetic-demo (synthetic), digest" in err
    assert "(got 'synthetic-education (synthetic), digest" in err
