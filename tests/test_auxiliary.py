"""Auxiliary functions: derivatives, Stein's identity by quadrature, published values, messages."""

import copy
import pickle
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate

import goodstein as gs
from goodstein.auxiliary import (
    Auxiliary,
    BallPower,
    BoundaryDistance,
    BoxProduct,
    GeometricMean,
    ProductOfParts,
    Unit,
)
from goodstein.domains import Ball, Box, Euclidean, Orthant, Polygon, Polytope, Simplex
from goodstein.errors import DomainError, InputError, NumericalScoreWarning

inf, nan = np.inf, np.nan

L_SHAPE = Polygon([(0, 0), (4, 0), (4, 2), (2, 2), (2, 5), (0, 5)])
MIXED = Box([0, 1, -inf, -inf], [2, inf, 3, inf])


class Scored:
    """The part of a model that a drift needs."""

    def __init__(self, score, weighted_score=None):
        self.score = score
        self.weighted_score = weighted_score or (lambda x: x * score(x))


def normal(mean=0.0):
    return Scored(lambda x: mean - x)


def dirichlet(alpha):
    """Like a model in closed form: its weighted score is finite at zeros, its score is not."""
    alpha = np.asarray(alpha)
    return Scored(lambda x: (alpha - 1) / x, lambda x: np.broadcast_to(alpha - 1, x.shape))


def sine(x):
    return np.sin(np.pi * x).prod(axis=1)


def sines(x):
    return np.sin(np.pi * x)


CASES = [
    (Unit(), Euclidean(3)),
    (BallPower(), Ball(3)),
    (BallPower(0.7), Ball(2, 3, [1, -1])),
    (BallPower(5), Ball(1, 2)),
    (BoundaryDistance(), Ball(3, 2)),
    (BoundaryDistance(), Box([0, -1], [1, 3])),
    (BoundaryDistance(), Simplex(4)),
    (BoundaryDistance(), Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])),
    (BoundaryDistance(), L_SHAPE),
    (ProductOfParts(), Simplex(3)),
    (ProductOfParts(0.5), Simplex(2)),
    (ProductOfParts(2), Simplex(5)),
    (GeometricMean(), Simplex(4)),
    (BoxProduct(), Box([0, -1], [1, 3])),
    (BoxProduct(), MIXED),
    (BoxProduct((9, 0.5, 1.5, 2)), MIXED),
    (Auxiliary(sine), Box(0, [1, 1])),
    (Auxiliary(sines), Box(0, [1, 1, 1])),
    (Auxiliary(lambda x: x.prod(axis=1), lambda x: x.prod(axis=1, keepdims=True) / x), Simplex(3)),
    (Auxiliary(lambda x: x.prod(axis=1)), Simplex(3)),
]


def points(domain, n, seed=0):
    rng = np.random.default_rng(seed)
    if domain.bounded:
        return domain.sample_uniform(n, rng)
    x = rng.normal(1, 1.5, size=(200 * n, domain.dim))
    return x[domain.contains(x)][:n]


@pytest.mark.parametrize(("auxiliary", "domain"), CASES, ids=repr)
def test_derivatives_are_those_of_the_value(auxiliary, domain):
    x = points(domain, 300)
    g, dg = auxiliary.evaluate(x, domain)
    np.testing.assert_array_equal(auxiliary.value(x, domain), g)
    assert dg.shape == x.shape and np.all(g >= 0)
    step = 1e-6
    directions = np.eye(domain.dim)
    if domain.basis is not None:
        directions = np.eye(domain.dim) - 1 / domain.dim
    same = np.ones(len(x), dtype=bool)
    for i, direction in enumerate(directions):
        up = auxiliary.value(x + step * direction, domain)
        down = auxiliary.value(x - step * direction, domain)
        slope = (up - down) / (2 * step)
        slope, expected = (slope, dg @ direction) if g.ndim == 1 else (slope[:, i], dg[:, i])
        same &= np.abs(slope - expected) < 1e-4 * (1 + np.abs(expected))
    # Kinks, and points nearer to the boundary than the step, are rare.
    assert same.mean() > 0.98


