"""The exponential distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import number
from goodstein.errors import InputError
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes
from goodstein.types import Array, BoolArray


class Exponential(Lifetimes):
    r"""Exponential distribution: a constant hazard, so a life that does not age.

    .. math:: λ(t) = \frac1σ, \qquad Λ(t) = \frac tσ, \qquad s(t) = -\frac1σ.

    The most likely scale is the total time at risk over the number of events.

    Parameters
    ----------
    scale
        Scale σ > 0, which is the mean; :data:`scipy.stats.expon` calls it ``scale`` too.

    References
    ----------
    Kalbfleisch & Prentice (2002), *The Statistical Analysis of Failure Time Data*, section 2.2.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.Exponential(2.0)
    >>> q
    Exponential(2)
    >>> q.hazard([0.0, 7.0])
    array([0.5, 0.5])
    >>> q.score([[3.0]])
    array([[-0.5]])
    >>> gs.families.Exponential.fit(gs.Censored([1.0, 2.0, 3.0], [1, 0, 1]))
    Exponential(3)
    """

    _events_at_zero = True

    scale: float

    _free = free(scale=Positive())

    def __init__(self, scale: float = 1.0) -> None:
        self._set(scale=number(scale, "scale", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float]:
        if not t.any():
            raise InputError("all durations are 0, so Exponential has no scale to fit.", argument="data")
        return (float(t.sum() / event.sum()),)

    def _log_hazard(self, t: Array) -> Array:
        return np.full_like(t, -math.log(self.scale))

    def _log_hazard_derivative(self, t: Array) -> Array:
        return np.zeros_like(t)

    def _cumulative_hazard(self, t: Array) -> Array:
        return t / self.scale

    def _score(self, t: Array) -> Array:
        return np.full_like(t, -1 / self.scale)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.scale * rng.standard_exponential(n)
