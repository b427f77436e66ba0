r"""Views of censored durations: the hazard over time and covariates, as events seen over events expected.

Over an interval (a, b] the hazard of the data is to that of the model as

.. math:: r = \sum_i \delta_i 1\{a < t_i \le b\} / \sum_i (\Lambda_0(\min(t_i, b)) - \Lambda_0(\min(t_i, a))),

observed over expected events. Where the hazard is the model's there, r is about one whatever the censoring
and whatever the hazard elsewhere, and its numerator has the variance of its denominator. The intervals are
quarters of the model's distribution up to where most durations have ended; where that is another one for each
row, quarters of the events. Of a hazard that is known up to a factor, the ratios are to that over all time.

With covariates the same ratio is taken over the rows whose covariate is small, middling or large, which shows
in which of them the form of the model is wrong. Where the baseline is unknown, nothing can be said of time
alone, and the ratios are taken early and late beside, which shows whether hazards are proportional; their
errors are those of score tests, as Grønnesby and Borgan's is one, so that the estimates of the baseline and
of the coefficients are taken into account.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from goodstein.explain.views import Look, Sentence, Told, Variance, View, figure
from goodstein.survival.cox import CoxModel, RiskSets
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.residuals import was_fitted, weighted_events
from goodstein.types import Array

PARTS = 4
"""Intervals of time."""

FEW_VALUES = 4
"""Values of a covariate, such as of an arm of a trial, up to which each is looked at."""

ENDED = 0.95
"""Share of the durations that have ended where the last interval begins to be open."""


COVARIATES = 20
"""Covariates that are looked at, at most."""


class Hazards(Look):
    """Observed over expected events in intervals of time, over all time, and by each covariate."""

    def __init__(self, model: Any, data: Censored, *, proportional: bool = False) -> None:
        if proportional:
            model = model.proportional(
                data.event_observed.sum() / model.cumulative_hazard(data.durations).sum()
            )
        self._model, self._proportional = model, proportional
        self._groups = [] if proportional else groups(data.covariates, data.covariate_names)
        if isinstance(model, CoxModel):
            middle = (
                float(np.median(data.durations[data.event_observed])) if data.event_observed.any() else 1.0
            )
            self._ends = np.array([0.0, middle, np.inf])
            self._fitted = was_fitted(model, data)
            self.views = self._by_covariates() + self._by_covariates(f"before {figure(middle)}")
            self.views += self._by_covariates(f"after {figure(middle)}")
            return
        self._ends = np.concatenate([[0.0], self._inner(data), [np.inf]])
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
        self.views += self._by_covariates()

    def _inner(self, data: Censored) -> Array:
        """Where one interval of time ends and the next begins."""
        model = self._model
        if isinstance(model, SurvivalModel) and not data.late:
            last = float(model.cumulative_hazard(np.quantile(data.durations, [ENDED]))[0])
            died = -np.expm1(-last) * np.arange(1, PARTS) / PARTS
            inner = model.quantile(-np.log1p(-died))
        else:
            ended = data.event_observed if data.event_observed.any() else slice(None)
            inner = np.quantile(data.durations[ended], np.arange(1, PARTS) / PARTS)
        return np.unique(inner[np.isfinite(inner) & (inner > 0)])

    def _by_covariates(self, when: str = "") -> list[View]:
        """Over all time, or in a part of it: there hazards may not be proportional."""
        kind, end = ("proportionality", f", {when}") if when else ("covariate", "")
        found = [(one.name, f"{one.words}{end}") for one in self._groups]
        variance: Variance = "least" if isinstance(self._model, CoxModel) else "known"
        return [
            View(f"events where {words}", kind, (name,), _events(words), "ratio", variance=variance)
            for name, words in found
        ]

    def measure(self, observations: Censored, *, influence: bool = True) -> tuple[Array, Array]:
        return self.under(self._model, observations)

    def under(self, model: Any, observations: Censored) -> tuple[Array, Array]:
        """The ratios to the hazard of a model, (v,), and their influences, (n, v)."""
        seen, expected = self._events(model, observations)
        total = np.maximum(expected.mean(axis=0), 1e-300)
        values = seen.mean(axis=0) / total
        if isinstance(model, CoxModel):
            psi = self._among_those_at_risk(model, observations)[0] / total
            return values, psi - psi.mean(axis=0)
        psi = (seen - values * expected) / total
        if not self._proportional:
            return values, psi
        parts = values[:-1] / values[-1]
        return parts, (psi[:, :-1] - parts * psi[:, -1:]) / values[-1]

    def variances(self, observations: Censored) -> Array:
        """Those of the influences if the model is true, (v,)."""
        expected = np.maximum(self._events(self._model, observations)[1].mean(axis=0), 1e-300)
        if isinstance(self._model, CoxModel):
            found = self._among_those_at_risk(self._model, observations)[1]
            return np.asarray(found / len(observations) / expected**2)
        return np.asarray(1.0 / expected)

    def _among_those_at_risk(self, model: CoxModel, observations: Censored) -> tuple[Array, Array]:
        """Events of each group less those expected given who was at risk, over all time, early and late."""
        z, sets = observations.covariates, RiskSets.of(observations, model.factors(observations))
        assert z is not None
        psi = np.column_stack([one.holds(z) for one in self._groups]).astype(np.float64)
        early = sets.times <= self._ends[1]
        weights = np.array([np.ones(len(early)), early, ~early], np.float64)
        return weighted_events(sets, observations, psi, weights, self._fitted)

    def _events(self, model: Any, observations: Censored) -> tuple[Array, Array]:
        """Events of each duration that were seen and expected in every interval, (n, v) each."""
        t, ended = observations.durations, observations.event_observed
        inside = (t[:, None] > self._ends[:-1]) & (t[:, None] <= self._ends[1:])
        inside[:, 0] |= t == 0.0
        seen = (inside & ended[:, None]).astype(np.float64)
        given = model.given(observations)
        ends = [given.cumulative_hazard(np.clip(end, observations.entry, t)) for end in self._ends]
        expected = np.diff(np.column_stack(ends), axis=1)
        seen = np.column_stack([seen, seen.sum(axis=1)])
        expected = np.column_stack([expected, expected.sum(axis=1)])
        z = observations.covariates
        parts = [one.holds(z)[:, None] for one in self._groups] if z is not None else []
        unknown = isinstance(model, CoxModel)
        when = [-1, 0, 1] if unknown else [-1]
        seen, expected = (
            np.hstack(
                [
                    values,
                    *(part * values[:, [k]] for k in when for part in parts),
                ]
            )
            for values in (seen, expected)
        )
        first = 3 if unknown else 0  # its baseline makes time come out even
        return seen[:, first:], expected[:, first:]


class Group(NamedTuple):
    """Rows whose covariate lies between two numbers, and how that is said."""

    name: str
    column: int
    low: float
    high: float
    words: str

    def holds(self, z: Array) -> Any:
        """Which rows these are, (n,)."""
        value = z[:, self.column]
        return (value > self.low) & (value <= self.high)


def groups(z: Array | None, names: Sequence[str]) -> list[Group]:
    """A third of the rows each, by every covariate; or those of each of its values, where there are few."""
    found: list[Group] = []
    for j, name in enumerate(names[:COVARIATES]):
        assert z is not None
        values = np.unique(z[:, j])
        if 1 < len(values) <= FEW_VALUES:
            below = np.append(-np.inf, values[:-1])
            ends = zip(below, values, strict=True)
            found += [Group(name, j, low, high, f"{name} is {figure(high)}") for low, high in ends]
        elif len(values) > FEW_VALUES:
            first, second = np.quantile(z[:, j], [1 / 3, 2 / 3])
            low, high = figure(first), figure(second)
            found.append(Group(name, j, -np.inf, first, f"{name} is up to {low}"))
            found.append(Group(name, j, first, second, f"{name} is from {low} to {high}"))
            found.append(Group(name, j, second, np.inf, f"{name} is above {high}"))
    return found


def _events(where: str) -> Sentence:
    def sentence(told: Told) -> str:
        low = f"({told.figure(max(told.low, 0.0))} to {told.figure(told.high)})"
        head = f"too {'many' if told.more else 'few'} events where" if told.fails else "events where"
        return f"{head} {where}: {told.figure(told.effect)} × the model's {low}"

    return sentence


def _hazard(where: str) -> Sentence:
    def sentence(told: Told) -> str:
        low = f"({told.figure(max(told.low, 0.0))} to {told.figure(told.high)})"
        head = f"hazard {where} is too {'high' if told.more else 'low'}" if told.fails else f"hazard {where}"
        return f"{head}: {told.figure(told.effect)} × the model's {low}"

    return sentence
