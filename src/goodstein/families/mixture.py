"""Mixtures of normal distributions."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from goodstein.constraints import LARGEST, check_count, numbers
from goodstein.domains import Euclidean
from goodstein.errors import InputError, must
from goodstein.families.base import Family, latent_model
from goodstein.families.checks import as_pairs, as_points, as_sample, require_spread, vector
from goodstein.families.coordinates import Definite, Location, Shares, free
from goodstein.families.normal import log_normal
from goodstein.families.scatter import Scatter
from goodstein.models.latent import LatentModel
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator


class GaussianMixture(Family):
    r"""Mixture of k normal distributions on R^d.

    .. math::

        \log q(x) = \log \sum_j w_j N(x; \mu_j, \Sigma_j), \qquad
        s(x) = -\sum_j r_j(x)\, \Sigma_j^{-1} (x - \mu_j), \qquad
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

    weights: Array
    means: Array
    covs: Array
    _scatters: tuple[Scatter, ...]

    _free = free(weights=Shares(), means=Location("covs"), covs=Definite())

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike = 1.0) -> None:
        weights = vector(weights, "weights", above=0.0)
        if abs(weights.sum() - 1) > 1e-8:
            reason = f"must sum to 1, but the sum is {weights.sum():.10g}."
            remedy = "Divide them by their sum if that is what you mean."
            raise InputError(reason, argument="weights", remedy=remedy)
        means = numbers(means, "means")
        if means.ndim == 1:
            means = means[:, None]
        k = len(weights)
        if means.ndim != 2 or len(means) != k:
            reason = f"expected shape ({k}, d) for {k} weights, got {means.shape}."
            raise InputError(reason, argument="means")
        scatters = _scatters(covs, *means.shape)
        matrices = np.stack([scatter.matrix for scatter in scatters])
        self._set(weights=weights, means=means, covs=matrices, _scatters=scatters)
        self._set(domain=Euclidean(means.shape[1]))

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int, rng: RNG = None) -> Self:
        """Fit by EM with k-means starts, through scikit-learn; ``rng`` is for the starts.

        The best of five starts is kept. One millionth of each column's variance is added to
        the covariances, which keeps a component from collapsing onto a point.
        """
        x = as_sample(x)
        k = check_count(n_components, "n_components")
        if len(x) < k:
            reason = f"{k} components need at least as many rows, `x` has {len(x)}."
            raise InputError(reason, argument="n_components")
        require_spread(x)
        try:
            from sklearn.mixture import GaussianMixture as Estimator
        except ImportError:
            needs = "GaussianMixture.fit needs scikit-learn. Install it: pip install scikit-learn."
            raise ImportError(needs) from None
        # Standardised first, because scikit-learn's regularisation is absolute.
        center, scale = x.mean(axis=0), x.std(axis=0)
        seed = int(as_generator(rng).integers(2**31))
        estimator = Estimator(k, n_init=5, max_iter=2000, tol=1e-6, random_state=seed)
        estimator.fit((x - center) / scale)
        if not estimator.converged_:
            reason = f"EM for {k} components did not converge within 2000 steps."
            raise InputError(reason, argument="x", remedy="Ask for fewer components.")
        covariances = estimator.covariances_ * scale[:, None] * scale
        return cls(
            estimator.weights_ / estimator.weights_.sum(), center + scale * estimator.means_, covariances
        )

    def score(self, x: ArrayLike) -> Array:
        x = self._points(x)
        responsibilities = self._responsibilities(x)
        score = np.zeros_like(x)
        # One component after the other: the memory is n (k + d), not n k d.
        for responsibility, mean, scatter in zip(responsibilities.T, self.means, self._scatters, strict=True):
            score += responsibility[:, None] * ((mean - x) @ scatter.precision)
        return np.asarray(score)

    def logpdf(self, x: ArrayLike) -> Array:
        return _log_sum_exp(self._log_joint(self._points(x)))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        # Here they may sum to one within 1e-8 only; numpy wants it to rounding.
        weights = self.weights / self.weights.sum()
        label = rng.choice(len(weights), size=n, p=weights)
        points = rng.standard_normal((n, self.dim))
        for j, scatter in enumerate(self._scatters):
            points[label == j] = self.means[j] + points[label == j] @ scatter.factor.T
        return points

    def latent(self) -> LatentModel:
        """The same distribution as a model with a latent variable, the label of the component."""
        return latent_model(self, "labels")

    def _points(self, x: ArrayLike) -> Array:
        # Beyond, no component is nearer than another.
        return as_points(x, self.dim, largest=LARGEST**2)

    def conditional_score(self, x: Array, z: npt.NDArray[np.intp]) -> Array:
        """Σ_z⁻¹(μ_z − x), (n, d), for labels (n,)."""
        x, labels = as_pairs(self._points(x), z, ())
        if not np.isin(labels, np.arange(len(self.weights))).all():
            raise must("z", f"labels of components, from 0 to {len(self.weights) - 1}", z)
        score = np.empty_like(x)
        for j, (mean, scatter) in enumerate(zip(self.means, self._scatters, strict=True)):
            score[labels == j] = (mean - x[labels == j]) @ scatter.precision
        return score

    def posterior_sample(self, x: Array, draws: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Labels by the responsibilities of the components, (n, draws)."""
        x, draws, rng = self._points(x), check_count(draws, "draws"), as_generator(rng)
        edges = np.cumsum(self._responsibilities(x)[:, :-1], axis=1)
        return np.asarray((rng.random((len(x), draws, 1)) >= edges[:, None]).sum(axis=2))

    def _responsibilities(self, x: Array) -> Array:
        """r_j(x), (n, k)."""
        joint = self._log_joint(x)
        return np.asarray(np.exp(joint - _log_sum_exp(joint)[:, None]))

    def _log_joint(self, x: Array) -> Array:
        """log w_j N(x; μ_j, Σ_j), (n, k)."""
        columns = [log_normal(x - m, scatter) for m, scatter in zip(self.means, self._scatters, strict=True)]
        return np.stack(columns, axis=1) + np.log(self.weights)


def _log_sum_exp(values: Array) -> Array:
    top = values.max(axis=1)
    return np.asarray(top + np.log(np.exp(values - top[:, None]).sum(axis=1)))


def _scatters(covs: ArrayLike, k: int, d: int) -> tuple[Scatter, ...]:
    array = numbers(covs, "covs", largest=LARGEST**2)
    if array.shape in ((), (k,)):
        numbers(covs, "covs", above=0.0, largest=LARGEST**2)
        return tuple(Scatter("`covs`", variance * np.eye(d)) for variance in np.broadcast_to(array, k))
    if array.shape == (d, d):
        return (Scatter("`covs`", array),) * k
    if array.shape == (k, d, d):
        return tuple(Scatter(f"`covs[{j}]`", matrix) for j, matrix in enumerate(array))
    expected = f"({k}, {d}, {d}), or ({d}, {d}) shared, or ({k},) variances, or a number"
    raise InputError(f"expected shape {expected}, got {array.shape}.", argument="covs")
