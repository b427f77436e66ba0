"""The one way through the upper triangle of a symmetric matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

import numpy as np

from goodstein.numerics.ranges import cut
from goodstein.types import Array, BoolArray, Single

Block = TypeVar("Block", Array, Single)


def upper_tiles(strips: Iterable[slice], n: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of tiles that cover the upper triangle of an n × n matrix, strip of rows by strip.

    >>> from goodstein.engine.triangle import upper_tiles
    >>> [(rows.start, cols.start, cols.stop) for rows, cols in upper_tiles([slice(0, 2), slice(2, 4)], 4, 2)]
    [(0, 0, 2), (0, 2, 4), (2, 2, 4)]
    """
    for rows in strips:
        for cols in cut(rows.start, n, width):
            yield rows, cols


def areas(strips: Iterable[slice], n: int) -> list[int]:
    """Entries of each strip of rows from its corner on the diagonal to the right: the work that it makes."""
    return [(rows.stop - rows.start) * (n - rows.start) for rows in strips]


def above_diagonal(block: Block, rows: slice, cols: slice) -> Block:
    """H[rows, cols], or several, with zeros on and below the diagonal of H, which are written into them."""
    if cols.start < rows.stop:
        height, width = block.shape[-2:]
        np.copyto(block, 0.0, where=_below(height, width, rows.start - cols.start))
    return block


@lru_cache(maxsize=8)
def _below(height: int, width: int, down: int) -> BoolArray:
    """Which entries of a block lie on or below a diagonal so many rows above that of the block."""
    return np.tri(height, width, down, dtype=bool)
