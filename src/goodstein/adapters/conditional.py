"""Models of y given x from whatever the user has."""

from __future__ import annotations

from typing import Any

from goodstein.conditional.model import ConditionalModel, require_two_arguments
from goodstein.constraints import is_function
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.foreign import roots, unusable
from goodstein.lazy import deferred
from goodstein.models.model import Model

statsmodels = deferred("goodstein.adapters.statsmodels")


def as_conditional(model: Any) -> ConditionalModel:
    """A :class:`ConditionalModel` from itself, a score function of (y, x), an object with such, or a fit."""
    if isinstance(model, ConditionalModel):
        return model
    if "statsmodels" in roots(model):
        return statsmodels.from_results(model)  # type: ignore[no-any-return]
    advice = (
        "A conditional model is ConditionalModel(score=function of (y, x)), ConditionalModel.gaussian(mean, "
        "scale), or a function score(y, x)."
    )
    if isinstance(model, type):
        raise InputError(f"`model` is the class {model.__name__}, not one of its instances. {advice}")
    if isinstance(model, Model | Family) or type(model).__module__.startswith("scipy.stats"):
        alone = "For a model without covariates use ksd_test(y, model)."
        raise unusable(f"{model!r} is a model of y alone and does not look at x. {advice} {alone}")
    if hasattr(model, "predict"):
        gaussian = "ConditionalModel.gaussian(mean=regressor, scale=standard deviation)"
        remedy = f"Pass {gaussian}, or a score of your own."
        raise unusable(f"{type(model).__name__} predicts y but is no distribution of it.", remedy)
    methods = {key: getattr(model, key, None) for key in ("score", "logpdf", "sample")}
    if callable(methods["score"]) or callable(methods["logpdf"]):
        found = {key: method for key, method in methods.items() if callable(method)}
        return ConditionalModel(**found, domain=getattr(model, "domain", None), name=type(model).__name__)
    if is_function(model):
        require_two_arguments(model, "`model`", "score(y, x)")
        return ConditionalModel(score=model)
    raise unusable(f"cannot use an object of type {type(model).__name__}. {advice}")
