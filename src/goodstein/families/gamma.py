"""The gamma distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import number
from goodstein.errors import InputError
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes, divided, maximise, times_log
from goodstein.types import Array, BoolArray

SMALLEST_TAIL = 1e-250
MOST_TERMS = 100_000
STEP = 1e-3


class Gamma(Lifetimes):
    r"""Gamma distribution.

    With x = t/σ and the upper incomplete gamma function Γ(a, x),

    .. math::

        \log q(t) = (a - 1)\log x - x - \log σ - \log Γ(a), \qquad
        λ(t) = \frac{x^{a-1} e^{-x}}{σ\,Γ(a, x)}, \qquad
        s(t) = \frac{a - 1}{t} - \frac1σ.

    The hazard tends to 1/σ for long lives: from above for a < 1, where it is infinite at zero,
    from below for a > 1, where it is zero there; a = 1 is the exponential distribution. The fit takes
    quasi-Newton steps in the logarithms of the parameters.

    Parameters
    ----------
    shape
        Shape a > 0.
    scale
        Scale σ > 0. In scipy this is ``scipy.stats.gamma(shape, scale=scale)``.

    References
    ----------
    Kalbfleisch & Prentice (2002), *The Statistical Analysis of Failure Time Data*, section 2.2.
    Press et al. (2007), *Numerical Recipes*, section 6.2, for the continued fraction in the tail.

    Examples
    --------
    >>> from goodstein.families import Gamma
    >>> q = Gamma(2.0, 3.0)
    >>> q
    Gamma(shape=2, scale=3)
    >>> q.hazard([3.0]), q.score([[3.0]])
    (array([0.16666667]), array([[0.]]))
    >>> Gamma.fit(Gamma(2.0, 3.0).sample(100_000, rng=1)).shape
    2.0
    """

    shape: float
    scale: float

    _free = free(shape=Positive(), scale=Positive())

    def __init__(self, shape: float = 1.0, scale: float = 1.0) -> None:
        self._set(shape=number(shape, "shape", above=0.0), scale=number(scale, "scale", above=0.0))

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, float]:
        from scipy.special import psi

        events, unit = float(event.sum()), float(t.sum() / event.sum())
        seen, lived = t[event] / unit, t[~event] / unit
        log_sum, total = float(np.log(seen).sum()), float(seen.sum())

        def objective(parameters: Array) -> tuple[float, Array]:
            log_shape, log_scale = parameters
            a, scale = math.exp(log_shape), math.exp(log_scale)
            x = lived / scale
            value = (a - 1) * log_sum - total / scale - events * (a * log_scale + math.lgamma(a))
            by_shape = a * (log_sum - events * (log_scale + float(psi(a))))
            by_scale = total / scale - a * events
            if len(x):
                value += _log_tail(a, x)[0].sum()
                # The derivative in a has no closed form; differences of order four leave 1e-12.
                near = [_log_tail(a * math.exp(j * STEP), x)[0].sum() for j in (-2, -1, 1, 2)]
                by_shape += (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * STEP)
                by_scale += float(x @ Gamma(a).hazard(x))
            return value / events, np.array([by_shape, by_scale]) / events

        log_shape, log_scale = maximise(objective, [0.0, 0.0], "Gamma")
        return math.exp(log_shape), unit * math.exp(log_scale)

    def _log_hazard(self, t: Array) -> Array:
        x = t / self.scale
        log_tail, log_fraction = _log_tail(self.shape, x)
        out = times_log(self.shape - 1, np.log(x)) - x - math.lgamma(self.shape) - log_tail
        # Far out the tail is the density times a fraction, and the density cancels.
        far = np.isfinite(log_fraction)
        out[far] = -np.log(x[far]) - log_fraction[far]
        return np.asarray(out - math.log(self.scale))

    def _log_hazard_derivative(self, t: Array) -> Array:
        return divided(self.shape - 1, t) + (np.exp(self._log_hazard(t)) - 1 / self.scale)

    def _cumulative_hazard(self, t: Array) -> Array:
        return -_log_tail(self.shape, t / self.scale)[0]

    def _score(self, t: Array) -> Array:
        return divided(self.shape - 1, t) - 1 / self.scale

    def _logpdf(self, t: Array) -> Array:
        x = t / self.scale
        return times_log(self.shape - 1, np.log(x)) - x - math.log(self.scale) - math.lgamma(self.shape)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * np.exp(log_gamma_variates(np.full(n, self.shape), rng)))


def log_gamma_variates(shape: Array, rng: np.random.Generator) -> Array:
    """Logarithms of gamma variates, one for each entry of ``shape``.

    For small shapes the variates themselves underflow to zero. With G ~ Γ(a + 1) and U uniform, G U^{1/a} ~
    Γ(a) (Marsaglia & Tsang 2000), and the logarithm of that never does; -log U is an exponential variate.
    """
    return np.asarray(np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape)


def _log_tail(a: float, x: Array) -> tuple[Array, Array]:
    """log Q(a, x), and log C where Q = x^a e^{−x} C/Γ(a) was needed to find it (NaN elsewhere)."""
    from scipy.special import gammainc, gammaincc

    lower, upper = gammainc(a, x), gammaincc(a, x)
    log_fraction = np.full(x.shape, np.nan)
    far = (upper < SMALLEST_TAIL) & np.isfinite(x)
    log_fraction[far] = np.log(_fraction(a, x[far]))
    with np.errstate(divide="ignore"):
        out = np.where(lower < 0.5, np.log1p(-np.minimum(lower, 0.5)), np.log(upper))
    out[far] = a * np.log(x[far]) - x[far] - math.lgamma(a) + log_fraction[far]
    return out, log_fraction


def _fraction(a: float, x: Array) -> Array:
    """C = Γ(a, x) e^x x^{−a}, for x well above a, by Lentz's method for Legendre's continued fraction."""
    b = x + 1 - a
    c, d = np.full_like(x, np.inf), 1 / b
    out = d.copy()
    for i in range(1, MOST_TERMS):
        numerator = -i * (i - a)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        out *= c * d
        if (np.abs(c * d - 1) < 1e-15).all():
            return out
    raise InputError(f"The tail of Gamma(shape={a:g}) cannot be evaluated at {x.max():g} times its scale.")
