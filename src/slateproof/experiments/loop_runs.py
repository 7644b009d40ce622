"""The closed loop that several experiments read: corpora, fitted scorers and played modes, each made once, when first asked for.

Scope: conditional; states are made from raw simulated responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from slateproof.corpora import Corpus
from slateproof.experiments.core import Task
from slateproof.experiments.shelf import Shelf
from slateproof.select import preset
from slateproof.simulate import (
    MODES,
    Mode,
    Plan,
    Rounds,
    Setting,
    World,
    play,
    prepare,
    response_model,
    scoring_of,
    session_metrics,
)
from slateproof.simulate.config import Config, CorpusSection
from slateproof.simulate.learners import fitted
from slateproof.simulate.modes import PRIVATE
from slateproof.types import Catalog
from slateproof.types.columns import Floats, Ints

__all__ = ["BLENDS", "CORPORA", "NAMES", "PLANS", "QUICK", "Loop", "LoopConfig", "loop_on", "loops", "quick_of"]

CORPORA = ("oulad", "ednet-kt2", "ednet-surrogate")
"""Corpora that a loop can use."""

PLANS = ("main", "longer", "legacy")
"""What every loop plays: the paper's plan, the same learners over more rounds, and as many of the authors' earlier artifact."""

NAMES = {
    "adaptive": "Adaptive",
    "als-selector": "ALS+Selector",
    "adaptive-als": "Adaptive+ALS (w=.75)",
    "adaptive-als-50": "Adaptive+ALS (w=.50)",
    "adaptive-scpo": "Adaptive-SCPO",
    "als": "ALS",
    "fixed": "Fixed",
    "greedy-target": "Greedy-Target",
    "linucb": "LinUCB",
    "bkt": "BKT",
    "dkt": "DKT",
    "sakt": "SAKT",
    "real-als": "ALS, alternating least squares",
}
"""Modes as the paper writes them. Its ALS is MF-BCE; "real-als" is alternating least squares under the same rule."""


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """The paper's closed loop. ``copies`` learners for each of 4 response models x 4 profiles (16: 256 sessions), ``rounds`` of
    pools of ``pool_size``, once more with ``longer`` rounds. ``users`` of a generated or cut EdNet; ``resamples`` of the bootstrap.
    ``baselines``: the modes that only stand beside the others.

    ``corpora``: (corpus of the paper, what is taken for it, best first, preset).
    """

    copies: int = 16
    rounds: int = 20
    longer: int = 50
    pool_size: int = 100
    users: int = 10_000
    resamples: int = 10_000
    baselines: tuple[str, ...] = ("fixed", "greedy-target", "linucb", "bkt", "dkt", "sakt")
    corpora: tuple[tuple[str, tuple[str, ...], str], ...] = (
        ("OULAD", ("oulad",), "oulad"),
        ("EdNet", ("ednet-kt2", "ednet-surrogate"), "ednet"),
    )


QUICK = LoopConfig(copies=2, longer=30, users=1_000, resamples=1_000, baselines=("fixed", "greedy-target", "linucb", "bkt"))
"""Few sessions; the two neural trackers, which take long to fit, are left out."""

C = TypeVar("C", bound=LoopConfig)


def quick_of(kind: type[C], **more: Any) -> C:
    """The quick configuration of an experiment that has settings of its own."""
    return kind(**{one.name: getattr(QUICK, one.name) for one in fields(QUICK)}, **more)


BLENDS: Mapping[float, Mode] = {
    0.0: MODES["adaptive"],
    0.5: replace(MODES["adaptive-als"], name="adaptive-als-50", anchor_weight=0.5),
    0.75: MODES["adaptive-als"],
    1.0: MODES["als"],
}
"""The anchor weights of the paper's closed-loop tables."""


