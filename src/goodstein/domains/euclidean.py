"""The whole space R^d."""

from __future__ import annotations

import numpy as np

from goodstein.domains.base import OfDimension
from goodstein.types import Array, BoolArray


class Euclidean(OfDimension):
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

    has_boundary = False
    mixed_units = True

    def contains(self, x: Array) -> BoolArray:
        return np.asarray(np.isfinite(x).all(axis=1))
