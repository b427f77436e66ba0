"""The table of crimes that paper/ reads: distances, areas, counts, and every refusal."""

import importlib
import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

ROOT = Path(__file__).resolve().parents[1]
CHICAGO = ROOT.parent / "shared" / "data" / "chicago"
present = pytest.mark.skipif(not CHICAGO.exists(), reason="the data are not beside this repository")
pytestmark = pytest.mark.skipif(
    not (ROOT / "paper").exists(), reason="the reproduction of the paper is not part of this copy"
)
Transformer = pytest.importorskip("pyproj").Transformer

HEADER = (
    "ID,Case Number,Date,Block,IUCR,Primary Type,Description,Location Description,Arrest,Domestic,Beat,"
    "District,Ward,Community Area,FBI Code,X Coordinate,Y Coordinate,Year,Updated On,Latitude,Longitude,"
    "Location"
)
PLACE = "41.850000000", "-87.650000000"


@pytest.fixture
def crime(monkeypatch):
    """The modules of paper/ import each other by name: it is no package."""
    monkeypatch.syspath_prepend(str(ROOT / "paper"))
    return importlib.import_module("crime_locations")


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
    line("ROBBERY", "01/01/2020 12:30:00 AM", *PLACE),  # 0: kept
    line("THEFT", "01/01/2020 12:30:00 AM", *PLACE),  # 1: another type
    line("ROBBERY", "12/31/2019 11:59:00 PM", *PLACE),  # 2: another year
    line("ROBBERY", "07/04/2020 11:30:00 PM", "", ""),  # 3: no location
    line("ROBBERY", "07/04/2020 11:30:00 PM", "36.619446395", "-91.686565684"),  # 4: the grid's (0, 0)
    line("ROBBERY", "07/04/2020 11:30:00 PM", "41.950000000", "-87.650000000"),  # 5: outside
    line("robbery ", "12/31/2020 11:59:00 PM", *PLACE),  # 6: kept, tied with 0
    line("ROBBERY", "02/29/2020 01:00:00 PM", "41.81", "-87.69", block='0000X E ""X"", LOOP'),  # 7: kept
    line("HOMICIDE", "02/29/2018 01:00:00 PM", "", "", year="2018"),  # 8: another type
    line("ROBBERY", "07/04/2020 11:30:00 PM", "0", "0"),  # 9: latitude 0, longitude 0
]


@pytest.fixture
def load(crime, tmp_path):
    """Locations from columns or the text of a table, and a boundary as GeoJSON."""

    def loaded(table, boundary=SQUARE, year=2020):
        if isinstance(table, dict):
            lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
            table = "\n".join([",".join(table), *lines])
        city, rows = tmp_path / "city.geojson", tmp_path / "table.csv"
        city.write_text(boundary if isinstance(boundary, str) else json.dumps(boundary))
        rows.write_bytes(table if isinstance(table, bytes) else table.encode())
        return crime.crime_locations(rows, city, year)

    return loaded


def at(lonlat, **columns):
    lon, lat = zip(*lonlat, strict=True)
    return {"Latitude": lat, "Longitude": lon, "Year": [2020] * len(lon), **columns}


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


def test_an_export_as_it_comes(load):
    """With a mark in front, empty lines at the end, commas in quotes; and every row is counted once."""
    export = "\ufeff" + "\r\n".join([HEADER, *ROWS, "", ""])
    places = load(export)
    counts = {"other_types": 2, "other_years": 1, "unlocated": 3, "outside": 1, "other_parts": 0}
    assert {name: getattr(places, name) for name in counts} == counts
    assert (places.rows_read, len(places), places.n_distinct, places.n_tied) == (10, 3, 2, 2)
    assert places.domain.contains(places.points).all()
    assert (places.points[0] == places.points[1]).all()
    earlier = load(export, year=2019)
    assert (len(earlier), earlier.other_years, earlier.rows_read) == (1, 7, 10)


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
        "2020",
    ],
)
def test_dates(load, date):
    table = at([(-87.65, 41.85)] * 2, Year=[date, "12/31/2019 11:59:00 PM"])
    for name in ("Year", "DATE"):
        places = load({name if key == "Year" else key: value for key, value in table.items()})
        assert (len(places), places.other_years) == (1, 1)


