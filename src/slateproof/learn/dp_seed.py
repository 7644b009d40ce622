"""The random streams of a private run, each derived from every bit of the secret seed.

``jax.random.key(seed)`` reads 32 bits of a seed and gives them away again: first parameters drawn from it, which a released model
still shows where it has hardly moved, would tell those bits to whoever tries all of them. So each stream has a key of its own,
a BLAKE2b digest of the whole seed and the stream's name; no stream says anything about another, or about the seed.

Scope: none by itself; the claim of a run needs a seed that was drawn at random and is kept secret.
"""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["generator", "key"]


def key(seed: int, stream: str) -> jax.Array:
    """A threefry key of 64 bits."""
    words = np.frombuffer(_digest(seed, stream, 8), ">u4").astype(np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")


def generator(seed: int, stream: str) -> np.random.Generator:
    """A NumPy generator, seeded with 256 bits."""
    return np.random.default_rng(int.from_bytes(_digest(seed, stream, 32), "big"))


def _digest(seed: int, stream: str, size: int) -> bytes:
    return hashlib.blake2b(f"{stream}\n{seed}".encode(), digest_size=size, person=b"slateproof dp 1").digest()
