"""Where a model fails along an axis: data beside what the model expects, and the stretches that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.errors import Explained
from goodstein.plot.sides import entries, places_for, ratio, sentences, spans
from goodstein.plot.style import Palette, bare, finish, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

DRAWS = 50_000
"""Draws from the model, from which its curve is made."""
LEAST_BINS, MOST_BINS = 20, 60
MARGIN = 0.12
"""Share of the range of the data by which the picture goes beyond it."""
LONG_TAILS = 6.0
"""Times the distance between the 1 % and 99 % quantiles that a picture shows at most."""


def along_axis(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for one column of numbers; a composition of two parts shows the first."""
    data, domain = problem.observations, problem.domain
    x = data[:, 0]
    closed = domain.dim == 2
    drawn = model_draws(problem, DRAWS)
    low, high = view(x, *ends(domain), None if drawn is None else drawn[:, 0])
    edges = np.linspace(low, high, places_for(len(x), 100, 400) + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    points = np.column_stack([middles, 1.0 - middles]) if closed else middles[:, None]
    inside = domain.contains(points)
    found = result.witness(points[inside], level=level)
    seen = np.zeros(len(middles))
    seen[inside] = ratio(found)
    spans(ax, edges, seen, colours)
    bins = bins_of(x, low, high)
    counts, _ = np.histogram(x, bins)
    width = np.diff(bins)
    ax.bar(
        bins[:-1],
        counts / (len(x) * width),
        width,
        align="edge",
        color=colours.data,
        edgecolor=colours.paper,
        linewidth=0.4,
        label="data",
        alpha=0.85,
    )
    if drawn is not None:
        expected, _ = np.histogram(drawn[:, 0], bins)
        ax.stairs(expected / (DRAWS * width), bins, color=colours.ink, linewidth=1.6, label="model")
    ax.set_xlabel(names_of(result.columns, domain.dim, "value" if domain.dim == 1 else "part")[0])
    ax.set(yticks=[], xlim=(low, high))
    ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    bare(ax, "left", "right", "top")
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        outside(x, low, high),
        extra=entries(colours, seen, found.what),
    )


def ends(domain: Any) -> tuple[float, float]:
    """Between which numbers the first coordinate of a domain lies."""
    if domain.dim == 2:  # a composition of two parts
        return 0.0, 1.0
    lower, upper = getattr(domain, "lower", None), getattr(domain, "upper", None)
    if lower is None or upper is None:
        return -np.inf, np.inf
    return float(np.ravel(lower)[0]), float(np.ravel(upper)[0])


def view(
    x: Array, lower: float = -np.inf, upper: float = np.inf, drawn: Array | None = None
) -> tuple[float, float]:
    """From where to where a picture goes: a little beyond data and draws, but not along endless tails."""
    low, high = float(x.min()), float(x.max())
    near, far = np.quantile(x, [0.01, 0.99])
    if high - low > LONG_TAILS * (far - near) > 0:
        low, high = max(low, near - 2.0 * (far - near)), min(high, far + 2.0 * (far - near))
    if drawn is not None:  # also where the model expects data and there are none
        width, (near, far) = high - low, np.quantile(drawn, [0.005, 0.995])
        low, high = min(low, max(near, low - width)), max(high, min(far, high + width))
    room = MARGIN * (high - low) or max(1.0, abs(low)) * MARGIN
    return max(low - room, lower), min(high + room, upper)


def bins_of(x: Array, low: float, high: float, most: int = MOST_BINS) -> Array:
    """Edges of the bars of a histogram: as many as the data wish for, within bounds."""
    wished = len(np.histogram_bin_edges(x[(x >= low) & (x <= high)], "auto", (low, high))) - 1
    return np.linspace(low, high, int(np.clip(wished, LEAST_BINS, most)) + 1)


def outside(x: Array, low: float, high: float) -> str:
    """The sentence about observations that the picture does not reach."""
    count = int(((x < low) | (x > high)).sum())
    return f"{count} of {len(x)} observations lie outside the picture." if count else ""


def model_draws(problem: Problem, count: int) -> Array | None:
    """Points from the model, the same whenever they are drawn; None where it cannot be sampled."""
    if not problem.model.has_sample:
        return None
    try:
        drawn = problem.data.many(problem.model, problem.domain, count, np.random.default_rng(0))
    except Explained:
        return None
    return np.asarray(drawn.observations)
