"""Whole runs in folders: resumed, repeated, rerun session by session, and stopped by bad input with what is finished kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from world import MadeUp

from slateproof.audit import AuditLog
from slateproof.errors import InvalidInput
from slateproof.simulate import play_all, prepare, rerun_session, run
from slateproof.simulate.config import Config, read_config
from slateproof.simulate.constants import constants_of
from slateproof.simulate.statistics import paired_bootstrap

SMALL: dict[str, Any] = {
    "copies": 1,
    "rounds": 4,
    "pool_size": 20,
    "modes": ["greedy-target", "als", "linucb", "bkt"],
    "mode": [{"name": "greedy-als", "base": "als-selector", "score_noise": 0.01}],
    "models": ["irt", "zpd", "legacy"],
    "similarity": "tags",
    "corpus": {"name": "synthetic-education", "options": {"users": 40, "items": 60, "per_user": 20.0}},
}


def config(**changes: Any) -> Config:
    return read_config(SMALL | changes)


def of_mode(table: Any, mode: str) -> Any:
    return table.filter(pc.equal(table["mode"], mode))


def rounds_of(folder: Path) -> dict[str, Any]:
    return {path.name: pq.read_table(path) for path in sorted((folder / "rounds").glob("*.parquet"))}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "out"
    run(config(), folder)
    return folder


def test_a_run_leaves_its_files(done: Path) -> None:
    files = {"manifest.json", "models", "report.json", "rounds", "sessions.parquet", "timing.json"}
    assert {path.name for path in done.iterdir()} == files
    manifest, report = (json.loads((done / name).read_text()) for name in ("manifest.json", "report.json"))
    assert manifest["corpus"]["synthetic"] is True
    assert "synthetic" in report["corpus"]
    assert set(manifest["models"]) == {"irt", "zpd", "legacy"}
    assert manifest["calibration"]["eases"]["irt"] == manifest["models"]["irt"]["ease"]
    assert [one["mode"] for one in report["modes"]] == [*SMALL["modes"], "greedy-als"]
    sessions = pq.read_table(done / "sessions.parquet")
    assert sessions.num_rows == 5 * 12
    assert of_mode(sessions, "als")["tau"].null_count == 12
    assert of_mode(sessions, "greedy-als")["tau"].null_count == 0


def test_the_report_s_differences_are_those_of_the_sessions_file(done: Path) -> None:
    report, sessions = json.loads((done / "report.json").read_text()), pq.read_table(done / "sessions.parquet")
    one, two = (of_mode(sessions, mode)["uptake"].to_numpy() for mode in ("bkt", "als"))
    found = next(c for c in report["comparisons"] if c["mode"] == "bkt")["intervals"]["uptake"]
    assert found == paired_bootstrap(one, two).to_dict()
    means = next(m for m in report["modes"] if m["mode"] == "bkt")["means"]
    assert means["uptake"] == pytest.approx(one.mean())


def test_two_runs_of_one_manifest_are_identical(done: Path, tmp_path: Path) -> None:
    run(config(), tmp_path / "again")
    first, second = rounds_of(done), rounds_of(tmp_path / "again")
    assert list(first) == list(second)
    for name, table in first.items():
        assert table.equals(second[name], check_metadata=True), name
        assert (done / "rounds" / name).read_bytes() == (tmp_path / "again" / "rounds" / name).read_bytes()
    assert (done / "manifest.json").read_bytes() == (tmp_path / "again" / "manifest.json").read_bytes()
    assert (done / "sessions.parquet").read_bytes() == (tmp_path / "again" / "sessions.parquet").read_bytes()


@pytest.mark.slow
def test_fitted_neural_scorers_are_deterministic_too(tmp_path: Path) -> None:
    """Two folders, each fitted anew: two-tower with its updates, dkt, and the private two-tower with its noise."""
    wanted = config(
        modes=["adaptive", "dkt", "adaptive-dp"], mode=[], reference="adaptive", models=["irt"], similarity="item-tower"
    )
    for name in ("one", "two"):
        run(wanted, tmp_path / name)
    for path in (tmp_path / "one").rglob("*"):
        if path.suffix in (".parquet", ".npz"):
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path.name
    for mode in ("adaptive", "dkt", "adaptive-dp"):
        whole = pq.read_table(tmp_path / "one" / "rounds" / f"{mode}.parquet")
        assert rerun_session(tmp_path / "one", mode, "irt/advancing/0").equals(whole.slice(2 * 4, 4)), mode


def test_a_seed_changes_pools_and_people(done: Path, tmp_path: Path) -> None:
    run(config(seed=43), tmp_path / "other")
    for name, table in rounds_of(tmp_path / "other").items():
        assert not table["item"].equals(rounds_of(done)[name]["item"]), name


def test_a_session_rerun_alone_is_itself(done: Path) -> None:
    for mode in ("bkt", "greedy-als", "linucb"):
        whole = pq.read_table(done / "rounds" / f"{mode}.parquet")
        session = whole["session"][7 * 4].as_py()
        assert rerun_session(done, mode, session).equals(whole.slice(7 * 4, 4)), mode
    with pytest.raises(InvalidInput, match="session: must be a session of this run, like irt/struggling/0"):
        rerun_session(done, "bkt", "irt/struggling/9")
    with pytest.raises(InvalidInput, match="mode: must be one of greedy-target"):
        rerun_session(done, "adaptive", "irt/struggling/0")


def test_a_run_cut_short_goes_on(done: Path, tmp_path: Path) -> None:
    ticks = 0

    def stop(*_: Any) -> None:
        nonlocal ticks
        ticks += 1
        if ticks > 4 * 2 + 2 and stopping:
            raise KeyboardInterrupt

    stopping, out = True, tmp_path / "out"
    setting = prepare(config(), out)
    with pytest.raises(KeyboardInterrupt):
        play_all(setting, out, progress=stop)
    assert set(rounds_of(out)) == {"greedy-target.parquet", "als.parquet"}
    kept = (out / "rounds" / "als.parquet").stat().st_mtime_ns
    stopping, ticks = False, 0
    run(config(), out, progress=stop)
    assert (out / "rounds" / "als.parquet").stat().st_mtime_ns == kept
    for name, table in rounds_of(done).items():
        assert table.equals(rounds_of(out)[name]), name
    one, two = (json.loads((folder / "report.json").read_text())["comparisons"] for folder in (out, done))
    assert one == two


def test_a_learner_without_a_number_stops_the_run_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    setting = prepare(config(), tmp_path / "out")
    spoiled = replace(setting, scorers={**setting.scorers, "linucb": MadeUp(spoil=(2, 5, float("nan")))})
    with pytest.raises(InvalidInput, match="scores: must be finite") as refused:
        play_all(spoiled, tmp_path / "out")
    label = setting.plan.sessions[5].label
    assert refused.value.where == f"learner made-up, mode linucb, session {label}, round 2"
    assert set(rounds_of(tmp_path / "out")) == {"greedy-target.parquet", "als.parquet"}
    assert not (tmp_path / "out" / "report.json").exists()
    play_all(setting, tmp_path / "out")
    assert len(rounds_of(tmp_path / "out")) == 5


def test_folders_of_other_runs_are_refused(done: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.rglob("*")}
    with pytest.raises(InvalidInput, match="out: holds a run of another manifest"):
        run(config(seed=1), done)
    assert {path: path.stat().st_mtime_ns for path in done.rglob("*")} == before
    (tmp_path / "note").write_text("mine")
    with pytest.raises(InvalidInput, match="out: must be an empty folder"):
        run(config(), tmp_path)
    with pytest.raises(InvalidInput, match="out: must hold the manifest of a run"):
        rerun_session(tmp_path, "als", "x")


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    setting = prepare(config(modes=["als"], reference="als", mode=[]), out)
    play_all(setting, out)
    path = out / "rounds" / "als.parquet"
    pq.write_table(pq.read_table(path).slice(0, 5), path)
    with pytest.raises(InvalidInput, match=r"out: must hold 48 rows for als \(got 5 at"):
        play_all(setting, out)
    path.write_bytes(b"not parquet")
    with pytest.raises(InvalidInput, match="out: cannot be read: delete it to play als again"):
        play_all(setting, out)


def test_reopening_a_run_keeps_its_timing(done: Path) -> None:
    """Seconds of a mode are those of when it was played, not of when the folder was last looked at."""
    before = json.loads((done / "report.json").read_text())["seconds"]
    assert set(before) == {*SMALL["modes"], "greedy-als"}
    report = run(config(), done)
    assert report.seconds == before == json.loads((done / "report.json").read_text())["seconds"]
    assert "seconds by part of the loop" in report.to_text()


def other_model(folder: Path, **changes: Any) -> Path:
    """The MF-BCE file of another run."""
    prepare(config(**({"modes": ["als"], "reference": "als", "mode": []} | changes)), folder)
    return folder / "models" / "mf-bce.npz"


@pytest.mark.parametrize("with_note", [False, True])
def test_a_model_of_another_seed_is_refused(done: Path, tmp_path: Path, with_note: bool) -> None:
    """Same corpus, same learner: only the note beside the file can tell, and a note that came along tells its seed."""
    foreign, out = other_model(tmp_path / "other", seed=7), tmp_path / "out"
    shutil.copytree(done, out)
    shutil.copy(foreign, out / "models" / "mf-bce.npz")
    if with_note:
        shutil.copy(foreign.with_suffix(".json"), out / "models" / "mf-bce.json")
    what = "has another seed" if with_note else "was changed"
    with pytest.raises(InvalidInput, match=f"out: must hold models .* delete this one, which {what}"):
        rerun_session(out, "als", "irt/struggling/0")
    (out / "models" / "mf-bce.npz").unlink()  # then it is fitted again, and is what it was
    again = rerun_session(out, "als", "irt/struggling/0")
    assert again.equals(pq.read_table(done / "rounds" / "als.parquet").slice(0, 4))


def test_a_model_without_its_note_is_refused(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "out")
    (tmp_path / "out" / "models" / "bkt.json").unlink()
    with pytest.raises(InvalidInput, match="out: must hold the note beside a model: delete the model to fit it again"):
        run(config(), tmp_path / "out")


def test_another_manifest_is_named_by_what_differs(done: Path) -> None:
    with pytest.raises(InvalidInput, match=r"different in config\.copies, config\.seed"):
        run(config(copies=2, seed=1), done)
    with pytest.raises(
        InvalidInput, match=r"different in config\.calibrate, config\.modes, config\.pool_size, config\.rounds and \d+ more"
    ):
        run(config(modes=["als", "bkt"], rounds=5, pool_size=21, calibrate=False), done)


def test_the_manifest_names_every_constant(done: Path) -> None:
    """DESIGN section 7: every constant stands in every manifest; here by its published value."""
    manifest = json.loads((done / "manifest.json").read_text())
    held = manifest["constants"]
    assert held["profiles"]["high_flyer"] == {
        "name": "high_flyer",
        "knowledge": 0.9,
        "fatigue": 0.2,
        "engagement": 0.9,
        "trust": 0.8,
    }
    assert (held["probe_grid"][0], held["probe_grid"][-1], len(held["probe_grid"])) == (0.0, 1.0, 21)
    assert held["telemetry_rounds"] == 5
    assert held["bootstrap"] == {"resamples": 10_000, "seed": 42, "level": 0.95}
    assert held["width_reference"] == {"sessions": 256, "quantile": 0.95}
    assert held["state_prior"] == 0.5
    assert held["calibration"]["users"] == 2_000
    assert set(held["learners"]) == {"mf-bce", "linucb", "bkt"}
    mf = held["learners"]["mf-bce"]
    assert (mf["factors"], mf["steps"], mf["learning_rate"], mf["initial_sd"]) == (32, 5, 0.01, 0.01)
    assert held["learners"]["linucb"]["l2"] == 1.0
    assert [held["learners"]["bkt"][k] for k in ("initial", "transit", "slip", "guess")] == [0.1, 0.1, 0.1, 0.2]
    assert manifest["levers"]["linucb"]["fixed"]["exploration"] == 1.5
    assert manifest["preset"]["memory"] == 200
    for package in ("python", "slateproof", "numpy", "scipy", "numba", "pyarrow", "jax", "jaxlib", "equinox", "optax", "implicit"):
        assert manifest["versions"][package], package


def test_the_manifest_of_a_neural_and_a_private_run_has_their_settings() -> None:
    found = constants_of(("two-tower", "private-two-tower"))
    tower, private = found["learners"]["two-tower"], found["learners"]["private-two-tower"]
    assert (tower["hidden"], tower["embedding"]) == (96, 48)
    assert found["private_training"] == {"epsilon": 3.0, "delta": 1e-5}
    assert private["steps"] == 300
    assert private["private"]["noise_multiplier"] > 0.5


def test_options_that_a_loader_does_not_know_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"corpus.userz: is no setting of synthetic-education, which has users, items"):
        prepare(config(corpus={"name": "synthetic-education", "options": {"userz": 3}}))
    for key in ("name", "data"):
        with pytest.raises(InvalidInput, match=rf"corpus.options.{key}: stands in \[corpus\] itself"):
            prepare(config(corpus={"name": "synthetic-education", "options": {key: "x"}}))
    with pytest.raises(
        InvalidInput, match=r"corpus.options: must have values that the loader of synthetic-education can take .*'a'"
    ):
        prepare(config(corpus={"name": "synthetic-education", "options": {"per_user": "a"}}))
    with pytest.raises(InvalidInput, match=r"corpus.users: must be"):
        prepare(config(corpus={"name": "synthetic-education", "options": {"users": -3}}))
    with pytest.raises(InvalidInput, match=r"corpus.data: oulad is read from a data folder"):
        prepare(config(corpus={"name": "oulad"}))


def test_people_who_never_try_cannot_be_fitted_but_can_be_played() -> None:
    shy = config(models=["irt"], parameters={"irt": {"attempt_base": -60.0}})
    with pytest.raises(InvalidInput, match=r"calibrate: cannot be true here: .* at least 5 items in 20 rounds .*\(got 'irt'\)"):
        prepare(shy)
    setting = prepare(shy.model_copy(update={"calibrate": False}))
    assert not setting.play(setting.config.all_modes()[0]).column("round_attempted").any()


def test_the_manifest_is_of_the_data_not_of_their_folder(done: Path, tmp_path: Path) -> None:
    """Moved data: the same run, which a session's rerun finds."""
    moved = config(corpus=SMALL["corpus"] | {"data": str(tmp_path)})
    assert json.loads((done / "report.json").read_text())["digest"] == run(moved, done).digest
    whole = pq.read_table(done / "rounds" / "bkt.parquet")
    again = rerun_session(done, "bkt", whole["session"][0].as_py(), data=str(tmp_path / "elsewhere"))
    assert again.equals(whole.slice(0, 4))