@pytest.mark.parametrize(("auxiliary", "domain"), CASES, ids=repr)
def test_vanishes_on_the_boundary_and_only_there(auxiliary, domain):
    assert np.all(auxiliary.value(points(domain, 100), domain) > 0)
    for face in domain.faces(None, np.random.default_rng(0)):
        near = face.points + 1e-12 * face.reach[:, None] * face.normals
        g = auxiliary.value(near, domain)
        # A diagonal function need only vanish in the direction of the normal.
        flux = g if g.ndim == 1 else np.abs(g * face.normals).max(axis=1)
        assert np.all(flux < 1e-3)


@pytest.mark.parametrize("auxiliary", [aux for aux, _ in CASES if type(aux) is not Auxiliary], ids=repr)
def test_is_a_value(auxiliary):
    for twin in (pickle.loads(pickle.dumps(auxiliary)), copy.deepcopy(auxiliary)):
        assert twin == auxiliary and hash(twin) == hash(auxiliary)
    assert auxiliary != BallPower(17)


def test_values_of_own_functions():
    assert Auxiliary(sine) == Auxiliary(sine) != Auxiliary(sine, sines)
    assert Auxiliary(sine) != Unit() and hash(Auxiliary(sine)) == hash(Auxiliary(sine))
    assert pickle.loads(pickle.dumps(Auxiliary(np.sin))) == Auxiliary(np.sin)
    assert repr(Auxiliary(sine, sines)) == "Auxiliary(sine, sines)"
    assert repr(BallPower()) == "BallPower(p=2.0)" and repr(ProductOfParts(2)) == "ProductOfParts(power=2.0)"
    assert repr(BoxProduct()) == "BoxProduct(scale=None)" and repr(GeometricMean()) == "GeometricMean()"
    assert BoxProduct(np.array([1, 2])) == BoxProduct((1.0, 2.0)) and BoxProduct(3).scale == 3.0


# Stein's identity, E[b·f + g·f'] = 0 under the model, by quadrature


@pytest.mark.parametrize(
    ("domain", "auxiliary", "density", "score"),
    [
        (Box(-1, 2), BoxProduct(), lambda x: np.exp(-((x - 1) ** 2) / 2), lambda x: 1 - x),
        (Box(0, 1), BoxProduct(), lambda x: x**-0.5 * (1 - x) ** 2, lambda x: -0.5 / x - 2 / (1 - x)),
        (Orthant(1), BoxProduct(0.7), lambda x: np.exp(-x), lambda x: -np.ones_like(x)),
        (Box(-inf, 0), BoxProduct(0.7), lambda x: np.exp(x), np.ones_like),
        (Box(-1, 2), BoundaryDistance(), lambda x: np.exp(-((x - 1) ** 2) / 2), lambda x: 1 - x),
        (Box(0, 1), Auxiliary(sines), lambda x: np.exp(x), np.ones_like),
    ],
)
def test_stein_identity_on_the_line(domain, auxiliary, density, score):
    def integrand(t, with_auxiliary=True):
        x = np.array([[t]])
        g, dg = auxiliary.evaluate(x, domain) if with_auxiliary else (np.ones(1), np.zeros((1, 1)))
        drift = auxiliary.drift(x, g, dg, Scored(score))
        return (
            density(t) * (drift[0, 0] * np.exp(np.sin(t)) + g.ravel()[0] * np.cos(t) * np.exp(np.sin(t)))
        ).item()

    low, high = max(domain.lower[0], -40), min(domain.upper[0], 40)
    pieces = [low, *(p for p in (-0.7, 0.0, 0.5, 0.7) if low < p < high), high]
    total = sum(integrate.quad(integrand, a, b, epsabs=1e-10, limit=200)[0] for a, b in pairwise(pieces))
    assert abs(total) < 1e-7
    # The same quadrature sees that g = 1 does not do.
    nodes = np.linspace(low, high, 4002)[1:-1]
    without = np.mean([integrand(t, False) for t in nodes]) * (high - low)
    assert abs(without) > 0.1


