"""Probabilistic principal components."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, number, numbers
from goodstein.domains import Euclidean
from goodstein.errors import InputError
from goodstein.families.base import Family, latent_model
from goodstein.families.checks import as_pairs, as_sample, require_spread, vector
from goodstein.families.normal import log_normal
from goodstein.families.scatter import Scatter
from goodstein.models.latent import LatentModel
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_generator


class ProbabilisticPCA(Family):
    r"""Probabilistic principal component analysis: x = μ + Wz + σε, with z and ε standard normal.

    The marginal is normal, and so is the posterior of the latent variable:

    .. math::

        x \sim N(\mu, WW^\top + \sigma^2 I), \qquad
        z \mid x \sim N\bigl(M^{-1}W^\top(x-\mu), \sigma^2 M^{-1}\bigr),
        \quad M = W^\top W + \sigma^2 I.

    The family itself has the score of the marginal; :meth:`latent` forgets it and keeps
    ∇_x log q(x | z) = (μ + Wz − x)/σ² and draws of z given x.

    Parameters
    ----------
    loadings
        W, (d, k).
    variance
        σ², the variance of the noise.
    mean
        μ, (d,); a number stands for all coordinates.

    References
    ----------
    Tipping & Bishop (1999), "Probabilistic principal component analysis", *Journal of the Royal
    Statistical Society B* 61.

    Examples
    --------
    >>> from goodstein.families import ProbabilisticPCA
    >>> q = ProbabilisticPCA([[1], [2]], variance=1)
    >>> q
    ProbabilisticPCA(loadings=[[1], [2]], variance=1, mean=[0, 0])
    >>> q.score([[1, 2]]).round(4)
    array([[-0.1667, -0.3333]])
    >>> q.latent().estimated_score([[1, 2]], draws=100_000, rng=1).round(1)
    array([[-0.2, -0.3]])
    """

    loadings: Array
    variance: float
    mean: Array
    _scatter: Scatter
    _posterior: Scatter

    def __init__(self, loadings: ArrayLike, variance: ArrayLike = 1.0, mean: ArrayLike = 0.0) -> None:
        loadings = numbers(loadings, "loadings")
        if loadings.ndim != 2:
            reason = f"expected shape (d, k), one row for each coordinate, got {loadings.shape}."
            raise InputError(reason, argument="loadings")
        d, k = loadings.shape
        variance, mean = number(variance, "variance", above=0.0), vector(mean, "mean")
        if len(mean) not in (1, d):
            raise InputError(f"`mean` has {len(mean)} coordinates, but `loadings` has {d} rows.")
        scatter = Scatter("The covariance", loadings @ loadings.T + variance * np.eye(d))
        posterior = Scatter("The posterior precision", loadings.T @ loadings / variance + np.eye(k))
        self._set(loadings=loadings, variance=variance, mean=np.broadcast_to(mean, d).copy())
        self._set(_scatter=scatter, _posterior=posterior, domain=Euclidean(d))

    def _brief(self) -> dict[str, Any]:
        d, k = self.loadings.shape
        return {"d": d, "k": k, "variance": self.variance}

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int) -> Self:
        """Maximum likelihood with 0 < k < d components, from the eigenvectors of the covariance.

        The columns of W are eigenvectors, the longest first; the variance is the mean of the other
        eigenvalues.
        """
        x = as_sample(x)
        k, d = check_count(n_components, "n_components"), x.shape[1]
        if k >= d:
            reason = f"is {k}, but there are {d} columns: the variance of the noise needs k < d."
            raise InputError(reason, argument="n_components", predicate=True)
        require_spread(x)
        mean = x.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
        variance = float(values[: d - k].mean())
        if not variance > 4 * d * np.finfo(float).eps * values[-1]:
            reason = f"{k} components explain all of its variance, which leaves no noise."
            raise InputError(reason, argument="x", remedy="Take fewer.")
        largest = vectors[:, ::-1][:, :k]
        return cls(largest * np.sqrt(np.maximum(values[::-1][:k] - variance, 0.0)), variance, mean)

    def score(self, x: ArrayLike) -> Array:
        return (self.mean - self._points(x)) @ self._scatter.precision

    def logpdf(self, x: ArrayLike) -> Array:
        return log_normal(self._points(x) - self.mean, self._scatter)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        d, k = self.loadings.shape
        z, noise = rng.standard_normal((n, k)), rng.standard_normal((n, d))
        return np.asarray(self.mean + z @ self.loadings.T + np.sqrt(self.variance) * noise)

    def latent(self) -> LatentModel:
        """The same distribution as a model with latent variables, its score unknown."""
        return latent_model(self, "latent z")

    def conditional_score(self, x: Array, z: Array) -> Array:
        """(μ + Wz − x)/σ², (n, d), for latent values (n, k)."""
        points, latent = as_pairs(self._points(x), z, (self.loadings.shape[1],))
        return np.asarray((self.mean + latent @ self.loadings.T - points) / self.variance)

    def posterior_sample(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        """Draws of z for each point, (n, draws, k)."""
        # With A = I + WᵀW/σ² the posterior is N(A⁻¹Wᵀ(x − μ)/σ², A⁻¹).
        inverse, draws, rng = self._posterior.precision, check_count(draws, "draws"), as_generator(rng)
        centre = (self._points(x) - self.mean) @ self.loadings @ inverse / self.variance
        noise = rng.standard_normal((len(centre), draws, len(inverse)))
        return np.asarray(centre[:, None] + noise @ np.linalg.cholesky(inverse).T)
