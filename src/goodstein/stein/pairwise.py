"""Where kernels look, and blocks of the matrix k(x_i, y_j), for radial kernels by one matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.domains.base import Domain
from goodstein.domains.lattice import Lattice
from goodstein.kernels.base import Kernel
from goodstein.kernels.whitened import Whitened
from goodstein.numerics.ranges import cut
from goodstein.stein.forms import MAX_SPREAD, shortest_length
from goodstein.types import Array


@dataclass(frozen=True)
class Placed:
    """Points in a kernel's own coordinates, with the factors of their squared distances to others.

    Attributes
    ----------
    points
        (n, k).
    left, right
        (n, k + 2), about a common centre: ‖x − y‖² is the product of the row of `left` that belongs to x
        and the row of `right` that belongs to y.
    close
        Whether that product is precise.
    """

    points: Array
    left: Array
    right: Array
    close: bool

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: slice) -> Placed:
        return Placed(self.points[rows], self.left[rows], self.right[rows], self.close)


class Pairwise:
    """A fitted kernel between points that were placed near the same centre.

    Parameters
    ----------
    kernel
        A fitted kernel: radial, whitened, or one that is called k(x, y).
    points
        Points from which the centre is taken, (n, k).
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self._map: Array | None = None
        if isinstance(kernel, Whitened):
            self._map, kernel = kernel.linear_map, kernel.kernel
            points = points @ self._map
        self.kernel: Any = kernel
        self.radial = hasattr(kernel, "profiles") and not hasattr(kernel, "tables")
        self._centre = np.median(points, axis=0)
        self._reach = MAX_SPREAD * shortest_length(kernel) ** 2

    def placed(self, points: Array) -> Placed:
        """Points in the kernel's coordinates."""
        if self._map is not None:
            points = points @ self._map
        centred = points - self._centre
        norms = np.einsum("ij,ij->i", centred, centred)[:, None]
        ones = np.ones_like(norms)
        left, right = np.hstack([-2.0 * centred, norms, ones]), np.hstack([centred, ones, norms])
        return Placed(points, left, right, bool(norms.max() <= self._reach))

    def __call__(self, x: Placed, y: Placed, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """k(x_i, y_j), (n, k); in single precision the squared distances still are in double."""
        if not self.radial:
            return np.asarray(self.kernel(x.points, y.points), dtype=dtype)
        if x.close and y.close:
            rho = x.left @ y.right.T
            # Rounding may leave a hair below zero, where a profile need not be defined.
            np.maximum(rho, 0.0, out=rho)
        else:
            rho = np.zeros((len(x), len(y)))
            for i in range(x.points.shape[1]):
                rho += (x.points[:, i, None] - y.points[:, i]) ** 2
        values = self.kernel.profiles(rho.astype(dtype, copy=False), order=0)[0]
        return np.asarray(values, dtype=dtype)

    def diagonal(self, x: Placed) -> Array:
        """k(x_i, x_i), (n,)."""
        if self.radial:
            return np.full(len(x), float(self.kernel.profiles(np.zeros(1), order=0)[0][0]))
        parts = [x.points[part] for part in cut(0, len(x), 64)]
        return np.concatenate([np.diagonal(self.kernel(part, part)) for part in parts])


def kernel_points(domain: Domain, x: Array) -> Array:
    """Where kernels look, (n, k).

    Coordinates in a flat domain, angles as points of circles, states of a lattice as positions among its
    levels.
    """
    if isinstance(domain, Lattice):
        return domain.encode(x).astype(np.float64)
    embedded = getattr(domain, "embedded", None)
    if embedded is not None:
        points: Array = embedded(x)
        return points
    # Rows of the basis are orthonormal, so distances stay; fewer columns can be whitened.
    return x if domain.basis is None else np.asarray(x @ domain.basis.T)
