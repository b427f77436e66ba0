"""Fitted univariate models of lifelines."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.lifelines_regression import from_cox, from_regression
from goodstein.data.rows import SeenRows
from goodstein.errors import InputError, heard
from goodstein.families.base import LIKELIHOOD, Family
from goodstein.families.durations import Lifetimes
from goodstein.families.exponential import Exponential
from goodstein.families.loglogistic import LogLogistic
from goodstein.families.lognormal import LogNormal
from goodstein.families.piecewise import PiecewiseExponential
from goodstein.families.weibull import Weibull
from goodstein.foreign import bases, unusable
from goodstein.models.provenance import Fit, Refitting
from goodstein.survival.data import Censored, as_censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.reading import OTHER_CENSORING
from goodstein.survival.regression import AnySurvival
from goodstein.types import Array

CURVES = {
    "NonParametricUnivariateFitter",
    "KaplanMeierFitter",
    "NelsonAalenFitter",
    "BreslowFlemingHarringtonFitter",
    "AalenJohansenFitter",
}

STEPS = {"AalenAdditiveFitter", "CoxTimeVaryingFitter"}
"""Regressions with nonparametric hazards that are not those of :class:`CoxResiduals`."""

SAME: dict[str, tuple[type[Lifetimes], tuple[str, ...]]] = {
    "ExponentialFitter": (Exponential, ("lambda_",)),
    "WeibullFitter": (Weibull, ("lambda_", "rho_")),
    "LogNormalFitter": (LogNormal, ("mu_", "sigma_")),
    "LogLogisticFitter": (LogLogistic, ("alpha_", "beta_")),
}
"""Fitters of the same distributions as ours, and the attributes that are their parameters."""


def from_fitter(fitter: Any) -> AnySurvival:
    """Turn a fitted fitter of lifelines into a model of durations.

    Exponential, Weibull, log-normal, log-logistic and piecewise exponential fitters become the same
    distribution of :mod:`goodstein.families`, all of it in closed form. Others, also those of your own,
    are asked for their hazards, and the log hazard is differentiated numerically.
    """
    name = type(fitter).__name__
    inside = getattr(fitter, "_model", fitter)  # CoxPHFitter has one for each kind of baseline
    regressions = {"ParametricRegressionFitter": from_regression, "SemiParametricPHFitter": from_cox}
    for kind in bases(inside) & regressions.keys():
        _require_right_censoring(fitter, name)
        return regressions[kind](inside)
    _require_parametric(fitter)
    if not hasattr(fitter, "_fitted_parameters_"):
        raise unusable(f"lifelines' {name} is not fitted yet. Call .fit(durations, event_observed) first.")
    _require_right_censoring(fitter, name)
    known = fitter._fitted_parameter_names
    parameters = [f"{parameter}={float(getattr(fitter, parameter)):.6g}" for parameter in known]
    official = _official(fitter)
    title = f"{'lifelines.' if official else ''}{name}({', '.join(parameters)})"
    law = (_closed_form(fitter, name) if official else None) or Fitted(fitter)
    model = SurvivalModel(
        hazard=law.hazard,
        cumulative_hazard=law.cumulative_hazard,
        log_hazard_derivative=law.log_hazard_derivative,
        sample=law.sample,
        name=title,
        hazard_at_zero=law.hazard_at_zero,
    )
    rows = SeenRows(_durations(fitter))
    influence = None
    if isinstance(law, Family) and (np.asarray(fitter.weights) == 1).all():  # others have none around them
        influence = law._fit_influence(LIKELIHOOD)
    return model.remember(Fit(LIKELIHOOD, rows, influence, FitterAgain(fitter)))


@dataclass(frozen=True)
class FitterAgain(Refitting):
    """The fit of a fitter to other durations; the fitter itself stays as it is.

    Where the distribution is one of ours, it is ours that is fitted: the same maximum, some hundred times as
    fast. Otherwise the fitter's own likelihood is maximised by its own method, from its parameters on if it
    has been fitted, and without the search for a start, standard errors and curves that ``fit`` adds.
    """

    fitter: Any

    def __call__(self, data: Any) -> SurvivalModel | Lifetimes:
        observed = as_censored(data, repr(self))
        if not observed.late and (family := self._family()):
            return family(observed)
        return from_fitter(self._fitted(observed))  # type: ignore[return-value]

    def begun(self, data: Any) -> FitterAgain:
        observed = as_censored(data, repr(self))
        if self._family() and not observed.late:
            return self
        return FitterAgain(self._fitted(observed))

    def _family(self) -> Callable[[Censored], Lifetimes] | None:
        """The fit of the same distribution of ours, or None."""
        name = type(self.fitter).__name__
        if not _official(self.fitter):
            return None
        if name == "PiecewiseExponentialFitter":
            return PiecewiseExponential.fitter(self.fitter.breakpoints)
        return SAME[name][0].fit if name in SAME else None

    def _fitted(self, data: Censored) -> Any:
        fitter = copy.copy(self.fitter)
        if not hasattr(fitter, "_fitted_parameters_"):
            return fitter.fit(data.durations, data.event_observed, entry=data.entry)
        start = np.asarray(fitter._fitted_parameters_)
        found = _maximum(fitter, start, data)
        if found is None:
            return fitter.fit(data.durations, data.event_observed, entry=data.entry, initial_point=start)
        fitter.durations, fitter.event_observed = data.durations, data.event_observed.astype(int)
        fitter.weights, fitter.entry = np.ones(len(data)), data.entry
        fitter._fitted_parameters_ = found
        for parameter, value in zip(fitter._fitted_parameter_names, found, strict=True):
            setattr(fitter, parameter, value)
        return fitter

    def __repr__(self) -> str:
        return type(self.fitter).__name__


def _maximum(fitter: Any, start: Array, data: Censored) -> Array | None:
    """The parameters that maximise the fitter's likelihood, or None where that did not go as usual."""
    try:
        from autograd import value_and_grad  # lifelines brings it along
        from scipy.optimize import minimize

        known = (data.durations, None), data.event_observed, data.entry, np.ones(len(data))
        with heard(), np.errstate(all="ignore"):
            found = minimize(
                value_and_grad(fitter._negative_log_likelihood_right_censoring),
                start,
                args=known,
                jac=True,
                method=fitter._scipy_fit_method,
                bounds=fitter._bounds,
                options=fitter._scipy_fit_options,
            )
    except (AttributeError, ImportError, TypeError, ValueError):  # another version of lifelines
        return None
    return np.asarray(found.x) if found.success and np.isfinite(found.x).all() else None


