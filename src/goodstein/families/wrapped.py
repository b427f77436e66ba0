"""Normal distributions wrapped around the circle, and projected onto spheres."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from goodstein.constraints import number, numbers
from goodstein.domains.circle import TURN, Circle
from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_sample
from goodstein.families.directions import as_directions
from goodstein.types import Array, ArrayLike

FAR = 50.0
"""Where the integral over the length of a normal vector is as good as its limit."""


class WrappedNormal(Family):
    r"""Normal distribution of a real number, seen as an angle θ in radians on the circle.

    .. math:: q(\theta) = \sum_k N(\theta + 2\pi k;\, \mu, \sigma^2)
              = \frac1{2\pi} \Bigl[1 + 2 \sum_{p \ge 1} e^{-p^2\sigma^2/2} \cos p(\theta - \mu)\Bigr].

    Parameters
    ----------
    mean
        μ, an angle in radians.
    sigma
        σ > 0, at most 10: then it is uniform to the last digit.

    References
    ----------
    Mardia & Jupp (2000), *Directional Statistics*, section 3.5.7.

    Examples
    --------
    >>> from goodstein.families import WrappedNormal
    >>> WrappedNormal(0.0, 0.5).logpdf([[0.0]]).round(4)
    array([-0.2258])
    """

    mean: float
    sigma: float
    domain: Circle

    def __init__(self, mean: float = 0.0, sigma: float = 1.0) -> None:
        self._set(mean=number(mean, "mean"), sigma=number(sigma, "sigma", above=0.0, most=10.0))
        self._set(domain=Circle())

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, by a search that begins at the mean direction and length."""
        from scipy.optimize import minimize

        angles = as_sample(x)
        if angles.shape[1] != 1:
            raise InputError(f"expected one column of angles, got {angles.shape[1]}.", argument="x")
        east, north = float(np.cos(angles).mean()), float(np.sin(angles).mean())
        length = min(max(math.hypot(east, north), 1e-6), 1.0 - 1e-12)
        start = [math.atan2(north, east), 0.5 * math.log(-2.0 * math.log(length))]

        def loss(free: Array) -> float:
            return -float(cls(float(free[0]), math.exp(float(free[1]))).logpdf(angles).mean())

        bounds = [(start[0] - math.pi, start[0] + math.pi), (-20.0, math.log(9.9))]
        found = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
        return cls(float(found.x[0]), math.exp(float(found.x[1])))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """μ in units of σ, and log σ."""
        return "mean", "log sigma"

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(self.mean + self.sigma * by[0], self.sigma * math.exp(by[1]))

    def score(self, x: ArrayLike) -> Array:
        turns, logs = self._terms(x)
        shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        return np.asarray(-(shares * turns).sum(axis=1, keepdims=True) / self.sigma**2)

    def logpdf(self, x: ArrayLike) -> Array:
        _, logs = self._terms(x)
        return np.asarray(np.logaddexp.reduce(logs, axis=1))

    def _terms(self, x: ArrayLike) -> tuple[Array, Array]:
        """θ + 2πk − μ for all k that count, and the logarithms of their densities, each (n, turns)."""
        reach = math.ceil(8.5 * self.sigma / TURN) + 1
        offset = np.mod(self._points(x) - self.mean + math.pi, TURN) - math.pi
        turns = offset + TURN * np.arange(-reach, reach + 1)
        logs = -0.5 * (turns / self.sigma) ** 2 - math.log(self.sigma) - 0.5 * math.log(TURN)
        return turns, logs

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.mod(self.mean + self.sigma * rng.standard_normal(n) + math.pi, TURN) - math.pi


