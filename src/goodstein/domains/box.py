"""Boxes, whose sides may be infinite, and the positive orthant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from goodstein.constraints import MOST_COORDINATES, check_count, numbers
from goodstein.domains.base import Domain, Face, shortened
from goodstein.errors import DomainError
from goodstein.frozen import Frozen
from goodstein.types import Array, ArrayLike, BoolArray

POINTS_PER_FACE = 4


class Box(Frozen, Domain):
    r"""The box :math:`[a_1, b_1] \times \dots \times [a_d, b_d]`, whose sides may be infinite.

    The distance to the boundary is :math:`\min_i \min(x_i - a_i, b_i - x_i)`, over the
    finite sides.

    Parameters
    ----------
    lower, upper
        Lower and upper ends: numbers or sequences of the same length; a number stands for
        every coordinate. ``-inf`` and ``inf`` leave a side open. Two numbers make an interval.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Box
    >>> Box(0, [1, 1])
    Box([0, 1]^2)
    >>> strip = Box([0, -np.inf], [1, np.inf])
    >>> strip
    Box([0, 1] x (-inf, inf))
    >>> strip.boundary_distance(np.array([[0.25, 7.0]]))
    array([0.25])
    """

    lower: Array
    upper: Array

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        given = {"lower": lower, "upper": upper}.items()
        low, high = (
            np.atleast_1d(numbers(value, name, ndim=(0, 1), infinite=True, error=DomainError))
            for name, value in given
        )
        if low.size != high.size and 1 not in (low.size, high.size):
            sizes = f"`lower` has {low.size} coordinates and `upper` has {high.size}"
            raise DomainError(f"{sizes}; they must agree.")
        low, high = (end.copy() for end in np.broadcast_arrays(low, high))
        wrong = np.flatnonzero(low >= high)
        if wrong.size:
            i = wrong[0]
            ends = f"coordinate x_{i + 1} has lower = {low[i]:g} and upper = {high[i]:g}"
            raise DomainError(f"`lower` must be below `upper`: {ends}.")
        self._set(lower=low, upper=high)

    def __repr__(self) -> str:
        sides = [_interval(low, high) for low, high in zip(self.lower, self.upper, strict=True)]
        if len(set(sides)) == 1:
            return f"Box({sides[0]}{f'^{self.dim}' if self.dim > 1 else ''})"
        return f"Box({shortened(sides, by=' x ')})"

    @property
    def dim(self) -> int:
        return self.lower.size

    mixed_units = True

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite([self.lower, self.upper]).all())

    @property
    def has_boundary(self) -> bool:
        return bool(np.isfinite([self.lower, self.upper]).any())

    def contains(self, x: Array) -> BoolArray:
        inside = np.isfinite(x) & (x >= self.lower) & (x <= self.upper)
        return np.asarray(inside.all(axis=1))

    def other_columns(self, count: int) -> str | None:
        if (count, self.dim) != (2, 1) or self.lower[0] != 0 or self.upper[0] < np.inf:
            return None
        return "If they are durations and events, pass Censored(durations, event_observed)."

    def boundary_distance(self, x: Array) -> Array:
        return np.asarray(np.maximum(self._side_distances(x).min(axis=(1, 2)), 0.0))

    def boundary_gradient(self, x: Array) -> Array:
        gradient = np.zeros_like(x, dtype=np.float64)
        if self.has_boundary:
            nearest = self._side_distances(x).reshape(len(x), 2 * self.dim).argmin(axis=1)
            upper_side, coordinate = np.divmod(nearest, self.dim)
            gradient[np.arange(len(x)), coordinate] = np.where(upper_side == 1, -1.0, 1.0)
        return gradient

    def _side_distances(self, x: Array) -> Array:
        """Distance to each lower and each upper side, (n, 2, d)."""
        return np.stack([x - self.lower, self.upper - x], axis=1)

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Four random points on every finite side (its one point, if d = 1).

        Coordinates with two finite ends are drawn from the middle nine tenths of their
        range, so that no point falls into a corner; the others come from rows of
        ``interior`` or, without these, lie about one unit from the finite end.
        """
        if interior is not None:
            interior = interior[self.contains(interior)]
            interior = interior[self.boundary_distance(interior) > 0]
            interior = interior if len(interior) else None
        count = POINTS_PER_FACE if self.dim > 1 else 1
        faces = []
        for i in range(self.dim):
            for end, inward in ((self.lower[i], 1.0), (self.upper[i], -1.0)):
                if not np.isfinite(end):
                    continue
                points = self._spread(count, interior, rng)
                points[:, i] = end
                normals = np.zeros_like(points)
                normals[:, i] = inward
                others = np.delete(self._side_distances(points), i, axis=2).reshape(count, -1)
                reach = others.min(axis=1, initial=self._depth(i, end, interior))
                faces.append(Face(f"x_{i + 1} = {end:g}", points, normals, reach))
        return faces

    def _depth(self, i: int, end: float, interior: Array | None) -> float:
        """How far to walk from one end of coordinate i, as far as that coordinate goes."""
        half_width = float((self.upper[i] - self.lower[i]) / 2)
        if interior is None:
            return half_width if math.isfinite(half_width) else 1.0
        # A length on which the data live: the other end may be far beyond them.
        return min(half_width, float(np.median(np.abs(interior[:, i] - end))))

    def _spread(self, count: int, interior: Array | None, rng: np.random.Generator) -> Array:
        """Points well inside the box, where the mass is as far as that is known, (count, d)."""
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        if interior is not None:
            points = interior[rng.integers(len(interior), size=count)]
        else:
            offset = rng.uniform(0.5, 1.5, size=(count, self.dim))
            points = np.where(low, self.lower + offset, self.upper - offset)
            points = np.where(low | high, points, rng.standard_normal((count, self.dim)))
        both = low & high
        fraction = rng.uniform(0.05, 0.95, size=(count, int(both.sum())))
        points[:, both] = self.lower[both] + fraction * (self.upper - self.lower)[both]
        return points

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        if not self.bounded:
            return super().sample_uniform(n, rng)
        return rng.uniform(self.lower, self.upper, size=(n, self.dim))


class Orthant(Box):
    """The positive orthant: all x with x_1, ..., x_d >= 0.

    It equals, and is, the :class:`Box` with lower ends 0 and upper ends infinity.

    Parameters
    ----------
    d
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Box, Orthant
    >>> Orthant(3)
    Orthant(3)
    >>> Orthant(1) == Box(0, np.inf)
    True
    """

    def __init__(self, d: int) -> None:
        dimension = check_count(d, "d", 1, MOST_COORDINATES, error=DomainError)
        super().__init__(np.zeros(dimension), np.full(dimension, np.inf))

    def __reduce__(self) -> tuple[Any, ...]:
        return Orthant, (self.dim,)

    def __repr__(self) -> str:
        return f"Orthant({self.dim})"


def _interval(low: float, high: float) -> str:
    left = "(-inf" if low == -np.inf else f"[{low:g}"
    right = "inf)" if high == np.inf else f"{high:g}]"
    return f"{left}, {right}"
