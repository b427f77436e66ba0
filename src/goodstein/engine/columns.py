r"""Sums down the columns of a matrix, with random signs of its rows, block by block.

For a column j the sum is Σ_i H_ij and a draw of it Σ_i ε_i H_ij. Each column is held against its own spread
s_j, the root mean square of its draws, and all of them at once against the draws of max_j |Σ_i ε_i H_ij|/s_j,
by which a band over all columns is simultaneous. Memory is draws × rows for the signs and draws × 256 for the
columns, never rows × columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from goodstein.engine.executors import Workers, run
from goodstein.engine.reduce import Form, IndependentSigns
from goodstein.engine.signs import CHUNK
from goodstein.numerics.ranges import cut
from goodstein.types import Array


class Columns(NamedTuple):
    """The sum of every column and the spread of its draws, (m,), and the largest ratio in each draw."""

    sums: Array
    spreads: Array
    largest: Array


def column_sums(
    form: Form, rows: int, columns: slice, weights: IndependentSigns, *, workers: Workers = None
) -> Columns:
    """Sums over the first rows of a form in some of its columns, the diagonal left out."""
    tiles = cut(columns.start, columns.stop, CHUNK)
    found: Sequence[Columns] = run(_ColumnTask(form, rows, weights), tiles, workers, size=rows)
    sums, spreads = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    return Columns(sums, spreads, np.max([part.largest for part in found], axis=0))


@dataclass(frozen=True)
class _ColumnTask:
    form: Form
    rows: int
    weights: IndependentSigns

    def __call__(self, cols: slice) -> Columns:
        width = cols.stop - cols.start
        sums, draws = np.zeros(width), np.zeros((self.weights.count, width))
        for rows in cut(0, self.rows, CHUNK):
            block = self.form.block(rows, cols)
            both = np.arange(max(rows.start, cols.start), min(rows.stop, cols.stop))
            block[both - rows.start, both - cols.start] = 0.0
            sums += block.sum(axis=0)
            draws += self.weights.signs[:, rows] @ block
        spreads = np.sqrt(np.mean(draws**2, axis=0))
        return Columns(sums, spreads, np.abs(ratio(draws, spreads)).max(axis=1))


def ratio(values: Array, spreads: Array) -> Array:
    """Values over their spreads, zero where there is none: such a column is zero itself."""
    return np.divide(values, spreads, out=np.zeros_like(values), where=spreads > 0.0)
