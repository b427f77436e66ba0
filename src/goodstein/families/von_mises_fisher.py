"""The von Mises–Fisher and the uniform distribution on a sphere."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from goodstein.domains.sphere import Sphere
from goodstein.families.base import Family
from goodstein.families.bessel import concentration, log_bessel
from goodstein.families.directions import as_direction, as_directions, as_nonnegative
from goodstein.frozen import as_dimension
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count


class VonMisesFisher(Family):
    r"""Von Mises–Fisher distribution of unit vectors in R^d.

    .. math::

        \log q(x) = \kappa\, \mu \cdot x + (\tfrac d2 - 1) \log \kappa
                    - \tfrac d2 \log 2\pi - \log I_{d/2-1}(\kappa),
        \qquad
        s(x) = \kappa \mu.

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
    """

    _parameters: ClassVar[tuple[str, ...]] = ("mu", "kappa")

    mu: Array
    kappa: float
    domain: Sphere

    def __init__(self, mu: ArrayLike, kappa: float) -> None:
        direction = as_direction("mu", mu)
        self._set(mu=direction, kappa=as_nonnegative("kappa", kappa), domain=Sphere(len(direction)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood: the direction of the mean vector, and A_d(κ) = its length.

        Examples
        --------
        >>> from goodstein.families import VonMisesFisher
        >>> fitted = VonMisesFisher.fit(VonMisesFisher([0, 0, 1], 2.0).sample(100_000, rng=0))
        >>> fitted.mu.round(2) + 0.0, round(fitted.kappa, 1)
        (array([0., 0., 1.]), 2.0)
        """
        points = as_directions(x)
        mean = points.mean(axis=0)
        length = float(np.linalg.norm(mean))
        if length == 0.0:
            mean, length = np.eye(points.shape[1])[0], 0.0
            return cls(mean, 0.0)
        return cls(mean / length, concentration(length, points.shape[1]))

    def score(self, x: ArrayLike) -> Array:
        """κμ, the same at all points, (n, d)."""
        return np.tile(self.kappa * self.mu, (len(self._points(x)), 1))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density with respect to surface area, normalised, (n,)."""
        points, half = self._points(x), 0.5 * self.dim
        if self.kappa == 0.0:
            return np.full(len(points), log_uniform(self.dim))
        constant = (half - 1.0) * math.log(self.kappa) - half * math.log(2.0 * math.pi)
        return np.asarray(self.kappa * (points @ self.mu) + constant - log_bessel(half - 1.0, self.kappa))

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent unit vectors, (n, d), by Wood's rejection."""
        generator = np.random.default_rng(rng)
        n, d = check_count(n, "n", 0), self.dim
        cosine = self._cosines(n, generator)[:, None]
        # A uniform direction at right angles to μ.
        around = generator.standard_normal((n, d))
        around -= (around @ self.mu)[:, None] * self.mu
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        x = cosine * self.mu + np.sqrt((1.0 - cosine) * (1.0 + cosine)) * around
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def _cosines(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of μ·x, whose density is (1 − t²)^((d−3)/2) e^(κt)."""
        m, kappa = self.dim - 1.0, self.kappa
        b = m / (2.0 * kappa + math.sqrt(4.0 * kappa**2 + m**2))
        middle = (1.0 - b) / (1.0 + b)
        limit = kappa * middle + m * math.log1p(-(middle**2)) if middle < 1.0 else -math.inf
        kept = [np.empty(0)]
        found = 0
        while found < n:
            size = 2 * (n - found) + 16
            beta = rng.beta(0.5 * m, 0.5 * m, size)
            t = (1.0 - (1.0 + b) * beta) / (1.0 - (1.0 - b) * beta)
            level = kappa * t + m * np.log1p(-middle * t) - limit
            t = t[np.log1p(-rng.random(size)) <= level]
            kept.append(t)
            found += len(t)
        return np.concatenate(kept)[:n]


class UniformOnSphere(Family):
    r"""Uniform distribution of directions: unit vectors in R^d.

    .. math::

        \log q(x) = \log \frac{\Gamma(d/2)}{2 \pi^{d/2}}, \qquad s(x) = 0.

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

    _parameters: ClassVar[tuple[str, ...]] = ("d",)

    d: int
    domain: Sphere

    def __init__(self, d: int) -> None:
        dimension = as_dimension(d, "d", 2)
        self._set(d=dimension, domain=Sphere(dimension))

    def score(self, x: ArrayLike) -> Array:
        """Zero, (n, d)."""
        return np.zeros_like(self._points(x))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density with respect to surface area, a constant, (n,)."""
        return np.full(len(self._points(x)), log_uniform(self.d))

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent directions, (n, d)."""
        return self.domain.sample_uniform(check_count(n, "n", 0), np.random.default_rng(rng))


def log_uniform(d: int) -> float:
    """Minus the log area of the unit sphere of R^d."""
    return math.lgamma(0.5 * d) - math.log(2.0) - 0.5 * d * math.log(math.pi)
