"""Regressions of counts: a count y given covariates x, with the parameters of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.domains.naturals import Naturals
from goodstein.errors import InputError
from goodstein.types import Array

SMALLEST = 1e-300
"""The least mean: one that is rounded to zero has no logarithm."""


@dataclass(frozen=True, eq=False)
class CountRegression:
    r"""Poisson and negative binomial laws of a count, with extra zeros or without.

    The mean is μ = g(xβ + offset), the variance μ + αμ^P, and extra zeros have probability expit(zγ).

    Attributes
    ----------
    parameters
        (γ, β, α), those that there are.
    inverse
        g, the inverse of the link.
    regressors
        Columns of x that belong to β, the first ones.
    inflation
        Columns of z, those that follow; None where there are no extra zeros. A constant z, that of one
        probability for all, is no column of x but a one.
    dispersion
        α where it is known and no parameter; None where it is the last parameter, or for a Poisson law.
    power
        P, or None for a Poisson law.
    offset
        Whether the last column of x is added to xβ.
    """

    parameters: Array
    inverse: Callable[[Array], Array]
    regressors: int
    inflation: int | None = None
    constant: bool = True
    dispersion: float | None = None
    power: float | None = None
    offset: bool = False

    domain = Naturals(1)  # no annotation: not a field

    @property
    def columns(self) -> int:
        """Columns of x."""
        extra = 0 if self.inflation is None or self.constant else self.inflation
        return self.regressors + extra + self.offset

    def moved(self, by: Array) -> CountRegression:
        """With other parameters close by."""
        return replace(self, parameters=self.parameters + by)

    def laws(self, x: Array) -> tuple[Array, Array | None, Array]:
        """μ, the size of the negative binomial law or None, and the probability of extra zeros, all (n,)."""
        rows = x[:, None] if x.ndim == 1 else x
        if rows.shape[1] != self.columns:
            raise InputError(
                f"`x` has {rows.shape[1]} columns, and the regression {self.columns}: its regressors, those "
                "of extra zeros, and the offset, as far as there are any.",
                remedy="Paired.of_fit(results) has them in this order.",
            )
        zero, theta = 0 if self.inflation is None else self.inflation, self.parameters
        beta = theta[zero : zero + self.regressors]
        line = rows[:, : self.regressors] @ beta + (rows[:, -1] if self.offset else 0.0)
        mean = np.maximum(self.inverse(line), SMALLEST)
        extra = np.zeros(len(rows))
        if zero:
            z = (
                np.ones((len(rows), 1))
                if self.constant
                else rows[:, self.regressors : self.regressors + zero]
            )
            extra = 1.0 / (1.0 + np.exp(-z @ theta[:zero]))
        if self.power is None:
            return mean, None, extra
        alpha = float(theta[-1]) if self.dispersion is None else self.dispersion
        if not alpha > 0:
            raise InputError(f"the dispersion must be positive, got {alpha:g}.", argument="parameters")
        return mean, mean ** (2.0 - self.power) / alpha, extra

    def logpdf(self, y: Array, x: Array) -> Array:
        """log p(y | x), (n,)."""
        from scipy.special import betaln, gammaln

        mean, size, extra = self.laws(x)
        k = y.reshape(len(y))
        if size is None:
            logs = k * np.log(mean) - mean - gammaln(k + 1.0)
        else:
            choose = -np.log(k + size) - betaln(size, k + 1.0)
            logs = choose - size * np.log1p(mean / size) + k * (np.log(mean) - np.log(size + mean))
        if self.inflation is None:
            return np.asarray(logs)
        with np.errstate(divide="ignore"):
            zeros = np.where(k == 0, np.log(extra), -np.inf)
        return np.asarray(np.logaddexp(zeros, np.log1p(-extra) + logs))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """One draw of y for each row, (n,)."""
        mean, size, extra = self.laws(x)
        rate: Any = mean if size is None else rng.gamma(size, mean / size)
        return np.where(rng.random(len(mean)) < extra, 0.0, rng.poisson(rate).astype(np.float64))
