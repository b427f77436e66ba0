"""Operators of points by their definition.

A :class:`Case` is a test as a user composes it, and beside it what its definition needs and nothing of
the library's: the coordinates u that the kernel sees, the density q(u) and the matrix G(u) of

    (T f)(u) = q(u)⁻¹ Σ_ij ∂_i( q(u) G_ij(u) f_j(u) ),

all written anew in JAX, from the textbooks, and differentiated by it. See ``test_definition.py``.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import helmert

import goodstein as gs
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
from goodstein.kernels import IMQ
from goodstein.problems.problem import Problem
from goodstein.stein.features import SteinFeatures

Array = np.ndarray
Function = Callable[[Any], Any]
Target = tuple[Any, Function]


def double_precision():
    """A context for everything in JAX here; other tests see JAX as it is."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64(True)


def evaluated(function: Function, *arguments: Any) -> Array:
    """A JAX function in double precision, compiled as a whole: call by call takes many times as long."""
    with double_precision():
        return np.asarray(jax.jit(function)(*map(jnp.asarray, arguments)))


def at_pairs(h: Function, xs: Any, ys: Any) -> Array:
    """h(x, y) in JAX at all pairs of rows."""
    return evaluated(jax.vmap(jax.vmap(h, (None, 0)), (0, None)), xs, ys)


def assert_same(got: Array, expected: Array, rtol: float, message: str = "") -> None:
    """Entries of H equal up to rtol·√(h(x, x) h(y, y)), the largest that |h(x, y)| can be."""
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    worst = float(np.max(np.abs(got - expected) / size))
    assert worst <= rtol, f"{message}: entries differ by {worst:.2g}"


def check_form(form: Any) -> Array:
    """Blocks, diagonal, rows taken and copies are pieces of one symmetric positive matrix; returns it."""
    n = form.n
    whole, size = form.matrix(), np.abs(form.diagonal()).max()
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=1e-12 * size)
    eigenvalues = np.linalg.eigvalsh(whole)
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    # √ρ in a Matérn kernel turns a rounding error of 1e-15 into 3e-8, so that the diagonal has less digits.
    np.testing.assert_allclose(
        np.diag(form.block(slice(0, n), slice(0, n))), form.diagonal(), atol=1e-7 * size
    )
    for rows, cols in [(slice(1, 4), slice(2, n)), (slice(3, 4), slice(0, 3)), (slice(0, n), slice(0, 1))]:
        block = form.block(rows, cols).copy()
        expected = whole[rows, cols]
        np.testing.assert_allclose(block, expected, rtol=0, atol=1e-7 * size)
        np.testing.assert_allclose(form.block(cols, rows).T, block, rtol=0, atol=1e-12 * size)
    some = np.array([0, 2, 3, n - 1])
    np.testing.assert_allclose(form.columns(some), whole[:, some], rtol=0, atol=1e-7 * size)
    order = np.random.default_rng(1).permutation(n)[: n - 2]
    taken = form.take(order)
    np.testing.assert_allclose(taken.matrix(), whole[np.ix_(order, order)], rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(taken.diagonal(), form.diagonal()[order], rtol=0, atol=1e-11 * size)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(form)).matrix(), whole)
    assert form.mean() == pytest.approx(whole.mean(), rel=1e-9, abs=1e-14 * size)
    return whole


@dataclass(frozen=True)
class Chart:
    """Coordinates of a domain: `coordinates` of points (n, d), and back, `point`, of one u in JAX."""

    coordinates: Function
    point: Function
    frame: Array | None = None  # rows that span the tangent space, for ambient matrices
    curved: bool = False  # whether the map changes volumes by more than a constant


