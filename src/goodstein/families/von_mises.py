"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains.circle import Circle
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_sample
from goodstein.families.directions import concentration, log_bessel
from goodstein.types import Array, ArrayLike


class VonMises(Family):
    r"""Von Mises distribution of an angle θ, in radians, on the circle.

    .. math::

        \log q(\theta) = \kappa \cos(\theta - \mu) - \log 2\pi I_0(\kappa), \qquad
        s(\theta) = -\kappa \sin(\theta - \mu).

    Parameters
    ----------
    mean
        Mean direction μ, an angle in radians.
    kappa
        Concentration κ ≥ 0; zero is the uniform distribution.

    References
    ----------
    Mardia & Jupp (2000), *Directional Statistics*, section 3.5.4.

    Examples
    --------
    >>> from goodstein.families import VonMises
    >>> q = VonMises(0.5, 2.0)
    >>> q
    VonMises(mean=0.5, kappa=2)
    >>> q.score([[0.5]])
    array([[-0.]])
    >>> fitted = VonMises.fit(VonMises(1.0, 2.0).sample(100_000, rng=0))
    >>> round(fitted.mean, 2), round(fitted.kappa, 2)
    (1.0, 2.0)
    """

    mean: float
    kappa: float

    def __init__(self, mean: float = 0.0, kappa: float = 1.0) -> None:
        angle = number(mean, "mean")
        self._set(mean=angle, kappa=number(kappa, "kappa", least=0.0), domain=Circle())

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood: the direction of the mean vector, and I₁(κ)/I₀(κ) = its length."""
        angles = as_sample(x)
        if angles.shape[1] != 1:
            raise InputError(f"expected one column of angles, got {angles.shape[1]}.", argument="x")
        east, north = float(np.cos(angles).mean()), float(np.sin(angles).mean())
        mean = math.atan2(north, east)
        # 1 − cos(x − μ) without cancellation.
        return cls(mean, concentration(2.0 * float((np.sin(0.5 * (angles - mean)) ** 2).mean()), 2))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """κ cos μ and κ sin μ, of which the density is a smooth function at κ = 0 too."""
        return "kappa cos mean", "kappa sin mean"

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        east, north = self.kappa * math.cos(self.mean) + by[0], self.kappa * math.sin(self.mean) + by[1]
        return type(self)(math.atan2(north, east), math.hypot(east, north))

    def score(self, x: ArrayLike) -> Array:
        return np.asarray(-self.kappa * np.sin(self._points(x) - self.mean))

    def logpdf(self, x: ArrayLike) -> Array:
        constant = math.log(2.0 * math.pi) + (log_bessel(0.0, self.kappa) if self.kappa > 0 else 0.0)
        return np.asarray(self.kappa * np.cos(self._points(x)[:, 0] - self.mean) - constant)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.vonmises(self.mean, self.kappa, n)
