"""Features that look at two points of each observation, such as a duration and the entry before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.kernels import Kernel
from goodstein.kernels.frames import Located
from goodstein.stein.features import AnchoredFeatures, SteinFeatures, SteinForm
from goodstein.stein.forms import BlockForm
from goodstein.types import Array


@dataclass(frozen=True)
class EnteredFeatures(Located):
    """ξ_i f + ζ_i f: two functionals of each observation, both (y, a, G) as in :class:`SteinFeatures`.

    :class:`AnchoredFeatures` are those whose second point is the same for all.
    """

    end: SteinFeatures
    start: SteinFeatures

    def __len__(self) -> int:
        return len(self.end)

    @property
    def points(self) -> Array:
        """Those of the first functionals."""
        return self.end.points

    def joined(self, others: Sequence[EnteredFeatures | AnchoredFeatures]) -> EnteredFeatures:
        """These and the others, one after another; among some of them all points may be one."""
        same = [self._alike(other) for other in others]
        end = self.end.joined([other.end for other in same])
        return replace(self, end=end, start=self.start.joined([other.start for other in same]))

    def _alike(self, other: EnteredFeatures | AnchoredFeatures) -> EnteredFeatures:
        if isinstance(other, EnteredFeatures):
            return other
        n, value = len(other), np.full((len(other), 1), other.anchor_value)
        start = SteinFeatures(np.tile(np.asarray(other.anchor), (n, 1)), value, np.zeros(n))
        return EnteredFeatures(SteinFeatures(other.points, other.value, other.weight), start)

    def form(self, kernel: Kernel) -> EnteredForm:
        """The Stein matrix under a fitted kernel."""
        return EnteredForm(SteinForm(self.end.joined([self.start]), kernel))


class EnteredForm(BlockForm):
    """Σ over both functionals of i and of j, from the form of all 2n of them."""

    def __init__(self, both: BlockForm) -> None:
        self._both = both

    @property
    def n(self) -> int:
        return self._both.n // 2

    def take(self, index: Any) -> EnteredForm:
        rows = np.asarray(index)
        return EnteredForm(self._both.take(np.concatenate([rows, rows + self.n])))

    def block(self, rows: slice, cols: slice) -> Array:
        total = np.zeros((rows.stop - rows.start, cols.stop - cols.start))
        for one in (rows, _second(rows, self.n)):
            for other in (cols, _second(cols, self.n)):
                total += self._both.block(one, other)
        return total

    def diagonal(self) -> Array:
        own = self._both.diagonal()
        n = self.n
        cross = np.empty(n)
        for first in range(0, n, EDGE):
            rows = slice(first, min(first + EDGE, n))
            cross[rows] = self._both.block(rows, _second(rows, n)).diagonal()
        return np.asarray(own[:n] + own[n:] + 2.0 * cross)


EDGE = 64
"""Rows of the blocks whose diagonals alone are needed."""


def _second(rows: slice, n: int) -> slice:
    return slice(rows.start + n, rows.stop + n)
