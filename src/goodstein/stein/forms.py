"""Matrices that are made block by block: what every operator and kernel leave behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import one_blas_thread
from goodstein.engine.triangle import upper_tiles
from goodstein.engine.workspace import scratch
from goodstein.errors import ScoreError, describe_rows
from goodstein.kernels.base import Kernel
from goodstein.lazy import cached_property
from goodstein.numerics.distances import Placed
from goodstein.numerics.ranges import cut
from goodstein.types import Array

Index: TypeAlias = npt.NDArray[np.intp]

STEP = 256
"""Rows and columns of the blocks of which a whole matrix is made."""


class Term(NamedTuple):
    """A multiple of f ∘ (L Rᵀ): f a function of the distances of a tile, L and R, (n, c), of all points.

    Without R, L is the tile of a matrix itself. Of several samples each may have its own multiple.
    """

    function: Array
    left: Array
    right: Array | None
    multiple: float | Array = 1.0


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

    def columns(self, index: Index) -> Array:
        """H[:, index], (n, k), for a few observations in ascending order."""
        runs = np.split(index, np.flatnonzero(np.diff(index) != 1) + 1)
        # A block may be scratch that the next one overwrites.
        blocks = (self.block(slice(0, self.n), slice(run[0], run[-1] + 1)).copy() for run in runs)
        return np.hstack(list(blocks))

    def weighted(self, weights: Array) -> BlockForm:
        """The form of w_i ξ_i, which is w_i w_j H_ij."""
        return WeightedForm(self, weights)

    def matrix(self) -> Array:
        """The whole matrix, (n, n)."""
        out = np.empty((self.n, self.n))
        with one_blas_thread():
            for rows, cols in upper_tiles(cut(0, self.n, STEP), self.n, STEP):
                block = self.block(rows, cols)
                out[rows, cols] = block
                out[cols, rows] = block.T
            np.fill_diagonal(out, self.diagonal())
        return out

    def mean(self) -> float:
        """The mean over all entries, diagonal included."""
        return float(self.matrix().mean())

    @property
    def vanishes(self) -> bool:
        """Whether it is zero; raises where its diagonal is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            trace = float(self.diagonal().sum())
        # Nothing on the diagonal is negative.
        return not 0.0 < trace < np.inf and not finite_diagonal(self).any()

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        """A form whose sum over i ≠ j, times a factor and with a number added, is that of this one."""
        return self, 1.0, 0.0

    @property
    def factor(self) -> Array | None:
        """τ, (n, c), with H = ττᵀ, where there is one; None elsewhere."""
        return None

    def redrawn(self, count: int, rng: np.random.Generator) -> Array | None:
        """Draws of U under the model, (count,), given what the form conditions on, exact at every n.

        For observations that are independent; None where nothing is known but what random signs tell.
        """
        return None

    @property
    def thin_points(self) -> Placed | None:
        """The points whose distances :meth:`terms` are made of; None where there are no such terms."""
        return None

    def terms(self, distances: Distances) -> Iterable[Term]:
        """Functions of the distances with thin factors; see :mod:`goodstein.stein.totals`."""
        raise NotImplementedError


