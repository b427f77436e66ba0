"""Where crimes happened: the City of Chicago's table, a boundary, and a plane to put both on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.datasets._crime_plane import choose_plane, import_pyproj, largest_part, read_region
from goodstein.datasets._crime_table import read_rows
from goodstein.domains.polygon import Polygon
from goodstein.errors import InputError, SamplingError
from goodstein.pipeline.compose import as_generator
from goodstein.types import RNG, Array

MOST_REDRAWS = 10_000
NUMBER = (int, float, np.integer, np.floating)


@dataclass(frozen=True, eq=False, repr=False)
class Locations:
    """Points in a plane, the region they lie in, and what became of every row of the table.

    Attributes
    ----------
    points : ndarray
        Kilometres east and north of `origin`, (n, 2), read-only.
    domain : Polygon
        The region, in the same coordinates.
    rows : ndarray
        Which row of the table each point comes from, (n,). The first row after the header is row 0, so
        that ``frame.iloc[places.rows]`` has the other columns of the points.
    crs : str
        Reference system of the plane, such as ``"EPSG:32616"``.
    origin : tuple of float
        Easting and northing, in kilometres of `crs`, that `points` are counted from: the south-western
        corner of the domain's bounding box, rounded down to whole kilometres. It depends on the boundary
        alone, so that tables read with the same boundary share their coordinates; and numbers of the
        size of the city keep all their digits, which those of the size of the Earth would not.
    rows_read : int
        Rows of the table.
    other_types, other_years, unlocated, outside, other_parts : int
        Rows left out, each counted once, under the first of these that applies: another type of crime,
        another year, no location, outside the boundary, inside a smaller part of a boundary that is not
        connected.
    notes : tuple of str
        What else there is to know, and what has been done since.
    """

    points: Array
    domain: Polygon
    rows: npt.NDArray[np.intp]
    crs: str
    origin: tuple[float, float]
    rows_read: int
    other_types: int = 0
    other_years: int = 0
    unlocated: int = 0
    outside: int = 0
    other_parts: int = 0
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        self.points.setflags(write=False)
        self.rows.setflags(write=False)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Locations({len(self)} points in {self.domain!r})"

    def __str__(self) -> str:
        return self.describe()

    @property
    def n_distinct(self) -> int:
        """How many different locations there are."""
        return len(np.unique(self.points, axis=0))

    @property
    def n_tied(self) -> int:
        """How many points share their location with another one."""
        _, counts = np.unique(self.points, axis=0, return_counts=True)
        return int(counts[counts > 1].sum())

    def describe(self) -> str:
        """What was read, what was left out and why, and what remains, in words."""
        east, north = self.origin
        left_out = [
            (self.other_types, "of another type of crime"),
            (self.other_years, "of another year"),
            (self.unlocated, "without a location"),
            (self.outside, "outside the boundary"),
            (self.other_parts, "in smaller parts of the boundary, not connected with the largest"),
        ]
        size = len(f"{self.rows_read}")
        kept = self.rows_read - sum(count for count, _ in left_out)
        largest = np.unique(self.points, axis=0, return_counts=True)[1].max()
        return "\n".join(
            [
                f"{len(self)} locations in {self.domain!r}, {self.domain.geometry.area:.2f} km²",
                f"  {self.rows_read:>{size}} rows read, of which",
                *(f"  {count:>{size}} {reason}" for count, reason in left_out),
                f"  {kept:>{size}} kept",
                *(f"  {note}" for note in self.notes),
                f"  {self.n_distinct} different locations; {self.n_tied} points share theirs with another, "
                f"at most {largest} at one",
                f"  kilometres east and north of ({east:g}, {north:g}) km in {self.crs}",
            ]
        )

    def distinct(self) -> Locations:
        """One point for each location, the first of those that share it.

        The city gives locations by block, so crimes on one block often have the very same coordinates.
        A density gives two equal points probability zero, and a test of a density takes ties for the
        evidence against it that they are, at whatever scale the kernel sees. Without the repetitions it
        asks about the law of the *places* where any such crime happened, not about the law of the
        crimes: places with many count no more than places with one, so peaks are flattened, the more so
        the more points there are, and the points are no longer independent draws. The other remedy is
        :meth:`jittered`.
        """
        _, first = np.unique(self.points, axis=0, return_index=True)
        first.sort()
        dropped = len(self) - len(first)
        return self._taken(first, f"one point for each location: {dropped} repetitions left out")

    def jittered(self, radius: float, rng: RNG = None) -> Locations:
        """Every point moved by uniform noise within a disc, anew until it lies in the domain.

        A published location says on which block a crime happened, and a block is 100 to 200 m long: noise
        of that size claims no more than the data do. It turns the law of the data into its average over
        discs of `radius`, so a model is tested up to that scale; what is finer is neither seen nor held
        against it. Points with a location of their own are moved too, since theirs is no more exact.

        Parameters
        ----------
        radius
            Of the disc, in kilometres.
        rng
            Seed or generator.
        """
        if isinstance(radius, bool) or not isinstance(radius, NUMBER) or not 0 < radius < np.inf:
            raise InputError(f"`radius` must be a positive number of kilometres, got {radius!r}.")
        generator = as_generator(rng)
        moved = self.points.copy()
        waiting = np.arange(len(moved))
        for _ in range(MOST_REDRAWS):
            distance = radius * np.sqrt(generator.uniform(size=len(waiting)))
            angle = generator.uniform(0.0, 2 * np.pi, size=len(waiting))
            step = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
            moved[waiting] = self.points[waiting] + step
            waiting = waiting[~self.domain.contains(moved[waiting])]
            if not waiting.size:
                note = f"every point moved at random within {radius:g} km of its location"
                return replace(self, points=moved, notes=(*self.notes, note))
        raise SamplingError(
            f"`radius`: {MOST_REDRAWS} draws within {radius:g} km of row {self.rows[waiting[0]]} of the "
            "table all fell outside the domain. Take a smaller radius."
        )

    def split(self, fraction: float = 0.5, rng: RNG = None) -> tuple[Locations, Locations]:
        """Two parts at random, such as one to fit a model to and one to test it on.

        Parameters
        ----------
        fraction
            Share of the points in the first part, to the nearest point.
        rng
            Seed or generator.

        Returns
        -------
        first, second : Locations
            Each in the order of the table.
        """
        if isinstance(fraction, bool) or not isinstance(fraction, NUMBER) or not 0 < fraction < 1:
            raise InputError(f"`fraction` must be a number between 0 and 1, got {fraction!r}.")
        size = round(fraction * len(self))
        if not 0 < size < len(self):
            raise InputError(f"`fraction`: {fraction:g} of {len(self)} points leaves one part empty.")
        order = as_generator(rng).permutation(len(self))
        parts = (np.sort(order[:size]), np.sort(order[size:]))
        first, second = (self._taken(part, f"{len(part)} of {len(self)} taken at random") for part in parts)
        return first, second

    def _taken(self, index: npt.NDArray[np.intp], note: str) -> Locations:
        return replace(self, points=self.points[index], rows=self.rows[index], notes=(*self.notes, note))


def crime_locations(
    table: Any,
    boundary: str | PathLike[str] | Mapping[str, Any],
    *,
    primary_type: str | None = "ROBBERY",
    year: int | None = None,
) -> Locations:
    """Read where crimes happened from the City of Chicago's table, and put them on a plane.

    The table is the CSV export of "Crimes - 2001 to Present" as it comes from data.cityofchicago.org, or
    any other with a latitude and a longitude in each row. Rows that cannot be used are left out, and the
    result says how many and why; a value that cannot be read at all is an error.

    Parameters
    ----------
    table
        Path of a CSV file, which may be large: it is read row by row; or a data frame of pandas, polars or
        Arrow. Columns go by their names, in whatever case and with spaces, underscores or neither:
        "Latitude" and "Longitude", in degrees (WGS 84), and "Primary Type", "Year" and "Date" where
        there are such.
    boundary
        Path of a GeoJSON file, or its content, in longitudes and latitudes. Several polygons are united.
        Stein's method needs a connected region, so of several parts the largest is the domain, and points
        in the others are counted and left out.
    primary_type
        Type of crime, in whatever case; None takes all. A table without that column is taken as a whole,
        and the result says so.
    year
        Year of the crime, from the column "Year" or else "Date" ("07/04/2020 11:30:00 PM" or ISO 8601);
        None takes all.

    Returns
    -------
    Locations
        Points and domain in kilometres; print it to read what became of the rows.

    Notes
    -----
    The plane is the zone of the Universal Transverse Mercator system in which the middle of the boundary
    lies, so it depends on the boundary only. Within a zone lengths are true to 0.1 %; in Chicago they are
    0.04 % too short everywhere, which no test notices. Needs pyproj and shapely:
    ``pip install "goodstein[spatial]"``.

    The city publishes the block, not the address, so many rows share their location: see
    :meth:`Locations.distinct` and :meth:`Locations.jittered`.

    Examples
    --------
    >>> import pandas as pd
    >>> from goodstein.datasets import crime_locations
    >>> table = pd.DataFrame(
    ...     {
    ...         "Primary Type": ["ROBBERY", "ROBBERY", "THEFT", "ROBBERY", "ROBBERY"],
    ...         "Latitude": [41.85, 41.85, 41.86, None, 40.0],
    ...         "Longitude": [-87.65, -87.65, -87.66, None, -87.65],
    ...     }
    ... )
    >>> corners = [[-87.7, 41.8], [-87.605, 41.8], [-87.605, 41.895], [-87.7, 41.895], [-87.7, 41.8]]
    >>> places = crime_locations(table, {"type": "Polygon", "coordinates": [corners]})
    >>> print(places)
    2 locations in Polygon(40 vertices), 83.19 km²
      5 rows read, of which
      1 of another type of crime
      0 of another year
      1 without a location
      1 outside the boundary
      0 in smaller parts of the boundary, not connected with the largest
      2 kept
      type of crime: ROBBERY
      those outside are 200 km from the boundary
      1 different locations; 2 points share theirs with another, at most 2 at one
      kilometres east and north of (441, 4627) km in EPSG:32616
    >>> places.rows
    array([0, 1])
    """
    if primary_type is not None and not isinstance(primary_type, str):
        raise InputError(f"`primary_type` must be a name such as 'ROBBERY', or None, got {primary_type!r}.")
    if year is not None and (isinstance(year, bool) or not isinstance(year, (int, np.integer))):
        raise InputError(f"`year` must be a whole number or None, got {year!r}.")
    pyproj = import_pyproj()
    region = read_region(boundary)
    crs, project = choose_plane(pyproj, region)
    domain, others, origin = largest_part(region, project)
    read = read_rows(table, primary_type, None if year is None else int(year))
    points = project(read.lonlat) - np.array(origin)
    inside = domain.contains(points)
    elsewhere = np.zeros(len(points), bool)
    for part in others:
        elsewhere |= ~inside & part.contains(points)
    if not inside.any():
        lon, lat = read.lonlat[0]
        raise InputError(
            f"`table`: none of the {len(points)} locations lies inside the boundary; the first is latitude "
            f"{lat:g}, longitude {lon:g} (row {read.rows[0]}). Check that the boundary is that of this city, "
            "and that latitude and longitude are not exchanged."
        )
    notes = read.notes
    lost = ~inside & ~elsewhere
    if lost.any():
        # Borders run along streets: it matters whether rows miss the city by a hand or by a county.
        distances = np.min([part.boundary_distance(points[lost]) for part in (domain, *others)], axis=0)
        notes = (*notes, f"those outside are {_length(distances.min(), distances.max())} from the boundary")
    if others:
        area = sum(part.geometry.area for part in others)
        notes = (*notes, f"the boundary has {len(others) + 1} parts; the smaller ones have {area:.2f} km²")
    return Locations(
        points=points[inside],
        domain=domain,
        rows=read.rows[inside],
        crs=crs,
        origin=origin,
        rows_read=read.rows_read,
        other_types=read.other_types,
        other_years=read.other_years,
        unlocated=read.unlocated,
        outside=int(lost.sum()),
        other_parts=int(elsewhere.sum()),
        notes=notes,
    )


def _length(least: float, most: float) -> str:
    """A range of kilometres, in a unit that suits it."""
    unit, scale = ("km", 1.0) if most >= 1.0 else ("m", 1000.0)
    low, high = f"{scale * least:.2g}", f"{scale * most:.2g}"
    if low == high:
        return f"{float(low):g} {unit}"
    return f"{float(low):g} to {float(high):g} {unit}"
