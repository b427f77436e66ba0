"""Where a model of counts fails: a hanging rootogram, with limits that hold for all bars together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.plot.axis import DRAWS, model_draws, view
from goodstein.plot.cells import over_states
from goodstein.plot.sides import SIDES, entries, tint
from goodstein.plot.style import HATCHES, Palette, bare, finish, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

MOST_BARS = 40
SAMPLES = 2000
"""Samples of the model from which the limits are taken."""


def over_counts(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """Roots of observed numbers, hanging from the roots of expected ones; without draws the shares alone."""
    drawn = model_draws(problem, DRAWS)
    if drawn is None:
        return over_states(ax, result, problem, level, colours)
    x = problem.observations[:, 0]
    edges = bars(x, drawn[:, 0])
    seen, share = (_numbers(values, edges) for values in (x, drawn[:, 0]))
    share = share / share.sum()
    roots, expected = np.sqrt(seen), np.sqrt(len(x) * share)
    limit = longest(share, len(x), level)
    width, at = edges[1] - edges[0], 0.5 * (edges[:-1] + edges[1:] - 1.0)
    bottoms = expected - roots
    ax.axhspan(-limit, limit, color=tint(colours.faint, 0.25), linewidth=0, label=f"limits, {level:.0%}")
    ax.bar(at, roots, 0.8 * width, bottoms, color=colours.data, label="data", alpha=0.85)
    ax.plot(at, expected, "o-", color=colours.ink, markersize=3, linewidth=1.4, label="model")
    beyond = -bottoms / limit
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for k in np.flatnonzero(sign * beyond > 1):
            style = {"facecolor": tint(colours.side(side), 0.35), "edgecolor": colours.side(side)}
            ax.bar(at[k], roots[k], 0.8 * width, bottoms[k], hatch=HATCHES[side], **style)
    ax.axhline(0.0, color=colours.ink, linewidth=0.8)
    each = "" if width == 1 else f" Each bar is of {width:g} counts."
    said = "Bars hang from the model, and end on the line where it is right."
    fit = problem.model.provenance
    fitted = fit is not None and fit.concerns(problem.observations)
    wide = "The model was fitted to these data, for which the limits are wide." if fitted else ""
    ax.set(xlabel=names_of(result.columns, 1, "count")[0], ylabel="√ of the number of observations")
    bare(ax)
    return finish(ax, f"{result.model}, n = {result.n}", said + each, wide, extra=entries(colours, beyond))


def bars(x: Array, drawn: Array) -> Array:
    """Edges of bars that hold whole numbers, as many each; the last one all that are larger too."""
    low, high = view(x, 0.0, np.inf, drawn)
    first, last = np.floor(low), np.ceil(high)
    width = max(1.0, np.ceil((last - first + 1.0) / MOST_BARS))
    count = int(np.ceil((last - first + 1.0) / width))
    return np.asarray(first + width * np.arange(count + 1))


def _numbers(x: Array, edges: Array) -> Array:
    """How many counts are in each bar, those beyond in the first and the last."""
    inner = np.clip(x, edges[0], edges[-1] - 1.0)
    return np.histogram(inner, edges - 0.5)[0].astype(np.float64)


def longest(share: Array, n: int, level: float) -> float:
    """The quantile of max |√observed − √expected| over the bars, n counts of a model with these shares."""
    sampled = np.random.default_rng(0).multinomial(n, share, SAMPLES)
    return float(np.quantile(np.abs(np.sqrt(sampled) - np.sqrt(n * share)).max(axis=1), level))
