"""Some pairs of rows only: those that lie close to each other in a given order.

With pairs i < j ≤ i + R in that order the statistic is the mean of H_ij over them, and a draw that of ε_i ε_j
H_ij over the same pairs. Rows are taken in parts, with the R rows that follow, so that memory and time are
linear in n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import Workers, run
from goodstein.engine.reduce import Alone, Form
from goodstein.engine.schemes import IndependentSigns
from goodstein.engine.signs import CHUNK
from goodstein.numerics.ranges import cut
from goodstein.types import Array

PART, WIDTH = 8 * CHUNK, 8 * CHUNK
"""Rows that are taken together, and columns that are held at a time."""


def band_forms(
    form: Form, order: npt.NDArray[np.intp], reach: int, weights: IndependentSigns, *, workers: Workers = None
) -> tuple[float, Array]:
    """The mean of H over pairs of rows at most `reach` apart in an order, and its draws."""
    n, alone = form.n, Alone(form)
    reach = min(reach, n - 1)
    task = _Band(form, order, reach, weights, alone.scales[0], np.float64 if alone.wide else np.float32)
    found = run(task, cut(0, n, PART), workers, size=n)
    pairs = n * reach - reach * (reach + 1) // 2
    total = sum(part[0] for part in found)
    draws = np.sum([part[1] for part in found], axis=0) * alone.scales[0]
    return float(total) / pairs, np.asarray(draws / pairs)


@dataclass(frozen=True)
class _Band:
    form: Form
    order: npt.NDArray[np.intp]
    reach: int
    weights: IndependentSigns
    scale: float
    precision: type[np.floating[Any]]

    def __call__(self, part: slice) -> tuple[float, Array]:
        """The part's share of the sum over pairs, and of every draw."""
        last = min(part.stop + self.reach, len(self.order))
        index = self.order[part.start : last]
        form, signs = self.form.take(index), self._signs(slice(part.start, last), index)
        total, draws = 0.0, np.zeros(self.weights.count)
        # A strip no higher than the band is wide computes at most twice as much as it needs.
        height = min(CHUNK, max(CHUNK // 8, self.reach))
        for rows in cut(0, part.stop - part.start, height):
            for cols in cut(rows.start, min(rows.stop + self.reach, len(index)), WIDTH):
                block = np.triu(form.block(rows, cols), rows.start - cols.start + 1)
                block = np.tril(block, rows.start - cols.start + self.reach)
                total += float(block.sum())
                scaled = (block / self.scale).astype(self.precision)
                product = signs[:, cols] @ scaled.T
                draws += np.einsum("bi,bi->b", signs[:, rows], product)
        return total, draws

    def _signs(self, places: slice, index: npt.NDArray[np.intp]) -> Any:
        """Signs at places in the order: chains of signs go along the rows, others have no order."""
        weights = self.weights
        return weights.some_signs(places) if weights.flip == 0.5 else weights.numbers(index)