@dataclass(frozen=True, eq=False)
class Case:
    """One test and its definition; see the text of the module."""

    name: str
    domain: Any
    operator: Any
    model: Any
    data: Array
    coordinates: Function  # NumPy, (n, d) to (n, m)
    point: Function  # JAX, (m,) to (d,)
    logq: Function  # JAX, (m,) to a number, up to a constant
    G: Function  # JAX, (m,) to (m, J)
    rtol: float = 1e-12

    def stein_matrix(self, kernel: Any) -> Array:
        """As a user gets it."""
        return gs.stein_matrix(
            self.data, self.model, domain=self.domain, operator=self.operator, kernel=kernel
        )

    @cached_property
    def features(self) -> SteinFeatures:
        """The operator at the data."""
        return Problem(
            Points(self.data), as_model(self.model).on(self.domain), self.domain, self.operator, IMQ(1.0)
        ).features

    @cached_property
    def m(self) -> int:
        """Number of coordinates that the kernel sees."""
        return self.coordinates(self.data).shape[1]

    @cached_property
    def square(self) -> bool:
        """Whether there are as many test functions as coordinates."""
        with double_precision():
            rows, columns = jax.eval_shape(self.G, np.zeros(self.m)).shape
        return rows == columns


def case(name, operator, target, weight, data, *, domain=None, chart=None, rtol=1e-12) -> Case:
    """A case from density and weight as functions of the point x in the ambient space.

    `target` is a model and its log density, with respect to Lebesgue measure on the domain, so that a
    curved chart adds the logarithm of its volume element; `weight` is a number, a vector (the diagonal)
    or a matrix (d, J).
    """
    model, log_density = target
    domain = model.domain if domain is None else domain
    if chart is None:
        chart = tangent(domain.parts) if isinstance(domain, gs.Simplex) else FLAT

    def logq(u):
        value = log_density(chart.point(u))
        if chart.curved:
            jacobian = jax.jacfwd(chart.point)(u)
            value = value + 0.5 * jnp.linalg.slogdet(jacobian.T @ jacobian)[1]
        return value

    def G(u):
        matrix = jnp.asarray(weight(chart.point(u)))
        if matrix.ndim == 2:
            return matrix if chart.frame is None else chart.frame @ matrix
        return matrix * jnp.eye(len(u))

    data = np.asarray(data, dtype=float)
    return Case(name, domain, operator, model, data, chart.coordinates, chart.point, logq, G, rtol)


# --- coordinates -----------------------------------------------------------------------------

FLAT = Chart(lambda x: x, lambda u: u)


def tangent(parts: int) -> Chart:
    """Orthonormal coordinates in the plane of the simplex."""
    frame = helmert(parts)
    return Chart(lambda x: x @ frame.T, lambda u: u @ frame + 1 / parts, frame)


def logratio(parts: int) -> Chart:
    """Isometric log-ratios."""
    frame = helmert(parts)
    return Chart(lambda x: np.log(x) @ frame.T, lambda u: jax.nn.softmax(u @ frame), curved=True)


# --- models, each with its log density up to a constant --------------------------------------


def quadratic(mean, cov) -> Function:
    mean, precision = np.atleast_1d(mean), np.linalg.inv(np.atleast_2d(cov))
    return lambda x: (x - mean) @ precision @ (x - mean)


def normal(mean, cov) -> Target:
    return Normal(mean, cov), lambda x: -0.5 * quadratic(mean, cov)(x)


def mixture(weights, means, covs) -> Target:
    def log_density(x):
        terms = []
        for weight, mean, cov in zip(weights, means, covs, strict=True):
            terms.append(math.log(weight) - 0.5 * np.linalg.slogdet(cov)[1] - 0.5 * quadratic(mean, cov)(x))
        return jax.nn.logsumexp(jnp.stack(terms))

    return GaussianMixture(weights, means, covs), log_density


def student(df, loc, shape) -> Target:
    power = 0.5 * (df + len(loc))
    return StudentT(df, loc, shape), lambda x: -power * jnp.log(1 + quadratic(loc, shape)(x) / df)


def laplace(loc, scale) -> Target:
    return Laplace(loc, scale), lambda x: -jnp.sum(jnp.abs(x - np.asarray(loc)) / np.asarray(scale))


def dirichlet(*alpha) -> Target:
    return Dirichlet(alpha), lambda x: jnp.sum((np.asarray(alpha) - 1) * jnp.log(x))


def logistic_normal(mean, cov) -> Target:
    """The normal density of V log x, times ∏ 1/x to make it one of Lebesgue measure on the simplex."""
    contrasts = helmert(len(mean) + 1)
    return LogisticNormal(
        mean, cov
    ), lambda x: -0.5 * quadratic(mean, cov)(contrasts @ jnp.log(x)) - jnp.sum(jnp.log(x))


