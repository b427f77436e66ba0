"""Squared distances between points: by one matrix product where that is precise, otherwise by differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.numerics.ranges import cut
from goodstein.types import Array

MAX_SPREAD = 1e7
"""How far points may lie from their centre, squared and in squared bandwidths, for products to be precise:
their rounding error is about eps·‖x‖²."""


AT_ONCE = 1 << 14
"""Distances that are made at a time."""


@dataclass(frozen=True)
class Placed:
    """Points (n, m) with the factors of squared distances to others that were placed about the same centre.

    ‖x − y‖² is the product of the row of `left` that belongs to x and the row of `right` that belongs to y,
    both (n, m + 2), and `close` says whether that is precise.
    """

    points: Array
    left: Array
    right: Array
    close: bool

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: Any) -> Placed:
        return Placed(self.points[rows], self.left[rows], self.right[rows], self.close)

    def squared_distances(self, other: Placed) -> Array:
        """‖x_i − y_j‖², (n, k), by one matrix product if both are close to the centre."""
        if not (self.close and other.close):
            return squared_distances(self.points, other.points)
        rho = self.left @ other.right.T
        # Rounding may leave a hair below zero, where a profile need not be defined.
        return np.asarray(np.maximum(rho, 0.0, out=rho))


def joined_places(parts: Sequence[Placed]) -> Placed:
    """Points about the same centre, one after another."""
    return Placed(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.right for part in parts]),
        all(part.close for part in parts),
    )


def placed(points: Array, centre: Array | float, length: float = np.inf) -> Placed:
    """Points (n, m) about a centre (m,), for a kernel of some bandwidth."""
    centred = points - centre
    n, m = centred.shape
    norms = np.einsum("ij,ij->i", centred, centred)
    left, right = np.empty((n, m + 2)), np.empty((n, m + 2))
    np.multiply(centred, -2.0, out=left[:, :m])
    right[:, :m] = centred
    left[:, m] = right[:, m + 1] = norms
    left[:, m + 1] = right[:, m] = 1.0
    return Placed(points, left, right, bool(norms.max(initial=0.0) <= MAX_SPREAD * length**2))


def squared_distances(x: Array, y: Array) -> Array:
    """‖x_i − y_j‖², (n, k), one coordinate after the other: nothing cancels, and there is no n × k × m array.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.numerics.distances import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[3.0, 4.0]]))
    array([[25.],
           [13.]])
    """
    rho = np.zeros((len(x), len(y)))
    # A few rows at a time, so that they stay in the cache for all coordinates.
    for rows in cut(0, len(x), max(1, AT_ONCE // max(1, len(y)))):
        difference = np.empty_like(rho[rows])
        for i in range(x.shape[1]):
            np.subtract(x[rows, i, None], y[:, i], out=difference)
            rho[rows] += np.square(difference, out=difference)
    return rho
