"""The theorems of Xu (2022), each in its corrected form: one operator T_q(g·f) and its special cases.

Every statement is checked numerically against definitions written here, by automatic differentiation,
quadrature or enumeration; where the printed statement is wrong, a test shows that it fails. The same
story, as a table: docs/theory.md.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from shapely import MultiPolygon, box

import goodstein as gs
from definitions import double_precision, evaluated
from goodstein.data import Points
from goodstein.problems.problem import Problem

# --- the general operator, by definition ------------------------------------------------------


def standardised(log_density, product):
    """T_q(gf) = q⁻¹(q·g·f)′ at a number x, for the function g·f, by automatic differentiation."""

    flux = jax.grad(lambda y: jnp.exp(log_density(y)) * product(y))
    compiled = jax.jit(lambda x: flux(x) / jnp.exp(log_density(x)))

    def operator(x):
        with double_precision():
            return float(compiled(x))

    return operator


def derivative(f):
    compiled = jax.jit(jax.grad(f))

    def slope(x):
        with double_precision():
            return float(compiled(x))

    return slope


def log_normal(x):
    return -0.5 * x**2


# --- Proposition 1: the quadratic form (E1) --------------------------------------------------


def g(x):
    return 1 / (1 + x**2)


def dg(x):
    return -2 * x / (1 + x**2) ** 2


AUXILIARY = gs.Standardised(gs.Auxiliary(lambda x: g(x[:, 0]), lambda x: dg(x)))


def nodes(count, spread=9.0):
    """Points and weights of a quadrature of the standard normal distribution."""
    x = np.linspace(-spread, spread, count)
    weight = norm.pdf(x)
    return x[:, None], weight / weight.sum()


def printed_kernel(x, y):
    """h as it is printed in the proof: without the products of one derivative of g and one score."""
    k = np.exp(-0.5 * (x - y) ** 2)
    bracket = (1 - (x - y) ** 2) * k - x * (x - y) * k + y * (x - y) * k + x * y * k
    return bracket * g(x) * g(y) + dg(x) * dg(y) * k


def test_the_stein_kernel_has_mean_zero_and_the_printed_one_does_not():
    x, weight = nodes(601)
    h = gs.stein_matrix(x, gs.families.Normal(), operator=AUXILIARY, kernel=gs.Gaussian(1.0))
    assert weight @ h @ weight == pytest.approx(0, abs=1e-10)
    assert_allclose(weight @ h, 0, atol=1e-9)
    printed = printed_kernel(x, x.T)
    assert weight @ printed @ weight == pytest.approx(0.083, abs=5e-4)


def test_unit_auxiliary_function_gives_the_ordinary_discrepancy():
    x = np.random.default_rng(1).normal(size=(30, 3))
    model = gs.families.Normal([1.0, 0.0, -1.0], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    one = gs.Standardised(gs.Auxiliary(lambda x: np.ones(len(x)), np.zeros_like))
    for kernel in (gs.IMQ(1.3), gs.Gaussian(0.7)):
        assert_allclose(
            gs.stein_matrix(x, model, operator=one, kernel=kernel),
            gs.stein_matrix(x, model, operator=gs.Langevin(), kernel=kernel),
            atol=1e-12,
        )


def test_a_constant_matrix_standardises_the_normal_distribution():
    """T_q(Σf) for q = N(0, Σ) has the drift −x of the standard normal distribution."""
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    operator = gs.MatrixStandardised(lambda x: np.broadcast_to(cov, (len(x), 2, 2)), np.zeros_like)
    x = np.random.default_rng(1).normal(size=(5, 2))
    features = Problem(
        Points(x), gs.as_model(gs.families.Normal([0, 0], cov)), gs.Euclidean(2), operator, gs.IMQ(1.0)
    ).features
    assert_allclose(features.value, -x, atol=1e-12)


# --- censored data ----------------------------------------------------------------------------
# Null: hazard λ(x) = .7 + x, so that λ(0) is not zero. Censoring: exponential with rate .5.


def hazard(x):
    return 0.7 + x


def log_survival(x):
    return -(0.7 * x + 0.5 * x**2)


def log_density(x):
    return jnp.log(hazard(x)) + log_survival(x)


def censoring(x):
    return np.exp(-0.5 * x)


def omega(x):
    """A test function that vanishes at zero, as the paper assumes, and is positive elsewhere."""
    return x * jnp.exp(-0.5 * (x - 1.0) ** 2)


TIMES = (0.2, 0.7, 1.6, 2.4)
MODEL = {"hazard": hazard, "cumulative_hazard": lambda t: 0.7 * t + 0.5 * t**2}


def zeta(weight):
    """∫₀^x μωw ds / (μω): the magnitude of the auxiliary function where an observation is censored."""

    def product_with_test_function(x):
        # ζ·ω = ∫₀^x μωw / μ: its flux μζω is the integral, whose derivative is the integrand.
        s = x * jnp.linspace(0, 1, 2001)
        values = jnp.exp(log_density(s)) * omega(s) * weight(s)
        return jnp.trapezoid(values, s) / jnp.exp(log_density(x))

    return product_with_test_function


def dedicated_survival(operator, x, event):
    """What the library's operator does to ω, which vanishes at the fixed point 0."""
    data = gs.Censored([x, 1.0], [event, 1])
    problem = Problem(data, gs.SurvivalModel(**MODEL), gs.Box(0, np.inf), operator, gs.Gaussian(1.0))
    features = problem.features
    a = features.value[0, 0]
    weight = 1.0 if features.weight is None else np.ravel(features.weight)[0]
    return a * float(omega(x)) + weight * derivative(omega)(x)


