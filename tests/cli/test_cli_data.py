"""`slateproof data list | fetch | check | describe | load` through the real command line."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slateproof import corpora
from slateproof.cli import main
from slateproof.corpora import registry

ANSWERS = """learner,exercise,right,when,topics
ann,e1,1,2024-03-01T09:00:00,fractions|decimals
ann,e2,0,2024-03-01T09:05:00,decimals
bob,e1,1,2024-03-02T10:00:00,fractions
cid,e2,1,2024-03-02T11:00:00,decimals
"""
COLUMNS = ("--user", "learner", "--item", "exercise", "--response", "right")


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
    """An empty folder to work in, without a data folder, with one table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLATEPROOF_DATA", raising=False)
    Path("answers.csv").write_text(ANSWERS)
    return tmp_path


def movielens(folder: Path, ratings: str = "1,10,4.0,5\n1,11,2.5,6\n2,10,5,7\n3,11,1,8\n") -> Path:
    (folder / "ml-25m").mkdir(parents=True)
    (folder / "ml-25m" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + ratings)
    (folder / "ml-25m" / "movies.csv").write_text('movieId,title,genres\n10,"A, B (1999)",Comedy|Drama\n11,C (2000),Drama\n')
    return folder


def test_list_names_every_corpus_its_state_and_its_licence(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "data", "list") == 0
    out = capsys.readouterr().out
    assert out.startswith("no data folder")
    assert all(name in out for name in corpora.CORPORA)
    assert "unknown     MovieLens 25M" in out
    movielens(here / "data")
    assert run(monkeypatch, "data", "list") == 0
    out = capsys.readouterr().out
    assert out.startswith("data folder: data\n")
    assert "present     MovieLens 25M" in out
    assert "missing     Open University" in out
    assert "generated   The demo's small corpus" in out
    assert "CC BY 4.0" in out


