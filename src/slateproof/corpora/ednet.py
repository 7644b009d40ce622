"""EdNet, from Riiid's own folders: one small CSV per user (KT1, KT2, KT4) and ``contents/questions.csv``.

Three hundred thousand files of a few kilobytes are read in groups: their bytes are joined under one header and parsed at once,
and what is kept of a row is 17 bytes (user, item, correct, time). A group that is not well formed is read again file by file,
so that an error names the file and the row.

Scope: none; the difficulties are computed from students' answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_count
from slateproof.corpora.columns import Bools, Codes, Ints
from slateproof.corpora.corpus import Corpus, Filter
from slateproof.corpora.csvfile import read_csv
from slateproof.corpora.difficulty import DifficultyRule
from slateproof.corpora.fields import Field
from slateproof.corpora.files import readable
from slateproof.errors import InvalidInput

__all__ = ["LICENCE", "SKILL_RULE", "Questions", "load_ednet", "read_questions"]

LICENCE = "EdNet: CC BY-NC 4.0, research use (Choi et al. 2020)"

SKILL_RULE = "the first skill the publisher lists; the part where it lists none"

_GROUP = 16 << 20
_USER = re.compile(r"u[0-9]+\.csv")

_ANSWERS = {"time": Field("timestamp", "int"), "item": Field("question_id", "text"), "answer": Field("user_answer", "text", ("",))}
_ACTIONS = {
    "time": Field("timestamp", "int"),
    "action": Field("action_type", "text"),
    "item": Field("item_id", "text"),
    "answer": Field("user_answer", "text", ("",)),
}


@dataclass(frozen=True, slots=True)
class Questions:
    """``questions.csv``: the id, the right answer and the tags (part and skills) of each question, in file order.

    ``skills`` holds the first skill that the publisher lists for a question, or its part where it lists none.

    Scope: none.
    """

    ids: tuple[str, ...]
    answers: tuple[str, ...]
    tags: dict[str, list[str]]
    skills: dict[str, str]


@dataclass(slots=True)
class _Kept:
    """What is kept of the answers, group by group, and what was not."""

    user: list[Codes] = field(default_factory=list)
    item: list[Codes] = field(default_factory=list)
    correct: list[Bools] = field(default_factory=list)
    time: list[Ints] = field(default_factory=list)
    actions: int = 0
    responses: int = 0
    known: int = 0


def load_ednet(
    folder: str | Path,
    *,
    level: str = "KT2",
    difficulty: DifficultyRule = "success-rescaled",
    min_user: int = 1,
    min_item: int = 1,
    max_users: int | None = None,
    max_bad_rows: int = 0,
) -> Corpus:
    """The answers in ``folder/level`` (KT1, KT2 or KT4) to the questions of ``folder/contents/questions.csv``.

    KT1 rows are answers; of KT2 and KT4 the rows with action_type ``respond`` are. ``positive`` is answer = correct_answer,
    ``response`` is that as 0 or 1, ``time`` in milliseconds as published, the tags are the part (``part 5``) and the skills.
    The skill is the first that the publisher lists, or the part where it lists none.
    ``max_users`` reads the first so many files by user number.
    """
    folder = Path(folder)
    if level not in ("KT1", "KT2", "KT4"):
        raise InvalidInput("level", "must be KT1, KT2 or KT4", level)
    bad = BadRows(max_bad_rows)
    questions = read_questions(folder / "contents" / "questions.csv", bad)
    files = _user_files(folder / level)
    found = len(files)
    if max_users is not None:
        files = files[: check_count(max_users, "max_users")]
    kept = _read_all(files, questions, _ANSWERS if level == "KT1" else _ACTIONS, bad)
    user, item = np.concatenate(kept.user), np.concatenate(kept.item)
    correct, time = np.concatenate(kept.correct), np.concatenate(kept.time)
    filters = (
        *((Filter("max_users: the first by number", found, len(files), "user files"),) if max_users is not None else ()),
        *((Filter("action_type is respond", kept.actions, kept.responses),) if level != "KT1" else ()),
        Filter("the question is in questions.csv", kept.responses, kept.known),
        Filter("the row has an answer", kept.known, int(user.size)),
    )
    by_text = np.argsort(np.array(questions.ids))  # item codes follow sorted ids, as in every corpus
    place = np.empty(by_text.size, np.int32)
    place[by_text] = np.arange(by_text.size, dtype=np.int32)
    names = np.array([path.stem for path in files])
    users = np.argsort(names)
    user_place = np.empty(users.size, np.int32)
    user_place[users] = np.arange(users.size, dtype=np.int32)
    raw = Raw(
        user_place[user],
        names[users],
        place[item],
        np.array(questions.ids)[by_text],
        correct.astype(np.float64),
        correct,
        time,
        filters,
    )
    return build(
        raw,
        name=f"ednet-{level.lower()}",
        licence=LICENCE,
        difficulty_rule=difficulty,
        positive_rule="answer = correct_answer",
        min_user=min_user,
        min_item=min_item,
        tags=questions.tags,
        skills=questions.skills,
        skill_rule=SKILL_RULE,
        bad_rows=bad.count,
    )


def read_questions(path: Path, bad: BadRows) -> Questions:
    """The questions; ``tags`` hold ``part N`` and the skill numbers (``-1`` stands for none). A repeated id is refused."""
    table = read_csv(
        path,
        {
            "id": Field("question_id", "text"),
            "answer": Field("correct_answer", "text"),
            "part": Field("part", "int"),
            "tags": Field("tags", "text", ("",)),
        },
        bad,
    )
    tags: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for row in table.to_pylist():
        if row["id"] in tags:
            raise InvalidInput("question_id", "must not stand twice", row["id"], where=path.name)
        part = f"part {row['part']}"
        skills = [f"skill {tag}" for tag in (row["tags"] or "").split(";") if tag not in ("", "-1")]
        tags[row["id"]], first[row["id"]] = [part, *skills], (skills or [part])[0]
    return Questions(tuple(table["id"].to_pylist()), tuple(table["answer"].to_pylist()), tags, first)


def _user_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InvalidInput("folder", "there is no such folder", str(folder))
    with readable(folder):
        files = sorted((p for p in folder.iterdir() if _USER.fullmatch(p.name)), key=lambda p: int(p.stem[1:]))
    if not files:
        raise InvalidInput("folder", "must hold one u<number>.csv per user", str(folder))
    return files


def _read_all(files: list[Path], questions: Questions, fields: dict[str, Field], bad: BadRows) -> _Kept:
    kept = _Kept()
    ids, answers = pa.array(questions.ids), pa.array(questions.answers)
    for first, group in _groups(files):
        read = _joined(group, fields)
        if read is None:
            tables = [read_csv(path, fields, bad, may_be_empty=True) for path, _ in group]
            read = pa.concat_tables(tables), [table.num_rows for table in tables]
        table, counts = read
        user = np.repeat(np.arange(first, first + len(group), dtype=np.int32), counts)
        _keep(table, user, ids, answers, kept)
    return kept


def _groups(files: list[Path]) -> Iterator[tuple[int, list[tuple[Path, bytes]]]]:
    """Files with their bytes, in groups of about 16 MiB, and the number of the first file of each."""
    group: list[tuple[Path, bytes]] = []
    size = first = 0
    for number, path in enumerate(files):
        with readable(path):
            data = path.read_bytes()
        group.append((path, data))
        size += len(data)
        if size >= _GROUP:
            yield first, group
            group, size, first = [], 0, number + 1
    if group:
        yield first, group


def _joined(group: list[tuple[Path, bytes]], fields: dict[str, Field]) -> tuple[pa.Table, list[int]] | None:
    """All files of a group under one header, and the rows per file; None where that cannot be told for certain."""
    header = group[0][1].partition(b"\n")[0]
    bodies, counts = [], []
    for _, data in group:
        head, _, body = data.partition(b"\n")
        if head != header or b'"' in body or b"\r" in body or b"\n\n" in body:  # then lines and rows may differ in number
            return None
        body = body if body.endswith(b"\n") or not body else body + b"\n"
        bodies.append(body)
        counts.append(body.count(b"\n"))
    wanted = {f.name: pa.int64() if f.kind == "int" else pa.string() for f in fields.values()}
    try:
        table = pacsv.read_csv(
            pa.BufferReader(b"".join([header, b"\n", *bodies])),
            read_options=pacsv.ReadOptions(block_size=4 << 20),
            convert_options=pacsv.ConvertOptions(
                column_types=wanted, include_columns=list(wanted), null_values=[""], strings_can_be_null=True
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    table = table.rename_columns(list(fields))
    whole = all(table[ours].null_count == 0 for ours, f in fields.items() if not f.missing)
    return (table, counts) if whole and table.num_rows == sum(counts) else None


def _keep(table: pa.Table, user: Codes, ids: pa.Array, answers: pa.Array, kept: _Kept) -> None:
    """Apply the filters to one group and keep what is left, as codes."""
    kept.actions += table.num_rows
    if "action" in table.column_names:
        mask = pc.equal(table["action"], "respond").to_numpy()
        table, user = table.filter(pa.array(mask)), user[mask]
    kept.responses += table.num_rows
    place = pc.index_in(table["item"], value_set=ids)
    known = pc.is_valid(place).to_numpy()
    kept.known += int(known.sum())
    mask = known & pc.is_valid(table["answer"]).to_numpy()
    chosen = pa.array(mask)
    place = place.filter(chosen).cast(pa.int32())
    right = pc.equal(table["answer"].filter(chosen), answers.take(place.combine_chunks()))
    kept.user.append(user[mask])
    kept.item.append(place.to_numpy())
    kept.correct.append(right.to_numpy())
    kept.time.append(table["time"].filter(chosen).to_numpy())
