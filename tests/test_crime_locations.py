"""The table of crimes as its portal exports it, projected: distances, areas, counts, and every refusal."""

import builtins
import csv
import io
import json
import math
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import goodstein as gs
from goodstein.datasets import Locations, crime_locations
from goodstein.errors import DomainError, InputError, SamplingError

CHICAGO = Path(__file__).resolve().parents[2] / "shared" / "data" / "chicago"
present = pytest.mark.skipif(not CHICAGO.exists(), reason="the data are not beside this repository")

HEADER = (
    "ID,Case Number,Date,Block,IUCR,Primary Type,Description,Location Description,Arrest,Domestic,Beat,"
    "District,Ward,Community Area,FBI Code,X Coordinate,Y Coordinate,Year,Updated On,Latitude,Longitude,"
    "Location"
)


def ring(west, south, east, north):
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


SQUARE = {"type": "Polygon", "coordinates": [ring(-87.7, 41.8, -87.6, 41.9)]}


def line(kind, date, lat, lon, *, year=None, block="001XX N STATE ST"):
    """One line of an export, made by hand: fields with commas are in quotes."""
    where = f'"({lat}, {lon})"' if lat else ""
    place = '"SCHOOL, PUBLIC, BUILDING"'
    year = date[6:10] if year is None else year
    return (
        f'11111,JC111111,{date},"{block}",031A,{kind},ARMED: HANDGUN,{place},false,false,0111,001,42,32,03,'
        f"1176352,1900927,{year},02/10/2020 03:50:01 PM,{lat},{lon},{where}"
    )


ROWS = [
    line("ROBBERY", "01/01/2020 12:30:00 AM", "41.850000000", "-87.650000000"),  # 0: kept
    line("THEFT", "01/01/2020 12:30:00 AM", "41.850000000", "-87.650000000"),  # 1: another type
    line("ROBBERY", "12/31/2019 11:59:00 PM", "41.860000000", "-87.650000000"),  # 2: another year
    line("ROBBERY", "07/04/2020 11:30:00 PM", "", ""),  # 3: no location
    line("ROBBERY", "07/04/2020 11:30:00 PM", "36.619446395", "-91.686565684"),  # 4: the grid's (0, 0)
    line("ROBBERY", "07/04/2020 11:30:00 PM", "41.950000000", "-87.650000000"),  # 5: outside
    line("robbery ", "12/31/2020 11:59:00 PM", "41.850000000", "-87.650000000"),  # 6: kept, tied with 0
    line(
        "ROBBERY", "02/29/2020 01:00:00 PM", "41.810000000", "-87.690000000", block='0000X E ""X"", LOOP'
    ),  # 7
    line("HOMICIDE", "02/29/2018 01:00:00 PM", "", "", year="2018"),  # 8: another type; its date is not read
    line("ROBBERY", "07/04/2020 11:30:00 PM", "0", "0"),  # 9: latitude 0, longitude 0
]


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "Crimes_-_2001_to_Present.csv"
    path.write_text("\ufeff" + "\r\n".join([HEADER, *ROWS, "", ""]), encoding="utf-8", newline="")
    return path


def frame(**columns):
    return pd.DataFrame({"Latitude": [41.85, 41.86], "Longitude": [-87.65, -87.66], **columns})


def haversine(a, b):
    """Kilometres along a great circle between (lon, lat) in degrees, on a sphere of the mean radius."""
    (lon1, lat1), (lon2, lat2) = np.radians(a), np.radians(b)
    h = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.sqrt(h))


def ellipsoid_distance(a, b):
    """Kilometres between near points on WGS 84: the arcs of the meridian and of the parallel between them."""
    (lon1, lat1), (lon2, lat2) = np.radians(a), np.radians(b)
    radius, e2 = 6378.137, 0.00669437999014
    w = 1 - e2 * np.sin((lat1 + lat2) / 2) ** 2
    north = radius * (1 - e2) / w**1.5 * (lat2 - lat1)
    east = radius / np.sqrt(w) * np.cos((lat1 + lat2) / 2) * (lon2 - lon1)
    return np.hypot(north, east)