@pytest.mark.parametrize("auxiliary", [BallPower(0.5), BallPower(2), BoundaryDistance()], ids=repr)
def test_stein_identity_on_the_disc(auxiliary):
    disc, model = Ball(2, 2, [1, 0]), normal(0.5)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    # Substitute r = 2u² , so that the gradient of a small power does not spoil the quadrature.
    u = (nodes + 1) / 2
    angles = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    radius, angle = (v.ravel() for v in np.meshgrid(2 * u**2, angles, indexing="ij"))
    measure = np.repeat(weights * 2 * u**2 * 4 * u, 80)
    x = disc.center + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    q = np.exp(-((x - 0.5) ** 2).sum(axis=1) / 2) * measure
    g, dg = auxiliary.evaluate(x, disc)
    drift = auxiliary.drift(x, g, dg, model)
    f = np.cos(x[:, 0] + 2 * x[:, 1])
    df = -np.sin(x[:, 0] + 2 * x[:, 1])[:, None] * [1, 2]
    expectation = (q[:, None] * (drift * f[:, None] + g[:, None] * df)).sum(axis=0) / q.sum()
    np.testing.assert_allclose(expectation, 0, atol=1e-9)


@pytest.mark.parametrize("auxiliary", [ProductOfParts(), GeometricMean(), BoundaryDistance()], ids=repr)
def test_stein_identity_on_the_simplex(auxiliary):
    simplex, alpha = Simplex(3), np.array([2.0, 1.5, 3.0])
    # Tanh-sinh nodes on [0, 1], which deal with singularities at the ends; `rest` is 1 − t exactly.
    step = np.linspace(-3.2, 3.2, 121)
    t, rest = (1 / (1 + np.exp(sign * np.pi * np.sinh(step))) for sign in (-1, 1))
    weights = t * rest * np.cosh(step)
    outward, aside = (v.ravel() for v in np.meshgrid(t, t, indexing="ij"))
    inward, other = (v.ravel() for v in np.meshgrid(rest, rest, indexing="ij"))
    measure = np.outer(weights, weights).ravel() * outward
    # Three triangles, each between the centre and one face: the distance is smooth in each.
    x = (
        np.concatenate(
            [np.insert(np.column_stack([outward * aside, outward * other]), i, 0.0, axis=1) for i in range(3)]
        )
        + np.tile(inward, 3)[:, None] / 3
    )
    q = (x ** (alpha - 1)).prod(axis=1) * np.tile(measure, 3)
    g, dg = auxiliary.evaluate(x, simplex)
    drift = auxiliary.drift(x, g, dg, dirichlet(alpha))
    f = np.exp(x @ [1, 2, 0.5])
    df = f[:, None] * [1, 2, 0.5]
    ambient = (q[:, None] * (drift * f[:, None] + g[:, None] * df)).sum(axis=0) / q.sum()
    np.testing.assert_allclose(simplex.basis @ ambient, 0, atol=1e-9)
    # Derivatives across the simplex do not integrate to zero: the projection is needed.
    assert np.abs(ambient).max() > 0.1


def test_stein_identity_on_a_polygon_that_is_not_convex():
    polygon, model, auxiliary = L_SHAPE, normal(1.0), BoundaryDistance()
    step = 0.02
    grid = np.arange(step / 2, 5, step)
    x = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    x = x[polygon.contains(x)]
    q = np.exp(-((x - 1) ** 2).sum(axis=1) / 2)
    f = np.cos(x[:, 0] + 2 * x[:, 1])
    df = -np.sin(x[:, 0] + 2 * x[:, 1])[:, None] * [1, 2]

    def expectation(g, dg):
        drift = auxiliary.drift(x, g, dg, model)
        return (q[:, None] * (drift * f[:, None] + g[:, None] * df)).sum(axis=0) / q.sum()

    np.testing.assert_allclose(expectation(*auxiliary.evaluate(x, polygon)), 0, atol=1e-3)
    assert np.abs(expectation(*Unit().evaluate(x, polygon))).max() > 0.05


