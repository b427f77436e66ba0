"""The unit sphere."""

from __future__ import annotations

import numpy as np

from goodstein.domains.base import ROUNDING, OfDimension, refuse_rows
from goodstein.types import Array, BoolArray


class Sphere(OfDimension):
    """Unit vectors in R^d, the sphere of dimension d − 1; data are (n, d).

    The density is with respect to surface area. The score may be the gradient of any function on
    R^d that equals the log density on the sphere: operators use its tangential part alone. Kernels
    act on chordal distances ‖x − y‖, so that ``Gaussian(bandwidth=ℓ)`` is exp(x·y/ℓ²) up to a
    constant.

    Parameters
    ----------
    d
        Number of coordinates, at least 2; ``Sphere(3)`` is the ordinary sphere, on which
        :func:`from_lonlat` places longitudes and latitudes.

    Notes
    -----
    Rows whose norms are off one by at most 1e-6 are taken for unit vectors that were rounded, for example to
    single precision. They are used as they are: nothing is renormalised, operators then err by about as much
    as the norms do, and the result says how far they are off, where that is more than 1e-12.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> sphere = gs.Sphere(3)
    >>> sphere
    Sphere(3)
    >>> sphere.contains(np.array([[0.0, 0.6, 0.8], [0.0, 0.6, 0.6]]))
    array([ True, False])
    >>> sphere.project(np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 2.0, 3.0]]))
    array([[1., 2., 0.]])
    """

    _least = 2
    bounded = True
    has_boundary = False
    flat = False  # gradients in R^d leave the sphere

    def contains(self, x: Array) -> BoolArray:
        """Which rows have norm one within 1e-6, (n,)."""
        return np.asarray(np.abs(np.linalg.norm(x, axis=1) - 1.0) <= ROUNDING)

    def rounding(self, x: Array) -> float:
        """How far a norm is off one at most."""
        return float(np.abs(np.linalg.norm(x, axis=1) - 1.0).max(initial=0.0))

    def other_columns(self, count: int) -> str | None:
        if (count, self.dim) == (2, 3):
            return "If they are longitudes and latitudes, pass from_lonlat(longitude, latitude)."
        if (count, self.dim) == (1, 2):
            return "If they are angles in radians, use a model on Circle(), or pass their cosines and sines."
        return None

    def validate(self, x: Array) -> None:
        self._validate_columns(x)
        norms = np.linalg.norm(x, axis=1)
        refuse_rows(norms == 0, "are the zero vector, which has no direction.", "Remove them.")
        bad = ~self.contains(x)
        if bad.any():
            first = int(np.argmax(bad))
            remedy = (
                "goodstein never renormalises; divide by the norm, in double precision, if that is meant: "
                "x = np.asarray(x, dtype=float); x = x / np.linalg.norm(x, axis=1, keepdims=True)."
            )
            # Two columns that no scale turns into directions, but which a map may have.
            if self.dim == 2 and (np.abs(x) <= [360.0, 90.0]).all() and np.median(norms) > 2.0:
                remedy = f"{Sphere(3).other_columns(2)} {remedy}"
            refuse_rows(
                bad,
                f"are not unit vectors within {ROUNDING:g}: the norm of row {first} is {norms[first]:.10g}.",
                remedy,
            )

    def project(self, x: Array, vectors: Array) -> Array:
        """The tangential part of vectors at points x, both (n, d)."""
        return np.asarray(vectors - np.einsum("ij,ij->i", x, vectors)[:, None] * x)

    def retracted(self, x: Array) -> Array:
        """x/‖x‖, along which only the tangential part of a gradient is left."""
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        return uniform_directions(n, self.dim, rng)


def uniform_directions(n: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform unit vectors, (n, d)."""
    normal = rng.standard_normal((n, d))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
