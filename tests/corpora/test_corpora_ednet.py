"""EdNet folders: one file per user, three levels, read in groups, errors that name file and row."""

from __future__ import annotations

from pathlib import Path

import pytest

from slateproof.corpora import ednet, load_ednet
from slateproof.errors import InvalidInput

QUESTIONS = (
    "question_id,bundle_id,explanation_id,correct_answer,part,tags,deployed_at\n"
    "q2,b1,e1,a,1,15;2,1558093217098\nq10,b2,e2,d,5,-1,1558093217098\nq3,b3,e3,b,2,2,1\n"
)
KT4_HEAD = "timestamp,action_type,item_id,cursor_time,source,user_answer,platform\n"
KT4 = {
    "u10": "5,enter,b1,,sprint,,mobile\n6,respond,q2,,sprint,a,mobile\n"
    "7,respond,q2,,sprint,b,mobile\n8,submit,b1,,sprint,,mobile\n",
    "u2": "9,pay,p1,,,,\n3,respond,q10,,sprint,d,web\n"
    "2,respond,q2,,sprint,c,web\n4,respond,q777,,sprint,c,web\n5,respond,q2,,sprint,,web\n",
    "u3": "1,enter,b1,,sprint,,mobile\n",
    "u4": "",
}


def write(folder: Path, level: str, head: str, users: dict[str, str]) -> Path:
    (folder / "contents").mkdir(exist_ok=True)
    (folder / "contents" / "questions.csv").write_text(QUESTIONS, "utf-8")
    (folder / level).mkdir(exist_ok=True)
    (folder / level / "README.txt").write_text("not a user", "utf-8")
    for user, rows in users.items():
        (folder / level / f"{user}.csv").write_text(head + rows, "utf-8")
    return folder


def test_kt4_keeps_answers_and_names_every_filter(tmp_path: Path) -> None:
    corpus = load_ednet(write(tmp_path, "KT4", KT4_HEAD, KT4), level="KT4", difficulty="success")
    assert corpus.name == "ednet-kt4"
    assert corpus.user_ids.tolist() == ["u10", "u2"]  # text order; u3 and u4 never answered
    assert corpus.items.ids.tolist() == ["q10", "q2"]  # q3 was never answered
    assert corpus.user.tolist() == [0, 0, 1, 1]
    assert corpus.item.tolist() == [1, 1, 1, 0]
    assert corpus.positive.tolist() == [True, False, False, True]
    assert corpus.response.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert corpus.time is not None
    assert corpus.time.tolist() == [6, 7, 2, 3]
    assert corpus.items.difficulty.tolist() == pytest.approx([0.0, 2 / 3])
    assert corpus.items.tags(1) == ("part 1", "skill 15", "skill 2")
    assert corpus.items.tags(0) == ("part 5",)  # -1 means that there is no skill
    assert [corpus.items.tag_names[t] for t in corpus.items.skill] == ["part 5", "skill 15"]  # as listed, not as sorted
    assert [(f.name, f.before, f.after) for f in corpus.filters] == [
        ("action_type is respond", 10, 6),
        ("the question is in questions.csv", 6, 5),
        ("the row has an answer", 5, 4),
    ]


def test_kt2_is_the_same_without_the_cursor(tmp_path: Path) -> None:
    users = {u: "".join(r.replace(",,", ",", 1) + "\n" for r in rows.splitlines() if "pay" not in r) for u, rows in KT4.items()}
    write(tmp_path, "KT4", KT4_HEAD, KT4)
    two = load_ednet(write(tmp_path, "KT2", KT4_HEAD.replace("cursor_time,", ""), users))
    four = load_ednet(tmp_path, level="KT4")
    assert two.name == "ednet-kt2"
    for column in ("user", "item", "positive", "time"):
        assert getattr(two, column).tolist() == getattr(four, column).tolist()


def test_kt1_rows_are_answers(tmp_path: Path) -> None:
    head = "timestamp,solving_id,question_id,user_answer,elapsed_time\n"
    corpus = load_ednet(write(tmp_path, "KT1", head, {"u1": "1,1,q2,a,47000\n2,2,q10,a,1\n3,2,q10,,1\n"}), level="KT1")
    assert corpus.positive.tolist() == [True, False]
    assert [f.name for f in corpus.filters] == ["the question is in questions.csv", "the row has an answer"]


def test_groups_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = {
        f"u{k}": "".join(f"{t},respond,q{(2, 10, 3)[(k + t) % 3]},,s,{'abcd'[k % 4]},web\n" for t in range(k % 5))
        for k in range(60)
    }
    write(tmp_path, "KT4", KT4_HEAD, users)
    whole = load_ednet(tmp_path, level="KT4")
    assert len(whole) == sum(k % 5 for k in range(60))
    monkeypatch.setattr(ednet, "_GROUP", 150)
    assert load_ednet(tmp_path, level="KT4").digest == whole.digest
    monkeypatch.setattr(ednet, "_joined", lambda group, fields: None)
    assert load_ednet(tmp_path, level="KT4").digest == whole.digest