# Values of the Stein kernel that were obtained by symbolic differentiation


def gaussian(x, bandwidth):
    r = x[0] - x[1]
    k = np.exp(-(r @ r) / (2 * bandwidth**2))
    return r, k, -r / bandwidth**2 * k, k * (np.eye(len(r)) / bandwidth**2 - np.outer(r, r) / bandwidth**4)


def stein_kernel(x, bandwidth, auxiliary, domain, model):
    projection = np.eye(x.shape[1]) if domain.basis is None else domain.basis.T @ domain.basis
    g, dg = auxiliary.evaluate(x, domain)
    b = auxiliary.drift(x, g, dg, model) @ projection
    _, k, dk, ddk = gaussian(x, bandwidth)
    return b[0] @ b[1] * k + b[1] @ dk * g[0] - b[0] @ dk * g[1] + g[0] * g[1] * np.trace(projection @ ddk)


def test_reference_value_on_the_disc():
    x = np.array([[0.5, 0.2], [-0.1, 0.4]])
    assert stein_kernel(x, 1.0, BallPower(2), Ball(2), normal()) == pytest.approx(0.251218525544, rel=1e-11)


def test_reference_value_on_the_simplex():
    x = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    value = stein_kernel(x, 0.5, ProductOfParts(), Simplex(3), dirichlet([0.5, 0.7, 1.2]))
    assert value == pytest.approx(-0.00134820525407, rel=1e-11)


# Each function


def test_ball_power_at_the_centre_and_on_the_sphere():
    ball = Ball(2, 2, [1, 0])
    for p in (0.3, 1, 2, 3):
        g, dg = BallPower(p).evaluate(np.array([[1.0, 0.0], [1.0, 2.0]]), ball)
        np.testing.assert_array_equal(g, [1, 0])
        np.testing.assert_allclose(dg, [[0, 0], [0, -p / 2]], atol=1e-15)


def test_product_of_parts_at_zeros():
    """Dirichlet: b_i = α_i ∏_{j≠i} x_j, whether or not parts are zero."""
    alpha = np.array([0.5, 0.7, 1.2, 3.0])
    x = np.array([[0, 0.2, 0.3, 0.5], [0, 0, 0.4, 0.6], [0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0]])
    g, dg = ProductOfParts().evaluate(x, Simplex(4))
    others = np.array([[np.delete(row, i).prod() for i in range(4)] for row in x])
    np.testing.assert_allclose(g, x.prod(axis=1), atol=1e-17)
    np.testing.assert_allclose(dg, others, atol=1e-17)
    np.testing.assert_allclose(ProductOfParts().drift(x, g, dg, dirichlet(alpha)), alpha * others, atol=1e-17)
    g, dg = ProductOfParts(2).evaluate(x, Simplex(4))
    drift = ProductOfParts(2).drift(x, g, dg, dirichlet(alpha))
    np.testing.assert_allclose(drift, (alpha + 1) * x * others**2, atol=1e-17)


@pytest.mark.parametrize("auxiliary", [ProductOfParts(), ProductOfParts(0.4), GeometricMean()], ids=repr)
def test_drift_of_parts_is_the_general_one_inside(auxiliary):
    x = points(Simplex(4), 50)
    model = dirichlet([0.5, 0.7, 1.2, 3.0])
    g, dg = auxiliary.evaluate(x, Simplex(4))
    np.testing.assert_allclose(auxiliary.drift(x, g, dg, model), Auxiliary.drift(auxiliary, x, g, dg, model))


