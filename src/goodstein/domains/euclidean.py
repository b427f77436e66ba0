"""The whole space R^d."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import DomainError
from goodstein.frozen import Frozen, as_dimension
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.auxiliary.base import Auxiliary


class Euclidean(Frozen, Domain):
    """The whole space R^d, without boundary.

    Stein's identity holds here with g = 1 for every density that vanishes at infinity
    together with its product with the test functions.

    Parameters
    ----------
    d
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Euclidean
    >>> domain = Euclidean(2)
    >>> domain
    Euclidean(2)
    >>> domain.contains(np.array([[0.0, 1e300], [np.inf, 0.0]]))
    array([ True, False])
    """

    _d: int

    def __init__(self, d: int) -> None:
        self._set(_d=as_dimension(d, "d", 1))

    def _arguments(self) -> tuple[Hashable, ...]:
        return (self._d,)

    def __repr__(self) -> str:
        return f"Euclidean({self._d})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._d

    @property
    def has_boundary(self) -> bool:
        """False: the space has no edge."""
        return False

    def contains(self, x: Array) -> BoolArray:
        """Which rows are finite, (n,)."""
        return np.asarray(np.isfinite(x).all(axis=1))

    def default_auxiliary(self) -> Auxiliary:
        """g = 1, since there is no boundary at which it would have to vanish."""
        from goodstein.auxiliary.base import Unit

        return Unit()

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """Raise, since no uniform distribution exists on the whole space."""
        raise DomainError(f"{self!r} is unbounded, so there is no uniform distribution on it.")
