"""Coordinates in which kernels see points, such that neither units nor correlations count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels.bandwidth import Median
from goodstein.lazy import cached_property
from goodstein.numerics.ranks import medians
from goodstein.types import Array


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates z = Lᵀy, and test functions f(y) = diag(u) L⁻ᵀf̃(z) there.

    Attributes
    ----------
    linear_map
        L: (m, m), or (m,) for a diagonal matrix.
    unit
        u: one number for each test function, (m,), or 1 where the weights of an operator need no unit.
    """

    linear_map: Array
    unit: Array | float = 1.0

    def coordinates(self, points: Array) -> Array:
        """z = Lᵀy, (n, m)."""
        linear = self.linear_map
        return np.asarray(points * linear if linear.ndim == 1 else points @ linear)

    def back(self, coordinates: Array) -> Array:
        """y, (n, m), from z."""
        linear = self.linear_map
        return np.asarray(coordinates / linear if linear.ndim == 1 else coordinates @ self._inverse)

    def moved(
        self, points: Array, value: Array, weight: Array | None, *, functions: bool
    ) -> tuple[Array, Array, Array | None]:
        """(y, a, G) there; of `functions` that belong to no coordinate a stays as it is."""
        if functions:
            assert weight is not None
            return self.coordinates(points), value, self.of_functions(weight)
        return self.coordinates(points), self.values(value), self.weights(weight)

    def values(self, value: Array) -> Array:
        """L⁻¹(u∘a), (n, m)."""
        linear, scaled = self.linear_map, value * self.unit
        return np.asarray(scaled / linear if linear.ndim == 1 else scaled @ self._inverse.T)

    def weights(self, weight: Array | None) -> Array | None:
        """LᵀG diag(u) L⁻ᵀ, in as few numbers as G has wherever it commutes with L."""
        if weight is None or weight.ndim == 1:
            return weight
        linear, scaled = self.linear_map, weight * self.unit
        if weight.ndim == 2:
            if linear.ndim == 1 or _alike(scaled, linear):
                return np.asarray(scaled)
            scaled = scaled[:, :, None] * np.eye(len(linear))
        if linear.ndim == 1:
            return np.asarray(linear[:, None] * scaled / linear)
        return np.asarray(linear.T @ scaled @ self._inverse.T)

    def of_functions(self, weight: Array) -> Array:
        """LᵀG, (n, m, J), for test functions that belong to no coordinate and stay as they are."""
        linear = self.linear_map
        return np.asarray(linear[:, None] * weight if linear.ndim == 1 else linear.T @ weight)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.linear_map), dtype=np.float64)


def _alike(weight: Array, linear: Array) -> bool:
    """Whether coordinates that L, lower triangular, mixes have the same diagonal weight in every row."""
    rows, cols = np.nonzero(np.tril(linear, -1))
    return not len(rows) or bool(np.allclose(weight[:, rows], weight[:, cols], rtol=1e-9, atol=0.0))


class Located:
    """Points at which kernels look, and what all kernels alike take from them."""

    if TYPE_CHECKING:  # a property here would be taken for the default value of a field

        @property
        def points(self) -> Any:
            """Where kernels look, (n, m)."""

    @property
    def shared(self) -> Located | None:
        """What kernels look at in the place of these, where it is the same object whatever the data are."""
        return None

    @property
    def frame(self) -> Frame | None:
        """The coordinates of choice; None: as they are."""
        return None if self.shared is None else self.shared.frame

    @cached_property
    def median_distance(self) -> float:
        """The median distance between two points."""
        return Median()(self.points) if self.shared is None else self.shared.median_distance

    def stacked(self, count: int) -> Any:
        """These as `count` samples of the same size, one after another; None where that is of no use."""
        return None

    def seen_in(self, frame: Frame) -> Located:
        """The same in other coordinates."""
        return _Seen(frame.coordinates(self.points))


@dataclass(frozen=True, eq=False)
class _Seen(Located):
    """Points alone."""

    points: Array


def spread_frame(points: Array) -> Frame:
    """Every coordinate in units of its median absolute deviation."""
    return Frame(1.0 / absolute_deviations(points))


def absolute_deviations(points: Array) -> Array:
    """The median absolute deviation of every column; where it is zero, the standard deviation; else 1."""
    spread = medians(np.abs(points - medians(points)))
    spread = np.where(spread > 0, spread, np.std(points, axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))
