"""Every selector keeps the conformance suite."""

from __future__ import annotations

import slateproof as sp
from slateproof.select.base import BaseSelector
from tests.select.conformance import SelectorConformance


class TestGreedy(SelectorConformance):
    @staticmethod
    def selector() -> BaseSelector:
        return sp.GreedySelector()


class TestMeanGreedy(SelectorConformance):
    @staticmethod
    def selector() -> BaseSelector:
        return sp.GreedySelector(dissimilarity="mean")


class TestTopK(SelectorConformance):
    @staticmethod
    def selector() -> BaseSelector:
        return sp.TopKSelector()


class TestWindow(SelectorConformance):
    @staticmethod
    def selector() -> BaseSelector:
        return sp.WindowSelector()
