"""Stein's identity, E_q h(·, y) = 0 for every y, by quadrature; and its failure where it has to fail.

No sampling is involved. The nodes are chosen so that the integrand is smooth between them, kinks of g and
singularities of q included, and the density at the nodes is written anew. The identity then holds to
rounding; what breaks it is off by a tenth.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.linalg import helmert

import goodstein as gs
from definitions import BELL, BOWL, ENTROPIC, TANGENTIAL
from goodstein.adapters import as_model
from goodstein.data import Points
from goodstein.families import (
    Dirichlet,
    GaussianMixture,
    Laplace,
    LogisticNormal,
    Normal,
    StudentT,
    Truncated,
    Uniform,
)
from goodstein.kernels import IMQ, Gaussian
from goodstein.problems.problem import Problem
from goodstein.stein.features import SteinFeatures, SteinForm

Array = np.ndarray
Rule = tuple[Array, Array]  # points (n, d), and weights (n,) that contain the density


def features(rule: Rule, model: Any, operator: Any, y: Any) -> SteinFeatures:
    """The operator at the y, and then at the nodes."""
    model = as_model(model)
    data = np.vstack([y, rule[0]])
    observed = data if isinstance(data, gs.Data) else Points(data)
    return Problem(observed, model, model.domain, operator, IMQ(1.0)).features


def mean(form: SteinForm, rule: Rule, absolute: bool = False) -> Array:
    """E_q h(·, y) for the y in the first rows of the form, relative to E_q |h(·, y)| unless absolute."""
    count = form.n - len(rule[1])
    h = form.block(slice(0, count), slice(count, form.n))
    w = rule[1] / rule[1].sum()
    return h @ w / (1.0 if absolute else np.abs(h) @ w)


# --- quadrature ----------------------------------------------------------------------------------


def panels(edges: Any, order: int = 20) -> Rule:
    """Gauss–Legendre between consecutive edges; both results (n,)."""
    node, weight = leggauss(order)
    edges = np.asarray(edges, dtype=float)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()


def line(density, kink: float = 0.0) -> Rule:
    """R, split at the kink; x = kink + sinh t reaches 1e8, so that heavy tails are integrated too."""
    t, w = panels(np.linspace(-20, 20, 121))
    x = kink + np.sinh(t)
    return x[:, None], w * np.cosh(t) * density(x)


def half_line(density, kink: float = 0.8) -> Rule:
    """(0, 80), split at the kink; x = t², so that densities like x^(−1/2) are smooth in t."""
    t, w = panels(np.sqrt(kink) * np.concatenate([np.linspace(0, 1, 6), np.linspace(1, 10, 31)[1:]]))
    return t[:, None] ** 2, w * 2 * t * density(t**2)


def interval(density) -> Rule:
    """(0, 1), split at ½; x = sin²t, so that square roots at both ends are smooth in t."""
    t, w = panels([0, np.pi / 4, np.pi / 2], order=40)
    x = np.sin(t) ** 2
    return x[:, None], w * np.sin(2 * t) * density(x)


def rectangle(x: Any, y: Any, order: int = 24) -> Rule:
    """Between two numbers each; those of y may be functions of x."""
    s, w = panels([0, 1], order)
    first = x[0] + (x[1] - x[0]) * s
    low, high = (bound(first) if callable(bound) else np.full(order, bound) for bound in y)
    second = low[:, None] + (high - low)[:, None] * s
    weight = (x[1] - x[0]) * w[:, None] * (high - low)[:, None] * w
    return np.column_stack([np.repeat(first, order), second.ravel()]), weight.ravel()


def triangle(a, b, c, order: int = 24) -> Rule:
    """A triangle, by lines through its first corner."""
    a, b, c = (np.asarray(corner, dtype=float) for corner in (a, b, c))
    t, w = panels([0, 1], order)
    s, t, w = np.repeat(t, order), np.tile(t, order), np.outer(w, w).ravel()
    x = a + s[:, None] * ((1 - t)[:, None] * (b - a) + t[:, None] * (c - a))
    return x, w * s * abs(np.linalg.det([b - a, c - a]))


def star(centre, ring) -> list[Rule]:
    """Triangles from a centre to the edges; if it is equidistant, each has its own edge as the nearest."""
    return [triangle(centre, a, b) for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]


def union(rules: list[Rule], density) -> Rule:
    x = np.vstack([points for points, _ in rules])
    return x, np.concatenate([weight for _, weight in rules]) * density(x)


def disc(density, ball) -> Rule:
    """Polar; r = R·s⁴, so that powers like r^(1/2) are smooth in s."""
    s, w = panels([0, 1], order=40)
    angle = 2 * np.pi * np.arange(64) / 64
    r = ball.radius * s**4
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    x = ball.center + (r[:, None, None] * direction).reshape(-1, 2)
    return x, np.repeat(w * 4 * s**3 * r, 64) * density(x)


def square_ring(density) -> Rule:
    """[0, 3]² without [1, 2]², cut along its medial axis.

    In the corner [0, 1]² the nearest point is on y = 0, on x = 0 or the hole's corner (1, 1); the latter two
    are equally near on the parabola y = (1 + (1 − x)²)/2, which in polar coordinates about (1, 1) is
    r = 1/(1 + sin θ), and which meets the diagonal at x = 2 − √2. The rest follows by symmetry.
    """
    meet = 2 - np.sqrt(2)
    below = [
        rectangle((0, meet), (0, lambda x: x)),
        rectangle((meet, 1), (0, lambda x: (1 + (1 - x) ** 2) / 2)),
    ]
    polar, w = rectangle((np.pi / 4, np.pi / 2), (0, lambda angle: 1 / (1 + np.sin(angle))))
    angle, r = polar.T
    below.append((1 - r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), w * r))
    sides = [rectangle((1, 2), (0, 0.5)), rectangle((1, 2), (0.5, 1))]
    pieces = below + [(x[:, ::-1], w) for x, w in below] + sides
    rules = []
    for _ in range(4):
        rules += pieces
        pieces = [(np.column_stack([3 - x[:, 1], x[:, 0]]), w) for x, w in pieces]
    return union(rules, density)


def half_plane(density) -> Rule:
    """x·n ≥ 0.3 with n = (0.8, 0.6), in coordinates across and along the edge."""
    (across, w), (along, v) = half_line(np.ones_like, 0.2), panels(np.linspace(-8, 8, 9))
    x = 0.3 + np.repeat(across[:, 0], len(along)), np.tile(along, len(across))
    points = np.column_stack(x) @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    return points, np.outer(w, v).ravel() * density(points)


def simplex(density, nearest: float = 0.0, order: int = 40) -> Rule:
    """Three parts, in six sectors by their order, in each of which min x_i is smooth.

    With x_a < x_b < x_c let x_b = t·x_c and x_a = s·x_b; s and t are sixth powers, so that square and cube
    roots of parts are smooth. In log-ratios dx = x_a x_b x_c d(log s) d(log t). `nearest` leaves out s below
    it, that is a strip along each face.
    """
    (s, w), (t, v) = panels([nearest ** (1 / 6), 1], order), panels([0, 1], order)
    s, t, w = np.repeat(s, order), np.tile(t, order), np.outer(w, v).ravel()
    largest = 1 / (1 + t**6 + s**6 * t**6)
    parts = np.column_stack([s**6 * t**6 * largest, t**6 * largest, largest])
    w = w * parts.prod(axis=1) * 36 / (s * t)
    x = np.vstack([parts[:, list(permuted)] for permuted in itertools.permutations(range(3))])
    return x, np.tile(w, 6) * density(x)


def log_ratios(mean, cov) -> Rule:
    """Three parts whose log-ratios are normal."""
    z, w = panels(np.linspace(-8, 8, 17), order=14)
    z, w = np.column_stack([np.repeat(z, len(z)), np.tile(z, len(z))]), np.outer(w, w).ravel()
    logs = (np.asarray(mean) + z @ np.linalg.cholesky(cov).T) @ helmert(3)
    x = np.exp(logs - logs.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True), w * np.exp(-0.5 * (z**2).sum(axis=1))


# --- densities -----------------------------------------------------------------------------------


def gaussian(mean, cov):
    precision = np.linalg.inv(cov)
    return lambda x: np.exp(-0.5 * np.einsum("ni,ij,nj->n", x - mean, precision, x - mean))


def dirichlet(*alpha):
    return lambda x: np.prod(x ** (np.asarray(alpha) - 1), axis=1)


def beta(a, b):
    return lambda x: x ** (a - 1) * (1 - x) ** (b - 1)


def beta_model(a, b):
    return gs.Model(score=lambda x: (a - 1) / x - (b - 1) / (1 - x), domain=gs.Box(0, 1), name="beta")


def gamma(shape):
    return lambda x: x ** (shape - 1) * np.exp(-x)


def gamma_model(shape):
    return gs.Model(score=lambda x: (shape - 1) / x - 1, domain=gs.Orthant(1), name="gamma")


def two_bumps(x):
    return 0.3 * np.exp(-((x + 1) ** 2) / 2) + 0.7 * np.sqrt(2) * np.exp(-((x - 2) ** 2))


def one(x):
    return np.ones(len(x))


# --- where it holds ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """A model, a rule for its density, and operators; y are the points at which the identity is tested."""

    name: str
    model: Any
    rule: Rule
    operators: list
    y: Any
    tolerance: float = 1e-10


COV = np.array([[1.0, 0.4], [0.4, 0.7]])
NORMAL, BUMP = Normal([0.5, 0.2], COV), gaussian([0.5, 0.2], COV)
BALL = gs.Ball(2, radius=1.5, center=[0.5, -0.2])
SQUARE = gs.Box(0, [1, 1])
CORNERS = np.array([(0.0, 0.0), (3.0, 0.0), (1.0, 2.0)])
SIDES = np.linalg.norm(np.roll(CORNERS, -1, axis=0) - np.roll(CORNERS, 1, axis=0), axis=1)
IN_TRIANGLE = union(
    star(SIDES @ CORNERS / SIDES.sum(), CORNERS), BUMP
)  # from the centre of the inscribed circle
TRIANGLE = gs.Polytope([[0, -1], [2, 2], [-2, 1]], [0, 6, 0])
HALF_PLANE = gs.Polytope([[-0.8, -0.6]], [-0.3])
SQUARE_RING = gs.Polygon([(0, 0), (3, 0), (3, 3), (0, 3)], holes=[[(1, 1), (2, 1), (2, 2), (1, 2)]])

DISTANCE = gs.Standardised(gs.BoundaryDistance())
CUT = gs.Standardised(gs.BoxProduct(0.8))
PARTS = gs.Standardised(gs.ProductOfParts())
POWERS = [gs.Standardised(gs.BallPower(p)) for p in (0.5, 1, 2, 4)]
SIMPLEX = [PARTS, gs.Standardised(gs.ProductOfParts(2)), DISTANCE, gs.Mirrored(), ENTROPIC]
GEOMETRIC = gs.Standardised(gs.GeometricMean())
DEFAULT, LANGEVIN, MIRRORED = gs.Standardised(), gs.Langevin(), gs.Mirrored()
BELL_, BOWL_ = gs.Standardised(BELL), gs.Standardised(BOWL)

LINE_Y, HALF_Y, UNIT_Y = [[0.3], [-1.5], [4.0]], [[0.1], [1.0], [5.0]], [[0.1], [0.5], [0.97]]
PLANE_Y, DISC_Y = [(0.5, 0.2), (0.01, 0.9)], [(0.5, 0.2), (1.2, -0.2), (0.51, -0.21)]
PARTS_Y = [(0.2, 0.3, 0.5), (0.7, 0.1, 0.2), (0.01, 0.95, 0.04)]

# Logarithms of parts near a face are no polynomials in s and t: more nodes, fewer digits.
LOGARITHMIC = 1e-8

HOLDS = [
    Instance(
        "normal",
        Normal(0.3, 1.7),
        line(lambda x: np.exp(-((x - 0.3) ** 2) / 3.4)),
        [LANGEVIN, BELL_, BOWL_],
        LINE_Y,
    ),
    Instance(
        "mixture", GaussianMixture([0.3, 0.7], [-1, 2], [1, 0.5]), line(two_bumps), [LANGEVIN, BELL_], LINE_Y
    ),
    Instance("Student", StudentT(5), line(lambda x: (1 + x**2 / 5) ** -3), [LANGEVIN, BELL_, BOWL_], LINE_Y),
    Instance(
        "Laplace",
        Laplace(0.4, 2),
        line(lambda x: np.exp(-np.abs(x - 0.4) / 2), 0.4),
        [LANGEVIN, BELL_],
        LINE_Y,
    ),
    Instance("exponential", gamma_model(1), half_line(gamma(1)), [CUT, MIRRORED], HALF_Y),
    Instance("gamma(½)", gamma_model(0.5), half_line(gamma(0.5)), [CUT, MIRRORED], HALF_Y),
    Instance("gamma(5/2)", gamma_model(2.5), half_line(gamma(2.5)), [LANGEVIN, CUT, MIRRORED], HALF_Y),
    Instance("uniform", Uniform(gs.Box(0, 1)), interval(one), [DEFAULT, MIRRORED, DISTANCE], UNIT_Y),
    Instance(
        "Beta(½, ½)", beta_model(0.5, 0.5), interval(beta(0.5, 0.5)), [DEFAULT, MIRRORED, DISTANCE], UNIT_Y
    ),
    Instance(
        "Beta(3/2, 3)",
        beta_model(1.5, 3),
        interval(beta(1.5, 3)),
        [LANGEVIN, DEFAULT, MIRRORED, DISTANCE],
        UNIT_Y,
    ),
    Instance("disc", Truncated(NORMAL, BALL), disc(BUMP, BALL), [*POWERS, DISTANCE], DISC_Y),
    Instance("unit disc", Truncated(NORMAL, gs.Ball(2)), disc(BUMP, gs.Ball(2)), [TANGENTIAL], PLANE_Y),
    Instance(
        "square",
        Truncated(NORMAL, SQUARE),
        union([rectangle((0, 1), (0, 1))], BUMP),
        [DEFAULT, MIRRORED],
        PLANE_Y,
    ),
    Instance(
        "square, distance",
        Truncated(NORMAL, SQUARE),
        union(star((0.5, 0.5), [(0, 0), (1, 0), (1, 1), (0, 1)]), BUMP),
        [DISTANCE],
        PLANE_Y,
    ),
    Instance("triangle", Truncated(NORMAL, TRIANGLE), IN_TRIANGLE, [DEFAULT], [(1.5, 0.2), (0.3, 0.1)]),
    Instance(
        "triangle, as a polygon",
        Truncated(NORMAL, gs.Polygon(CORNERS)),
        IN_TRIANGLE,
        [DEFAULT],
        [(1.5, 0.2), (0.3, 0.1)],
    ),
    Instance(
        "half-plane", Truncated(NORMAL, HALF_PLANE), half_plane(BUMP), [DEFAULT], [(1.0, 1.0), (2.5, 0.0)]
    ),
    Instance(
        "polygon with a hole",
        Truncated(NORMAL, SQUARE_RING),
        square_ring(BUMP),
        [DEFAULT],
        [(0.5, 0.5), (1.5, 0.9), (2.9, 2.5)],
    ),
    Instance(
        "Dirichlet(2, 3/2, 3)",
        Dirichlet([2, 1.5, 3]),
        simplex(dirichlet(2, 1.5, 3)),
        [*SIMPLEX, LANGEVIN, GEOMETRIC],
        PARTS_Y,
    ),
    Instance(
        "Dirichlet(½, ½, ½)", Dirichlet([0.5, 0.5, 0.5]), simplex(dirichlet(0.5, 0.5, 0.5)), SIMPLEX, PARTS_Y
    ),
    Instance("uniform compositions", Uniform(gs.Simplex(3)), simplex(one), SIMPLEX, PARTS_Y),
    Instance(
        "Dirichlet(2, 3/2, 3), log-ratios",
        Dirichlet([2, 1.5, 3]),
        simplex(dirichlet(2, 1.5, 3), order=80),
        [gs.LogRatio()],
        PARTS_Y,
        LOGARITHMIC,
    ),
    Instance(
        "Dirichlet(½, ½, ½), log-ratios",
        Dirichlet([0.5, 0.5, 0.5]),
        simplex(dirichlet(0.5, 0.5, 0.5), order=80),
        [gs.LogRatio()],
        PARTS_Y,
        LOGARITHMIC,
    ),
    Instance(
        "logistic normal",
        LogisticNormal([0.2, -0.4], COV),
        log_ratios([0.2, -0.4], COV),
        [gs.LogRatio(), MIRRORED, PARTS],
        PARTS_Y,
    ),
]


@pytest.mark.parametrize("instance", HOLDS, ids=lambda instance: instance.name)
def test_the_identity_holds(instance):
    for operator in instance.operators:
        given = features(instance.rule, instance.model, operator, instance.y)
        for kernel in (IMQ(0.7), Gaussian(0.6)):
            error = np.abs(mean(SteinForm(given, kernel), instance.rule)).max()
            assert error <= instance.tolerance, f"{operator!r}, {kernel!r}: {error:.2g}"


# --- where it fails ------------------------------------------------------------------------------

ONE_FACE = gs.Standardised(gs.Auxiliary(lambda x: x[:, 0], lambda x: np.array([1.0, 0.0]) + 0 * x))
SWAPPED = gs.Standardised(gs.Auxiliary(lambda x: (x * (1 - x))[:, ::-1], np.zeros_like))
AMBIENT = gs.MatrixStandardised(ENTROPIC.G, lambda x: 1 - (x.shape[1] + 1) * x)

FAILS = [
    Instance(
        "no g at an edge of positive density",
        Truncated(Normal(), gs.Box(0, 1)),
        interval(lambda x: np.exp(-(x**2) / 2)),
        [LANGEVIN],
        UNIT_Y,
    ),
    Instance("no g, exponential", gamma_model(1), half_line(gamma(1)), [LANGEVIN], HALF_Y),
    Instance("no g, disc", Truncated(NORMAL, BALL), disc(BUMP, BALL), [LANGEVIN, BOWL_], DISC_Y),
    Instance(
        "no g, polygon with a hole",
        Truncated(NORMAL, SQUARE_RING),
        square_ring(BUMP),
        [LANGEVIN],
        [(0.5, 0.5), (1.5, 0.9), (2.9, 2.5)],
    ),
    Instance(
        "g of one face, square",
        Truncated(NORMAL, SQUARE),
        union([rectangle((0, 1), (0, 1))], BUMP),
        [ONE_FACE],
        PLANE_Y,
    ),
    Instance(
        "g_i of the other coordinate",
        Truncated(NORMAL, SQUARE),
        union([rectangle((0, 1), (0, 1))], BUMP),
        [SWAPPED],
        PLANE_Y,
    ),
    Instance("no g, simplex", Uniform(gs.Simplex(3)), simplex(one), [LANGEVIN], PARTS_Y),
    Instance(
        "ambient divergence 1 − (d+1)x",
        Dirichlet([2, 1.5, 3]),
        simplex(dirichlet(2, 1.5, 3)),
        [AMBIENT],
        PARTS_Y,
    ),
]


@pytest.mark.parametrize("instance", FAILS, ids=lambda instance: instance.name)
def test_the_identity_fails(instance):
    for operator in instance.operators:
        given = features(instance.rule, instance.model, operator, instance.y)
        for kernel in (IMQ(0.7), Gaussian(0.6)):
            assert np.abs(mean(SteinForm(given, kernel), instance.rule)).max() > 0.1, (
                f"{operator!r}, {kernel!r}"
            )


@pytest.mark.parametrize(
    ("operator", "growth"), [(GEOMETRIC, 10**0.5), (PARTS, 10**-1.5), (DISTANCE, 10**-1.5)]
)
def test_the_flux_through_the_faces_grows_or_vanishes_like_q_times_g(operator, growth):
    """Dirichlet(½, ½, ½) without strips of width ε along the faces: E h ~ ε^(a − 1/2) if g ~ δ^a."""
    values = []
    for nearest in (1e-3, 1e-6, 1e-9):
        rule = simplex(dirichlet(0.5, 0.5, 0.5), nearest)
        given = features(rule, Dirichlet([0.5, 0.5, 0.5]), operator, PARTS_Y[:1])
        values.append(mean(SteinForm(given, Gaussian(0.6)), rule, absolute=True)[0])
    np.testing.assert_allclose(np.divide(values[1:], values[:-1]), growth, rtol=0.05)


def test_a_slow_auxiliary_function_makes_the_expectation_diverge():
    """∫T1·q over x > ε for q = x^(−1/2)(1−x), g = x^(1/3)(1−x) is −ε^(−1/6): −3.2, −10, −32."""
    g = gs.Auxiliary(
        lambda x: x[:, 0] ** (1 / 3) * (1 - x[:, 0]),
        lambda x: x ** (-2 / 3) * (1 - x) / 3 - x ** (1 / 3),
    )
    for epsilon, expected in [(1e-3, -3.2), (1e-6, -10), (1e-9, -32)]:
        t, w = panels(np.linspace(np.log(epsilon), 0, 81))
        x = np.exp(t)[:, None]
        drift = gs.Standardised(g).features(beta_model(0.5, 2), gs.Box(0, 1), x).value[:, 0]
        assert drift @ (w * np.exp(t) * beta(0.5, 2)(np.exp(t))) == pytest.approx(expected, rel=0.02)


def test_features_in_ambient_coordinates_would_be_biased():
    """Made of unprojected drifts the library's form has a mean, made of its own it has none."""
    model, rule = Dirichlet([2, 1.5, 3]), simplex(dirichlet(2, 1.5, 3))
    data = np.vstack([PARTS_Y, rule[0]])
    g, dg = gs.ProductOfParts().evaluate(data, model.domain)
    naive = SteinFeatures(data, g[:, None] * model.score(data) + dg, g)
    assert mean(SteinForm(naive, Gaussian(0.4)), rule).min() > 0.4
    ours = features(rule, model, PARTS, PARTS_Y)
    assert np.abs(mean(SteinForm(ours, Gaussian(0.4)), rule)).max() < 1e-12


