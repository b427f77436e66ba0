"""Blocks of the matrix k(x_i, y_j), for radial kernels by one matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.kernels.base import Kernel
from goodstein.numerics.distances import Placed, placed
from goodstein.numerics.ranges import cut
from goodstein.types import Array


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

    def diagonal(self, x: Placed) -> Array:
        """k(x_i, x_i), (n,)."""
        if self.kernel.radial:
            return np.full(len(x), float(self.kernel.profiles(np.zeros(1), order=0)[0][0]))
        parts = [x.points[part] for part in cut(0, len(x), 64)]
        return np.concatenate([np.diagonal(self.kernel(part, part)) for part in parts])
