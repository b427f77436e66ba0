"""Views of columns of numbers: location, spread, skewness, tails, edges and correlations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from goodstein.auditing.skewness import carrying
from goodstein.explain.quantities import (
    Sorted,
    l_quantities,
    mean_radius,
    mean_rank_correlation,
    rank_correlations,
)
from goodstein.explain.views import (
    Look,
    Scale,
    Sentence,
    Told,
    View,
    figure,
    percent,
    quoted,
    ratio_of,
    share_of,
    value_of,
)
from goodstein.types import Array

HEAVY = 0.02
"""Share of the model's draws that must carry its variance; where fewer do, extremes are taken away."""

MOST = 30
"""Columns with which every pair is looked at by itself."""

FAR = 0.99
"""The radius beyond which rows are counted in words."""

EDGE = 0.05
"""Share of the model's draws that lie at an edge."""

KINDS = ("mean", "spread", "skewness", "tails")
"""What is looked at in each column, in the order of the L-moments."""

UNITS = {"mean": "units of the data", "spread": "ratio", "skewness": "L-skewness", "tails": "L-kurtosis"}
SCALES: Mapping[str, Scale] = {"spread": "ratio"}

Derived = Callable[[Array], Array]


def as_they_are(x: Array) -> Array:
    """The columns themselves."""
    return x


class Columns(Look):
    """Location, spread, skewness and tail weight of each column, and what several have together.

    `names` are those of the columns that `derived` makes of the observations, and `what` how messages call
    the logarithm of a ratio of parts or the like. The `draws` of the model, (N, d), say whether its tails are
    too heavy for means.
    """

    def __init__(
        self,
        draws: Array,
        names: Sequence[str],
        *,
        derived: Derived = as_they_are,
        kinds: Sequence[str] = KINDS,
        pairs: bool = True,
        radius: bool = True,
        together: bool = True,
    ) -> None:
        self._derived, columns = derived, derived(draws)
        self._orders = [KINDS.index(kind) for kind in kinds]
        d = columns.shape[1]
        centred = (columns - np.median(columns, axis=0)) ** 2
        self._trimmed = min(carrying(column) for column in centred.T) < HEAVY
        self._model = columns.var(axis=0)
        self._pairs = list(combinations(range(d), 2)) if pairs and d > 1 else []
        self._joint = radius and bool(self._pairs) and not self._trimmed
        # Several columns at once: what each shows a little of.
        self._all = together and d > 2
        self._limit = (
            float(np.quantile(mean_radius(columns, influence=False)[2], FAR)) if self._joint else 0.0
        )
        self._each = d <= MOST
        self.views = self._named([quoted(name) for name in names], list(names))

    def _named(self, said: Sequence[str], names: Sequence[str]) -> list[View]:
        middle = "middle" if self._trimmed else "mean"
        words: Mapping[str, Callable[[str], Sentence]] = {
            "mean": lambda column: value_of(f"{middle} of {column}"),
            "spread": lambda column: ratio_of(f"spread of {column}"),
            "skewness": _skewness,
            "tails": _tails,
        }
        views = [
            View(
                f"{kind} of {name}",
                kind,
                (name,),
                words[kind](column),
                UNITS[kind],
                SCALES.get(kind, "plain"),
            )
            for kind in (KINDS[order] for order in self._orders)
            for name, column in zip(names, said, strict=True)
        ]
        if self._all and 1 in self._orders:
            average = ratio_of("spread of all columns, on average,")
            views.append(View("spread of all", "spread", tuple(names), average, "ratio", "ratio"))
        if self._pairs:
            if self._each:
                views += [
                    View(
                        f"correlation of {names[j]}, {names[k]}",
                        "correlation",
                        (names[j], names[k]),
                        value_of(f"rank correlation of {said[j]} and {said[k]}"),
                        "rank correlation",
                        "correlation",
                    )
                    for j, k in self._pairs
                ]
            if self._all:
                views.append(
                    View(
                        "correlation of all",
                        "correlation",
                        tuple(names),
                        value_of("mean rank correlation of all pairs"),
                        "rank correlation",
                    )
                )
        if self._joint:
            views.append(View("tails of all", "tails", tuple(names), _joint_tails, "mean radius"))
        return views

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        x = self._derived(observations)
        columns, d = Sorted(x), x.shape[1]
        values, psi = l_quantities(columns, trimmed=self._trimmed, influence=influence)
        # Filled place by place: these are computed for hundreds of samples.
        found, influences = np.empty(len(self.views)), np.empty((len(psi), len(self.views)))
        first = 0

        def fill(value: Array | float, slope: Array, count: int = 1) -> None:
            nonlocal first
            found[first : first + count] = value
            influences[:, first : first + count] = slope
            first += count

        for order in self._orders:
            fill(values[order], psi[:, order], d)
        if self._all and 1 in self._orders:
            fill(values[1].mean(), psi[:, 1].mean(axis=1, keepdims=True))
        if self._pairs and self._each:
            rho, slopes = rank_correlations(columns, self._pairs, influence=influence)
            clipped = np.clip(rho, -1.0 + 1e-9, 1.0 - 1e-9)
            fill(np.arctanh(clipped), slopes / (1.0 - clipped**2), len(rho))
            if self._all:
                fill(rho.mean(), slopes.mean(axis=1, keepdims=True))
        elif self._pairs and self._all:
            mean, slope = mean_rank_correlation(columns, influence=influence)
            fill(mean, slope[:, None])
        if self._joint:
            radius, slope, _ = mean_radius(x, influence=influence)
            fill(radius, slope[:, None])
        return found, influences

    def remark(self, place: int, observations: Array) -> str:
        x = self._derived(observations)
        view, column = self.views[place], place % x.shape[1]
        if view.kind == "spread" and len(view.columns) == 1 and not self._trimmed:
            ratio = float(x[:, column].var() / self._model[column])
            # Closer to one than the model's draws can tell there is nothing to add.
            return f", its variance {figure(ratio)} ×" if abs(ratio - 1.0) > 0.05 else ""
        if view.kind == "tails" and len(view.columns) > 1:
            share = float((mean_radius(x, influence=False)[2] > self._limit).mean())
            return f"; {percent(share)} of rows lie beyond the radius that holds {percent(FAR)} of the model"
        return ""


