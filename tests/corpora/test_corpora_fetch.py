"""Fetching, against a server on loopback: progress, resume, truncation, checksums, archives, refusals; and the registry."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slateproof.corpora import (
    CORPORA,
    Archive,
    Entry,
    FetchError,
    Listing,
    check,
    fetch,
    licence_notice,
    list_corpora,
    load,
    load_oulad,
)
from slateproof.errors import InvalidInput


class Site:
    """What the server serves, how it misbehaves, and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: int | None = None
        self.ranges = True
        self.lie_about_range = False
        self.etag: str | None = '"v1"'
        self.asked: list[str | None] = []
        self.url = ""


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            data = state.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            start = 0
            if wanted and state.ranges and self.headers.get("If-Range") == state.etag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(data):
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start + state.lie_about_range}-{len(data) - 1}/{len(data)}")
            if state.etag:
                self.send_header("ETag", state.etag)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            self.wfile.write(data[start : len(data) if state.cut is None else state.cut])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def zipped(files: dict[str, str], *, deflated: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return out.getvalue()


OULAD = zipped(
    {
        "studentAssessment.csv": "id_assessment,id_student,date_submitted,is_banked,score\n1,2,3,0,78\n1,3,3,0,8\n",
        "assessments.csv": "code_module,code_presentation,id_assessment,assessment_type,date,weight\nA,B,1,TMA,1,1\n",
        "courses.csv": "a\n",
        "studentVle.csv": "far too large\n" * 50_000,
    }
)


DEFLATED = zipped({"studentAssessment.csv": "x,y\n" * 99, "assessments.csv": "x", "courses.csv": "x"}, deflated=True)


def entry_for(site: Site, name: str = "oulad", **change: object) -> Entry:
    original = CORPORA[name]
    archives = tuple(dataclasses.replace(a, address=f"{site.url}/{a.file}", **change) for a in original.archives)  # type: ignore[arg-type]
    return dataclasses.replace(original, archives=archives)


@pytest.fixture
def oulad(site: Site) -> Entry:
    site.files["/anonymisedData.zip"] = OULAD
    return entry_for(site)


def test_a_fetched_corpus_loads(site: Site, oulad: Entry, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    done = fetch(oulad, tmp_path, progress=lambda *step: seen.append(step))
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {"studentAssessment.csv", "assessments.csv", "courses.csv"}
    assert seen[-1] == ("anonymisedData.zip", len(OULAD), len(OULAD))
    assert [s[1] for s in seen] == sorted(s[1] for s in seen)
    assert done.sha256 == {"anonymisedData.zip": hashlib.sha256(OULAD).hexdigest()}
    assert "unpinned" in done.to_text()
    assert "CC BY 4.0" in done.to_text()
    assert json.loads(json.dumps(done.to_dict()))["pinned"] == {"anonymisedData.zip": False}
    assert len(load("oulad", tmp_path)) == 2


def test_a_truncated_download_is_refused_and_resumed(site: Site, oulad: Entry, tmp_path: Path) -> None:
    site.cut = 1000
    with pytest.raises(InvalidInput, match=r"is truncated: [0-9,]+ bytes were announced") as refused:
        fetch(oulad, tmp_path)
    assert (refused.value.field, refused.value.value, refused.value.where) == ("download", 1000, "anonymisedData.zip")
    assert not (tmp_path / "oulad" / "studentAssessment.csv").exists()
    site.cut = None
    seen: list[int] = []
    fetch(oulad, tmp_path, progress=lambda name, have, total: seen.append(have))
    assert site.asked == [None, "bytes=1000-"]
    assert seen[-1] == len(OULAD)
    assert len(load_oulad(tmp_path / "oulad")) == 2


def test_a_changed_file_is_fetched_anew(site: Site, oulad: Entry, tmp_path: Path) -> None:
    site.cut = 1000
    with pytest.raises(InvalidInput, match="truncated"):
        fetch(oulad, tmp_path)
    site.cut, site.etag = None, '"v2"'
    site.files["/anonymisedData.zip"] = newer = zipped(
        dict.fromkeys(("studentAssessment.csv", "assessments.csv", "courses.csv"), "x")
    )
    assert fetch(oulad, tmp_path).sha256["anonymisedData.zip"] == hashlib.sha256(newer).hexdigest()
    assert site.asked[-1] == "bytes=1000-"  # asked to go on, answered with the whole


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_validator_a_download_begins_again(site: Site, oulad: Entry, tmp_path: Path, etag: str | None) -> None:
    site.cut, site.etag = 1000, etag
    with pytest.raises(InvalidInput, match="truncated"):
        fetch(oulad, tmp_path)
    site.cut = None
    fetch(oulad, tmp_path)
    assert site.asked == [None, None]


def test_another_range_than_asked_for_is_refused(site: Site, oulad: Entry, tmp_path: Path) -> None:
    site.cut = 1000
    with pytest.raises(InvalidInput, match="truncated"):
        fetch(oulad, tmp_path)
    site.cut, site.lie_about_range = None, True
    with pytest.raises(FetchError, match="another range"):
        fetch(oulad, tmp_path)


def test_the_whole_on_disk_is_not_asked_for_twice(site: Site, oulad: Entry, tmp_path: Path) -> None:
    part = tmp_path / "oulad" / "anonymisedData.zip.part"
    part.parent.mkdir()
    part.write_bytes(OULAD)
    part.with_suffix(".etag").write_text('"v1"', "utf-8")
    with pytest.raises(FetchError, match="416"):
        fetch(oulad, tmp_path)
    assert fetch(oulad, tmp_path).files


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_pinned_checksum_must_agree(site: Site, oulad: Entry, tmp_path: Path, kind: str) -> None:
    right = f"{kind}:{hashlib.new(kind, OULAD).hexdigest()}"
    done = fetch(entry_for(site, checksum=right), tmp_path / "a")
    assert done.pinned == {"anonymisedData.zip": True}
    assert "checksum agrees" in done.to_text()
    with pytest.raises(InvalidInput, match="the file was deleted") as refused:
        fetch(entry_for(site, checksum=right[:-1] + ("0" if right[-1] != "0" else "1")), tmp_path / "b")
    assert refused.value.field == "checksum"
    assert refused.value.value == right.partition(":")[2]
    assert not [p for p in (tmp_path / "b").rglob("*") if p.is_file()]


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>click here", b"  <html>", b"plain text", b""])
def test_a_page_instead_of_an_archive_is_refused(site: Site, oulad: Entry, tmp_path: Path, page: bytes) -> None:
    site.files["/anonymisedData.zip"] = page
    with pytest.raises(InvalidInput, match=r"fetch it by hand from https://analyse.kmi.open.ac.uk") as refused:
        fetch(oulad, tmp_path)
    assert refused.value.field == "download"


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (zipped({"assessments.csv": "x"}), "lacks a wanted file"),
        (zipped({"../studentAssessment.csv": "x", "assessments.csv": "x", "courses.csv": "x"}), "outside its folder"),
        (zipped({"/etc/x": "x"}), "outside its folder"),
        (OULAD[:-40], "not a whole .zip"),
        (OULAD.replace(b"1,2,3,0,78", b"1,2,3,0,79"), "not a whole .zip"),
        (OULAD.replace(b"A,B,1,TMA", b"A,B,2,TMA"), "not a whole .zip"),
        (DEFLATED[:60] + b"\xff\xff\xff" + DEFLATED[63:], "not a whole .zip"),
    ],
)
def test_a_bad_archive_is_refused(site: Site, oulad: Entry, tmp_path: Path, data: bytes, rule: str) -> None:
    site.files["/anonymisedData.zip"] = data
    with pytest.raises(InvalidInput, match=rule):
        fetch(oulad, tmp_path / "in" / "side")
    assert not [p for p in tmp_path.rglob("*.csv*") if p.is_file()]


