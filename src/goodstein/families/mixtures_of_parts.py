"""Mixtures of Dirichlet and of logistic-normal distributions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, numbers
from goodstein.domains import Simplex
from goodstein.errors import InputError, refuse_rows
from goodstein.families.base import Family
from goodstein.families.checks import as_compositions, vector
from goodstein.families.coordinates import Definite, Location, Positive, Shares, free
from goodstein.families.dirichlet import Dirichlet, fitted_alpha
from goodstein.families.logistic_normal import LogisticNormal
from goodstein.families.mixture import GaussianMixture
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

STARTS, STEPS, GAIN = 3, 500, 1e-8
"""Random starts of EM, steps of each, and the gain of the mean log likelihood at which it ends."""


def as_weights(weights: ArrayLike) -> Array:
    """Positive numbers that sum to one; they are never rescaled."""
    found = vector(weights, "weights", above=0.0)
    if abs(found.sum() - 1) > 1e-8:
        remedy = "Divide them by their sum if that is what you mean."
        raise InputError(
            f"must sum to 1, but the sum is {found.sum():.10g}.", argument="weights", remedy=remedy
        )
    return found


class MixtureOfParts(Family):
    """A mixture on the simplex, of components that are families there."""

    weights: Array
    domain: Simplex
    _components: tuple[Any, ...]

    def score(self, x: ArrayLike) -> Array:
        points = self._points(x)
        return self._mixed(points, [one.score(points) for one in self._components])

    def weighted_score(self, x: ArrayLike) -> Array:
        """x ∘ score, (n, d)."""
        points = self._points(x)
        return self._mixed(points, [one.weighted_score(points) for one in self._components])

    def _mixed(self, x: Array, values: list[Array]) -> Array:
        shares = self.responsibilities(x)
        return np.asarray(sum(share[:, None] * value for share, value in zip(shares.T, values, strict=True)))

    def logpdf(self, x: ArrayLike) -> Array:
        return np.asarray(np.logaddexp.reduce(self._joint(self._points(x)), axis=1))

    def responsibilities(self, x: ArrayLike) -> Array:
        """The probability that each point came from each component, (n, k)."""
        joint = self._joint(self._points(x))
        with np.errstate(invalid="ignore"):
            found = np.asarray(np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]))
        what = "are such that no component, or every one, is infinitely likely there."
        refuse_rows(np.isnan(found).any(axis=1), what, "Remove them.", argument="x")
        return found

    def _joint(self, x: Array) -> Array:
        return np.stack([one.logpdf(x) for one in self._components], axis=1) + np.log(self.weights)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        label = rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum())
        out = np.empty((n, self.dim))
        for j, one in enumerate(self._components):
            out[label == j] = one.sample(int((label == j).sum()), rng)
        return out


class DirichletMixture(MixtureOfParts):
    r"""Mixture of k Dirichlet distributions of compositions with d parts.

    .. math:: q(x) = \sum_j w_j \mathrm{Dir}(x; \alpha_j), \qquad
              x_i s_i(x) = \sum_j r_j(x) (\alpha_{ji} - 1).

    Parameters
    ----------
    weights
        Positive weights that sum to one, (k,).
    alphas
        Concentrations, (k, d).

    References
    ----------
    Sjölander et al. (1996), Dirichlet mixtures: a method for improved detection of weak but significant
    protein sequence homology.

    Examples
    --------
    >>> from goodstein.families import DirichletMixture
    >>> q = DirichletMixture([0.5, 0.5], [[8, 2, 2], [2, 2, 8]])
    >>> q.weighted_score([[1 / 3, 1 / 3, 1 / 3]])
    array([[4., 1., 4.]])
    """

    weights: Array
    alphas: Array
    domain: Simplex

    _free = free(weights=Shares(), alphas=Positive())

    def __init__(self, weights: ArrayLike, alphas: ArrayLike) -> None:
        shares, matrix = as_weights(weights), numbers(alphas, "alphas", ndim=2, above=0.0)
        if len(matrix) != len(shares):
            raise InputError(f"expected {len(shares)} rows, got {len(matrix)}.", argument="alphas")
        parts = tuple(Dirichlet(row) for row in matrix)
        self._set(weights=shares, alphas=matrix, _components=parts, domain=parts[0].domain)

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int, rng: RNG = None) -> Self:
        """Maximum likelihood by EM from three random starts, from positive parts."""
        points, k = as_compositions(x), check_count(n_components, "n_components")
        if len(points) < 2 * k:
            reason = f"{k} components need at least {2 * k} rows, `x` has {len(points)}."
            raise InputError(reason, argument="n_components")
        generator = as_generator(rng)
        found = [cls._climbed(points, k, generator) for _ in range(STARTS if k > 1 else 1)]
        return max(found, key=lambda one: float(one.logpdf(points).mean()))

    @classmethod
    def _climbed(cls, x: Array, k: int, rng: np.random.Generator) -> Self:
        """Where EM ends that starts at points which are drawn as centres."""
        centres = x[rng.choice(len(x), size=k, replace=False)]
        distance = ((np.sqrt(x)[:, None] - np.sqrt(centres)) ** 2).sum(axis=2)
        shares = np.eye(k)[distance.argmin(axis=1)] * 0.8 + 0.2 / k
        before = -np.inf
        for _ in range(STEPS):
            alphas = [fitted_alpha(x, column) for column in shares.T]
            fit = cls(shares.mean(axis=0) / shares.mean(axis=0).sum(), alphas)
            value = float(fit.logpdf(x).mean())
            if value - before < GAIN:
                return fit
            before, shares = value, fit.responsibilities(x)
        return fit


class LogisticNormalMixture(MixtureOfParts):
    r"""Mixture of k logistic-normal distributions of compositions with d parts.

    .. math:: q(x) = \sum_j w_j \mathrm{LN}(x; \mu_j, \Sigma_j)

    with components as in :class:`LogisticNormal`: the log-ratio coordinates are a mixture of normals.

    Parameters
    ----------
    weights
        Positive weights that sum to one, (k,).
    means
        Means of the log-ratio coordinates, (k, d - 1).
    covs
        Their covariances, as in :class:`GaussianMixture`.

    Examples
    --------
    >>> from goodstein.families import LogisticNormalMixture
    >>> q = LogisticNormalMixture([0.5, 0.5], [[0, 1], [0, -1]])
    >>> q.weighted_score([[1 / 3, 1 / 3, 1 / 3]]).round(12)
    array([[-1., -1., -1.]])
    """

    weights: Array
    means: Array
    covs: Array
    domain: Simplex

    _free = free(weights=Shares(), means=Location("covs"), covs=Definite())

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike = 1.0) -> None:
        flat = GaussianMixture(weights, means, covs)
        parts = tuple(LogisticNormal(m, c) for m, c in zip(flat.means, flat.covs, strict=True))
        self._set(weights=flat.weights, means=flat.means, covs=flat.covs, _components=parts)
        self._set(domain=parts[0].domain)

    @classmethod
    def fit(cls, x: ArrayLike, n_components: int, rng: RNG = None) -> Self:
        """By EM of the log-ratio coordinates, as :meth:`GaussianMixture.fit`, from positive parts."""
        points = as_compositions(x)
        flat = GaussianMixture.fit(Simplex(points.shape[1]).to_logratio(points), n_components, rng)
        return cls(flat.weights, flat.means, flat.covs)