class Edges(Look):
    """How many rows lie at the edges of columns with a bound, where the model has one in twenty."""

    def __init__(self, draws: Array, names: Sequence[str], lower: Array, upper: Array) -> None:
        sides: list[tuple[int, float, bool]] = []
        self.views = views = []
        for j, name in enumerate(names):
            for end, below in ((lower[j], True), (upper[j], False)):
                if not np.isfinite(end):
                    continue
                limit = float(np.quantile(draws[:, j], EDGE if below else 1.0 - EDGE))
                sides.append((j, limit, below))
                where = f"{quoted(name)} {'below' if below else 'above'} {figure(limit)}"
                edge = f"{'lower' if below else 'upper'} edge of {name}"
                views.append(
                    View(
                        edge,
                        "edges",
                        (name,),
                        share_of(f"with {where}"),
                        "share of rows",
                        variance="known",
                        share=True,
                    )
                )
        self._sides = sides

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        inside = [
            observations[:, j] < limit if below else observations[:, j] > limit
            for j, limit, below in self._sides
        ]
        counted = np.column_stack(inside).astype(np.float64)
        values = counted.mean(axis=0)
        return values, counted - values if influence else np.empty((0, len(values)))


def _skewness(column: str) -> Sentence:
    def sentence(told: Told) -> str:
        side = "right" if told.more else "left"
        leans = f"leans to the {side} of the model, " if told.fails else ""
        return f"skewness of {column}: {leans}L-skewness {told.against}"

    return sentence


def _tails(column: str) -> Sentence:
    def sentence(told: Told) -> str:
        which = "heavier" if told.more else "lighter"
        head = f"tails of {column} are {which}" if told.fails else f"tails of {column}"
        return f"{head}: L-kurtosis {told.against}"

    return sentence


def _joint_tails(told: Told) -> str:
    which = "lighter" if told.more else "heavier"
    head = f"tails are {which}" if told.fails else "tails"
    return f"{head}: mean radius, of the root mean square one, {told.against}"
