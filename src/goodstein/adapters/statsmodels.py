"""Regressions of counts, and of outcomes 0 and 1, that statsmodels has fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.conditional.binary import BinaryRegression
from goodstein.conditional.counts import CountRegression
from goodstein.conditional.data import Paired
from goodstein.conditional.model import ConditionalModel
from goodstein.data.rows import SeenRows
from goodstein.errors import InputError, heard
from goodstein.foreign import bases, unusable
from goodstein.models.influence import STEP, Influence, of_maximum
from goodstein.models.provenance import Fit, Refitting
from goodstein.types import Array

ACCEPTED = (
    "Accepted are results of GLM with the family Poisson, NegativeBinomial or Binomial, and of the discrete "
    "models Poisson, NegativeBinomial, NegativeBinomialP, ZeroInflatedPoisson, "
    "ZeroInflatedNegativeBinomialP, Logit and Probit."
)
UNKNOWN = object()
Law: TypeAlias = CountRegression | BinaryRegression


def from_results(results: Any) -> ConditionalModel:
    """Turn a fitted regression into a model of y given x, which knows what it was fitted to.

    Columns of x are the regressors, then those of extra zeros unless that is a constant alone, then the
    logarithm of the exposure or the offset, if there is one; :meth:`Paired.of_fit` has them so.
    """
    model = getattr(results, "model", None)
    if model is None or getattr(results, "params", None) is None:
        name = type(results).__name__
        raise unusable(f"statsmodels' {name} is not fitted.", "Pass what its method fit() returns.")
    law = _law(results, model)
    name = f"statsmodels.{type(model).__name__}({law.parameters.size} parameters)"
    fitted = _as_model(law, name)
    rows = SeenRows(Paired.of_fit(results))
    weighted = any(np.ptp(np.asarray(getattr(model, key, 1.0))) for key in ("freq_weights", "var_weights"))
    influence = None if weighted else RegressionInfluence(law, name, tuple(map(str, _names(results))))
    return fitted.remember(Fit("maximum likelihood", rows, influence, FitAgain(results)))


def _law(results: Any, model: Any) -> Law:
    kinds, theta = bases(model), np.asarray(results.params, np.float64)
    if kinds & {"Logit", "Probit"} or ("GLM" in kinds and type(model.family).__name__ == "Binomial"):
        return _binary(model, theta, kinds)
    if "GLM" in kinds:
        family = model.family
        name = type(family).__name__
        if name not in ("Poisson", "NegativeBinomial"):
            raise unusable(f"statsmodels' GLM of the family {name} is no regression of counts.", ACCEPTED)
        law = CountRegression(theta, family.link.inverse, len(theta), offset=Paired.has_offset(model))
        alpha = getattr(family, "alpha", None)
        return law if alpha is None else replace(law, power=2.0, dispersion=float(alpha))
    known = kinds & {"Poisson", "NegativeBinomial", "NegativeBinomialP", "ZeroInflatedPoisson"}
    inflated = "GenericZeroInflated" in kinds
    main = model.model_main if inflated else model
    power = _power(main)
    if not (known or inflated) or power is UNKNOWN:
        name = type(model).__name__
        raise unusable(f"statsmodels' {name} is no regression that is known here.", ACCEPTED)
    law = CountRegression(
        theta, np.exp, int(model.exog.shape[1]), power=power, offset=Paired.has_offset(model)
    )
    if not inflated:
        return law
    if getattr(model, "inflation", "logit") != "logit":
        raise unusable("extra zeros by a probit are not known here.", "Use inflation='logit'.")
    varies = bool(np.ptp(model.exog_infl, axis=0).any())
    return replace(law, inflation=int(model.exog_infl.shape[1]), constant=not varies)


def _binary(model: Any, theta: Array, kinds: set[str]) -> BinaryRegression:
    """That of single outcomes; shares of several trials are another law."""
    if not np.isin(np.asarray(model.endog), (0, 1)).all() or np.any(
        np.asarray(getattr(model, "n_trials", 1)) != 1
    ):
        remedy = "Make a row of each trial, or pass ConditionalModel(logpdf=..., domain=Naturals(1))."
        raise unusable("outcomes of a binomial regression must be 0 or 1, one trial each.", remedy)
    link: Any = model.family.link.inverse if "GLM" in kinds else model.cdf
    return BinaryRegression(theta, link, Paired.has_offset(model))


def _power(model: Any) -> Any:
    """P of the variance μ + αμ^P; None for a Poisson law."""
    name = type(model).__name__
    if name == "NegativeBinomialP":
        return float(model.parameterization)
    if name == "NegativeBinomial":
        return {"nb1": 1.0, "nb2": 2.0}.get(model.loglike_method, UNKNOWN)
    return None if name == "Poisson" else UNKNOWN


def _names(results: Any) -> list[str]:
    found = getattr(results.params, "index", None)
    return list(found) if found is not None else [f"params[{k}]" for k in range(len(results.params))]


def _as_model(law: Law, name: str) -> ConditionalModel:
    return ConditionalModel(logpdf=law.logpdf, sample=law.sample, domain=law.domain, name=name)


@dataclass(frozen=True)
class RegressionInfluence:
    """The influence of pairs (x, y) on the parameters of a regression that was fitted to them."""

    law: Law
    name: str
    names: tuple[str, ...]

    def __call__(self, data: Paired) -> Influence:
        """By differences of the log likelihood of each pair."""
        y, x = data.outcomes, data.covariates

        def contributions(by: Array) -> Array:
            return self.law.moved(by).logpdf(y, x)

        def around(by: Array) -> ConditionalModel:
            return _as_model(self.law.moved(by), self.name)

        start = np.full(len(self.names), STEP)
        return Influence(around, of_maximum(contributions, start, self.names), self.names, True)


@dataclass(frozen=True)
class FitAgain(Refitting):
    """The same regression, fitted to other outcomes at the same covariates, in any order."""

    results: Any

    def __call__(self, data: Paired) -> Any:
        model, own, theirs = self.results.model, Paired.of_fit(self.results).covariates, data.covariates
        if own.shape != theirs.shape or not np.array_equal(own[places(own)], theirs[places(theirs)]):
            raise InputError(
                f"The {len(own)} rows of the regression have other covariates than these {len(theirs)}.",
                remedy="Pass a function that fits: ParametricBootstrap(fit).",
            )
        # Exposures and weights are kept in the order of the fit.
        outcomes = np.empty(len(own))
        outcomes[places(own)] = data.outcomes[places(theirs), 0]
        again: Callable[..., Any] = type(model)
        options = {key: value for key, value in model._get_init_kwds().items() if value is not None}
        with heard():  # warnings of single samples
            fitted = again(outcomes, model.exog, **options)
            if "GLM" in bases(model):
                return fitted.fit()
            return fitted.fit(start_params=np.asarray(self.results.params), disp=0, maxiter=500)

    def __repr__(self) -> str:
        return f"statsmodels' {type(self.results.model).__name__}"


def places(covariates: Array) -> npt.NDArray[np.intp]:
    """Which row stands where once they are sorted, (n,)."""
    return np.lexsort(covariates.T)
