"""The Conway–Maxwell–Poisson distribution."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains import Naturals
from goodstein.errors import InputError
from goodstein.families.coordinates import Positive, free
from goodstein.families.counts import LARGEST_MEAN, CountFamily, as_counts, log_factorial, most_likely
from goodstein.lazy import cached_property
from goodstein.types import Array, ArrayLike

MOST_TERMS = 10_000_000
"""Counts over which the normalising constant is summed at most."""
NEGLIGIBLE = 45.0
"""Logarithm of how many times less likely than the mode counts are that are left out: e^45 > 1e19."""


class ConwayMaxwellPoisson(CountFamily):
    r"""Conway–Maxwell–Poisson distribution of counts that vary more, or less, than Poisson counts.

    .. math:: q(x) \propto \frac{μ^{νx}}{(x!)^ν}.

    ν = 1 is Poisson(μ), ν < 1 is more dispersed and ν > 1 less: mean and variance are about μ + 1/(2ν) − ½
    and μ/ν. The normalising constant, which tests do not need, is a sum over all counts that are not
    negligible; fits and samples use it.

    Parameters
    ----------
    center
        μ > 0, close to the mode. Others write λ = μ^ν.
    nu
        ν > 0.

    References
    ----------
    Shmueli, Minka, Kadane, Borle, Boatwright (2005), A useful distribution for fitting discrete data; the
    parametrisation by μ is that of Guikema & Goffelt (2008).

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.ConwayMaxwellPoisson(3.0, nu=2.0)
    >>> gs.ksd_test(q.sample(200, rng=1), q, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(q.sample(200, rng=1), gs.families.Poisson(3.0), rng=1).pvalue < 0.01
    True
    """

    center: float
    nu: float

    _free = free(center=Positive(), nu=Positive())

    def __init__(self, center: float, nu: float) -> None:
        center = number(center, "center", above=0.0, most=LARGEST_MEAN)
        nu = number(nu, "nu", above=0.0)
        self._set(center=center, nu=nu, domain=Naturals(1))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit to counts (n, 1)."""
        counts = as_counts(x)
        mean, variance = float(counts.mean()), float(counts.var())
        if not variance > 0:
            raise InputError("all counts are the same, so they have no dispersion to fit.", argument="x")
        nu = min(max(mean / variance, 0.1), 10.0)
        start = cls(max(mean - 0.5 / nu + 0.5, 0.1), nu)
        return most_likely(start, counts, "its dispersion wants to be infinite, or zero.")

    def log_partition(self) -> float:
        """The logarithm of the sum of μ^{νx}/(x!)^ν."""
        return self._table[1]

    @cached_property
    def _table(self) -> tuple[float, float, Array]:
        """The first count that is not negligible, the log normalising constant, cumulative probabilities."""
        mode = math.floor(self.center)
        top = self._weight(np.array([float(mode)]))[0]

        def edge(sign: float) -> float:
            step = 1.0
            while True:
                at = mode + sign * step
                if at <= 0 or self._weight(np.array([at]))[0] < top - NEGLIGIBLE:
                    return max(at, 0.0)
                step *= 2.0

        low, high = edge(-1.0), edge(1.0)
        if high - low > MOST_TERMS:
            reason = f"{self!r} spreads over {high - low:.2g} counts, too many to be summed over."
            raise InputError(
                reason, remedy="Pass its log probability as Model(logpdf=..., domain=Naturals(1))."
            )
        weights = np.exp(self._weight(np.arange(low, high + 1.0)) - top)
        total = np.cumsum(weights)
        return low, float(top + math.log(total[-1])), total / total[-1]

    def _weight(self, k: Array) -> Array:
        return np.asarray(self.nu * (k * math.log(self.center) - log_factorial(k)))

    def _logpmf(self, x: Array) -> Array:
        return self._weight(x[:, 0]) - self.log_partition()

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        low, _, cumulative = self._table
        return low + np.searchsorted(cumulative, rng.random(n), side="right").astype(np.float64)
