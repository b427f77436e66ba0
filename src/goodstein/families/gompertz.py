"""The Gompertz distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goodstein.constraints import number
from goodstein.errors import InputError
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes, increasing_root
from goodstein.types import Array, BoolArray

SERIES_BELOW = 0.5
SERIES = np.array([(j + 1) / math.factorial(j + 2) for j in range(14)])


class Gompertz(Lifetimes):
    r"""Gompertz distribution: a hazard that grows exponentially, as that of adult human lives.

    .. math::

        λ(t) = b\,e^{at}, \qquad Λ(t) = \frac ba (e^{at} - 1), \qquad \frac{λ'(t)}{λ(t)} = a.

    For a given growth the most likely rate is in closed form, and the growth is the only root of an
    increasing function, or zero where the data would rather have a falling hazard.

    Parameters
    ----------
    rate
        The hazard at time zero, b > 0.
    growth
        The growth rate of the hazard, a >= 0, in units of one over time; the hazard doubles every
        log 2/a. Zero is the exponential distribution. In scipy this is
        ``scipy.stats.gompertz(rate / growth, scale=1 / growth)``.

    References
    ----------
    Gompertz (1825), "On the nature of the function expressive of the law of human mortality",
    *Philosophical Transactions of the Royal Society* 115, 513-583.

    Examples
    --------
    >>> from goodstein.families import Gompertz
    >>> q = Gompertz(0.5, 2.0)
    >>> q
    Gompertz(rate=0.5, growth=2)
    >>> q.hazard_at_zero, q.log_hazard_derivative([3.0])
    (0.5, array([2.]))
    >>> Gompertz.fit(Gompertz(0.5, 2.0).sample(100_000, rng=1)).growth
    2.0
    """

    _events_at_zero = True

    rate: float
    growth: float

    _free = free(rate=Positive(), growth=Positive())

    def __init__(self, rate: float = 1.0, growth: float = 1.0) -> None:
        wanted = "a number of at least 0; with a hazard that falls exponentially some lives would never end"
        self._set(growth=number(growth, "growth", least=0.0, wanted=wanted))
        self._set(rate=number(rate, "rate", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, float]:
        latest = float(t.max())
        s = t / latest
        mean_event, events = float(s[event].mean()), float(event.sum())

        def slope(a: float) -> float:
            exposure, derivative = _exposure(a, s)
            return float(derivative.sum() / exposure.sum()) - mean_event

        growth = 0.0 if slope(0.0) >= 0 else increasing_root(slope)
        # The exposure is scaled by exp(−growth), which could overflow the other way round.
        rate = events / float(_exposure(growth, s)[0].sum()) * math.exp(-growth)
        if rate == 0:
            why = "because all events come late and close together"
            reason = f"the fitted Gompertz hazard at time 0 underflows, {why}."
            raise InputError(reason, argument="data", remedy="Measure time from a later origin.")
        return rate / latest, growth / latest

    def _fit_fixed(self, **options: Any) -> tuple[str, ...]:
        return () if self.growth > 0 else ("growth",)  # at zero it ended at its bound

    def _log_hazard(self, t: Array) -> Array:
        return math.log(self.rate) + self.growth * t

    def _log_hazard_derivative(self, t: Array) -> Array:
        return np.full_like(t, self.growth)

    def _cumulative_hazard(self, t: Array) -> Array:
        if self.growth == 0:
            return self.rate * t
        return np.asarray(self.rate * (np.expm1(self.growth * t) / self.growth))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        e = rng.standard_exponential(n) / self.rate
        return e if self.growth == 0 else np.asarray(np.log1p(self.growth * e) / self.growth)


def _exposure(a: float, s: Array) -> tuple[Array, Array]:
    """G = (e^{as} − 1)/a and ∂G/∂a, both times e^{−a}, at s in [0, 1]."""
    with np.errstate(under="ignore"):
        factor = math.exp(-a)
        u = a * s
        small = u < SERIES_BELOW
        # ∂G/∂a = s² Σ_j (j+1) u^j/(j+2)!, and the closed form where that loses no digits.
        derivative = factor * s**2 * np.polynomial.polynomial.polyval(np.where(small, u, 0.0), SERIES)
        large = u[~small]
        derivative[~small] = ((large - 1) * np.exp(large - a) + factor) / a**2 if a else 0.0
        value = factor * s if a == 0 else np.where(u < 1, factor * np.expm1(np.minimum(u, 1)), 0.0) / a
        if a:
            value[u >= 1] = (np.exp(u[u >= 1] - a) - factor) / a
    return value, derivative
