"""Turn what people hold in their hands into one valid planar polygon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goodstein.constraints import numbers
from goodstein.errors import DomainError, must
from goodstein.types import Array, ArrayLike
from goodstein.validation import is_frame

WHY_PROJECT = (
    "the coordinates are longitudes and latitudes, in which distances and densities have no meaning. "
    "Project the region and the data to a plane first"
)


def import_shapely() -> Any:
    """Import shapely, or say which extra brings it."""
    try:
        import shapely
    except ImportError:
        raise ImportError('Polygon needs shapely: pip install "goodstein[spatial]".') from None
    return shapely


def as_polygon(shape: ArrayLike, holes: Sequence[ArrayLike]) -> Any:
    """Return ``shape`` as a valid, connected, counter-clockwise shapely polygon of the plane."""
    shapely = import_shapely()
    if not isinstance(holes, list | tuple | np.ndarray) or not getattr(holes, "ndim", 1):
        raise must("holes", "a list of holes, each a list of vertices; [] for none", holes, error=DomainError)
    parts = shapely.get_parts(_union(shapely, _as_geometries(shapely, shape, holes)))
    if any(part.geom_type != "Polygon" for part in parts):
        kinds = ", ".join(sorted({part.geom_type for part in parts} - {"Polygon"}))
        raise DomainError(f"A polygon is needed, but the shape holds {kinds}, which has no area.")
    parts = parts[~shapely.is_empty(parts)]
    if len(parts) == 0:
        raise DomainError("The polygon is empty.")
    if len(parts) > 1:
        areas = shapely.area(parts)
        share = f"the largest holds {areas.max() / areas.sum():.2%} of the area"
        found = f"The region consists of {len(parts)} parts that are not connected; {share}."
        largest = "take the largest, max(shapely.get_parts(shape), key=shapely.area)"
        why = "Stein's method cannot tell how the mass divides among parts"
        remedy = f"{why}: test each with the data in it, or {largest}."
        raise DomainError(found, remedy=remedy)
    (polygon,) = parts
    if not polygon.area > 0:
        raise DomainError("The polygon has no area: its vertices lie on a line.")
    # The normal form makes polygons equal that differ only in where their rings start.
    from shapely.geometry.polygon import orient

    return orient(shapely.normalize(shapely.force_2d(polygon)))


def _as_geometries(shapely: Any, shape: ArrayLike, holes: Sequence[ArrayLike]) -> Sequence[Any]:
    """Any input as shapely geometries, not yet checked; those of geopandas are known by their attributes."""
    if isinstance(shape, shapely.Geometry):
        geometries: Sequence[Any] = [shape]
    elif hasattr(shape, "crs") and hasattr(shape, "geometry"):
        if getattr(shape.crs, "is_geographic", False):
            remedy = "shape.to_crs(shape.estimate_utm_crs())."
            raise DomainError(f"{WHY_PROJECT}: {remedy}", argument="shape")
        geometries = [geometry for geometry in shape.geometry if geometry is not None]
    elif isinstance(shape, Mapping) or hasattr(shape, "__geo_interface__"):
        document = shape if isinstance(shape, Mapping) else shape.__geo_interface__
        geometries = _from_geojson(shapely, document)
    else:
        rings = [_as_ring(hole, f"holes[{i}]") for i, hole in enumerate(holes)]
        return [shapely.Polygon(_as_ring(shape, "shape"), rings)]
    if len(holes):
        raise DomainError("`holes` goes with vertices only; a shape already has its holes.")
    return geometries


def _union(shapely: Any, geometries: Sequence[Any]) -> Any:
    """The union of valid geometries."""
    for geometry in geometries:
        if not shapely.is_valid(geometry):
            repair = "repair it with shapely.make_valid(shape) and look at what comes out"
            reason = f"The polygon is not valid: {shapely.is_valid_reason(geometry)}."
            raise DomainError(reason, remedy=f"Correct the vertices, or {repair}.")
    return geometries[0] if len(geometries) == 1 else shapely.union_all(geometries)


def _as_ring(vertices: ArrayLike, name: str) -> Array:
    """Vertices (n, 2), closed or not."""
    if not isinstance(vertices, list | tuple | np.ndarray) and not is_frame(vertices):
        kinds = "vertices (n, 2), a shapely polygon or a geopandas column"
        raise must(name, kinds, vertices, error=DomainError)
    ring = numbers(vertices, name, error=DomainError)
    if ring.ndim != 2 or ring.shape[1] != 2:
        raise must(name, "vertices (n, 2)", ring, error=DomainError)
    different = len(np.unique(ring, axis=0))
    if different < 3:
        raise DomainError(f"`{name}` must hold at least 3 different vertices, got {different}.")
    return ring


def _from_geojson(shapely: Any, document: Mapping[str, Any]) -> Sequence[Any]:
    """The geometries of a GeoJSON object, unless their coordinates are degrees.

    RFC 7946 makes all coordinates longitudes and latitudes. Files in metres exist, and are recognised by
    coordinates beyond ±180 and ±90.
    """
    from shapely.geometry import shape as from_mapping

    try:
        geometries = [from_mapping(geometry) for geometry in _geometries(document)]
    except (KeyError, TypeError, AttributeError, ValueError, shapely.errors.ShapelyError) as error:
        raise DomainError(f"`shape` cannot be read as GeoJSON: {error!r}.") from None
    if not geometries:
        return []
    west, south, east, north = shapely.total_bounds(geometries)
    if west >= -180 and south >= -90 and east <= 180 and north <= 90:
        remedy = "If they are planar already, pass shapely.geometry.shape(...)."
        reason = f"{WHY_PROJECT}, for example with pyproj or geopandas."
        raise DomainError(reason, argument="shape", remedy=remedy)
    return geometries


def _geometries(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The geometries in a GeoJSON object of any kind."""
    if document["type"] == "FeatureCollection":
        for member in document["features"]:
            yield from _geometries(member)
    else:
        yield document["geometry"] if document["type"] == "Feature" else document