def uniform(domain) -> Target:
    return Uniform(domain), lambda x: 0.0


def truncated(target, domain) -> Target:
    return Truncated(target[0], domain), target[1]


def beta(a, b) -> Target:
    model = gs.Model(score=lambda x: (a - 1) / x - (b - 1) / (1 - x), domain=gs.Box(0, 1), name="beta")
    return model, lambda x: (a - 1) * jnp.log(x[0]) + (b - 1) * jnp.log1p(-x[0])


def gamma(shape, rate) -> Target:
    shape, rate = np.atleast_1d(shape), np.atleast_1d(rate)
    model = gs.Model(score=lambda x: (shape - 1) / x - rate, domain=gs.Orthant(len(shape)), name="gamma")
    return model, lambda x: jnp.sum((shape - 1) * jnp.log(x) - rate * x)


def quartic(xp) -> Function:
    """A log density that no family has, of one point or of all, in NumPy or JAX."""
    return lambda x: -0.25 * xp.sum(x**4, axis=-1) + 0.5 * x[..., 0] * x[..., 1]


# --- auxiliary functions g and matrices G ----------------------------------------------------


def one(x):
    return 1.0


def ball_power(p, ball) -> Function:
    return lambda x: 1 - (jnp.linalg.norm(x - ball.center) / ball.radius) ** p


def ball_distance(ball) -> Function:
    return lambda x: ball.radius - jnp.linalg.norm(x - ball.center)


def box_distance(box) -> Function:
    return lambda x: jnp.min(jnp.concatenate([x - box.lower, box.upper - x]))


def simplex_distance(parts) -> Function:
    """To the face x_i = 0 along its normal within the simplex, the projection of e_i."""
    normal = np.eye(parts)[0] - 1 / parts
    return lambda x: jnp.min(x) / np.linalg.norm(normal)


def halfspace_distance(polytope) -> Function:
    norms = np.linalg.norm(polytope.A, axis=1)
    return lambda x: jnp.min((polytope.b - polytope.A @ x) / norms)


def edge_distance(*rings) -> Function:
    """To the nearest edge of closed rings of vertices, by the foot on each."""
    start = np.concatenate([np.asarray(ring, dtype=float) for ring in rings])
    end = np.concatenate([np.roll(np.asarray(ring, dtype=float), -1, axis=0) for ring in rings])
    along = end - start

    def distance(x):
        t = jnp.clip(jnp.sum((x - start) * along, axis=1) / np.sum(along**2, axis=1), 0, 1)
        return jnp.min(jnp.linalg.norm(x - start - t[:, None] * along, axis=1))

    return distance


def parts(power) -> Function:
    return lambda x: jnp.prod(x) ** power


def parts_matrix(x):
    return jnp.prod(x) * jnp.eye(len(x))


def box_product(box, scale) -> Function:
    """(x − a)(b − x)/(b − a), min(σ, x − a), min(σ, b − x) or σ, whichever ends are finite."""

    def g(x):
        values = []
        for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
            sigma = np.broadcast_to(scale, box.dim)[i]
            if np.isfinite(low) and np.isfinite(high):
                values.append((x[i] - low) * (high - x[i]) / (high - low))
            elif np.isfinite(low):
                values.append(jnp.minimum(sigma, x[i] - low))
            else:
                values.append(jnp.minimum(sigma, high - x[i]) if np.isfinite(high) else 0 * x[i] + sigma)
        return jnp.stack(values)

    return g


def mirrored_box(box) -> Function:
    """The same with lengths that are not cut off."""

    def g(x):
        values = []
        for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
            if np.isfinite(low) and np.isfinite(high):
                values.append((x[i] - low) * (high - x[i]) / (high - low))
            elif np.isfinite(low):
                values.append(x[i] - low)
            else:
                values.append(high - x[i] if np.isfinite(high) else 0 * x[i] + 1)
        return jnp.stack(values)

    return g


def entropic(x):
    """diag(x) − xxᵀ, all d test functions."""
    return jnp.diag(x) - jnp.outer(x, x)


