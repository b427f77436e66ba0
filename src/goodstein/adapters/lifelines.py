"""Fitted univariate models of lifelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.data.rows import SeenRows
from goodstein.families.base import LIKELIHOOD, Family
from goodstein.families.exponential import Exponential
from goodstein.families.loglogistic import LogLogistic
from goodstein.families.lognormal import LogNormal
from goodstein.families.piecewise import PiecewiseExponential
from goodstein.families.weibull import Weibull
from goodstein.foreign import bases, unusable
from goodstein.models.provenance import Fit
from goodstein.survival.model import SurvivalModel
from goodstein.types import Array

CURVES = {
    "NonParametricUnivariateFitter",
    "KaplanMeierFitter",
    "NelsonAalenFitter",
    "BreslowFlemingHarringtonFitter",
    "AalenJohansenFitter",
}


def from_fitter(fitter: Any) -> SurvivalModel:
    """Turn a fitted parametric fitter of lifelines into a survival model.

    Exponential, Weibull, log-normal, log-logistic and piecewise exponential fitters become the same
    distribution of :mod:`goodstein.families`, all of it in closed form. Others, also those of your own,
    are asked for their hazards, and the log hazard is differentiated numerically.
    """
    name = type(fitter).__name__
    kinds = bases(fitter)
    if kinds & CURVES:
        raise unusable(
            f"lifelines' {name} is a step function made of the data, not a model of them: it has no "
            "hazard, and there is nothing to test. Pass a fitted parametric model, such as WeibullFitter."
        )
    if "ParametricUnivariateFitter" not in kinds:
        raise unusable(
            f"lifelines' {name} is not a model of one distribution of durations: a regression has "
            "another one for each row. Pass a fitted univariate model, such as WeibullFitter, or "
            "SurvivalModel(hazard=..., cumulative_hazard=...)."
        )
    if not hasattr(fitter, "_fitted_parameters_"):
        raise unusable(f"lifelines' {name} is not fitted yet. Call .fit(durations, event_observed) first.")
    _require_right_censoring(fitter, name)
    known = fitter._fitted_parameter_names
    parameters = [f"{parameter}={float(getattr(fitter, parameter)):.6g}" for parameter in known]
    official = type(fitter).__module__.partition(".")[0] == "lifelines"
    title = f"{'lifelines.' if official else ''}{name}({', '.join(parameters)})"
    # A subclass of the user's may have changed the formulas.
    law = (_closed_form(fitter, name) if official else None) or Fitted(fitter)
    model = SurvivalModel(
        hazard=law.hazard,
        cumulative_hazard=law.cumulative_hazard,
        log_hazard_derivative=law.log_hazard_derivative,
        sample=law.sample,
        name=title,
        hazard_at_zero=law.hazard_at_zero,
    )
    # Weights count for its likelihood, and an object of lifelines itself has no members around it.
    plain = isinstance(law, Family) and (np.asarray(fitter.weights) == 1).all()
    influence = law._fit_influence(LIKELIHOOD) if plain else None
    return model.remember(Fit(LIKELIHOOD, SeenRows(_durations(fitter)[:, None]), influence))


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
    same = {
        "ExponentialFitter": (Exponential, ("lambda_",)),
        "WeibullFitter": (Weibull, ("lambda_", "rho_")),
        "LogNormalFitter": (LogNormal, ("mu_", "sigma_")),
        "LogLogisticFitter": (LogLogistic, ("alpha_", "beta_")),
    }
    if name not in same:
        return None
    family, parameters = same[name]
    return family(*(float(getattr(fitter, parameter)) for parameter in parameters))


def _durations(fitter: Any) -> Array:
    """What it was fitted to; whole-numbered weights count rows."""
    durations = np.asarray(fitter.durations, np.float64)
    weights = np.asarray(fitter.weights, np.float64)
    whole = weights == np.round(weights)
    return np.repeat(durations, weights.astype(np.intp)) if whole.all() else durations


def _require_right_censoring(fitter: Any, name: str) -> None:
    """Raise where the fit says that the durations are of a kind that cannot be tested."""
    # The kind of censoring is an enumeration in some versions, a word in others.
    kind = str(getattr(fitter, "_censoring_type", "")).rpartition(".")[2].casefold()
    remedy = (
        "Only right-censored durations that are watched from time zero can be tested. If those to be tested "
        "are such, pass the distribution itself, for example families.Weibull(fitter.lambda_, fitter.rho_)."
    )
    for other in ("left", "interval"):
        if other in kind:
            raise unusable(f"lifelines' {name} was fitted to {other}-censored durations.", remedy)
    entry = getattr(fitter, "entry", None)
    if entry is not None and np.any(np.asarray(entry, np.float64) > 0):
        raise unusable(
            f"lifelines' {name} was fitted to durations with late entry (left truncation).", remedy
        )
