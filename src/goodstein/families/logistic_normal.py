"""The logistic-normal distribution."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from goodstein.domains import Simplex
from goodstein.families.base import Family
from goodstein.families.checks import as_compositions
from goodstein.families.coordinates import Definite, Location, free
from goodstein.families.normal import Normal, mean_and_covariance
from goodstein.types import Array, ArrayLike


class LogisticNormal(Family):
    r"""Normal distribution of the log-ratio coordinates of compositions with d parts.

    With the orthonormal rows :math:`V` of :attr:`Simplex.basis <goodstein.domains.Simplex.basis>`
    the isometric log-ratio coordinates are :math:`y = V \log x`, and

    .. math::

        \log q(x) = \log N(y; \mu, \Sigma) - \sum_i \log x_i - \tfrac12 \log d, \qquad
        x_i s_i(x) = -\bigl[V^\top \Sigma^{-1} (y - \mu)\bigr]_i - 1.

    The density is with respect to Lebesgue measure of the first d - 1 parts, as for
    :class:`Dirichlet`, so that the two can be compared. The score is that of the formula in
    all d coordinates; only its part along the simplex means anything.

    Parameters
    ----------
    mean
        Mean μ of the log-ratio coordinates, (d - 1,).
    cov
        Their covariance Σ, (d - 1, d - 1); a number stands for that multiple of the identity.

    References
    ----------
    Aitchison & Shen (1980), "Logistic-normal distributions: some properties and uses",
    *Biometrika* 67, 261-272.
    Egozcue et al. (2003), "Isometric logratio transformations for compositional data
    analysis", *Mathematical Geology* 35, 279-300.

    Examples
    --------
    >>> from goodstein.families import LogisticNormal
    >>> q = LogisticNormal([0, 0])
    >>> q
    LogisticNormal(mean=[0, 0], cov=[[1, 0], [0, 1]])
    >>> q.domain
    Simplex(3)
    >>> q.weighted_score([[1 / 3, 1 / 3, 1 / 3]]).round(12)
    array([[-1., -1., -1.]])
    >>> LogisticNormal.fit(LogisticNormal([1, -1], 0.5).sample(100_000, rng=0)).mean.round(1)
    array([ 1., -1.])
    """

    mean: Array
    cov: Array
    domain: Simplex
    _normal: Normal

    _free = free(mean=Location("cov"), cov=Definite())

    def __init__(self, mean: ArrayLike, cov: ArrayLike = 1.0) -> None:
        normal = Normal(mean, cov)
        self._set(mean=normal.mean, cov=normal.cov, _normal=normal, domain=Simplex(normal.dim + 1))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood from positive parts: mean and covariance (divisor n) of the log-ratios."""
        x = as_compositions(x)
        return cls(*mean_and_covariance(Simplex(x.shape[1]).to_logratio(x), "the log-ratios of `x`"))

    def score(self, x: ArrayLike) -> Array:
        """Score of the formula in all coordinates, (n, d); the parts must be positive."""
        return self.weighted_score(x) / self._points(x)

    def weighted_score(self, x: ArrayLike) -> Array:
        """x ∘ score, (n, d); the parts must be positive, otherwise there are no log-ratios."""
        return self._normal.score(self.domain.to_logratio(self._points(x))) @ self.domain.basis - 1

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density, normalised, (n,); -inf off the open simplex."""
        x = self._points(x)
        inside = self.domain.contains(x) & (x > 0).all(axis=1)
        value = np.full(len(x), -np.inf)
        x = x[inside]
        volume = np.log(x).sum(axis=1)
        value[inside] = self._normal.logpdf(self.domain.to_logratio(x)) - volume - 0.5 * math.log(self.dim)
        return value

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.domain.from_logratio(self._normal.sample(n, rng))

    def _influence_values(self, data: Any) -> Array:
        return self._normal._influence_values(self.domain.to_logratio(self._points(data)))

    def _brief(self) -> dict[str, Any]:
        return super()._brief() | {"variances": self.cov.diagonal()}
