"""The log-logistic distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import number
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes, divided, maximise, times_log
from goodstein.types import Array, BoolArray


class LogLogistic(Lifetimes):
    r"""Log-logistic distribution: the logarithm of the lifetime is logistic.

    With u = (t/σ)^k,

    .. math::

        λ(t) = \frac{k}{t}\,\frac{u}{1+u}, \qquad Λ(t) = \log(1 + u), \qquad
        \frac{λ'(t)}{λ(t)} = \frac{1}{t}\Bigl(k - 1 - \frac{k u}{1 + u}\Bigr).

    The tail is heavy: the mean exists for k > 1 only. The hazard is infinite at zero for k < 1,
    1/σ for k = 1, and zero for k > 1, where it rises and falls again. The fit takes quasi-Newton steps; the
    likelihood is concave in (k log σ, k) (Burridge 1981), so the maximum found is the only one.

    Parameters
    ----------
    scale
        Scale σ > 0, which is the median.
    shape
        Shape k > 0. In scipy this is ``scipy.stats.fisk(shape, scale=scale)``.

    References
    ----------
    Kalbfleisch & Prentice (2002), *The Statistical Analysis of Failure Time Data*, section 2.2.

    Examples
    --------
    >>> from goodstein.families import LogLogistic
    >>> q = LogLogistic(2.0, 3.0)
    >>> q
    LogLogistic(scale=2, shape=3)
    >>> q.survival([2.0]), q.hazard([2.0])
    (array([0.5]), array([0.75]))
    >>> LogLogistic.fit(LogLogistic(3.0, 1.5).sample(100_000, rng=1)).shape
    1.50
    """

    scale: float
    shape: float

    _free = free(scale=Positive(), shape=Positive())

    def __init__(self, scale: float = 1.0, shape: float = 1.0) -> None:
        self._set(scale=number(scale, "scale", above=0.0), shape=number(shape, "shape", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, float]:
        logs = np.log(t)
        center, spread = float(logs.mean()), float(logs.std())
        y = (logs - center) / spread
        events = float(event.sum())

        def objective(parameters: Array) -> tuple[float, Array]:
            location, log_shape = parameters
            shape = math.exp(log_shape)
            w = shape * (y - location)
            value = (w[event].sum() - (1.0 + event) @ np.logaddexp(0, w)) / events + log_shape
            slope = (event - (1.0 + event) * _expit(w)) / events
            return value, np.array([-slope.sum() * shape, slope @ w + 1])

        location, log_shape = maximise(objective, [0.0, 0.5], "LogLogistic")
        return math.exp(center + spread * location), math.exp(log_shape) / spread

    def _log_hazard(self, t: Array) -> Array:
        logs = np.log(t / self.scale)
        power = np.logaddexp(0, self.shape * logs)
        return math.log(self.shape / self.scale) + times_log(self.shape - 1, logs) - power

    def _log_hazard_derivative(self, t: Array) -> Array:
        # k u/((1 + u) t) is the hazard, which at zero is finite while u/t is not a number.
        return divided(self.shape - 1, t) - np.exp(self._log_hazard(t))

    def _cumulative_hazard(self, t: Array) -> Array:
        return np.logaddexp(0, self.shape * np.log(t / self.scale))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        # The odds of a uniform variate, without ever rounding it to one.
        return np.asarray(self.scale * np.expm1(rng.standard_exponential(n)) ** (1 / self.shape))


def _expit(w: Array) -> Array:
    return np.exp(-np.logaddexp(0, -w))
