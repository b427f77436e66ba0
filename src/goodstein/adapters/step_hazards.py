"""Estimators that predict a step function for each row as its cumulative hazard, as in scikit-survival."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goodstein.constraints import asked
from goodstein.data.rows import SeenTimes
from goodstein.errors import InputError, refuse_rows
from goodstein.foreign import describe
from goodstein.models.provenance import Fit
from goodstein.survival.data import Censored, as_censored
from goodstein.survival.regression import SurvivalRegression
from goodstein.types import Array

PREDICT = "predict_cumulative_hazard_function"


def from_steps(estimator: Any) -> StepRegression:
    """The model of an estimator with step functions."""
    return StepRegression(estimator)


class Curve(NamedTuple):
    """A cumulative hazard that grows evenly from jump to jump of a step function, from zero on."""

    times: Array
    """0 and where the steps are, in their order."""
    values: Array
    end: float
    """The last time of which the estimator says something."""

    @classmethod
    def of(cls, step: Any) -> Curve:
        """That of a step function with its places `x`, which is called, or else has values `y` there.

        Those of scikit-survival are multiples a·y + b of the `y` that they share.
        """
        x = np.asarray(step.x, float)
        y = np.asarray(step(x) if callable(step) else step.y, float)
        grows = np.diff(y, prepend=0.0) > 0
        return cls(np.append(0.0, x[grows]), np.append(0.0, y[grows]), float(x[-1]))

    def value(self, t: float) -> float:
        """Λ(t)."""
        return float(np.interp(t, self.times, self.values))

    def slope(self, t: float) -> float:
        """λ(t): at a jump that of the way up to it, and none after the last."""
        k = max(int(np.searchsorted(self.times, t, side="left")), 1)
        if k == len(self.times):
            return 0.0
        return float((self.values[k] - self.values[k - 1]) / (self.times[k] - self.times[k - 1]))


class StepRegression(SurvivalRegression):
    """A model whose cumulative hazard grows evenly from step to step of the estimator's.

    Steps would make a law of durations with atoms, of which the estimate means none. Nothing is known to the
    estimator beyond its last time, so later durations are refused, and so are events after its last step.
    """

    trusted = True

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._known: tuple[bytes, list[Curve]] | None = None  # a test asks for the same rows several times
        super().__init__(cumulative_hazard=self._cumulative, hazard=self._rate, name=describe(estimator))
        times = getattr(estimator, "unique_times_", None)
        times = getattr(estimator, "event_times_", None) if times is None else times
        if times is not None:  # all that scikit-survival keeps of the rows
            self.remember(Fit(None, SeenTimes(np.asarray(times, float))))

    def read(self, data: Any, asked_by: str) -> Censored:
        """Durations with the covariates of the estimator, or the pair (X, y) that it was fitted to."""
        if isinstance(data, tuple) and len(data) == 2:
            seen = as_censored(data[1], asked_by)
            data = Censored(seen.durations, seen.event_observed, covariates=data[0])
        rows = self._in_order(super().read(data, asked_by))
        assert rows.covariates is not None
        curves = self._curves(rows.covariates)
        t, last = rows.durations, np.array([curve.end for curve in curves])
        what = f"are beyond the last time, {last.min():g}, of which {self.name} knows."
        refuse_rows(t > last, what, "Censor durations there, or leave them out of the test.")
        jump = np.array([curve.times[-1] for curve in curves])
        late = rows.event_observed & (t > jump)
        what = f"have an event after the last step of {self.name}, from which on its hazard is zero"
        end = f"{jump[late].min():g}" if late.any() else ""
        remedy = f"Watch up to t = {end} only: Censored(np.minimum(time, t), event & (time <= t), ...)."
        refuse_rows(late, f"{what}.", remedy)
        return rows

    def _in_order(self, data: Censored) -> Censored:
        """The same, with its covariates in the order of the names that the estimator was fitted with."""
        names = [str(name) for name in getattr(self._estimator, "feature_names_in_", ())]
        there, usual = list(data.covariate_names), [f"z{j}" for j in range(len(data.covariate_names))]
        if not names or there == names or there in (usual, ["z"]):
            return data
        absent = [name for name in names if name not in there]
        if absent:
            reason = f"the covariates have no {absent[0]!r}, which {self.name} was fitted with."
            raise InputError(reason, argument="data", remedy="Pass a data frame with the same columns.")
        assert data.covariates is not None
        matrix = data.covariates[:, [there.index(name) for name in names]]
        return data.with_covariates(matrix, names)

    def _curves(self, z: Array) -> list[Curve]:
        rows = z.reshape(len(z), -1)
        key = rows.tobytes()
        if self._known is None or self._known[0] != key:
            found = asked(getattr(self._estimator, PREDICT), f"`{PREDICT}`", self._table(rows))
            curves = [Curve.of(step) for step in found]
            if len(curves) != len(rows):
                reason = f"the estimator returned {len(curves)} cumulative hazards for {len(rows)} rows."
                raise InputError(reason)
            self._known = key, curves
        return self._known[1]

    def _table(self, rows: Array) -> Any:
        """What the estimator was fitted with: a frame, where its columns had names."""
        names = getattr(self._estimator, "feature_names_in_", None)
        if names is None or len(names) != rows.shape[1]:
            return rows
        import pandas as pd  # scikit-survival brings it along

        return pd.DataFrame(rows, columns=list(names))

    def _cumulative(self, t: Array, z: Array) -> Array:
        return np.array([curve.value(s) for s, curve in zip(t, self._curves(z), strict=True)])

    def _rate(self, t: Array, z: Array) -> Array:
        return np.array([curve.slope(s) for s, curve in zip(t, self._curves(z), strict=True)])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}
