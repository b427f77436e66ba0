"""The Dirichlet-multinomial distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains.naturals import Naturals
from goodstein.errors import InputError
from goodstein.families.checks import vector
from goodstein.families.coordinates import Positive, free
from goodstein.families.counts import CountFamily, as_shared_total, most_likely
from goodstein.types import Array, ArrayLike

SMALLEST = 1e-2
"""The least sum of α at which a fit begins."""


class DirichletMultinomial(CountFamily):
    r"""Multinomial counts of d kinds whose probabilities vary from row to row as a Dirichlet law.

    x | p ~ Multinomial(N, p) with p ~ Dirichlet(α), and with A = Σ α_j

    .. math:: q(x) = \frac{N!\, Γ(A)}{Γ(N + A)} \prod_j \frac{Γ(x_j + α_j)}{Γ(α_j)\, x_j!},
              \qquad \sum_j x_j = N.

    Counts vary (N + A)/(1 + A) times as much as those of :class:`Multinomial`, to which it tends for large A;
    of two kinds it is the beta-binomial law. Its domain is ``Naturals.fixed_total(d)``.

    Parameters
    ----------
    total
        N.
    alpha
        α, positive numbers (d,), d >= 2.

    References
    ----------
    Mosimann (1962), On the compound multinomial distribution, the multivariate β-distribution, and
    correlations among proportions, Biometrika 49.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.DirichletMultinomial(10, [2.0, 1.0, 1.0])
    >>> x = q.sample(200, rng=1)
    >>> gs.ksd_test(x, gs.families.DirichletMultinomial.fit(x), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, gs.families.Multinomial.fit(x), rng=1).pvalue < 0.01
    True
    """

    total: int
    alpha: Array

    _free = free(alpha=Positive())

    def __init__(self, total: int, alpha: ArrayLike) -> None:
        weights, total = vector(alpha, "alpha", above=0.0), check_count(total, "total")
        if len(weights) < 2:
            raise InputError("expected two numbers or more, one for each kind, got 1.", argument="alpha")
        self._set(total=total, alpha=weights, domain=Naturals.fixed_total(len(weights)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """The maximum likelihood fit to counts (n, d) whose rows add up to the same total."""
        counts, total, p = as_shared_total(x)
        none = "they vary no more than multinomial counts do. Fit Multinomial."
        # The slope of the likelihood in 1/A at zero, where the law is multinomial.
        if not (counts * (counts - 1.0) / p).sum() > len(counts) * total * (total - 1.0):
            raise InputError(f"the likelihood has no maximum: {none}", argument="x")
        # Variances are c = (N + A)/(1 + A) times those of multinomial counts.
        c = max(counts.var(axis=0).sum() / (total * (p * (1.0 - p)).sum()), 1.0 + 1.0 / len(counts))
        start = cls(total, p * max((total - c) / (c - 1.0), SMALLEST))
        return most_likely(start, counts, none)

    def _logpmf(self, x: Array) -> Array:
        from scipy.special import betaln

        n, whole = self.total, self.alpha.sum()
        # Γ(x + α)/(Γ(α) x!) = 1/((x + α) B(α, x + 1)), which does not cancel where α is large.
        parts = np.log(x + self.alpha) + betaln(self.alpha, x + 1.0)
        logs = np.log(n + whole) + betaln(whole, n + 1.0) - parts.sum(axis=1)
        return np.where(x.sum(axis=1) == n, logs, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        p: Any = rng.dirichlet(self.alpha, n)
        return rng.multinomial(self.total, p).astype(np.float64)
