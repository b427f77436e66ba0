"""Probabilistic principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from goodstein.domains import Euclidean
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_parameter, as_positive, as_sample, as_vector, require_spread
from goodstein.families.normal import log_normal
from goodstein.families.scatter import Scatter
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count

if TYPE_CHECKING:
    from goodstein.models.latent import LatentModel


class ProbabilisticPCA(Family):
    r"""Probabilistic principal component analysis: x = μ + Wz + σε, with z and ε standard normal.

    The marginal is normal, and so is the posterior of the latent variable:

    .. math::

        x \sim N(\mu, WW^\top + \sigma^2 I),
        \qquad
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
    """

    _parameters: ClassVar[tuple[str, ...]] = ("loadings", "variance", "mean")

    loadings: Array
    variance: float
    mean: Array
    _scatter: Scatter
    _posterior: Scatter

    def __init__(self, loadings: ArrayLike, variance: ArrayLike = 1.0, mean: ArrayLike = 0.0) -> None:
        loadings = as_parameter("loadings", loadings)
        if loadings.ndim != 2:
            raise InputError(
                f"`loadings`: expected shape (d, k), one row for each coordinate, got {loadings.shape}."
            )
        d, k = loadings.shape
        variance = as_positive("variance", variance)
        mean = as_vector("mean", mean)
        if len(mean) not in (1, d):
            raise InputError(f"`mean` has {len(mean)} coordinates, but `loadings` has {d} rows.")
        middle = loadings.T @ loadings / variance + np.eye(k)
        self._set(
            loadings=loadings,
            variance=variance,
            mean=np.broadcast_to(mean, d).copy(),
            _scatter=Scatter("The covariance", loadings @ loadings.T + variance * np.eye(d)),
            _posterior=Scatter("The posterior precision", middle),
            domain=Euclidean(d),
        )

    def __repr__(self) -> str:
        return super().__repr__().replace(f"(d={self.dim})", f"(d={self.dim}, k={self.loadings.shape[1]})")

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int) -> Self:
        """Maximum likelihood, from the eigenvectors of the covariance.

        The columns of W are eigenvectors, the longest first; the variance is the mean of the other
        eigenvalues.

        Parameters
        ----------
        x
            Observations, (n, d).
        n_components
            k, from 0 < k < d.
        """
        x = as_sample(x)
        k, d = check_count(n_components, "n_components"), x.shape[1]
        if k >= d:
            raise InputError(
                f"`n_components` is {k}, but there are {d} columns: the variance of the noise needs k < d."
            )
        require_spread(x)
        mean = x.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
        variance = float(values[: d - k].mean())
        if not variance > 4 * d * np.finfo(float).eps * values[-1]:
            raise InputError(
                f"`x`: {k} components explain all of its variance, which leaves no noise. Take fewer."
            )
        largest = vectors[:, ::-1][:, :k]
        return cls(largest * np.sqrt(np.maximum(values[::-1][:k] - variance, 0.0)), variance, mean)

    def score(self, x: ArrayLike) -> Array:
        """−(WWᵀ + σ²I)⁻¹(x − μ), (n, d)."""
        return (self.mean - self._points(x)) @ self._scatter.precision

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density of the marginal, normalised, (n,)."""
        return log_normal(self._points(x) - self.mean, self._scatter)

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d)."""
        generator, (d, k) = np.random.default_rng(rng), self.loadings.shape
        z = generator.standard_normal((check_count(n, "n", 0), k))
        noise = generator.standard_normal((n, d))
        return np.asarray(self.mean + z @ self.loadings.T + np.sqrt(self.variance) * noise)

    def latent(self) -> LatentModel:
        """The same distribution as a model with latent variables, its score unknown.

        Examples
        --------
        >>> import goodstein as gs
        >>> q = gs.families.ProbabilisticPCA([[1], [2]], variance=1)
        >>> x = q.sample(100, rng=1)
        >>> gs.ksd_test(x, q.latent(), rng=1).operator
        Latent(draws=100, operator=Langevin())
        """
        from goodstein.models.latent import LatentModel

        return LatentModel(
            self.conditional_score,
            self.posterior_sample,
            self.domain,
            sample=self.sample,
            name=f"{self!r} with latent z",
        )

    def conditional_score(self, x: Array, z: Array) -> Array:
        """(μ + Wz − x)/σ², (n, d), for latent values (n, k)."""
        return np.asarray((self.mean + z @ self.loadings.T - x) / self.variance)

    def posterior_sample(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        """Draws of z for each point, (n, draws, k)."""
        # With A = I + WᵀW/σ² the posterior is N(A⁻¹Wᵀ(x − μ)/σ², A⁻¹).
        inverse = self._posterior.precision
        centre = (self._points(x) - self.mean) @ self.loadings @ inverse / self.variance
        noise = rng.standard_normal((len(centre), draws, len(inverse)))
        return np.asarray(centre[:, None] + noise @ np.linalg.cholesky(inverse).T)