def test_auxiliary_functions_of_single_faces_are_invalid_on_the_simplex():
    """Uniform, in two free coordinates, with g_i = x_i and f = 1: E_q T_i f = 1, from the third face."""
    corner = gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    rule = union([triangle((0, 0), (1, 0), (0, 1))], one)
    own_face = gs.Standardised(gs.Auxiliary(lambda x: x, np.ones_like))
    given = features(rule, Uniform(corner), own_face, np.empty((0, 2)))
    np.testing.assert_allclose(rule[1] @ given.value / rule[1].sum(), 1.0)
    both = gs.Standardised(
        gs.Auxiliary(
            lambda x: x * (1 - x.sum(axis=1, keepdims=True)), lambda x: 1 - x.sum(axis=1, keepdims=True) - x
        )
    )
    given = features(rule, Uniform(corner), both, np.empty((0, 2)))
    np.testing.assert_allclose(rule[1] @ given.value, 0.0, atol=1e-15)


def test_the_printed_kernel_has_a_mean_and_ours_has_none():
    """Without the cross terms E_q E_q h = 0.083 for N(0, 1), g = 1/(1+x²); see E1 of the errata."""
    x, w = panels(np.linspace(-9, 9, 31))
    w = w * np.exp(-(x**2) / 2)
    w /= w.sum()
    ours = gs.stein_matrix(x, Normal(), operator=BELL_, kernel=Gaussian(1.0))
    g, s = 1 / (1 + x**2), -x
    dg, r = -2 * x * g**2, x[:, None] - x
    k = np.exp(-(r**2) / 2)
    left, right = -r * k, r * k  # ∂k and ∂′k
    cross = np.outer(dg, g) * (s * k + right) + np.outer(g, dg) * (s[:, None] * k + left)
    assert w @ ours @ w == pytest.approx(0.0, abs=1e-15)
    assert w @ (ours - cross) @ w == pytest.approx(0.083, abs=5e-4)
