"""Copulas of normal and Student's t distributions, and what all copulas share."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from goodstein.constraints import number, numbers
from goodstein.domains import Box
from goodstein.errors import InputError, refuse_rows
from goodstein.families.base import Family
from goodstein.families.checks import as_sample
from goodstein.families.scatter import Scatter
from goodstein.types import Array, ArrayLike


class Copula(Family):
    """A distribution on the unit cube whose margins are uniform.

    Its densities need not be bounded at corners, where the default operator's weight vanishes.
    """

    def _inside(self, x: ArrayLike) -> Array:
        """Points in the open cube: scores at its faces are infinite, or of no use."""
        points = self._points(x)
        bad = ((points <= 0) | (points >= 1)).any(axis=1)
        remedy = "Probabilities of exactly 0 or 1 come from rounding, or from margins that do not fit."
        refuse_rows(np.asarray(bad), "lie on the faces of the unit cube, or outside.", remedy, argument="x")
        return points


def as_probabilities(x: ArrayLike, least: int = 2) -> Array:
    """Points in the open unit cube, (n, d), from which a copula is fitted."""
    points = as_sample(x)
    if points.shape[1] < least:
        raise InputError(f"a copula has at least {least} columns, got {points.shape[1]}.", argument="x")
    if len(points) <= points.shape[1]:
        few = f"{len(points)} rows are too few to fit a copula of {points.shape[1]} columns."
        raise InputError(few, argument="x", remedy="Pass one row for each observation, and more of them.")
    bad = ((points <= 0) | (points >= 1)).any(axis=1)
    remedy = "Pass probabilities, such as cdf(x) of each column's distribution."
    refuse_rows(np.asarray(bad), "lie outside the open unit cube.", remedy, argument="x")
    return points


def as_correlation(value: ArrayLike) -> Scatter:
    """A correlation matrix; a number is that of two columns."""
    matrix = numbers(value, "corr", ndim=(0, 2), of="the copula")
    if matrix.ndim == 0:
        matrix = np.array([[1.0, float(matrix)], [float(matrix), 1.0]])
    if matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InputError(f"expected a square matrix, got shape {matrix.shape}.", argument="corr")
    if not np.allclose(np.diagonal(matrix), 1.0, rtol=0, atol=1e-8):
        raise InputError("must have ones on its diagonal.", argument="corr", predicate=True)
    return Scatter("`corr`", matrix)


class GaussianCopula(Copula):
    r"""The copula of a normal distribution with correlation matrix R.

    .. math::

        \log c(u) = -\tfrac12 \log\det R - \tfrac12 z^\top (R^{-1} - I) z, \qquad z_i = \Phi^{-1}(u_i).

    Parameters
    ----------
    corr
        R, (d, d), positive definite with a unit diagonal; a number is the correlation of two columns.

    References
    ----------
    Joe (2014), *Dependence Modeling with Copulas*.

    Examples
    --------
    >>> from goodstein.families import GaussianCopula
    >>> q = GaussianCopula(0.5)
    >>> q.logpdf([[0.5, 0.5]]).round(4)
    array([0.1438])
    >>> GaussianCopula.fit(q.sample(20_000, rng=0)).corr.round(1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    corr: Array
    domain: Box
    _scatter: Scatter

    def __init__(self, corr: ArrayLike) -> None:
        scatter = as_correlation(corr)
        d = len(scatter.matrix)
        self._set(corr=scatter.matrix, _scatter=scatter, domain=Box(np.zeros(d), np.ones(d)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, from probabilities in the open unit cube."""
        from scipy.special import ndtri

        return cls(_fitted_correlation(ndtri(as_probabilities(x)), _normal_loss))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """The correlations below the diagonal."""
        return _pairs(len(self.corr))

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(_shifted(self.corr, by))

    def score(self, x: ArrayLike) -> Array:
        z, density = self._latent(x)
        return np.asarray(-(z @ self._scatter.precision - z) / density)

    def logpdf(self, x: ArrayLike) -> Array:
        z, _ = self._latent(x)
        squared = self._scatter.squared_distance(z) - (z**2).sum(axis=1)
        return np.asarray(-0.5 * (self._scatter.logdet + squared))

    def _latent(self, x: ArrayLike) -> tuple[Array, Array]:
        """z and its normal density, each (n, d)."""
        from scipy.special import ndtri

        z = ndtri(self._inside(x))
        return z, np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        from scipy.special import ndtr

        return np.asarray(ndtr(rng.standard_normal((n, self.dim)) @ self._scatter.factor.T))


class StudentCopula(Copula):
    r"""The copula of a multivariate t distribution with ν degrees of freedom and correlation matrix R.

    .. math::

        \log c(u) = \log t_{\nu, R}(z) - \sum_i \log t_\nu(z_i), \qquad z_i = t_\nu^{-1}(u_i).

    Unlike that of a normal distribution, columns are extreme together.

    Parameters
    ----------
    df
        ν > 0.
    corr
        R, (d, d); a number is the correlation of two columns.

    References
    ----------
    Demarta & McNeil (2005), The t copula and related copulas.

    Examples
    --------
    >>> from goodstein.families import StudentCopula
    >>> StudentCopula(4.0, 0.5).logpdf([[0.5, 0.5]]).round(4)
    array([0.2676])
    """

    df: float
    corr: Array
    domain: Box
    _scatter: Scatter

    def __init__(self, df: float, corr: ArrayLike) -> None:
        scatter = as_correlation(corr)
        d = len(scatter.matrix)
        self._set(df=number(df, "df", above=0.0), corr=scatter.matrix, _scatter=scatter)
        self._set(domain=Box(np.zeros(d), np.ones(d)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, from probabilities in the open unit cube; ν between 0.5 and 200.

        Of data whose likelihood grows until there, to that of a Gaussian copula, there is no fit.
        """
        from scipy.optimize import minimize_scalar

        points = as_probabilities(x)

        def loss(log_df: float) -> float:
            return -float(cls._at(points, math.exp(log_df)).logpdf(points).mean())

        most = math.log(200.0)
        best = minimize_scalar(loss, bounds=(math.log(0.5), most), method="bounded")
        if best.x > most - 1e-3:
            raise InputError(
                "the likelihood has no maximum: it grows with ν until the limit, a Gaussian copula.",
                argument="x",
                remedy="Fit GaussianCopula.",
            )
        return cls._at(points, math.exp(float(best.x)))

    @classmethod
    def _at(cls, points: Array, df: float) -> Self:
        """The likeliest correlations for so many degrees of freedom."""
        from scipy.special import stdtrit

        z = stdtrit(df, points)

        def loss(scatter: Scatter) -> float:
            d = z.shape[1]
            squared = np.log1p(scatter.squared_distance(z) / df)
            return float(0.5 * scatter.logdet + 0.5 * (df + d) * squared.mean())

        return cls(df, _fitted_correlation(z, lambda _, scatter: loss(scatter)))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """log ν, and the correlations below the diagonal."""
        return ("log df", *_pairs(len(self.corr)))

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(self.df * math.exp(by[0]), _shifted(self.corr, by[1:]))

    def score(self, x: ArrayLike) -> Array:
        z, log_density = self._latent(x)
        nu, d = self.df, self.dim
        whole = (nu + d) / (nu + self._scatter.squared_distance(z))
        slope = (nu + 1.0) * z / (nu + z**2) - whole[:, None] * (z @ self._scatter.precision)
        return np.asarray(slope * np.exp(-log_density))

    def logpdf(self, x: ArrayLike) -> Array:
        z, log_density = self._latent(x)
        nu, d = self.df, self.dim
        constant = math.lgamma(0.5 * (nu + d)) - math.lgamma(0.5 * nu) - 0.5 * d * math.log(nu * math.pi)
        squared = np.log1p(self._scatter.squared_distance(z) / nu)
        joint = constant - 0.5 * self._scatter.logdet - 0.5 * (nu + d) * squared
        return np.asarray(joint - log_density.sum(axis=1))

    def _latent(self, x: ArrayLike) -> tuple[Array, Array]:
        """z and the logarithm of its density, each (n, d)."""
        from scipy.special import stdtrit

        nu = self.df
        z = stdtrit(nu, self._inside(x))
        constant = math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu) - 0.5 * math.log(nu * math.pi)
        return z, constant - 0.5 * (nu + 1.0) * np.log1p(z**2 / nu)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        from scipy.special import stdtr

        normal = rng.standard_normal((n, self.dim)) @ self._scatter.factor.T
        return np.asarray(stdtr(self.df, normal / np.sqrt(rng.chisquare(self.df, n) / self.df)[:, None]))


def _normal_loss(z: Array, scatter: Scatter) -> float:
    return 0.5 * scatter.logdet + 0.5 * float(scatter.squared_distance(z).mean())


def _fitted_correlation(z: Array, loss: object) -> Array:
    """R with a unit diagonal that minimises a loss: rows of its Cholesky factor have norm one."""
    from scipy.optimize import minimize

    d = z.shape[1]
    rows = np.tril_indices(d, -1)

    def matrix(free: Array) -> Array:
        factor = np.eye(d)
        factor[rows] = free
        factor /= np.linalg.norm(factor, axis=1, keepdims=True)
        found = factor @ factor.T
        np.fill_diagonal(found, 1.0)
        return found

    def of(free: Array) -> float:
        try:
            return float(loss(z, Scatter("`corr`", matrix(free))))  # type: ignore[operator]
        except InputError:  # singular to rounding
            return 1e300

    start = np.linalg.cholesky(0.99 * np.corrcoef(z.T) + 0.01 * np.eye(d))
    found = minimize(of, (start / np.diagonal(start)[:, None])[rows], method="BFGS", options={"gtol": 1e-7})
    return matrix(found.x)


def _pairs(d: int) -> tuple[str, ...]:
    return tuple(f"corr[{i}, {j}]" for i, j in zip(*np.tril_indices(d, -1), strict=True))


def _shifted(corr: Array, by: Array) -> Array:
    """Correlations below the diagonal moved by t."""
    moved = np.array(corr)
    i, j = np.tril_indices(len(corr), -1)
    moved[i, j] += by
    moved[j, i] += by
    return moved
