"""Random signs for the wild bootstrap, from a counter-based generator.

The sign of draw b at row i is a pure function of (seed, b, i): it does not depend on how many
draws or rows there are, nor on the order in which workers ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 256
"""Rows per generator key; also the height of a strip of the Stein matrix."""

Signs = npt.NDArray[np.float32]
Chunks = Iterator[npt.NDArray[Any]]
"""Signs of a chunk of rows after another, (draws, CHUNK), as small numbers."""


def independent_signs(seed: int, n: int, draws: int, first: int = 0) -> Signs:
    """Independent ±1 of the rows from `first` to n, (draws, n − first)."""
    begin = first // CHUNK * CHUNK
    return _held(independent_chunks(seed, n, draws, begin), draws, n - begin)[:, first - begin :]


def independent_chunks(seed: int, n: int, draws: int, begin: int = 0) -> Chunks:
    """The same, of the rows from a multiple of 256 on."""
    table = _byte_table()
    for start in range(begin, n, CHUNK):
        raw = np.random.Philox(key=[seed, start // CHUNK]).random_raw(draws * (CHUNK // 64))
        signs = table[raw.astype("<u8", copy=False).view(np.uint8)].view(np.int8)
        yield signs.reshape(draws, CHUNK)


def chained_signs(
    seed: int,
    n: int,
    draws: int,
    flip: float,
    starts: Sequence[int] = (0,),
    first: int = 0,
) -> Signs:
    """Markov chains of ±1 along the rows that change sign with probability `flip`, (draws, n − first).

    Those that begin in rows `starts`, the first of which is 0, are independent of each other. From a `first`
    row on, a multiple of 256, they are those of all rows times their sign in the row before.
    """
    return _held(chained_chunks(seed, n, draws, flip, starts, first), draws, n - first)


def chained_chunks(
    seed: int, n: int, draws: int, flip: float, starts: Sequence[int] = (0,), first: int = 0
) -> Chunks:
    """The same, a chunk of rows after another."""
    chances = np.full(_padded(n) - first, flip)
    begins = np.asarray(starts)
    chances[begins[(begins >= first) & (begins < n)] - first] = 0.5
    last = np.zeros((draws, 1), bool)
    for start in range(first, n, CHUNK):
        generator = np.random.Generator(np.random.Philox(key=[seed, start // CHUNK]))
        uniform = generator.random((draws, CHUNK))
        place = slice(start - first, start - first + CHUNK)
        changes = uniform < chances[place]
        negative = np.logical_xor.accumulate(np.hstack([last, changes]), axis=1)[:, 1:]
        last = negative[:, -1:]
        yield np.where(negative, np.int8(-1), np.int8(1))


def _held(chunks: Chunks, draws: int, n: int) -> Signs:
    """Signs of n rows as numbers, (draws, n)."""
    out = np.empty((draws, _padded(n)), np.float32)
    for start, signs in zip(range(0, n, CHUNK), chunks, strict=True):
        out[:, start : start + CHUNK] = signs
    return out[:, :n]


class Bits:
    """Signs of n rows, (draws, n), a bit each, eight draws to a byte: those of any rows are soon unpacked."""

    def __init__(self, chunks: Chunks, draws: int, n: int) -> None:
        self.draws = draws
        self._bits = np.empty((-(-draws // 8), _padded(n)), np.uint8)
        for start, signs in zip(range(0, n, CHUNK), chunks, strict=True):
            self._bits[:, start : start + CHUNK] = np.packbits(signs < 0, axis=0)

    def numbers(self, rows: Any, out: Signs | None = None) -> Signs:
        """Those of some rows as numbers."""
        bits = np.unpackbits(self._bits[:, rows], axis=0, count=self.draws)
        found: Signs = np.multiply(bits, np.float32(-2.0), out=out, dtype=np.float32)
        found += np.float32(1.0)
        return found


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
