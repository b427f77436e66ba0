"""Mixtures of normal distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from goodstein.domains import Euclidean
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_parameter, as_sample, as_vector, require_positive, require_spread
from goodstein.families.normal import log_normal
from goodstein.families.scatter import Scatter
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count

if TYPE_CHECKING:
    from goodstein.models.latent import LatentModel


class GaussianMixture(Family):
    r"""Mixture of k normal distributions on R^d.

    .. math::

        \log q(x) = \log \sum_j w_j N(x; \mu_j, \Sigma_j),
        \qquad
        s(x) = -\sum_j r_j(x)\, \Sigma_j^{-1} (x - \mu_j),
        \qquad
        r_j(x) = \frac{w_j N(x; \mu_j, \Sigma_j)}{q(x)}.

    The score hardly feels the weights of components that lie far apart, so a Stein test has
    little power against a wrong weight there; this is a property of the score, not of this
    implementation.

    Parameters
    ----------
    weights
        Positive weights that sum to one, (k,). They are never rescaled.
    means
        Means, (k, d); for d = 1 also (k,).
    covs
        Covariances: (k, d, d); (d, d), shared by all components; (k,), one variance for each
        component; or a number, one variance for all.

    References
    ----------
    McLachlan & Peel (2000), *Finite Mixture Models*.
    Wenliang & Kanagawa (2020), "Blindness of score-based methods to isolated components and
    mixing proportions", arXiv:2008.10087.

    Examples
    --------
    >>> from goodstein.families import GaussianMixture
    >>> q = GaussianMixture([0.5, 0.5], means=[-1, 1], covs=1)
    >>> q
    GaussianMixture(weights=[0.5, 0.5], means=[[-1], [1]], covs=[[[1]], [[1]]])
    >>> q.score([[0], [2]]).round(4)
    array([[ 0.   ],
           [-1.036]])
    """

    _parameters: ClassVar[tuple[str, ...]] = ("weights", "means", "covs")

    weights: Array
    means: Array
    covs: Array
    _scatters: tuple[Scatter, ...]

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike = 1.0) -> None:
        weights = as_vector("weights", weights)
        require_positive("weights", weights)
        if abs(weights.sum() - 1) > 1e-8:
            raise InputError(
                f"`weights`: must sum to 1, but the sum is {weights.sum():.10g}. "
                "Divide them by their sum if that is what you mean."
            )
        means = as_parameter("means", means)
        if means.ndim == 1:
            means = means[:, None]
        k = len(weights)
        if means.ndim != 2 or len(means) != k:
            raise InputError(f"`means`: expected shape ({k}, d) for {k} weights, got {means.shape}.")
        scatters = _scatters(covs, *means.shape)
        self._set(
            weights=weights,
            means=means,
            covs=np.stack([scatter.matrix for scatter in scatters]),
            _scatters=scatters,
            domain=Euclidean(means.shape[1]),
        )

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int, rng: RNG = None) -> Self:
        """Fit by EM with k-means starts, through scikit-learn.

        The best of five starts is kept. One millionth of each column's variance is added to
        the covariances, which keeps a component from collapsing onto a point.

        Parameters
        ----------
        x
            Observations, (n, d).
        n_components
            Number of components k.
        rng
            Seed or generator for the starts.
        """
        x = as_sample(x)
        k = check_count(n_components, "n_components")
        if len(x) < k:
            raise InputError(f"`n_components`: {k} components need at least as many rows, `x` has {len(x)}.")
        require_spread(x)
        try:
            from sklearn.mixture import GaussianMixture as Estimator
        except ImportError:
            raise ImportError(
                "GaussianMixture.fit needs scikit-learn. Install it: pip install scikit-learn."
            ) from None
        # Standardised first, because scikit-learn's regularisation is absolute.
        center, scale = x.mean(axis=0), x.std(axis=0)
        seed = int(np.random.default_rng(rng).integers(2**31))
        estimator = Estimator(k, n_init=5, max_iter=2000, tol=1e-6, random_state=seed)
        estimator.fit((x - center) / scale)
        if not estimator.converged_:
            raise InputError(
                f"`x`: EM for {k} components did not converge within 2000 steps. Ask for fewer components."
            )
        return cls(
            estimator.weights_ / estimator.weights_.sum(),
            center + scale * estimator.means_,
            estimator.covariances_ * scale[:, None] * scale,
        )

    def score(self, x: ArrayLike) -> Array:
        """-Σ_j r_j(x) Σ_j⁻¹(x - μ_j), (n, d)."""
        x = self._points(x)
        joint = self._log_joint(x)
        responsibilities = np.exp(joint - _log_sum_exp(joint)[:, None])
        score = np.zeros_like(x)
        # One component after the other: the memory is n (k + d), not n k d.
        for responsibility, mean, scatter in zip(responsibilities.T, self.means, self._scatters, strict=True):
            score += responsibility[:, None] * ((mean - x) @ scatter.precision)
        return np.asarray(score)

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density, normalised, (n,)."""
        return _log_sum_exp(self._log_joint(self._points(x)))

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d)."""
        rng = np.random.default_rng(rng)
        # Here they may sum to one within 1e-8 only; numpy wants it to rounding.
        weights = self.weights / self.weights.sum()
        label = rng.choice(len(weights), size=check_count(n, "n", 0), p=weights)
        points = rng.standard_normal((n, self.dim))
        for j, scatter in enumerate(self._scatters):
            points[label == j] = self.means[j] + points[label == j] @ scatter.factor.T
        return points

    def latent(self) -> LatentModel:
        """The same distribution as a model with a latent variable, the label of the component."""
        from goodstein.families.labels import Labels
        from goodstein.models.latent import LatentModel

        labels = Labels(self)
        return LatentModel(
            labels.conditional_score,
            labels.posterior_sample,
            self.domain,
            sample=self.sample,
            name=f"{self!r} with labels",
        )

    def _log_joint(self, x: Array) -> Array:
        """log w_j N(x; μ_j, Σ_j), (n, k)."""
        columns = [log_normal(x - m, scatter) for m, scatter in zip(self.means, self._scatters, strict=True)]
        return np.stack(columns, axis=1) + np.log(self.weights)


def _log_sum_exp(values: Array) -> Array:
    top = values.max(axis=1)
    return np.asarray(top + np.log(np.exp(values - top[:, None]).sum(axis=1)))


def _scatters(covs: ArrayLike, k: int, d: int) -> tuple[Scatter, ...]:
    array = as_parameter("covs", covs)
    if array.shape in ((), (k,)):
        require_positive("covs", array)
        return tuple(Scatter("`covs`", variance * np.eye(d)) for variance in np.broadcast_to(array, k))
    if array.shape == (d, d):
        return (Scatter("`covs`", array),) * k
    if array.shape == (k, d, d):
        return tuple(Scatter(f"`covs[{j}]`", matrix) for j, matrix in enumerate(array))
    raise InputError(
        f"`covs`: expected shape ({k}, {d}, {d}), or ({d}, {d}) shared, or ({k},) variances, or a number, "
        f"got {array.shape}."
    )