def ellipsoid_area(vertices):
    """Square kilometres inside a ring on WGS 84: by Green's theorem, from the area south of each edge.

    The area between the equator and latitude φ, per radian of longitude, is b²/2 · [sin φ/(1−e²sin²φ) +
    artanh(e sin φ)/e]; between the ends of an edge, which are close, it is averaged.
    """
    lon, lat = np.radians(np.array(vertices)).T
    b, e = 6356.752314245, math.sqrt(0.00669437999014)
    s = np.sin(lat)
    south = b**2 / 2 * (s / (1 - (e * s) ** 2) + np.arctanh(e * s) / e)
    return abs(float(np.sum(np.diff(lon) * (south[1:] + south[:-1]) / 2)))


# What is kept


def test_an_export_as_it_comes(export):
    places = crime_locations(export, SQUARE, year=2020)
    assert isinstance(places, Locations)
    assert places.rows.tolist() == [0, 6, 7]
    counts = ("rows_read", "other_types", "other_years", "unlocated", "outside", "other_parts")
    assert {name: getattr(places, name) for name in counts} == {
        "rows_read": 10,
        "other_types": 2,
        "other_years": 1,
        "unlocated": 3,
        "outside": 1,
        "other_parts": 0,
    }
    assert (len(places), places.n_distinct, places.n_tied) == (3, 2, 2)
    assert places.domain.contains(places.points).all()
    assert repr(places) == f"Locations(3 points in {places.domain!r})"


def test_what_became_of_the_rows_in_words(export):
    places = crime_locations(str(export), SQUARE, year=2020)
    said = str(places).splitlines()
    assert str(places) == places.describe()
    assert said[0] == f"3 locations in {places.domain!r}, {places.domain.geometry.area:.2f} km²"
    assert said[1:8] == [
        "  10 rows read, of which",
        "   2 of another type of crime",
        "   1 of another year",
        "   3 without a location",
        "   1 outside the boundary",
        "   0 in smaller parts of the boundary, not connected with the largest",
        "   3 kept",
    ]
    assert said[8:] == [
        "  type of crime: ROBBERY",
        "  year: 2020",
        "  those outside are 5.6 km from the boundary",
        "  2 different locations; 2 points share theirs with another, at most 2 at one",
        f"  kilometres east and north of ({places.origin[0]:g}, {places.origin[1]:g}) km in EPSG:32616",
    ]


def test_every_row_is_counted_once(export):
    for options in ({}, {"year": 2019}, {"primary_type": None}, {"primary_type": "theft"}):
        places = crime_locations(export, SQUARE, **options)
        left_out = places.other_types + places.other_years + places.unlocated + places.outside
        assert left_out + len(places) == places.rows_read == 10


def test_all_types(export):
    places = crime_locations(export, SQUARE, primary_type=None)
    assert places.rows.tolist() == [0, 1, 2, 6, 7]
    assert "  all types of crime" in str(places).splitlines()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_the_file_gives(export, make):
    expected = crime_locations(export, SQUARE, year=2020)
    rows = list(csv.DictReader(io.StringIO("\n".join([HEADER, *ROWS]))))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name in ("Latitude", "Longitude"):
        columns[name] = [float(value) if value else None for value in columns[name]]
    columns["Year"] = [int(value) for value in columns["Year"]]
    places = crime_locations(make(columns), SQUARE, year=2020)
    np.testing.assert_array_equal(places.points, expected.points)
    assert str(places) == str(expected)


def test_a_frame_that_pandas_read_from_the_file(export):
    read = pd.read_csv(export, parse_dates=["Date"], date_format="%m/%d/%Y %I:%M:%S %p")
    for table in (read, read.drop(columns="Year").iloc[:8]):
        assert crime_locations(table, SQUARE, year=2020).rows.tolist() == [0, 6, 7]


def test_any_spelling_of_the_columns(tmp_path):
    path = tmp_path / "trimmed.csv"
    path.write_text("date,LAT,lng,primary_type\n2020-07-04T23:30:00.000,41.85,-87.65,Robbery\n")
    places = crime_locations(path, SQUARE, year=2020)
    assert (len(places), places.unlocated) == (1, 0)
    # "latitude" comes before "lat" where both are there.
    both = frame(lat=[0.0, 0.0])
    assert len(crime_locations(both, SQUARE)) == 2


def test_a_table_without_types_is_taken_whole_and_says_so():
    places = crime_locations(frame(), SQUARE)
    assert len(places) == 2
    assert "  no column 'Primary Type': all rows taken, whether ROBBERY or not" in str(places).splitlines()


