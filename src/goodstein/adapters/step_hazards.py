"""Estimators that predict a step function for each row as its cumulative hazard, as in scikit-survival."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import asked
from goodstein.errors import InputError, refuse_rows
from goodstein.foreign import describe
from goodstein.survival.regression import SurvivalRegression
from goodstein.types import Array


def from_steps(estimator: Any) -> SurvivalRegression:
    """A model whose cumulative hazard grows evenly from step to step of the estimator's.

    Steps would make a law of durations with atoms, of which the estimate means none. Nothing is known to the
    estimator beyond its last step, so later durations are refused.
    """
    return SurvivalRegression(cumulative_hazard=Steps(estimator), name=describe(estimator))


class Steps:
    """The cumulative hazard of such an estimator as a function of times and covariates."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._known: tuple[bytes, Any] | None = None  # a test asks for the same rows several times

    def __call__(self, t: Array, z: Array) -> Array:
        rows = z.reshape(len(z), -1)
        key = rows.tobytes()
        if self._known is None or self._known[0] != key:
            what = "`predict_cumulative_hazard_function`"
            found = asked(self._estimator.predict_cumulative_hazard_function, what, rows)
            self._known = key, [(np.asarray(step.x, float), np.asarray(step.y, float)) for step in found]
        curves = self._known[1]
        if len(curves) != len(rows):
            raise InputError(f"the estimator returned {len(curves)} cumulative hazards for {len(rows)} rows.")
        last = np.array([x[-1] for x, _ in curves])
        # Differences look a little ahead of the durations.
        late = t > last * (1.0 + 1e-3)
        what = f"are beyond the last time, {last.min():g}, of which {describe(self._estimator)} knows."
        refuse_rows(late, what, "Censor durations there, or leave them out of the test.")
        pairs = zip(t, curves, strict=True)
        return np.array([np.interp(s, np.append(0.0, x), np.append(0.0, y)) for s, (x, y) in pairs])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}
