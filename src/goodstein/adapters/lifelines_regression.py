"""Fitted regressions of lifelines: accelerated failure times, generalised gamma, splines, and Cox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.data.rows import SeenPredictions, SeenRows
from goodstein.errors import InputError, heard
from goodstein.families.base import LIKELIHOOD
from goodstein.foreign import unusable
from goodstein.models.influence import Influence, of_maximum
from goodstein.models.provenance import Fit, Refitting
from goodstein.survival.cox import PARTIAL, CoxModel
from goodstein.survival.data import Censored
from goodstein.survival.invert import inverted
from goodstein.survival.regression import Given, SurvivalRegression
from goodstein.text import some_of
from goodstein.types import Array

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Design:
    """The columns of the design matrices of a regression, those of all parameters together.

    `columns` are their names without the intercept; `places` says for each parameter of the law where its
    own stand among [intercept, columns…].
    """

    columns: tuple[str, ...]
    places: dict[str, Array]

    @classmethod
    def of(cls, fitter: Any) -> Design:
        """That of a fitted regression."""
        parameters = fitter.regressors.mappings
        named = {parameter: list(fitter.params_[parameter].index) for parameter in parameters}
        seen = dict.fromkeys(name for names in named.values() for name in names if name != INTERCEPT)
        columns = [INTERCEPT, *seen]
        places = {key: np.array([columns.index(name) for name in names]) for key, names in named.items()}
        return cls(tuple(seen), places)

    def parts(self, vector: Any) -> dict[str, Any]:
        """The coefficients of each parameter of the law."""
        ends = np.cumsum([len(place) for place in self.places.values()])
        return {
            key: vector[end - len(place) : end]
            for (key, place), end in zip(self.places.items(), ends, strict=True)
        }

    def matrices(self, z: Array) -> dict[str, Array]:
        """The design matrix of each parameter of the law."""
        whole = np.column_stack([np.ones(len(z)), z.reshape(len(z), -1)])
        return {key: whole[:, place] for key, place in self.places.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, one after another."""
        columns = (INTERCEPT, *self.columns)
        return tuple(f"{key}: {columns[k]}" for key, place in self.places.items() for k in place)

    def scaled(self, z: Array) -> Array:
        """Directions, (p, p), along which coefficients are told apart alike, from the rows of the data."""
        sizes = [len(place) for place in self.places.values()]
        out, first = np.zeros((sum(sizes), sum(sizes))), 0
        for matrix in self.matrices(z).values():
            root = np.linalg.qr(matrix / np.sqrt(len(matrix)), mode="r")
            last = first + len(root)
            if not np.abs(np.diag(root)).min() > 1e-10 * np.abs(root).max():
                reason = (
                    "the columns of the regression depend on each other linearly, so there is no one fit."
                )
                raise InputError(reason, argument="data", remedy="Leave out those that others determine.")
            out[first:last, first:last] = np.linalg.inv(root)
            first = last
        return out


def covariates_of(data: Censored) -> Array:
    """Those of each row, (n, k); a regression with an intercept alone needs none."""
    return np.empty((len(data), 0)) if data.covariates is None else data.covariates


