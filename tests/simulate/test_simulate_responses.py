"""The four response models and the artifact's: the conformance suite, and what sets each apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from response_conformance import SESSIONS, CoreConformance, ResponseConformance, keys_of, live, slate, start_of

from slateproof.errors import InvalidInput
from slateproof.simulate.draws import Draw, Draws
from slateproof.simulate.responses import IRT, MIRT, MODELS, ZPD, ContextualZPD, Legacy, response_model


class TestIRT(CoreConformance):
    model: ClassVar[Any] = IRT()

    def test_the_equation(self) -> None:
        """Independent restatement of P(correct), for one learner and one item."""
        model = IRT(spread=0.0)
        chance = live(model, start_of(0.7, 2), rounds=1, difficulty=0.4)["chance"][0, 0, 0]
        z = 0.0 + 4.0 * (0.7 - 0.5) - 4.0 * (0.4 - 0.5) - 0.3 * 0.4
        assert chance == pytest.approx(0.05 + (1 - 0.05 - 0.01) / (1 + np.exp(-z)), abs=1e-12)

    def test_practice_teaches_whatever_the_difficulty(self) -> None:
        model = IRT(error_gain=1.0)
        easy, hard = (live(model, difficulty=d)["ability"][-1] for d in (0.1, 0.9))
        # Engagement follows accuracy, so attempts differ a little; per attempt the gain is the same.
        assert abs(easy.mean() - hard.mean()) < 0.1


class TestMIRT(CoreConformance):
    model: ClassVar[Any] = MIRT()

    def sides(self, name: str) -> tuple[float, float]:
        return (4, 16) if name == "skills" else super().sides(name)

    def setting(self, name: str) -> dict[str, Any]:
        if name == "general":
            # ``general`` draws the skills' chances together: seen between equally hard items.
            return {"rounds": 1, "difficulty": 0.5}
        return {"rounds": 1} if name == "skills" else super().setting(name)

    def test_practice_moves_its_own_skill_most(self) -> None:
        model, keys, shown = MIRT(attempt_base=50.0), keys_of(), slate(0)
        shown = replace(shown, skill=np.full(shown.items.shape, 3))
        people = model.begin(start_of(), Draw(Draws(3), keys, -1, np.zeros((SESSIONS, 0), np.int64)))
        draw = Draw(Draws(3), keys, 0, shown.items)
        after = model.advance(people, shown, model.respond(people, shown, draw), draw)
        moved = (after.theta - people.theta).mean(axis=0)
        assert moved.argmax() == 3
        assert (np.delete(moved, 3) < moved[3] / 3).all()
        assert (np.delete(moved, 3) > 0.0).all()


class TestZPD(CoreConformance):
    model: ClassVar[Any] = ZPD()
    rewarding = 0.36

    def setting(self, name: str) -> dict[str, Any]:
        if name in ("zone_success", "zone_width"):
            return {"start": start_of(0.7), "difficulty": 0.2}
        if name == "engagement_fatigue":
            return {"start": start_of(fatigue=0.9)}
        return super().setting(name)

    def test_only_the_zone_teaches(self) -> None:
        model = replace(self.model, spread=0.0, zone_width=0.05)
        gains = {d: live(model, start_of(0.5), rounds=6, difficulty=d) for d in (0.0, 0.25, 1.0)}
        gain = {d: (run["ability"][-1] - run["ability"][0]).mean() for d, run in gains.items()}
        assert gain[0.25] > 5 * max(gain[0.0], gain[1.0], 1e-6)


class TestContextualZPD(TestZPD):
    model: ClassVar[Any] = ContextualZPD()
    placeless: ClassVar[dict[str, float]] = {"rank_cost": 0.0, "depletion": 0.0}

    def setting(self, name: str) -> dict[str, Any]:
        if name == "fatigue_shift":
            return {"start": start_of(0.7), "difficulty": 0.2}
        if name in ("mood_step", "mood_effect"):
            return {"start": start_of(0.8), "difficulty": 0.2}
        return super().setting(name)

    def test_tired_learners_need_easier_items(self) -> None:
        model = replace(self.model, depletion=0.0, fatigue_cost=0.0, zone_width=0.1, spread=0.0, recovery=0.0, fatigue_gain=0.0)

        def best(fatigue: float) -> float:
            gains = [live(model, start_of(0.5, fatigue=fatigue), rounds=3, difficulty=d) for d in np.linspace(0.0, 1.0, 21)]
            return float(np.linspace(0.0, 1.0, 21)[np.argmax([(g["ability"][-1] - g["ability"][0]).mean() for g in gains])])

        assert best(0.9) < best(0.1)

    def test_fatigue_grows_along_the_slate(self) -> None:
        chance = live(replace(self.model, depletion=0.1), rounds=1, difficulty=0.5)["chance"][0]
        assert (np.diff(chance, axis=1) < 0.0).all()


class TestLegacy(ResponseConformance):
    model: ClassVar[Any] = Legacy()
    placeless: ClassVar[dict[str, float]] = {"rank_decay": 1.0}

    def sides(self, name: str) -> tuple[float, float]:
        return {
            "zone_offset": (0.0, 0.8),
            "budget_sd": (0.1, 2.0),
            "noise": (0.0, 0.1),
            "zone_width": (0.05, 1.0),
            "rank_decay": (0.2, 1.0),
        }.get(name, super().sides(name))

    def setting(self, name: str) -> dict[str, Any]:
        return {"rounds": 2, "start": start_of(sessions=400)} if name == "zone_width" else {}

    def test_it_forgets_as_the_artifact_did(self) -> None:
        run = live(self.model, start_of(0.9), rounds=20)
        assert run["ability"][-1].mean() < 0.3


@dataclass(frozen=True, slots=True)
class ByPlace(IRT):
    """Broken on purpose: its numbers belong to the places of the slate, so that two modes meet different luck on one item."""

    def drawn(self, willing: Any, chance: Any, shown: Any, draw: Draw) -> Any:
        places = np.tile(np.arange(shown.items.shape[1]), (shown.items.shape[0], 1))
        return super(ByPlace, self).drawn(willing, chance, shown, replace(draw, items=places))


@dataclass(frozen=True, slots=True)
class HiddenPlace(IRT):
    """Broken on purpose: a cost of the place that no parameter turns off."""

    def willing(self, learners: Any, shown: Any, fatigue: Any) -> Any:
        return super(HiddenPlace, self).willing(learners, shown, fatigue) - 0.5 * np.arange(shown.items.shape[1])


@pytest.mark.parametrize("broken", [ByPlace(), HiddenPlace()])
def test_the_suite_catches_numbers_and_effects_of_places(broken: Any) -> None:
    class Suite(CoreConformance):
        model = broken

    with pytest.raises(AssertionError, match="attempted"):
        Suite().test_luck_belongs_to_the_item_not_to_its_place()
    Suite().test_a_response_belongs_to_the_item_not_to_its_neighbours_order()  # sessions apart: the older check passes it


def test_the_models_differ() -> None:
    """Same learners, same slates, same numbers: five different outcomes."""
    runs = {name: live(response_model(name)) for name in MODELS}
    names = list(runs)
    for place, one in enumerate(names):
        for two in names[place + 1 :]:
            assert not np.allclose(runs[one]["chance"], runs[two]["chance"], atol=1e-3) or not np.allclose(
                runs[one]["ability"], runs[two]["ability"], atol=1e-3
            ), (one, two)
            assert not np.array_equal(runs[one]["attempts"], runs[two]["attempts"]), (one, two)


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="models: must be among irt, mirt, zpd, contextual_zpd, legacy"):
        response_model("irrt")
    with pytest.raises(InvalidInput, match=r"parameters\.irt: has only ability_slope") as refused:
        response_model("irt", zone_width=0.1)
    assert refused.value.value == "zone_width"
    with pytest.raises(InvalidInput, match=r"guess: must lie in \[0, 1\] \(got 1.5\)"):
        response_model("irt", guess=1.5)
    with pytest.raises(InvalidInput, match="skills: must be a whole number, at least 2"):
        response_model("mirt", skills=1)
    with pytest.raises(InvalidInput, match="zone_width: must be above 0"):
        response_model("zpd", zone_width=0.0)
