"""Where crimes happened: a table as the City of Chicago's portal exports it, on a plane with a boundary."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyproj
import shapely

import goodstein as gs

Array = np.ndarray
PLANE, ZONE = "EPSG:32616", (-90.0, 0.0, -84.0, 84.0)
"""The zone of the Universal Transverse Mercator system in which Chicago lies, and its corners in degrees.

Lengths are 0.04 % too short everywhere in the city, which no test notices.
"""
GEOGRAPHIC = re.compile(r"(CRS:?84|EPSG:+(?:[\d.]*:)?4326)$", re.IGNORECASE)
"""What the member ``crs`` of a GeoJSON file in degrees may say."""
LONGEST_EDGE = 0.01  # degrees, about a kilometre

DATES = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y")
"""Of exports today and in earlier years; others are in ISO 8601."""
NOWHERE = ((36.619446, -91.686566), (0.0, 0.0))
"""Where the portal puts some records without a location: the origin of its own grid, and that of degrees."""
OTHER_TYPE, OTHER_YEAR, UNLOCATED = "other_types", "other_years", "unlocated"
MOST_REDRAWS = 10_000


@dataclass(frozen=True, eq=False)
class Locations:
    """Points in kilometres, the region they lie in, and what became of every row of the table.

    Rows left out are counted once, under the first that applies: another type of crime, another year, no
    location, outside the boundary, inside a smaller part of a boundary that is not connected.
    """

    points: Array
    domain: gs.Polygon
    rows_read: int
    other_types: int = 0
    other_years: int = 0
    unlocated: int = 0
    outside: int = 0
    other_parts: int = 0

    def __len__(self) -> int:
        return len(self.points)

    @property
    def n_distinct(self) -> int:
        """How many different locations there are."""
        return len(np.unique(self.points, axis=0))

    @property
    def n_tied(self) -> int:
        """How many points share their location with another one."""
        _, counts = np.unique(self.points, axis=0, return_counts=True)
        return int(counts[counts > 1].sum())

    def distinct(self) -> Locations:
        """One point for each location, the first of those that share it.

        A test then asks about the law of the *places* where any such crime happened, not about that of the
        crimes: places with many count no more than places with one.
        """
        _, first = np.unique(self.points, axis=0, return_index=True)
        return replace(self, points=self.points[np.sort(first)])

    def jittered(self, radius: float, rng: np.random.Generator) -> Locations:
        """Every point moved by uniform noise within a disc of so many km, anew until it lies in the domain.

        The City gives the block, which is 100 to 200 m long: noise of that size claims no more than the data.
        """
        moved, waiting = self.points.copy(), np.arange(len(self))
        for _ in range(MOST_REDRAWS):
            distance = radius * np.sqrt(rng.uniform(size=len(waiting)))
            angle = rng.uniform(0.0, 2 * np.pi, size=len(waiting))
            step = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
            moved[waiting] = self.points[waiting] + step
            waiting = waiting[~self.domain.contains(moved[waiting])]
            if not waiting.size:
                return replace(self, points=moved)
        raise ValueError(f"{MOST_REDRAWS} draws within {radius:g} km of a point all fell outside the domain.")

    def split(self, rng: np.random.Generator, size: int | None = None) -> tuple[Locations, Locations]:
        """Two parts at random, each in the order of the table; the first has a half, or `size` points."""
        size = round(0.5 * len(self)) if size is None else size
        if not 0 < size < len(self):
            raise ValueError(f"{size} of {len(self)} points leave one part empty.")
        order = rng.permutation(len(self))
        first, second = (np.sort(part) for part in (order[:size], order[size:]))
        return replace(self, points=self.points[first]), replace(self, points=self.points[second])


def crime_locations(table: Path, boundary: Path, year: int, primary_type: str = "ROBBERY") -> Locations:
    """Read where crimes of a type and year happened, and put them on a plane.

    Parameters
    ----------
    table
        CSV with the columns Latitude and Longitude in degrees and Year or Date, in whatever case. Without
        the column "Primary Type" all rows are taken for crimes of the type.
    boundary
        GeoJSON in longitudes and latitudes. Stein's method needs a connected region: of several parts the
        largest is the domain, and points in the others are counted and left out.
    """
    domain, others, origin = read_boundary(boundary)
    lonlat, rows_read, left_out = read_rows(table, year, primary_type)
    points = on_plane(lonlat) - origin
    inside = domain.contains(points)
    if not inside.any():
        raise ValueError(
            f"{table.name}: none of {len(points)} locations lies inside the boundary; the first is longitude "
            f"{lonlat[0, 0]:g}, latitude {lonlat[0, 1]:g}. Is it that of this city?"
        )
    elsewhere = np.zeros(len(points), bool)
    for part in others:
        elsewhere |= ~inside & part.contains(points)
    lost = {"outside": int((~inside & ~elsewhere).sum()), "other_parts": int(elsewhere.sum())}
    found = Locations(points[inside], domain, rows_read, **left_out, **lost)
    assert len(found) + sum(left_out.values()) + sum(lost.values()) == rows_read
    return found


def on_plane(lonlat: Array) -> Array:
    """Kilometres east and north, from degrees."""
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", PLANE, always_xy=True)
    return np.column_stack(to_plane.transform(*lonlat.T, errcheck=True)) / 1000.0


def read_boundary(path: Path) -> tuple[gs.Polygon, list[gs.Polygon], Array]:
    """The largest part of the region, the others, and where their coordinates begin: at a whole kilometre."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        geometry = shapely.from_geojson(text)
    except shapely.errors.ShapelyError as error:
        raise ValueError(f"{path.name} cannot be read as GeoJSON: {error}.") from None
    parts = shapely.get_parts(shapely.get_parts(geometry))
    kinds = {part.geom_type for part in parts}
    if kinds != {"Polygon"}:
        raise ValueError(
            f"{path.name} must hold polygons, but holds {', '.join(sorted(kinds)) or 'nothing'}."
        )
    if not shapely.is_valid(geometry):
        raise ValueError(f"{path.name} is not valid: {shapely.is_valid_reason(geometry)}.")
    west, south, east, north = shapely.total_bounds(parts)
    name = ((json.loads(text).get("crs") or {}).get("properties") or {}).get("name", "CRS84")
    within = west >= ZONE[0] and south >= ZONE[1] and east <= ZONE[2] and north <= ZONE[3]
    if not within or not GEOGRAPHIC.search(name):
        raise ValueError(
            f"{path.name} must be in longitudes and latitudes of the zone {ZONE}, but runs from ({west:g}, "
            f"{south:g}) to ({east:g}, {north:g}) in {name}."
        )
    region = shapely.force_2d(shapely.union_all(parts))
    # Edges are straight in degrees; cut into pieces they are the same line on the plane, to centimetres.
    planar = shapely.get_parts(shapely.transform(shapely.segmentize(region, LONGEST_EDGE), on_plane))
    planar = planar[np.argsort(-shapely.area(planar), kind="stable")]
    # Numbers of the size of the city keep all their digits, which those of the size of the Earth would not.
    origin = np.floor(planar[0].bounds[:2])
    first, *others = [gs.Polygon(shapely.transform(part, lambda x: x - origin)) for part in planar]
    return first, others, origin


