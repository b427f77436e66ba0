"""Domains: geometry against brute force, samplers against exact laws, and every message."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import shapely
from scipy import stats

from cases import CORNER, HOLE, L_SHAPE, inside
from goodstein.auxiliary import (
    BallPower,
    BoundaryDistance,
    BoxProduct,
    ProductOfParts,
    Unit,
    default_auxiliary,
)
from goodstein.domains import Ball, Box, Domain, Euclidean, Orthant, Polygon, Polytope, Simplex
from goodstein.errors import DomainError, InputError, SamplingError

inf, nan = np.inf, np.nan


# Values


def test_arrays_are_read_only():
    for array in (Box(0, 1).lower, Ball(2).center, Polytope(*CORNER).A, Simplex(3).basis):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1


def test_equality_is_that_of_the_set_where_it_is_cheap_to_see():
    assert Orthant(2) == Box(0, [inf, inf]) and hash(Orthant(2)) == hash(Box(0, [inf, inf]))
    assert Box(0, 1) != Box(0, 2) and Simplex(3) != Euclidean(3)
    assert Polygon(L_SHAPE) == Polygon(L_SHAPE[::-1]) == Polygon([*L_SHAPE[2:], *L_SHAPE[:3]])
    assert Polygon(L_SHAPE) != Polygon(L_SHAPE, holes=[HOLE])


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (Euclidean(3), "Euclidean(3)"),
        (Box(0, 1), "Box([0, 1])"),
        (Box(0, [1, 1]), "Box([0, 1]^2)"),
        (Box(-0.0, 1), "Box([0, 1])"),
        (Box([0, -inf], [inf, 1.5]), "Box([0, inf) x (-inf, 1.5])"),
        (Box(0, [1, 2, 3, 4, 5, 6]), "Box([0, 1] x [0, 2] x [0, 3] x ... x [0, 6])"),
        (Orthant(3), "Orthant(3)"),
        (Ball(3), "Ball(3)"),
        (Ball(1, 0.5, [2]), "Ball(1, radius=0.5, center=(2,))"),
        (Ball(6, center=[1, 2, 3, 4, 5, 6]), "Ball(6, center=(1, 2, 3, ..., 6))"),
        (Simplex(3), "Simplex(3)"),
        (Polytope(*CORNER), "Polytope(3 inequalities in R^2)"),
        (Polytope([[1, 1]], [0]), "Polytope(1 inequality in R^2)"),
        (Polygon(L_SHAPE), "Polygon(6 vertices)"),
        (Polygon(L_SHAPE, [HOLE]), "Polygon(10 vertices, 1 hole)"),
    ],
)
def test_repr(domain, text):
    assert repr(domain) == text


def test_default_auxiliaries():
    expected = {
        Euclidean(2): Unit(),
        Box(0, 1): BoxProduct(),
        Ball(2): BallPower(2),
        Simplex(3): ProductOfParts(),
        Polytope(*CORNER): BoundaryDistance(),
        Polygon(L_SHAPE): BoundaryDistance(),
    }
    assert {domain: default_auxiliary(domain) for domain in expected} == expected


# Geometry


def test_names_of_faces():
    def names(domain):
        return [face.name for face in domain.faces(None, np.random.default_rng(0))]

    assert names(Box([0, -inf], [inf, 1.5])) == ["x_1 = 0", "x_2 = 1.5"]
    assert names(Simplex(3)) == ["x_1 = 0", "x_2 = 0", "x_3 = 0"]
    assert names(Ball(2)) == ["‖x‖ = 1"]
    assert names(Ball(2, 0.5, [1, 0])) == ["‖x − c‖ = 0.5"]
    assert names(Polygon(L_SHAPE, [HOLE])) == ["outer ring", "hole 1"]
    assert names(Polytope(*CORNER))[2] == "row 2: A[2]·x = 1"


def test_every_facet_is_found_once_however_small():
    """Redundant and repeated inequalities have no face; a facet of one per mille of the width has."""
    corner = 1e-3
    A = [[-1, 0], [0, -1], [1, 0], [0, 1], [1, 1], [2, 2], [1, 1], [-1, -1]]
    b = [0, 0, 1, 1, 2 - corner, 4 - 2 * corner, 7, 0]
    faces = Polytope(A, b).faces(None, np.random.default_rng(0))
    assert [face.name.split(":")[0] for face in faces] == ["row 0", "row 1", "row 2", "row 3", "row 4"]


@pytest.mark.parametrize(("offset", "size"), [(1e7, 1.0), (0.0, 1e-9), (-3e5, 1e-2), (5.0, 1e9)])
def test_polytopes_of_every_size_anywhere(offset, size):
    low, high = offset, offset + size
    polytope = Polytope(np.vstack([np.eye(3), -np.eye(3)]), [high] * 3 + [-low] * 3)
    box = Box(low, [high] * 3)
    assert polytope.bounded and len(polytope.faces(None, np.random.default_rng(0))) == 6
    x = box.sample_uniform(100, np.random.default_rng(0))
    assert polytope.contains(x).all() and not polytope.contains(x + size).any()
    rounding = 1e-15 * (abs(offset) + size)
    np.testing.assert_allclose(polytope.boundary_distance(x), box.boundary_distance(x), atol=rounding)
    assert box.contains(polytope.sample_uniform(100, np.random.default_rng(0))).mean() > 0.98


def test_faces_of_an_unbounded_domain_lie_where_the_data_are():
    rng = np.random.default_rng(0)
    data = rng.normal([5, 1000], [1, 10], size=(200, 2))
    for domain in (Box([0, -inf], inf), Polytope([[-1, 0]], [0])):
        (face,) = domain.faces(data, rng)
        assert np.abs(np.median(face.points[:, 1]) - 1000) < 40
    (face,) = Box([0, -inf], inf).faces(data, rng)
    assert np.all(np.abs(face.reach - 5) < 1)
    # Rows that lie on the boundary or outside teach nothing.
    faces = Orthant(2).faces(np.array([[0.0, 1.0], [-1.0, 1.0]]), rng)
    assert all(np.all(face.reach > 0.1) for face in faces)


def test_validate_says_which_rows():
    with pytest.raises(DomainError, match=r"2 of 3 rows \(the first is row 1\) lie outside Box\(\[0, 1\]\)"):
        Box(0, 1).validate(np.array([[0.5], [1.5], [nan]]))


def test_points_on_the_boundary_belong_to_the_domain_in_spite_of_rounding():
    rng = np.random.default_rng(0)
    ball = Ball(3, radius=0.1, center=[10, 20, 30])
    directions = rng.standard_normal((1000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert ball.contains(ball.center + ball.radius * directions).all()
    ring = np.array([[448e3, 4616e3], [448e3 + 1 / 3, 4616e3 + 7], [448e3 - 9, 4616e3 + 1e3 / 7]])
    shares = rng.uniform(size=(1000, 1))
    for start, end in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        assert Polygon(ring).contains(start + shares * (end - start)).all()


# Uniform samplers, each against an exact law that it does not use; α = 1e-4 each


def pvalue(sample, law):
    return stats.kstest(sample, law).pvalue


def test_uniform_on_boxes_and_balls():
    rng = np.random.default_rng(5)
    x = Box([0, -1], [1, 3]).sample_uniform(4000, rng)
    assert pvalue(x[:, 1], stats.uniform(-1, 4).cdf) > 1e-4
    assert abs(np.corrcoef(x.T)[0, 1]) < 0.06
    for ball in (Ball(1, 2, [1]), Ball(4, 2, [1, 0, 0, 3])):
        x = ball.sample_uniform(4000, rng)
        assert ball.contains(x).all()
        # One coordinate of a uniform point of the ball has density ∝ (1 − u²)^((d−1)/2).
        shape = (ball.dim + 1) / 2
        assert pvalue(((x - ball.center) / 2)[:, 0], stats.beta(shape, shape, loc=-1, scale=2).cdf) > 1e-4
        assert pvalue(np.linalg.norm((x - ball.center) / 2, axis=1) ** ball.dim, stats.uniform.cdf) > 1e-4


def test_uniform_on_simplices_and_polytopes():
    rng = np.random.default_rng(6)
    x = Simplex(4).sample_uniform(4000, rng)
    Simplex(4).validate(x)
    assert pvalue(x[:, 2], stats.beta(1, 3).cdf) > 1e-4
    x = Polytope(*CORNER).sample_uniform(4000, rng)
    assert x.shape == (4000, 2)
    assert pvalue(x[:, 0], stats.beta(1, 2).cdf) > 1e-4
    assert pvalue(x[:, 1] / (1 - x[:, 0]), stats.uniform.cdf) > 1e-4


@pytest.mark.parametrize("triangles", [True, False])
def test_uniform_on_polygons(triangles, monkeypatch):
    if not triangles:
        monkeypatch.delattr(shapely, "constrained_delaunay_triangles", raising=False)
    polygon = Polygon(L_SHAPE, holes=[HOLE])
    x = polygon.sample_uniform(6000, np.random.default_rng(7))
    assert x.shape == (6000, 2) and polygon.contains(x).all()
    edges = np.linspace(0, 5, 8)
    counts = np.histogram2d(x[:, 0], x[:, 1], bins=[edges, edges])[0]
    cells = [[shapely.box(a, c, b, d) for c, d in pairwise(edges)] for a, b in pairwise(edges)]
    areas = shapely.area(shapely.intersection(np.array(cells), polygon.geometry))
    used = areas > 0
    assert counts[~used].sum() == 0
    assert stats.chisquare(counts[used], 6000 * areas[used] / areas.sum()).pvalue > 1e-4


def test_uniform_sampling_that_is_impossible():
    for domain in (Euclidean(2), Orthant(2), Polytope([[1, 1]], [0])):
        with pytest.raises(DomainError, match="is unbounded, so there is no uniform distribution on it"):
            domain.sample_uniform(3, np.random.default_rng(0))
    # A needle along the diagonal of a cube.
    d = 6
    across = np.eye(d)[1:] - np.eye(d)[:-1]
    needle = Polytope(
        np.vstack([across, -across, np.eye(d), -np.eye(d)]), [1e-3] * 2 * (d - 1) + [1] * d + [0] * d
    )
    with pytest.raises(SamplingError, match=r"0 of \d+ uniform proposals .* \(acceptance rate 0\)"):
        needle.sample_uniform(100, np.random.default_rng(0))

    class Dark(Domain):
        dim = 1
        bounded = True

        def contains(self, x):
            return np.zeros(len(x), dtype=bool)

    with pytest.raises(DomainError, match="No uniform sampler for"):
        Dark().sample_uniform(1, np.random.default_rng(0))


# The simplex


@pytest.mark.parametrize("parts", [2, 3, 10])
def test_simplex_basis_and_logratios(parts):
    simplex = Simplex(parts)
    basis = simplex.basis
    np.testing.assert_allclose(basis @ basis.T, np.eye(parts - 1), atol=1e-14)
    np.testing.assert_allclose(basis.T @ basis, np.eye(parts) - 1 / parts, atol=1e-14)
    x = np.random.default_rng(0).dirichlet(np.full(parts, 0.5), size=50)
    y = simplex.to_logratio(x)
    np.testing.assert_allclose(simplex.from_logratio(y), x, rtol=1e-9)
    # An isometry of Aitchison's geometry: distances are those of the centred log-ratios.
    centred = np.log(x) - np.log(x).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(y[0] - y[1]), np.linalg.norm(centred[0] - centred[1]))
    np.testing.assert_allclose(simplex.to_logratio(7 * x), y, atol=1e-11)


def test_extreme_logratios_are_stable():
    x = Simplex(3).from_logratio(np.array([[800.0, -900.0], [0.0, 1e5]]))
    np.testing.assert_allclose(x.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [[0.2, 0.3, 0.4]],
            r"do not sum to 1, the first of them sums to 0.9;.*whole, re-close them: x = .*; x = x / x.sum",
        ),
        ([[20.0, 30.0, 50.0], [10, 10, 80.1]], r"2 of 2 rows.*sums to 100;.*percentages; re-close them"),
        (
            [[0.2, 0.3, 0.5], [-0.1, 0.6, 0.5]],
            r"1 of 2 rows \(row 1\) hold negative parts, the smallest is -0.1",
        ),
        ([[0.0, 0.0, 0.0]], "hold only zeros, which is no composition. Remove them"),
        ([[nan, 0.5, 0.5]], "hold NaN or infinite parts"),
        ([[0.2, 0.3, 0.5 + 2e-6]], "sums to 1.000002; .*within 1e-06"),
    ],
)
def test_simplex_says_what_is_wrong_with_rows(rows, message):
    rows = np.array(rows)
    assert not Simplex(3).contains(rows).all()
    with pytest.raises(DomainError, match=message):
        Simplex(3).validate(rows)


def test_simplex_takes_zeros_but_has_no_logratios_of_them():
    x = np.array([[0.0, 0.25, 0.75], [0.2, 0.3, 0.5 + 5e-9]])
    Simplex(3).validate(x)
    with pytest.raises(DomainError, match=r"1 of 2 rows \(row 0\) hold parts that are not positive"):
        Simplex(3).to_logratio(x)


# Polygons


def test_gradient_on_the_boundary_of_a_polygon_is_the_inward_normal():
    polygon = Polygon(L_SHAPE, holes=[HOLE])
    x = np.array([[2.0, 3.0], [0.0, 3.0], [3.0, 2.0], [1.5, 1.0], [1.0, 0.5]])
    normals = [[-1, 0], [1, 0], [0, -1], [1, 0], [0, -1]]
    assert np.all(polygon.boundary_distance(x) == 0)
    np.testing.assert_allclose(polygon.boundary_gradient(x), normals, atol=1e-12)
    assert polygon.boundary_gradient(x[:0]).shape == (0, 2)


def test_polygon_far_from_the_origin():
    """Projected coordinates are millions of metres; the gradient must not drown in rounding."""
    offset = np.array([448_000.0, 4_616_000.0])
    near, far = Polygon(L_SHAPE, holes=[HOLE]), Polygon(np.add(L_SHAPE, offset), holes=[np.add(HOLE, offset)])
    x = inside(near, 300)
    np.testing.assert_allclose(far.boundary_distance(x + offset), near.boundary_distance(x), atol=1e-8)
    assert (
        np.abs(far.boundary_gradient(x + offset) - near.boundary_gradient(x)).max(axis=1) < 1e-4
    ).mean() > 0.98


def test_polygon_from_shapes():
    shape = shapely.Polygon(L_SHAPE, [HOLE])
    expected = Polygon(L_SHAPE, [HOLE])
    assert (
        Polygon(shape)
        == Polygon(shapely.MultiPolygon([shape]))
        == Polygon(shapely.force_3d(shape, 3))
        == expected
    )
    assert Polygon(np.array([*L_SHAPE, L_SHAPE[0]], dtype=float), (HOLE,)) == expected
    assert expected.geometry.area == pytest.approx(14 - 0.75)


def geojson(offset):
    return {"type": "Polygon", "coordinates": [[(x + offset, y) for x, y in [*L_SHAPE, L_SHAPE[0]]]]}


def test_longitudes_and_latitudes_are_refused():
    crs = SimpleNamespace(is_geographic=True)
    column = SimpleNamespace(crs=crs, geometry=[shapely.Polygon(L_SHAPE)])
    with pytest.raises(DomainError, match=r"longitudes and latitudes.*shape.to_crs\(shape.estimate_utm_crs"):
        Polygon(column)
    feature = {"type": "Feature", "geometry": geojson(-80), "properties": {}}
    collection = {"type": "FeatureCollection", "features": [feature]}
    for document in (geojson(-80), feature, collection, SimpleNamespace(__geo_interface__=feature)):
        with pytest.raises(DomainError, match=r"longitudes and latitudes.*pass shapely.geometry.shape"):
            Polygon(document)


def test_planar_shapes_are_accepted_whatever_their_container():
    expected = Polygon(L_SHAPE)
    for crs in (None, SimpleNamespace(is_geographic=False)):
        assert Polygon(SimpleNamespace(crs=crs, geometry=[shapely.Polygon(L_SHAPE), None])) == expected
    # Two neighbours make one region.
    halves = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
    assert Polygon(SimpleNamespace(crs=None, geometry=halves)).geometry.area == pytest.approx(2)
    assert Polygon(geojson(448_000)).geometry.bounds[0] == 448_000
    assert Polygon(shapely.geometry.shape(geojson(0))) == expected


def test_polygon_in_threads():
    polygon = Polygon(L_SHAPE, holes=[HOLE])
    x = inside(polygon, 2000)
    fresh = pickle.loads(pickle.dumps(polygon))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(fresh.boundary_gradient, [x] * 8))
    for result in results:
        np.testing.assert_array_equal(result, polygon.boundary_gradient(x))


def test_shapely_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(ImportError, match=r'pip install "goodstein\[spatial\]"'):
        Polygon(L_SHAPE)


# A domain of one's own


class Disc(Domain):
    """The unit disc, by its distance alone."""

    dim = 2

    def __repr__(self):
        return "Disc()"

    def contains(self, x):
        return np.linalg.norm(x, axis=1) <= 1

    def boundary_distance(self, x):
        return 1 - np.linalg.norm(x, axis=1)


def test_own_domain_gets_a_numerical_gradient():
    x = Ball(2).sample_uniform(50, np.random.default_rng(0))
    np.testing.assert_allclose(Disc().boundary_gradient(x), Ball(2).boundary_gradient(x), atol=1e-6)
    with pytest.raises(
        InputError, match=r"1 of 2 rows \(row 1\) lie on the boundary of Disc\(\).*`boundary_gradient`"
    ):
        Disc().boundary_gradient(np.array([[0.5, 0.0], [1.0, 0.0]]))


def test_own_domain_without_auxiliary_function():
    with pytest.raises(DomainError, match=r"Disc\(\) has no auxiliary function of its own. Pass one"):
        default_auxiliary(Disc())


# Constructors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Euclidean(0), "`d` must be an integer of at least 1, got 0"),
        (lambda: Euclidean(1.5), r"`d` must be an integer of at least 1, got 1\.5"),
        (lambda: Orthant(0), "`d` must be an integer of at least 1"),
        (lambda: Box([0, 3], [1, 1]), "coordinate x_2 has lower = 3 and upper = 1"),
        (lambda: Box(1, 1), "coordinate x_1 has lower = 1 and upper = 1"),
        (lambda: Box(inf, inf), "coordinate x_1 has lower = inf and upper = inf"),
        (lambda: Box(0, nan), "`upper` must be numbers, not NaN"),
        (lambda: Box("a", 1), "`lower` must be real numbers"),
        (lambda: Box([0, 0], [1, 1, 1]), "`lower` has 2 coordinates and `upper` has 3; they must agree"),
        (lambda: Box([[0]], 1), "`lower` must be a number or a vector"),
        (lambda: Box([], []), "`lower` must be at least one number"),
        (lambda: Ball(0), "`d` must be an integer of at least 1"),
        (lambda: Ball(2, radius=0), "`radius` must be a positive number, got 0"),
        (lambda: Ball(2, radius=-1), "`radius` must be a positive number, got -1"),
        (lambda: Ball(2, radius=inf), "`radius` must be a positive number, got inf"),
        (lambda: Ball(2, center=[0, 0, 0]), r"`center` must have 2 coordinates, got shape \(3,\)"),
        (lambda: Ball(2, center=[0, inf]), "`center` must be finite"),
        (lambda: Simplex(1), "`parts` must be an integer of at least 2, got 1"),
        (
            lambda: Polytope([1, 2], [1]),
            r"`A` must be a matrix, got an array of shape \(2,\)",
        ),
        (
            lambda: Polytope(np.empty((0, 2)), []),
            r"`A` must be at least one number, got an empty array of shape \(0, 2\)",
        ),
        (lambda: Polytope([[1, 2]], [1, 2]), r"`b` must hold one number for each of the 1 rows of `A`"),
        (
            lambda: Polytope([[1, 0], [0, 0]], [1, 1]),
            "Row 1 of `A` is zero, so it constrains nothing. Drop it",
        ),
        (lambda: Polytope([[1.0], [-1.0]], [1, inf]), "`b` must be finite numbers"),
        (lambda: Polytope([[1], [-1]], [0, -1]), "The polytope is empty: no x satisfies A x <= b"),
        (lambda: Polytope([[1, 0], [-1, 0], [0, 1]], [1, -1, 5]), "The polytope has no interior"),
        (lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), r"not valid: Self-intersection.*make_valid"),
        (lambda: Polygon([(0, 0), (1, 1)]), "`shape` must hold at least 3 different vertices, got 2"),
        (lambda: Polygon([(0, 0), (1, 1), (2, 2)]), "The polygon is not valid|has no area"),
        (lambda: Polygon([(0, 0), (1, nan), (2, 2)]), "`shape` must be finite numbers"),
        (
            lambda: Polygon(np.zeros((4, 3))),
            r"`shape` must be vertices \(n, 2\), got an array of shape \(4, 3\) and dtype float64",
        ),
        (lambda: Polygon("square"), r"`shape` must be vertices \(n, 2\), a shapely polygon.*got 'square'"),
        (
            lambda: Polygon(L_SHAPE, [[(1, 1)]]),
            r"`holes\[0\]` must hold at least 3 different vertices, got 1",
        ),
        (lambda: Polygon(L_SHAPE, [[(9, 9), (8, 9), (8, 8)]]), "not valid: Hole lies outside shell"),
        (lambda: Polygon(shapely.Polygon(L_SHAPE), [HOLE]), "`holes` goes with vertices only"),
        (lambda: Polygon(shapely.Polygon()), "The polygon is empty"),
        (lambda: Polygon(shapely.Point(0, 0)), "the shape holds Point, which has no area"),
        (
            lambda: Polygon(shapely.MultiPolygon([shapely.box(0, 0, 3, 1), shapely.box(5, 0, 6, 1)])),
            r"consists of 2 parts that are not connected; the largest holds 75.00% of .*key=shapely.area",
        ),
        (lambda: Polygon({"type": "Polygon"}), "cannot be read as GeoJSON"),
        (lambda: Polygon({"type": "FeatureCollection", "features": []}), "The polygon is empty"),
    ],
)
def test_bad_domains(make, message):
    with pytest.raises(DomainError, match=message):
        make()