def test_check_says_whether_the_counts_are_those_stated(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    movielens(here / "data")
    assert run(monkeypatch, "data", "check", "ml-25m", "--json", "check.json") == 1
    out = capsys.readouterr().out
    assert out.startswith("ml-25m: differs from the publisher's README")
    assert out.count("DIFFERS") == 2
    assert json.loads(Path("check.json").read_text())["ok"] is False
    assert run(monkeypatch, "data", "check", "synthetic-demo") == 0
    assert "no source states its counts" in capsys.readouterr().out


def test_a_setting_changes_the_corpus_and_shows(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    movielens(here / "data")
    assert run(monkeypatch, "data", "describe", "ml-25m", "--set", "like_at=2.5", "--set", "min_user=2") == 0
    out = capsys.readouterr().out
    assert "positive rule            rating >= 2.5" in out
    assert "at least 2 rows per user and 1 per item" in out
    assert run(monkeypatch, "data", "check", "ml-25m", "--set", "like_at=2.5") == 1


def test_describe_prints_rules_filters_and_digest(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    movielens(here / "elsewhere")
    monkeypatch.setenv("SLATEPROOF_DATA", str(here / "elsewhere"))
    assert run(monkeypatch, "data", "describe", "ml-25m", "--json", "facts.json") == 0
    out = capsys.readouterr().out
    for said in ("interactions             4", "rating >= 4", "success: 1 - share of positive responses", "no redistribution"):
        assert said in out
    assert json.loads(Path("facts.json").read_text())["digest"] in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("data", "check", "nothing"), "corpus: must be the .toml file of a table, or one of oulad, ednet-kt1"),
        (("data", "check", "oulad"), "data: oulad is read from a data folder: name it (--data, or SLATEPROOF_DATA)"),
        (("data", "check", "oulad", "--data", "."), "for oulad; `slateproof data fetch oulad` gets it (got '.')"),
        (("data", "describe", "assistments-2009", "--data", "."), "nobody's address is known to fetch it from"),
        (("data", "check", "oulad", "--set", "like_at=3"), "like_at: is no setting of oulad, which has pass_mark, difficulty, "),
        (("data", "describe", "oulad", "--set", "pass_mark=forty"), "pass_mark: must be a number (got 'forty')"),
        (("data", "describe", "away.toml", "--set", "min_user=3"), "settings: of a table stand in its .toml file"),
        (("data", "list", "--data", "away"), "data: is not a folder (got 'away')"),
        (("data", "fetch", "nothing"), "corpus: must be"),
        (("data", "fetch", "synthetic-demo", "--yes"), "has no publisher's address to fetch from"),
        (("data", "describe", "away.toml"), "corpus: cannot be read"),
        (("data", "load", "away.csv", *COLUMNS), "file: there is no such file (got 'away.csv')"),
        (("data", "load", "answers.csv", "--user", "who", *COLUMNS[2:]), "who: the column is missing"),
        (("data", "load", "answers.csv", *COLUMNS, "--time", "right"), "columns: each role needs a column of its own"),
        (("data", "load", "answers.csv", *COLUMNS, "--difficulty", "topics"), "answers.csv row 2"),
        (("data", "load", "answers.csv", *COLUMNS, "--difficulty-rule", "guess"), "difficulty: must be score, success or"),
        (("data", "load", "answers.csv", *COLUMNS, "--min-item", "9"), "must keep at least one interaction after its filters"),
        (("data", "load", "answers.csv", *COLUMNS, "--save", "answers.json"), "save: the name must end in .toml"),
        (("data", "load", "answers.csv", *COLUMNS, "--json", "answers.csv/x.json"), "json: cannot be written"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(
    words: tuple[str, ...], said: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1


SPOILED = {
    "empty": ("t.csv", b"", "file: the file is empty"),
    "header only": ("t.csv", b"learner,exercise,right\n", "rows: the file has no rows"),
    "no number": ("t.csv", b"learner,exercise,right\na,x,1\nb,y,well\n", "(got 'well' at 't.csv row 3')"),
    "a cell missing": ("t.csv", b"learner,exercise,right\na,x,1\nb,y\n", "t.csv row 3"),
    "an empty user": ("t.csv", b"learner,exercise,right\na,x,1\n,y,0\n", "must be text and not empty (got '' at 't.csv row 3')"),
    "not UTF-8": ("t.csv", b"learner,exercise,right\na,x,1\n\xff,y,0\n", "t.csv row 3"),
    "a rating": ("t.csv", b"learner,exercise,right\na,x,1\nb,y,3\n", "right: must be 0 or 1, unless positive_at"),
    "cut .gz": ("t.csv.gz", gzip.compress(ANSWERS.encode())[:-9], "file: is not a whole .gz file"),
    "no JSON": ("t.jsonl", b'{"learner": 1, "exercise": 2, "right": 1}\n{"learner": \n', "t.jsonl row 2"),
    "no Parquet": ("t.parquet", b"PAR1 but no more", "t.parquet"),
    "another kind": ("t.xlsx", b"PK", "file: must end in .csv, .tsv, .parquet"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "data", "said"), SPOILED.values(), ids=SPOILED)
def test_spoiled_tables_name_the_row_and_the_value(
    file: str, data: bytes, said: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_bytes(data)
    assert run(monkeypatch, "data", "load", file, *COLUMNS, "--save", "t.toml") == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert not Path("t.toml").exists()


def test_malformed_rows_pass_up_to_a_limit_and_are_counted(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("answers.csv").write_text(ANSWERS + "dan,e1,maybe,2024-03-02T11:00:00,x\neve,e2,,2024-03-02T11:00:00,x\n")
    assert run(monkeypatch, "data", "load", "answers.csv", *COLUMNS, "--max-bad-rows", 2) == 0
    assert "malformed rows left out  2" in capsys.readouterr().out
    assert run(monkeypatch, "data", "load", "answers.csv", *COLUMNS, "--max-bad-rows", 1) == 2
    err = capsys.readouterr().err
    assert "more than 1 malformed rows; the first: right: must be a finite number, true or false (got 'maybe' at" in err


def test_a_saved_table_is_a_corpus_to_name(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = (*COLUMNS, "--time", "when", "--tags", "topics", "--min-user", 1, "--name", 'say "mine"')
    assert run(monkeypatch, "data", "load", "answers.csv", *words, "--json", "facts.json", "--save", "kept/mine.toml") == 0
    assert "4" in capsys.readouterr().out
    digest = json.loads(Path("facts.json").read_text())["digest"]
    assert run(monkeypatch, "data", "describe", "kept/mine.toml") == 0
    out = capsys.readouterr().out
    assert digest in out
    assert out.startswith('say "mine"\n')
    assert run(monkeypatch, "data", "check", "kept/mine.toml") == 0
    assert "nothing to check against" in capsys.readouterr().out
    assert corpora.load("kept/mine.toml").items.tags(0) == ("decimals", "fractions")


def test_vectors_and_terms_of_a_table_are_kept(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ({"learner": u, "exercise": e, "right": 1, "place": v} for u in "abc" for e, v in (("e1", [3, 4]), ("e2", [0, 1])))
    Path("v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--vectors", "place", "--licence", "CC0", "--save", "v.toml")
    assert run(monkeypatch, "data", "load", "v.jsonl", *COLUMNS, *words) == 0
    assert run(monkeypatch, "data", "describe", "v.toml") == 0
    out = capsys.readouterr().out
    assert out.count("licence                  CC0") == out.count("vectors                  2 numbers per item") == 2
    vectors = corpora.load("v.toml").items.vectors
    assert vectors is not None
    assert vectors.tolist() == [[0.6, 0.8], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("file = answers", "corpus: cannot be read"),
        ('file = "answers.csv"\nuser = "learner"\nitem = "exercise"', "response: is missing"),
        ('user = "learner"\nitem = "exercise"\nresponse = "right"', "file: is missing"),
        ('file = "answers.csv"\nuser = 3', "user: must be text (got 3"),
        ('file = "answers.csv"\nmin_user = "3"', "min_user: must be a number"),
        ('file = "answers.csv"\nmin_user = true', "min_user: must be a number"),
        ('file = "answers.csv"\ncolour = "red"', "colour: must be one of file, user, item"),
        ('file = "away.csv"\nuser = "learner"\nitem = "exercise"\nresponse = "right"', "there is no such file"),
    ],
)
def test_table_files_that_say_too_little_or_too_much(
    text: str, said: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.toml").write_text(text)
    assert run(monkeypatch, "data", "describe", "t.toml") == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A publisher on this machine: ``body`` is what it sends, ``announced`` the bytes it promises, ``checksum`` what is pinned."""
    told: dict[str, Any] = {"body": b"", "announced": None, "checksum": None}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(told["announced"] or len(told["body"])))
            self.end_headers()
            self.wfile.write(told["body"])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    real = registry.entry

    def local(name: str) -> registry.Entry:
        found = real(name)
        address = f"http://127.0.0.1:{server.server_port}/file"
        return replace(found, archives=tuple(replace(a, address=address, checksum=told["checksum"]) for a in found.archives))

    monkeypatch.setattr("slateproof.corpora.download.entry", local)
    yield told
    server.shutdown()


def archive(folder: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name in ("ratings.csv", "movies.csv"):
            packed.write(folder / "ml-25m" / name, f"ml-25m/{name}")
    return out.getvalue()


def test_fetch_shows_the_licence_and_leaves_what_load_reads(
    here: Path, publisher: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher["body"] = archive(movielens(here / "origin"))
    assert run(monkeypatch, "data", "fetch", "ml-25m", "--yes") == 0
    out = capsys.readouterr().out
    assert out.index("licence: GroupLens: research use, no redistribution") < out.index("sha256")
    assert "unpinned: there is no checksum to compare with" in out
    assert run(monkeypatch, "data", "describe", "ml-25m") == 0
    assert sorted(p.name for p in Path("data/ml-25m").iterdir()) == ["movies.csv", "ratings.csv"]


def test_fetch_asks_first(
    here: Path, publisher: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher["body"] = archive(movielens(here / "origin"))
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(monkeypatch, "data", "fetch", "ml-25m") == 1
    assert "Download?" in capsys.readouterr().out
    assert not Path("data").exists()


def test_fetch_refuses_what_is_not_the_publishers_file(
    here: Path, publisher: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = archive(movielens(here / "origin"))
    cases = (
        ({"body": whole, "announced": len(whole) + 5}, "download: is truncated"),
        ({"body": whole, "checksum": "sha256:" + 64 * "0"}, "checksum: must be sha256 000"),
        ({"body": b"<html>click here</html>"}, "fetch it by hand from"),
        ({"body": whole[:-30]}, "is not a whole .zip file"),
    )
    for told, said in cases:
        publisher.update({"announced": None, "checksum": None} | told)
        assert run(monkeypatch, "data", "fetch", "ml-25m", "--yes") == 2
        err = capsys.readouterr().err
        assert said in err
        assert not list(Path("data/ml-25m").glob("*.csv"))