def test_plain_files_and_whole_archives(site: Site, tmp_path: Path) -> None:
    site.files["/ratings_Musical_Instruments.csv"] = b"A,i,5.0,1\nB,i,3.0,2\n"
    fetch(entry_for(site, "amazon-musical-instruments"), tmp_path)
    assert len(load("amazon-musical-instruments", tmp_path)) == 2
    site.files["/KT4.zip"] = zipped({"KT4/u1.csv": "timestamp,action_type,item_id,user_answer\n1,respond,q1,a\n", "__MACOSX/x": ""})
    site.files["/contents.zip"] = zipped({"contents/questions.csv": "question_id,correct_answer,part,tags\nq1,a,1,2\n"})
    fetch(entry_for(site, "ednet-kt4"), tmp_path)
    assert sorted(p.relative_to(tmp_path / "ednet").as_posix() for p in (tmp_path / "ednet").rglob("*.csv")) == [
        "KT4/u1.csv",
        "contents/questions.csv",
    ]
    assert load("ednet-kt4", tmp_path).positive.tolist() == [True]


def test_a_server_that_fails_or_is_not_there(site: Site, oulad: Entry, tmp_path: Path) -> None:
    del site.files["/anonymisedData.zip"]
    with pytest.raises(FetchError, match="404"):
        fetch(oulad, tmp_path)
    gone = dataclasses.replace(oulad, archives=(Archive("http://127.0.0.1:9/x.zip", "oulad", "x.zip"),))
    with pytest.raises(FetchError, match="run again to resume"):
        fetch(gone, tmp_path)
    with pytest.raises(InvalidInput, match="no publisher's address"):
        fetch("synthetic-demo", tmp_path)


