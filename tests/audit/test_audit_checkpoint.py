"""Signed notes and keys: the published example of the format, round trips, and every way of not being one."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from audit_world import KEY, OTHER_KEY
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from slateproof.audit import Checkpoint, KeyMismatch, PublicKey
from slateproof.audit.keys import private_key, public_key
from slateproof.errors import InvalidInput

# The example of golang.org/x/mod/sumdb/note, the origin of the format.
VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="


def test_the_published_note_verifies() -> None:
    key = PublicKey.parse(VKEY)
    blob = base64.b64decode(SIGNATURE)
    assert blob[:4] == key.key_id
    assert key.accepts(blob[4:], TEXT.encode())
    assert not key.accepts(blob[4:], TEXT.encode() + b" ")
    assert key.vkey == VKEY


def test_a_checkpoint_reads_back_and_keeps_its_signature() -> None:
    signed = Checkpoint.sign("slateproof/abc", 7, bytes(range(32)), KEY)
    lines = signed.note.split("\n")
    assert lines[:4] == ["slateproof/abc", "7", base64.b64encode(bytes(range(32))).decode(), ""]
    assert lines[4].startswith("— slateproof ")
    assert lines[5:] == [""]
    again = Checkpoint.parse(str(signed))
    assert again == signed
    assert again.signed_by(PublicKey.of(KEY))
    assert not again.signed_by(PublicKey.of(OTHER_KEY))
    assert not Checkpoint("slateproof/abc", 8, signed.root, "slateproof", signed.key_id, signed.signature).signed_by(
        PublicKey.of(KEY)
    )


def test_an_unsigned_checkpoint_is_nobodys() -> None:
    plain = Checkpoint.sign("slateproof/abc", 0, bytes(32), None)
    assert Checkpoint.parse(plain.note) == plain
    assert not plain.signed_by(PublicKey.of(KEY))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda note: "",
        lambda note: note.replace("\n\n", "\n"),
        lambda note: note.replace("\n7\n", "\n07\n"),
        lambda note: note.replace("\n7\n", "\n-7\n"),
        lambda note: note.replace("\n7\n", "\n7\nmore\n"),
        lambda note: note.replace("— ", "- "),
        lambda note: note[:-8] + "\n",
        lambda note: note.replace("\n7\n", "\n" + "7" * 5000 + "\n"),
        lambda note: note + "— cosigner AAAA\n",
        lambda note: note + "a line that is no signature\n",
        lambda note: 5,
        lambda note: None,
        lambda note: [note],
        lambda note: note.replace("AAEC", "AAE*"),
        lambda note: note.replace("AAEC", ""),
    ],
)
def test_what_is_no_note_is_refused(spoil: object) -> None:
    note = Checkpoint.sign("slateproof/abc", 7, bytes(range(32)), KEY).note
    with pytest.raises(InvalidInput) as caught:
        Checkpoint.parse(spoil(note))  # type: ignore[operator]
    assert caught.value.field == "checkpoint"


def test_signatures_of_others_are_ignored() -> None:
    """C2SP: a verifier ignores signatures of keys that it does not know, wherever they stand."""
    signed = Checkpoint.sign("slateproof/abc", 7, bytes(range(32)), KEY)
    witness = f"— witness.example/w1 {base64.b64encode(bytes(4 + 72)).decode()}\n"
    head, line = signed.note.split("\n\n")
    for note in (f"{head}\n\n{witness}{line}", f"{head}\n\n{line}{witness}"):
        assert Checkpoint.parse(note) == signed
        assert Checkpoint.parse(note).signed_by(PublicKey.of(KEY))
    assert not Checkpoint.parse(f"{head}\n\n{witness}").signed_by(PublicKey.of(KEY))


def test_a_checkpoint_comes_from_a_file_too(tmp_path: Path) -> None:
    signed = Checkpoint.sign("slateproof/abc", 7, bytes(32), KEY)
    (tmp_path / "note").write_text(str(signed), encoding="utf-8")
    assert Checkpoint.of(tmp_path / "note") == Checkpoint.of(str(signed)) == Checkpoint.of(signed) == signed
    with pytest.raises(InvalidInput, match="cannot be read"):
        Checkpoint.of(tmp_path / "nothing")


def pem(key: object, private: bool) -> bytes:
    encoding = serialization.Encoding.PEM
    if private:
        return key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())  # type: ignore[attr-defined]
    return key.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]


def test_keys_come_in_every_documented_form(tmp_path: Path) -> None:
    raw = KEY.private_bytes_raw()
    (tmp_path / "key.pem").write_bytes(pem(KEY, True))
    for form in (KEY, raw, tmp_path / "key.pem", str(tmp_path / "key.pem")):
        assert private_key(form).private_bytes_raw() == raw
    public = PublicKey.of(KEY)
    (tmp_path / "public.pem").write_bytes(pem(KEY.public_key(), False))
    (tmp_path / "vkey").write_text(public.vkey + "\n")
    for shape in (public, KEY.public_key(), public.raw, public.vkey, tmp_path / "public.pem", str(tmp_path / "vkey")):
        assert public_key(shape) == public


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1())
    (tmp_path / "ec.pem").write_bytes(pem(other, True))
    (tmp_path / "ec.pub").write_bytes(pem(other.public_key(), False))
    (tmp_path / "junk").write_text("junk")
    (tmp_path / "junk.pem").write_text("-----BEGIN junk")
    for bad in (b"short", tmp_path / "none", tmp_path / "junk", tmp_path / "ec.pem"):
        with pytest.raises(KeyMismatch, match="key"):
            private_key(bad)
    spoiled = PublicKey.of(KEY).vkey.replace("slateproof+", "slateprooF+")
    for bad in (b"short", tmp_path / "none", tmp_path / "junk", tmp_path / "junk.pem", tmp_path / "ec.pub", spoiled, "a+b+c"):
        with pytest.raises(KeyMismatch, match="key"):
            public_key(bad)