def test_pools_larger_than_the_corpus_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="pool_size: must be at most the 60 items of synthetic-education"):
        run(config(pool_size=61), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_round_of_every_mode_can_be_logged(tmp_path: Path) -> None:
    wanted = config(modes=["als", "linucb"], mode=[])
    with AuditLog.create(tmp_path / "log") as log:
        run(wanted, tmp_path / "out", log)
        found = log.verify()
    assert (found.ok, found.size) == (True, 2 * 4 * 12)


def test_the_text_has_every_mode_and_names_what_it_is(done: Path) -> None:
    text = run(config(), done).to_text()
    assert "synthetic" in text.splitlines()[0]
    for mode in (*SMALL["modes"], "greedy-als"):
        assert f"\n{mode} " in text
    noise = text.split("noisy against clean")[1].split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in noise] == ["mode", "greedy-als"]
    settings = text.split("smallest to largest setting")[1].split("\n\n")[1].splitlines()
    report = json.loads((done / "report.json").read_text())
    bkt = next(one for one in report["comparisons"] if one["mode"] == "bkt")["settings"]["uptake"]
    assert len(bkt) == 3 * 4
    # The whole table, a row per response model and a column per profile.
    table = text.split("uptake: difference against als, response model by profile")[1].split("\n\n")[1].splitlines()
    assert table[0].split() == ["mode", "response", "model", "struggling", "steady", "advancing", "high_flyer"]
    printed = {tuple(line.split()[:2]): line.split()[2:] for line in table[1:]}
    assert len(printed) == 4 * 3
    assert printed["bkt", "zpd"] == [f"{row['mean']:.4f}" for row in bkt if row["model"] == "zpd"]
    low, high = (extreme(row["mean"] for row in bkt) for extreme in (min, max))
    assert f"{low:.4f} to {high:.4f}" in next(line for line in settings if line.startswith("bkt "))
    assert "ability_slope = " in text
    assert np.isfinite(float(text.split("ability_slope = ")[1].split()[0]))
