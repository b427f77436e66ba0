r"""Views of censored durations: the hazard over time, as events that were seen over events to be expected.

Over an interval (a, b] the hazard of the data is to that of the model as

.. math:: r = \sum_i \delta_i 1\{a < t_i \le b\} / \sum_i (\Lambda_0(\min(t_i, b)) - \Lambda_0(\min(t_i, a))),

observed over expected events. Where the hazard is the model's there, r is about one whatever the censoring
and whatever the hazard elsewhere, and its numerator has the variance of its denominator. The intervals are
quarters of the model's distribution up to where most durations have ended. Of a hazard that is known up to a
factor, the ratios are to that over all time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from goodstein.explain.views import Look, Sentence, Told, Variance, View, figure
from goodstein.survival.data import Censored
from goodstein.types import Array

PARTS = 4
"""Intervals of time."""

ENDED = 0.95
"""Share of the durations that have ended where the last interval begins to be open."""


class Hazards(Look):
    """Observed over expected events in intervals of time, and over all time."""

    def __init__(self, model: Any, data: Censored, *, proportional: bool = False) -> None:
        if proportional:
            model = model.proportional(
                data.event_observed.sum() / model.cumulative_hazard(data.durations).sum()
            )
        self._model, self._proportional = model, proportional
        last = float(model.cumulative_hazard(np.quantile(data.durations, [ENDED]))[0])
        died = -np.expm1(-last) * np.arange(1, PARTS) / PARTS
        inner = model.quantile(-np.log1p(-died))
        self._ends = np.concatenate([[0.0], np.unique(inner[np.isfinite(inner)]), [np.inf]])
        shown = [figure(end) for end in self._ends]
        where = [f"before {shown[1]}"]
        where += [f"from {low} to {high}" for low, high in pairwise(shown[1:-1])]
        where += [f"after {shown[-2]}"]
        kinds = {one: "hazard" for one in where} | ({} if proportional else {"over all time": "events"})
        variance: Variance = "own" if proportional else "known"
        self.views = [
            View(f"hazard {one}", kind, ("duration",), _hazard(one), "ratio", variance=variance)
            for one, kind in kinds.items()
        ]

    def measure(self, observations: Censored, *, influence: bool = True) -> tuple[Array, Array]:
        return self.under(self._model, observations)

    def under(self, model: Any, observations: Censored) -> tuple[Array, Array]:
        """The ratios to the hazard of a model, (v,), and their influences, (n, v)."""
        seen, expected = self._events(model, observations)
        total = np.maximum(expected.mean(axis=0), 1e-300)
        values = seen.mean(axis=0) / total
        psi = (seen - values * expected) / total
        if not self._proportional:
            return values, psi
        parts = values[:-1] / values[-1]
        return parts, (psi[:, :-1] - parts * psi[:, -1:]) / values[-1]

    def variances(self, observations: Censored) -> Array:
        """Those of the influences if the model is true, (v,)."""
        expected = self._events(self._model, observations)[1].mean(axis=0)
        return np.asarray(1.0 / np.maximum(expected, 1e-300))

    def _events(self, model: Any, observations: Censored) -> tuple[Array, Array]:
        """Events of each duration that were seen and expected in every interval, (n, v) each."""
        t, ended = observations.durations, observations.event_observed
        inside = (t[:, None] > self._ends[:-1]) & (t[:, None] <= self._ends[1:])
        inside[:, 0] |= t == 0.0
        seen = (inside & ended[:, None]).astype(np.float64)
        cut = np.minimum(t[:, None], self._ends[None, :])
        expected = np.diff(model.cumulative_hazard(cut.ravel()).reshape(cut.shape), axis=1)
        seen = np.column_stack([seen, seen.sum(axis=1)])
        return seen, np.column_stack([expected, expected.sum(axis=1)])


def _hazard(where: str) -> Sentence:
    def sentence(told: Told) -> str:
        low = f"({told.figure(max(told.low, 0.0))} to {told.figure(told.high)})"
        head = f"hazard {where} is too {'high' if told.more else 'low'}" if told.fails else f"hazard {where}"
        return f"{head}: {told.figure(told.effect)} × the model's {low}"

    return sentence
