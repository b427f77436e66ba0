"""Models of durations: a hazard, a cumulative hazard, and what follows from them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from goodstein.constraints import check_count, check_text, number, real_array, require_functions
from goodstein.data.rows import SeenRows
from goodstein.domains.box import Box
from goodstein.errors import SamplingError, ScoreError, describe_rows, must
from goodstein.models.base import AnyModel
from goodstein.models.functions import draws_of, title
from goodstein.models.provenance import Fit
from goodstein.numerics.differentiate import gradient
from goodstein.numerics.elementwise import Elementwise
from goodstein.survival.data import Censored, as_censored
from goodstein.survival.invert import inverted
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

Function: TypeAlias = Callable[..., Any]


class SurvivalModel(AnyModel):
    r"""A model of durations, known through its hazard λ₀ and cumulative hazard Λ₀.

    .. math:: \lambda_0(t) = f_0(t) / S_0(t), \qquad \Lambda_0(t) = \int_0^t \lambda_0 = -\log S_0(t).

    Parameters
    ----------
    hazard, cumulative_hazard
        λ₀ and Λ₀ as functions of an array of times, (n,) to (n,), written with NumPy or JAX.
    log_hazard_derivative
        λ₀′/λ₀ in the same form. Without it log λ₀ is differentiated: automatically if it is a JAX
        function, otherwise numerically.
    sample
        A sampler of durations without censoring, ``sample(n, rng)``. Without it Λ₀ is inverted
        numerically: Λ₀(X) has the standard exponential distribution.
    name
        What messages and results call the model.
    hazard_at_zero
        λ₀(0), which may be infinite, where the function itself does not say it.
    fitted_to
        The durations that the parameters were fitted to, (n,) or :class:`Censored`, where that is known: a
        test on the same durations then says that its p-value is conservative.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> model = gs.SurvivalModel(
    ...     hazard=lambda t: 0.7 + t, cumulative_hazard=lambda t: 0.7 * t + t**2 / 2, name="linear hazard"
    ... )
    >>> model.log_hazard_derivative(np.array([0.3])).round(6)
    array([1.])
    >>> data = model.sample(200, rng=1)
    >>> gs.ksd_test(data, model, rng=1).pvalue > 0.05
    True
    """

    takes = Censored
    has_sample = True  # if need be by inverting the cumulative hazard
    domain = Box(0.0, np.inf)

    upper = np.inf
    """Where the support ends, beyond which nobody survives."""

    def __init__(
        self,
        *,
        hazard: Function,
        cumulative_hazard: Function | None = None,
        log_hazard_derivative: Function | None = None,
        sample: Function | None = None,
        name: str | None = None,
        hazard_at_zero: float | None = None,
        fitted_to: ArrayLike | Censored | None = None,
    ) -> None:
        required: dict[str, Any] = {"hazard": hazard, "cumulative_hazard": cumulative_hazard}
        optional = {"log_hazard_derivative": log_hazard_derivative, "sample": sample}
        functions = required | {key: value for key, value in optional.items() if value is not None}
        require_functions(functions, "SurvivalModel", "a function of an array of times")
        self._functions = functions
        self.name = check_text(name, "name") if name is not None else f"hazard={title(hazard)}"
        hazards = [key for key in functions if key != "sample"]
        self._elementwise = {key: Elementwise(functions[key], f"`{key}` of {self.name}") for key in hazards}
        self._zero = None
        if hazard_at_zero is not None:
            infinite = isinstance(hazard_at_zero, float) and hazard_at_zero == np.inf
            self._zero = np.inf if infinite else number(hazard_at_zero, "hazard_at_zero", least=0.0)
        if fitted_to is not None:
            self.remember(Fit(None, SeenRows(as_censored(fitted_to, "SurvivalModel"))))
        self._factor = 1.0

    @property
    def samples(self) -> bool:
        """Whether it has a sampler of its own, which is faster than inverting the cumulative hazard."""
        return "sample" in self._functions

    @property
    def has_log_hazard_derivative(self) -> bool:
        """Whether λ₀′/λ₀ was given, rather than obtained by differentiating log λ₀."""
        return "log_hazard_derivative" in self._functions

    def hazard(self, t: ArrayLike) -> Array:
        """λ₀ at each time, (n,); it may be infinite at the ends of the support."""
        return self._factor * self._values("hazard", t)

    def cumulative_hazard(self, t: ArrayLike) -> Array:
        """Λ₀ at each time, (n,); infinite beyond the support."""
        return self._factor * self._values("cumulative_hazard", t)

    def log_hazard_derivative(self, t: ArrayLike) -> Array:
        """λ₀′/λ₀ at each time, (n,)."""
        times = _as_times(t)
        if not len(times):
            return times
        if self.has_log_hazard_derivative:
            return self._elementwise["log_hazard_derivative"](times)
        if self._elementwise["hazard"].is_jax(times):
            return self._elementwise["hazard"].log_derivative(times)
        name, remedy = f"The log hazard of {self.name}", "pass SurvivalModel(log_hazard_derivative=...)"
        slope = gradient(self._log_hazard, times[:, None], self.domain, name=name, remedy=remedy)
        return slope[:, 0]

    @property
    def hazard_at_zero(self) -> float:
        """λ₀(0), or its limit: zero, positive or infinite."""
        if self._zero is None:
            at_zero = float(self._elementwise["hazard"](np.zeros(1))[0])
            self._zero = at_zero if not np.isnan(at_zero) else self._limit()
        return self._factor * self._zero

    def quantile(self, cumulative: ArrayLike) -> Array:
        """When Λ₀ reaches these values, (n,); inf where it never does."""
        return inverted(lambda t, _: self.cumulative_hazard(t), _as_times(cumulative))

    def sample(self, n: int, rng: RNG = None) -> Censored:
        """Draw n independent durations, none of them censored."""
        durations = self.durations(n, as_generator(rng))
        endless = np.isinf(durations)
        if endless.any():
            found = f"is bounded: {endless.sum()} of {n} draws never have the event."
            remedy = "Such a model can be simulated only with censoring that reaches zero."
            raise SamplingError(f"The cumulative hazard of {self.name} {found}", remedy=remedy)
        return Censored(durations)

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> Censored:
        return self.sample(n, rng)

    def log_likelihood(self, observations: Censored) -> Array:
        return observations.log_likelihood(self.hazard, self.cumulative_hazard)

    def read(self, data: Any, asked_by: str) -> Censored:
        """Durations from whatever stands for them."""
        return as_censored(data, asked_by)

    def given(self, data: Censored) -> SurvivalModel:
        """Hazards as functions of a time for each row of the data: the same for all."""
        return self

    def durations_like(self, data: Censored, rng: np.random.Generator) -> Array:
        """A duration later than its entry for each row of the data, (n,); inf where no event comes."""
        n = len(data)
        if not data.late:
            return self.durations(n, rng)
        return self.quantile(self.cumulative_hazard(data.entry) + rng.standard_exponential(n))

    def proportional(self, factor: float) -> Self:
        """The model with hazard factor·λ₀."""
        scaled = copy.copy(self)
        _ = scaled.hazard_at_zero
        scaled._factor = self._factor * number(factor, "factor", above=0.0)
        scaled._functions = {key: value for key, value in self._functions.items() if key != "sample"}
        return scaled

    def renamed(self, name: str) -> Self:
        """The same model under another name."""
        renamed = copy.copy(self)
        renamed.name = name
        return renamed

    def __repr__(self) -> str:
        return f"SurvivalModel({self.name})"

    def durations(self, n: int, rng: np.random.Generator) -> Array:
        """n durations, (n,); infinite where the event never comes."""
        check_count(n, "n")
        if "sample" not in self._functions:
            return self.quantile(rng.standard_exponential(n))
        self.settle(self._drawn)
        drawn = self._drawn(n, rng)
        if drawn.shape not in ((n,), (n, 1)):
            raise SamplingError(f"The sampler of {self.name} returned shape {drawn.shape}; expected ({n},).")
        drawn = drawn.reshape(n)
        broken = ~(np.isfinite(drawn) & (drawn >= 0))
        if broken.any():
            found = f"returned durations that are negative or not finite in {describe_rows(broken)}."
            raise SamplingError(f"The sampler of {self.name} {found}", rows=broken)
        return drawn

    def _drawn(self, n: int, rng: np.random.Generator) -> Array:
        """What the user's sampler returns."""
        return draws_of(self._functions["sample"], f"The sampler of {self.name}", n, rng)

    def _values(self, key: str, t: ArrayLike) -> Array:
        times = _as_times(t)
        if not len(times):
            return times
        return never_negative(self._elementwise[key](times), times, key, self.name)

    def _log_hazard(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.hazard(x[:, 0]))

    def _limit(self) -> float:
        """λ₀ close to zero, where it is not defined at zero."""
        scale = float(self.quantile([np.log(2.0)])[0])
        scale = scale if np.isfinite(scale) else 1.0
        far, near = self._values("hazard", scale * np.array([1e-8, 1e-10]))
        if near < 0.5 * far:
            return 0.0
        return float(near) if near < 2.0 * far else np.inf


def _as_times(t: ArrayLike) -> Array:
    times = real_array(t, "t")
    if np.isnan(times).any():
        raise must("t", "times, and none of them NaN", t)
    return times.reshape(1) if times.ndim == 0 else times


def never_negative(values: Array, t: Array, key: str, name: str) -> Array:
    """What a hazard of a user's, or its integral, is at times; raises where it is negative or NaN."""
    bad = ~(values >= 0)
    if bad.any():
        first = f"at t = {t[bad][0]:g} it is {values[bad][0]:g}"
        reason = f"`{key}` of {name} is negative or NaN at {describe_rows(bad)}: {first}."
        remedy = f"A {key.replace('_', ' ')} is never negative; correct the function."
        raise ScoreError(reason, rows=bad, remedy=remedy)
    return values