@pytest.mark.parametrize(
    ("operator", "uncensored", "weight"),
    [
        (gs.Martingale(transform=None), lambda x: omega(x) / hazard(x), lambda s: 1.0 + 0 * s),
        (gs.Survival(), omega, hazard),
    ],
    ids=["martingale", "survival"],
)
def test_survival_operators_are_standardised_with_the_other_sign_of_zeta(operator, uncensored, weight):
    """Theorem 2 and Corollary 1 with ζ = −∫μω(λ)/(μω); the printed plus gives +ω(λ) (E4)."""
    seen, printed = standardised(log_density, uncensored), standardised(log_density, zeta(weight))
    censored = standardised(log_density, lambda y: -zeta(weight)(y))
    for x in TIMES:
        assert seen(x) == pytest.approx(dedicated_survival(operator, x, 1))
        expected = dedicated_survival(operator, x, 0)
        assert censored(x) == pytest.approx(expected, rel=1e-5)
        assert printed(x) == pytest.approx(-expected, rel=1e-5)
        assert abs(expected) > 1e-3


# --- second order (E14) -----------------------------------------------------------------------


def test_the_second_order_operator_is_the_langevin_operator_of_a_gradient():
    """A f = T_q(∇f) in R^d, and h = A_x A_y k."""
    model = gs.families.Normal([0.5, -0.2], [[1.5, 0.3], [0.3, 0.8]])
    x = np.array([[0.2, 0.4], [-1.0, 0.7]])
    precision = np.linalg.inv(model.cov)
    mean = np.asarray(model.mean)

    def log_q(u):
        return -0.5 * (u - mean) @ precision @ (u - mean)

    def apply(function):
        gradient = jax.grad(function)

        def divergence(u):
            flux = jax.jacfwd(lambda v: jnp.exp(log_q(v)) * gradient(v))(u)
            return jnp.trace(flux) / jnp.exp(log_q(u))

        return divergence

    def k(u, v):
        return jnp.exp(-0.5 * jnp.sum((u - v) ** 2) / 0.9**2)

    expected = evaluated(lambda u, v: apply(lambda s: apply(lambda t: k(s, t))(v))(u), *x)
    h = gs.stein_matrix(x, model, operator=gs.SecondOrder(), kernel=gs.Gaussian(0.9))
    assert h[0, 1] == pytest.approx(expected, rel=1e-9)


