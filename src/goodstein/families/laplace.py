"""Independent Laplace coordinates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains import Euclidean
from goodstein.families.base import Family
from goodstein.families.checks import as_sample, as_vectors, require_spread
from goodstein.families.coordinates import Location, Positive, free
from goodstein.types import Array, ArrayLike


class Laplace(Family):
    r"""Product of univariate Laplace distributions on R^d.

    .. math::

        \log q(x) = -\sum_i \frac{|x_i - \mu_i|}{b_i} - \sum_i \log 2 b_i, \qquad
        s_i(x) = -\frac{\operatorname{sign}(x_i - \mu_i)}{b_i}.

    At the kink :math:`x_i = \mu_i` the density has no derivative; the score there is set
    to zero, the middle of the subdifferential. The kink has probability zero, and Stein's
    identity holds with the weak derivative.

    Parameters
    ----------
    loc
        Centre μ, (d,) or a number.
    scale
        Scale b > 0, (d,) or a number; the standard deviation is √2 b.

    References
    ----------
    Kotz, Kozubowski & Podgórski (2001), *The Laplace Distribution and Generalizations*.

    Examples
    --------
    >>> from goodstein.families import Laplace
    >>> q = Laplace([0, 0], scale=2)
    >>> q
    Laplace(loc=[0, 0], scale=[2, 2])
    >>> q.score([[3, 0]])
    array([[-0.5,  0. ]])
    >>> Laplace.fit([0, 1, 5])
    Laplace(loc=[1], scale=[1.66667])
    """

    loc: Array
    scale: Array

    quasi_concave = True
    _free = free(loc=Location("scale"), scale=Positive())

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        center, spread = as_vectors(loc=loc, scale=scale)
        numbers(scale, "scale", above=0.0)
        self._set(loc=center, scale=spread, domain=Euclidean(len(center)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood: per column the median and the mean absolute deviation from it."""
        x = as_sample(x)
        require_spread(x)
        loc = np.median(x, axis=0)
        return cls(loc, np.abs(x - loc).mean(axis=0))

    def score(self, x: ArrayLike) -> Array:
        return np.sign(self.loc - self._points(x)) / self.scale

    def logpdf(self, x: ArrayLike) -> Array:
        terms = np.abs(self._points(x) - self.loc) / self.scale + np.log(2 * self.scale)
        return np.asarray(-terms.sum(axis=1))

    def _influence_values(self, data: Any) -> Array:
        """The sign of x − μ, in units of b, and |x − μ|/b − 1: the median has no smooth likelihood."""
        z = (self._points(data) - self.loc) / self.scale
        return np.hstack([np.sign(z), np.abs(z) - 1])

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.laplace(self.loc, self.scale, (n, self.dim))
