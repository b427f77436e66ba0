"""The circle and the torus: angles that come round again."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.domains.base import OfDimension
from goodstein.types import Array, BoolArray

TURN = 2.0 * np.pi


class Torus(OfDimension):
    """d angles in radians, each of which comes round after 2π; data are (n, d).

    Any real number is an angle, and θ and θ + 2π are the same one. The density is with respect
    to dθ₁…dθ_d, the score its derivative in the angles, and both must have period 2π in each.
    Kernels look at the points (cos θ₁, sin θ₁, …, cos θ_d, sin θ_d), so that they are periodic too
    and their bandwidth is a chordal distance; the Gaussian kernel is then a product of factors
    exp(cos(θ_i − θ′_i)/ℓ²), one for each angle.

    Parameters
    ----------
    d
        Number of angles.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> torus = gs.Torus(2)
    >>> torus
    Torus(2)
    >>> torus.embedded(np.array([[0.0, np.pi / 2]])).round(12)
    array([[1., 0., 0., 1.]])
    """

    bounded = True
    has_boundary = False
    flat = False  # a kernel of the bare angles would not know that they come round

    def contains(self, x: Array) -> BoolArray:
        return np.asarray(np.isfinite(x).all(axis=1))

    def embedded(self, x: Array) -> Array:
        return np.stack([np.cos(x), np.sin(x)], axis=2).reshape(len(x), -1)

    def tangents(self, x: Array) -> Array:
        """Derivatives of :meth:`embedded` with respect to each angle, (n, 2d, d)."""
        n, d = x.shape
        tangents = np.zeros((n, d, 2, d))
        angle = np.arange(d)
        tangents[:, angle, 0, angle] = -np.sin(x)
        tangents[:, angle, 1, angle] = np.cos(x)
        return tangents.reshape(n, 2 * d, d)

    def other_columns(self, count: int) -> str | None:
        if count != 2 * self.dim:
            return None
        return "If they are cosines and sines, pass the angles: np.arctan2(sine, cosine)."

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(0.0, TURN, size=(n, self.dim))


class Circle(Torus):
    """The circle: one angle in radians; data are (n,) or (n, 1).

    It equals, and is, the :class:`Torus` with one angle.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.Circle() == gs.Torus(1)
    True
    >>> model = gs.families.VonMises(0.0, 2.0)
    >>> gs.ksd_test(model.sample(100, rng=1), model, rng=1).pvalue > 0.05
    True
    """

    def __init__(self) -> None:
        super().__init__(1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Circle, ()

    def __repr__(self) -> str:
        return "Circle()"
