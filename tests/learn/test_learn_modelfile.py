"""The model file: round trip, and every way a file can be wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof import corpora
from slateproof.errors import InvalidInput
from slateproof.learn import modelfile
from slateproof.learn.modelfile import Model, pack, read, read_for, unpack, write
from slateproof.privacy import Ledger


def model(**changes: Any) -> Model:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.array(["x", "yz"]), "none": np.zeros((0, 4))}
    parts: dict[str, Any] = {
        "learner": "popularity",
        "config": {"prior": 1.0},
        "seed": 7,
        "corpus_digest": "d" * 64,
        "corpus_label": "some corpus",
        "arrays": arrays,
    }
    return Model(**(parts | changes))


def rewritten(data: bytes, **changes: Any) -> bytes:
    """The file with header keys replaced (checksum untouched); "gone" removes a key."""
    with np.load(io.BytesIO(data)) as archive:
        members = {name: archive[name] for name in archive.files}
    header = json.loads(members["header"].tobytes()) | changes
    members["header"] = np.frombuffer(json.dumps({k: v for k, v in header.items() if v != "gone"}).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **members)
    return out.getvalue()


def test_everything_comes_back(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.record_gaussian(noise_multiplier=2.0, count=3)
    write(tmp_path / "m", model(ledger=ledger))
    back = read(tmp_path / "m")
    for name in ("learner", "config", "seed", "corpus_digest", "corpus_label", "versions"):
        assert getattr(back, name) == getattr(model(), name)
    assert back.ledger is not None
    assert back.ledger.to_dict() == ledger.to_dict()
    assert set(back.arrays) == set(model().arrays)
    for name, array in model().arrays.items():
        np.testing.assert_array_equal(back.arrays[name], array)
        assert back.arrays[name].dtype == array.dtype
        assert not back.arrays[name].flags.writeable
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_equal_models_are_equal_files_whatever_the_layout_in_memory() -> None:
    other = model(arrays={name: np.asfortranarray(a) for name, a in reversed(model().arrays.items())})
    assert pack(model()) == pack(other)
    assert pack(model()) == pack(unpack(pack(model())))
    assert pack(model()) != pack(model(seed=8))


@settings(max_examples=150)
@given(st.data())
def test_a_changed_byte_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    """Archives hold a few bytes without meaning (times, attributes): those may change; what is read may not."""
    whole = pack(model())
    place = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(1, 255))
    broken = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    try:
        back = unpack(broken)
    except InvalidInput:
        return  # any other exception fails the test
    assert pack(back) == whole


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    whole = pack(model())
    (tmp_path / "m").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InvalidInput, match=r"model: is damaged, truncated or no model file"):
        read(tmp_path / "m")


def test_changed_arrays_and_settings_are_refused() -> None:
    whole = pack(model())
    for changes in ({"seed": 8}, {"config": {"prior": 2.0}}, {"corpus": {"digest": "e" * 64, "label": "other"}}):
        with pytest.raises(InvalidInput, match="the checksum does not fit"):
            unpack(rewritten(whole, **changes))
    with pytest.raises(InvalidInput, match="its arrays are not those of its header"):
        unpack(rewritten(whole, arrays={}))
    with pytest.raises(InvalidInput, match="a key of its header is missing"):
        unpack(rewritten(whole, ledger="gone"))


@pytest.mark.parametrize("version", [modelfile.FORMAT + 1, 0, "one"])
def test_another_format_version_is_refused_by_its_number(version: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        unpack(rewritten(pack(model()), format=["slateproof model", version]), "my.npz")
    assert (refusal.value.field, refusal.value.value, refusal.value.where) == ("format", version, "my.npz")


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text").write_text("hello")
    for name in ("other.npz", "array.npy", "text"):
        with pytest.raises(InvalidInput, match=r"no (slateproof )?model file"):
            read(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(tmp_path / "absent")
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InvalidInput, match="no model file"):
        read(tmp_path / "pickle.npz")


def test_another_corpus_and_another_learner_are_refused(tmp_path: Path) -> None:
    corpus = corpora.demo()
    write(tmp_path / "m", model(corpus_digest=corpus.digest))
    assert read_for(tmp_path / "m", corpus, "als", "popularity").seed == 7
    with pytest.raises(InvalidInput, match=r"learner: of this model must be als \(got 'popularity' at"):
        read_for(tmp_path / "m", corpus, "als")
    with pytest.raises(InvalidInput, match=r"corpus: must be the one the model was fitted on \(some corpus"):
        read_for(tmp_path / "m", corpora.demo(seed=1), "popularity")


def test_what_cannot_be_kept_is_refused_before_a_file_is_touched(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("old")
    for changes in ({"config": {"f": object()}}, {"config": {"x": float("nan")}}):
        with pytest.raises(InvalidInput, match="config"):
            write(tmp_path / "m", model(**changes))
    with pytest.raises(InvalidInput, match="arrays"):
        model(arrays={"o": np.array([None])})
    with pytest.raises(InvalidInput, match="arrays"):
        model(arrays={"header": np.zeros(1)})
    with pytest.raises(InvalidInput, match="path"):
        write(tmp_path / "no" / "m", model())
    assert (tmp_path / "m").read_text() == "old"


def test_a_file_cut_behind_a_file_it_holds_is_not_taken_for_that_one() -> None:
    inner = pack(model())
    outer = pack(model(arrays={"part": np.frombuffer(inner, np.uint8)}))
    end = outer.index(inner) + len(inner)
    for cut in (outer[:end], outer[: end + 10], b"junk" + inner):
        with pytest.raises(InvalidInput, match="is damaged, truncated or no model file"):
            unpack(cut)