@pytest.mark.parametrize(
    "date",
    [
        "12/31/2020 11:59:00 PM",
        "01/01/2020 12:00:00 AM",
        "12/31/2020 23:59:59",
        "12/31/2020 23:59",
        "12/31/2020",
        "2020-12-31 23:59",
        "2020-01-01T00:00:00.000",
        "2020-12-31",
        pd.Timestamp("2020-06-01"),
    ],
    ids=str,
)
def test_dates(date):
    table = frame(
        Date=[date, "12/31/2019 11:59:00 PM" if isinstance(date, str) else pd.Timestamp("2019-12-31")]
    )
    places = crime_locations(table, SQUARE, year=2020)
    assert (places.rows.tolist(), places.other_years) == ([0], 1)


def test_the_placeholder_is_the_origin_of_the_citys_grid():
    # Illinois East, in US survey feet, is the portal's "X Coordinate" and "Y Coordinate".
    from pyproj import Transformer

    lon, lat = Transformer.from_crs("EPSG:3435", "EPSG:4326", always_xy=True).transform(0.0, 0.0)
    table = pd.DataFrame({"Latitude": [lat, 41.85], "Longitude": [lon, -87.65]})
    assert crime_locations(table, SQUARE).unlocated == 1


# The plane


def test_distances_are_those_on_the_earth():
    rng = np.random.default_rng(1)
    lonlat = np.column_stack([rng.uniform(-87.7, -87.6, 200), rng.uniform(41.8, 41.9, 200)])
    places = crime_locations(pd.DataFrame(lonlat, columns=["longitude", "latitude"]), SQUARE)
    assert len(places) == 200
    found = np.linalg.norm(np.diff(places.points, axis=0), axis=1)
    pairs = list(pairwise(lonlat))
    on_sphere = np.array([haversine(a, b) for a, b in pairs])
    on_ellipsoid = np.array([ellipsoid_distance(a, b) for a, b in pairs])
    np.testing.assert_allclose(found, on_sphere, rtol=4e-3)  # a sphere is not the Earth
    # The scale on the central meridian of a zone is 0.9996, and 1 + x²/2R² of that beside it.
    np.testing.assert_allclose(found, 0.9996 * on_ellipsoid, rtol=5e-5)


def test_east_and_north():
    table = pd.DataFrame({"lon": [-87.69, -87.61, -87.69], "lat": [41.81, 41.81, 41.89]})
    west, east, north = crime_locations(table, SQUARE).points
    # North of the grid and north of the Earth differ by (87.65° − 87°) sin 41.85° = 0.43°.
    turn = math.radians(0.65) * math.sin(math.radians(41.85))
    np.testing.assert_allclose(east - west, [6.645, -6.645 * turn], atol=0.01)
    np.testing.assert_allclose(north - west, [8.88 * turn, 8.88], atol=0.01)


def test_the_origin_is_that_of_the_boundary_alone():
    first, second = (crime_locations(frame().iloc[[i]], SQUARE) for i in (0, 1))
    assert first.origin == second.origin
    assert first.domain == second.domain
    assert all(value == math.floor(value) for value in first.origin)
    low = np.array(first.domain.geometry.bounds[:2])
    assert ((low >= 0) & (low < 1)).all()
    # Added to the origin, the points are where an independent call of the projection puts them.
    from pyproj import Transformer

    x, y = Transformer.from_crs("EPSG:4326", first.crs, always_xy=True).transform(-87.65, 41.85)
    np.testing.assert_allclose(first.points[0] + first.origin, [x / 1000, y / 1000], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("lon", "lat", "crs"),
    [(-87.65, 41.85, "EPSG:32616"), (151.2, -33.9, "EPSG:32756"), (0.1, 51.5, "EPSG:32631")],
)
def test_the_zone_is_found(lon, lat, crs):
    square = {"type": "Polygon", "coordinates": [ring(lon - 0.05, lat - 0.05, lon + 0.05, lat + 0.05)]}
    places = crime_locations(pd.DataFrame({"lat": [lat], "lon": [lon]}), square)
    assert places.crs == crs
    expected = ellipsoid_area(square["coordinates"][0])
    assert places.domain.geometry.area == pytest.approx(expected, rel=1.5e-3)