def entropic_tangent(x):
    """The same with test functions in the tangent space, of which there are d − 1."""
    return entropic(x) @ helmert(len(x)).T


def away(centre, weight=None, coordinates=None, unit=1.0) -> Function:
    """G(y)(y − c), one column, for the weight G of the operator inside, in its units where it is diagonal."""

    def field(x):
        arm = (x if coordinates is None else coordinates(x)) - np.asarray(centre)
        g = jnp.asarray(1.0 if weight is None else weight(x))
        return (g @ arm if g.ndim == 2 else g * arm * unit)[:, None]

    return field


def logratio_coordinates(x):
    """Isometric log-ratios of one composition."""
    return jnp.asarray(helmert(len(x))) @ jnp.log(x)


def bell(x):
    return 1 / (1 + x[0] ** 2)


def bowl(x):
    return 1 + jnp.sum(x**2)


def tangential(x):
    return jnp.eye(len(x)) - jnp.outer(x, x)


def crossed(x):
    """A diagonal function each of whose entries depends on all coordinates."""
    return jnp.stack([1 + x[0] ** 2 + x[1] ** 2, 2 + jnp.sin(x[0] * x[1])])


def skewed(x):
    """A matrix that is not symmetric."""
    return jnp.array([[1 + x[0] ** 2, x[0] * x[1]], [jnp.sin(x[1]), 2 + jnp.cos(x[0])]])


def three_fields(x):
    return jnp.array([[1.0, x[1], x[0] * x[1]], [x[0] ** 2, 2.0, jnp.cos(x[1])]])


def one_field(x):
    return jnp.array([[1 + x[1] ** 2], [x[0]]])


# The same for the library: all points at once, with derivatives by hand.

BELL = gs.Auxiliary(lambda x: 1 / (1 + x[:, 0] ** 2), lambda x: -2 * x / (1 + x**2) ** 2)
BELL_VALUE = gs.Auxiliary(lambda x: 1 / (1 + x[:, 0] ** 2))
BOWL = gs.Auxiliary(lambda x: 1 + (x**2).sum(axis=1), lambda x: 2 * x)
BOWL_VALUE = gs.Auxiliary(lambda x: 1 + (x**2).sum(axis=1))
PARTS_VALUE = gs.Auxiliary(lambda x: x.prod(axis=1))


def _crossed(x):
    return np.column_stack([1 + x[:, 0] ** 2 + x[:, 1] ** 2, 2 + np.sin(x[:, 0] * x[:, 1])])


CROSSED = gs.Auxiliary(
    _crossed, lambda x: np.column_stack([2 * x[:, 0], x[:, 0] * np.cos(x[:, 0] * x[:, 1])])
)
CROSSED_VALUE = gs.Auxiliary(_crossed)


def _tangential(x):
    return np.eye(x.shape[1]) - x[:, :, None] * x[:, None, :]


def _tangential_divergence(x):
    return -(x.shape[1] + 1) * x


TANGENTIAL = gs.MatrixStandardised(_tangential, _tangential_divergence)
SKEWED = gs.MatrixStandardised(
    lambda x: np.moveaxis(
        np.array([[1 + x[:, 0] ** 2, x[:, 0] * x[:, 1]], [np.sin(x[:, 1]), 2 + np.cos(x[:, 0])]]), 2, 0
    ),
    lambda x: np.column_stack([2 * x[:, 0] + np.cos(x[:, 1]), x[:, 1]]),
)


def _three_fields(x):
    ones, zeros = np.ones(len(x)), np.zeros(len(x))
    rows = [[ones, x[:, 1], x[:, 0] * x[:, 1]], [x[:, 0] ** 2, 2 * ones, np.cos(x[:, 1])]]
    divergence = np.column_stack([zeros, zeros, x[:, 1] - np.sin(x[:, 1])])
    return np.moveaxis(np.array(rows), 2, 0), divergence


