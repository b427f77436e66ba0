"""A matrix ττᵀ with a thin factor τ, (n, c), never formed: the statistic and all draws in linear time.

Σ_{i≠j} ε_i ε_j τ_i·τ_j = ‖Σ_i ε_i τ_i‖² − Σ_i ‖τ_i‖², and the sums have c entries for each draw. Rows of τ
are made when they are asked for and not kept, so that memory is draws × c for each part of the rows, whatever
their number. Parts follow from the number of rows alone, and so do the bits of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import Workers, run
from goodstein.engine.signs import CHUNK, Signs
from goodstein.numerics.ranges import cut
from goodstein.types import Array

STEP = 4 * CHUNK
"""Rows of τ that are held at a time."""

Rows: TypeAlias = Callable[[Any], Array]
"""τ[index], (rows, c), from an array of indices or a slice."""


class Scheme(Protocol):
    """What is asked of a scheme of signs."""

    @property
    def relative(self) -> bool:
        """Whether signs of some rows are multiples of the last one before."""

    def order(self) -> npt.NDArray[np.intp] | None:
        """The order in which the rows are visited; None for their own."""

    def parts(self) -> list[slice]:
        """Parts of the rows."""

    def some_signs(self, rows: slice) -> Signs:
        """Signs of rows that begin with a part or a whole number of steps after it."""

    def joined(self, sums: Sequence[Array]) -> Array:
        """Σ_i ε_i τ_i, (draws, c), from the sums over parts."""


def thin_forms(rows_of: Rows, n: int, scheme: Scheme | None, *, workers: Workers) -> tuple[float, Array]:
    """U of the form ττᵀ and its draws; without a scheme of signs the statistic alone."""
    parts = cut(0, n, 16 * STEP) if scheme is None else scheme.parts()
    task = _Part(rows_of, scheme, None if scheme is None else scheme.order())
    found = run(task, parts, workers, size=n, costs=[part.stop - part.start for part in parts])
    total, trace = np.sum([part[0] for part in found], axis=0), sum(part[1] for part in found)
    pairs = n * (n - 1)
    statistic = (float(total @ total) - trace) / pairs
    if scheme is None:
        return statistic, np.empty(0)
    sums, sign = [], np.ones(1)
    found.reverse()
    while found:  # each goes when it has been used: they are the largest arrays here
        _, _, share, end = found.pop()
        sums.append(sign[:, None] * share if scheme.relative else share)
        sign = sign * end
    draws = scheme.joined(sums)
    return statistic, np.asarray((np.einsum("bc,bc->b", draws, draws) - trace) / pairs)


@dataclass(frozen=True)
class _Part:
    rows_of: Rows
    scheme: Scheme | None
    order: npt.NDArray[np.intp] | None

    def __call__(self, part: slice) -> tuple[Array, float, Array, Array]:
        """Σ τ_i, Σ ‖τ_i‖², Σ ε_i τ_i of every vector of signs, and the signs with which the part ends."""
        total, trace, sums, sign = np.zeros(1), 0.0, np.zeros((1, 1)), np.ones(1)
        # Not in steps of equal length: chains of signs begin with whole chunks.
        for start in range(part.start, part.stop, STEP):
            some = slice(start, min(start + STEP, part.stop))
            tau = self.rows_of(some if self.order is None else self.order[some])
            total = total + tau.sum(axis=0)
            trace += float(np.einsum("ij,ij->", tau, tau))
            if self.scheme is not None:
                signs = self.scheme.some_signs(some).astype(np.float64)
                share = signs @ tau
                if self.scheme.relative:
                    share *= sign[:, None]
                    sign = sign * signs[:, -1]
                sums = sums + share
        return total, trace, sums, sign