def test_edges_are_straight_in_degrees():
    # The middle of an edge of two degrees along a parallel lies 0.48 km from the chord on the plane.
    wide = {"type": "Polygon", "coordinates": [ring(-88.0, 41.0, -86.0, 42.0)]}
    table = pd.DataFrame({"lat": [41.9999, 42.0001, 41.0001, 40.9999], "lon": [-87.0] * 4})
    assert crime_locations(table, wide).rows.tolist() == [0, 2]


def test_holes_stay_holes():
    holed = {"type": "Polygon", "coordinates": [*SQUARE["coordinates"], ring(-87.66, 41.84, -87.64, 41.855)]}
    places = crime_locations(frame(), holed)
    assert (places.rows.tolist(), places.outside) == ([1], 1)


def test_the_largest_part_is_the_domain_and_the_others_are_counted():
    parts = [[ring(-87.5, 41.8, -87.49, 41.81)], SQUARE["coordinates"], [ring(-87.4, 41.8, -87.39, 41.82)]]
    table = pd.DataFrame({"lat": [41.85, 41.805, 41.815, 41.815], "lon": [-87.65, -87.495, -87.395, -87.495]})
    document = {
        "type": "FeatureCollection",
        "features": [{"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": parts}}],
    }
    places = crime_locations(table, document)
    assert (places.rows.tolist(), places.other_parts, places.outside) == ([0], 2, 1)
    area = sum(ellipsoid_area(part[0]) for part in (parts[0], parts[2])) * 0.9996**2
    assert f"  the boundary has 3 parts; the smaller ones have {area:.2f} km²" in str(places).splitlines()
    assert "  those outside are 560 m from the boundary" in str(places).splitlines()


def test_neighbours_are_united(tmp_path):
    # Two community areas with a common border, in a file.
    halves = [ring(-87.7, 41.8, -87.65, 41.9), ring(-87.65, 41.8, -87.6, 41.9)]
    document = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [half]}}
            for half in halves
        ],
    }
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps(document))
    places = crime_locations(frame(), path)
    assert (len(places), places.other_parts) == (2, 0)
    assert places.domain.geometry.area == pytest.approx(crime_locations(frame(), SQUARE).domain.geometry.area)


# Ties and halves


@pytest.fixture
def tied():
    rng = np.random.default_rng(2)
    sites = np.column_stack([rng.uniform(-87.7, -87.6, 40), rng.uniform(41.8, 41.9, 40)])
    lonlat = sites[rng.integers(40, size=200)]
    lonlat[:5] = [-87.699999, 41.85]  # eight centimetres from the boundary
    return crime_locations(pd.DataFrame(lonlat, columns=["lon", "lat"]), SQUARE)


def test_one_point_for_each_location(tied):
    places = tied.distinct()
    assert len(places) == tied.n_distinct == places.n_distinct
    assert places.n_tied == 0
    assert (np.diff(places.rows) > 0).all()
    # The first of each: no earlier row has the same location.
    for point, row in zip(places.points, places.rows, strict=True):
        same = (tied.points == point).all(axis=1)
        assert tied.rows[same].min() == row
    assert f"one point for each location: {len(tied) - len(places)} repetitions left out" in str(places)
    assert places.rows_read == tied.rows_read
    assert f"  {len(tied)} kept" in str(places).splitlines()


def test_jittered_points_are_uniform_on_discs(tied):
    places = tied.jittered(0.1, rng=1)
    distance = np.linalg.norm(places.points - tied.points, axis=1)
    assert distance.max() <= 0.1
    assert places.n_tied == 0
    np.testing.assert_array_equal(places.rows, tied.rows)
    assert places.domain.contains(places.points).all()
    assert "every point moved at random within 0.1 km of its location" in str(places)
    # Where the disc lies inside, the squared distance is uniform on (0, r²) and the angle on the circle.
    from scipy.stats import kstest

    far = tied.domain.boundary_distance(tied.points) > 0.1
    step = (places.points - tied.points)[far]
    assert far.sum() > 100
    assert kstest(distance[far] ** 2 / 0.01, "uniform").pvalue > 0.01
    assert kstest(np.arctan2(step[:, 1], step[:, 0]) / (2 * np.pi) + 0.5, "uniform").pvalue > 0.01


