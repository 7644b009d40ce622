"""MF-BCE, ALS, LinUCB and BKT: conformance."""

from __future__ import annotations

from typing import Any

from conformance import LearnerConformance

from slateproof.learn.als import ALS
from slateproof.learn.bkt import BKT
from slateproof.learn.linucb import LinUCB
from slateproof.learn.mf_bce import MFBCE


class TestMFBCE(LearnerConformance):
    online = False

    def make(self) -> Any:
        return MFBCE()


class TestALS(LearnerConformance):
    def make(self) -> Any:
        return ALS()


class TestLinUCB(LearnerConformance):
    def make(self) -> Any:
        return LinUCB()


class TestBKT(LearnerConformance):
    def make(self) -> Any:
        return BKT()


class TestBKTFitted(LearnerConformance):
    def make(self) -> Any:
        return BKT(fitted=True)
