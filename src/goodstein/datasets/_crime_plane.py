"""A boundary in longitudes and latitudes, and the plane that it is put on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from goodstein.domains.polygon import Polygon
from goodstein.domains.polygon_input import GEOGRAPHIC, _geometries, _system_name, import_shapely
from goodstein.errors import DomainError
from goodstein.types import Array

LONGEST_EDGE = 0.01  # degrees, about a kilometre


def import_pyproj() -> Any:
    try:
        import pyproj
    except ImportError:
        raise ImportError('crime_locations needs pyproj: pip install "goodstein[spatial]".') from None
    return pyproj


def read_region(boundary: Any) -> Any:
    """The union of all polygons of the boundary, in degrees."""
    shapely = import_shapely()
    from shapely.geometry import shape as from_mapping

    document = boundary
    if isinstance(boundary, (str, PathLike)):
        try:
            document = json.loads(Path(boundary).read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise DomainError(f"`boundary`: {Path(boundary).name} is not JSON: {error}.") from None
    if not isinstance(document, Mapping):
        raise DomainError(
            "`boundary` must be the path of a GeoJSON file or a GeoJSON mapping, got "
            f"{type(document).__name__}."
        )
    try:
        geometries = [from_mapping(geometry) for geometry in _geometries(document)]
    except (KeyError, TypeError, AttributeError, ValueError, shapely.errors.ShapelyError) as error:
        raise DomainError(f"`boundary` cannot be read as GeoJSON: {error!r}.") from None
    kinds = {geometry.geom_type for geometry in geometries} - {"Polygon", "MultiPolygon"}
    if kinds or not geometries or all(geometry.is_empty for geometry in geometries):
        held = f"holds {', '.join(sorted(kinds))}" if kinds else "is empty"
        raise DomainError(f"`boundary`: expected a Polygon or MultiPolygon, but the GeoJSON {held}.")
    for geometry in geometries:
        if not shapely.is_valid(geometry):
            raise DomainError(
                f"`boundary` is not valid: {shapely.is_valid_reason(geometry)}. Repair it with "
                "shapely.make_valid(shape) and look at what comes out."
            )
    name = _system_name(document)
    west, south, east, north = shapely.total_bounds(geometries)
    if west < -180 or south < -90 or east > 180 or north > 90 or (name and not GEOGRAPHIC.search(name)):
        raise DomainError(
            "`boundary` must be in longitudes and latitudes, as GeoJSON is by definition; its coordinates "
            f"run from ({west:g}, {south:g}) to ({east:g}, {north:g}){f' in {name}' if name else ''}."
        )
    return shapely.force_2d(shapely.union_all(geometries))


def choose_plane(pyproj: Any, region: Any) -> tuple[str, Callable[[Array], Array]]:
    """Reference system of the zone around the middle of the region, and the way into it, in kilometres."""
    from pyproj.aoi import AreaOfInterest
    from pyproj.database import query_utm_crs_info

    west, south, east, north = region.bounds
    lon, lat = (west + east) / 2, (south + north) / 2
    zones = query_utm_crs_info("WGS 84", AreaOfInterest(lon, lat, lon, lat))
    if not zones:
        raise DomainError(
            f"`boundary`: no zone of the Universal Transverse Mercator system reaches latitude {lat:g}. "
            "Project points and region by other means, and pass them to Polygon and to the test."
        )
    crs = f"{zones[0].auth_name}:{zones[0].code}"
    transformer = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)

    def project(lonlat: Array) -> Array:
        return np.column_stack(transformer.transform(lonlat[:, 0], lonlat[:, 1], errcheck=True)) / 1000.0

    return crs, project


def largest_part(
    region: Any, project: Callable[[Array], Array]
) -> tuple[Polygon, Sequence[Polygon], tuple[float, float]]:
    """The largest part of the region, the others, and where their coordinates begin."""
    shapely = import_shapely()
    # Edges are straight in degrees; cut into pieces they are the same line on the plane, to centimetres.
    parts = shapely.get_parts(shapely.transform(shapely.segmentize(region, LONGEST_EDGE), project))
    order = np.argsort(-shapely.area(parts), kind="stable")
    west, south, _, _ = parts[order[0]].bounds
    origin = (float(np.floor(west)), float(np.floor(south)))
    shifted = [shapely.transform(parts[i], lambda vertices: vertices - np.array(origin)) for i in order]
    return Polygon(shifted[0]), [Polygon(part) for part in shifted[1:]], origin
