"""Eight dot products side by side, as vector instructions.

Numba does not turn eight scalar sums into vector code by itself, so the loop is written in LLVM's terms: four rows at a time, two
entries of each, transposed in registers. Every sum is one lane of an accumulator and runs in index order, with a multiplication and
an addition per entry and no fused multiply-add: the same bits as the plain loop, which stands below for Numba switched off.

Scope: none; arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils, errors
from numba.extending import intrinsic

__all__ = ["LANES", "eight_dots", "plain_eight_dots"]

LANES = 8
"""Similarities computed side by side: eight independent sums hide the latency of one addition after the other."""

DOUBLE, FLOAT, PLACE = ir.DoubleType(), ir.FloatType(), ir.IntType(32)
ROWS = 4
"""Rows per accumulator: what fits one register of 256 bits."""

QUAD = ir.VectorType(DOUBLE, ROWS)
ZERO = ir.Constant(QUAD, [0.0] * ROWS)


def plain_eight_dots(vectors: Any, lanes: Any, other: int, out: Any) -> None:
    """out[j] = sum over k, in order, of vectors[lanes[j], k] * vectors[other, k], in float64."""
    for lane in range(LANES):
        total = np.float64(0.0)
        for k in range(vectors.shape[1]):
            total = total + np.float64(vectors[lanes[lane], k]) * np.float64(vectors[other, k])
        out[lane] = total


def _eight_dots(typing_context: Any, vectors: Any, lanes: Any, other: Any, out: Any) -> Any:
    """``plain_eight_dots`` for float64 or float32 rows in C order."""
    for array in (vectors, lanes, out):
        if array.layout != "C":
            raise errors.TypingError("eight_dots needs arrays in C order")
    return types.void(vectors, lanes, other, out), _emit


eight_dots: Any = plain_eight_dots if config.DISABLE_JIT else intrinsic(_eight_dots)


def _emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kinds = signature.args
    vectors, lanes, out = (context.make_array(kinds[i])(context, builder, args[i]) for i in (0, 1, 3))
    rows = _Rows(context, builder, vectors, FLOAT if kinds[0].dtype == types.float32 else DOUBLE)
    starts = [rows.start(builder.load(builder.gep(lanes.data, [rows.number(lane)]))) for lane in range(LANES)]
    other = rows.start(args[2])
    groups = [starts[first : first + ROWS] for first in range(0, LANES, ROWS)]
    sums = [cgutils.alloca_once_value(builder, ZERO) for _ in groups]
    even = builder.and_(rows.dimension, rows.number(-2))
    with cgutils.for_range_slice(builder, rows.number(0), even, rows.number(2), inc=True) as (k, _):
        pair = rows.pair(other, k)
        for group, total in zip(groups, sums, strict=True):
            for column, half in zip(rows.transposed(group, k), (0, 1), strict=True):
                rows.add(total, column, builder.shuffle_vector(pair, pair, _mask(half, half, half, half)))
    with builder.if_then(builder.icmp_signed("<", even, rows.dimension)):
        last = rows.gathered([other] * ROWS, even)
        for group, total in zip(groups, sums, strict=True):
            rows.add(total, rows.gathered(group, even), last)
    for place, total in enumerate(sums):
        target = builder.gep(out.data, [rows.number(ROWS * place)])
        builder.store(builder.load(total), builder.bitcast(target, QUAD.as_pointer()), align=8)
    return context.get_dummy_value()


class _Rows:
    """Loads from a table of rows, widened to float64."""

    def __init__(self, context: Any, builder: Any, table: Any, entry: Any) -> None:
        self.builder, self.entry, self.data = builder, entry, table.data
        self.context = context
        self.dimension = builder.extract_value(table.shape, 1)

    def number(self, value: int) -> Any:
        """A constant of the size of an index."""
        return self.context.get_constant(types.intp, value)

    def start(self, row: Any) -> Any:
        """Where ``row`` begins."""
        return self.builder.gep(self.data, [self.builder.mul(row, self.dimension)], inbounds=True)

    def pair(self, start: Any, k: Any) -> Any:
        """Entries k and k + 1 of a row."""
        place = self.builder.gep(start, [k], inbounds=True)
        two = self.builder.bitcast(place, ir.VectorType(self.entry, 2).as_pointer())
        loaded = self.builder.load(two, align=4 if self.entry is FLOAT else 8)
        return self.builder.fpext(loaded, ir.VectorType(DOUBLE, 2)) if self.entry is FLOAT else loaded

    def transposed(self, starts: Any, k: Any) -> tuple[Any, Any]:
        """Entry k of four rows, and entry k + 1 of them."""
        shuffle = self.builder.shuffle_vector
        a, b, c, d = (self.pair(start, k) for start in starts)
        outer, inner = shuffle(a, c, _mask(0, 1, 2, 3)), shuffle(b, d, _mask(0, 1, 2, 3))
        return shuffle(outer, inner, _mask(0, 4, 2, 6)), shuffle(outer, inner, _mask(1, 5, 3, 7))

    def gathered(self, starts: Any, k: Any) -> Any:
        """Entry k of four rows, one load each."""
        column = ZERO
        for place, start in enumerate(starts):
            one = self.builder.load(self.builder.gep(start, [k], inbounds=True))
            wide = self.builder.fpext(one, DOUBLE) if self.entry is FLOAT else one
            column = self.builder.insert_element(column, wide, ir.Constant(PLACE, place))
        return column

    def add(self, total: Any, column: Any, factor: Any) -> None:
        """total += column * factor, in two roundings."""
        builder = self.builder
        builder.store(builder.fadd(builder.load(total), builder.fmul(column, factor)), total)


def _mask(*places: int) -> Any:
    return ir.Constant(ir.VectorType(PLACE, len(places)), list(places))