# --- coordinates (E5) -------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [gs.Circle(), gs.Torus(2)], ids=["circle", "torus"])
def test_on_flat_coordinates_the_operator_is_the_langevin_operator_of_the_angles(domain):
    """J = 1: h by automatic differentiation of q⁻¹∂(qf) in the angles, the kernel on chords."""
    kappa = np.linspace(1.3, 0.6, domain.dim)
    model = gs.Model(score=lambda x: -kappa * np.sin(x), domain=domain, batched=True)
    x = np.array([[0.4, 2.0], [1.5, -0.7]])[:, : domain.dim]

    def k(u, v):
        chord = sum(
            (jnp.cos(u[i]) - jnp.cos(v[i])) ** 2 + (jnp.sin(u[i]) - jnp.sin(v[i])) ** 2 for i in range(len(u))
        )
        return jnp.exp(-0.5 * chord / 0.8**2)

    def log_q(u):
        return jnp.sum(kappa * jnp.cos(u))

    def apply(function, i):
        return lambda u: jax.grad(lambda v: jnp.exp(log_q(v)) * function(v))(u)[i] / jnp.exp(log_q(u))

    with double_precision():
        u, v = map(jnp.asarray, x)
        expected = sum(
            float(apply(lambda s, i=i: apply(lambda t, s=s: k(s, t), i)(v), i)(u)) for i in range(domain.dim)
        )
    h = gs.stein_matrix(x, model, operator=gs.Coordinate(), kernel=gs.Gaussian(0.8))
    assert h[0, 1] == pytest.approx(expected, rel=1e-9)


# --- discrete (E15) ---------------------------------------------------------------------------


@pytest.mark.parametrize(("levels", "forward_fails"), [(2, False), (3, True), (4, True)])
def test_the_adjoint_of_the_cyclic_difference_shifts_backwards(levels, forward_fails):
    """Σ q [f·Δq/q − Δ*f] = 0 with Δ*f(x) = f(x) − f(¬⁻¹x); ¬ in its place passes for two levels only."""
    rng = np.random.default_rng(levels)
    q, f = rng.dirichlet(np.ones(levels)), rng.normal(size=levels)
    score = 1 - np.roll(q, -1) / q
    assert q @ (f * score - (f - np.roll(f, 1))) == pytest.approx(0, abs=1e-14)
    assert (abs(q @ (f * score - (f - np.roll(f, -1)))) > 0.01) == forward_fails
    states = np.arange(levels, dtype=float)[:, None]
    model = gs.Model(
        logpdf=lambda x: np.log(q[x[:, 0].astype(int)]), domain=gs.Lattice(levels, 1), batched=True
    )
    assert_allclose(q @ gs.stein_matrix(states, model), 0, atol=1e-13)


# --- bounded domains (E8, E11) ------------------------------------------------------------------


def test_mass_cannot_be_told_apart_between_separate_pieces():
    """Masses (.9, .1) against (.5, .5) on two intervals: the discrepancy is zero although p ≠ q."""
    x = np.concatenate([np.linspace(0, 1, 401), np.linspace(2, 3, 401)])[:, None]
    masses = np.concatenate([np.full(401, 0.9), np.full(401, 0.1)])
    end = np.ones(401)
    end[[0, -1]] = 0.5
    weight = masses * np.tile(end, 2) / 400

    def value(x):
        u = x[:, 0] % 2.0
        return u * (1 - u)

    def slope(x):
        return 1 - 2 * (x % 2.0)

    uniform = gs.Model(score=np.zeros_like, batched=True)
    h = gs.stein_matrix(
        x, uniform, operator=gs.Standardised(gs.Auxiliary(value, slope)), kernel=gs.Gaussian(0.5)
    )
    assert weight @ h @ weight == pytest.approx(0, abs=1e-8)
    with pytest.raises(gs.DomainError, match="not connected"):
        gs.Polygon(MultiPolygon([box(0, 0, 1, 1), box(2, 0, 3, 1)]))


# --- limit under the alternative (E9) -----------------------------------------------------------


