"""The von Mises–Fisher and the uniform distribution on a sphere."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from goodstein.domains.sphere import Sphere
from goodstein.families.base import Family
from goodstein.families.checks import as_nonnegative
from goodstein.families.directions import (
    as_direction,
    as_directions,
    concentration,
    drawn_by_rejection,
    log_bessel,
)
from goodstein.families.uniform import Uniform
from goodstein.types import Array, ArrayLike


class VonMisesFisher(Family):
    r"""Von Mises–Fisher distribution of unit vectors in R^d.

    .. math::

        \log q(x) = \kappa\, \mu \cdot x + (\tfrac d2 - 1) \log \kappa - \tfrac d2 \log 2\pi
        - \log I_{d/2-1}(\kappa), \qquad s(x) = \kappa \mu.

    The density is with respect to surface area. The score is the gradient of the formula in R^d,
    of which operators use the part along the sphere.

    Parameters
    ----------
    mu
        Mean direction, a unit vector, (d,).
    kappa
        Concentration κ ≥ 0; zero is the uniform distribution.

    References
    ----------
    Mardia & Jupp (2000), *Directional Statistics*, section 9.3.2.
    Wood (1994), "Simulation of the von Mises Fisher distribution", *Communications in
    Statistics: Simulation and Computation* 23, 157-164.

    Examples
    --------
    >>> from goodstein.families import VonMisesFisher
    >>> q = VonMisesFisher([0, 0, 1], 2.0)
    >>> q
    VonMisesFisher(mu=[0, 0, 1], kappa=2)
    >>> q.logpdf([[0, 0, 1]]).round(4)
    array([-1.1263])
    >>> fitted = VonMisesFisher.fit(q.sample(100_000, rng=0))
    >>> fitted.mu.round(2) + 0.0, round(fitted.kappa, 1)
    (array([0., 0., 1.]), 2.0)
    """

    mu: Array
    kappa: float

    def __init__(self, mu: ArrayLike, kappa: float) -> None:
        direction = as_direction("mu", mu)
        self._set(mu=direction, kappa=as_nonnegative("kappa", kappa), domain=Sphere(len(direction)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood: the direction of the mean vector, and A_d(κ) = its length."""
        points = as_directions(x)
        mean = points.mean(axis=0)
        length = float(np.linalg.norm(mean))
        if length == 0.0:
            return cls(np.eye(points.shape[1])[0], 0.0)
        mean /= length
        # 1 − x·μ without cancellation.
        spread = 0.5 * float(((points - mean) ** 2).sum(axis=1).mean())
        return cls(mean, concentration(spread, points.shape[1]))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """κμ, of which the density is a smooth function at κ = 0 too."""
        return tuple(f"kappa mu[{k}]" for k in range(self.dim))

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        natural = self.kappa * self.mu + by
        kappa = float(np.linalg.norm(natural))
        return type(self)(natural / kappa if kappa else self.mu, kappa)

    def score(self, x: ArrayLike) -> Array:
        return np.tile(self.kappa * self.mu, (len(self._points(x)), 1))

    def logpdf(self, x: ArrayLike) -> Array:
        points, half = self._points(x), 0.5 * self.dim
        if self.kappa == 0.0:
            return np.full(len(points), log_uniform(self.dim))
        constant = (half - 1.0) * math.log(self.kappa) - half * math.log(2.0 * math.pi)
        return np.asarray(self.kappa * (points @ self.mu) + constant - log_bessel(half - 1.0, self.kappa))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        """Unit vectors by Wood's rejection."""
        short = self._shortfalls(n, rng)[:, None]
        # A uniform direction at right angles to μ.
        around = rng.standard_normal((n, self.dim))
        around -= (around @ self.mu)[:, None] * self.mu
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        x = (1.0 - short) * self.mu + np.sqrt(short * (2.0 - short)) * around
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def _shortfalls(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of w = 1 − μ·x, where the density of t = μ·x is (1 − t²)^((d−3)/2) e^(κt).

        Not of t itself, which is one, up to rounding, where κ is beyond 1e15.
        """
        m, kappa = self.dim - 1.0, self.kappa
        b = m / (2.0 * kappa + math.hypot(2.0 * kappa, m))
        middle = 2.0 * b / (1.0 + b)

        def accepted(missing: int) -> Array:
            size = 2 * missing + 16
            beta = rng.beta(0.5 * m, 0.5 * m, size)
            w = 2.0 * b * beta / (1.0 - (1.0 - b) * beta)
            share = (middle + w - middle * w) / (middle * (2.0 - middle))
            level = kappa * (middle - w) + m * np.log(share)
            return np.asarray(w[np.log1p(-rng.random(size)) <= level])

        return drawn_by_rejection(n, (), accepted)


class UniformOnSphere(Uniform):
    r"""Uniform distribution of directions: unit vectors in R^d.

    .. math:: \log q(x) = \log \frac{\Gamma(d/2)}{2 \pi^{d/2}}, \qquad s(x) = 0.

    Parameters
    ----------
    d
        Number of coordinates, at least 2.

    References
    ----------
    Mardia & Jupp (2000), *Directional Statistics*, section 9.3.1.

    Examples
    --------
    >>> from goodstein.families import UniformOnSphere
    >>> q = UniformOnSphere(3)
    >>> q
    UniformOnSphere(3)
    >>> q.logpdf([[0, 0, 1]]).round(4)
    array([-2.531])
    """

    _parameters = ("d",)
    d: int

    def __init__(self, d: int) -> None:
        super().__init__(Sphere(d))
        self._set(d=self.dim)

    def logpdf(self, x: ArrayLike) -> Array:
        return np.full(len(self._points(x)), log_uniform(self.d))


def log_uniform(d: int) -> float:
    """Minus the log area of the unit sphere of R^d."""
    return math.lgamma(0.5 * d) - math.log(2.0) - 0.5 * d * math.log(math.pi)
