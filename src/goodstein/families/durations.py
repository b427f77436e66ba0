"""What families of lifetimes share: hazards beside densities, and fits to censored durations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from goodstein.constraints import real_array
from goodstein.domains import Box
from goodstein.errors import InputError, must, refuse_rows
from goodstein.families.base import Family
from goodstein.survival.data import Censored, as_censored
from goodstein.types import Array, ArrayLike, BoolArray


class Lifetimes(Family):
    r"""A distribution on the half-line [0, ∞), given by its hazard λ.

    .. math::

        Λ(t) = \int_0^t λ, \qquad S(t) = e^{-Λ(t)}, \qquad \log q = \log λ - Λ, \qquad
        s = \frac{λ'}{λ} - λ.

    A subclass writes the logarithm of the hazard, its derivative and the cumulative hazard at
    times that are not negative, and the inverse of the cumulative hazard for the sampler.
    Hazards are functions of times, elementwise; scores and log densities are functions of rows,
    as those of every family.
    """

    domain = Box(0, np.inf)
    _events_at_zero: ClassVar[bool] = False
    """Whether the density is positive and finite at time zero, so that events there can be fitted."""

    def _contributions(self, data: Any, method: str) -> Array:
        censored = as_censored(data, type(self).__name__)
        return censored.log_likelihood(self.hazard, self.cumulative_hazard)

    @classmethod
    def fit(cls, data: Any) -> Self:
        """Maximum likelihood.

        Parameters
        ----------
        data
            :class:`goodstein.Censored` durations, or an array of durations that all end with an event.
        """
        t, event = durations_and_events(data, cls)
        if len(cls._parameters) > 1:  # a scale alone can be fitted to events at one time
            require_shape(t, event, cls.__name__)
        return cls(*cls._maximum_likelihood(t, event))

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Censored:
        return as_censored(data, f"{cls.__name__}.fit")

    @staticmethod
    def _maximum_likelihood(t: Array, event: BoolArray) -> tuple[float, ...]:
        """The parameters, from durations and which of them end with an event."""
        raise NotImplementedError  # not needed where `fit` is overridden

    @property
    def hazard_at_zero(self) -> float:
        """λ(0): zero, positive or infinite."""
        return float(self.hazard(0.0))

    def hazard(self, t: ArrayLike) -> Array:
        """λ(t), elementwise; zero before time zero."""
        return self._elementwise(lambda times: np.exp(self._log_hazard(times)), t, 0.0)

    def log_hazard_derivative(self, t: ArrayLike) -> Array:
        """λ′(t)/λ(t), elementwise; NaN before time zero."""
        return self._elementwise(self._log_hazard_derivative, t, np.nan)

    def cumulative_hazard(self, t: ArrayLike) -> Array:
        """Λ(t), elementwise; accurate where Λ is tiny as where the survival function is."""
        return self._elementwise(self._cumulative_hazard, t, 0.0)

    def survival(self, t: ArrayLike) -> Array:
        """S(t) = exp(−Λ(t)), the probability to live longer than t, elementwise."""
        return np.asarray(np.exp(-self.cumulative_hazard(t)))

    def score(self, x: ArrayLike) -> Array:
        return self._elementwise(self._score, self._points(x), np.nan)

    def logpdf(self, x: ArrayLike) -> Array:
        return self._elementwise(self._logpdf, self._points(x)[:, 0], -np.inf)

    @abstractmethod
    def _log_hazard(self, t: Array) -> Array: ...
    @abstractmethod
    def _log_hazard_derivative(self, t: Array) -> Array: ...
    @abstractmethod
    def _cumulative_hazard(self, t: Array) -> Array: ...

    # Families whose density is simpler than their hazard write these two themselves.

    def _score(self, t: Array) -> Array:
        return self._log_hazard_derivative(t) - np.exp(self._log_hazard(t))

    def _logpdf(self, t: Array) -> Array:
        return self._log_hazard(t) - self._cumulative_hazard(t)

    def _elementwise(self, function: Callable[[Array], Array], t: ArrayLike, before: float) -> Array:
        times = real_array(t, "t")
        if not (np.abs(times) <= LAST).all():
            raise must("t", f"finite times of at most {LAST:g}", t)
        inside = times >= 0
        out = np.full(times.shape, np.nan)
        # Limits at zero and far out are infinite or zero by right, not by mistake.
        with np.errstate(all="ignore"):
            out[inside] = function(times[inside])
        out[times < 0] = before
        return out


LAST = 1e300
"""The last time at which hazards are evaluated: beyond it t/σ may overflow."""


def times_log(factor: float, logarithm: Array) -> Array:
    """factor·logarithm, with 0·(−∞) = 0: the factor's term is absent from the density."""
    return factor * logarithm if factor else np.zeros_like(logarithm)


def divided(numerator: float, t: Array) -> Array:
    """numerator/t, with 0/0 = 0."""
    return numerator / t if numerator else np.zeros_like(t)


# ---------------------------------------------------------------------------- fits


def durations_and_events(data: Any, family: type[Lifetimes]) -> tuple[Array, BoolArray]:
    """Durations that carry information, and which of them are events; raises without any."""
    name = family.__name__
    censored = as_censored(data, f"{name}.fit")
    if censored.late:
        reason = f"some durations have a late entry, of which {name}.fit knows nothing."
        remedy = f"Fit lifelines' {name}Fitter with entry=..., which is a model here too."
        raise InputError(reason, argument="data", remedy=remedy)
    t, event = censored.durations, censored.event_observed
    if not event.any():
        why = "the likelihood grows without limit as lives get longer"
        reason = f"none of the {len(t)} durations ends with an event, so {name} cannot be fitted: {why}."
        raise InputError(reason, argument="data")
    if family._events_at_zero:
        return t, event
    refuse_rows(
        event & (t == 0),
        f"hold events at time 0, where the density of {name} is zero, infinite or not determined, so it "
        "cannot be fitted.",
        "Record these durations more finely, or remove them for a reason you can give.",
    )
    # Censored at once means: nothing was seen.
    return t[t > 0], event[t > 0]


def require_shape(t: Array, event: BoolArray, family: str) -> None:
    """Raise where the likelihood is unbounded because all events fall on the last time of all."""
    if (t[event] == t.max()).all():
        why = f"so the likelihood of {family} is unbounded: mass at that point fits ever better"
        reason = f"all events happen at the latest time, {t.max():g}, {why}."
        raise InputError(reason, argument="data", remedy="Events at two or more times are needed.")


def maximise(objective: Callable[[Array], tuple[float, Array]], start: ArrayLike, family: str) -> Array:
    """Parameters at which a smooth function, mean log likelihood and its gradient, is largest."""
    from scipy.optimize import minimize

    def negative(parameters: Array) -> tuple[float, Array]:
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            value, gradient = objective(parameters)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return np.inf, np.zeros_like(gradient)  # the line search then takes a shorter step
        return -value, -gradient

    with np.errstate(all="ignore"):
        found = minimize(negative, np.asarray(start, dtype=np.float64), jac=True, method="BFGS", tol=1e-9)
    size = float(np.abs(found.jac).max())
    # Rounding may end the search before its tolerance is met, which does no harm.
    if not (np.isfinite(found.fun) and size < 1e-6):
        state = f"the gradient is still {size:.1g} after {found.nit} steps"
        reason = f"the maximum likelihood fit of {family} did not converge ({state})."
        raise InputError(reason, argument="data", remedy="Look for extreme durations, or rescale them.")
    return np.asarray(found.x)


def increasing_root(function: Callable[[float], float], start: float = 1.0) -> float:
    """The positive root of an increasing function, however large or small."""
    from scipy.optimize import brentq

    low = high = start
    while function(low) > 0:
        low /= 4
    while function(high) < 0:
        high *= 4
    return float(low) if low == high else float(brentq(function, low, high, xtol=1e-300, rtol=1e-14))