@dataclass(slots=True, eq=False)
class Loop:
    """One corpus: who plays on what, and what was played. ``paper`` is the corpus of the paper that it stands for.

    ``plans``: those of ``PLANS``, and parts of "main" that ``part`` adds.

    Scope: conditional.
    """

    paper: str
    setting: Setting
    plans: dict[str, Plan]
    scorers: dict[str, Any]
    played: dict[tuple[str, str], Rounds] = field(default_factory=dict)

    @classmethod
    def of(cls, paper: str, config: Config, longer: int) -> Loop:
        """Load, calibrate, fit the two scorers that every mode needs, draw the pools."""
        setting = prepare(config)
        world = setting.worlds["adaptive"]
        who = (config.profiles, config.copies)
        legacy = {"legacy": response_model("legacy")}
        plans = {
            "main": setting.plan,
            "longer": Plan.of(world, setting.plan.models, *who, longer, config.pool_size, config.seed),
            "legacy": Plan.of(world, legacy, who[0], len(config.models) * who[1], config.rounds, config.pool_size, config.seed),
        }
        return cls(paper, setting, plans, dict(setting.scorers))

    @property
    def corpus(self) -> Corpus:
        """What is played on."""
        return self.setting.corpus

    @property
    def why(self) -> str | None:
        """Why its numbers are not those of the paper's corpus, if they are not."""
        if self.corpus.name == "ednet-surrogate":
            return "simulated answers to the real questions (ednet-surrogate), not EdNet's answers"
        return f"{self.corpus.label} is not the paper's {self.paper}" if self.corpus.synthetic else None

    def rounds(self, mode: Mode, plan: str = "main") -> Rounds:
        """A mode, played or remembered; modes of one name are the same mode."""
        key = mode.name, plan
        if key not in self.played:
            for name in (mode.learner, mode.anchor):
                if name is not None and name not in self.scorers:
                    self.scorers[name] = fitted(name, self.corpus, self.setting.config.seed, None)
            constants = preset(self.setting.config.preset)
            self.played[key] = play(mode, self.world(mode), self.plans[plan], constants, scoring_of(mode, self.scorers))
        return self.played[key]

    def world(self, mode: Mode) -> World:
        """Items compared by the two-tower's vectors; those of the private learner by its own, which are released."""
        common = self.setting.worlds["adaptive"]
        if mode.learner != PRIVATE:
            return common
        vectors = self.scorers[PRIVATE].similarity_vectors
        return replace(common, catalog=Catalog(list(common.catalog.ids), common.catalog.targets, vectors=vectors))

    def first(self, copies: int, plan: str = "main") -> Ints:
        """Places of the sessions of the first ``copies`` learners of each response model and profile."""
        return np.flatnonzero([one.copy < copies for one in self.plans[plan].sessions])

    def part(self, copies: int) -> str:
        """The plan of these learners alone: fewer sessions to play. Its name."""
        name = f"main, first {copies}"
        if name not in self.plans:
            self.plans[name] = self.plans["main"].rows(self.first(copies))
        return name

    def metrics(self, mode: Mode, plan: str = "main") -> dict[str, Floats]:
        """Every metric of a mode, one value per session."""
        return session_metrics(self.rounds(mode, plan))


def loops(task: Task) -> tuple[tuple[Loop, ...], tuple[str, ...]]:
    """(the loops of the corpora in hand, why the others are missing); a loop is made once per shelf and configuration."""
    config: LoopConfig = task.config
    made: list[Loop] = []
    skipped: list[str] = []
    for paper, choices, constants in config.corpora:
        here, reasons = task.corpora.split(choices)
        if not here:
            skipped += reasons
            continue
        task.progress(0, 1, f"{here[0]}: fitting")
        made.append(loop_on(task.corpora, paper, here[0], constants, config, task.seed))
    return tuple(made), tuple(skipped)


def loop_on(shelf: Shelf, paper: str, name: str, constants: str, config: LoopConfig, seed: int) -> Loop:
    """The loop on one corpus."""
    options = {"ednet-surrogate": {"users": config.users}, "ednet-kt2": {"max_users": config.users}}.get(name, {})
    run = Config(
        seed=seed,
        corpus=CorpusSection(name=name, data=None if shelf.data is None else str(shelf.data), options=options),
        preset=constants,
        rounds=config.rounds,
        copies=config.copies,
        pool_size=config.pool_size,
        modes=("adaptive", "als"),
    )
    return shelf.once(("loop", run.model_dump_json(), config.longer), lambda: Loop.of(paper, run, config.longer))
