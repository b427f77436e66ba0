"""Random signs for the wild bootstrap, from a counter-based generator.

The sign of draw b at row i is a pure function of (seed, b, i): it does not depend on how many
draws or rows there are, nor on the order in which workers ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 256
"""Rows per generator key; also the height of a strip of the Stein matrix."""

Signs = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]
"""The same in a quarter of the memory."""


def independent_signs(
    seed: int, n: int, draws: int, first: int = 0, kind: type[Any] = np.float32
) -> npt.NDArray[Any]:
    """Independent ±1 of the rows from `first` to n, (draws, n − first)."""
    begin = first // CHUNK * CHUNK
    out = np.empty((draws, _padded(n) - begin), kind)
    table = _byte_table()
    for start in range(begin, n, CHUNK):
        raw = np.random.Philox(key=[seed, start // CHUNK]).random_raw(draws * (CHUNK // 64))
        signs = table[raw.astype("<u8", copy=False).view(np.uint8)].view(np.int8)
        out[:, start - begin : start - begin + CHUNK] = signs.reshape(draws, CHUNK)
    return out[:, first - begin : n - begin]


def chained_signs(
    seed: int,
    n: int,
    draws: int,
    flip: float,
    starts: Sequence[int] = (0,),
    first: int = 0,
    kind: type[Any] = np.float32,
) -> npt.NDArray[Any]:
    """Markov chains of ±1 along the rows that change sign with probability `flip`, (draws, n − first).

    Those that begin in rows `starts`, the first of which is 0, are independent of each other. From a `first`
    row on, a multiple of 256, they are those of all rows times their sign in the row before.
    """
    chances = np.full(_padded(n) - first, flip)
    begins = np.asarray(starts)
    chances[begins[(begins >= first) & (begins < n)] - first] = 0.5
    out = np.empty((draws, _padded(n) - first), kind)
    last = np.zeros((draws, 1), bool)
    for start in range(first, n, CHUNK):
        generator = np.random.Generator(np.random.Philox(key=[seed, start // CHUNK]))
        uniform = generator.random((draws, CHUNK))
        place = slice(start - first, start - first + CHUNK)
        changes = uniform < chances[place]
        negative = np.logical_xor.accumulate(np.hstack([last, changes]), axis=1)[:, 1:]
        last = negative[:, -1:]
        out[:, place] = np.where(negative, kind(-1), kind(1))
    return out[:, : n - first]


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
