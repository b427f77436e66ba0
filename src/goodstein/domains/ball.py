"""Balls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goodstein.constraints import MOST_COORDINATES, check_count, number, numbers
from goodstein.domains.base import Domain, Face, shortened
from goodstein.domains.sphere import uniform_directions
from goodstein.errors import DomainError
from goodstein.frozen import Frozen
from goodstein.types import Array, ArrayLike, BoolArray

POINTS_ON_SPHERE = 8

# A point x·R/‖x‖ computed in floating point may lie a few units in the last place outside.
ROUNDING = 1e-12


class Ball(Frozen, Domain):
    r"""The closed ball :math:`\|x - c\| \le R` in R^d.

    The distance to the boundary is :math:`R - \|x - c\|`.

    Parameters
    ----------
    d
        Number of coordinates.
    radius
        The radius R.
    center
        The centre c, (d,); the origin if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Ball
    >>> ball = Ball(3)
    >>> ball
    Ball(3)
    >>> ball.boundary_distance(np.array([[0.0, 0.0, 0.75]]))
    array([0.25])
    >>> Ball(2, radius=2, center=[1, 0])
    Ball(2, radius=2, center=(1, 0))
    """

    _parameters = ("dim", "radius", "center")
    bounded = True
    radius: float
    center: Array

    def __init__(self, d: int, radius: float = 1.0, center: ArrayLike | None = None) -> None:
        dimension = check_count(d, "d", 1, MOST_COORDINATES, error=DomainError)
        length = number(radius, "radius", above=0.0, error=DomainError)
        middle = np.zeros(dimension)
        if center is not None:
            middle = np.atleast_1d(numbers(center, "center", ndim=(0, 1), error=DomainError))
        if middle.shape != (dimension,):
            raise DomainError(f"`center` must have {dimension} coordinates, got shape {middle.shape}.")
        self._set(radius=length, center=middle)

    def __repr__(self) -> str:
        radius = f", radius={self.radius:g}" if self.radius != 1 else ""
        coordinates = shortened([f"{coordinate:g}" for coordinate in self.center])
        center = f", center=({coordinates}{',' if self.dim == 1 else ''})" if self.center.any() else ""
        return f"Ball({self.dim}{radius}{center})"

    @property
    def dim(self) -> int:
        return self.center.size

    def distance_to_center(self, x: Array) -> Array:
        """‖x − c‖ for each row, (n,)."""
        return np.asarray(np.linalg.norm(x - self.center, axis=1))

    def contains(self, x: Array) -> BoolArray:
        scale = self.radius + float(np.linalg.norm(self.center))
        return self.distance_to_center(x) <= self.radius + ROUNDING * scale

    def boundary_distance(self, x: Array) -> Array:
        return np.maximum(self.radius - self.distance_to_center(x), 0.0)

    def boundary_gradient(self, x: Array) -> Array:
        """−(x − c)/‖x − c‖, and zero at the centre, (n, d)."""
        distance = self.distance_to_center(x)
        return (self.center - x) / np.where(distance > 0, distance, 1.0)[:, None]

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Random points on the sphere (both ends, if d = 1); one may walk as far as the centre."""
        if self.dim == 1:
            outward = np.array([[-1.0], [1.0]])
        else:
            outward = uniform_directions(POINTS_ON_SPHERE, self.dim, rng)
        name = f"‖{'x − c' if self.center.any() else 'x'}‖ = {self.radius:g}"
        points, reach = self.center + self.radius * outward, np.full(len(outward), self.radius)
        return [Face(name, points, -outward, reach)]

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        directions = uniform_directions(n, self.dim, rng)
        radii = self.radius * rng.uniform(size=(n, 1)) ** (1 / self.dim)
        return self.center + radii * directions