def test_files_without_a_last_newline_quoted_or_with_other_columns_are_read_one_by_one(tmp_path: Path) -> None:
    write(tmp_path, "KT4", KT4_HEAD, {"u1": "6,respond,q2,,sprint,a,mobile", "u3": "6,respond,q10,,sprint,d,mobile"})
    plain = load_ednet(tmp_path, level="KT4")
    assert plain.positive.tolist() == [True, True]
    (tmp_path / "KT4" / "u3.csv").write_text('item_id,action_type,"timestamp",user_answer\nq10,respond,"6",d\n', "utf-8")
    assert load_ednet(tmp_path, level="KT4").digest == plain.digest


@pytest.mark.parametrize(
    ("rows", "field", "value", "row"),
    [
        ("6,respond,q2,,sprint,a,mobile\nlate,respond,q2,,s,a,m\n", "timestamp", "late", 3),
        ("6,respond,q2,,sprint,a\n", "row", "6,respond,q2,,sprint,a", 2),
        ("6,respond,,,sprint,a,web\n", "item_id", "", 2),
    ],
)
def test_a_malformed_row_names_its_file(tmp_path: Path, rows: str, field: str, value: str, row: int) -> None:
    write(tmp_path, "KT4", KT4_HEAD, {**KT4, "u5": rows})
    with pytest.raises(InvalidInput) as refused:
        load_ednet(tmp_path, level="KT4")
    assert (refused.value.field, refused.value.value, refused.value.where) == (field, value, f"u5.csv row {row}")
    assert load_ednet(tmp_path, level="KT4", max_bad_rows=1).bad_rows == 1


def test_the_first_users_by_number_are_a_named_filter(tmp_path: Path) -> None:
    corpus = load_ednet(write(tmp_path, "KT4", KT4_HEAD, KT4), level="KT4", max_users=2)
    assert corpus.user_ids.tolist() == ["u2"]
    assert corpus.filters[0].to_text() == "max_users: the first by number: 4 -> 2 user files (2 left out)"
    with pytest.raises(InvalidInput, match="max_users"):
        load_ednet(tmp_path, level="KT4", max_users=0)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="KT1, KT2 or KT4"):
        load_ednet(tmp_path, level="KT3")
    with pytest.raises(InvalidInput, match="no such file"):
        load_ednet(tmp_path)
    write(tmp_path, "KT2", KT4_HEAD, {})
    with pytest.raises(InvalidInput, match=r"one u<number>.csv per user"):
        load_ednet(tmp_path)
    with pytest.raises(InvalidInput, match="no such folder"):
        load_ednet(tmp_path, level="KT4")
    write(tmp_path, "KT4", KT4_HEAD, {"u1": ""})
    with pytest.raises(InvalidInput, match="at least one interaction"):
        load_ednet(tmp_path, level="KT4")
    (tmp_path / "KT4" / "u2.csv").write_text("", "utf-8")
    with pytest.raises(InvalidInput, match="the file is empty"):
        load_ednet(tmp_path, level="KT4")
    (tmp_path / "contents" / "questions.csv").write_text(QUESTIONS + "q2,b,e,a,1,1,1\n", "utf-8")
    with pytest.raises(InvalidInput, match="must not stand twice"):
        load_ednet(tmp_path, level="KT4")


@pytest.mark.parametrize("rows", ["6,respond,q2,,s,a,m\r\n7,respond,q2,,s,b,m\r\n", "6,respond,q2,,s,a,m\n\n7,respond,q2,,s,b,m\n"])
def test_other_line_ends_and_blank_lines_do_not_shift_rows_to_another_user(tmp_path: Path, rows: str) -> None:
    write(tmp_path, "KT4", KT4_HEAD, {"u3": "1,respond,q10,,s,d,m\n"})
    for user in ("u1", "u2"):
        (tmp_path / "KT4" / f"{user}.csv").write_bytes((KT4_HEAD + rows).encode())
    corpus = load_ednet(tmp_path, level="KT4")
    assert corpus.user_ids[corpus.user].tolist() == ["u1", "u1", "u2", "u2", "u3"]
    assert corpus.positive.tolist() == [True, False, True, False, True]


def test_a_lone_carriage_return_cannot_make_up_for_a_blank_line(tmp_path: Path) -> None:
    users = {"u1": "6,respond,q2,,s,a,m\r7,respond,q2,,s,b,m\n", "u2": "8,respond,q2,,s,a,m\n\n9,respond,q2,,s,a,m\n"}
    write(tmp_path, "KT4", KT4_HEAD, {})
    for user, rows in users.items():
        (tmp_path / "KT4" / f"{user}.csv").write_bytes((KT4_HEAD + rows).encode())
    corpus = load_ednet(tmp_path, level="KT4")
    assert corpus.user_ids[corpus.user].tolist() == ["u1", "u1", "u2", "u2"]
