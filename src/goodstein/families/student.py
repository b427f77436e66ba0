"""The multivariate t distribution."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains import Euclidean
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_sample
from goodstein.families.coordinates import Definite, Location, Positive, free
from goodstein.families.gamma import log_gamma_variates
from goodstein.families.normal import mean_and_covariance
from goodstein.families.scatter import Scatter, location_and_scatter
from goodstein.types import Array, ArrayLike

DF_RANGE = (0.2, 1000.0)
MOST_STEPS = 5000


class StudentT(Family):
    r"""Multivariate t distribution on R^d with ν degrees of freedom.

    .. math::

        \log q(x) = -\tfrac{\nu+d}{2} \log\Bigl(1 + \tfrac{\delta^2(x)}{\nu}\Bigr) + c, \qquad
        s(x) = -\frac{\nu+d}{\nu + \delta^2(x)}\, \Sigma^{-1}(x-\mu),

    where :math:`\delta^2(x) = (x-\mu)^\top \Sigma^{-1} (x-\mu)` and
    :math:`c = \log\Gamma(\tfrac{\nu+d}2) - \log\Gamma(\tfrac\nu2) - \tfrac d2\log(\nu\pi)
    - \tfrac12\log\det\Sigma`.

    The score is bounded and tends to zero far out. A kernel that decays slowly
    (``IMQ``) then sees the tails better than a Gaussian one.

    Parameters
    ----------
    df
        Degrees of freedom ν > 0.
    loc
        Centre μ, (d,); a number stands for all coordinates.
    shape
        Shape matrix Σ, (d, d); a number stands for that multiple of the identity. The
        covariance is Σ ν / (ν - 2) where ν > 2.

    References
    ----------
    Kotz & Nadarajah (2004), *Multivariate t Distributions and Their Applications*.
    Kent, Tyler & Vardi (1994), "A curious likelihood identity for the multivariate
    t-distribution", *Communications in Statistics B* 23, 441-453.

    Examples
    --------
    >>> from goodstein.families import StudentT
    >>> q = StudentT(3, loc=[0, 0])
    >>> q
    StudentT(df=3, loc=[0, 0], shape=[[1, 0], [0, 1]])
    >>> q.score([[1, 1]])
    array([[-1., -1.]])
    >>> StudentT.fit(StudentT(4, loc=[1, -1]).sample(2000, rng=0), df=4).loc.round(1)
    array([ 1., -1.])
    """

    df: float
    loc: Array
    shape: Array
    _scatter: Scatter

    quasi_concave = True
    _free = free(df=Positive(), loc=Location("shape"), shape=Definite())

    def __init__(self, df: float, loc: ArrayLike = 0.0, shape: ArrayLike = 1.0) -> None:
        center, scatter = location_and_scatter("loc", loc, "shape", shape)
        self._set(df=number(df, "df", above=0.0), loc=center, shape=scatter.matrix)
        self._set(_scatter=scatter, domain=Euclidean(len(center)))

    @classmethod
    def fit(cls, x: ArrayLike, df: float | None = None) -> Self:
        """Maximum likelihood for fixed degrees of freedom, or for all parameters.

        With ``df`` given this is the EM algorithm in the form of Kent, Tyler and Vardi. Without it, ``df``
        maximises the profile likelihood over 0.2 to 1000; a fit at 1000 says that the tails are no heavier
        than those of the normal distribution.
        """
        x = as_sample(x)
        mean_and_covariance(x)  # refuses data that lie in a hyperplane
        if df is not None:
            return cls(df, *_em(x, number(df, "df", above=0.0)))
        from scipy.optimize import minimize_scalar

        def profile(log_df: float) -> float:
            candidate = math.exp(log_df)
            return -float(cls(candidate, *_em(x, candidate)).logpdf(x).mean())

        low, high = map(math.log, DF_RANGE)
        best = minimize_scalar(profile, bounds=(low, high), method="bounded", options={"xatol": 1e-7})
        # The bounded search never tries the ends themselves.
        log_df = min((low, float(best.x), high), key=profile)
        return cls(math.exp(log_df), *_em(x, math.exp(log_df)))

    def _fit_fixed(self, df: float | None = None, **options: Any) -> tuple[str, ...]:
        # At the end of its range it was not estimated either.
        low, high = DF_RANGE
        return () if df is None and 1.001 * low < self.df < 0.999 * high else ("df",)

    def score(self, x: ArrayLike) -> Array:
        difference = self._points(x) - self.loc
        pull = (self.df + self.dim) / (self.df + self._scatter.squared_distance(difference))
        return -pull[:, None] * (difference @ self._scatter.precision)

    def logpdf(self, x: ArrayLike) -> Array:
        df, d = self.df, self.dim
        constant = math.lgamma((df + d) / 2) - math.lgamma(df / 2)
        constant -= 0.5 * (d * math.log(df * math.pi) + self._scatter.logdet)
        distance = self._scatter.squared_distance(self._points(x) - self.loc)
        return constant - 0.5 * (df + d) * np.log1p(distance / df)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((n, self.dim))
        # In logs, because a chi-squared variate with few degrees of freedom underflows.
        log_gamma = log_gamma_variates(np.full((n, 1), self.df / 2), rng)
        radius = np.exp(0.5 * (math.log(self.df / 2) - log_gamma))
        return self.loc + radius * (noise @ self._scatter.factor.T)


def _em(x: Array, df: float) -> tuple[Array, Array]:
    """Centre and shape that maximise the likelihood for fixed degrees of freedom."""
    n, d = x.shape
    # Robust columnwise scales start nearer to the answer than moments, which outliers inflate.
    center = np.median(x, axis=0)
    spread = np.median(np.abs(x - center), axis=0)
    scale = np.where(spread > 0, spread, x.std(axis=0))
    z = (x - center) / scale
    mean, cov = np.zeros(d), np.eye(d)
    for _ in range(MOST_STEPS):
        difference = z - mean
        distance = np.einsum("ij,ji->i", difference, np.linalg.solve(cov, difference.T))
        weight = (df + d) / (df + distance)
        # Divided by the sum of the weights instead of n (parameter-expanded EM): the fixed
        # point is the same, there they agree, but it is reached in a fraction of the steps.
        total = weight.sum()
        step = weight @ difference / total
        difference = difference - step
        update = (difference * weight[:, None]).T @ difference / total
        if np.linalg.eigvalsh(update)[0] < 1e-15:
            why = "because too many rows lie in one hyperplane (tied rows do)"
            reason = f"the likelihood of the t distribution with df={df:g} is unbounded, {why}."
            raise InputError(reason, argument="x", remedy="Raise `df` or remove ties.")
        change = max(np.abs(step).max(), np.abs(update - cov).max())
        mean, cov = mean + step, update
        if change < 1e-12 * np.abs(cov).max():
            return center + scale * mean, cov * scale[:, None] * scale
    steps = f"{MOST_STEPS} steps (last change {change:.1g})"
    reason = f"the fit of a t distribution with df={df:g} did not converge within {steps}."
    raise InputError(reason, argument="x", remedy=f"Look for tied rows among the {n}, or raise `df`.")