def test_names_are_checked_and_the_known_ones_listed() -> None:
    with pytest.raises(InvalidInput, match="oulad, ednet-kt1"):
        load("ould", "x")
    with pytest.raises(InvalidInput, match="oulad, ednet-kt1"):
        fetch("ould", "x")
    with pytest.raises(InvalidInput, match="oulad, ednet-kt1"):
        licence_notice("ould")
    with pytest.raises(InvalidInput, match="name it"):
        load("oulad")
    with pytest.raises(InvalidInput, match=r"must hold oulad/studentAssessment.csv, oulad/assessments.csv for oulad"):
        load("oulad", "nowhere")


def test_the_listing_says_what_is_here_and_what_is_pinned(site: Site, oulad: Entry, tmp_path: Path) -> None:
    fetch(oulad, tmp_path)
    rows = list_corpora(tmp_path).to_dict()
    assert rows["oulad"]["state"] == "present"
    assert rows["ml-25m"]["state"] == "missing"
    assert rows["ml-25m"]["missing"] == ["ml-25m/ratings.csv", "ml-25m/movies.csv"]
    assert rows["synthetic-demo"]["state"] == "generated"
    pins = dict.fromkeys(("ml-25m", "ml-1m"), "pinned")  # GroupLens publishes an md5 beside each archive
    assert {name: row["pin"] for name, row in rows.items()} == {
        n: pins.get(n, "unpinned") if e.archives else "-" for n, e in CORPORA.items()
    }
    assert all(a.checksum is not None and len(a.checksum) == len("md5:") + 32 for n in pins for a in CORPORA[n].archives)
    pinned = dataclasses.replace(oulad, archives=(dataclasses.replace(oulad.archives[0], checksum="sha256:00"),))
    assert Listing(None, ((pinned, ()),)).to_dict()["oulad"]["pin"] == "pinned"
    assert {name for name, row in rows.items() if row["synthetic"]} == {n for n in rows if "synthetic" in n or "surrogate" in n}
    assert list_corpora().to_dict()["oulad"]["state"] == "unknown"
    text = list_corpora(tmp_path).to_text()
    assert all(name in text for name in CORPORA)
    assert "no redistribution" in licence_notice("ml-25m")


def test_check_says_what_differs(site: Site, oulad: Entry, tmp_path: Path) -> None:
    fetch(oulad, tmp_path)
    report = check(load("oulad", tmp_path))
    assert report.ok is False
    assert [(r.quantity, r.published, r.found) for r in report.rows] == [
        ("interactions", 173_739, 2),
        ("users", 23_351, 2),
        ("items", 188, 1),
        ("density per mille", 39.58, 1000.0),
        ("interactions per user", 7.44, 1.0),
    ]
    assert report.to_text().startswith("oulad: differs from the paper")
    assert report.to_text().count("DIFFERS") == 5
    assert json.loads(json.dumps(report.to_dict()))["ok"] is False