class FittedRegression(SurvivalRegression):
    """A parametric regression of lifelines with coefficients, and the columns of a frame that it reads."""

    def __init__(self, fitter: Any, design: Design, coefficients: Array) -> None:
        self.fitter, self.design, self.coefficients = fitter, design, coefficients
        self.name = f"lifelines.{type(fitter).__name__}({some_of(design.columns) or 'no covariates'})"
        self._functions = {"cumulative_hazard": self._cumulative, "hazard": self._rate}

    trusted = True

    def _cumulative(self, t: Array, z: Array) -> Array:
        return self._after_zero(self.fitter._cumulative_hazard, t, z)

    def _rate(self, t: Array, z: Array) -> Array:
        def rate(*given: Any) -> Array:
            return np.asarray(np.exp(self.fitter._log_hazard(*given)))

        return self._after_zero(rate, t, z)

    def _after_zero(self, function: Any, t: Array, z: Array) -> Array:
        out, later = np.zeros(len(t)), t > 0
        if later.any():
            parts, matrices = self.design.parts(self.coefficients), self.design.matrices(z[later])
            with np.errstate(all="ignore"):
                out[later] = np.asarray(function(parts, t[later], matrices), np.float64)
        return out

    def read(self, data: Any, asked_by: str) -> Censored:
        """From the frame of the fit, by its columns; or durations with these covariates."""
        if isinstance(data, Censored) and not self.design.columns:
            return data
        return rows_of(self, self.fitter, self.design.columns, data)

    def given(self, data: Censored) -> Given:
        return Given(self, covariates_of(data))

    def log_medians(self, data: Censored) -> Array:
        """The logarithm of the median at the covariates of each row, (n,)."""
        z = covariates_of(data)
        half = np.full(len(data), np.log(2.0))
        return np.log(inverted(lambda t, rows: self._cumulative(t, z[rows]), half))

    def moved(self, by: Array) -> FittedRegression:
        """The same regression with other coefficients."""
        return FittedRegression(self.fitter, self.design, self.coefficients + by)

    def influence(self, data: Censored) -> Influence:
        """What each row did to the coefficients, which maximise the likelihood."""
        z = covariates_of(data)
        scaled = self.design.scaled(z)

        def at(by: Array) -> FittedRegression:
            return self.moved(scaled @ by)

        names = self.design.names
        values = of_maximum(lambda by: at(by).log_likelihood(data), np.full(len(names), 1e-3), names)
        return Influence(at, values, names, likelihood=True)


@dataclass(frozen=True)
class RegressionAgain(Refitting):
    """The same regression, fitted to other durations with their covariates from these coefficients on."""

    fitted: FittedRegression

    def __call__(self, data: Censored) -> FittedRegression:
        from autograd import numpy as anp  # lifelines brings it along
        from autograd import value_and_grad
        from scipy.optimize import minimize

        model = self.fitted
        design, fitter, start = model.design, model.fitter, model.coefficients
        z = covariates_of(data)
        scaled, matrices = design.scaled(z), design.matrices(z)
        late = data.entry > 0
        others = {key: matrix[late] for key, matrix in matrices.items()}

        def loss(by: Any) -> Any:
            parts = design.parts(start + anp.dot(scaled, by))
            total = anp.sum(fitter._log_hazard(parts, data.durations, matrices) * data.event_observed)
            total = total - anp.sum(fitter._cumulative_hazard(parts, data.durations, matrices))
            if late.any():
                total = total + anp.sum(fitter._cumulative_hazard(parts, data.entry[late], others))
            return -total / len(data)

        with heard(), np.errstate(all="ignore"):
            found = minimize(value_and_grad(loss), np.zeros(len(start)), jac=True, method="BFGS")
        if not (np.isfinite(found.fun) and np.abs(found.jac).max() < 1e-3):
            raise InputError(f"the fit of {model.name} to other durations did not converge: {found.message}.")
        return remembering(model.moved(scaled @ found.x), SeenRows(data))

    def __repr__(self) -> str:
        return type(self.fitted.fitter).__name__


def from_regression(fitter: Any) -> FittedRegression:
    """Turn a fitted parametric regression of lifelines into a model of durations given covariates."""
    name = type(fitter).__name__
    if getattr(fitter, "params_", None) is None:
        raise unusable(f"lifelines' {name} is not fitted yet. Call .fit(df, duration_col, event_col) first.")
    require_unweighted(fitter)
    design = Design.of(fitter)
    order = [fitter.params_[key].to_numpy(float) for key in design.places]
    model = FittedRegression(fitter, design, np.concatenate(order))
    seen = Censored(np.asarray(fitter.durations, float), np.asarray(fitter.event_observed, bool))
    rows = SeenRows(seen)
    medians = getattr(fitter, "_predicted_median", None)  # until somebody asks for the concordance
    if medians is not None and np.all(np.asarray(medians, float) > 0):
        rows = SeenPredictions(seen, np.log(np.asarray(medians, float)), model.log_medians)
    return remembering(model, rows, exact=not np.any(np.asarray(fitter.penalizer) != 0))


def remembering(model: FittedRegression, rows: SeenRows, *, exact: bool = True) -> FittedRegression:
    """The model, which knows to what it was fitted; where it was not penalised, also how."""
    how = LIKELIHOOD if exact else "penalised maximum likelihood"
    again = RegressionAgain(model) if exact else None
    return model.remember(Fit(how, rows, model.influence if exact else None, again))


