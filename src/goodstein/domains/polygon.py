"""Polygons of the plane, with holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goodstein.domains.base import Domain, Face, sample_in_box
from goodstein.domains.polygon_input import as_polygon, import_shapely
from goodstein.errors import DomainError, must
from goodstein.frozen import Frozen
from goodstein.lazy import cached_property
from goodstein.types import Array, ArrayLike, BoolArray

POINTS_PER_RING = 16

# Share of the coordinates' magnitude by which a computed boundary point may miss the boundary.
ROUNDING = 1e-12

# The same, within which (x − foot)/distance is dominated by rounding and the edge decides.
ON_EDGE = 1e-9


class Polygon(Frozen, Domain):
    r"""A connected polygon of the plane, with or without holes.

    The distance to the boundary, holes included, is the distance to the nearest edge; with
    ``foot`` the nearest boundary point its gradient is
    :math:`(x - \mathrm{foot}) / \|x - \mathrm{foot}\|`, and on the boundary itself the
    inward normal of the edge. Needs shapely: ``pip install "goodstein[spatial]"``.

    Parameters
    ----------
    shape
        A sequence of vertices (n, 2), in either orientation, closed or not; a shapely
        Polygon; a geopandas column; or a GeoJSON-like mapping. Coordinates must be planar:
        longitudes and latitudes are refused where they can be recognised, that is in
        geopandas columns with a geographic reference system and in GeoJSON, all of whose coordinates are
        within ±180 and ±90.
    holes
        Vertices of each hole, where ``shape`` is a sequence of vertices.

    References
    ----------
    .. [1] Liu, S., Kanamori, T., Williams, D. J. (2022). Estimating density models with
       truncation boundaries using score matching. Journal of Machine Learning Research
       23(186), 1-38.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Polygon
    >>> square = Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], holes=[[(1, 1), (3, 1), (3, 3), (1, 3)]])
    >>> square
    Polygon(8 vertices, 1 hole)
    >>> x = np.array([[0.25, 2.0], [2.0, 2.0]])
    >>> square.contains(x)
    array([ True, False])
    >>> square.boundary_distance(x[:1])
    array([0.25])
    """

    _parameters = ("geometry",)
    dim = 2
    bounded = True
    geometry: Any
    """The region in normal form, a shapely Polygon."""

    def __init__(self, shape: ArrayLike, holes: Sequence[ArrayLike] = ()) -> None:
        self._set(geometry=as_polygon(shape, holes))
        shapely = import_shapely()
        shapely.prepare(self.geometry)
        shapely.prepare(self._boundary)
        # GEOS builds the indices of a prepared geometry at its first use, without a lock:
        # use them once now, so that threads only ever read them.
        corner = shapely.get_coordinates(self.geometry)[:1]
        self.contains(corner)
        self._feet(corner)

    def __repr__(self) -> str:
        holes = len(self.geometry.interiors)
        vertices = sum(len(start) for start, _ in self._rings)
        suffix = f", {holes} hole{'s' if holes > 1 else ''}" if holes else ""
        return f"Polygon({vertices} vertices{suffix})"

    @cached_property
    def _boundary(self) -> Any:
        return self.geometry.boundary

    @cached_property
    def _magnitude(self) -> float:
        """Largest coordinate, to which rounding errors are proportional."""
        return float(np.abs(self.geometry.bounds).max())

    @cached_property
    def _rings(self) -> list[tuple[Array, Array]]:
        """Start and end of the edges of each ring, the outer one first; the region lies to their left."""
        shapely = import_shapely()
        rings = []
        for ring in (self.geometry.exterior, *self.geometry.interiors):
            vertices = shapely.get_coordinates(ring)
            proper = (vertices[:-1] != vertices[1:]).any(axis=1)
            rings.append((vertices[:-1][proper], vertices[1:][proper]))
        return rings

    def contains(self, x: Array) -> BoolArray:
        shapely = import_shapely()
        inside = np.asarray(shapely.intersects_xy(self.geometry, x[:, 0], x[:, 1]))
        doubtful = np.flatnonzero(~inside & np.isfinite(x).all(axis=1))
        if doubtful.size:
            points = shapely.points(x[doubtful])
            inside[doubtful] = shapely.dwithin(self._boundary, points, ROUNDING * self._magnitude)
        return inside

    def boundary_distance(self, x: Array) -> Array:
        return np.asarray(np.linalg.norm(x - self._feet(x), axis=1))

    def boundary_gradient(self, x: Array) -> Array:
        away = x - self._feet(x)
        distance = np.linalg.norm(away, axis=1)
        on_edge = distance <= ON_EDGE * self._magnitude
        gradient = away / np.where(on_edge, 1.0, distance)[:, None]
        gradient[on_edge] = self._edge_normals(x[on_edge])
        return np.asarray(gradient)

    def _feet(self, x: Array) -> Array:
        """The nearest boundary point of each row, (n, 2)."""
        if len(x) == 0:
            return np.empty((0, 2))
        if not np.isfinite(x).all():
            raise must("x", "finite points", x, error=DomainError)
        shapely = import_shapely()
        lines = shapely.shortest_line(self._boundary, shapely.points(x))
        return np.asarray(shapely.get_coordinates(lines)[::2])

    def _edge_normals(self, x: Array) -> Array:
        """Inward unit normal of the edge nearest to each row, (n, 2)."""
        start = np.concatenate([start for start, _ in self._rings])
        end = np.concatenate([end for _, end in self._rings])
        nearest = np.empty(len(x), dtype=np.intp)
        for row, point in enumerate(x):  # few rows lie on the boundary exactly
            along = ((point - start) * (end - start)).sum(axis=1) / ((end - start) ** 2).sum(axis=1)
            foot = start + np.clip(along, 0, 1)[:, None] * (end - start)
            nearest[row] = ((point - foot) ** 2).sum(axis=1).argmin()
        return _left_normals(start, end)[nearest]

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Midpoints of up to 16 edges of each ring, spread evenly along it."""
        faces = []
        for number, (start, end) in enumerate(self._rings):
            lengths = np.linalg.norm(end - start, axis=1)
            # Edges met at equal steps along the ring: long edges are met first, none is met twice.
            steps = (np.arange(POINTS_PER_RING) + 0.5) / POINTS_PER_RING * lengths.sum()
            edges = np.unique(np.minimum(np.searchsorted(lengths.cumsum(), steps), len(lengths) - 1))
            points = (start[edges] + end[edges]) / 2
            normals = _left_normals(start[edges], end[edges])
            reach = self._reach(points, normals, lengths[edges] / 2)
            usable = reach > 0
            name = "outer ring" if number == 0 else f"hole {number}"
            if usable.any():
                faces.append(Face(name, points[usable], normals[usable], reach[usable]))
        return faces

    def _reach(self, points: Array, normals: Array, longest: Array) -> Array:
        """How far from each point its own edge stays the nearest one, by halving from ``longest``."""
        reach = longest.copy()
        tolerance = ROUNDING * self._magnitude
        for _ in range(30):
            # If the point is the foot of where the walk ends, it is so all the way.
            distance = self.boundary_distance(points + reach[:, None] * normals)
            blocked = distance < reach - tolerance
            if not blocked.any():
                return reach
            reach[blocked] /= 2
        return np.where(blocked, 0.0, reach)

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        shapely = import_shapely()
        if not hasattr(shapely, "constrained_delaunay_triangles"):  # shapely < 2.1
            bounds = np.array(self.geometry.bounds)
            return sample_in_box(self, bounds[:2], bounds[2:], n, rng)
        triangles = shapely.get_parts(shapely.constrained_delaunay_triangles(self.geometry))
        corners = shapely.get_coordinates(triangles).reshape(-1, 4, 2)[:, :3]
        areas = shapely.area(triangles)  # by which a triangle is chosen
        chosen = corners[rng.choice(len(areas), size=n, p=areas / areas.sum())]
        # Uniform on a triangle: fold the unit square along its diagonal.
        weights = rng.uniform(size=(n, 2))
        beyond = weights.sum(axis=1) > 1
        weights[beyond] = 1 - weights[beyond]
        edges = chosen[:, 1:] - chosen[:, :1]
        return np.asarray(chosen[:, 0] + np.einsum("ni,nij->nj", weights, edges))


def _left_normals(start: Array, end: Array) -> Array:
    """Unit normals to the left of the edges, (n, 2)."""
    along = end - start
    normals = np.column_stack([-along[:, 1], along[:, 0]])
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))