THREE_FIELDS = gs.MatrixStandardised(lambda x: _three_fields(x)[0], lambda x: _three_fields(x)[1])
ONE_FIELD = gs.MatrixStandardised(
    lambda x: np.stack([1 + x[:, 1] ** 2, x[:, 0]], axis=1)[:, :, None], lambda x: np.zeros((len(x), 1))
)
ENTROPIC = gs.MatrixStandardised(
    lambda x: x[:, :, None] * np.eye(x.shape[1]) - x[:, :, None] * x[:, None, :],
    lambda x: 1 - x.shape[1] * x,
)


def _parts_gradient(x):
    """The tangential gradient of ∏x."""
    gradient = x.prod(axis=1, keepdims=True) / x
    return gradient - gradient.mean(axis=1, keepdims=True)


PARTS_MATRIX = gs.MatrixStandardised(
    lambda x: x.prod(axis=1)[:, None, None] * np.eye(x.shape[1]), _parts_gradient
)


# --- points ----------------------------------------------------------------------------------

N = 8


def scattered(d: int, scale: float = 1.0) -> Array:
    return scale * np.random.default_rng(d).standard_normal((N, d))


def in_box(lower, upper, seed: int = 0) -> Array:
    lower, upper = np.broadcast_arrays(np.atleast_1d(lower), np.atleast_1d(upper))
    return np.random.default_rng([seed, len(lower)]).uniform(lower, upper, (N, len(lower)))