class FittedCox(CoxModel):
    """A Cox regression of lifelines, and the columns of a frame that it reads."""

    def __init__(self, fitter: Any) -> None:
        self.fitter, self.columns = fitter, tuple(fitter.params_.index)
        seen = Censored(np.asarray(fitter.durations, float), np.asarray(fitter.event_observed, bool))
        name = f"lifelines.CoxPHFitter({some_of(self.columns)})"
        super().__init__(fitter.params_.to_numpy(float), fitted_to=seen, name=name)
        known, mean = (getattr(fitter, key, None) for key in ("_predicted_partial_hazards_", "_norm_mean"))
        if known is not None and mean is not None:
            self._mean = mean.loc[list(self.columns)].to_numpy(float)
            seen = Censored(known["T"].to_numpy(float), known["E"].to_numpy(bool))
            rows = SeenPredictions(seen, np.log(known["P"].to_numpy(float)), self.log_factors)
            self.remember(Fit(PARTIAL, rows))

    def log_factors(self, data: Censored) -> Array:
        """The logarithm of the partial hazard of lifelines at the covariates of each row, (n,)."""
        assert data.covariates is not None
        return np.asarray((data.covariates - self._mean) @ self.coefficients)

    def read(self, data: Any, asked_by: str) -> Censored:
        return rows_of(self, self.fitter, self.columns, data)


def from_cox(fitter: Any) -> FittedCox:
    """Turn a fitted Cox regression of lifelines, with Breslow's baseline, into a model."""
    if getattr(fitter, "params_", None) is None:
        raise unusable(
            "lifelines' CoxPHFitter is not fitted yet. Call .fit(df, duration_col, event_col) first."
        )
    require_unweighted(fitter)
    if fitter.strata is not None:
        reason = "lifelines' CoxPHFitter has a baseline for each stratum."
        raise unusable(reason, "Fit and test each stratum by itself.")
    return FittedCox(fitter)


def rows_of(model: SurvivalRegression, fitter: Any, columns: Sequence[str], data: Any) -> Censored:
    """Durations, events, entries and covariates of a frame, by the names that the fitter was given.

    Durations that have these covariates already are taken as they are.
    """
    if isinstance(data, Censored):
        if data.covariate_names == tuple(columns):
            return data
        found = some_of(data.covariate_names) or "none"
        reason = f"these covariates are {found}, and {model.name} has {some_of(columns)}."
        remedy = "Pass the data frame, which the fitter can read."
        raise InputError(reason, argument="data", remedy=remedy)
    if type(data).__module__.partition(".")[0] != "pandas" or getattr(data, "ndim", 0) != 2:
        kind = type(data).__name__
        reason = f"{model.name} reads a data frame of pandas with the columns of its fit, got {kind}."
        remedy = "Pass the frame that .fit was called with, or one like it."
        raise InputError(reason, argument="data", remedy=remedy)
    for what in (fitter.duration_col, fitter.event_col, fitter.entry_col):
        if what is not None and what not in data.columns:
            reason = f"the data frame has no column {what!r}, to which {model.name} was fitted."
            raise InputError(reason, argument="data")
    try:
        whole = fitter.regressors.transform_df(data)
    except Exception as error:  # whatever lifelines or its formulas say
        missing = [name for name in columns if name not in data.columns]
        if isinstance(error, KeyError) and missing:
            names = some_of([repr(name) for name in missing])
            reason = f"the data frame has no column {names}, to which {model.name} was fitted."
            raise InputError(reason, argument="data") from None
        said = f"{type(error).__name__}: {error}"
        reason = f"{model.name} cannot make its covariates of the data frame: {said}."
        raise InputError(reason, argument="data") from error
    made = {name: values.to_numpy(float) for (_, name), values in whole.items()}
    covariates = type(data)({name: made[name] for name in columns}, index=data.index)
    return Censored(
        data[fitter.duration_col],
        None if fitter.event_col is None else data[fitter.event_col],
        None if fitter.entry_col is None else data[fitter.entry_col],
        covariates if len(columns) else None,
    )


def require_unweighted(fitter: Any) -> None:
    """Raise where rows have weights, of which the tests know nothing."""
    weights = getattr(fitter, "weights", None)
    if weights is not None and np.any(np.asarray(weights, float) != 1.0):
        remedy = "Where they are counts, repeat the rows and fit without weights."
        raise unusable(f"lifelines' {type(fitter).__name__} was fitted to weighted rows.", remedy)
