"""Matrices that are made block by block: what every operator and kernel leave behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.engine.triangle import upper_tiles
from goodstein.errors import ScoreError, describe_rows
from goodstein.numerics.ranges import cut
from goodstein.types import Array

STEP = 256
"""Rows and columns of the blocks of which a whole matrix is made."""


class BlockForm(ABC):
    """A symmetric positive semidefinite matrix that is made block by block: all that the engine needs.

    An operator whose Stein kernel is not of the form of :class:`goodstein.stein.features.SteinForm` derives
    its own class from this one, with :attr:`n`, :meth:`block` and :meth:`diagonal`.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of observations."""

    @abstractmethod
    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; the caller may overwrite it, and it may be scratch of this thread."""

    @abstractmethod
    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""

    def take(self, index: Any) -> BlockForm:
        """The form of some observations, in the given order.

        By default the whole matrix is held, n²; a form for many observations has its own way.
        """
        return DenseForm(self.matrix()).take(index)

    def matrix(self) -> Array:
        """The whole matrix, (n, n)."""
        out = np.empty((self.n, self.n))
        for rows, cols in upper_tiles(cut(0, self.n, STEP), self.n, STEP):
            block = self.block(rows, cols)
            out[rows, cols] = block
            out[cols, rows] = block.T
        np.fill_diagonal(out, self.diagonal())
        return out

    def mean(self) -> float:
        """The mean over all entries, diagonal included."""
        return float(self.matrix().mean())


def finite_diagonal(form: BlockForm, own: int | None = None) -> Array:
    """h(x_i, x_i), (n,); raises where it overflows. Observations beyond `own` are reference points."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = form.diagonal()
    broken = ~np.isfinite(diagonal)
    if broken.any():
        rows = broken[:own]
        raise ScoreError(
            f"h(x, x) is not finite at {describe_rows(rows) if rows.any() else 'a reference point'}, because "
            "the score or the operator's weight is too large to be squared.",
            rows=rows,
            remedy="Check the score, or rescale the data and the model.",
        )
    return diagonal


class DenseForm(BlockForm):
    """A matrix that is small enough to be held, (n, n)."""

    def __init__(self, values: Array) -> None:
        self._values = values

    @property
    def n(self) -> int:
        return len(self._values)

    def take(self, index: Any) -> DenseForm:
        return DenseForm(self._values[np.ix_(index, index)])

    def block(self, rows: slice, cols: slice) -> Array:
        return self._values[rows, cols].copy()

    def diagonal(self) -> Array:
        return self._values.diagonal().copy()


class LowRankForm(BlockForm):
    """The matrix τ τᵀ of finitely many features, of which only τ, (n, c), is held."""

    def __init__(self, tau: Array) -> None:
        self.tau = tau

    @property
    def n(self) -> int:
        return len(self.tau)

    def take(self, index: Any) -> LowRankForm:
        return LowRankForm(self.tau[index])

    def block(self, rows: slice, cols: slice) -> Array:
        return self.tau[rows] @ self.tau[cols].T

    def diagonal(self) -> Array:
        """‖τ(x_i)‖², (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.tau, self.tau))

    def mean(self) -> float:
        """‖mean τ‖², in linear time."""
        total = self.tau.mean(axis=0)
        return float(total @ total)

    @cached_property
    def statistic(self) -> float:
        """U = n/(n − 1)·‖mean τ‖² − mean‖τ‖²/(n − 1), in linear time."""
        return float((self.n * self.mean() - self.diagonal().mean()) / (self.n - 1))