def test_geometric_mean_is_a_product_of_parts():
    x = points(Simplex(5), 20)
    for ours, theirs in zip(
        GeometricMean().evaluate(x, Simplex(5)), ProductOfParts(0.2).evaluate(x, Simplex(5)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("auxiliary", [ProductOfParts(0.5), GeometricMean()], ids=repr)
def test_small_powers_refuse_zeros(auxiliary):
    with pytest.raises(InputError, match=r"1 of 2 rows \(row 1\) hold zeros, where the derivatives of"):
        auxiliary.evaluate(np.array([[0.5, 0.5], [0.0, 1.0]]), Simplex(2))


def test_products_that_underflow_are_refused():
    x = points(Simplex(150), 10)
    with pytest.raises(InputError, match=r"ProductOfParts\(power=1.0\) underflows: with 150 parts"):
        ProductOfParts().evaluate(x, Simplex(150))
    assert GeometricMean().evaluate(x, Simplex(150))[0].min() > 1e-4


def test_box_product_takes_its_scales_from_the_data():
    rng = np.random.default_rng(0)
    x = np.column_stack(
        [
            rng.uniform(0, 2, 500),
            1 + rng.exponential(3, 500),
            3 - rng.exponential(5, 500),
            rng.normal(0, 7, 500),
        ]
    )
    fitted = BoxProduct().fitted(x, MIXED)
    deviation = np.median(np.abs(x[:, 3] - np.median(x[:, 3])))
    assert fitted.scale == (2.0, np.median(x[:, 1] - 1), np.median(3 - x[:, 2]), deviation)
    assert fitted.fitted(x[:3], MIXED) is fitted
    assert BoxProduct(2.0).fitted(x, MIXED) == BoxProduct(2.0)
    g, dg = fitted.evaluate(x, MIXED)
    np.testing.assert_allclose(g[:, 0], x[:, 0] * (2 - x[:, 0]) / 2)
    np.testing.assert_allclose(g[:, 1], np.minimum(fitted.scale[1], x[:, 1] - 1))
    np.testing.assert_allclose(g[:, 2], np.minimum(fitted.scale[2], 3 - x[:, 2]))
    assert np.all(g[:, 3] == deviation) and np.all(dg[:, 3] == 0)


def test_box_product_of_data_on_the_boundary():
    x = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    assert BoxProduct().fitted(x, Orthant(2)).scale == (1.0, 4.0)


def test_box_product_does_not_depend_on_units():
    """With another unit in one coordinate g_i s_i, ∂_i g_i and g_i ∂_i all stay the same."""
    x = points(MIXED, 200)
    for column in range(4):
        unit = np.ones(4)
        unit[column] = 1000
        scaled = Box(MIXED.lower * unit, MIXED.upper * unit)
        g, dg = BoxProduct().fitted(x, MIXED).evaluate(x, MIXED)
        other_g, other_dg = BoxProduct().fitted(x * unit, scaled).evaluate(x * unit, scaled)
        np.testing.assert_allclose(other_g, g * unit, rtol=1e-12)
        np.testing.assert_allclose(other_dg, dg, atol=1e-12)


# Functions of one's own


def test_numerical_derivatives_stay_inside_the_domain():
    seen = []

    def watched(x):
        seen.append(x.copy())
        return np.sqrt(x.prod(axis=1))

    simplex = Simplex(4)
    x = points(simplex, 100)
    g, dg = Auxiliary(watched).evaluate(x, simplex)
    assert simplex.contains(np.vstack(seen)).all()
    np.testing.assert_allclose(dg, g[:, None] / (2 * x) @ (np.eye(4) - 0.25), rtol=1e-6, atol=1e-9)


def test_numerical_derivatives_on_small_and_large_scales():
    for scale in (1e-3, 1.0, 1e6):
        x = scale * np.random.default_rng(0).standard_normal((50, 2))
        _, dg = Auxiliary(lambda x, s=scale: 1 / (1 + ((x / s) ** 2).sum(axis=1))).evaluate(x, Euclidean(2))
        exact = -2 * x / scale**2 / (1 + ((x / scale) ** 2).sum(axis=1, keepdims=True)) ** 2
        np.testing.assert_allclose(dg * scale, exact * scale, atol=1e-6)


def test_diagonal_function_on_a_simplex_is_left_to_the_operator():
    g, dg = Auxiliary(lambda x: x).evaluate(points(Simplex(3), 4), Simplex(3))
    np.testing.assert_allclose(dg, 2 / 3)
    assert g.shape == (4, 3)


def test_own_class_needs_evaluate_only():
    class Half(Auxiliary):
        def __init__(self):
            pass

        def evaluate(self, x, domain):
            return np.full(len(x), 0.5), np.zeros(x.shape)

    x = np.array([[1.0, 2.0]])
    np.testing.assert_array_equal(Half().value(x, Euclidean(2)), [0.5])
    np.testing.assert_array_equal(Half().drift(x, *Half().evaluate(x, Euclidean(2)), normal()), -x / 2)
    assert Half().fitted(x, Euclidean(2)).value(x, Euclidean(2)) == 0.5


def test_empty_data():
    for auxiliary, domain in CASES:
        g, dg = auxiliary.evaluate(np.empty((0, domain.dim)), domain)
        assert len(g) == 0 and dg.shape == (0, domain.dim)


X = np.array([[0.2, 0.3], [0.6, 0.1], [0.4, 0.4]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Auxiliary(3.0), r"`value` of Auxiliary must be a function of points \(n, d\), got 3\.0"),
        (lambda: Auxiliary(None), r"`value` of Auxiliary must be a function of points \(n, d\)"),
        (lambda: Auxiliary(sine, 3.0), r"`gradient` of Auxiliary must be a function of points \(n, d\)"),
        (
            lambda: Auxiliary(lambda x: x[:, :1]).evaluate(X, Box(0, [1, 1])),
            r"shape \(3,\), or one per coordinate, shape \(3, 2\); got \(3, 1\). Drop the last axis",
        ),
        (
            lambda: Auxiliary(lambda x: 1.0).evaluate(X, Box(0, [1, 1])),
            r"must return one value per point.*got \(\)",
        ),
        (
            lambda: Auxiliary(lambda x: "one").evaluate(X, Box(0, 1)),
            r"Auxiliary\(<lambda>\) must return real numbers",
        ),
        (
            lambda: Auxiliary(lambda x: np.where(x[:, 0] > 0.5, nan, 1)).evaluate(X, Box(0, [1, 1])),
            r"is not finite at 1 of 3 rows \(row 1\). An auxiliary function must be finite everywhere",
        ),
        (
            lambda: Auxiliary(sine, sine).evaluate(X, Box(0, [1, 1])),
            r"The gradient of Auxiliary\(sine, sine\) must return an array of shape \(3, 2\), got \(3,\)",
        ),
        (
            lambda: Auxiliary(sine, lambda x: x * nan).evaluate(X, Box(0, [1, 1])),
            r"The gradient of Auxiliary\(sine, <lambda>\) is not finite at 3 of 3 rows",
        ),
        (
            lambda: Auxiliary(sine).evaluate(np.array([[0.5, 0.5], [0.0, 0.5]]), Box(0, [1, 1])),
            r"1 of 2 rows \(row 1\) lie on the boundary of Box.*pass its derivatives: Auxiliary\(value, grad",
        ),
        (lambda: BallPower(0), "`p` must be a positive number, got 0"),
        (lambda: BallPower("two"), "`p` must be a positive number, got 'two'"),
        (lambda: ProductOfParts(-1), "`power` must be a positive number, got -1"),
        (
            lambda: BallPower(0.5).evaluate(X[:, :1], Ball(1)),
            "infinite variance at the centre of Ball.*p > 0.5",
        ),
        (lambda: BoxProduct(0), "`scale` of BoxProduct must be a positive number"),
        (lambda: BoxProduct([1, inf]), "`scale` of BoxProduct must be positive numbers"),
        (
            lambda: BoxProduct((1, 2, 3)).evaluate(X, Orthant(2)),
            r"has 3 scales, but Orthant\(2\) has 2 coordinates",
        ),
        (
            lambda: BoxProduct((1, 2, 3)).fitted(X, Orthant(2)),
            r"has 3 scales, but Orthant\(2\) has 2 coordinates",
        ),
        (
            lambda: BallPower().evaluate(X, Orthant(2)),
            r"BallPower\(p=2.0\) is made for a Ball, got Orthant\(2\)",
        ),
        (
            lambda: ProductOfParts().evaluate(X, Ball(2)),
            r"is made for a Simplex, got Ball\(2\). Use Boundary",
        ),
        (lambda: GeometricMean().evaluate(X, Ball(2)), r"GeometricMean\(\) is made for a Simplex"),
        (lambda: BoxProduct().evaluate(X, Ball(2)), "is made for a Box"),
        (lambda: BoxProduct().fitted(X, Ball(2)), "is made for a Box"),
        (
            lambda: BoundaryDistance().evaluate(X, Euclidean(2)),
            r"Euclidean\(2\) has no boundary.*Use Langevin\(\)",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_wrong_domain_is_a_domain_error():
    with pytest.raises(DomainError):
        BallPower().evaluate(X, Orthant(2))


def test_function_that_fails_next_to_the_data():
    def picky(x):
        return np.where(np.isin(x[:, 0], X[:, 0]), 1.0, nan)

    with pytest.raises(InputError, match=r"picky\) cannot be differentiated numerically at 3 of 3 rows"):
        Auxiliary(picky).evaluate(X, Box(0, [1, 1]))


def test_noise_is_reported():
    rng = np.random.default_rng(0)
    noisy = Auxiliary(lambda x: x.sum(axis=1) + 1e-3 * rng.standard_normal(len(x)))
    with pytest.warns(NumericalScoreWarning, match=r"doubtful at 3 of 3 rows.*pass its derivatives"):
        noisy.evaluate(X, Box(0, [1, 1]))


def test_operators_may_pass_any_model_with_a_score():
    model = SimpleNamespace(score=lambda x: -x)
    g, dg = BallPower().evaluate(X, Ball(2))
    np.testing.assert_allclose(
        BallPower().drift(X, g, dg, model), -(1 - (X**2).sum(axis=1))[:, None] * X - 2 * X
    )


class Edge:
    """A plain object with the one method that is required: g = 1 − ‖x‖² on the unit ball."""

    def evaluate(self, x, domain):
        return 1.0 - (x**2).sum(axis=1), -2.0 * x

    def __repr__(self):
        return "Edge()"


def test_a_plain_object_with_evaluate_is_an_auxiliary_function():
    model = gs.families.Truncated(gs.families.Normal([0.0, 0.0], 1.0), Ball(2))
    x = model.sample(60, rng=1)
    own, ours = (gs.Standardised(g) for g in (Edge(), BallPower(2)))
    assert repr(own) == "Standardised(auxiliary=Edge())"
    np.testing.assert_allclose(
        gs.stein_matrix(x, model, operator=own), gs.stein_matrix(x, model, operator=ours), rtol=1e-12
    )
    found = [gs.ksd_test(x, model, operator=operator, rng=1).pvalue for operator in (own, ours)]
    assert found[0] == found[1]
    assert gs.audit(model, operator=own, rng=1).valid
    assert gs.select(x, model, operators=[Edge()], rng=1).operator.operator.auxiliary.given.__class__ is Edge
    learnt = gs.auxiliary.learn(x[:30], model, boundary=Edge(), rng=1)
    assert gs.audit(model, operator=gs.Standardised(learnt), rng=1).valid
    chart = gs.Coordinate(Edge())
    assert pickle.loads(pickle.dumps(chart)).auxiliary.value(x, Ball(2)).shape == (60,)
