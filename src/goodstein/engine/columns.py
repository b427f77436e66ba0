r"""Sums down the columns of a matrix, with random signs of its rows, block by block.

For a column j the sum is Σ_i H_ij and a draw of it Σ_i ε_i H_ij, both held against s_j = √H_jj: by the draws
of max_j |Σ_i ε_i H_ij|/s_j a band over all columns is simultaneous. Memory is draws × rows for the signs and
draws × 256 for the columns, never rows × columns.

The spread of a column's own draws is no good measure. Where few rows have a large entry it is small whenever
these happen to be missing, and bands that follow it reject true models in 10 to 40 of 100 samples of 30 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from goodstein.engine.executors import Workers, run
from goodstein.engine.reduce import Form
from goodstein.engine.schemes import IndependentSigns
from goodstein.engine.signs import CHUNK
from goodstein.numerics.ranges import cut
from goodstein.types import Array

RESOLVED = 1e-8
"""Roots of the diagonal below this share of the largest are rounding errors."""


class Columns(NamedTuple):
    """Sums of the columns and their scales s, (m,), draws of the largest |sum|/s, and the spread of sum/s."""

    sums: Array
    scales: Array
    largest: Array
    spread: float

    @property
    def ratios(self) -> Array:
        """The sums over their scales."""
        return _ratio(self.sums, self.scales)


def column_sums(
    form: Form, rows: int, columns: slice, weights: IndependentSigns, *, workers: Workers = None
) -> Columns:
    """Sums over the first rows of a form in some of its columns, the diagonal left out."""
    scales = np.sqrt(form.diagonal())
    scales = np.where(scales > RESOLVED * scales.max(), scales, 0.0)
    task = _ColumnTask(form, rows, weights, scales)
    found = run(task, cut(columns.start, columns.stop, CHUNK), workers, size=rows)
    sums = np.concatenate([part[0] for part in found])
    largest = np.max([part[1] for part in found], axis=0)
    spread = np.sqrt(np.concatenate([part[2] for part in found]).mean())
    return Columns(sums, scales[columns], largest, float(spread))


@dataclass(frozen=True)
class _ColumnTask:
    form: Form
    rows: int
    weights: IndependentSigns
    scales: Array

    def __call__(self, cols: slice) -> tuple[Array, Array, Array]:
        """Sums of the columns, draws of the largest ratio, and mean squares of the ratios, (columns,)."""
        width = cols.stop - cols.start
        sums, draws = np.zeros(width), np.zeros((self.weights.count, width))
        for rows in cut(0, self.rows, CHUNK):
            block = self.form.block(rows, cols)
            both = np.arange(max(rows.start, cols.start), min(rows.stop, cols.stop))
            block[both - rows.start, both - cols.start] = 0.0
            sums += block.sum(axis=0)
            draws += self.weights.numbers(rows) @ block
        ratios = _ratio(draws, self.scales[cols])
        return sums, np.abs(ratios).max(axis=1), np.mean(ratios**2, axis=0)


def _ratio(values: Array, scales: Array) -> Array:
    """Values over their scales, zero where there is none: such a column is zero itself."""
    return np.divide(values, scales, out=np.zeros_like(values), where=scales > 0.0)
