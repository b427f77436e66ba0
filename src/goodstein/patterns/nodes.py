"""Nodes and weights for integrals over a window."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains import Box, Domain, Polygon
from goodstein.domains.regions import as_domain
from goodstein.errors import DomainError
from goodstein.types import Array

FEWEST = {1: 40, 2: 144, 3: 343}
"""Nodes that a box has at least, unless the user says otherwise."""

FEWEST_IN_POLYGON = 256

MOST = 20_000

SMALLEST = 1e-150
"""Volume of a box below which it is not divided by: it underflows, or nearly so."""

LONGEST_RULE = 200
"""Nodes of a Gauss–Legendre rule on one axis; beyond, the axis is cut into equal parts."""


def quadrature(domain: Domain, nodes: int | None = None, length: float = math.inf) -> tuple[Array, Array]:
    r"""Nodes u (N, d) and weights w (N,) with ∫ f ≈ Σ w f(u); the weights sum to the window's measure.

    On a box this is the product of Gauss–Legendre rules, composite where a side has more than 200 nodes. A
    polygon is cut into the cells of a square grid; every piece has its area as weight and its centroid as
    node (another of its points, if a notch leaves the centroid outside). Neither needs random numbers.

    Parameters
    ----------
    domain
        A bounded box or a polygon; or a domain of your own with a method ``quadrature(nodes)``.
    nodes
        About how many nodes; None takes 40, 144 or 343 in a box of one, two or three dimensions, 256
        in a polygon, and more if ``length`` asks for them.
    length
        The length on which the integrand varies: nodes are no farther apart on average than three
        quarters of it in a box, one half in a polygon.

    Examples
    --------
    >>> from goodstein.domains import Box
    >>> from goodstein.patterns import quadrature
    >>> u, w = quadrature(Box([0, 0], [2, 1]))
    >>> float(w.sum()), float(w @ u[:, 0] ** 2)
    (2.0, 2.6666666667)
    """
    domain = as_domain(domain, "a domain such as Box or Polygon")
    if nodes is not None:
        check_count(nodes, "nodes", 1, MOST)
    if not (isinstance(length, float) and length == np.inf):
        number(length, "length", above=0.0)
    own = domain.quadrature(nodes)
    if own is not None:
        return np.asarray(own[0], dtype=np.float64), np.asarray(own[1], dtype=np.float64)
    if isinstance(domain, Box) and domain.bounded:
        size = float(np.prod(domain.upper - domain.lower))
        if size < SMALLEST:
            raise DomainError(f"{domain!r} has the volume {size:g}. Choose other units.")
        fewest = FEWEST.get(domain.dim, 3**domain.dim)
        return _box(domain, nodes or _count(size / (0.75 * length) ** domain.dim, fewest, length))
    if isinstance(domain, Polygon):
        area = domain.geometry.area
        return _polygon(domain, nodes or _count(area / (0.5 * length) ** 2, FEWEST_IN_POLYGON, length))
    raise DomainError(
        f"Point patterns need a bounded Box or a Polygon as window, got {domain!r}. Another domain needs a "
        "method `quadrature(nodes)` that returns nodes and weights."
    )


def _count(needed: float, fewest: int, length: float) -> float:
    if needed > MOST:
        raise DomainError(
            f"The integral over the window needs {needed:.2g} nodes to resolve a bandwidth of {length:.3g}; "
            f"{MOST} are the most. Take a larger bandwidth or a smaller window."
        )
    return max(needed, fewest)


def _box(domain: Box, count: float) -> tuple[Array, Array]:
    sides = domain.upper - domain.lower
    density = (count / float(np.prod(sides))) ** (1 / domain.dim)
    axes, weights = [], []
    for low, side in zip(domain.lower, sides, strict=True):
        x, w = _gauss(max(2, math.ceil(side * density - 1e-9)))
        axes.append(low + 0.5 * side * (x + 1))
        weights.append(0.5 * side * w)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, domain.dim)
    product = weights[0]
    for w in weights[1:]:
        product = np.multiply.outer(product, w)
    return nodes, np.asarray(product).reshape(-1)


@lru_cache(maxsize=64)
def _gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights on [−1, 1]; of many nodes a composite rule, because their time grows with count³."""
    panels = math.ceil(count / LONGEST_RULE)
    x, w = np.polynomial.legendre.leggauss(math.ceil(count / panels))
    if panels == 1:
        return x, w
    middles = (2.0 * np.arange(panels) + 1.0) / panels - 1.0
    return np.add.outer(middles, x / panels).reshape(-1), np.tile(w / panels, panels)


def _polygon(domain: Polygon, count: float) -> tuple[Array, Array]:
    import shapely

    region: Any = domain.geometry
    left, bottom, right, top = region.bounds
    step = math.sqrt(region.area / count)
    columns, rows = math.ceil((right - left) / step), math.ceil((top - bottom) / step)
    x = left + step * np.arange(columns)
    y = bottom + step * np.arange(rows)
    corners = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    cells = shapely.box(corners[:, 0], corners[:, 1], corners[:, 0] + step, corners[:, 1] + step)
    pieces = shapely.intersection(cells, region)
    areas = shapely.area(pieces)
    pieces, areas = pieces[areas > 0], areas[areas > 0]
    nodes = shapely.get_coordinates(shapely.centroid(pieces))
    # The centroid of a piece with a notch may lie outside of the window.
    lost = ~domain.contains(nodes)
    if lost.any():
        nodes[lost] = shapely.get_coordinates(shapely.point_on_surface(pieces[lost]))
    return nodes, np.asarray(areas)
