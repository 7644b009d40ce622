"""Names, lazy imports, catalogues, pools, training and scoring by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from slateproof import corpora, learn
from slateproof.errors import InvalidInput
from slateproof.learn.modelfile import Model, write
from slateproof.select import GreedySelector
from slateproof.types import Levers, PoolBatch, State

CORPUS = corpora.demo()


def test_importing_the_room_loads_no_heavy_library() -> None:
    code = "import sys, slateproof.learn; print([m for m in ('jax', 'implicit', 'equinox', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["popularity", "mf-bce", "als", "linucb", "bkt", "bkt-em"])
def test_classical_learners_have_their_names_and_open_again(name: str, tmp_path: Path) -> None:
    learner = learn.learner(name)
    assert learner.name == name
    scorer = learner.fit(CORPUS, seed=3)
    scorer.save(tmp_path / "m")
    back = learn.open_model(tmp_path / "m", CORPUS)
    assert type(back) is type(scorer)
    assert back.name == name
    assert learn.LEARNERS[name].title


def test_unknown_names_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"learner: must be one of popularity, mf-bce, .*blend-raw \(got 'magic'\)"):
        learn.learner("magic")
    write(tmp_path / "m", Model("mine", {}, 1, CORPUS.digest, CORPUS.label, {}))
    with pytest.raises(InvalidInput, match="learner: must be one of"):
        learn.open_model(tmp_path / "m", CORPUS)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit", None)
    monkeypatch.setitem(sys.modules, "implicit.cpu", None)
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    with pytest.raises(InvalidInput, match=r"needs the extra 'learn'"):
        learn.learner("als").fit(CORPUS)


def test_catalogue_rows_are_item_codes() -> None:
    catalog = learn.catalog_of(CORPUS)
    assert list(catalog.ids) == CORPUS.items.ids.tolist()
    np.testing.assert_array_equal(catalog.targets, CORPUS.items.difficulty)
    assert catalog.similarity.kind == "tags"
    vectors = np.eye(len(CORPUS.items))
    assert learn.catalog_of(CORPUS, vectors).similarity.kind == "vectors"
    assert learn.catalog_of(CORPUS).digest == catalog.digest


def test_a_corpus_without_tags_has_a_catalogue_without_similarity(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "u,i,r\n" + "\n".join(f"{u},{10 * i},{(u + i) % 2}" for u in range(4) for i in range(12)) + "\n"
    )
    corpus = corpora.load_table(tmp_path / "t.csv", user="u", item="i", response="r")
    catalog = learn.catalog_of(corpus)
    assert catalog.similarity.kind == "none"
    assert list(catalog.ids) == [10 * i for i in range(12)]
    assert learn.codes_of(corpus, [110, 0, 20]).tolist() == [11, 0, 2]
    for ids, value in (([0, 15], 15), ([999], 999), ([-1], -1)):
        with pytest.raises(InvalidInput, match="is not in the corpus") as refusal:
            learn.codes_of(corpus, ids)
        assert refusal.value.value == value
    with pytest.raises(InvalidInput, match="are whole numbers"):
        learn.codes_of(corpus, ["0"])


def test_pools_carry_scores_widths_and_facts() -> None:
    scorer = learn.learner("linucb").fit(CORPUS)
    context, items = learn.Context.new(2), np.array([[5, 2, 9], [1, 140, 3]])
    scores = scorer.score(scorer.begin(context, 0), context, items)
    catalog = learn.catalog_of(CORPUS)
    pools = learn.pools_of(catalog, items, scores)
    assert scores.widths is not None
    for row, pool in enumerate(pools):
        assert list(pool.ids) == [CORPUS.items.ids[code] for code in items[row]]
        np.testing.assert_array_equal(pool.scores, scores.scores[row])
        np.testing.assert_array_equal(pool.widths, scores.widths[row])
        np.testing.assert_array_equal(pool.targets, CORPUS.items.difficulty[items[row]])
    assert learn.pools_of(catalog, items, learn.Scores(scores.scores, None))[0].widths is None


def test_training_by_name_reports_held_out_figures() -> None:
    told: list[str] = []
    scorer, report = learn.train(CORPUS, "linucb", 42, lambda done, total, what: told.append(what))
    assert scorer.name == "linucb"
    assert {"solving", "held-out users"} <= set(told)
    held_out = report.to_dict()["held_out"]
    assert held_out["users"] == 24
    assert 0.5 < held_out["auc"]["low"] < held_out["auc"]["value"] < held_out["auc"]["high"] < 1.0
    assert held_out["log_loss"] is None
    text = report.to_text()
    for word in ("linucb fitted on synthetic-demo (synthetic)", "AUC, pooled", "NDCG@10", "seed 42"):
        assert word in text


def test_scorers_see_the_state_in_the_table() -> None:
    ids = CORPUS.items.ids[:2].tolist()
    told = learn.FromCallable(lambda ask: [ask.knowledge, ask.engagement + ask.uncertainty]).fit(CORPUS)
    table = pa.table({"ids": [ids, ids], "knowledge": [0.25, 1.0], "uncertainty": [0.0, 0.125]})
    assert learn.score_pools(told, CORPUS, table)["scores"].to_pylist() == [[0.25, 0.5], [1.0, 0.625]]
    for bad in (1.5, None, "much", float("nan")):
        with pytest.raises(InvalidInput, match="engagement: must be a number in"):
            learn.score_pools(told, CORPUS, pa.table({"ids": [ids], "engagement": [bad]}))


def test_a_table_of_pools_is_scored_row_by_row() -> None:
    scorer = learn.learner("linucb").fit(CORPUS)
    ids = CORPUS.items.ids.tolist()
    listed = [[ids[3], ids[1]], [ids[8], ids[2], ids[4]], [ids[0], ids[9]]]
    table = pa.table({"ids": listed, "user": [None, str(CORPUS.user_ids[4]), str(CORPUS.user_ids[0])], "note": ["a", "b", "c"]})
    out = learn.score_pools(scorer, CORPUS, table)
    assert out.column_names == ["ids", "user", "note", "scores", "widths", "targets", "tags"]
    context = learn.Context.new(1)
    for row, names in enumerate(listed):
        codes = learn.codes_of(CORPUS, names)[None]
        expected = scorer.score(scorer.begin(context, 42), context, codes)
        assert expected.widths is not None
        assert out.column("scores")[row].as_py() == expected.scores[0].tolist()
        assert out.column("widths")[row].as_py() == expected.widths[0].tolist()
        assert out.column("targets")[row].as_py() == CORPUS.items.difficulty[codes[0]].tolist()
    again = learn.score_pools(scorer, CORPUS, out)
    assert again.equals(out)
    large = table.set_column(0, "ids", table.column("ids").cast(pa.large_list(pa.large_string())))
    assert learn.score_pools(scorer, CORPUS, large).column("scores").equals(out.column("scores"))
    batch = PoolBatch.from_arrow(out)
    catalog = learn.catalog_of(CORPUS)
    for row, names in enumerate(listed):
        mine = catalog.pool(names, out.column("scores")[row].as_py(), out.column("widths")[row].as_py())
        levers = Levers(target_shift=0.1, exploration=0.3, diversity=0.3, size=2)
        slates = [GreedySelector(target_gain=0.2, window=0.3).select(pool, levers, State()) for pool in (batch[row], mine)]
        assert slates[0].ids == slates[1].ids
        np.testing.assert_array_equal(slates[0].margins, slates[1].margins)
    assert "widths" not in learn.score_pools(learn.learner("bkt").fit(CORPUS), CORPUS, table).column_names


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"pool": [["a"]]}, "ids"),
        ({"ids": ["a"]}, "ids"),
        ({"ids": pa.array([], pa.list_(pa.string()))}, "pools"),
        ({"ids": [["nobody"]]}, "ids"),
        ({"ids": [["e001"], []]}, "ids"),
        ({"ids": [["e001"]], "user": ["nobody"]}, "user"),
    ],
)
def test_tables_that_are_no_pools_are_refused(columns: dict[str, list[object]], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        learn.score_pools(learn.learner("popularity").fit(CORPUS), CORPUS, pa.table(columns))
    assert refusal.value.field == field