def read_rows(path: Path, year: int, primary_type: str) -> tuple[Array, int, dict[str, int]]:
    """Longitudes and latitudes, how many rows there are, and how many were left out for which reason."""
    left_out = Counter({OTHER_TYPE: 0, OTHER_YEAR: 0, UNLOCATED: 0})
    lonlat, row = [], -1
    with path.open(encoding="utf-8-sig", newline="") as file:  # a spreadsheet may have put a mark in front
        lines = (line for line in csv.reader(file) if line)
        header = ["".join(filter(str.isalnum, name)).lower() for name in next(lines, [])]
        dated = "year" if "year" in header else "date"
        missing = {"latitude", "longitude", dated} - set(header)
        if missing or len(set(header)) < len(header):
            raise ValueError(f"{path.name}: columns are missing, {sorted(missing)}, or double: {header}.")
        for row, line in enumerate(lines):
            if len(line) != len(header):
                raise ValueError(f"{path.name}: row {row} has {len(line)} fields of {len(header)}.")
            record = dict(zip(header, line, strict=True))
            if record.get("primarytype", primary_type).strip().upper() != primary_type:
                left_out[OTHER_TYPE] += 1
            elif _year(record[dated], row) != year:
                left_out[OTHER_YEAR] += 1
            elif (place := _place(record["longitude"], record["latitude"], row)) is None:
                left_out[UNLOCATED] += 1
            else:
                lonlat.append(place)
    if not lonlat:
        raise ValueError(f"{path.name}: of {row + 1} rows none is left for {year}: {dict(left_out)}.")
    return np.array(lonlat), row + 1, dict(left_out)


def _year(value: str, row: int) -> int:
    """The year of a date, or of a field that holds nothing else."""
    text = value.strip()
    if re.fullmatch(r"\d{4}", text):
        return int(text)
    with suppress(ValueError):
        return datetime.fromisoformat(text).year
    for form in DATES:
        with suppress(ValueError):
            return datetime.strptime(text, form).year
    raise ValueError(f"Row {row} has no date that can be read, but {value!r}.")


def _place(longitude: str, latitude: str, row: int) -> tuple[float, float] | None:
    """None where there is no location."""
    if any(text.strip().lower() in ("", "nan", "null", "na") for text in (longitude, latitude)):
        return None
    try:
        lon, lat = float(longitude), float(latitude)
    except ValueError:
        raise ValueError(f"Row {row} is at {longitude!r}, {latitude!r}, not at numbers.") from None
    if not (abs(lon) <= 180 and abs(lat) <= 90):
        raise ValueError(f"Row {row} is at {lon:g}, {lat:g}, which is not in degrees. Are columns exchanged?")
    return None if any(abs(lat - a) < 1e-5 and abs(lon - b) < 1e-5 for a, b in NOWHERE) else (lon, lat)
