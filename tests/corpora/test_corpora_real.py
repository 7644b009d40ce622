"""The real corpora, where they are present: the paper's counts, and counts stated beside the files."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
import pytest

from slateproof.corpora import check, load

pytestmark = pytest.mark.corpus


def test_oulad_is_the_papers_table_and_loads_in_two_seconds(corpora: Path) -> None:
    load("oulad", corpora)  # the first load warms PyArrow and the disk
    start = time.perf_counter()
    corpus = load("oulad", corpora)
    assert time.perf_counter() - start < 2.0
    assert (len(corpus), corpus.users, len(corpus.items)) == (173_739, 23_351, 188)
    assert check(corpus).ok is True
    assert [(f.before, f.after) for f in corpus.filters] == [(173_912, 173_739)]


def test_oulad_difficulty_and_answers_by_a_plain_loop(corpora: Path) -> None:
    corpus = load("oulad", corpora)
    scores: dict[int, list[float]] = {}
    with (corpora / "oulad" / "studentAssessment.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["score"]:
                scores.setdefault(int(row["id_assessment"]), []).append(float(row["score"]))
    assert corpus.items.ids.tolist() == sorted(scores)
    plain = [1 - sum(scores[i]) / len(scores[i]) / 100 for i in sorted(scores)]
    assert corpus.items.difficulty == pytest.approx(plain, abs=1e-12)
    assert corpus.positive.sum() == sum(s >= 40 for of in scores.values() for s in of)
    assert sum(map(len, scores.values())) == 173_739


def test_movielens_prefix(corpora: Path) -> None:
    corpus = load("ml-25m", corpora)
    assert (len(corpus), corpus.users, len(corpus.items)) == (100_000, 757, 9_786)
    assert check(corpus).ok is False  # a prefix is not the corpus
    assert corpus.items.tags(corpus.items.ids.tolist().index(1)) == ("Adventure", "Animation", "Children", "Comedy", "Fantasy")


def test_amazon_five_core(corpora: Path) -> None:
    corpus = load("amazon-musical-instruments-5", corpora)
    assert (len(corpus), corpus.users, len(corpus.items)) == (10_261, 1_429, 900)
    assert check(corpus).ok is True
    five = load("amazon-musical-instruments-5", corpora, min_user=5, min_item=5)
    assert len(five) == len(corpus)


def test_assistments_through_the_table_loader(corpora: Path) -> None:
    corpus = load("assistments-2009", corpora)
    assert (len(corpus), corpus.users, len(corpus.items)) == (325_589, 4_150, 16_891)


def test_ednet_kt4_by_a_plain_loop(corpora: Path) -> None:
    corpus = load("ednet-kt4", corpora, difficulty="success")
    with (corpora / "ednet" / "contents" / "questions.csv").open(encoding="utf-8", newline="") as file:
        right = {row["question_id"]: row["correct_answer"] for row in csv.DictReader(file)}
    plain: list[tuple[str, int, str, bool]] = []
    for path in sorted((corpora / "ednet" / "KT4").glob("u*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["action_type"] == "respond"]
        rows.sort(key=lambda row: int(row["timestamp"]))
        plain += [(path.stem, int(r["timestamp"]), r["item_id"], r["user_answer"] == right[r["item_id"]]) for r in rows]
    assert corpus.time is not None
    found = zip(
        corpus.user_ids[corpus.user].tolist(),
        corpus.time.tolist(),
        corpus.items.ids[corpus.item].tolist(),
        corpus.positive.tolist(),
        strict=True,
    )
    assert list(found) == plain


def test_the_surrogate_matches_the_papers_aggregates(corpora: Path) -> None:
    corpus = load("ednet-surrogate", corpora)
    assert corpus.label == "ednet-surrogate (synthetic)"
    assert check(corpus).ok is True
    assert (len(corpus.items), round(corpus.per_user, 1)) == (11_555, 78.8)
    assert corpus.positive.mean() == pytest.approx(0.66, abs=0.01)
    counts = np.diff(corpus.user_starts)
    assert np.median(counts) < 0.5 * counts.mean()  # a long tail
    assert {tag for tag in corpus.items.tag_names if tag.startswith("part ")} == {f"part {k}" for k in range(1, 8)}
