"""A log in a bucket: a local S3 server (moto), through the same calls as a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest
from audit_world import KEY, slates

from slateproof.audit import AuditLog, LogError, LogExists, LogUnreadable, LogWriteFailed, NotALog, PublicKey, verify_log
from slateproof.cli import main

pytest.importorskip("moto", reason="moto is not installed")
pytest.importorskip("flask", reason="flask, which moto's server needs, is not installed")

PUBLIC = KEY.public_key()
SERVER = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    """Storage options for a server with an empty bucket named ``bucket``."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        for _ in range(100):
            try:
                urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT"), timeout=10)
                break
            except URLError:
                time.sleep(0.1)
        yield {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
        }
        server.kill()


def test_a_bucket_holds_a_log(options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, url = slates(16), "s3://bucket/team/log"
    with AuditLog.create(url, key=KEY, storage_options=options) as log:
        for first in (0, 8):
            log.append_batch(made[first : first + 8])
            early = log.checkpoint
            log.commit()
        assert log.compact() == 2
        assert [log.replay(place) for place in range(16)] == made
        assert log.prove_since(early).verify(early.root, log.checkpoint.root)
        report = log.verify(early, PUBLIC)
    assert report.ok, report.to_text()
    assert (report.size, report.replayed) == (16, 16)
    with pytest.raises(LogExists):
        AuditLog.create(url, storage_options=options)
    with pytest.raises(NotALog):
        AuditLog.open("s3://bucket/other", storage_options=options)
    for name, value in options.items():
        monkeypatch.setenv(name, value)
    assert verify_log(url, early, PUBLIC).ok, "credentials from the environment do as well"
    (tmp_path / "public.vkey").write_text(PublicKey.of(KEY).vkey)
    monkeypatch.setattr(sys, "argv", ["slateproof", "verify", url, "--public-key", str(tmp_path / "public.vkey")])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0


def test_a_bucket_that_cannot_be_reached(options: dict[str, str]) -> None:
    """One plain line, whatever the library below says in colour and over many lines."""
    nowhere = {**options, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "max_retries": "0", "retry_timeout": "1s"}
    for task in (AuditLog.create, AuditLog.open):
        with pytest.raises(LogError) as caught:
            task("s3://bucket/far", storage_options=nowhere)
        assert caught.type in (LogWriteFailed, LogUnreadable)
        text = str(caught.value)
        assert "\n" not in text
        assert "\x1b" not in text
        assert "refused" in text


def test_two_writers_of_one_bucket_cannot_fork_the_log(options: dict[str, str]) -> None:
    made, url = slates(4), "s3://bucket/pair"
    AuditLog.create(url, key=KEY, storage_options=options).close()
    one, two = (AuditLog.open(url, key=KEY, storage_options=options) for _ in range(2))
    one.append(made[0])
    two.append(made[1])
    assert one.commit().size == 1
    with pytest.raises(LogWriteFailed, match="commit failed"):
        two.commit()
    with pytest.raises(LogUnreadable, match="open it again"):
        two.commit()
    one.append(made[2])
    assert one.commit().size == 2
    report = one.verify(None, PUBLIC)
    assert report.ok, report.to_text()
    assert [one.replay(place) for place in range(2)] == [made[0], made[2]]
    assert os.environ.get("AWS_ENDPOINT_URL") is None, "the storage options alone lead there"
