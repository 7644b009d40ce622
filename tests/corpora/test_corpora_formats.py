"""The publishers' formats: OULAD, MovieLens (.csv, .dat), Amazon (.csv, .json, .gz), on small files of the same form."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from slateproof.corpora import load_amazon, load_movielens, load_oulad
from slateproof.errors import InvalidInput

ASSESSMENTS = '"code_module","code_presentation","id_assessment","assessment_type","date","weight"\n'
ANSWERS = "id_assessment,id_student,date_submitted,is_banked,score\n"


def oulad(folder: Path, answers: str, header: str = ANSWERS) -> Path:
    (folder / "assessments.csv").write_text(
        ASSESSMENTS + '"AAA","2013J","1752","TMA","19","10"\n"BBB","2013J","1753","Exam","","20"\n', "utf-8"
    )
    (folder / "studentAssessment.csv").write_text(header + answers, "utf-8")
    return folder


def test_oulad_keeps_rows_with_a_score(tmp_path: Path) -> None:
    corpus = load_oulad(oulad(tmp_path, "1752,9,18,0,40\n1752,7,22,0,39\n1753,9,5,0,\n1753,7,6,0,?\n1753,7,7,0,100\n"))
    assert (len(corpus), corpus.users, len(corpus.items)) == (3, 2, 2)
    assert corpus.user_ids.tolist() == [7, 9]
    assert corpus.response.tolist() == [100.0, 39.0, 40.0]  # by user, then day
    assert corpus.positive.tolist() == [True, False, True]
    assert corpus.items.difficulty.tolist() == pytest.approx([1 - 0.395, 0.0])
    assert corpus.items.tags(0) == ("AAA", "TMA")
    assert corpus.items.tags(1) == ("BBB", "Exam")
    assert [f.to_text() for f in corpus.filters] == ["the row has a score: 5 -> 3 rows (2 left out)"]


def test_the_skill_of_an_assessment_is_its_module(tmp_path: Path) -> None:
    folder = oulad(tmp_path, "1752,9,18,0,40\n1753,7,7,0,100\n")
    listed = (folder / "assessments.csv").read_text("utf-8")
    (folder / "assessments.csv").write_text(listed.replace("AAA", "DDD").replace("TMA", "CMA"), "utf-8")  # CMA sorts before DDD
    corpus = load_oulad(folder)
    assert [corpus.items.tag_names[t] for t in corpus.items.skill] == ["DDD", "BBB"]
    assert corpus.describe().to_dict()["skill_of_an_item"] == "the module"


def test_oulad_pass_mark_and_quoted_cells(tmp_path: Path) -> None:
    header = '"id_assessment","id_student","date_submitted","is_banked","score"\n'
    corpus = load_oulad(oulad(tmp_path, '"1752","9","18","0","40"\n"1752","8","18","0","80"\n', header), pass_mark=50)
    assert corpus.positive.tolist() == [True, False]
    assert corpus.positive_rule == "score >= 50"


@pytest.mark.parametrize(
    ("answers", "field", "value", "row"),
    [
        ("1752,9,18,0,40\n1752,x7,22,0,39\n", "id_student", "x7", 3),
        ("1752,9,18,0,forty\n", "score", "forty", 2),
        ("1752,9,18,0,nan\n", "score", "nan", 2),
        ("1752,9,18,0,inf\n", "score", "inf", 2),
        ("1752,9,18,0,40\n,9,18,0,40\n", "id_assessment", "", 3),
        ("1752,9,18,0,40\n1752,9,18,0\n", "row", "1752,9,18,0", 3),
        ("1752,9,18,0,40\n\n1752,9,18,0,40,1\n", "row", "1752,9,18,0,40,1", 4),
        ("1752,9,1e3,0,40\n", "date_submitted", "1e3", 2),
        ("1752,99999999999999999999,1,0,40\n", "id_student", "99999999999999999999", 2),
    ],
)
def test_a_malformed_row_stops_the_load_with_its_row_and_value(
    tmp_path: Path, answers: str, field: str, value: str, row: int
) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_oulad(oulad(tmp_path, answers))
    assert (refused.value.field, refused.value.value) == (field, value)
    assert refused.value.where == f"studentAssessment.csv row {row}"


def test_malformed_rows_are_counted_up_to_the_limit(tmp_path: Path) -> None:
    rows = "1752,9,18,0,40\nbad,9,1,0,1\n1752,8,18,0,50\nworse,9,1,0,1\n"
    corpus = load_oulad(oulad(tmp_path, rows), max_bad_rows=2)
    assert (len(corpus), corpus.bad_rows) == (2, 2)
    assert "malformed rows left out  2" in corpus.describe().to_text()
    with pytest.raises(InvalidInput, match=r"row 3.*row 5") as refused:
        load_oulad(oulad(tmp_path, rows + "3rd,9,1,0,1\n"), max_bad_rows=2)
    assert (refused.value.field, refused.value.value) == ("max_bad_rows", 3)
    with pytest.raises(InvalidInput) as refused:
        load_oulad(tmp_path, max_bad_rows=-1)
    assert refused.value.field == "max_bad_rows"


def test_missing_columns_files_and_rows_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        load_oulad(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        load_oulad(oulad(tmp_path, "1,2\n", "id_assessment,id_student\n"))
    assert (refused.value.field, refused.value.rule) == ("date_submitted", "the column is missing")
    with pytest.raises(InvalidInput, match="has no rows"):
        load_oulad(oulad(tmp_path, ""))
    with pytest.raises(InvalidInput, match="the file is empty"):
        load_oulad(oulad(tmp_path, "", ""))
    with pytest.raises(InvalidInput, match="no row has one"):
        load_oulad(oulad(tmp_path, "1752,9,18,0,\n"))
    with pytest.raises(InvalidInput) as refused:
        load_oulad(oulad(tmp_path, "1752,9,18,0,40\n4,9,18,0,40\n"))
    assert (refused.value.field, refused.value.value) == ("id_assessment", 4)
    with pytest.raises(InvalidInput, match="more than once"):
        load_oulad(oulad(tmp_path, "1,2,3,0,5,6\n", ANSWERS.strip() + ",score\n"))


def test_a_byte_that_is_not_utf8_is_a_malformed_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"u1,i1,5.0,10\nu\xff,i1,4.0,11\nu3,i1,4.0,11\n")
    with pytest.raises(InvalidInput) as refused:
        load_amazon(path)
    assert (refused.value.field, refused.value.where) == ("user", "r.csv row 2")
    assert load_amazon(path, max_bad_rows=1).user_ids.tolist() == ["u1", "u3"]


CSV_RATINGS = "userId,movieId,rating,timestamp\n1,296,5.0,1147880044\n1,306,3.5,1147868817\n2,296,4.0,5\n"
CSV_MOVIES = 'movieId,title,genres\n296,"Pulp, Fiction (1994)",Crime|Drama\n306,Red (1994),(no genres listed)\n7,Never (1),Drama\n'
DAT_RATINGS = "1::296::5::1147880044\n1::306::3.5::1147868817\n2::296::4::5\n"
DAT_MOVIES = "296::Pulp:: Fiction: é (1994)::Crime|Drama\n306::Red (1994)::\n"


def movielens(folder: Path, ending: str, ratings: str, movies: str) -> Path:
    (folder / f"ratings.{ending}").write_text(ratings, "utf-8")
    (folder / f"movies.{ending}").write_text(movies, "latin-1" if ending == "dat" else "utf-8")
    return folder


@pytest.mark.parametrize(("ending", "ratings", "movies"), [("csv", CSV_RATINGS, CSV_MOVIES), ("dat", DAT_RATINGS, DAT_MOVIES)])
def test_movielens_csv_and_dat_say_the_same(tmp_path: Path, ending: str, ratings: str, movies: str) -> None:
    corpus = load_movielens(movielens(tmp_path, ending, ratings, movies))
    assert corpus.user_ids.tolist() == [1, 2]
    assert corpus.items.ids.tolist() == [296, 306]
    assert corpus.item.tolist() == [1, 0, 0]  # in time order
    assert corpus.response.tolist() == [3.5, 5.0, 4.0]
    assert corpus.positive.tolist() == [False, True, True]
    assert corpus.items.tags(0) == ("Crime", "Drama")
    assert corpus.items.tags(1) == ()
    assert load_movielens(tmp_path, like_at=4.5).positive.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("rows", "field", "row"),
    [
        ("1::296::5::1\n1::296:5::1\n", "row", 2),
        ("1::296::5::1\n1::296::five::1\n", "rating", 2),
        ("1::296::5::1\n1:9:296::5::1\n", "row", 2),
    ],
)
def test_a_malformed_dat_row_is_refused(tmp_path: Path, rows: str, field: str, row: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_movielens(movielens(tmp_path, "dat", rows, DAT_MOVIES))
    assert (refused.value.field, refused.value.where) == (field, f"ratings.dat row {row}")


def test_a_malformed_movie_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_movielens(movielens(tmp_path, "dat", DAT_RATINGS, "296::Pulp\n"))
    assert (refused.value.field, refused.value.where) == ("row", "movies.dat row 1")


REVIEWS = [("B", "i2", 5.0, 30), ("A", "i1", 3.0, 20), ("B", "i1", 4.0, 10)]


def write_amazon(path: Path, kind: str) -> Path:
    if kind == "csv":
        text = "".join(f"{u},{i},{r},{t}\n" for u, i, r, t in REVIEWS)
    elif kind == "2014":
        keys = ("reviewerID", "asin", "overall", "unixReviewTime")
        text = "".join(json.dumps({**dict(zip(keys, row, strict=True)), "helpful": [0, 1]}) + "\n" for row in REVIEWS)
    else:
        keys = ("user_id", "parent_asin", "rating", "timestamp")
        text = "".join(json.dumps({**dict(zip(keys, row, strict=True)), "text": "é"}) + "\n" for row in REVIEWS)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [("r.csv", "csv"), ("r.csv.gz", "csv"), ("r.json", "2014"), ("r.json.gz", "2014"), ("r.jsonl", "2023"), ("r.jsonl.gz", "2023")],
)
def test_amazon_formats_say_the_same(tmp_path: Path, name: str, kind: str) -> None:
    corpus = load_amazon(write_amazon(tmp_path / name, kind))
    assert corpus.user_ids.tolist() == ["A", "B"]
    assert corpus.items.ids.tolist() == ["i1", "i2"]
    assert corpus.response.tolist() == [3.0, 4.0, 5.0]
    assert corpus.positive.tolist() == [False, True, True]
    assert corpus.time is not None
    assert corpus.time.tolist() == [20, 10, 30]


@pytest.mark.parametrize("name", ["ratings_X.csv", "reviews_X.json.gz"])
def test_amazon_categories_are_read_where_they_are(tmp_path: Path, name: str) -> None:
    path = write_amazon(tmp_path / name, "csv" if name.endswith(".csv") else "2014")
    plain = load_amazon(path)
    assert (plain.items.tag_names, plain.items.skill.tolist()) == ((), [-1, -1])
    text = 'Product ID,Description,price,Category\ni2,"a 21"" cable, red",7.09,Cables & Co\ni9,none,1,Picks\ni1,,,\n'
    (tmp_path / "meta_X.csv").write_text(text, "utf-8")
    tagged = load_amazon(path)
    assert [tagged.items.tags(i) for i in range(2)] == [(), ("Cables & Co",)]
    assert tagged.items.skill.tolist() == [-1, 0]
    assert tagged.skill_rule == "the category of the product"
    (tmp_path / "meta_X.csv").rename(tmp_path / "other.csv")
    assert load_amazon(path, meta=tmp_path / "other.csv").digest == tagged.digest != plain.digest
    with pytest.raises(InvalidInput, match=r"meta\.csv"):
        load_amazon(path, meta=tmp_path / "meta.csv")


def test_a_truncated_gz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    rows = "".join(f"u{k * 7919 % 10007},i{k * 31 % 997},4.0,{k * k}\n" for k in range(5000))
    path.write_bytes(gzip.compress(rows.encode())[:-2000])
    with pytest.raises(InvalidInput, match=r"not a whole .gz"):
        load_amazon(path)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("not json", "row"),
        ("[1, 2]", "row"),
        ('{"reviewerID": "A", "asin": "i1", "overall": "good", "unixReviewTime": 1}', "overall"),
        ('{"reviewerID": "A", "asin": "i1", "overall": 5, "unixReviewTime": null}', "unixReviewTime"),
        ('{"reviewerID": "A", "overall": 5, "unixReviewTime": 1}', "asin"),
        ('{"reviewerID": "A", "asin": "i1", "overall": true, "unixReviewTime": 1}', "overall"),
    ],
)
def test_a_malformed_review_is_refused(tmp_path: Path, line: str, field: str) -> None:
    path = write_amazon(tmp_path / "r.json", "2014")
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(InvalidInput) as refused:
        load_amazon(path)
    assert (refused.value.field, refused.value.where) == (field, "r.json row 4")
    corpus = load_amazon(path, max_bad_rows=1)
    assert (len(corpus), corpus.bad_rows) == (3, 1)


def test_amazon_refuses_other_files_and_other_scales(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text("<a/>", "utf-8")
    with pytest.raises(InvalidInput, match="must end in"):
        load_amazon(tmp_path / "r.xml")
    (tmp_path / "r.json").write_text('{"a": 1}\n', "utf-8")
    with pytest.raises(InvalidInput, match="the column is missing"):
        load_amazon(tmp_path / "r.json")
    (tmp_path / "r.csv").write_text("A,i,5,1\nA,i,50,1\n", "utf-8")
    with pytest.raises(InvalidInput) as refused:
        load_amazon(tmp_path / "r.csv")
    assert (refused.value.field, refused.value.value, refused.value.where) == ("rating", 50.0, "r.csv row 2")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "4", True, None])
def test_thresholds_must_be_finite_numbers(tmp_path: Path, value: object) -> None:
    for load, path, name in (
        (load_oulad, oulad(tmp_path, "1752,9,18,0,40\n"), "pass_mark"),
        (load_movielens, movielens(tmp_path, "csv", CSV_RATINGS, CSV_MOVIES), "like_at"),
        (load_amazon, write_amazon(tmp_path / "r.csv", "csv"), "like_at"),
    ):
        with pytest.raises(InvalidInput) as refused:
            load(path, **{name: value})  # type: ignore[operator]
        assert (refused.value.field, refused.value.rule) == (name, "must be a finite number")
