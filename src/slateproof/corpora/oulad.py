"""OULAD, from the Open University's own tables: a scored assessment is an interaction.

Scope: none; the difficulties are computed from students' scores.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_threshold
from slateproof.corpora.columns import encode
from slateproof.corpora.corpus import Corpus, Filter
from slateproof.corpora.csvfile import read_csv
from slateproof.corpora.difficulty import DifficultyRule
from slateproof.corpora.fields import Field, Within
from slateproof.errors import InvalidInput

__all__ = ["LICENCE", "load_oulad"]

LICENCE = "CC BY 4.0 (Kuzilek, Hlosta, Zdrahal 2017)"

_NO_SCORE = ("?",)
"""The publisher's mark for a score that is not there, beside the empty cell."""


def load_oulad(
    folder: str | Path,
    *,
    pass_mark: float = 40.0,
    difficulty: DifficultyRule = "score",
    min_user: int = 1,
    min_item: int = 1,
    max_bad_rows: int = 0,
) -> Corpus:
    """``studentAssessment.csv`` and ``assessments.csv`` of ``folder``: rows with a score.

    ``response`` is the score (0 to 100), ``positive`` is score >= ``pass_mark``, ``time`` the day of submission relative to the
    start of the course, the tags are the module (which is the skill) and the kind of assessment (TMA, CMA, Exam).
    """
    folder = Path(folder)
    bad = BadRows(max_bad_rows)
    pass_mark = check_threshold(pass_mark, "pass_mark")
    fields = {
        "item": Field("id_assessment", "int"),
        "user": Field("id_student", "int"),
        "day": Field("date_submitted", "int"),
        "score": Field("score", "float", _NO_SCORE, Within("must lie in [0, 100]", 0.0, 100.0)),
    }
    table = read_csv(folder / "studentAssessment.csv", fields, bad)
    scored = table.filter(pc.is_valid(table["score"]))
    if scored.num_rows == 0:
        raise InvalidInput("score", "no row has one", where="studentAssessment.csv")
    scores = scored["score"].to_numpy()
    raw = Raw.of(encode(scored["user"]), encode(scored["item"]), scores, scores >= pass_mark, scored["day"].to_numpy())
    raw = replace(raw, filters=(Filter("the row has a score", table.num_rows, scored.num_rows),))
    tags = _assessments(folder / "assessments.csv", bad)
    unknown = ~np.isin(raw.item_ids, np.array(sorted(tags), np.int64))
    if unknown.any():
        raise InvalidInput("id_assessment", "must stand in assessments.csv", int(raw.item_ids[unknown][0]))
    return build(
        raw,
        name="oulad",
        licence=LICENCE,
        difficulty_rule=difficulty,
        positive_rule=f"score >= {pass_mark:g}",
        min_user=min_user,
        min_item=min_item,
        tags=tags,
        skill_rule="the module",
        bad_rows=bad.count,
    )


def _assessments(path: Path, bad: BadRows) -> dict[int, list[str]]:
    table: pa.Table = read_csv(
        path,
        {
            "item": Field("id_assessment", "int"),
            "module": Field("code_module", "text"),
            "kind": Field("assessment_type", "text"),
        },
        bad,
    )
    return {row["item"]: [row["module"], row["kind"]] for row in table.to_pylist()}
