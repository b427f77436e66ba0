"""Archimedean copulas of one parameter: Clayton, Gumbel, Frank."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import ClassVar, Self

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains import Box
from goodstein.errors import InputError
from goodstein.families.copulas import Copula, as_probabilities
from goodstein.types import Array, ArrayLike

SQUARE = Box([0.0, 0.0], [1.0, 1.0])


class Archimedean(Copula):
    """A copula with one parameter θ, which is fitted by maximum likelihood between bounds."""

    theta: float

    _bounds: ClassVar[tuple[float, float]]
    """Of θ less :attr:`_least`, in logarithms."""
    _least: ClassVar[float] = 0.0

    def _with_theta(self, theta: float) -> Self:
        return type(self)(theta)  # type: ignore[call-arg]

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """θ less its least value, in logarithms."""
        return ("theta",)

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return self._with_theta(self._least + (self.theta - self._least) * math.exp(by[0]))

    def _likeliest(self, points: Array) -> Self:
        from scipy.optimize import minimize_scalar

        def loss(log_theta: float) -> float:
            return -float(self._with_theta(self._least + math.exp(log_theta)).logpdf(points).mean())

        best = minimize_scalar(loss, bounds=self._bounds, method="bounded", options={"xatol": 1e-9})
        return self._with_theta(self._least + math.exp(float(best.x)))


class ClaytonCopula(Archimedean):
    r"""Clayton's copula, with columns that are small together.

    .. math::

        \log c(u) = \sum_{k<d} \log(1 + k\theta) - (1 + \theta) \sum_i \log u_i
                    - (d + \tfrac1\theta) \log S, \qquad S = \sum_i u_i^{-\theta} - d + 1.

    Parameters
    ----------
    theta
        θ > 0; Kendall's τ is θ/(θ + 2).
    columns
        d, at least 2.

    References
    ----------
    Joe (2014), *Dependence Modeling with Copulas*, section 4.6.

    Examples
    --------
    >>> from goodstein.families import ClaytonCopula
    >>> q = ClaytonCopula(2.0)
    >>> q.logpdf([[0.5, 0.5]]).round(4)
    array([0.3927])
    """

    theta: float
    columns: int
    domain: Box

    _bounds = (math.log(1e-3), math.log(100.0))

    def __init__(self, theta: float, columns: int = 2) -> None:
        d = check_count(columns, "columns", 2)
        self._set(theta=number(theta, "theta", above=0.0), columns=d, domain=Box(np.zeros(d), np.ones(d)))

    def _with_theta(self, theta: float) -> Self:
        return type(self)(theta, self.columns)

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, from probabilities in the open unit cube; θ between 0.001 and 100."""
        points = as_probabilities(x)
        return cls(1.0, points.shape[1])._likeliest(points)

    def _powers(self, u: Array) -> tuple[Array, Array]:
        """u^−θ / S, (n, d), and log S, (n,), without overflow."""
        t = -self.theta * np.log(u)
        top = t.max(axis=1, keepdims=True)
        scaled = np.exp(t - top)
        total = scaled.sum(axis=1) - (self.columns - 1) * np.exp(-top[:, 0])
        return scaled / total[:, None], np.log(total) + top[:, 0]

    def score(self, x: ArrayLike) -> Array:
        u = self._inside(x)
        shares, _ = self._powers(u)
        return np.asarray(((self.columns * self.theta + 1.0) * shares - (1.0 + self.theta)) / u)

    def logpdf(self, x: ArrayLike) -> Array:
        u = self._inside(x)
        _, log_sum = self._powers(u)
        constant = np.log1p(self.theta * np.arange(self.columns)).sum()
        logs = np.log(u).sum(axis=1)
        return np.asarray(constant - (1.0 + self.theta) * logs - (self.columns + 1.0 / self.theta) * log_sum)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        frailty = rng.gamma(1.0 / self.theta, size=(n, 1))
        waits = rng.exponential(size=(n, self.columns))
        with np.errstate(divide="ignore", over="ignore"):
            drawn = np.exp(-np.log1p(waits / frailty) / self.theta)
        return np.asarray(np.clip(drawn, np.finfo(float).tiny, 1.0 - 2.0**-53))


