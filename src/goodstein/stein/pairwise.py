"""Blocks of the matrix k(x_i, y_j), for radial kernels by one matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.kernels.base import Kernel
from goodstein.numerics.distances import Placed, placed
from goodstein.numerics.ranges import cut
from goodstein.types import Array

OFTEN = 4
"""How often each row occurs, on average, from where on values of a kernel are looked up."""

FEWEST, MOST = 200, 1500
"""Rows from which on that is worth it, and different ones up to which: their values take 18 MB."""

HEIGHT = 128


class Pairwise:
    """A fitted kernel, radial, whitened or called k(x, y), between points placed near the centre of some."""

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self._given = kernel.plain, kernel
        self._centre = np.median(kernel.coordinates(points), axis=0)

    def placed(self, points: Array) -> Placed:
        """Points in the kernel's coordinates."""
        return placed(self._given.coordinates(points), self._centre, self.kernel.shortest_length)

    def __call__(self, x: Placed, y: Placed, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """k(x_i, y_j), (n, k); in single precision the squared distances still are in double."""
        if not self.kernel.radial:
            return np.asarray(self.kernel(x.points, y.points), dtype=dtype)
        rho = x.squared_distances(y).astype(dtype, copy=False)
        return np.asarray(self.kernel.profiles(rho, order=0)[0], dtype=dtype)

    def of_rows(self, x: Placed, y: Placed) -> Array:
        """k(x_i, y_i), (n,)."""
        if not self.kernel.radial:
            return np.concatenate([np.diagonal(self(x[part], y[part])) for part in cut(0, len(x), 64)])
        rho = ((x.points - y.points) ** 2).sum(axis=1)
        return np.asarray(self.kernel.profiles(rho, order=0)[0])

    def diagonal(self, x: Placed) -> Array:
        """k(x_i, x_i), (n,)."""
        return self.of_rows(x, x)


class Repeated:
    """A kernel between rows of which many are equal, as those are that a fit looks at again and again.

    Takes the place of :class:`Pairwise`: values between different rows are calculated once, and looked up.
    """

    def __init__(self, kernel: Kernel, different: Array) -> None:
        gram = Pairwise(kernel, different)
        x = gram.placed(different)
        parts = [gram(x[part], x) for part in cut(0, len(different), HEIGHT)]
        self._values = np.concatenate(parts)

    def __call__(self, x: npt.NDArray[np.intp], y: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """k between rows with these numbers among the different ones, (n, k)."""
        return np.asarray(self._values[x][:, y])

    def diagonal(self, x: npt.NDArray[np.intp]) -> Array:
        """k of rows with themselves, (n,)."""
        return np.asarray(self._values.diagonal()[x])


def repeated(kernel: Kernel, points: Array) -> tuple[Repeated, npt.NDArray[np.intp]] | None:
    """The kernel looked up, and which of the different rows each point is; None where few are equal."""
    if len(points) < FEWEST:
        return None
    different, which = np.unique(points, axis=0, return_inverse=True)
    if len(different) > min(MOST, len(points) // OFTEN):
        return None
    return Repeated(kernel, different), which.ravel()
