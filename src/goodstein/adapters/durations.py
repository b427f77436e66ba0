"""Models of durations from whatever the user has: distributions, fitted estimators, objects with hazards."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.domains.box import Box
from goodstein.foreign import describe, require_instance, roots, unusable
from goodstein.lazy import deferred
from goodstein.models.provenance import provenance_of
from goodstein.survival.model import SurvivalModel
from goodstein.survival.regression import AnySurvival, SurvivalRegression
from goodstein.validation import is_frame

lifelines = deferred("goodstein.adapters.lifelines")
scipy_survival = deferred("goodstein.adapters.scipy_survival")
step_hazards = deferred("goodstein.adapters.step_hazards")

ACCEPTED = """\
  - a distribution with a hazard from goodstein.families, such as Exponential or Weibull
  - a frozen distribution of scipy.stats on the half-line, such as scipy.stats.weibull_min(2)
  - a fitted model of lifelines, univariate or a regression
  - an estimator with predict_cumulative_hazard_function, as scikit-survival has them
  - functions: SurvivalModel(hazard=..., cumulative_hazard=...)
  - functions of times and covariates: SurvivalRegression(cumulative_hazard=...)
  - any object with methods .hazard(t) and .cumulative_hazard(t)"""


def as_survival_model(model: Any) -> AnySurvival:
    """Turn a distribution, a fitted estimator or an object with hazards into a model of durations.

    An object of a user's own may also have ``log_hazard_derivative(t)``, ``sample(n, rng)`` and an attribute
    ``hazard_at_zero``.

    >>> import scipy.stats
    >>> from goodstein.adapters.durations import as_survival_model
    >>> model = as_survival_model(scipy.stats.weibull_min(2))
    >>> model
    SurvivalModel(scipy.stats.weibull_min(2))
    >>> model.hazard([0.5, 1.0])
    array([1., 2.])
    """
    if isinstance(model, SurvivalModel | SurvivalRegression):
        return model
    require_instance(model)
    origins = roots(model)
    if "lifelines" in origins:
        return lifelines.from_fitter(model)  # type: ignore[no-any-return]
    if "scipy" in origins:
        return _from_methods(scipy_survival.ScipySurvival(model))
    if callable(getattr(model, "predict_cumulative_hazard_function", None)):
        return step_hazards.from_steps(model)  # type: ignore[no-any-return]
    if callable(getattr(model, "hazard", None)) and callable(getattr(model, "cumulative_hazard", None)):
        return _from_methods(model)
    swapped = " Are data and model swapped?" if hasattr(model, "__array__") or is_frame(model) else ""
    raise unusable(
        f"{describe(model)} has no hazard, which a test of durations needs.{swapped} Accepted are\n{ACCEPTED}"
    )


def _from_methods(model: Any) -> SurvivalModel:
    wrapped = SurvivalModel(
        hazard=model.hazard,
        cumulative_hazard=model.cumulative_hazard,
        log_hazard_derivative=getattr(model, "log_hazard_derivative", None),
        sample=getattr(model, "sample", None),
        name=getattr(model, "name", None) or describe(model),
        hazard_at_zero=getattr(model, "hazard_at_zero", None),
    )
    wrapped.remember(provenance_of(model))
    support = getattr(model, "support", None)
    wrapped.upper = float(support.upper[0]) if isinstance(support, Box) else np.inf
    wrapped.trusted = type(model).__module__.partition(".")[0] == "goodstein"
    return wrapped