class GumbelCopula(Archimedean):
    r"""Gumbel's copula of two columns, which are large together.

    .. math::

        C(u, v) = e^{-A}, \qquad A = (x^\theta + y^\theta)^{1/\theta}, \qquad x = -\log u,\; y = -\log v,

    with density :math:`C\,(xy)^{\theta-1} A^{1-2\theta} (A + \theta - 1) / (uv)`.

    Parameters
    ----------
    theta
        θ ≥ 1; Kendall's τ is 1 − 1/θ.

    References
    ----------
    Joe (2014), *Dependence Modeling with Copulas*, section 4.8. Chambers, Mallows & Stuck (1976), A
    method for simulating stable random variables.

    Examples
    --------
    >>> from goodstein.families import GumbelCopula
    >>> GumbelCopula(2.0).logpdf([[0.5, 0.5]]).round(4)
    array([0.4161])
    """

    theta: float
    domain: Box

    _bounds = (math.log(1e-4), math.log(50.0))
    _least = 1.0

    def __init__(self, theta: float) -> None:
        self._set(theta=number(theta, "theta", least=1.0), domain=SQUARE)

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, from probabilities in the open unit square; θ between 1.0001 and 51."""
        return cls(2.0)._likeliest(_two(x))

    def score(self, x: ArrayLike) -> Array:
        u = self._inside(x)
        e, shares, a = self._parts(u)
        theta = self.theta
        along = a[:, None] * shares / e  # ∂A/∂x
        slope = (theta - 1.0) / e + (1.0 - 2.0 * theta) * shares / e - along
        slope = slope + along / (a + theta - 1.0)[:, None] + 1.0
        return np.asarray(-slope / u)

    def logpdf(self, x: ArrayLike) -> Array:
        u = self._inside(x)
        e, _, a = self._parts(u)
        theta = self.theta
        value = (theta - 1.0) * np.log(e).sum(axis=1) + (1.0 - 2.0 * theta) * np.log(a)
        return np.asarray(value - a + np.log(a + theta - 1.0) + e.sum(axis=1))

    def _parts(self, u: Array) -> tuple[Array, Array, Array]:
        """−log u, x^θ/(x^θ + y^θ), each (n, 2), and A, (n,)."""
        e = -np.log(u)
        top = e.max(axis=1, keepdims=True)
        powers = (e / top) ** self.theta
        total = powers.sum(axis=1)
        return e, powers / total[:, None], top[:, 0] * total ** (1.0 / self.theta)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        alpha = 1.0 / self.theta
        waits = rng.exponential(size=(n, 2))
        angle, other = np.pi * rng.uniform(size=n), rng.exponential(size=n)
        if alpha == 1.0:
            return np.exp(-waits)
        # Positive stable: E exp(−tS) = exp(−t^α).
        stable = np.sin(alpha * angle) / np.sin(angle) ** (1.0 / alpha)
        stable *= (np.sin((1.0 - alpha) * angle) / other) ** ((1.0 - alpha) / alpha)
        drawn = np.exp(-((waits / stable[:, None]) ** alpha))
        return np.asarray(np.clip(drawn, np.finfo(float).tiny, 1.0 - 2.0**-53))


class FrankCopula(Archimedean):
    r"""Frank's copula of two columns, the same in both tails.

    .. math::

        c(u, v) = \frac{\theta (1 - e^{-\theta}) e^{-\theta(u + v)}}
                       {[1 - e^{-\theta} - (1 - e^{-\theta u})(1 - e^{-\theta v})]^2}.

    Parameters
    ----------
    theta
        θ ≠ 0, at most 100 in size; negative values are for columns of which one is large where the other is
        small.

    References
    ----------
    Genest (1987), Frank's family of bivariate distributions.

    Examples
    --------
    >>> from goodstein.families import FrankCopula
    >>> FrankCopula(5.0).logpdf([[0.5, 0.5]]).round(4)
    array([0.3877])
    """

    theta: float
    domain: Box

    def __init__(self, theta: float) -> None:
        value = number(theta, "theta", least=-100.0, most=100.0)
        if abs(value) < 1e-8:
            remedy = "It is the uniform distribution, families.Uniform(Box([0, 0], [1, 1]))."
            raise InputError("must not be zero.", argument="theta", predicate=True, remedy=remedy)
        self._set(theta=value, domain=SQUARE)

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, from probabilities in the open unit square; θ between −60 and 60."""
        from scipy.optimize import minimize_scalar

        points = _two(x)
        # Of independent columns θ is about zero, which has a copula but no formula.
        found = minimize_scalar(
            lambda theta: -float(cls(theta if abs(theta) > 1e-6 else 1e-6).logpdf(points).mean()),
            bounds=(-60.0, 60.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        theta = float(found.x)
        return cls(theta if abs(theta) > 1e-6 else 1e-6)

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(self.theta + by[0])

    def score(self, x: ArrayLike) -> Array:
        below, denominator = self._parts(self._inside(x))
        theta = self.theta
        slope = -theta * (1.0 - below) * below[:, ::-1]
        return np.asarray(-theta - 2.0 * slope / denominator[:, None])

    def logpdf(self, x: ArrayLike) -> Array:
        u = self._inside(x)
        _, denominator = self._parts(u)
        constant = math.log(-self.theta * math.expm1(-self.theta))
        return np.asarray(constant - self.theta * u.sum(axis=1) - 2.0 * np.log(np.abs(denominator)))

    def _parts(self, u: Array) -> tuple[Array, Array]:
        """1 − e^{−θu}, (n, 2), and the denominator before it is squared, (n,)."""
        below = -np.expm1(-self.theta * u)
        return below, -math.expm1(-self.theta) - below[:, 0] * below[:, 1]

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        u, w = rng.uniform(size=(2, n))
        theta = self.theta
        # P(V ≤ v | u) = w, solved for v.
        inner = w * math.expm1(-theta) / (np.exp(-theta * u) - w * np.expm1(-theta * u))
        v = -np.log1p(inner) / theta
        drawn = np.column_stack([u, v])
        return np.asarray(np.clip(drawn, np.finfo(float).tiny, 1.0 - 2.0**-53))


def _two(x: ArrayLike) -> Array:
    points = as_probabilities(x)
    if points.shape[1] != 2:
        raise InputError(f"expected 2 columns, got {points.shape[1]}.", argument="x")
    return points
