"""A whole run: fit, calibrate, play every mode, measure, report; finished parts are kept, and a run that was cut short goes on.

A folder holds ``manifest.json``, ``models/``, ``rounds/MODE.parquet`` (one row per session and round), ``sessions.parquet``
(metrics), ``timing.json`` (seconds of every mode, from when it was played) and ``report.json``. A mode's file appears when the mode
is finished, whole or not at all.

Scope: conditional; see each mode's regime in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slateproof import corpora
from slateproof.corpora import Corpus
from slateproof.errors import InvalidInput
from slateproof.learn.catalog import catalog_of
from slateproof.learn.protocol import Progress, Scorer
from slateproof.select import preset
from slateproof.simulate.calibration import Calibration
from slateproof.simulate.config import Config, read_config
from slateproof.simulate.engine import RoundLog, Stopwatch, play
from slateproof.simulate.files import read_json, write_json
from slateproof.simulate.learners import fitted
from slateproof.simulate.manifest import check_or_write, digest_of, manifest_of, read_manifest
from slateproof.simulate.modes import PRIVATE, Mode
from slateproof.simulate.plan import Plan, World
from slateproof.simulate.record import Rounds
from slateproof.simulate.report import Report, report_on
from slateproof.simulate.scope import scope_of
from slateproof.simulate.scoring import scoring_of
from slateproof.types import Catalog

__all__ = ["Setting", "play_all", "prepare", "rerun_session", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A run before it plays: corpus, plan, calibration, fitted scorers, and the world of each mode.

    Scope: conditional.
    """

    config: Config
    corpus: Corpus
    plan: Plan
    fit: Calibration | None
    scorers: Mapping[str, Scorer]
    worlds: Mapping[str, World]
    manifest: dict[str, Any]

    def play(self, mode: Mode, plan: Plan | None = None, **how: Any) -> Rounds:
        """Play one mode, on the whole plan or on another."""
        constants = preset(self.config.preset)
        scoring = scoring_of(mode, self.scorers)
        return play(mode, self.worlds[mode.name], self.plan if plan is None else plan, constants, scoring, **how)


def run(config: Config, out: str | Path, log: RoundLog | None = None, progress: Progress | None = None) -> Report:
    """Play the modes that ``out`` does not hold yet, and report on all.

    ``out`` is an empty folder, or one of the same manifest: then finished modes are read, not played again. An interrupted mode is
    played from its first round; with a ``log`` its rounds are then logged again. ``progress`` is called with (sessions' rounds
    done, in all, what is going on).
    """
    return play_all(prepare(config, Path(out), progress), out, log, progress)