def test_jitter_is_repeatable_and_leaves_the_points_alone(tied):
    before = tied.points.copy()
    np.testing.assert_array_equal(tied.jittered(0.1, rng=3).points, tied.jittered(0.1, rng=3).points)
    assert (tied.jittered(0.1, rng=3).points != tied.jittered(0.1, rng=4).points).any()
    np.testing.assert_array_equal(tied.points, before)


def test_halves(tied):
    first, second = tied.split(rng=1)
    assert (len(first), len(second)) == (100, 100)
    assert sorted([*first.rows, *second.rows]) == tied.rows.tolist()
    for part in (first, second):
        assert (np.diff(part.rows) > 0).all()
        index = np.searchsorted(tied.rows, part.rows)
        np.testing.assert_array_equal(part.points, tied.points[index])
        assert part.domain is tied.domain
    assert "100 of 200 taken at random" in str(second)
    again, _ = tied.split(rng=1)
    np.testing.assert_array_equal(again.rows, first.rows)
    small, rest = tied.split(0.3, rng=2)
    assert (len(small), len(rest)) == (60, 140)


def test_the_result_cannot_be_changed(tied):
    with pytest.raises(AttributeError):
        tied.points = np.zeros((1, 2))
    with pytest.raises(ValueError, match="read-only"):
        tied.points[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        tied.rows[0] = 0


def test_pickled(tied):
    copy = pickle.loads(pickle.dumps(tied))
    np.testing.assert_array_equal(copy.points, tied.points)
    assert copy.domain == tied.domain
    assert str(copy) == str(tied)


def test_points_and_domain_go_into_a_test(tied):
    result = gs.ksd_test(tied.jittered(0.1, rng=1).points, gs.families.Uniform(tied.domain), rng=1)
    assert 0 < result.pvalue <= 1


# What is refused


def message(match, table, boundary=SQUARE, error=InputError, **options):
    with pytest.raises(error, match=match):
        crime_locations(table, boundary, **options)


def test_bad_arguments():
    message(r"`primary_type` must be a name such as 'ROBBERY', or None, got 3", frame(), primary_type=3)
    message(r"`year` must be a whole number or None, got '2020'", frame(), year="2020")
    message(r"`year` must be a whole number or None, got True", frame(), year=True)
    message(r"`table` must be the path of a CSV file or a data frame, got list. Pass one", [[41.8, -87.6]])
    message(r"got LazyFrame. Call .collect\(\) on it first", pl.LazyFrame({"lat": [41.85], "lon": [-87.65]}))


def test_bad_columns():
    message(r"`table` has no column 'Latitude'. It has 'x', 'y'\.", pd.DataFrame({"x": [1.0], "y": [2.0]}))
    message(r"`table` has no column 'Longitude'. It has 'lat'\.", pd.DataFrame({"lat": [41.85]}))
    many = pd.DataFrame({f"c{i}": [0.0] for i in range(12)})
    message(r"'c9' and 2 more", many)
    message(
        r"`table` has two columns for the latitude, 'Latitude' and 'LATITUDE'. Drop or rename one",
        frame(LATITUDE=[0.0, 0.0]),
    )
    message(
        r"`year`: the table has neither a column 'Year' nor 'Date' to find 2020 in. It has 'Latitude', "
        r"'Longitude'. Pass year=None",
        frame(),
        year=2020,
    )


def test_bad_values():
    message(r"`table`: the latitude of row 1 is 'north', not a number", frame(Latitude=["41.85", "north"]))
    message(
        r"`table`: the latitude of row 0 is -187.65, not between -90 and 90 degrees. Are the columns",
        frame(Latitude=[-187.65, 41.8]),
    )
    message(
        r"the longitude of row 1 is 1.17635e\+06, not between -180 and 180",
        frame(Longitude=[-87.65, 1176352]),
    )
    message(r"the longitude of row 0 is inf, not between", frame(Longitude=[math.inf, -87.65]))
    for bad in ("13/45/2020 01:00:00 PM", "", "soon", "2020.5"):
        message(
            r"`table`: row 1 has no date that can be read, but .*Correct it, or pass year=None",
            frame(Date=["01/01/2020 01:00:00 AM", bad]),
            year=2020,
        )
    message(r"row 1 has no date that can be read", frame(Year=[2020, math.nan]), year=2020)


def test_nothing_left():
    kinds = ["THEFT", "THEFT"]
    message(
        r"`primary_type`: none of the 2 rows is 'ROBERY'. The most frequent: THEFT \(2\)",
        frame(**{"Primary Type": kinds}),
        primary_type="ROBERY",
    )
    message(r"The most frequent: \(empty\) \(2\)", frame(**{"Primary Type": [None, ""]}))
    message(
        r"`year`: none of the 2 rows is of 2021. The most frequent: 2020 \(2\)",
        frame(Year=[2020, 2020]),
        year=2021,
    )
    message(
        r"`table`: none of the 2 rows has a location", frame(Latitude=[None, 41.85], Longitude=[-87.65, None])
    )
    message(r"`table` has no rows", frame().iloc[:0])
    swapped = pd.DataFrame({"Latitude": [-87.65], "Longitude": [41.85]})
    message(
        r"`table`: none of the 1 locations lies inside the boundary; the first is latitude -87.65, longitude "
        r"41.85 \(row 0\). Check that the boundary is that of this city, and that latitude and",
        swapped,
    )


def test_bad_files(tmp_path, export):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    message(r"`table`: empty.csv is empty; expected a line with the names of the columns", empty)
    short = tmp_path / "short.csv"
    short.write_text("lat,lon\n41.85,-87.65\n41.8\n")
    message(r"`table`: row 1 has 1 fields, but there are 2 columns. Is the download complete", short)
    latin = tmp_path / "latin.csv"
    latin.write_bytes("lat,lon,block\n41.85,-87.65,Café\n".encode("latin-1"))
    message(
        r"`table`: latin.csv cannot be read as CSV after line \d: .*Save it as comma-separated values", latin
    )
    with pytest.raises(FileNotFoundError):
        crime_locations(tmp_path / "absent.csv", SQUARE)
    with pytest.raises(FileNotFoundError):
        crime_locations(export, tmp_path / "absent.geojson")


def test_bad_boundaries(tmp_path):
    text = tmp_path / "city.geojson"
    text.write_text("not json")
    refused = [
        (text, r"`boundary`: city.geojson is not JSON: Expecting value"),
        (3, r"`boundary` must be the path of a GeoJSON file or a GeoJSON mapping, got int"),
        ({"type": "Nothing"}, r"`boundary` cannot be read as GeoJSON"),
        ({"coordinates": []}, r"`boundary` cannot be read as GeoJSON"),
        (
            {"type": "Point", "coordinates": [0, 0]},
            r"expected a Polygon or MultiPolygon, but the GeoJSON holds Point",
        ),
        ({"type": "FeatureCollection", "features": []}, r"expected a Polygon .* but the GeoJSON is empty"),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]},
            r"`boundary` is not valid: Self-intersection.*shapely.make_valid",
        ),
        (
            {"type": "Polygon", "coordinates": [ring(4e5, 4e6, 5e5, 5e6)]},
            r"must be in longitudes and latitudes.* run from \(400000, 4e\+06\) to \(500000, 5e\+06\)\.",
        ),
        (
            SQUARE | {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3435"}}},
            r"must be in longitudes and latitudes.* in urn:ogc:def:crs:EPSG::3435",
        ),
        (
            {"type": "Polygon", "coordinates": [ring(0, 86, 1, 87)]},
            r"`boundary`: no zone of the Universal Transverse Mercator system reaches latitude 86.5",
        ),
    ]
    for boundary, match in refused:
        message(match, frame(), boundary, error=DomainError)
    named = SQUARE | {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}}
    assert len(crime_locations(frame(), named)) == 2


