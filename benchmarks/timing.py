"""The timing of ``slateproof bench``, for the benchmarks beside it."""

from slateproof.cli.timing import machine, medians

__all__ = ["machine", "medians"]