class Distances:
    """Squared distances of one tile, and functions of them, which forms share and must not change.

    The rows of a form may be those of `count` samples, one after another; the tile is that of rows and cols
    in each of some `samples`, (samples, rows, cols). On the diagonal, where a point meets itself, functions
    vanish. They are scratch of this thread, as the distances are, until the next tile.
    """

    def __init__(self, placed: Placed, rows: slice, cols: slice, samples: slice, count: int = 1) -> None:
        self.rows, self.cols, self.samples, self.count = rows, cols, samples, count
        left, right = self.at(placed.left, rows), self.at(placed.right, cols).swapaxes(1, 2)
        shape = (len(left), left.shape[1], right.shape[2])
        rho = np.matmul(left, right, out=scratch("distances", shape))
        # Rounding may leave a hair below zero, where a profile need not be defined.
        self.rho: Array = np.maximum(rho, 0.0, out=rho)
        self._made = 0
        self._functions: dict[Any, list[tuple[Array, Sequence[float]]]] = {}
        self._kept: dict[int, Any] = {}

    def at(self, values: Array, rows: slice) -> Array:
        """Some rows, (samples, rows, …), of values at all points, (count·n, …)."""
        return values.reshape(self.count, -1, *values.shape[1:])[self.samples, rows]

    def functions(self, kernel: Kernel, order: int = 2) -> list[tuple[Array, Sequence[float]]]:
        """The functions of a kernel in double precision, each with the multiples that φ, φ′, … take of it."""
        # A kernel of a user's own need not be comparable.
        key = (kernel if kernel.shares_parts else id(kernel), order)
        if key not in self._functions:
            self._functions[key] = [
                (self._off_diagonal(function), multiples)
                for function, multiples in kernel.functions(self.rho, order)
            ]
        return self._functions[key]

    def looked_up(self, table: Array) -> Array:
        """A function of distances that are whole numbers, from its values at 0, 1, …."""
        key = table.tobytes()
        if key not in self._functions:
            whole = self.kept(self, lambda: self.rho.astype(np.intp))
            out = np.take(table, whole, out=self._scratch(), mode="clip")
            self._functions[key] = [(self._without_diagonal(out), (1.0,))]
        return self._functions[key][0][0]

    def kept(self, owner: object, make: Callable[[], Any]) -> Any:
        """What else is made of this tile, once for each owner."""
        if id(owner) not in self._kept:
            self._kept[id(owner)] = make()
        return self._kept[id(owner)]

    def _off_diagonal(self, function: Any) -> Array:
        out = self._scratch()
        np.copyto(out, function)
        return self._without_diagonal(out)

    def _scratch(self) -> Array:
        self._made += 1
        return scratch(f"distances{self._made}", self.rho.shape)

    def _without_diagonal(self, out: Array) -> Array:
        if self.rows == self.cols:
            out.reshape(len(out), -1)[:, :: out.shape[2] + 1] = 0.0
        return out


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


class WeightedForm(BlockForm):
    """w_i w_j H_ij, with weights of the observations, (n,)."""

    def __init__(self, inner: BlockForm, weights: Array) -> None:
        self._inner, self._weights = inner, weights

    @property
    def n(self) -> int:
        return self._inner.n

    def take(self, index: Any) -> WeightedForm:
        return WeightedForm(self._inner.take(index), self._weights[index])

    def block(self, rows: slice, cols: slice) -> Array:
        block = self._inner.block(rows, cols)
        block *= self._weights[rows, None]
        block *= self._weights[cols]
        return block

    def diagonal(self) -> Array:
        return np.asarray(self._weights**2 * self._inner.diagonal())

    @property
    def factor(self) -> Array | None:
        tau = self._inner.factor
        return None if tau is None else self._weights[:, None] * tau


class LowRankForm(BlockForm):
    """The matrix τ τᵀ of finitely many features, of which only τ, (n, c), is held."""

    def __init__(self, tau: Array) -> None:
        self.tau = tau

    @property
    def n(self) -> int:
        return len(self.tau)

    @property
    def factor(self) -> Array:
        return self.tau

    def take(self, index: Any) -> LowRankForm:
        return LowRankForm(self.tau[index])

    def block(self, rows: slice, cols: slice) -> Array:
        return self.tau[rows] @ self.tau[cols].T

    def diagonal(self) -> Array:
        """‖τ(x_i)‖², (n,)."""
        return self._squares.copy()

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.tau, self.tau))

    def mean(self) -> float:
        """‖mean τ‖², in linear time."""
        total = self.tau.mean(axis=0)
        return float(total @ total)

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        """‖Σ τ‖² − Σ ‖τ‖², in linear time."""
        total = self.tau.sum(axis=0)
        return None, 0.0, float(total @ total) - float(self._squares.sum())

    @property
    def statistic(self) -> float:
        """U, in linear time."""
        return self.reduced()[2] / (self.n * (self.n - 1))

    def apart(self, count: int) -> Array:
        """U of each of so many samples of the same size, one after another, (count,).

        Raises where there is nothing to be seen in one of them; alone it says what is wrong with it.
        """
        n = self.n // count
        total, squares = self.sums(count)
        if not (squares > 0.0).all():
            raise ScoreError("The operator is zero at all observations of a sample.")
        return np.asarray(np.einsum("ki,ki->k", total, total) - squares) / (n * (n - 1))

    def sums(self, count: int) -> tuple[Array, Array]:
        """Σ τ and Σ ‖τ‖² of each of these samples, (count, c) and (count,)."""
        tau = self.tau.reshape(count, -1)
        total = self.tau.reshape(count, -1, self.tau.shape[1]).sum(axis=1)
        return np.asarray(total), np.asarray(np.einsum("ki,ki->k", tau, tau))
