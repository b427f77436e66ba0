"""Where a model fails in the plane: regions with more and with less data, inside the domain's outline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.ball import Ball
from goodstein.domains.box import Box
from goodstein.domains.circle import TURN, Torus
from goodstein.domains.polygon import Polygon
from goodstein.domains.polytope import Polytope
from goodstein.plot.axis import model_draws, outside, view
from goodstein.plot.sides import entries, places_for, ratio, regions, sentences
from goodstein.plot.style import VECTORS, Palette, bare, drawn_rows, finish, left_out, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

DRAWS = 5_000
LEAST, MOST = 15, 45
"""Places along a side of the grid."""


def over_plane(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for two columns of numbers, or two angles, or a covariate and an outcome."""
    domain = problem.domain
    pairs = problem.data.as_rows()
    conditional = pairs.shape[1] != domain.dim
    torus = isinstance(domain, Torus)
    xy = np.mod(pairs, TURN) if torus else pairs
    drawn = None if conditional or torus or boundary(domain) else model_draws(problem, DRAWS)
    limits = [(0.0, TURN)] * 2 if torus else _limits(domain, xy, conditional, drawn)
    side = int(np.sqrt(places_for(len(xy), LEAST**2, MOST**2)))
    axes = [middles(low, high, side) for low, high in limits]
    x, y = np.meshgrid(*axes)
    points = np.column_stack([x.ravel(), y.ravel()])
    inside = domain.contains(points[:, 1:] if conditional else points)
    asked: Any = (points[inside, 0], points[inside, 1]) if conditional else points[inside]
    found = result.witness(asked, level=level)
    seen = filled(points, inside, ratio(found)).reshape(x.shape)
    clip = None if conditional or torus else outline_of(ax, boundary(domain), colours)
    # To the edges of the picture, which the middles of cells do not reach.
    wide = [np.concatenate([[low], axis, [high]]) for axis, (low, high) in zip(axes, limits, strict=True)]
    x, y = np.meshgrid(*wide)
    regions(ax, x, y, np.pad(seen, 1, "edge"), colours, clip, np.pad(inside.reshape(seen.shape), 1))
    scatter(ax, xy[:, 0], xy[:, 1], colours)
    names = names_of(result.columns, 2)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=names[0], ylabel=names[1])
    if conditional:
        ax.set(xlabel="covariate x", ylabel="outcome y")
    if isinstance(domain, Polygon | Ball):
        ax.set_aspect("equal")
    bare(ax)
    beyond = outside(np.where(_within(xy, limits), 0.0, 1.0), -0.5, 0.5)
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, ratio(found)),
        left_out(len(xy)),
        beyond,
        extra=entries(colours, ratio(found), found.what),
    )


def scatter(ax: Axes, x: Array, y: Array, colours: Palette, label: str | None = "observations") -> None:
    """The observations as points, some of them where they are many."""
    rows = drawn_rows(len(x))
    size = float(np.clip(400.0 / np.sqrt(len(rows)) / 4.0, 3.0, 14.0))
    style = {"s": size, "linewidths": 0.0, "alpha": 0.75, "zorder": 3, "label": label}
    ax.scatter(x[rows], y[rows], color=colours.ink, rasterized=len(rows) > VECTORS, **style)


def middles(low: float, high: float, count: int) -> Array:
    """The middles of so many cells."""
    edges = np.linspace(low, high, count + 1)
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))


def filled(points: Array, inside: Any, values: Array) -> Array:
    """Values at all points, those outside the domain from the nearest inside: the outline cuts them off."""
    if inside.all():
        return values
    from scipy.spatial import cKDTree

    nearest = cKDTree(points[inside]).query(points[~inside])[1]
    out = np.empty(len(points))
    out[inside], out[~inside] = values, values[nearest]
    return out


def outline_of(ax: Axes, rings: list[Array], colours: Palette) -> Any:
    """Draw rings; the patch to cut regions with, None where there are none."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not rings:
        return None
    paths = [Path(np.vstack([ring, ring[:1]]), closed=True) for ring in rings]
    whole = Path.make_compound_path(*paths)
    patch = PathPatch(whole, facecolor="none", edgecolor=colours.ink, linewidth=1.2, zorder=2.5)
    ax.add_patch(patch)
    return patch


def boundary(domain: Any) -> list[Array]:
    """Vertices of the rings around a plane domain, the outer one first; none where it is not known."""
    if isinstance(domain, Polygon):
        shape = domain.geometry
        return [np.asarray(ring.coords)[:-1] for ring in (shape.exterior, *shape.interiors)]
    angle = np.linspace(0.0, TURN, 361)[:-1]
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    if isinstance(domain, Ball):
        return [np.asarray(domain.center) + domain.radius * around]
    if isinstance(domain, Polytope) and domain.bounded:
        return [_corners(np.asarray(domain.A), np.asarray(domain.b))]
    if isinstance(domain, Box) and domain.bounded and domain.dim > 1:
        (x0, y0), (x1, y1) = domain.lower[:2], domain.upper[:2]
        return [np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])]
    return []


def _corners(a: Array, b: Array) -> Array:
    """Corners of {x : a·x ≤ b} in the plane, in their order: where two lines meet that no third cuts off."""
    first, second = np.triu_indices(len(a), 1)
    det = a[first, 0] * a[second, 1] - a[first, 1] * a[second, 0]
    meet = np.abs(det) > 1e-12
    first, second, det = first[meet], second[meet], det[meet]
    x = (b[first] * a[second, 1] - b[second] * a[first, 1]) / det
    y = (a[first, 0] * b[second] - a[second, 0] * b[first]) / det
    corners = np.column_stack([x, y])
    slack = b - corners @ a.T
    kept = corners[(slack >= -1e-9 * (1.0 + np.abs(b))).all(axis=1)]
    around = kept - kept.mean(axis=0)
    return np.asarray(kept[np.argsort(np.arctan2(around[:, 1], around[:, 0]))])


def _limits(domain: Any, xy: Array, conditional: bool, drawn: Array | None) -> list[tuple[float, float]]:
    if conditional:
        box = isinstance(domain, Box)
        ends = (float(domain.lower[0]), float(domain.upper[0])) if box else (-np.inf, np.inf)
        return [view(xy[:, 0]), view(xy[:, 1], *ends)]
    rings = boundary(domain)
    if rings:
        corners = np.vstack(rings)
        room = 0.03 * np.ptp(corners, axis=0)
        low, high = corners.min(axis=0) - room, corners.max(axis=0) + room
        return [(float(low[j]), float(high[j])) for j in range(2)]
    lower, upper = (domain.lower, domain.upper) if isinstance(domain, Box) else ([-np.inf] * 2, [np.inf] * 2)
    columns = [None, None] if drawn is None else list(drawn.T)
    return [view(xy[:, j], float(lower[j]), float(upper[j]), columns[j]) for j in range(2)]


def _within(xy: Array, limits: list[tuple[float, float]]) -> Any:
    (x0, x1), (y0, y1) = limits
    return (xy[:, 0] >= x0) & (xy[:, 0] <= x1) & (xy[:, 1] >= y0) & (xy[:, 1] <= y1)
