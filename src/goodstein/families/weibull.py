"""The Weibull distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import number
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes, divided, increasing_root, times_log
from goodstein.types import Array, BoolArray


class Weibull(Lifetimes):
    r"""Weibull distribution: a hazard that is a power of time.

    .. math::

        λ(t) = \frac kσ \Bigl(\frac tσ\Bigr)^{k-1}, \qquad
        Λ(t) = \Bigl(\frac tσ\Bigr)^k, \qquad
        \frac{λ'(t)}{λ(t)} = \frac{k-1}{t}.

    The hazard falls for k < 1, where it is infinite at zero, and grows for k > 1, where it is
    zero there; k = 1 is the exponential distribution.

    For a given shape the most likely scale is :math:`(\sum t_i^k / d)^{1/k}` with d events, and the shape is
    then the only root of an increasing function.

    Parameters
    ----------
    scale
        Scale σ > 0: 63 % of lives end before it.
    shape
        Shape k > 0. In scipy this is ``scipy.stats.weibull_min(shape, scale=scale)``.

    References
    ----------
    Kalbfleisch & Prentice (2002), *The Statistical Analysis of Failure Time Data*, section 2.2.

    Examples
    --------
    >>> from goodstein.families import Weibull
    >>> q = Weibull(2.0, 3.0)
    >>> q
    Weibull(scale=2, shape=3)
    >>> q.hazard([2.0]), q.cumulative_hazard([4.0])
    (array([1.5]), array([8.]))
    >>> Weibull.fit(Weibull(3.0, 1.5).sample(100_000, rng=1)).shape
    1.50
    """

    scale: float
    shape: float

    _free = free(scale=Positive(), shape=Positive())

    def __init__(self, scale: float = 1.0, shape: float = 1.0) -> None:
        self._set(scale=number(scale, "scale", above=0.0), shape=number(shape, "shape", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, float]:
        latest = float(t.max())
        logs = np.log(t / latest)  # at most 0, so that no power overflows
        mean_log = float(logs[event].mean())

        def slope(k: float) -> float:
            with np.errstate(under="ignore"):
                weights = np.exp(k * logs)
            return float(weights @ logs / weights.sum()) - 1 / k - mean_log

        shape = increasing_root(slope)
        with np.errstate(under="ignore"):
            total = float(np.exp(shape * logs).sum())
        return latest * (total / float(event.sum())) ** (1 / shape), shape

    def _log_hazard(self, t: Array) -> Array:
        return math.log(self.shape / self.scale) + times_log(self.shape - 1, np.log(t / self.scale))

    def _log_hazard_derivative(self, t: Array) -> Array:
        return divided(self.shape - 1, t)

    def _cumulative_hazard(self, t: Array) -> Array:
        return np.asarray((t / self.scale) ** self.shape)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * rng.standard_exponential(n) ** (1 / self.shape))
