r"""Where a model of one point pattern fails: smoothed residuals over the window, or the count over time.

At a place y of the plane the residual

.. math:: r(y) = \sum_{x \in \varphi} l(x, y) - \int l(u, y)\, \rho(u \mid \varphi)\, du

is held against √∫ l(u, y)² ρ(u|φ) du, its deviation under a Poisson process. One pattern is one observation,
so there are no limits for all places together: the picture describes, and the p-value of the test decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.kernels.gaussian import Gaussian
from goodstein.patterns.nodes import quadrature
from goodstein.plot.plane import boundary, outline_of, scatter
from goodstein.plot.sides import regions
from goodstein.plot.style import Palette, bare, finish, left_out, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

BEYOND = 2.0
"""Standard deviations from which a place is marked."""
SIDE = 45
"""Places along a side of the grid."""
WIDTH = 0.08
"""Of the smoothing, in units of the window's sides."""


def over_pattern(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for one pattern."""
    points = problem.data.as_rows()
    title = f"{result.model}, {len(points)} points"
    if problem.domain.dim == 1:
        return _over_time(ax, title, problem, points, colours)
    names = names_of(result.columns, points.shape[1])
    ax.set(xlabel=names[0], ylabel=names[1])
    if problem.domain.dim > 2:
        scatter(ax, points[:, 0], points[:, 1], colours, "points")
        return finish(ax, title, f"Seen along the first two of {points.shape[1]} coordinates.")
    nodes, weights = quadrature(problem.domain, 1024)
    rate = weights * problem.model.papangelou(nodes, points)
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    axes = [np.linspace(a, b, SIDE) for a, b in zip(low, high, strict=True)]
    x, y = np.meshgrid(*axes)
    places = np.column_stack([x.ravel(), y.ravel()])
    seen = residuals(places / (high - low), points / (high - low), nodes / (high - low), rate)
    inside = problem.domain.contains(places)
    clip = outline_of(ax, boundary(problem.domain), colours)
    shown = np.where(inside, seen / BEYOND, 0.0).reshape(x.shape)
    regions(ax, x, y, shown, colours, clip, inside.reshape(x.shape))
    scatter(ax, points[:, 0], points[:, 1], colours, "points")
    ax.set_aspect("equal")
    bare(ax)
    said = "Points near each place, less those that the model expects there; marked beyond two standard "
    return finish(ax, title, f"{said}deviations of a Poisson process, place by place.", left_out(len(points)))


def residuals(places: Array, points: Array, nodes: Array, rate: Array) -> Array:
    """r(y) in standard deviations, (k,)."""
    kernel = Gaussian(WIDTH)
    near = kernel(places, nodes)
    spread = np.sqrt(near**2 @ rate)
    return np.asarray((kernel(places, points).sum(axis=1) - near @ rate) / np.maximum(spread, 1e-12))


def _over_time(ax: Axes, title: str, problem: Problem, points: Array, colours: Palette) -> Axes:
    """The number of points up to each time, and its expectation given the past."""
    times = np.sort(points[:, 0])
    model = problem.model
    low, high = float(problem.domain.lower[0]), float(problem.domain.upper[0])  # type: ignore[attr-defined]
    t = np.linspace(low, high, 200)
    if model.evolves:
        expected = model.compensator(t, times[:, None])
    else:
        nodes, weights = quadrature(problem.domain, 1024)
        rate = weights * model.papangelou(nodes, points)
        expected = np.array([rate[nodes[:, 0] <= one].sum() for one in t])
    steps = np.concatenate([[low], times, [high]])
    count = np.concatenate([[0], np.arange(1, len(times) + 1), [len(times)]])
    ax.step(steps, count, where="post", color=colours.ink, lw=1.2, label="points so far")
    ax.plot(t, expected, color=colours.more, lw=1.2, ls="--", label="expected by the model")
    band = 2.0 * np.sqrt(expected)
    ax.fill_between(t, expected - band, expected + band, color=colours.data, alpha=0.3, lw=0)
    ax.set(xlabel="time", ylabel="points")
    bare(ax)
    return finish(ax, title, "The band is two standard deviations of a Poisson process, time by time.")