def play_all(setting: Setting, out: str | Path, log: RoundLog | None = None, progress: Progress | None = None) -> Report:
    """What ``run`` does after ``prepare``; ``setting`` must be that of ``out``."""
    folder, config = Path(out), setting.config
    modes = config.all_modes()
    total = len(modes) * len(setting.plan.sessions) * config.rounds
    played: dict[str, Rounds] = {}
    clocks = folder / "timing.json"
    seconds: dict[str, dict[str, float]] = read_json(clocks, "the timing of a run: delete it") if clocks.exists() else {}
    for place, mode in enumerate(modes):
        path = folder / "rounds" / f"{mode.name}.parquet"
        ticker = _Ticker(progress, place * total // len(modes), total, mode.name)
        if path.exists():
            played[mode.name] = _read(path, mode, setting.plan)
        else:
            clock = Stopwatch()
            played[mode.name] = setting.play(mode, log=log, ticker=ticker, clock=clock)
            seconds[mode.name] = clock.seconds
            _write(path, played[mode.name].table)
            write_json(clocks, seconds)
    report = _report(setting, played, seconds)
    _write(folder / "sessions.parquet", _sessions(report))
    write_json(folder / "report.json", report.to_dict())
    return report


def prepare(config: Config, folder: Path | None = None, progress: Progress | None = None) -> Setting:
    """Load, calibrate, fit (or read the models in ``folder``), draw the pools; write or check the manifest in a folder."""
    corpus = _corpus(config)
    if config.pool_size > len(corpus.items):
        raise InvalidInput("pool_size", f"must be at most the {len(corpus.items)} items of {corpus.label}", config.pool_size)
    fit = config.fitted(corpus, World.of(corpus, catalog_of(corpus)))
    models = config.response_models(fit)
    manifest = manifest_of(config, corpus, models, fit)
    if folder is not None:
        check_or_write(folder, manifest)
    scorers = {}
    for name in config.learners():
        scorers[name] = fitted(name, corpus, config.seed, None if folder is None else folder / "models", progress)
    vectors = scorers["two-tower"].similarity_vectors if config.similarity == "item-tower" else None  # type: ignore[attr-defined]
    common = World.of(corpus, catalog_of(corpus, vectors))
    worlds = {mode.name: _world(mode, common, scorers) for mode in config.all_modes()}
    plan = Plan.of(common, models, config.profiles, config.copies, config.rounds, config.pool_size, config.seed)
    return Setting(config, corpus, plan, fit, scorers, worlds, manifest)


def _corpus(config: Config) -> Corpus:
    asked = config.corpus
    for key in ("name", "data"):
        if key in asked.options:
            raise InvalidInput(f"corpus.options.{key}", "stands in [corpus] itself, not in its options", asked.options[key])
    try:
        return corpora.load(asked.name, asked.data, **asked.options)
    except InvalidInput as why:
        raise InvalidInput(f"corpus.{why.field}", why.rule, why.value, where=why.where) from why
    except (TypeError, ValueError) as why:
        if not asked.options:
            raise
        given = asked.options
        if "keyword argument" in str(why) or "multiple values" in str(why):
            raise InvalidInput("corpus.options", f"must be options of the loader of {asked.name} ({why})", given) from why
        raise InvalidInput("corpus.options", f"must have values that the loader of {asked.name} can take ({why})", given) from why


def _world(mode: Mode, common: World, scorers: Mapping[str, Scorer]) -> World:
    """The private learner's modes compare items by its released vectors; difficulties stay those of the corpus."""
    if mode.learner != PRIVATE:
        return common
    vectors = scorers[PRIVATE].similarity_vectors  # type: ignore[attr-defined]
    public = Catalog(list(common.catalog.ids), common.catalog.targets, vectors=vectors)
    return replace(common, catalog=public)


def rerun_session(out: str | Path, mode: str, session: str, data: str | None = None) -> pa.Table:
    """Play one session of a finished or unfinished run again, alone: its rows, equal to those in the run, bit for bit.

    ``session`` is its label (model/profile/copy); ``data`` replaces the data folder of the manifest.
    """
    folder = Path(out)
    config = read_config(_with_data(read_manifest(folder)["config"], data))
    setting = prepare(config, folder)
    labels = [one.label for one in setting.plan.sessions]
    if session not in labels:
        raise InvalidInput("session", f"must be a session of this run, like {labels[0]}", session)
    known = {one.name: one for one in config.all_modes()}
    if mode not in known:
        raise InvalidInput("mode", f"must be one of {', '.join(known)}", mode)
    place = labels.index(session)
    return setting.play(known[mode], setting.plan.alone(place)).session(place)


def _with_data(config: dict[str, Any], data: str | None) -> dict[str, Any]:
    return config if data is None else config | {"corpus": config["corpus"] | {"data": data}}


def _report(setting: Setting, played: Mapping[str, Rounds], seconds: dict[str, dict[str, float]]) -> Report:
    config, constants = setting.config, preset(setting.config.preset)
    modes = config.all_modes()
    scopes = {}
    for mode in modes:
        scope = scope_of(mode, played[mode.name].ledger, tags=config.similarity == "tags")
        scopes[mode.name] = (scope.regime, scope.epsilon)
    return report_on(
        played, setting.plan, {mode.name: mode.largest_shift(constants) for mode in modes}, scopes,
        corpus=setting.corpus.label, digest=digest_of(setting.manifest), reference=config.reference, window=constants.window,
        seconds=seconds, calibration="" if setting.fit is None else setting.fit.to_text(),
    )  # fmt: skip


class _Ticker:
    """Progress of one mode within the run."""

    def __init__(self, progress: Progress | None, done: int, total: int, what: str) -> None:
        self._progress, self._done, self._total, self._what = progress, done, total, what

    def __call__(self, sessions: int) -> None:
        self._done += sessions
        if self._progress is not None:
            self._progress(self._done, self._total, self._what)


def _write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)


def _read(path: Path, mode: Mode, plan: Plan) -> Rounds:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as why:
        raise InvalidInput("out", f"cannot be read: delete it to play {mode.name} again ({why})", str(path)) from why
    if table.num_rows != len(plan.sessions) * plan.rounds:
        raise InvalidInput(
            "out", f"must hold {len(plan.sessions) * plan.rounds} rows for {mode.name}", table.num_rows, where=str(path)
        )
    return Rounds(mode.name, len(plan.sessions), plan.rounds, table)


def _sessions(report: Report) -> pa.Table:
    """One row per mode and session: every metric; those a mode does not have are null."""
    names = list(dict.fromkeys(m for metrics in report.metrics.values() for m in metrics))
    columns: dict[str, Any] = {
        "mode": [mode for mode in report.metrics for _ in report.sessions],
        "session": list(report.sessions) * len(report.metrics),
    }
    missing = np.full(len(report.sessions), np.nan)
    for name in names:
        values = np.concatenate([metrics.get(name, missing) for metrics in report.metrics.values()])
        columns[name] = pa.array(values, mask=np.isnan(values))
    return pa.table(columns)