def in_ball(ball) -> Array:
    rng = np.random.default_rng(ball.dim)
    direction = rng.standard_normal((N, ball.dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return ball.center + ball.radius * rng.uniform(0.05, 0.98, (N, 1)) * direction


def compositions(parts: int) -> Array:
    return np.random.default_rng(parts).dirichlet(np.ones(parts), N)


def in_hull(vertices) -> Array:
    return np.random.default_rng(0).dirichlet(np.ones(len(vertices)), N) @ np.asarray(vertices, dtype=float)


# --- parameters ------------------------------------------------------------------------------

COV = np.array([[1.5, 0.6], [0.6, 0.8]])
COV5 = 1.3 * 0.5 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
MEAN5 = np.linspace(-0.5, 0.7, 5)
NORMAL1 = normal(0.3, 1.7)
NORMAL2 = normal([0.0, 1.0], COV)
NORMAL3 = normal([0.0, 0.0, 0.5], 1.2 * np.eye(3))
NORMAL4 = normal([0.3, 0.1, -0.2, 0.4], np.diag([1.0, 2.0, 0.7, 1.5]) + 0.2)
NORMAL5 = normal(MEAN5, COV5)
MIXTURE = mixture([0.3, 0.7], np.array([[-1.0, 0.5], [1.0, 0.0]]), np.array([COV, 0.5 * np.eye(2)]))
SPIKY = dirichlet(0.5, 0.7, 1.2)  # infinite on two faces
SMOOTH = dirichlet(2.0, 1.5, 3.0)
FIVE_PARTS = dirichlet(0.6, 1.0, 2.5, 0.8, 1.5)
LOGISTIC = logistic_normal([0.2, -0.4], COV)

DISC = gs.Ball(2, radius=1.5, center=[1.0, -0.5])
BALL = gs.Ball(3, radius=2.0, center=[0.5, -1.0, 0.3])
BOX = gs.Box([0.0, -1.0], [1.0, 2.0])
_G = (lambda x: (x - BOX.lower) * (BOX.upper - x) / (BOX.upper - BOX.lower))(in_box(BOX.lower, BOX.upper))
IN_UNITS = 1.0 / np.sqrt(np.mean(_G**2, axis=0))
BELOW = gs.Box(-np.inf, 2.0)
MIXED = gs.Box([0.0, -1.0, -np.inf, -np.inf], [np.inf, 1.0, 2.0, np.inf])
TRIANGLE = [(0.0, 0.0), (3.0, 0.0), (1.0, 2.0)]
POLYTOPE = gs.Polytope([[0, -1], [2, 2], [-2, 1]], [0, 6, 0])  # the same triangle, rows not of unit length
WEDGE = gs.Polytope([[-1.0, 0.2], [0.3, -2.0]], [0.5, 1.0])  # two half-planes, unbounded
RING = [(0.0, 0.0), (4.0, 0.0), (4.5, 3.0), (2.0, 2.2), (0.0, 3.0)]  # not convex
HOLE = [(1.0, 0.8), (1.6, 0.7), (2.0, 1.4), (1.2, 1.5)]
POLYGON = gs.Polygon(RING, holes=[HOLE])
POLYGON_DATA = [
    (0.2, 1.5),  # nearest to an edge of the ring
    (1.3, 0.6),  # to an edge of the hole
    (2.15, 1.45),  # to a corner of the hole
    (2.02, 1.93),  # to the reflex corner of the ring
    (3.0, 0.3),
    (4.0, 2.5),
    (0.9, 0.75),
    (0.5, 2.4),
]
MIXED_DATA = np.column_stack([in_box(0, 3, 1), in_box(-1, 1, 2), in_box(-2, 2, 3), in_box(-2, 2, 4)])
FREE = MIXED_DATA[:, 3]
MIXED_LENGTHS = [np.median(MIXED_DATA[:, 0]), 2.0, np.median(2 - MIXED_DATA[:, 2])]
MIXED_LENGTHS += [np.median(np.abs(FREE - np.median(FREE)))]  # what BoxProduct() takes from these data

distance, product, geometric = gs.BoundaryDistance(), gs.ProductOfParts, gs.GeometricMean()

NUMERICAL = 1e-9
"""Tolerance where the library differentiates numerically, which is what it asks of each derivative."""


CASES = [
    case("Langevin, normal, R", gs.Langevin(), NORMAL1, one, scattered(1)),
    case("Langevin, normal, R^2", gs.Langevin(), NORMAL2, one, scattered(2)),
    case("Langevin, normal, R^5", gs.Langevin(), NORMAL5, one, scattered(5)),
    case("Langevin, mixture", gs.Langevin(), MIXTURE, one, scattered(2, 2.0)),
    case("Langevin, Student", gs.Langevin(), student(3, [0, 1], COV), one, scattered(2, 2.0)),
    case("Langevin, Laplace", gs.Langevin(), laplace([0, 1], [1, 2]), one, scattered(2, 2.0)),
    case(
        "Langevin, JAX log density",
        gs.Langevin(),
        (gs.Model(logpdf=quartic(jnp)), quartic(jnp)),
        one,
        scattered(2),
        domain=gs.Euclidean(2),
    ),
    case(
        "Langevin, NumPy log density",
        gs.Langevin(),
        (gs.Model(logpdf=quartic(np)), quartic(jnp)),
        one,
        scattered(2),
        domain=gs.Euclidean(2),
        rtol=NUMERICAL,
    ),
    case("Langevin, simplex", gs.Langevin(), dirichlet(3, 4.5, 5), one, compositions(3)),
    case("Langevin, interval", gs.Langevin(), beta(3, 4), one, in_box(0, 1)),
    case("g = 1 by default", gs.Standardised(), NORMAL5, one, scattered(5)),
    case("g = 1/(1+x²)", gs.Standardised(BELL), NORMAL1, bell, scattered(1)),
    case(
        "g = 1/(1+x²), no gradient", gs.Standardised(BELL_VALUE), NORMAL1, bell, scattered(1), rtol=NUMERICAL
    ),
    case("g = 1+‖x‖², Student, R^5", gs.Standardised(BOWL), student(5, MEAN5, COV5), bowl, scattered(5, 2.0)),
    case(
        "g = 1+‖x‖², Student, no gradient",
        gs.Standardised(BOWL_VALUE),
        student(5, [0, 1], COV),
        bowl,
        scattered(2, 2.0),
        rtol=NUMERICAL,
    ),
    case("diagonal g", gs.Standardised(CROSSED), MIXTURE, crossed, scattered(2)),
    case(
        "diagonal g, no gradient",
        gs.Standardised(CROSSED_VALUE),
        MIXTURE,
        crossed,
        scattered(2),
        rtol=NUMERICAL,
    ),
    case(
        "scalar g, no gradient, simplex",
        gs.Standardised(PARTS_VALUE),
        SPIKY,
        parts(1),
        compositions(3),
        rtol=NUMERICAL,
    ),
    *(
        case(
            f"BallPower({p})",
            gs.Standardised(gs.BallPower(p)),
            truncated(NORMAL3, ball),
            ball_power(p, ball),
            in_ball(ball),
        )
        for p, ball in [(0.5, BALL), (1, BALL), (2, BALL), (4, gs.Ball(3))]
    ),
    case("BallPower, uniform", gs.Standardised(), uniform(DISC), ball_power(2, DISC), in_ball(DISC)),
    case(
        "distance, ball",
        gs.Standardised(distance),
        truncated(MIXTURE, DISC),
        ball_distance(DISC),
        in_ball(DISC),
    ),
    case(
        "distance, box",
        gs.Standardised(distance),
        truncated(NORMAL2, BOX),
        box_distance(BOX),
        in_box(BOX.lower, BOX.upper),
    ),
    case(
        "distance, mixed box",
        gs.Standardised(distance),
        truncated(NORMAL4, MIXED),
        box_distance(MIXED),
        MIXED_DATA,
    ),
    case("distance, simplex", gs.Standardised(distance), SPIKY, simplex_distance(3), compositions(3)),
    case(
        "distance, simplex, 5 parts",
        gs.Standardised(distance),
        FIVE_PARTS,
        simplex_distance(5),
        compositions(5),
    ),
    case(
        "distance, polytope",
        gs.Standardised(),
        truncated(MIXTURE, POLYTOPE),
        halfspace_distance(POLYTOPE),
        in_hull(TRIANGLE),
    ),
    case(
        "distance, wedge",
        gs.Standardised(),
        truncated(NORMAL2, WEDGE),
        halfspace_distance(WEDGE),
        in_box([0, 0], [2, 2]),
    ),
    case(
        "distance, polygon with a hole",
        gs.Standardised(),
        truncated(NORMAL2, POLYGON),
        edge_distance(RING, HOLE),
        POLYGON_DATA,
    ),
    case(
        "distance, polygon, uniform",
        gs.Standardised(),
        uniform(POLYGON),
        edge_distance(RING, HOLE),
        POLYGON_DATA,
    ),
    case("product, α < 1", gs.Standardised(product()), SPIKY, parts(1), compositions(3)),
    case("product, α > 1", gs.Standardised(), SMOOTH, parts(1), compositions(3)),
    case("product, 5 parts", gs.Standardised(product()), FIVE_PARTS, parts(1), compositions(5)),
    case("product, power 2", gs.Standardised(product(2)), SPIKY, parts(2), compositions(3)),
    case("product, power 0.7", gs.Standardised(product(0.7)), SMOOTH, parts(0.7), compositions(3)),
    case("product, logistic normal", gs.Standardised(product()), LOGISTIC, parts(1), compositions(3)),
    case("product, uniform", gs.Standardised(), uniform(gs.Simplex(3)), parts(1), compositions(3)),
    case("geometric mean", gs.Standardised(geometric), SMOOTH, parts(1 / 3), compositions(3)),
    case(
        "geometric mean, 5 parts",
        gs.Standardised(geometric),
        dirichlet(2, 2.5, 3, 2.2, 4),
        parts(1 / 5),
        compositions(5),
    ),
    case(
        "BoxProduct, finite",
        gs.Standardised(),
        truncated(MIXTURE, BOX),
        box_product(BOX, 1.0),
        in_box(BOX.lower, BOX.upper),
    ),
    case(
        "BoxProduct, Beta(½, ½)",
        gs.Standardised(),
        beta(0.5, 0.5),
        box_product(gs.Box(0, 1), 1.0),
        in_box(0, 1),
    ),
    case(
        "BoxProduct, one-sided",
        gs.Standardised(gs.BoxProduct((0.8, 1.3))),
        gamma([0.7, 2.5], [1, 2]),
        box_product(gs.Orthant(2), [0.8, 1.3]),
        in_box([0, 0], [2, 2]),
    ),
    case(
        "BoxProduct, from above",
        gs.Standardised(gs.BoxProduct(0.9)),
        truncated(NORMAL1, BELOW),
        box_product(BELOW, 0.9),
        in_box(-1, 2),
    ),
    case(
        "BoxProduct, mixed",
        gs.Standardised(gs.BoxProduct((0.8, 7.0, 1.3, 2.5))),
        truncated(NORMAL4, MIXED),
        box_product(MIXED, [0.8, 7.0, 1.3, 2.5]),
        MIXED_DATA,
    ),
    case(
        "BoxProduct, mixed, lengths from the data",
        gs.Standardised(),
        truncated(NORMAL4, MIXED),
        box_product(MIXED, MIXED_LENGTHS),
        MIXED_DATA,
    ),
    case("G = I − xxᵀ, disc", TANGENTIAL, truncated(NORMAL2, gs.Ball(2)), tangential, in_ball(gs.Ball(2))),
    case("G = I − xxᵀ, ball", TANGENTIAL, uniform(gs.Ball(3)), tangential, in_ball(gs.Ball(3))),
    case("G not symmetric", SKEWED, MIXTURE, skewed, scattered(2)),
    case("G with J = 3 > d", THREE_FIELDS, NORMAL2, three_fields, scattered(2)),
    case("G with J = 1 < d", ONE_FIELD, NORMAL2, one_field, scattered(2)),
    case("G = diag(x) − xxᵀ, simplex", ENTROPIC, SPIKY, entropic, compositions(3)),
    case("G = ∏x·I, simplex", PARTS_MATRIX, SPIKY, parts_matrix, compositions(3)),
    case("Mirrored, 3 parts", gs.Mirrored(), SPIKY, entropic_tangent, compositions(3)),
    case("Mirrored, 4 parts", gs.Mirrored(), dirichlet(0.5, 0.5, 2, 3), entropic_tangent, compositions(4)),
    case("Mirrored, logistic normal", gs.Mirrored(), LOGISTIC, entropic_tangent, compositions(3)),
    case(
        "Mirrored, box",
        gs.Mirrored(),
        truncated(NORMAL2, BOX),
        mirrored_box(BOX),
        in_box(BOX.lower, BOX.upper),
    ),
    case("Mirrored, half-line", gs.Mirrored(), gamma(0.6, 1.5), mirrored_box(gs.Orthant(1)), in_box(0, 3)),
    case("Mirrored, mixed box", gs.Mirrored(), truncated(NORMAL4, MIXED), mirrored_box(MIXED), MIXED_DATA),
    case("Dilation, R", gs.Dilation(centre=0.4), NORMAL1, away([0.4]), scattered(1)),
    case("Dilation, R^5", gs.Dilation(gs.Langevin(), MEAN5), NORMAL5, away(MEAN5), scattered(5)),
    case(
        "Dilation, ball",
        gs.Dilation(centre=BALL.center),
        truncated(NORMAL3, BALL),
        away(BALL.center, ball_power(2, BALL)),
        in_ball(BALL),
    ),
    case(
        "Dilation, box, g diagonal",
        gs.Dilation(gs.Standardised(), [0.2, 0.5]),
        truncated(NORMAL2, BOX),
        away([0.2, 0.5], box_product(BOX, [1.0, 3.0]), unit=IN_UNITS),
        in_box(BOX.lower, BOX.upper),
    ),
    case(
        "Dilation, full G",
        gs.Dilation(SKEWED, [0.2, 0.5]),
        NORMAL2,
        away([0.2, 0.5], skewed),
        scattered(2),
    ),
    case(
        "Dilation, LogRatio",
        gs.Dilation(gs.LogRatio(), [0.1, -0.3]),
        SPIKY,
        away([0.1, -0.3], coordinates=logratio_coordinates),
        compositions(3),
        chart=logratio(3),
    ),
    case("LogRatio, Dirichlet", gs.LogRatio(), SPIKY, one, compositions(3), chart=logratio(3)),
    case("LogRatio, Dirichlet, 5 parts", gs.LogRatio(), FIVE_PARTS, one, compositions(5), chart=logratio(5)),
    case(
        "LogRatio, logistic normal",
        gs.LogRatio(),
        logistic_normal([0.2, -0.4, 0.1], np.diag([0.5, 1, 2]) + 0.1),
        one,
        compositions(4),
        chart=logratio(4),
    ),
    case("LogRatio, uniform", gs.LogRatio(), uniform(gs.Simplex(3)), one, compositions(3), chart=logratio(3)),
]
