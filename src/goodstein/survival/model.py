"""Models of durations: a hazard, a cumulative hazard, and what follows from them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from goodstein.adapters.describe import describe, roots
from goodstein.domains.base import Domain
from goodstein.domains.box import Box
from goodstein.errors import InputError, SamplingError, ScoreError, describe_rows
from goodstein.models.model import call_sampler, title
from goodstein.numerics.differentiate import gradient
from goodstein.numerics.elementwise import Elementwise
from goodstein.survival.data import Censored
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count

Function: TypeAlias = Callable[..., Any]

ACCEPTED = """\
  - a distribution with a hazard from goodstein.families, such as Exponential or Weibull
  - a frozen distribution of scipy.stats on the half-line, such as scipy.stats.weibull_min(2)
  - a fitted univariate fitter of lifelines
  - functions: SurvivalModel(hazard=..., cumulative_hazard=...)
  - any object with methods .hazard(t) and .cumulative_hazard(t)"""

LONGEST = 1e300
"""Beyond this a duration counts as infinite."""


class SurvivalModel:
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
        The durations that the parameters were fitted to, where that is known: a test on the same
        durations then says that its p-value is conservative.

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

    has_sample = True
    """Every model can be sampled, if need be by inverting its cumulative hazard."""

    upper: float
    """Where the support ends, beyond which nobody survives."""

    def __init__(
        self,
        *,
        hazard: Function,
        cumulative_hazard: Function,
        log_hazard_derivative: Function | None = None,
        sample: Function | None = None,
        name: str | None = None,
        hazard_at_zero: float | None = None,
        fitted_to: ArrayLike | None = None,
    ) -> None:
        functions = {
            "hazard": hazard,
            "cumulative_hazard": cumulative_hazard,
            "log_hazard_derivative": log_hazard_derivative,
            "sample": sample,
        }
        for argument, function in functions.items():
            optional = argument in ("log_hazard_derivative", "sample")
            if not callable(function) and not (optional and function is None):
                raise InputError(
                    f"`{argument}` of SurvivalModel must be a function of an array of times, got "
                    f"{function!r}."
                )
        self._functions = {key: value for key, value in functions.items() if value is not None}
        self._name = name if name is not None else f"hazard={title(hazard)}"
        self._elementwise = {
            key: Elementwise(value, f"`{key}` of {self._name}")
            for key, value in self._functions.items()
            if key != "sample"
        }
        self._zero = None if hazard_at_zero is None else float(hazard_at_zero)
        self.fitted_to: Array | None = None if fitted_to is None else np.asarray(fitted_to, np.float64)
        self.upper = np.inf
        self._factor = 1.0
        self._trusted = False

    @property
    def name(self) -> str:
        """What messages and results call the model."""
        return self._name

    @property
    def domain(self) -> Domain:
        """The half-line [0, ∞)."""
        return Box(0.0, np.inf)

    @property
    def trusted(self) -> bool:
        """Whether the functions come from a distribution rather than from a user, who may err."""
        return self._trusted

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
        return gradient(
            lambda x: _log(self.hazard(x[:, 0])),
            times[:, None],
            self.domain,
            name=f"The log hazard of {self.name}",
            remedy="pass SurvivalModel(log_hazard_derivative=...)",
        )[:, 0]

    @property
    def hazard_at_zero(self) -> float:
        """λ₀(0), or its limit: zero, positive or infinite."""
        if self._zero is None:
            at_zero = float(self._elementwise["hazard"](np.zeros(1))[0])
            self._zero = at_zero if not np.isnan(at_zero) else self._limit()
        return self._factor * self._zero

    def quantile(self, cumulative: ArrayLike) -> Array:
        """When Λ₀ reaches these values, (n,); inf where it never does."""
        from scipy.optimize.elementwise import find_root

        target = _as_times(cumulative)
        upper = np.ones_like(target)
        short = np.arange(len(target))
        while short.size:
            short = short[self.cumulative_hazard(upper[short]) < target[short]]
            upper[short] *= 4.0
            short = short[upper[short] < LONGEST]
        reached = upper < LONGEST
        result = np.full_like(target, np.inf)
        if reached.any():
            # Bounded above, because Λ₀ is infinite beyond a finite support.
            found = find_root(
                lambda t, v: np.minimum(self.cumulative_hazard(t.ravel()).reshape(t.shape), 1e6) - v,
                (np.zeros(int(reached.sum())), upper[reached]),
                args=(target[reached],),
                tolerances={"xrtol": 1e-12, "xatol": 0.0, "fatol": 0.0, "frtol": 0.0},
            )
            result[reached] = found.x
        return result

    def sample(self, n: int, rng: RNG = None) -> Censored:
        """Draw n independent durations, none of them censored."""
        durations = self._durations(n, np.random.default_rng(rng))
        endless = np.isinf(durations)
        if endless.any():
            raise SamplingError(
                f"The cumulative hazard of {self.name} is bounded: {endless.sum()} of {n} draws never have "
                "the event. Such a model can be simulated only with censoring that reaches zero."
            )
        return Censored(durations)

    def sample_like(self, data: Censored, rng: RNG = None) -> Censored:
        """Draw as many observations, censored like the data.

        Durations X come from the model, censoring times C from the Kaplan–Meier estimate of the
        censoring distribution (:meth:`Censored.kaplan_meier_censoring`), and T = min(X, C). What that
        estimate leaves over beyond the longest duration counts as never censored.
        """
        generator = np.random.default_rng(rng)
        x = self._durations(len(data), generator)
        c = data.draw_censoring(len(data), generator)
        t = np.minimum(x, c)
        if np.isinf(t).any():
            raise SamplingError(
                f"The cumulative hazard of {self.name} is bounded, and the longest duration of the data is "
                f"an event: {int(np.isinf(t).sum())} of {len(data)} draws have neither an event nor a "
                "censoring time. Use null=WildBootstrap()."
            )
        return Censored(t, x <= c)

    def adopt(self, raw: Any) -> SurvivalModel:
        """Wrap what a fit returned."""
        return as_survival_model(raw)

    def on(self, domain: Domain | None) -> Self:
        """The model itself: durations live on the half-line."""
        return self

    def proportional(self, factor: float) -> Self:
        """The model with hazard factor·λ₀."""
        if not (np.isfinite(factor) and factor > 0):
            raise InputError(f"`factor` must be a positive number, got {factor!r}.")
        scaled = copy.copy(self)
        _ = scaled.hazard_at_zero
        scaled._factor = self._factor * float(factor)
        scaled._functions = {key: value for key, value in self._functions.items() if key != "sample"}
        return scaled

    def renamed(self, name: str) -> Self:
        """The same model under another name."""
        renamed = copy.copy(self)
        renamed._name = name
        return renamed

    def was_fitted_to(self, data: Any) -> bool:
        """Whether the model is known to have been fitted to these very durations."""
        if self.fitted_to is None or not isinstance(data, Censored):
            return False
        return np.array_equal(np.sort(self.fitted_to), np.sort(data.durations))

    def __repr__(self) -> str:
        return f"SurvivalModel({self.name})"

    def _durations(self, n: int, rng: np.random.Generator) -> Array:
        check_count(n, "n")
        if "sample" not in self._functions:
            return self.quantile(rng.standard_exponential(n))
        drawn = np.asarray(call_sampler(self._functions["sample"], n, rng), np.float64)
        if drawn.shape not in ((n,), (n, 1)):
            raise SamplingError(f"The sampler of {self.name} returned shape {drawn.shape}; expected ({n},).")
        drawn = drawn.reshape(n)
        broken = ~(np.isfinite(drawn) & (drawn >= 0))
        if broken.any():
            raise SamplingError(
                f"The sampler of {self.name} returned durations that are negative or not finite in "
                f"{describe_rows(broken)}."
            )
        return drawn

    def _values(self, key: str, t: ArrayLike) -> Array:
        times = _as_times(t)
        if not len(times):
            return times
        values = self._elementwise[key](times)
        bad = ~(values >= 0)
        if bad.any():
            at = times[bad][0]
            raise ScoreError(
                f"`{key}` of {self.name} is negative or NaN at {describe_rows(bad)}: at t = {at:g} it is "
                f"{values[bad][0]:g}. A {key.replace('_', ' ')} is never negative; correct the function."
            )
        return values

    def _limit(self) -> float:
        """λ₀ close to zero, where it is not defined at zero."""
        scale = float(self.quantile([np.log(2.0)])[0])
        scale = scale if np.isfinite(scale) else 1.0
        far, near = self._values("hazard", scale * np.array([1e-8, 1e-10]))
        if near < 0.5 * far:
            return 0.0
        return float(near) if near < 2.0 * far else np.inf


def as_survival_model(model: Any) -> SurvivalModel:
    """Turn a distribution, a fitted estimator or an object with hazards into a :class:`SurvivalModel`.

    Parameters
    ----------
    model
        A :class:`SurvivalModel`; a distribution of :mod:`goodstein.families` with a hazard; a frozen
        distribution of :mod:`scipy.stats` on the half-line; a fitted univariate fitter of lifelines; or
        any object with methods ``hazard(t)`` and ``cumulative_hazard(t)``, and perhaps
        ``log_hazard_derivative(t)``, ``sample(n, rng)`` and an attribute ``hazard_at_zero``.

    Examples
    --------
    >>> import scipy.stats
    >>> from goodstein.survival.model import as_survival_model
    >>> model = as_survival_model(scipy.stats.weibull_min(2))
    >>> model
    SurvivalModel(scipy.stats.weibull_min(2))
    >>> model.hazard([0.5, 1.0])
    array([1., 2.])
    """
    if isinstance(model, SurvivalModel):
        return model
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. "
            f"Call it with parameters: {model.__name__}(...)."
        )
    origins = roots(model)
    if "lifelines" in origins:
        from goodstein.adapters.lifelines import from_fitter

        return from_fitter(model)
    if "scipy" in origins:
        from goodstein.adapters.scipy_survival import ScipySurvival

        return _from_methods(ScipySurvival(model))
    if callable(getattr(model, "hazard", None)) and callable(getattr(model, "cumulative_hazard", None)):
        return _from_methods(model)
    swapped = " Are data and model swapped?" if hasattr(model, "__array__") else ""
    raise InputError(
        f"`model`: {describe(model)} has no hazard, which a test of durations needs.{swapped} Accepted are\n"
        f"{ACCEPTED}"
    )


def _from_methods(model: Any) -> SurvivalModel:
    wrapped = SurvivalModel(
        hazard=model.hazard,
        cumulative_hazard=model.cumulative_hazard,
        log_hazard_derivative=getattr(model, "log_hazard_derivative", None),
        sample=getattr(model, "sample", None),
        name=getattr(model, "name", None) or describe(model),
        hazard_at_zero=getattr(model, "hazard_at_zero", None),
        fitted_to=getattr(model, "fitted_to", None),
    )
    support = getattr(model, "support", None)
    wrapped.upper = float(support.upper[0]) if isinstance(support, Box) else np.inf
    wrapped._trusted = type(model).__module__.partition(".")[0] == "goodstein"
    return wrapped


def _as_times(t: ArrayLike) -> Array:
    times = np.asarray(t, np.float64)
    return times.reshape(1) if times.ndim == 0 else times


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
