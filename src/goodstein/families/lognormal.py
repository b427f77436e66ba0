"""The log-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from goodstein.errors import InputError
from goodstein.families.checks import as_parameter, as_positive
from goodstein.families.durations import (
    HALF_LINE,
    Lifetimes,
    after_zero,
    durations_and_events,
    maximise,
    require_shape,
)
from goodstein.types import Array, ArrayLike

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class LogNormal(Lifetimes):
    r"""Log-normal distribution: the logarithm of the lifetime is N(μ, σ²).

    With z = (log t − μ)/σ and the standard normal hazard m(z) = φ(z)/Φ(−z),

    .. math::

        λ(t) = \frac{m(z)}{σt}, \qquad Λ(t) = -\log Φ(-z), \qquad
        s(t) = -\frac{1 + z/σ}{t}.

    The hazard is zero at zero, rises to a maximum and falls again.

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
    """

    _parameters: ClassVar[tuple[str, ...]] = ("mu", "sigma")

    mu: float
    sigma: float

    def __init__(self, mu: float = 0.0, sigma: float = 1.0) -> None:
        self._set(mu=_number("mu", mu), sigma=as_positive("sigma", sigma), domain=HALF_LINE)

    @classmethod
    def fit(cls, data: Any) -> Self:
        """Maximum likelihood: moments of the logarithms, or, with censoring, quasi-Newton steps.

        The likelihood is concave in (μ/σ, 1/σ) (Burridge 1981), so the maximum found is the only one.

        Parameters
        ----------
        data
            :class:`goodstein.Censored` durations, or an array of durations that all end with an event.

        Examples
        --------
        >>> import goodstein as gs
        >>> gs.families.LogNormal.fit([1.0, 1.0, 2.718281828459045, 2.718281828459045])
        LogNormal(mu=0.5, sigma=0.5)
        """
        t, event = durations_and_events(data, "LogNormal")
        require_shape(t, event, "LogNormal")
        logs = np.log(t)
        center, spread = float(logs.mean()), float(logs.std())
        if event.all():
            return cls(center, spread)._remember(data)
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
        return cls(center + spread * mu, spread * math.exp(log_sigma))._remember(data)

    def _z(self, t: Array) -> Array:
        return np.asarray((np.log(t) - self.mu) / self.sigma)

    def _log_hazard(self, t: Array) -> Array:
        def inside(t: Array) -> Array:
            z = self._z(t)
            # φ/Φ loses its digits below zero to underflow, the logarithms lose theirs above.
            low = z < 0
            out = np.log(_normal_hazard(z))
            out[low] = -0.5 * z[low] ** 2 - HALF_LOG_2PI - _log_upper_tail(z[low])
            return np.asarray(out - math.log(self.sigma) - np.log(t))

        return after_zero(inside, t, -np.inf)

    def _log_hazard_derivative(self, t: Array) -> Array:
        def inside(t: Array) -> Array:
            z = self._z(t)
            return np.asarray(((_normal_hazard(z) - z) / self.sigma - 1) / t)

        return after_zero(inside, t, np.inf)

    def _cumulative_hazard(self, t: Array) -> Array:
        return -_log_upper_tail(self._z(t))

    def _score(self, t: Array) -> Array:
        return after_zero(lambda t: -(1 + self._z(t) / self.sigma) / t, t, np.inf)

    def _logpdf(self, t: Array) -> Array:
        def inside(t: Array) -> Array:
            constant = math.log(self.sigma) + HALF_LOG_2PI
            return np.asarray(-0.5 * self._z(t) ** 2 - np.log(t) - constant)

        return after_zero(inside, t, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(np.exp(self.mu + self.sigma * rng.standard_normal(n)))


def _number(name: str, value: ArrayLike) -> float:
    array = as_parameter(name, value)
    if array.ndim:
        raise InputError(f"`{name}`: expected one number, got an array of shape {array.shape}.")
    return float(array)


def _normal_hazard(z: Array) -> Array:
    """φ(z)/Φ(−z), which is about z far out."""
    from scipy.special import erfcx

    with np.errstate(over="ignore"):
        return np.asarray(math.sqrt(2 / math.pi) / erfcx(z / math.sqrt(2)))


def _log_upper_tail(z: Array) -> Array:
    """log Φ(−z)."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(-z))
