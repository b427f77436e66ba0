"""The negative binomial and the geometric distribution."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains import Naturals
from goodstein.errors import InputError
from goodstein.families.coordinates import Positive, Probability, free
from goodstein.families.counts import LARGEST_MEAN, CountFamily, as_counts, most_likely
from goodstein.types import Array, ArrayLike


class NegativeBinomial(CountFamily):
    r"""Negative binomial distribution of counts: Poisson with a rate that varies by a gamma law.

    .. math:: q(x) = \frac{Γ(x + r)}{Γ(r)\,x!} \Big(\frac{r}{r + μ}\Big)^r \Big(\frac{μ}{r + μ}\Big)^x,
              \qquad \mathrm{E}\,x = μ, \quad \mathrm{Var}\,x = μ + \frac{μ^2}{r}.

    Parameters
    ----------
    mean
        μ > 0.
    size
        r > 0: the smaller, the more dispersed; ``scipy.stats.nbinom(size, size/(size + mean))``.

    References
    ----------
    Johnson, Kemp & Kotz (2005), *Univariate Discrete Distributions*, chapter 5.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.NegativeBinomial(mean=3.0, size=2.0)
    >>> q
    NegativeBinomial(mean=3, size=2)
    >>> q.logpdf([[0.0], [1.0]])
    array([-1.8326, -1.6503])
    >>> gs.families.NegativeBinomial.fit(q.sample(10_000, rng=1)).size
    2.0
    """

    mean: float
    size: float

    _free = free(mean=Positive(), size=Positive())

    def __init__(self, mean: float, size: float) -> None:
        mean, size = number(mean, "mean", above=0.0, most=LARGEST_MEAN), number(size, "size", above=0.0)
        self._set(mean=mean, size=size, domain=Naturals(1))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit to counts (n, 1)."""
        counts = as_counts(x)
        mean, variance = float(counts.mean()), float(counts.var())
        none = "they vary no more than Poisson counts do. Fit Poisson."
        # With size → ∞ the law is Poisson's; there is a maximum before just where this is not so.
        if not variance > mean:
            raise InputError(f"the likelihood has no maximum: {none}", argument="x")
        found = most_likely(cls(mean, mean**2 / (variance - mean)), counts, none)
        return cls(mean, found.size)  # whatever the size, the mean is that of the counts

    def _logpmf(self, x: Array) -> Array:
        from scipy.special import betaln

        k, r, total = x[:, 0], self.size, self.size + self.mean
        # Γ(k + r)/(Γ(r) k!) = 1/((k + r) B(r, k + 1)), which does not cancel where r is large.
        choose = -np.log(k + r) - betaln(r, k + 1.0)
        return np.asarray(choose - r * math.log1p(self.mean / r) + k * math.log(self.mean / total))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.poisson(rng.gamma(self.size, self.mean / self.size, n)).astype(np.float64)


class Geometric(CountFamily):
    r"""Geometric distribution of counts 0, 1, 2, …: failures before the first success.

    .. math:: q(x) = p (1 - p)^x.

    Counts of trials, that begin with one, are ``scipy.stats.geom(p)``, which tests take as it is.

    Parameters
    ----------
    p
        The probability of success, 0 < p < 1.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.families.Geometric.fit([[0], [1], [2]])
    Geometric(0.5)
    """

    p: float

    _free = free(p=Probability())

    def __init__(self, p: float) -> None:
        self._set(p=number(p, "p", above=0.0, below=1.0), domain=Naturals(1))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit to counts (n, 1), 1/(1 + mean)."""
        mean = float(as_counts(x).mean())
        if not mean > 0:
            raise InputError("all counts are zero, so success is certain.", argument="x")
        return cls(1.0 / (1.0 + mean))

    def _logpmf(self, x: Array) -> Array:
        return math.log(self.p) + x[:, 0] * math.log1p(-self.p)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.geometric(self.p, n).astype(np.float64) - 1.0
