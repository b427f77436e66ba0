r"""Views of outcomes given covariates: how far they are from what the model says, where, and how widely.

At every row i, draws of the model at x_i give the mean m_i of y, the mean distance A_i from it, limits that
one outcome in twenty exceeds, and the probability of a zero. With residuals e_i = y_i − m_i the views are

* the mean of e over all rows; and how it differs from that over rows in which a covariate is small, middling
  or large: the form of the regression;
* Σ|e_i| / ΣA_i over all rows, how widely outcomes spread; and that over the same rows divided by it: whether
  the spread changes along a covariate;
* outcomes beyond the limits, and zeros, over those that are expected.

Each is made of means, and its value under the model is zero, or one, whatever the law of x. Limits and what
is expected beyond them come from different draws, and what draws add to the variance is in the residuals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from goodstein.conditional.data import Paired
from goodstein.domains import Domain
from goodstein.explain.durations import groups
from goodstein.explain.views import Look, Sentence, Told, View, quoted
from goodstein.numerics.ranges import cut
from goodstein.types import Array

DRAWS = 100
"""Draws of y at every row; a tenth of a standard error of a mean is theirs."""

AT_ONCE = 1 << 18
"""Outcomes that are drawn at a time."""

TAIL = 0.05
"""Share of outcomes beyond a limit under the model."""


class Expected(NamedTuple):
    """What the model says of y at every row, (n, q) each."""

    mean: Array
    distance: Array
    low: Array
    high: Array
    below: Array
    above: Array
    zeros: Array


class Quantity(NamedTuple):
    """A number, and the influence of every row on it, (n,)."""

    value: float
    influence: Array


def _ratio(over: Array, under: Array) -> Quantity:
    """The ratio of means; NaN where nothing is expected."""
    mean = float(under.mean())
    if not mean > 0:
        return Quantity(math.nan, np.zeros(len(over)))
    value = float(over.mean()) / mean
    return Quantity(value, (over - value * under) / mean)


def _less(one: Quantity, other: Quantity) -> Quantity:
    return Quantity(one.value - other.value, one.influence - other.influence)


def _over(one: Quantity, other: Quantity) -> Quantity:
    if not other.value > 0:
        return Quantity(math.nan, one.influence)
    value = one.value / other.value
    return Quantity(value, (one.influence - value * other.influence) / other.value)


class Outcomes(Look):
    """Residuals of every column of y, by every covariate."""

    def __init__(self, model: Any, domain: Domain, data: Paired, seed: int) -> None:
        self._model, self._domain, self._seed = model, domain, seed
        z, names = data.covariates, data.covariate_names
        self._groups = groups(z, names)
        expected = self._expected(model, data)
        # Of outcomes with two values the spread follows from the mean.
        self._two = domain.discrete and len(np.unique(data.outcomes)) <= 2
        seldom = 1.0 - 1e-9
        self._zeros = np.flatnonzero(
            domain.discrete & (expected.zeros.mean(axis=0) > 0) & (expected.zeros.mean(axis=0) < seldom)
        )
        if self._two:
            self._zeros = self._zeros[:0]
        outcomes = data.outcome_names
        self.views = [view for j, name in enumerate(outcomes) for view in self._of(j, name)]
        self.references = np.array([1.0 if view.scale == "multiple" else 0.0 for view in self.views])

    def measure(self, observations: Paired, *, influence: bool = True) -> tuple[Array, Array]:
        return self.under(self._model, observations)

    def under(self, model: Any, observations: Paired) -> tuple[Array, Array]:
        """The quantities as this model sees them, (v,), and their influences, (n, v)."""
        expected, y = self._expected(model, observations), observations.outcomes
        z, values, psi = observations.covariates, [], []
        inside = [np.asarray(one.holds(z), np.float64) for one in self._groups]
        for j in range(y.shape[1]):
            e, a = y[:, j] - expected.mean[:, j], expected.distance[:, j]
            everywhere = np.ones(len(e))
            mean = _ratio(e, everywhere)
            found = [mean, *(_less(_ratio(part * e, part), mean) for part in inside)]
            if not self._two:
                spread = _ratio(np.abs(e), a)
                found += [spread, *(_over(_ratio(part * np.abs(e), part * a), spread) for part in inside)]
                found.append(_ratio((y[:, j] < expected.low[:, j]).astype(float), expected.below[:, j]))
                found.append(_ratio((y[:, j] > expected.high[:, j]).astype(float), expected.above[:, j]))
            if j in self._zeros:
                found.append(_ratio((y[:, j] == 0).astype(float), expected.zeros[:, j]))
            values += [one.value for one in found]
            psi += [one.influence for one in found]
        return np.array(values), np.column_stack(psi)

    def _expected(self, model: Any, data: Paired) -> Expected:
        """From draws at these covariates, by the same seed for all models."""
        rng = np.random.default_rng(self._seed)
        parts = [self._from_draws(model, data, rows, rng) for rows in cut(0, len(data), AT_ONCE // DRAWS)]
        return Expected(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _from_draws(self, model: Any, data: Paired, rows: slice, rng: np.random.Generator) -> Expected:
        chosen, q = np.arange(len(data))[rows], data.outcomes.shape[1]
        many = data.take(np.tile(chosen, DRAWS)).drawn(model, self._domain, rng)
        drawn = many.outcomes.reshape(DRAWS, len(chosen), q)
        mean = drawn.mean(axis=0)
        # The mean of draws is nearer to them than that of the model.
        distance = np.abs(drawn - mean).mean(axis=0) * np.sqrt(DRAWS / (DRAWS - 1.0))
        half = DRAWS // 2
        low, high = np.quantile(drawn[:half], [TAIL, 1.0 - TAIL], axis=0)
        others = drawn[half:]
        below, above = (others < low).mean(axis=0), (others > high).mean(axis=0)
        return Expected(mean, distance, low, high, below, above, (drawn == 0).mean(axis=0))

    def _of(self, j: int, name: str) -> list[View]:
        """Views of one column of y, in the order in which they are measured."""
        column, unit = quoted(name), f"units of {name}"
        views = [View(f"mean of {name}", "mean", (name,), _off(column), unit)]
        views += [
            View(
                f"mean of {name} where {one.words}",
                "covariate",
                (name, one.name),
                _off(column, one.words),
                unit,
            )
            for one in self._groups
        ]
        if self._two:
            return views
        views.append(_multiple(f"spread of {name} given covariates", "spread", (name,), _wide(column)))
        views += [
            _multiple(
                f"spread of {name} where {one.words}",
                "spread along covariates",
                (name, one.name),
                _wide(column, one.words),
            )
            for one in self._groups
        ]
        share = f"{100 * TAIL:g} %"
        for side, which in (("low", f"lowest {share}"), ("high", f"highest {share}")):
            what = f"{side} outcomes, the model's {which} of {column} at each row"
            views.append(_multiple(f"{side} outcomes of {name}", "tails", (name,), _many(what)))
        if j in self._zeros:
            views.append(_multiple(f"zeros of {name}", "zeros", (name,), _many(f"zeros of {column}")))
        return views


def _multiple(name: str, kind: str, columns: Sequence[str], sentence: Sentence) -> View:
    return View(name, kind, tuple(columns), sentence, "multiple of the model's", "multiple")


def _off(column: str, where: str = "") -> Sentence:
    """How far outcomes are from the model's mean."""

    def sentence(told: Told) -> str:
        sign = 1.0 if told.more else -1.0
        low, high = (told.figure(end) for end in sorted(sign * end for end in (told.low, told.high)))
        size, side = told.figure(abs(told.effect)), "above" if told.more else "below"
        if not where:
            return f"mean of {column} is {size} {side} what the model says ({low} to {high})"
        beyond = "beyond what it is off over all rows"
        return f"mean of {column} is {size} {side} the model's where {where}, {beyond} ({low} to {high})"

    return sentence


def _wide(column: str, where: str = "") -> Sentence:
    """How widely outcomes spread about the model's mean."""

    def sentence(told: Told) -> str:
        much = f" too {'widely' if told.more else 'little'}" if told.fails else ""
        if not where:
            return (
                f"{column} spreads{much} about the model's mean: {told.figure(told.effect)} × {_says(told)}"
            )
        head = f"{column} spreads{much} where {where}"
        return f"{head}: relative to all rows {told.figure(told.effect)} × {_says(told)}"

    return sentence


def _says(told: Told) -> str:
    return f"what the model says {told.interval}"


def _many(what: str) -> Sentence:
    def sentence(told: Told) -> str:
        head = f"too {'many' if told.more else 'few'} {what}" if told.fails else what
        ends = f"({told.figure(max(told.low, 0.0))} to {told.figure(told.high)})"
        return f"{head}: {told.figure(told.effect)} × as many as the model says {ends}"

    return sentence
