"""Random signs for the wild bootstrap, from a counter-based generator.

The sign of draw b at row i is a pure function of (seed, b, i): it does not depend on how many
draws or rows there are, nor on the order in which workers ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

CHUNK = 256
"""Rows per generator key; also the height of a strip of the Stein matrix."""

Signs = npt.NDArray[np.float32]


def independent_signs(seed: int, n: int, draws: int) -> Signs:
    """Independent ±1, (draws, n) in float32."""
    out = np.empty((draws, _padded(n)), np.float32)
    table = _byte_table()
    for start in range(0, n, CHUNK):
        raw = np.random.Philox(key=[seed, start // CHUNK]).random_raw(draws * (CHUNK // 64))
        signs = table[raw.astype("<u8", copy=False).view(np.uint8)].view(np.int8)
        out[:, start : start + CHUNK] = signs.reshape(draws, CHUNK)
    return out[:, :n]


def chained_signs(seed: int, n: int, draws: int, flip: float, starts: Sequence[int] = (0,)) -> Signs:
    """Markov chains of ±1 along the rows that change sign with probability `flip`, (draws, n).

    Those that begin in rows `starts`, the first of which is 0, are independent of each other.
    """
    chances = np.full(_padded(n), flip)
    chances[list(starts)] = 0.5
    out = np.empty((draws, _padded(n)), np.float32)
    last = np.zeros((draws, 1), bool)
    for start in range(0, n, CHUNK):
        generator = np.random.Generator(np.random.Philox(key=[seed, start // CHUNK]))
        uniform = generator.random((draws, CHUNK))
        changes = uniform < chances[start : start + CHUNK]
        negative = np.logical_xor.accumulate(np.hstack([last, changes]), axis=1)[:, 1:]
        last = negative[:, -1:]
        out[:, start : start + CHUNK] = np.where(negative, np.float32(-1), np.float32(1))
    return out[:, :n]


def permutation(seed: int, n: int) -> npt.NDArray[np.intp]:
    """A random order of the rows; its key differs from every key of the signs."""
    return np.random.Generator(np.random.Philox(key=[seed, 1 << 63])).permutation(n)


@lru_cache(maxsize=8)
def hadamard(order: int) -> npt.NDArray[np.float64]:
    """Sylvester's Hadamard matrix, its order a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _padded(n: int) -> int:
    return -(-n // CHUNK) * CHUNK


@lru_cache(maxsize=1)
def _byte_table() -> npt.NDArray[np.uint64]:
    """Eight signs for every byte, packed as int8 into one word: looking up words is fast."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return (1 - 2 * bits.astype(np.int8)).view(np.uint64)[:, 0]