def test_the_placeholder_is_the_origin_of_the_citys_grid(load):
    # Illinois East, in US survey feet, is the portal's "X Coordinate" and "Y Coordinate".
    nowhere = Transformer.from_crs("EPSG:3435", "EPSG:4326", always_xy=True).transform(0.0, 0.0)
    assert load(at([nowhere, (-87.65, 41.85)])).unlocated == 1


# The plane


def test_distances_are_those_on_the_earth(load):
    rng = np.random.default_rng(1)
    lonlat = np.column_stack([rng.uniform(-87.7, -87.6, 200), rng.uniform(41.8, 41.9, 200)])
    places = load(at(lonlat))
    assert len(places) == 200
    found = np.linalg.norm(np.diff(places.points, axis=0), axis=1)
    pairs = list(pairwise(lonlat))
    np.testing.assert_allclose(
        found, [haversine(a, b) for a, b in pairs], rtol=4e-3
    )  # the Earth is no sphere
    # The scale on the central meridian of a zone is 0.9996, and 1 + x²/2R² of that beside it.
    np.testing.assert_allclose(found, [0.9996 * ellipsoid_distance(a, b) for a, b in pairs], rtol=5e-5)
    # East and north: those of grid and Earth differ by (87.65° − 87°) sin 41.85° = 0.43°.
    west, east, north = load(at([(-87.69, 41.81), (-87.61, 41.81), (-87.69, 41.89)])).points
    turn = math.radians(0.65) * math.sin(math.radians(41.85))
    np.testing.assert_allclose(east - west, [6.645, -6.645 * turn], atol=0.01)
    np.testing.assert_allclose(north - west, [8.88 * turn, 8.88], atol=0.01)


def test_the_boundary_decides_the_coordinates(load):
    """So that tables read with one boundary share them; and its area is that on the Earth."""
    first, second = (load(at([place])) for place in ((-87.65, 41.85), (-87.66, 41.86)))
    assert first.domain == second.domain
    low = np.array(first.domain.geometry.bounds[:2])
    assert ((low >= 0) & (low < 1)).all()
    areas = first.domain.geometry.area, ellipsoid_area(SQUARE["coordinates"][0])
    assert areas[0] == pytest.approx(areas[1], rel=1.5e-3)


def test_edges_are_straight_in_degrees(load):
    # The middle of an edge of two degrees along a parallel lies 0.48 km from the chord on the plane.
    wide = {"type": "Polygon", "coordinates": [ring(-88.0, 41.0, -86.0, 42.0)]}
    places = load(at([(-87.0, lat) for lat in (41.9999, 42.0001, 41.0001, 40.9999)]), wide)
    assert (len(places), places.outside) == (2, 2)


def test_parts_and_holes_of_the_boundary(load):
    """Neighbours are united, holes stay holes, the largest part is the domain, the others are counted."""
    hole = ring(-87.66, 41.84, -87.64, 41.855)
    halves = [[ring(-87.7, 41.8, -87.65, 41.9)], [ring(-87.65, 41.8, -87.6, 41.9)]]
    small = [[ring(-87.5, 41.8, -87.49, 41.81)], [ring(-87.4, 41.8, -87.39, 41.82)]]
    table = at([(-87.65, 41.85), (-87.495, 41.805), (-87.395, 41.815), (-87.495, 41.815), (-87.62, 41.85)])
    document = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "MultiPolygon", "coordinates": some}}
            for some in (small, *([half] for half in halves))
        ],
    }
    places = load(table, document)
    assert (len(places), places.other_parts, places.outside) == (2, 2, 1)
    assert places.domain.geometry.area == pytest.approx(load(table).domain.geometry.area)
    holed = load(table, {"type": "Polygon", "coordinates": [*SQUARE["coordinates"], hole]})
    assert (len(holed), holed.outside) == (1, 4)


# Ties and halves