class ProjectedNormal(Family):
    r"""Direction of a normal vector: x = y/‖y‖ with y ~ N(μ, I) in R^d.

    .. math::

        \log q(x) = -\tfrac12 \|\mu\|^2 - \tfrac d2 \log 2\pi + \log I_d(\mu \cdot x), \qquad
        I_d(t) = \int_0^\infty r^{d-1} e^{rt - r^2/2}\, dr, \qquad s(x) = \frac{I_{d+1}}{I_d}(\mu \cdot
        x)\, \mu,

    with respect to surface area. μ = 0 is the uniform distribution.

    Parameters
    ----------
    mean
        μ, (d,) with d ≥ 2.

    References
    ----------
    Mardia & Jupp (2000), *Directional Statistics*, sections 3.5.6 and 9.3.3.

    Examples
    --------
    >>> from goodstein.families import ProjectedNormal
    >>> ProjectedNormal([0.0, 0.0, 0.0]).logpdf([[0.0, 0.0, 1.0]]).round(4)
    array([-2.531])
    """

    mean: Array
    domain: Sphere

    def __init__(self, mean: ArrayLike) -> None:
        centre = numbers(mean, "mean", ndim=1, largest=FAR)
        if len(centre) < 2:
            raise InputError(f"expected at least 2 coordinates, got {len(centre)}.", argument="mean")
        self._set(mean=centre, domain=Sphere(len(centre)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood, by a search that begins at the mean direction."""
        from scipy.optimize import minimize

        points = as_directions(x)
        d = points.shape[1]

        def loss(mu: Array) -> tuple[float, Array]:
            t = points @ mu
            lower, upper = log_radial(d, t), log_radial(d + 1, t)
            slope = mu - (np.exp(upper - lower)[:, None] * points).mean(axis=0)
            return 0.5 * float(mu @ mu) - float(lower.mean()), slope

        bounds = [(-0.5 * FAR, 0.5 * FAR)] * d
        found = minimize(loss, 2.0 * points.mean(axis=0), jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(found.x)

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """μ."""
        return tuple(f"mean[{k}]" for k in range(self.dim))

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(self.mean + by)

    def score(self, x: ArrayLike) -> Array:
        t = self._points(x) @ self.mean
        ratio = np.exp(log_radial(self.dim + 1, t) - log_radial(self.dim, t))
        return np.asarray(ratio[:, None] * self.mean)

    def logpdf(self, x: ArrayLike) -> Array:
        value = log_radial(self.dim, self._points(x) @ self.mean)
        return np.asarray(value - 0.5 * float(self.mean @ self.mean) - 0.5 * self.dim * math.log(TURN))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        y = self.mean + rng.standard_normal((n, self.dim))
        return np.asarray(y / np.linalg.norm(y, axis=1, keepdims=True))


def log_radial(d: int, t: Array) -> Array:
    """log ∫ r^(d−1) exp(rt − r²/2) dr over r > 0.

    For t ≥ 0 by I₁ = √2π e^{t²/2}Φ(t), I₂ = 1 + tI₁ and I_{n+1} = tI_n + (n − 1)I_{n−1}, all of whose
    terms are positive; for t < 0, where they cancel, it is Γ(d) e^{t²/4} D₋d(−t), with a parabolic
    cylinder function.
    """
    from scipy.special import ndtr, pbdv

    t = np.asarray(t, np.float64)
    out = np.empty(t.shape)
    up = t >= 0
    s = t[up]
    shrunk = np.exp(-0.5 * s**2)  # everything is divided by e^{t²/2}
    before, now = math.sqrt(TURN) * ndtr(s), shrunk + s * math.sqrt(TURN) * ndtr(s)
    if d == 1:
        now = before
    for n in range(2, d):
        before, now = now, s * now + (n - 1) * before
    out[up] = np.log(now) + 0.5 * s**2
    down = -t[~up]
    with np.errstate(divide="ignore"):
        found = np.log(pbdv(-float(d), np.minimum(down, FAR))[0]) + 0.25 * np.minimum(down, FAR) ** 2
    # Far out the series of e^{−r²/2} under the integral, whose next term is of the order (d/t)⁶.
    x = np.maximum(down, 1.0)
    tail = -0.5 * d * (d + 1) / x**2 * (1.0 - 0.25 * (d + 2) * (d + 3) / x**2)
    out[~up] = math.lgamma(d) + np.where(down < FAR, found, np.log1p(np.maximum(tail, -0.5)) - d * np.log(x))
    return out
