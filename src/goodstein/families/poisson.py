"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains import Naturals
from goodstein.errors import InputError
from goodstein.families.checks import vector
from goodstein.families.coordinates import Positive, free
from goodstein.families.counts import LARGEST_MEAN, CountFamily, as_counts, log_factorial
from goodstein.types import Array, ArrayLike


class Poisson(CountFamily):
    r"""Poisson distribution of counts, of several independent ones where `rate` has several entries.

    .. math:: q(x) = \prod_j \frac{λ_j^{x_j} e^{-λ_j}}{x_j!}.

    Parameters
    ----------
    rate
        λ > 0, a number, or one for each count, (d,): mean and variance.

    References
    ----------
    Johnson, Kemp & Kotz (2005), *Univariate Discrete Distributions*, chapter 4.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.Poisson(3.0)
    >>> q
    Poisson([3])
    >>> float(q.logpdf([[0.0]])[0])
    -3.0
    >>> gs.ksd_test(q.sample(200, rng=1), q, rng=1).pvalue > 0.05
    True
    >>> gs.families.Poisson.fit([[0], [2], [4]])
    Poisson([2])
    """

    rate: Array

    _free = free(rate=Positive())

    def __init__(self, rate: ArrayLike) -> None:
        values = vector(rate, "rate", above=0.0)
        number(values.max(), "rate", most=LARGEST_MEAN)
        self._set(rate=values, domain=Naturals(len(values)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit: the means of counts (n, d)."""
        means = as_counts(x, None).mean(axis=0)
        if not (means > 0).all():
            reason = f"all counts of column {int(np.argmin(means))} are zero, so there is no rate above zero."
            raise InputError(reason, argument="x")
        return cls(means)

    def _influence_values(self, data: Any) -> Array:
        # In log λ, by which the rates move.
        return np.asarray(self._points(data) / self.rate - 1.0)

    def _logpmf(self, x: Array) -> Array:
        return np.asarray((x * np.log(self.rate) - self.rate - log_factorial(x)).sum(axis=1))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.poisson(self.rate, (n, self.dim)).astype(np.float64)