def test_the_variance_under_the_alternative_has_a_factor_four():
    """p = N(.5, 1), q = N(0, 1): n Var(U) → 4 Var_x E_x′ h(x, x′)."""
    model, kernel, n = gs.families.Normal(), gs.Gaussian(1.0), 150
    grid, weight = nodes(401)
    projection = gs.stein_matrix(grid + 0.5, model, kernel=kernel) @ weight
    variance = 4 * (weight @ projection**2 - (weight @ projection) ** 2)
    rng, values = np.random.default_rng(7), []
    for _ in range(600):
        h = gs.stein_matrix(rng.normal(0.5, 1, (n, 1)), model, kernel=kernel)
        values.append((h.sum() - np.trace(h)) / (n * (n - 1)))
    measured = n * np.var(values, ddof=1)
    # A variance from 600 draws has a relative error of √(2/600) = 6 %; without the factor it is off by 300 %.
    assert measured == pytest.approx(variance, rel=0.25)


# --- score matching (E10) -----------------------------------------------------------------------

SM_MEAN, SM_VARIANCE = 0.3, 1.4


def test_score_matching_is_the_limit_of_a_small_bandwidth():
    """g = p^{−1/2}, k = e^{−ρ/σ}: Sf-KSD²/√(πσ) → J = E_p(s_p − s_q)²; undivided it tends to zero."""
    p = norm(SM_MEAN, np.sqrt(SM_VARIANCE))
    exact = p.expect(lambda x: (-(x - SM_MEAN) / SM_VARIANCE + x) ** 2)

    def value(x):
        return p.pdf(x[:, 0]) ** -0.5

    def slope(x):
        return value(x)[:, None] * 0.5 * (x - SM_MEAN) / SM_VARIANCE

    grid = np.linspace(-5.5, 6.0, 2301)
    weight = p.pdf(grid) * (grid[1] - grid[0])
    found = []
    for sigma in (0.02, 0.005):
        h = gs.stein_matrix(
            grid[:, None],
            gs.families.Normal(),
            operator=gs.Standardised(gs.Auxiliary(value, slope)),
            kernel=gs.Gaussian(np.sqrt(sigma / 2)),
        )
        found.append(weight @ h @ weight / np.sqrt(np.pi * sigma))
    assert found[1] == pytest.approx(exact, rel=0.01)
    assert abs(found[1] - exact) < abs(found[0] - exact)


# --- other geometries in the same form ------------------------------------------------------------


def test_log_ratios_are_a_full_matrix_auxiliary_function():
    """T in log-ratio coordinates y with g = 1 equals T_q(Gf) on the simplex with G = ∂x/∂y."""
    alpha = np.array([0.5, 0.7, 1.2])
    basis = gs.Simplex(3).basis
    x = np.array([0.2, 0.3, 0.5])

    def point(u):
        return jax.nn.softmax(u @ basis)

    def f(u):  # a vector field in log-ratio coordinates
        return jnp.array([jnp.sin(u[0]) + u[1], jnp.cos(u[0] * u[1])])

    def log_q(point):
        return jnp.sum((alpha - 1) * jnp.log(point))

    def log_pushed(v):
        jacobian = basis @ jax.jacfwd(point)(v)
        return log_q(point(v)) + jnp.linalg.slogdet(jacobian)[1]

    def left(u):
        return jnp.trace(jax.jacfwd(lambda v: jnp.exp(log_pushed(v)) * f(v))(u)) / jnp.exp(log_pushed(u))

    def field(t):  # G f in orthonormal coordinates t of the simplex
        z = t @ basis + 1 / 3
        v = jnp.log(z) @ basis.T
        return jnp.exp(log_q(z)) * (basis @ jax.jacfwd(point)(v)) @ f(v)

    def right(t):
        return jnp.trace(jax.jacfwd(field)(t)) / jnp.exp(log_q(jnp.asarray(x)))

    assert evaluated(left, np.log(x) @ basis.T) == pytest.approx(evaluated(right, x @ basis.T), rel=1e-9)