def refitting(fitter: Any) -> FitterAgain:
    """The fit of a fitter of lifelines, or of its class, to other durations."""
    if isinstance(fitter, type):
        name = fitter.__name__
        try:
            fitter = fitter()
        except TypeError:
            remedy = f"Pass an instance: ParametricBootstrap({name}(...))."
            raise InputError(f"lifelines' {name} needs arguments to be made.", remedy=remedy) from None
    try:
        _require_parametric(fitter)
    except InputError as error:
        raise error.told("fit") from None
    return FitterAgain(fitter)


@dataclass(frozen=True)
class Fitted:
    """The functions of a fitter as functions of arrays."""

    fitter: Any
    log_hazard_derivative = sample = hazard_at_zero = None

    def hazard(self, t: Array) -> Array:
        """λ(t), (n,); NaN at zero, where most fitters take the logarithm of the time."""
        return self._after_zero(self.fitter.hazard_at_times, t, np.nan)

    def cumulative_hazard(self, t: Array) -> Array:
        """Λ(t), (n,)."""
        return self._after_zero(self.fitter.cumulative_hazard_at_times, t, 0.0)

    def _after_zero(self, function: Any, t: Array, at_zero: float) -> Array:
        out = np.full(t.shape, at_zero)
        inside = t > 0
        if inside.any():
            out[inside] = np.asarray(function(t[inside]), np.float64)
        return out


def _closed_form(fitter: Any, name: str) -> Any:
    """The same distribution of ours, or None."""
    if name == "PiecewiseExponentialFitter":
        return PiecewiseExponential(fitter.breakpoints, 1 / np.asarray(fitter._fitted_parameters_))
    if name not in SAME:
        return None
    family, parameters = SAME[name]
    return family(*(float(getattr(fitter, parameter)) for parameter in parameters))


def _durations(fitter: Any) -> Censored:
    """What it was fitted to; whole-numbered weights count rows."""
    data = Censored(fitter.durations, np.asarray(fitter.event_observed, bool), fitter.entry)
    weights = np.asarray(fitter.weights, np.float64)
    whole = weights == np.round(weights)
    return data.take(np.repeat(np.arange(len(data)), weights.astype(np.intp))) if whole.all() else data


def _official(fitter: Any) -> bool:
    """Whether the fitter is one of lifelines': a subclass of the user's may have changed the formulas."""
    return type(fitter).__module__.partition(".")[0] == "lifelines"


def _require_parametric(fitter: Any) -> None:
    """Raise where a fitter is not one of a distribution of durations."""
    name, kinds = type(fitter).__name__, bases(fitter)
    if kinds & CURVES:
        raise unusable(
            f"lifelines' {name} is a step function made of the data, not a model of them: it has no "
            "hazard, and there is nothing to test. Pass a fitted parametric model, such as WeibullFitter."
        )
    if kinds & STEPS:
        raise unusable(
            f"the hazards of lifelines' {name} are steps made of the data, and no test here knows their law. "
            "Pass a CoxPHFitter, or a parametric regression such as WeibullAFTFitter."
        )
    if "ParametricUnivariateFitter" not in kinds:
        raise unusable(
            f"lifelines' {name} is not fitted yet, or no model with a hazard. Pass a fitted model, "
            "univariate such as WeibullFitter or a regression such as WeibullAFTFitter or CoxPHFitter, or "
            "SurvivalModel(hazard=..., cumulative_hazard=...)."
        )


def _require_right_censoring(fitter: Any, name: str) -> None:
    """Raise where the fit says that the durations are of a kind that cannot be tested."""
    # The kind of censoring is an enumeration in some versions, a word in others.
    kind = str(getattr(fitter, "_censoring_type", "")).rpartition(".")[2].casefold()
    remedy = (
        f"{OTHER_CENSORING} If the durations to be tested are others, and right-censored, pass the "
        "distribution itself, for example families.Weibull(fitter.lambda_, fitter.rho_)."
    )
    for other in ("left", "interval"):
        if other in kind:
            raise unusable(f"lifelines' {name} was fitted to {other}-censored durations.", remedy)
