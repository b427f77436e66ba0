r"""Where data are more or fewer than the model allows, and what each observation has to do with it.

With ξ_x the Stein feature of an observation x and m = mean ξ_{x_i} that of the data, the witness of the
discrepancy at x is

.. math:: g(x) = \langle m, \xi_x \rangle = n^{-1} \sum_i h(x_i, x).

Under the model its mean is zero, over the data it is the V-statistic, which is not negative, so
∫ g·(p − q) = E_p g ≥ 0: on the whole g is positive where the density p of the data exceeds the density q of
the model. For Langevin's operator and a narrow kernel g is −q⁻¹ div(q²∇(p/q)) up to a factor, a Laplacian of
the ratio with its sign turned: positive around peaks of p/q, negative in its valleys.

Whether g(x) is more than noise is seen by random signs: g*(x) = n⁻¹ Σ_i ε_i h(x_i, x) is what the same
features would give under a true model. Both are held against s(x) = √h(x, x), the length of ξ_x: with c the
quantile of max |g*|/s over all points that were asked for, a true model stays within ±c·s at all of them with
the given probability. z is g/s in units of its spread over signs and points.

The contribution of an observation, c_i = (n − 1)⁻¹ Σ_{j≠i} h(x_i, x_j), is the witness of the others at its
place; its mean over i is the U-statistic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.data.base import Data
from goodstein.data.points import Points, draw
from goodstein.engine.columns import Columns, column_sums
from goodstein.engine.executors import Workers, one_blas_thread
from goodstein.engine.schemes import IndependentSigns
from goodstein.errors import InputError, SamplingError
from goodstein.nulls.base import as_null
from goodstein.nulls.wild import WildBootstrap
from goodstein.operators.regularised_features import RegularisedFeatures
from goodstein.problems.problem import Problem
from goodstein.results.tidy import Tidy, beside
from goodstein.text import short
from goodstein.types import Array, BoolArray, Column

DRAWS = 999
"""Draws of the signs, on which the limits rest."""

NEIGHBOURS, USUAL, DRAWN = 5, 0.99, 500
"""Where fewer neighbours are as near as they are to so large a share of data or draws hardly any data are."""


@dataclass(frozen=True, eq=False)
class Witness(Tidy):
    """Where data are more or fewer than the model allows.

    Attributes
    ----------
    points
        Where it was asked.
    values
        g, the witness of the discrepancy: positive where there are more data than the model allows, negative
        where there are fewer.
    z
        The same in units in which points can be compared, those of chance under a true model: over √h(x, x),
        and over the spread of that over random signs and all points. This is the one to draw: far out, where
        few data are, the values alone can be large by chance.
    lower, upper
        Limits of the values: a true model leaves them at one of the points or more with probability
        1 − level, approximately.
    more, fewer
        Which points lie beyond these limits: more data there than the model allows, or fewer.
    critical
        Where z has its limits: |z| exceeds it at the points where there are more or fewer.
    level
        The level of confidence, for all points together.
    operator, kernel
        What was looked with; of a collection the member with the most evidence.
    what
        What there is more or less of: data, or for durations events.
    empty
        Points farther out than nearly all data, and draws of the model if it has any: hardly any are there,
        nor are expected, and nothing is said of them, whatever the values; None where all are looked at.
    """

    points: Any
    values: Array
    z: Array
    lower: Array
    upper: Array
    more: BoolArray
    fewer: BoolArray
    critical: float
    level: float
    operator: Any
    kernel: Any
    what: str = "data"
    notes: tuple[str, ...] = ()
    empty: BoolArray | None = None
    _places: Mapping[str, Column] = field(default_factory=dict, repr=False)

    def columns(self) -> dict[str, Column]:
        """The points, value, z, lower, upper, and what was found: more, fewer, or neither, a dash."""
        more, fewer = f"more {self.what}", f"fewer {self.what}"
        found = np.where(self.more, more, np.where(self.fewer, fewer, "–"))
        places: Mapping[str, Column] = self._places or {"point": np.arange(len(self.values))}
        own = {
            "value": self.values,
            "z": self.z,
            "lower": self.lower,
            "upper": self.upper,
            "found": found,
        }
        return beside(places, own)

    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(-np.abs(self.z), kind="stable")

    def _title(self) -> str:
        return f"Where {self.what} are more or fewer than the model allows"

    def _notes(self) -> list[str]:
        more, fewer, m = int(self.more.sum()), int(self.fewer.sum()), len(self.values)
        limits = f"limits for all of them together, {self.level:.0%}"
        said = [
            f"More {self.what} than the model allows at {more} of {m} points, fewer at {fewer} ({limits})."
            if more or fewer
            else f"At none of the {m} points more or fewer {self.what} than the model allows ({limits}).",
            f"Positive: more {self.what} there than the model allows; negative: fewer. Largest |z| first.",
            f"Looked with {short(self.operator)} and {short(self.kernel)}.",
        ]
        return [*said, *self.notes]


@dataclass(frozen=True, eq=False)
class Contributions(Tidy):
    """What each observation contributes to the statistic.

    Attributes
    ----------
    row
        Numbers of the rows, from zero.
    contribution
        c_i, whose mean over all observations is the U-statistic: positive for an observation that lies
        where there are more data than the model allows, negative where there are fewer.
    lower, upper
        Limits of it: under a true model one contribution or more lies beyond them with probability
        1 − level, approximately.
    flagged
        Which contributions lie beyond their limits.
    level
        The level of confidence, for all observations together.
    statistic
        The U-statistic of the operator and the kernel.
    operator, kernel
        What was looked with; of a collection the member with the most evidence.
    """

    row: npt.NDArray[np.intp]
    contribution: Array
    lower: Array
    upper: Array
    flagged: BoolArray
    level: float
    statistic: float
    operator: Any
    kernel: Any
    notes: tuple[str, ...] = ()
    _values: Mapping[str, Column] = field(default_factory=dict, repr=False)

    def columns(self) -> dict[str, Column]:
        """The row, the observation itself, contribution, lower, upper and flagged."""
        own = {name: vars(self)[name] for name in ("row", "contribution", "lower", "upper", "flagged")}
        return {"row": self.row, **beside(self._values, own)}

    def sorted(self) -> Contributions:
        """The largest contribution first."""
        return self.take(self._order())

    def take(self, lines: npt.NDArray[np.intp]) -> Contributions:
        """Some of the lines, in the given order."""
        columns = ("row", "contribution", "lower", "upper", "flagged")
        return replace(
            self,
            **{name: vars(self)[name][lines] for name in columns},
            _values={name: values[lines] for name, values in self._values.items()},
        )

    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(-self.contribution, kind="stable")

    def _title(self) -> str:
        return "Contributions of observations to the statistic"

    def _notes(self) -> list[str]:
        flagged = int(self.flagged.sum())
        said = [
            f"{flagged} of {len(self)} lie beyond limits for all observations together, {self.level:.0%}. "
            f"The mean over all observations is the statistic, {self.statistic:.4g}.",
            "Positive: the observation lies where there are more data than the model allows; negative: where "
            "there are fewer. Largest first.",
            f"Looked with {short(self.operator)} and {short(self.kernel)}.",
        ]
        return [*said, *self.notes]


@one_blas_thread()
def witness_of(
    problem: Problem, null: Any, points: Any, level: float, workers: Workers, rng: np.random.Generator
) -> Witness:
    """The witness of a problem at other observations."""
    _require_replicated(problem, "witness")
    operator = problem.fitted_operator
    if operator.changes_model:
        raise InputError(
            f"{operator!r} counts who is at risk, so it says nothing of times at which nobody was observed.",
            remedy="Ask the result of a test with Martingale().",
        )
    try:
        others = problem.data.like(points, problem.model, problem.domain)
        if not len(others):
            raise InputError("holds no points.", argument="data", predicate=True)
        joint = operator.features_beside(problem.features, problem.model, problem.domain, others.observations)
    except InputError as error:
        raise error.told("points") from None
    if joint is None:
        raise InputError(f"{operator!r} cannot look at points that were not observed.")
    form, n = joint.form(problem.fitted_kernel), problem.form.n
    weights = _signs(problem, null, rng)
    found = column_sums(form, n, slice(n, form.n), weights, workers=workers)
    c = critical(found, level)
    values, upper = found.sums / n, c * found.scales / n
    durations = others.ended is not None
    empty = _empty(problem, others)
    told = np.ones(len(values), bool) if empty is None else ~empty
    notes = _notes(null)
    if not told.all():
        notes += ("Nothing is said of places where hardly any data are.",)
    return Witness(
        others.observations,
        values,
        found.ratios / (found.spread or 1.0),
        -upper,
        upper,
        (values > upper) & told,
        (values < -upper) & told,
        c / (found.spread or 1.0),
        level,
        operator.given,
        problem.fitted_kernel.given,
        "events" if durations else "data",
        notes,
        empty,
        others.as_columns(),
    )


def _empty(problem: Problem, others: Data) -> BoolArray | None:
    """Which of other points are farther from their neighbours than nearly all data and draws are."""
    from scipy.spatial import KDTree

    domain, data = problem.domain, problem.data
    if not (isinstance(data, Points) and isinstance(others, Points)) or domain is None or domain.discrete:
        return None
    known = [data.observations]
    if problem.model.has_sample:
        try:
            drawn = draw(problem.model, domain, max(len(data), DRAWN), np.random.default_rng(0))
        except (InputError, SamplingError):
            return None
        known.append(drawn)
    known = [domain.embedded(x) for x in known]
    size = known[0].std(axis=0)
    known = [x / np.where(size > 0, size, 1.0) for x in known]
    asked = domain.embedded(others.observations) / np.where(size > 0, size, 1.0)
    empty = np.ones(len(asked), bool)
    for x in known:
        if len(x) > 4 * NEIGHBOURS:
            tree = KDTree(x)
            usual = np.quantile(tree.query(x, NEIGHBOURS + 1)[0][:, -1], USUAL)
            empty &= tree.query(asked, NEIGHBOURS)[0][:, -1] > usual
        else:
            empty[:] = False
    return empty


@one_blas_thread()
def contributions_of(
    problem: Problem, null: Any, level: float, workers: Workers, rng: np.random.Generator
) -> Contributions:
    """The contributions of the observations of a problem."""
    _require_replicated(problem, "contributions")
    form, n = problem.form, problem.form.n
    found = column_sums(form, n, slice(0, n), _signs(problem, null, rng), workers=workers)
    values, upper = found.sums / (n - 1), critical(found, level) * found.scales / (n - 1)
    tested = tested_rows(problem)
    return Contributions(
        problem.data.row_numbers[tested],
        values,
        -upper,
        upper,
        np.abs(values) > upper,
        level,
        float(values.mean()),
        problem.fitted_operator.given,
        problem.fitted_kernel.given,
        _notes(null),
        {name: column[tested] for name, column in problem.data.as_columns().items()},
    )


def critical(found: Columns, level: float) -> float:
    """The order statistic of the largest ratios that keeps the level with finitely many draws."""
    place = min(math.ceil(level * (len(found.largest) + 1)), len(found.largest)) - 1
    return float(np.sort(found.largest)[place])


def tested_rows(problem: Problem) -> npt.NDArray[np.intp]:
    """Which of the data the rows of the Stein matrix are: some operators keep a part for themselves."""
    features = problem.features
    return features.rest if isinstance(features, RegularisedFeatures) else np.arange(problem.form.n)


def _signs(problem: Problem, null: Any, rng: np.random.Generator) -> IndependentSigns:
    """Signs that change where those of the test did."""
    flip = null.flip if isinstance(null, WildBootstrap) else "auto"
    weights = WildBootstrap(DRAWS, "iid", flip).weights(problem, problem.form.n, rng)
    assert isinstance(weights, IndependentSigns)
    return weights


def _notes(null: Any) -> tuple[str, ...]:
    if not as_null(null).refits:
        return ()
    return ("The model was fitted to these data, of which the limits know nothing: they are too wide.",)


def _require_replicated(problem: Problem, method: str) -> None:
    data: Data = problem.data
    if not data.replicated:
        raise InputError(
            f"{method}() compares observations with each other, and one of {data.kind} is one observation.",
        )
