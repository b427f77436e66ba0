"""The unit sphere."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import DomainError, describe_rows
from goodstein.frozen import Frozen, as_dimension
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.auxiliary.base import Auxiliary
    from goodstein.operators.base import Operator

NORM_TOLERANCE = 1e-8


class Sphere(Frozen, Domain):
    """Unit vectors in R^d, the sphere of dimension d − 1; data are (n, d).

    The density is with respect to surface area. The score may be the gradient of any function on
    R^d that equals the log density on the sphere: operators use its tangential part alone. Kernels
    act on chordal distances ‖x − y‖, so that ``Gaussian(bandwidth=ℓ)`` is exp(x·y/ℓ²) up to a
    constant.

    Parameters
    ----------
    d
        Number of coordinates, at least 2; ``Sphere(3)`` is the ordinary sphere.

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

    _d: int

    def __init__(self, d: int) -> None:
        self._set(_d=as_dimension(d, "d", 2))

    def _arguments(self) -> tuple[Hashable, ...]:
        return (self._d,)

    def __repr__(self) -> str:
        return f"Sphere({self._d})"

    @property
    def dim(self) -> int:
        """Number of coordinates, the columns of the data."""
        return self._d

    @property
    def bounded(self) -> bool:
        """True."""
        return True

    @property
    def has_boundary(self) -> bool:
        """False: the sphere is closed."""
        return False

    @property
    def flat(self) -> bool:
        """False: gradients in R^d leave the sphere."""
        return False

    def contains(self, x: Array) -> BoolArray:
        """Which rows have norm one within 1e-8, (n,)."""
        return np.asarray(np.abs(np.linalg.norm(x, axis=1) - 1.0) <= NORM_TOLERANCE)

    def validate(self, x: Array) -> None:
        """Raise where rows are not unit vectors, and say how to make them so."""
        self._validate_columns(x)
        norms = np.linalg.norm(x, axis=1)
        zero = np.asarray(norms == 0)
        if zero.any():
            raise DomainError(
                f"`data`: {describe_rows(zero)} are the zero vector, which has no direction. Remove them."
            )
        bad = ~self.contains(x)
        if bad.any():
            first = int(np.argmax(bad))
            raise DomainError(
                f"`data`: {describe_rows(bad)} are not unit vectors: the norm of row {first} is "
                f"{norms[first]:.10g}. goodstein never renormalises; divide by the norm, in double "
                "precision, if that is meant: x = np.asarray(x, dtype=float); "
                "x = x / np.linalg.norm(x, axis=1, keepdims=True)."
            )

    def project(self, x: Array, vectors: Array) -> Array:
        """The tangential part of vectors at points x, both (n, d)."""
        return np.asarray(vectors - np.einsum("ij,ij->i", x, vectors)[:, None] * x)

    def retracted(self, x: Array) -> Array:
        """x/‖x‖, along which only the tangential part of a gradient is left."""
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def default_operator(self) -> Operator:
        """:class:`goodstein.SecondOrder`, which no choice of axes enters.

        It is also the more powerful of the two against all alternatives that were tried in general
        position: one mode, an axis, an oval shape, another mean direction (`validation/power.md`).
        Against alternatives along the first axis :class:`goodstein.Coordinate` is.
        """
        from goodstein.operators.second_order import SecondOrder

        return SecondOrder()

    def default_auxiliary(self) -> Auxiliary:
        """g = 1, since there is no boundary at which it would have to vanish."""
        from goodstein.auxiliary.base import Unit

        return Unit()

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """Draw ``n`` uniform directions."""
        x = rng.standard_normal((n, self.dim))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
