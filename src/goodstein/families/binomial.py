"""The binomial and the multinomial distribution."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains import Naturals
from goodstein.errors import InputError, refuse_rows
from goodstein.families.checks import vector
from goodstein.families.coordinates import Probability, Shares, free
from goodstein.families.counts import CountFamily, as_counts, as_shared_total, log_factorial
from goodstein.types import Array, ArrayLike


class Binomial(CountFamily):
    r"""Binomial distribution of counts 0, …, N.

    .. math:: q(x) = \binom Nx p^x (1 - p)^{N - x}.

    Parameters
    ----------
    count
        N, the number of trials.
    p
        The probability of success, 0 < p < 1.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.families.Binomial.fit([[3], [1], [2]], count=4)
    Binomial(count=4, p=0.5)
    """

    count: int
    p: float

    _free = free(p=Probability())

    def __init__(self, count: int, p: float) -> None:
        trials, p = check_count(count, "count"), number(p, "p", above=0.0, below=1.0)
        self._set(count=trials, p=p, domain=Naturals(1))

    @classmethod
    def fit(cls, x: ArrayLike, count: int) -> Self:
        """The maximum likelihood fit to counts (n, 1) of successes in `count` trials."""
        counts, trials = as_counts(x), check_count(count, "count")
        refuse_rows(counts[:, 0] > trials, f"hold more than {trials} successes.", argument="x")
        share = float(counts.mean()) / trials
        if not 0 < share < 1:
            raise InputError("all trials had the same end, so `p` is at its limit.", argument="x")
        return cls(trials, share)

    def _logpmf(self, x: Array) -> Array:
        k, n = x[:, 0], self.count
        out = np.full(len(k), -np.inf)
        k, inside = k[k <= n], k <= n
        logs = math.lgamma(n + 1.0) - log_factorial(k) - log_factorial(n - k)
        out[inside] = logs + k * np.log(self.p) + (n - k) * np.log1p(-self.p)
        return out

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.binomial(self.count, self.p, n).astype(np.float64)


class Multinomial(CountFamily):
    r"""Multinomial distribution of counts of d kinds that add up to N.

    .. math:: q(x) = \frac{N!}{\prod_j x_j!} \prod_j p_j^{x_j}, \qquad \sum_j x_j = N.

    Its domain is ``Naturals.fixed_total(d)``: steps take one from a kind and give it to another.

    Parameters
    ----------
    total
        N.
    p
        Positive numbers (d,), d >= 2, that add up to one.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.Multinomial(10, [0.5, 0.3, 0.2])
    >>> gs.ksd_test(q.sample(100, rng=1), q, rng=1).pvalue > 0.05
    True
    >>> gs.families.Multinomial.fit([[1, 3], [3, 1]])
    Multinomial(total=4, p=[0.5, 0.5])
    """

    total: int
    p: Array

    _free = free(p=Shares())

    def __init__(self, total: int, p: ArrayLike) -> None:
        shares, total = vector(p, "p", above=0.0), check_count(total, "total")
        if len(shares) < 2 or abs(shares.sum() - 1.0) > 1e-8:
            reason = (
                f"must be two numbers or more that add up to one, and these add up to {shares.sum():.6g}."
            )
            raise InputError(reason, argument="p", remedy="Divide them by their sum.")
        self._set(total=total, p=shares, domain=Naturals.fixed_total(len(shares)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit to counts (n, d) whose rows add up to the same total."""
        _, total, shares = as_shared_total(x)
        return cls(total, shares)

    def _logpmf(self, x: Array) -> Array:
        logs = math.lgamma(self.total + 1.0) + (x * np.log(self.p) - log_factorial(x)).sum(axis=1)
        return np.where(x.sum(axis=1) == self.total, logs, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        p: Any = self.p / self.p.sum()
        return rng.multinomial(self.total, p, n).astype(np.float64)
