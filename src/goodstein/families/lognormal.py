"""The log-normal distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import number
from goodstein.families.coordinates import Location, Positive, free
from goodstein.families.durations import Lifetimes, maximise
from goodstein.types import Array, BoolArray

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
FAR = 345.0
"""The largest |μ|: the median is then a time from 1e-150 to 1e150, whose square is a float."""


class LogNormal(Lifetimes):
    r"""Log-normal distribution: the logarithm of the lifetime is N(μ, σ²).

    With z = (log t − μ)/σ and the standard normal hazard m(z) = φ(z)/Φ(−z),

    .. math::

        λ(t) = \frac{m(z)}{σt}, \qquad Λ(t) = -\log Φ(-z), \qquad
        s(t) = -\frac{1 + z/σ}{t}.

    The hazard is zero at zero, rises to a maximum and falls again. The fit takes the moments of the
    logarithms or, with censoring, quasi-Newton steps; the likelihood is concave in (μ/σ, 1/σ) (Burridge
    1981), so the maximum found is the only one.

    Parameters
    ----------
    mu
        Mean μ of the logarithm; exp(μ) is the median.
    sigma
        Standard deviation σ > 0 of the logarithm. In scipy this is
        ``scipy.stats.lognorm(sigma, scale=exp(mu))``.

    References
    ----------
    Kalbfleisch & Prentice (2002), *The Statistical Analysis of Failure Time Data*, section 2.2.

    Examples
    --------
    >>> from goodstein.families import LogNormal
    >>> q = LogNormal(0.0, 2.0)
    >>> q
    LogNormal(mu=0, sigma=2)
    >>> q.survival([1.0]), q.score([[1.0]])
    (array([0.5]), array([[-1.]]))
    >>> LogNormal.fit([1.0, 1.0, 2.718281828459045, 2.718281828459045])
    LogNormal(mu=0.5, sigma=0.5)
    """

    mu: float
    sigma: float

    _free = free(mu=Location("sigma"), sigma=Positive())

    def __init__(self, mu: float = 0.0, sigma: float = 1.0) -> None:
        self._set(mu=number(mu, "mu", least=-FAR, most=FAR), sigma=number(sigma, "sigma", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, float]:
        logs = np.log(t)
        center, spread = float(logs.mean()), float(logs.std())
        if event.all():
            return center, spread
        y = (logs - center) / spread
        events = float(event.sum())

        def objective(parameters: Array) -> tuple[float, Array]:
            mu, log_sigma = parameters
            z = (y - mu) * math.exp(-log_sigma)
            lived = _log_upper_tail(z[~event])
            value = (lived.sum() - 0.5 * z[event] @ z[event]) / events - log_sigma
            slope = -np.where(event, z, _normal_hazard(z)) / events
            return value, np.array([-slope.sum() * math.exp(-log_sigma), -slope @ z - 1])

        mu, log_sigma = maximise(objective, [0.0, 0.0], "LogNormal")
        return center + spread * mu, spread * math.exp(log_sigma)

    def _z(self, t: Array) -> Array:
        return np.asarray((np.log(t) - self.mu) / self.sigma)

    def _log_hazard(self, t: Array) -> Array:
        z = self._z(t)
        # φ/Φ loses its digits below zero to underflow, the logarithms lose theirs above.
        low = z < 0
        out = np.log(_normal_hazard(z))
        out[low] = -0.5 * z[low] ** 2 - HALF_LOG_2PI - _log_upper_tail(z[low])
        return np.where(t > 0, out - math.log(self.sigma) - np.log(t), -np.inf)

    def _log_hazard_derivative(self, t: Array) -> Array:
        z = self._z(t)
        return np.asarray(((_normal_hazard(z) - z) / self.sigma - 1) / t)

    def _cumulative_hazard(self, t: Array) -> Array:
        return -_log_upper_tail(self._z(t))

    def _score(self, t: Array) -> Array:
        return np.asarray(-(1 + self._z(t) / self.sigma) / t)

    def _logpdf(self, t: Array) -> Array:
        constant = math.log(self.sigma) + HALF_LOG_2PI
        return np.where(t > 0, -0.5 * self._z(t) ** 2 - np.log(t) - constant, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(np.exp(self.mu + self.sigma * rng.standard_normal(n)))


def _normal_hazard(z: Array) -> Array:
    """φ(z)/Φ(−z), which is about z far out."""
    from scipy.special import erfcx

    with np.errstate(over="ignore"):
        return np.asarray(math.sqrt(2 / math.pi) / erfcx(z / math.sqrt(2)))


def _log_upper_tail(z: Array) -> Array:
    """log Φ(−z)."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(-z))
