"""Charts: manifolds in coordinates of one's own, against built-in ones, definitions and quadrature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import goodstein as gs
from cases import CHARTS
from definitions import at_pairs, double_precision, evaluated
from directions import against, angles, from_angles, polar_embedding, polar_jacobian, polar_metric


@pytest.fixture(autouse=True)
def double():
    """Other tests see JAX as it is."""
    with double_precision():
        yield


FAMILY = gs.families
RNG = np.random.default_rng(20_200_601)
BOTH = [gs.Coordinate(), gs.SecondOrder()]


POLAR = CHARTS[0]
POLAR_BOX = gs.Box([0, 0], [np.pi, 2 * np.pi])


def sine(theta):
    return np.column_stack([np.sin(theta[:, 0]), np.ones(len(theta))])


def cosine(theta):
    return np.column_stack([np.cos(theta[:, 0]), np.zeros(len(theta))])


def on_chart(model, jacobian):
    """Score in the coordinates of a chart by the chain rule."""

    def score(u):
        rows = np.array([jacobian(row) for row in u])
        return np.einsum("nki,nk->ni", rows, model.score(from_angles(u)))

    return score


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_the_sphere_in_polar_coordinates_equals_the_sphere(operator):
    model = FAMILY.VonMisesFisher([0.48, 0.6, 0.64], 2.0)
    theta = angles(30, 2)
    own = gs.Coordinate(gs.Auxiliary(sine, cosine)) if operator == gs.Coordinate() else operator
    kernel = gs.IMQ(0.9)
    chart = gs.stein_matrix(theta, on_chart(model, polar_jacobian), domain=POLAR, operator=own, kernel=kernel)
    sphere = gs.stein_matrix(from_angles(theta), model, operator=operator, kernel=kernel)
    assert_allclose(chart, sphere, rtol=1e-6, atol=1e-6 * np.abs(sphere).max())
    result = gs.ksd_test(theta, on_chart(model, polar_jacobian), domain=POLAR, operator=own, rng=1)
    assert result.audit.valid, result.audit


def stereographic(u):
    square = jnp.sum(u**2, axis=-1, keepdims=True)
    return jnp.concatenate([2 * u, 1 - square], axis=-1) / (1 + square)


def stereographic_metric(u):
    return 4 * np.eye(2) / (1 + (u**2).sum(axis=1))[:, None, None] ** 2


@pytest.mark.parametrize("metric", [stereographic_metric, None], ids=["given", "induced"])
def test_the_sphere_in_stereographic_coordinates_equals_the_sphere(metric):
    """The embedding is written with JAX, so that its derivatives are automatic."""
    mu = np.array([0.48, 0.6, 0.64])
    model = FAMILY.VonMisesFisher(mu, 2.0)
    x = model.sample(8, rng=1)
    u = x[:, :2] / (1 + x[:, 2:])
    chart = gs.Chart(2, metric, embedding=stereographic)
    logpdf = gs.Model(logpdf=lambda u: 2.0 * stereographic(u) @ mu)
    ours = gs.stein_matrix(u, logpdf, domain=chart, operator=gs.SecondOrder(), kernel=gs.IMQ(0.9))
    sphere = gs.stein_matrix(x, model, operator=gs.SecondOrder(), kernel=gs.IMQ(0.9))
    assert_allclose(ours, sphere, rtol=1e-6, atol=1e-6 * np.abs(sphere).max())


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_a_flat_periodic_chart_is_the_torus(operator):
    box = gs.Box([0, -np.pi], [2 * np.pi, np.pi])
    chart = gs.Chart(2, lambda u: np.eye(2), coordinates=box, periodic=[0, 1])

    def score(theta):
        return -np.sin(theta - 0.5) + 0.3 * np.cos(theta[:, :1] - theta[:, 1:]) * [-1, 1]

    theta = RNG.uniform(-4, 8, size=(20, 2))
    a, b = (gs.stein_matrix(theta, score, domain=d, operator=operator) for d in (chart, gs.Torus(2)))
    assert_allclose(a, b, rtol=1e-7, atol=1e-7)
    assert gs.ksd_test(theta, score, domain=chart, operator=operator, rng=1).audit.valid


def warped_metric(u):
    return jnp.array([[1 + u[0] ** 2, 0.3 * jnp.sin(u[1])], [0.3 * jnp.sin(u[1]), jnp.exp(0.4 * u[0])]])


def warped_logpdf(u):
    return -0.5 * (u[0] ** 2 + u[1] ** 2 + 0.5 * u[0] * u[1])


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_a_warped_plane_by_the_definition(operator):
    """J⁻¹∂_i(J G^ij ∂_j f) + G^ij ∂_i log q ∂_j f, and ∂_i log(qJ), all by automatic differentiation."""
    chart = gs.Chart(2, warped_metric)

    def volume(u):
        return jnp.sqrt(jnp.linalg.det(warped_metric(u)))

    def laplace(f):
        def flux(u):
            return volume(u) * jnp.linalg.solve(warped_metric(u), jax.grad(f)(u))

        def value(u):
            drift = jax.grad(warped_logpdf)(u) @ jnp.linalg.solve(warped_metric(u), jax.grad(f)(u))
            return jnp.trace(jax.jacfwd(flux)(u)) / volume(u) + drift

        return value

    def coordinate(f, j):
        def density(u):
            return jnp.exp(warped_logpdf(u)) * volume(u)

        return lambda u: jax.grad(lambda v: density(v) * f(v))(u)[j] / density(u)

    def k(u, v):
        return jnp.exp(-jnp.sum((u - v) ** 2) / (2 * 0.8**2))

    def h(u, v):
        if isinstance(operator, gs.SecondOrder):
            return laplace(lambda a: laplace(lambda b: k(a, b))(v))(u)
        return sum(coordinate(lambda a, j=j: coordinate(lambda b: k(a, b), j)(v), j)(u) for j in range(2))

    u = RNG.normal(size=(4, 2))
    expected = at_pairs(h, u, u)
    model = gs.Model(logpdf=warped_logpdf)
    got = gs.stein_matrix(u, model, domain=chart, operator=operator, kernel=gs.Gaussian(0.8))
    assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_derivatives_of_the_metric_may_be_given():
    def slope(u):
        first = [[2 * u[0], 0], [0, 0.4 * np.exp(0.4 * u[0])]]
        second = [[0, 0.3 * np.cos(u[1])], [0.3 * np.cos(u[1]), 0]]
        return np.array([first, second])

    u = RNG.normal(size=(6, 2))
    given, numerical = gs.Chart(2, warped_metric, metric_gradient=slope), gs.Chart(2, warped_metric)
    assert_allclose(given.metric_derivatives(u), numerical.metric_derivatives(u), rtol=1e-7, atol=1e-7)
    log_j = evaluated(jax.vmap(jax.grad(lambda v: 0.5 * jnp.linalg.slogdet(warped_metric(v))[1])), u)
    assert_allclose(given.log_volume_gradient(u), log_j, rtol=1e-12, atol=1e-12)


def hyperbolic(u):
    return np.eye(2) / u[:, 1, None, None] ** 2


def hyperbolic_gradient(u):
    slope = np.zeros((len(u), 2, 2, 2))
    slope[:, 1] = -2 * np.eye(2) / u[:, 1, None, None] ** 3
    return slope


UPPER = gs.Box([-np.inf, 0], [np.inf, np.inf])
HALF_PLANE = gs.Chart(2, hyperbolic, coordinates=UPPER)


def hyperbolic_score(u):
    """log q = −x²/2 − (log y)²/2 with respect to dx dy/y²."""
    return np.column_stack([-u[:, 0], -np.log(u[:, 1]) / u[:, 1]])


@pytest.mark.parametrize("operator", [*BOTH, gs.Coordinate(False)], ids=repr)
def test_the_identity_on_the_hyperbolic_half_plane(operator):
    """With z = log y the density in (x, z) is normal times e^(−z); trapezoids converge fast for it."""
    x, z = (g.ravel() for g in np.meshgrid(np.linspace(-7, 7, 121), np.linspace(-8, 6, 401)))
    u, w = np.column_stack([x, np.exp(z)]), np.exp(-(x**2) / 2 - z**2 / 2 - z)
    y = np.array([[0.3, 0.8], [-1.0, 2.0]])
    chart = gs.Chart(2, hyperbolic, metric_gradient=hyperbolic_gradient, coordinates=UPPER)
    model = gs.Model(score=hyperbolic_score, domain=chart, name="half-plane")
    fixed = gs.Coordinate(gs.BoxProduct(1e6)) if operator == gs.Coordinate() else operator
    h = against(model, fixed, gs.IMQ(1.5), y, u)
    assert np.all(np.abs(h @ w) < 1e-8 * (np.abs(h) @ w))


@pytest.mark.filterwarnings("ignore:The features are so skewed:goodstein.errors.CalibrationWarning")
def test_a_half_plane_is_tested_end_to_end():
    rng = np.random.default_rng(4)
    # E e^(−z) shifts the mean of z by −1.
    u = np.column_stack([rng.normal(size=200), np.exp(rng.normal(-1.0, 1.0, size=200))])
    model = gs.Model(score=hyperbolic_score, domain=HALF_PLANE, name="half-plane")
    for operator in BOTH:
        result = gs.ksd_test(u, model, operator=operator, rng=1)
        assert result.audit.valid, result.audit
        assert result.pvalue > 0.05
    wrong = u * [1, 3.0]
    assert gs.ksd_test(wrong, model, rng=1).pvalue < 0.01


def test_charts_are_values():
    assert repr(POLAR) == "Chart(2, polar_metric)"
    assert repr(gs.Chart(2, embedding=stereographic)) == "Chart(2, embedding=stereographic)"
    assert POLAR.contains(np.array([[1.0, 17.0], [4.0, 0.0]])).tolist() == [True, False]
    assert gs.Chart(2, polar_metric) != POLAR


def test_an_embedding_without_jacobian_is_differentiated_numerically():
    numerical = gs.Chart(
        2, polar_metric, embedding=lambda u: list(from_angles(u)), coordinates=POLAR_BOX, periodic=[1]
    )
    theta = angles(20, 2)
    assert_allclose(numerical.tangents(theta), POLAR.tangents(theta), atol=1e-8)
    with pytest.raises(gs.InputError, match="Pass `jacobian`, or write the embedding with JAX"):
        gs.stein_matrix(theta, np.zeros_like, domain=numerical, operator=gs.SecondOrder())


def one_direction(u):
    return [np.cos(u[0]), np.sin(u[0]) * np.cos(u[1]), np.sin(u[0]) * np.sin(u[1])]


def one_direction_in_jax(u):
    return jnp.array([jnp.cos(u[0]), jnp.sin(u[0]) * jnp.cos(u[1]), jnp.sin(u[0]) * jnp.sin(u[1])])


@pytest.mark.parametrize(
    ("embedding", "jacobian"),
    [(one_direction, polar_jacobian), (one_direction_in_jax, None)],
    ids=["NumPy", "JAX"],
)
def test_embeddings_of_one_point(embedding, jacobian):
    """Given m + 1 rows such an embedding into R^(m + 1) returns m + 1 rows too, which are not the points."""
    theta = angles(8, 2)
    box = {"coordinates": POLAR_BOX, "periodic": [1]}
    chart = gs.Chart(2, polar_metric, embedding=embedding, jacobian=jacobian, **box)
    for n in (1, 3, 4, 8):
        assert_allclose(chart.embedded(theta[:n]), from_angles(theta[:n]), atol=1e-14)
    model = FAMILY.VonMisesFisher([0.48, 0.6, 0.64], 2.0)
    how = {"operator": gs.SecondOrder(), "kernel": gs.IMQ(0.9), "rng": 1, "audit": False}
    ours = gs.ksd_test(theta, on_chart(model, polar_jacobian), domain=chart, **how)
    sphere = gs.ksd_test(from_angles(theta), model, **how)
    assert ours.statistic == pytest.approx(sphere.statistic, rel=1e-6)
    # Without a Jacobian, as in the example of Chart, the default operator differentiates numerically.
    bare, full = (
        gs.ksd_test(theta, np.zeros_like, domain=c, rng=1, audit=False)
        for c in (gs.Chart(2, polar_metric, embedding=embedding, **box), POLAR)
    )
    assert bare.statistic == pytest.approx(full.statistic, rel=1e-6)


def test_one_angle_as_a_chart_is_the_circle():
    model = FAMILY.VonMises(0.5, 2.0)
    theta = model.sample(15, rng=1)
    side = gs.Box(0, 2 * np.pi)
    chart = gs.Chart(1, embedding=lambda u: [np.cos(u[0]), np.sin(u[0])], coordinates=side, periodic=[0])
    jax_chart = gs.Chart(
        1, embedding=lambda u: jnp.array([jnp.cos(u[0]), jnp.sin(u[0])]), coordinates=side, periodic=[0]
    )
    with_metric = gs.Chart(
        1,
        lambda u: np.ones((1, 1)),
        embedding=lambda u: [np.cos(u[0]), np.sin(u[0])],
        jacobian=lambda u: [[-np.sin(u[0])], [np.cos(u[0])]],
        coordinates=side,
        periodic=[0],
    )
    assert_allclose(chart.metric_matrix(theta), np.ones((15, 1, 1)), rtol=1e-8)
    for operator in BOTH:
        circle = gs.ksd_test(theta, model, operator=operator, kernel=gs.IMQ(0.9), rng=1)
        for domain in (jax_chart, with_metric):
            ours = gs.ksd_test(
                theta, model.score, domain=domain, operator=operator, kernel=gs.IMQ(0.9), rng=1
            )
            assert ours.statistic == pytest.approx(circle.statistic, rel=1e-6)


# --- audits and messages ------------------------------------------------------------------------------


def test_a_chart_that_does_not_come_round_is_refused():
    box = gs.Box([0, 0], [np.pi, 3.0])  # not the period of the longitude
    chart = gs.Chart(2, polar_metric, embedding=polar_embedding, coordinates=box, periodic=[1])
    with pytest.raises(
        gs.SteinIdentityError, match=r"the embedding is not the same after a whole turn of coord"
    ):
        gs.ksd_test(angles(20, 2), np.zeros_like, domain=chart)


def test_ends_of_coordinates_are_audited():
    flat = gs.Chart(1, lambda u: np.ones((1, 1)), coordinates=gs.Box(0, 1))
    u = RNG.uniform(size=(30, 1))
    assert gs.ksd_test(u, np.zeros_like, domain=flat, rng=1).audit.valid
    with pytest.raises(
        gs.SteinIdentityError, match=r"q·J behaves like a constant.*Use an auxiliary function"
    ):
        gs.ksd_test(u, np.zeros_like, domain=flat, operator=gs.Coordinate(False))
    message = r"flux.*does not vanish.*Use operator=Coordinate\(\) there, or, if .* Chart\(.*periodic=\[0\]\)"
    with pytest.raises(gs.SteinIdentityError, match=message):
        gs.ksd_test(u, np.zeros_like, domain=flat, operator=gs.SecondOrder())
    tube = gs.Chart(2, lambda u: np.eye(2), coordinates=gs.Box([0, 0], [1, 1]), periodic=[1])
    with pytest.raises(gs.SteinIdentityError, match=r"periodic=\[0, 1\]\)"):
        gs.ksd_test(RNG.uniform(size=(30, 2)), np.zeros_like, domain=tube, operator=gs.SecondOrder())
    ray = gs.Chart(1, lambda u: np.ones((1, 1)), coordinates=gs.Box(0, np.inf))
    with pytest.raises(gs.SteinIdentityError, match=r"Use operator=Coordinate\(\) there\. \(audit"):
        gs.ksd_test(u, lambda u: -np.ones_like(u), domain=ray, operator=gs.SecondOrder())
    bare = gs.Chart(2, polar_metric, coordinates=POLAR_BOX, periodic=[1])
    with pytest.raises(gs.SteinIdentityError, match=r"no finite variance.*pass the `embedding`"):
        gs.ksd_test(angles(30, 2), np.zeros_like, domain=bare, operator=gs.SecondOrder())


def square(u):
    return u[:, :1] ** 2


@pytest.mark.parametrize(
    ("chart", "message"),
    [
        (gs.Chart(2, square), r"must return shape \(n, 2, 2\).*it returned shape \(3, 1\)"),
        (gs.Chart(2, lambda u: np.array([[1.0, u[0]], [0.0, 1.0]])), "is not symmetric at"),
        (gs.Chart(2, lambda u: np.diag([1.0, u[0]])), "is not positive definite at.*poles of the chart"),
        (gs.Chart(2, lambda u: np.diag([1.0, 1.0 / (u[0] > 0)])), "not finite at"),
    ],
    ids=["shape", "symmetric", "definite", "finite"],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_metrics_that_are_none(chart, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(RNG.normal(size=(20, 2)), lambda u: -u, domain=chart, audit=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Chart(2), "needs a `metric`, or an `embedding`"),
        (lambda: gs.Chart(2, 3.0), "`metric` of Chart must be a function"),
        (lambda: gs.Chart(2, polar_metric, jacobian=polar_jacobian), "belongs to an `embedding`"),
        (lambda: gs.Chart(2, polar_metric, coordinates=gs.Box(0, 1)), r"must be a part of R\^2"),
        (lambda: gs.Chart(2, polar_metric, coordinates=gs.Sphere(2)), r"must be a part of R\^2"),
        (lambda: gs.Chart(2, polar_metric, periodic=[1]), "coordinate 1 needs a finite side of the box"),
        (
            lambda: gs.Chart(2, polar_metric, coordinates=POLAR_BOX, periodic=[2]),
            "coordinate 2 needs a finite side",
        ),
    ],
)
def test_arguments_that_make_no_sense(make, message):
    with pytest.raises(gs.DomainError, match=message):
        make()


def test_a_model_of_flat_space_does_not_move_to_a_chart():
    x = RNG.normal(size=(20, 2))
    with pytest.raises(gs.DomainError, match=r"is a density on Euclidean\(2\).*Chart"):
        gs.ksd_test(x, FAMILY.Normal([0, 0]), domain=gs.Chart(2, stereographic_metric))