@pytest.fixture
def tied(load):
    rng = np.random.default_rng(2)
    sites = np.column_stack([rng.uniform(-87.7, -87.6, 40), rng.uniform(41.8, 41.9, 40)])
    lonlat = sites[rng.integers(40, size=200)]
    lonlat[:5] = [-87.699999, 41.85]  # eight centimetres from the boundary
    return load(at(lonlat))


def test_one_point_for_each_location(tied):
    places = tied.distinct()
    assert len(places) == tied.n_distinct == places.n_distinct
    assert places.n_tied == 0
    # In the order of the table, by the first of each.
    first = [(tied.points == point).all(axis=1).argmax() for point in places.points]
    assert (np.diff(first) > 0).all()


def test_jittered_points_are_uniform_on_discs(tied):
    before = tied.points.copy()
    places, again = (tied.jittered(0.1, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(places.points, again.points)
    np.testing.assert_array_equal(tied.points, before)
    step = places.points - tied.points
    distance = np.linalg.norm(step, axis=1)
    assert distance.max() <= 0.1
    assert places.n_tied == 0
    assert places.domain.contains(places.points).all()
    # Where the disc lies inside, the squared distance is uniform on (0, r²) and the angle on the circle.
    far = tied.domain.boundary_distance(tied.points) > 0.1
    assert far.sum() > 100
    assert kstest(distance[far] ** 2 / 0.01, "uniform").pvalue > 0.01
    assert kstest(np.arctan2(*step[far].T) / (2 * np.pi) + 0.5, "uniform").pvalue > 0.01


def test_halves(tied):
    first, second = tied.split(np.random.default_rng(1))
    assert (len(first), len(second)) == (100, 100)
    assert sorted([*map(tuple, first.points), *map(tuple, second.points)]) == sorted(map(tuple, tied.points))
    small, rest = tied.split(np.random.default_rng(2), 60)
    assert (len(small), len(rest)) == (60, 140)
    with pytest.raises(ValueError, match="200 of 200 points leave one part empty"):
        tied.split(np.random.default_rng(1), 200)


# What is refused


def test_bad_tables(load):
    here = [(-87.65, 41.85)] * 2
    refused = [
        (at(here, Latitude=["41.85", "north"]), r"Row 1 is at '-87.65', 'north', not at numbers"),
        (at(here, Longitude=[-87.65, 1176352]), r"Row 1 is at 1.17635e\+06, 41.85, which is not in degrees"),
        (at(here, Longitude=["inf", -87.65]), r"Row 0 is at inf, 41.85, which is not in degrees"),
        (
            at([(41.85, -87.65)]),
            r"none of 1 locations lies inside the boundary; the first is longitude 41.85",
        ),
        (at(here, Year=[2020, "13/45/2020 01:00:00 PM"]), r"Row 1 has no date that can be read, but '13/45"),
        (at(here, Year=[2020, ""]), r"Row 1 has no date that can be read, but ''"),
        (at(here, Year=[2019, 2021]), r"of 2 rows none is left for 2020: .*'other_years': 2"),
        (at([("", 41.85)]), r"of 1 rows none is left for 2020: .*'unlocated': 1"),
        (at(here, **{"Primary Type": ["THEFT"] * 2}), r"none is left for 2020: \{'other_types': 2"),
        ("latitude,longitude,year\n", r"of 0 rows none is left"),
        ("latitude,year\n41.8,2020\n", r"columns are missing, \['longitude'\]"),
        ("latitude,longitude\n41.8,-87.7\n", r"columns are missing, \['date'\]"),
        ("latitude,LATITUDE,longitude,year\n1,2,3,4\n", r"or double: .*'latitude', 'latitude'"),
        ("latitude,longitude,year\n41.85,-87.65,2020\n41.8\n", r"row 1 has 1 fields of 3"),
        ("", r"columns are missing"),
        (
            "latitude,longitude,year\n41.85,-87.65,Café".encode("latin-1"),
            r"invalid continuation|can't decode",
        ),
    ]
    for table, message in refused:
        with pytest.raises(ValueError, match=message):
            load(table)


def test_bad_boundaries(load):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3435"}}
    refused = [
        ("not json", r"city.geojson cannot be read as GeoJSON"),
        ({"type": "Nothing"}, r"city.geojson cannot be read as GeoJSON"),
        ({"type": "Point", "coordinates": [0, 0]}, r"must hold polygons, but holds Point"),
        ({"type": "FeatureCollection", "features": []}, r"must hold polygons, but holds nothing"),
        (
            {"type": "Polygon", "coordinates": [[[-87, 40], [-86, 41], [-86, 40], [-87, 41], [-87, 40]]]},
            r"is not valid: Self-intersection",
        ),
        ({"type": "Polygon", "coordinates": [ring(4e5, 4e6, 5e5, 5e6)]}, r"must be in longitudes and lat"),
        ({"type": "Polygon", "coordinates": [ring(151, -34, 152, -33)]}, r"of the zone .*\(151, -34\)"),
        (SQUARE | {"crs": crs}, r"must be in longitudes and latitudes.* in urn:ogc:def:crs:EPSG::3435"),
    ]
    for boundary, message in refused:
        with pytest.raises(ValueError, match=message):
            load(at([(-87.65, 41.85)]), boundary)
    named = SQUARE | {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}}
    assert len(load(at([(-87.65, 41.85)]), named)) == 1


def test_a_disc_that_hardly_meets_the_domain(monkeypatch, crime, tied):
    monkeypatch.setattr(crime, "MOST_REDRAWS", 3)
    with pytest.raises(ValueError, match=r"3 draws within 1e\+06 km of a point all fell outside the domain"):
        tied.jittered(1e6, np.random.default_rng(1))


# The city's own data


@present
@pytest.mark.parametrize(
    ("name", "rows", "inside", "inside_simplified"),
    [
        ("2016", 11953, 11926, 11900),
        ("2017", 11870, 11824, 11820),
        ("2019_sample", 1534, 1524, 1529),
        ("2020_part", 663, 662, 662),
    ],
)
def test_counts_of_the_citys_files(crime, name, rows, inside, inside_simplified):
    # The counts were made independently, in degrees and before the points were rounded to a centimetre. The
    # border runs along streets where points lie: two more or fewer within centimetres of it are rounding.
    for boundary, expected in (("boundary", inside), ("boundary_simplified", inside_simplified)):
        path = CHICAGO / f"chicago_{boundary}.geojson"
        places = crime.crime_locations(CHICAGO / f"chicago_robbery_{name}.csv", path, int(name[:4]))
        assert places.rows_read == rows
        assert places.outside + places.other_parts + len(places) == rows
        assert places.unlocated == places.other_types == places.other_years == 0
        assert abs(len(places) + places.other_parts - expected) <= 1


@present
def test_the_area_of_chicago(crime):
    path = CHICAGO / "chicago_boundary.geojson"
    (feature,) = json.loads(path.read_text())["features"]
    rings = [[ellipsoid_area(ring) for ring in part] for part in feature["geometry"]["coordinates"]]
    areas = [outer - sum(holes) for outer, *holes in rings]
    # 598.14 km² by the portal's own attribute, in which the scale of its grid is close to one.
    assert sum(areas) == pytest.approx(598.14, abs=0.1)
    domain, others, _ = crime.read_boundary(path)
    assert domain.geometry.area == pytest.approx(max(areas) * 0.9996**2, rel=1e-4)
    assert domain.geometry.area + sum(one.geometry.area for one in others) == pytest.approx(597.70, abs=0.01)
    assert (len(others), len(domain.geometry.interiors)) == (2, 3)


@present
@pytest.mark.parametrize(("name", "distinct"), [("2016", 10428), ("2017", 10408), ("2020_part", 647)])
def test_ties_of_the_citys_files(crime, tmp_path, name, distinct):
    # The number of different locations was counted over all rows, so take a boundary around all of them.
    around = tmp_path / "around.geojson"
    around.write_text(json.dumps({"type": "Polygon", "coordinates": [ring(-88.0, 41.6, -87.5, 42.1)]}))
    places = crime.crime_locations(CHICAGO / f"chicago_robbery_{name}.csv", around, int(name[:4]))
    assert places.outside == 0
    assert places.n_distinct == distinct
