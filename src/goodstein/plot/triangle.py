"""Where a model fails on a triangle: compositions of three parts.

Drawn on plain axes rather than with a package for ternary plots: the corners are (0, 0), (1, 0), (½, √3/2),
and a composition x is the point x₂(1, 0) + x₃(½, √3/2), so that regions, outlines and clouds are drawn as
anywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.plot.plane import filled, middles, outline_of, scatter
from goodstein.plot.sides import entries, places_for, ratio, regions, sentences
from goodstein.plot.style import Palette, blank, finish, left_out, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

HEIGHT = float(np.sqrt(0.75))
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])
LINES = (0.2, 0.4, 0.6, 0.8)
LEAST, MOST = 18, 60
"""Places along a side of the grid."""


def over_triangle(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for compositions of three parts."""
    data = problem.observations
    side = int(np.sqrt(2 * places_for(len(data), LEAST**2 // 2, MOST**2 // 2)))
    x, y = np.meshgrid(middles(0.0, 1.0, side), middles(0.0, HEIGHT, side))
    points = np.column_stack([x.ravel(), y.ravel()])
    parts = composition(points)
    inside = (parts > 1e-9).all(axis=1)
    found = result.witness(parts[inside], level=level)
    seen = filled(points, inside, ratio(found)).reshape(x.shape)
    for corner in range(3):
        for share in LINES:
            ends = np.zeros((2, 3))
            ends[:, corner] = share
            ends[0, (corner + 1) % 3] = ends[1, (corner + 2) % 3] = 1.0 - share
            ax.plot(*place(ends).T, color=colours.faint, linewidth=0.4, alpha=0.6, zorder=0.4)
    frame = outline_of(ax, [CORNERS], colours)
    regions(ax, x, y, seen, colours, frame, inside.reshape(x.shape))
    spots = place(data)
    scatter(ax, spots[:, 0], spots[:, 1], colours)
    _label(ax, names_of(result.columns, 3, "part"), colours)
    blank(ax)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.11, HEIGHT + 0.09))
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, ratio(found)),
        left_out(len(data)),
        extra=entries(colours, ratio(found), found.what),
    )


def place(x: Array) -> Array:
    """Compositions (n, 3) as points of the plane, (n, 2)."""
    return np.asarray(x @ CORNERS)


def composition(points: Array) -> Array:
    """The inverse of :func:`place`."""
    last = points[:, 1] / HEIGHT
    second = points[:, 0] - 0.5 * last
    return np.column_stack([1.0 - second - last, second, last])


def _label(ax: Axes, names: list[str], colours: Palette) -> None:
    """Names at the corners, where a part is everything, and its shares along one side."""
    ax.text(-0.01, -0.035, names[0], ha="center", va="top")
    ax.text(1.01, -0.035, names[1], ha="center", va="top")
    ax.text(0.5, HEIGHT + 0.02, names[2], ha="center", va="bottom")
    small = {"fontsize": 6.5, "color": colours.faint}
    for share in LINES:
        sides = {  # each part along the side on which the part before it is nothing
            (0.0, 1.0 - share, share): (0.015, 0.0, "left", "center"),
            (share, 0.0, 1.0 - share): (-0.015, 0.0, "right", "center"),
            (1.0 - share, share, 0.0): (0.0, -0.015, "center", "top"),
        }
        for parts, (right, up, ha, va) in sides.items():
            x, y = place(np.array(parts))
            ax.text(x + right, y + up, f"{100 * share:.0f} %", ha=ha, va=va, **small)
