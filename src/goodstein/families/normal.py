"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from goodstein.domains import Euclidean
from goodstein.families.base import Family
from goodstein.families.checks import as_sample, require_spread
from goodstein.families.coordinates import Definite, Location, free, lower_of
from goodstein.families.scatter import Scatter, location_and_scatter
from goodstein.types import Array, ArrayLike

LOG_2PI = math.log(2 * math.pi)


class Normal(Family):
    r"""Multivariate normal distribution on R^d.

    .. math::

        \log q(x) = -\tfrac12 (x-\mu)^\top \Sigma^{-1} (x-\mu) - \tfrac12 \log\det\Sigma
        - \tfrac d2 \log 2\pi, \qquad s(x) = -\Sigma^{-1}(x-\mu).

    Parameters
    ----------
    mean
        Mean, (d,); a number stands for all coordinates.
    cov
        Covariance, (d, d) symmetric and positive definite; a number stands for that multiple of the identity.

    References
    ----------
    Mardia, Kent & Bibby (1979), *Multivariate Analysis*, chapter 3.

    Examples
    --------
    >>> from goodstein.families import Normal
    >>> q = Normal([0, 1], [[2, 1], [1, 2]])
    >>> q
    Normal(mean=[0, 1], cov=[[2, 1], [1, 2]])
    >>> q.score([[3, 1]])
    array([[-2.,  1.]])
    >>> Normal.fit([[0, 0], [2, 0], [0, 4], [2, 4]])
    Normal(mean=[1, 2], cov=[[1, 0], [0, 4]])
    """

    mean: Array
    cov: Array
    _scatter: Scatter

    quasi_concave = True
    _free = free(mean=Location("cov"), cov=Definite())

    def __init__(self, mean: ArrayLike = 0.0, cov: ArrayLike = 1.0) -> None:
        center, scatter = location_and_scatter("mean", mean, "cov", cov)
        self._set(mean=center, cov=scatter.matrix, _scatter=scatter, domain=Euclidean(len(center)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood: the mean and the covariance with divisor n."""
        return cls(*mean_and_covariance(as_sample(x)))

    def score(self, x: ArrayLike) -> Array:
        return (self.mean - self._points(x)) @ self._scatter.precision

    def logpdf(self, x: ArrayLike) -> Array:
        return log_normal(self._points(x) - self.mean, self._scatter)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.mean + rng.standard_normal((n, self.dim)) @ self._scatter.factor.T

    def _influence_values(self, data: Any) -> Array:
        """z = L⁻¹(x − μ), and the lower triangle of zzᵀ − 1."""
        return moment_influence(self._points(data) - self.mean, self._scatter)

    def _brief(self) -> dict[str, Any]:
        return super()._brief() | {"variances": self.cov.diagonal()}


def log_normal(difference: Array, scatter: Scatter) -> Array:
    """Log density of N(0, Σ) at each row of (n, d), (n,)."""
    constant = scatter.logdet + difference.shape[1] * LOG_2PI
    return np.asarray(-0.5 * (scatter.squared_distance(difference) + constant))


def moment_influence(difference: Array, scatter: Scatter) -> Array:
    """Influence values of a mean and a covariance in the coordinates of :attr:`Normal._free`, (n, p)."""
    z = np.linalg.solve(scatter.factor, difference.T).T
    return np.hstack([z, lower_of(z[:, :, None] * z[:, None, :] - np.eye(z.shape[1]))])


def mean_and_covariance(x: Array, name: str = "`x`") -> tuple[Array, Array]:
    """Mean and covariance with divisor n; raises where the covariance is singular."""
    require_spread(x, name)
    mean = x.mean(axis=0)
    centered = x - mean
    cov = centered.T @ centered / len(x)
    size = f"{len(x)} rows and {len(mean)} columns"
    remedy = f"There are {size}: drop columns that follow from others, or add rows."
    Scatter(f"the covariance of {name}", cov, remedy)
    return mean, cov