def test_bad_radius_and_fraction(tied):
    for radius in (0, -1.0, math.inf, math.nan, "0.1", True):
        with pytest.raises(InputError, match="`radius` must be a positive number of kilometres, got"):
            tied.jittered(radius)
    for fraction in (0, 1, -0.5, math.nan, "0.5", True):
        with pytest.raises(InputError, match="`fraction` must be a number between 0 and 1, got"):
            tied.split(fraction)
    with pytest.raises(InputError, match=r"`fraction`: 0.001 of 200 points leaves one part empty"):
        tied.split(0.001)
    with pytest.raises(InputError, match="`rng` must be None"):
        tied.split(rng="seed")


def test_a_disc_that_hardly_meets_the_domain(monkeypatch, tied):
    monkeypatch.setattr("goodstein.datasets.crime.MOST_REDRAWS", 3)
    with pytest.raises(
        SamplingError, match=r"`radius`: 3 draws within 1e\+06 km of row 0 of the table all fell"
    ):
        tied.jittered(1e6, rng=1)


def test_without_pyproj(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "pyproj":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(
        ImportError, match=r'crime_locations needs pyproj: pip install "goodstein\[spatial\]"'
    ):
        crime_locations(frame(), SQUARE)


def test_importing_the_datasets_is_light():
    heavy = ("shapely", "pyproj", "pandas", "polars", "narwhals", "csv", "scipy.stats")
    code = (
        "import sys, goodstein.datasets as d; d.skye_lavas(); "
        f"print([m for m in {heavy} if m in sys.modules], d.crime_locations.__name__, "
        f"[m for m in ('shapely', 'pyproj', 'pandas', 'scipy.stats') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[] crime_locations []"


def test_no_other_names():
    with pytest.raises(AttributeError, match=r"module 'goodstein.datasets' has no attribute 'crimes'"):
        _ = gs.datasets.crimes


# The city's own data


@present
def test_the_area_of_chicago():
    document = json.loads((CHICAGO / "chicago_boundary.geojson").read_text())
    places = crime_locations(CHICAGO / "chicago_robbery_2020_part.csv", document)
    (feature,) = document["features"]
    rings = [[ellipsoid_area(ring) for ring in part] for part in feature["geometry"]["coordinates"]]
    areas = [outer - sum(holes) for outer, *holes in rings]
    # 598.14 km² by the portal's own attribute, in which the scale of its grid is close to one.
    assert sum(areas) == pytest.approx(598.14, abs=0.1)
    assert places.domain.geometry.area == pytest.approx(max(areas) * 0.9996**2, rel=1e-4)
    (note,) = [note for note in places.notes if "3 parts" in note]
    small = float(note.rsplit("have ", 1)[1].removesuffix(" km²"))
    assert places.domain.geometry.area + small == pytest.approx(597.70, abs=0.01)
    assert len(places.domain.geometry.interiors) == 3
    assert places.crs == "EPSG:32616"


@present
@pytest.mark.parametrize(
    ("name", "rows", "inside", "inside_simplified"),
    [
        ("robbery_2016", 11953, 11926, 11900),
        ("robbery_2017", 11870, 11824, 11820),
        ("robbery_2019_sample", 1534, 1524, 1529),
        ("robbery_2020_part", 663, 662, 662),
        ("carjacking_2020", 1412, 1409, 1408),
        ("homicide_2008", 513, 513, 513),
    ],
)
def test_counts_of_the_citys_files(name, rows, inside, inside_simplified):
    # The counts were made independently, in degrees and before the points were rounded to a centimetre. The
    # border runs along streets where points lie: two more or fewer within centimetres of it are rounding.
    for boundary, expected in (("boundary", inside), ("boundary_simplified", inside_simplified)):
        places = crime_locations(
            CHICAGO / f"chicago_{name}.csv", CHICAGO / f"chicago_{boundary}.geojson", primary_type="ROBBERY"
        )
        assert places.rows_read == rows
        assert places.outside + places.other_parts + len(places) == rows
        assert places.unlocated == places.other_types == places.other_years == 0
        assert abs(len(places) + places.other_parts - expected) <= 1


@present
@pytest.mark.parametrize(
    ("name", "distinct"), [("robbery_2016", 10428), ("robbery_2017", 10408), ("robbery_2020_part", 647)]
)
def test_ties_of_the_citys_files(name, distinct):
    # The number of different locations was counted over all rows, so take a boundary around all of them.
    around = {"type": "Polygon", "coordinates": [ring(-88.0, 41.6, -87.5, 42.1)]}
    places = crime_locations(CHICAGO / f"chicago_{name}.csv", around)
    assert places.outside == 0
    assert places.n_distinct == distinct


@present
def test_a_year_of_the_citys_file():
    boundary = CHICAGO / "chicago_boundary_simplified.geojson"
    places = crime_locations(CHICAGO / "chicago_robbery_2016.csv", boundary, year=2016)
    assert places.other_years == 0
    with pytest.raises(InputError, match=r"`year`: none of the 11953 rows is of 2017. .* 2016 \(11953\)"):
        crime_locations(CHICAGO / "chicago_robbery_2016.csv", boundary, year=2017)
