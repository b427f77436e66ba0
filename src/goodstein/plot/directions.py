"""Where a model fails on a circle or on a sphere.

The sphere is drawn by Hammer's map, on which equal areas are equal: with longitude λ and latitude φ,
x = 2√2 cos φ sin(λ/2)/r, y = √2 sin φ/r, r² = 1 + cos φ cos(λ/2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.circle import TURN
from goodstein.plot.axis import DRAWS, model_draws
from goodstein.plot.plane import scatter
from goodstein.plot.sides import (
    OPACITY,
    SIDES,
    STEPS,
    entries,
    places_for,
    ratio,
    regions,
    runs,
    sentences,
    tag,
    tint,
)
from goodstein.plot.style import HATCHES, Palette, blank, finish, left_out, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

SECTORS = 36
RING = (1.06, 1.24)
"""Where the ring lies that says more and less; the circle has radius one."""
LEAST, MOST = 16, 36
"""Places from pole to pole; twice as many go round."""


def around_circle(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for one angle: sectors like the data, the model's rose, and a ring around both."""
    data = problem.observations
    vectors = data.shape[1] == 2
    angles = np.mod(np.arctan2(data[:, 1], data[:, 0]) if vectors else data[:, 0], TURN)
    edges = np.linspace(0.0, TURN, places_for(len(angles), 90, 360) + 1)
    at = 0.5 * (edges[1:] + edges[:-1])
    points = np.column_stack([np.cos(at), np.sin(at)]) if vectors else at[:, None]
    found = result.witness(points, level=level)
    seen = ratio(found)
    _ring(ax, edges, seen, colours)
    bins = np.linspace(0.0, TURN, SECTORS + 1)
    shares = np.histogram(angles, bins)[0] / len(angles)
    drawn = model_draws(problem, DRAWS)
    expected = None
    if drawn is not None:
        turned = np.mod(np.arctan2(drawn[:, 1], drawn[:, 0]) if vectors else drawn[:, 0], TURN)
        expected = np.histogram(turned, bins)[0] / DRAWS
    top = max(shares.max(), 0.0 if expected is None else expected.max())
    _rose(ax, bins, np.sqrt(shares / top), colours)
    if expected is not None:
        radius = np.repeat(np.sqrt(expected / top), 2)
        turn = np.repeat(bins, 2)[1:-1]
        closed = np.append(np.arange(len(turn)), 0)
        ax.plot(
            (radius * np.cos(turn))[closed], (radius * np.sin(turn))[closed], color=colours.ink, label="model"
        )
    full = np.linspace(0.0, TURN, 361)
    ax.plot(np.cos(full), np.sin(full), color=colours.faint, linewidth=0.6)
    for angle, name in ((0.0, "0"), (0.25, "π/2"), (0.5, "π"), (0.75, "3π/2")):
        spot = 1.34 * np.array([np.cos(TURN * angle), np.sin(TURN * angle)])
        ax.text(*spot, name, ha="center", va="center", color=colours.faint, fontsize="small")
    ax.text(0.0, -1.55, names_of(result.columns, data.shape[1], "angle")[0], ha="center", va="top")
    blank(ax)
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.7, 1.45))
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        "Areas of sectors are shares.",
        extra=entries(colours, seen, found.what),
    )


def _ring(ax: Axes, edges: Array, seen: Array, colours: Palette) -> None:
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        colour = colours.side(side)
        for step, opacity in zip(STEPS, OPACITY, strict=True):
            for start, stop in runs(sign * seen > step):
                turn = np.linspace(edges[start], edges[stop], 2 + 2 * (stop - start))
                x, y = sector(turn, *RING)
                ax.fill(x, y, facecolor=tint(colour, opacity), linewidth=0)
                if step == STEPS[0]:
                    ax.fill(x, y, facecolor="none", edgecolor=colour, hatch=HATCHES[side], linewidth=0.8)
                    middle = 0.5 * (edges[start] + edges[stop])
                    tag(ax, 1.15 * np.cos(middle), 1.15 * np.sin(middle), side, colours)


def sector(turn: Array, inner: float, outer: float) -> tuple[Array, Array]:
    """The outline of a part of a ring."""
    radius = np.concatenate([np.full(len(turn), inner), np.full(len(turn), outer)])
    both = np.concatenate([turn, turn[::-1]])
    return radius * np.cos(both), radius * np.sin(both)


def _rose(ax: Axes, bins: Array, radii: Array, colours: Palette) -> None:
    for number, radius in enumerate(radii):
        x, y = sector(np.linspace(bins[number], bins[number + 1], 8), 0.0, radius)
        label = "data" if number == 0 else None
        ax.fill(x, y, facecolor=colours.data, edgecolor=colours.paper, linewidth=0.4, label=label)


def over_sphere(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for unit vectors (n, 3)."""
    data = problem.observations
    side = int(np.sqrt(places_for(len(data), 2 * LEAST**2, 2 * MOST**2) / 2))
    # Up to the poles and to the seam, but not on them.
    lat, lon = np.linspace(-0.4999, 0.4999, side) * np.pi, np.linspace(-0.9999, 0.9999, 2 * side) * np.pi
    lon, lat = np.meshgrid(lon, lat)
    points = np.column_stack(
        [(np.cos(lat) * np.cos(lon)).ravel(), (np.cos(lat) * np.sin(lon)).ravel(), np.sin(lat).ravel()]
    )
    found = result.witness(points, level=level)
    seen = ratio(found).reshape(lon.shape)
    _graticule(ax, colours)
    regions(ax, *hammer(lon, lat), seen, colours)
    scatter(
        ax, *hammer(np.arctan2(data[:, 1], data[:, 0]), np.arcsin(np.clip(data[:, 2], -1.0, 1.0))), colours
    )
    blank(ax)
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        "An equal-area map (Hammer), the direction (1, 0, 0) in the middle, (0, 0, 1) at the top.",
        left_out(len(data)),
        extra=entries(colours, seen, found.what),
    )


def hammer(lon: Any, lat: Any) -> tuple[Array, Array]:
    """Longitudes and latitudes in radians as points of the map."""
    r = np.sqrt(1.0 + np.cos(lat) * np.cos(lon / 2))
    return 2 * np.sqrt(2) * np.cos(lat) * np.sin(lon / 2) / r, np.sqrt(2) * np.sin(lat) / r


def _graticule(ax: Axes, colours: Palette) -> None:
    """Every 30 degrees a line, every 60 a number."""
    along = np.linspace(-1.0, 1.0, 61)
    faint = {"color": colours.faint, "linewidth": 0.4, "alpha": 0.7, "zorder": 0.4}
    for degrees in range(-60, 61, 30):
        ax.plot(*hammer(along * np.pi, np.radians(degrees)), **faint)
        x, y = hammer(-np.pi, np.radians(degrees))
        ax.text(x - 0.06, y, f"{degrees}°", ha="right", va="center", fontsize=6.5, color=colours.faint)
    for degrees in range(-150, 151, 30):
        ax.plot(*hammer(np.radians(degrees), along * np.pi / 2), **faint)
    for degrees in range(-120, 121, 60):
        x, y = hammer(np.radians(degrees), 0.0)
        ax.text(x, y - 0.02, f"{degrees}°", ha="center", va="top", fontsize=6.5, color=colours.faint)
    for edge in (-np.pi, np.pi):
        ax.plot(*hammer(edge, along * np.pi / 2), color=colours.ink, linewidth=1.0)
