"""Continual counting as a factorisation of the prefix-sum matrix: A = decoder · encoder.

A mechanism releases A x + decoder · z with Gaussian z. Its privacy is that of encoder · x + z, so its sensitivity is the most that
one protected unit can move encoder · x, and its error at tick t is the norm of row t of the decoder.

The square root is also in jax-privacy (``matrix_factorization.toeplitz``), and a test compares the two. This one is NumPy, because
``import slateproof`` must not need JAX, and a stream of a few hundred ticks needs no compiler.

Scope: none; linear algebra. ``StateStream`` makes the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.privacy.events import whole
from slateproof.privacy.ledger import UNITS
from slateproof.types.columns import Floats, frozen

__all__ = ["Factorisation"]

_ROUNDING = 1e-9  # for the product of the factors; that of the square root is exact to about 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Factorisation:
    """``decoder`` (T x m) and ``encoder`` (m x T), nonnegative, with decoder · encoder = lower triangle of ones.

    Both are checked, because the privacy of a stream rests on it. They give the order in time as well: an output at tick t uses
    no sum that reads a later tick, or the product would not be zero above the diagonal. So a mechanism can run online, and
    its guarantee holds for a stream that reacts to what was released (Denisov et al. 2022, arXiv 2202.08312).
    """

    name: str
    decoder: Floats
    encoder: Floats

    def __post_init__(self) -> None:
        for field in ("decoder", "encoder"):  # copies: what was checked cannot be written to afterwards
            object.__setattr__(self, field, frozen(np.array(getattr(self, field), np.float64)))
        decoder, encoder = self.decoder, self.encoder
        if decoder.ndim != 2 or decoder.shape != encoder.shape[::-1] or not decoder.size:
            raise InvalidInput("decoder", "must be T x m beside an encoder of m x T", (decoder.shape, encoder.shape))
        if not (np.all(decoder >= 0.0) and np.all(encoder >= 0.0)):
            raise InvalidInput("decoder", "and encoder must not be negative")
        product = decoder @ encoder
        if np.triu(product, 1).any() or np.abs(product - np.tri(self.ticks)).max() > _ROUNDING:
            raise InvalidInput("decoder", "times encoder must be the lower triangle of ones")

    @classmethod
    def tree(cls, ticks: int) -> Factorisation:
        """The binary tree: tick t sums the dyadic interval that ends at it; a prefix adds up to ⌊log2 T⌋ + 1 of them.

        Sums over right halves, which no prefix needs, are not made.
        """
        ticks = whole(ticks, "ticks")
        encoder, decoder = np.zeros((ticks, ticks)), np.zeros((ticks, ticks))
        for end in range(1, ticks + 1):
            encoder[end - 1, end - (end & -end) : end] = 1.0  # end & -end: the lowest bit, the length of the interval
            rest = end
            while rest:
                decoder[end - 1, rest - 1] = 1.0
                rest -= rest & -rest
        return cls("tree", frozen(decoder), frozen(encoder))

    @classmethod
    def square_root(cls, ticks: int) -> Factorisation:
        """decoder = encoder = A^(1/2): lower-triangular Toeplitz with c_0 = 1, c_k = c_(k-1) (1 - 1/(2k)).

        The coefficients are those of (1 - x)^(-1/2), whose square 1/(1 - x) is A (Fichtenberger, Henzinger, Upadhyay 2023).
        """
        ticks = whole(ticks, "ticks")
        coefficients = np.cumprod(np.r_[1.0, 1.0 - 0.5 / np.arange(1, ticks)])
        lag = np.subtract.outer(np.arange(ticks), np.arange(ticks))
        root = frozen(np.where(lag >= 0, coefficients[np.maximum(lag, 0)], 0.0))
        return cls("square-root", root, root)

    @property
    def ticks(self) -> int:
        """T."""
        return self.decoder.shape[0]

    def sensitivity(self, unit: str) -> float:
        """The most that one unit moves encoder · x in L2 norm, where x_t = (right, wrong) >= 0 with right + wrong <= 1.

        A round is one tick, so it moves by column t times a vector of norm at most 1: the largest column norm. A user is a
        whole stream, and ‖Er‖² + ‖Ew‖² <= ‖E(r + w)‖² <= ‖E1‖², because nothing is negative: the norm of the row sums.
        """
        if unit not in UNITS:
            raise InvalidInput("unit", f"must be one of {', '.join(UNITS)}", unit)
        if unit == "user":
            return float(np.linalg.norm(self.encoder.sum(axis=1)))
        return float(np.linalg.norm(self.encoder, axis=0).max())

    def deviations(self, unit: str) -> Floats:
        """Standard deviation of the noise in each count after tick 1 to T, per noise multiplier."""
        out: Floats = np.linalg.norm(self.decoder, axis=1) * self.sensitivity(unit)
        return out
