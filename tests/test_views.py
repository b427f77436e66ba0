"""Views: their features against the definition, Stein's identity by quadrature, level, power and errors.

Laws that all operators obey, forms and seeds among them, run over them in ``test_laws.py``; units are in
``test_units.py``.
"""

from __future__ import annotations

import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import eval_gegenbauer
from scipy.stats import chi2

import goodstein as gs
from definitions import CASES, double_precision, evaluated
from goodstein.adapters import as_model
from goodstein.data import Points
from goodstein.kernels import IMQ
from goodstein.kernels.finite import OwnFunctions
from goodstein.operators.views.base import View
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Problem
from goodstein.stein.features import SteinFeatures
from goodstein.stein.forms import LowRankForm
from levels import check_level, trials

BY_NAME = {case.name: case for case in CASES}
WHERE = [
    "Langevin, normal, R^5",
    "BallPower(2)",
    "BoxProduct, finite",
    "G not symmetric",
    "LogRatio, Dirichlet",
    "product, α > 1",
    "Mirrored, 3 parts",
]
"""One case for each kind of weight and of coordinates."""


def features_of(view, case):
    return Problem(
        Points(case.data), as_model(case.model).on(case.domain), case.domain, view, IMQ(1.0)
    ).features


def stein(case, field):
    """(T f)(u) = q⁻¹ div(q G f) of one vector field f or of several, (m, F), by automatic differentiation."""

    def at(u):
        here = case.logq(u)

        def flux(w):
            return jnp.exp(case.logq(w) - here) * (case.G(w) @ field(w))

        return jnp.einsum("i...i->...", jax.jacfwd(flux)(u))

    return evaluated(jax.vmap(at), case.coordinates(case.data))


def wave(t, phases):
    """φ_p(t) = sin(ω·t + b_p), (p,)."""
    frequency = np.array([1.3, -0.7])[: len(t)]
    return jnp.sin(frequency @ t + np.asarray(phases))


def seen(features: SteinFeatures, phases):
    """ξφ of features for these waves."""
    frequency = np.array([1.3, -0.7])[: features.points.shape[1]]
    angle = (features.points @ frequency)[:, None] + np.asarray(phases)
    k, count = features.points.shape[1], features.value.shape[1]
    weight = np.ones(len(features)) if features.weight is None else features.weight
    if weight.ndim == 1:
        weight = weight[:, None, None] * np.eye(k)
    elif weight.ndim == 2:
        weight = weight[:, :, None] * np.eye(k)
    assert weight.shape == (len(features), k, count)
    slopes = frequency[:, None] * np.cos(angle)[:, None, :]
    return (features.value * np.sin(angle)).sum(axis=1) + (weight * slopes).sum(axis=(1, 2))


def directions(case, columns):
    """The vectors v with v·u the given columns of the data, or of their logarithms, up to a constant."""
    if not isinstance(case.domain, gs.Simplex):
        return np.eye(case.m)[:, columns]
    u = case.coordinates(case.data)
    told = np.log(case.data) if "LogRatio" in case.name else case.data
    told = told - told.mean(axis=1, keepdims=True)
    found, *_ = np.linalg.lstsq(np.column_stack([u, np.ones(len(u))]), told[:, columns], rcond=None)
    return found[:-1]


@pytest.mark.parametrize("name", WHERE)
def test_a_coordinate_a_pair_and_a_direction_are_those_of_the_definition(name):
    case = BY_NAME[name]
    inner, d = case.operator, case.domain.dim

    def along(vectors, phases):
        return stein(case, lambda u: jnp.asarray(vectors) @ wave(u @ jnp.asarray(vectors), phases))

    def same(view, vectors, phases):
        # On a simplex the coordinates of features differ from those of the definition by a constant.
        features = features_of(view, case)
        shift = (case.coordinates(case.data) @ vectors - features.points).mean(axis=0)
        moved = SteinFeatures(features.points + shift, features.value, features.weight)
        np.testing.assert_allclose(seen(moved, phases), along(vectors, phases), rtol=1e-8, atol=1e-8)

    same(gs.Margin(1, inner), directions(case, [1]), [0.4])
    same(gs.Pair(1, 0, inner), directions(case, [1, 0]), [0.4, 1.1])
    v = np.arange(1.0, d + 1.0)
    vector = directions(case, list(range(d))) @ v
    scale = np.abs(np.asarray(v) if case.m == d else case.domain.basis @ v).max()
    same(gs.Direction(v, inner), vector[:, None] / scale, [0.4])


@pytest.mark.parametrize(
    ("name", "degree"),
    [*itertools.product(WHERE, (1, 2)), ("Langevin, normal, R^5", 0), ("BallPower(2)", 3)],
)
def test_moments_are_polynomials_in_the_definition(name, degree):
    """Σ f over all e_j z_a z_b …, every product of coordinates once for each order of its factors."""
    case = BY_NAME[name]
    inside = features_of(case.operator, case)
    u = case.coordinates(case.data)
    frame = inside.frame if case.domain.mixed_units else None
    linear = np.eye(case.m) if frame is None else frame.linear_map
    linear = np.diag(linear) if linear.ndim == 1 else linear
    unit = 1.0 if frame is None else frame.unit
    centre = np.median(u, axis=0)
    if isinstance(case.domain, gs.Simplex):  # the median is that in the coordinates of the features
        rotation, *_ = np.linalg.lstsq(inside.points - inside.points.mean(axis=0), u - u.mean(axis=0))
        centre = u.mean(axis=0) + (np.median(inside.points, axis=0) - inside.points.mean(axis=0)) @ rotation
    back = np.diag(np.ones(case.m) * unit) @ np.linalg.inv(linear).T

    def fields(w):
        z = jnp.asarray(linear).T @ (w - centre)
        product = jnp.ones(1)
        for _ in range(degree):
            product = jnp.outer(product, z).ravel()
        return jnp.einsum("ij,p->ijp", jnp.asarray(back), product).reshape(case.m, -1)

    expected = stein(case, fields)
    got = features_of(gs.Moments(degree, case.operator), case).form(None).matrix()
    scale = np.sqrt(np.outer(np.diag(got), np.diag(got)))
    np.testing.assert_allclose(got / scale, expected @ expected.T / scale, atol=1e-8)


# --- circles, tori and spheres -----------------------------------------------------------------


def second_order(logq, kernel, x, radial):
    """A_x A_y k(x, y) with A = Δ + ⟨∇log q, ∇⟩; on a sphere of functions that are constant along rays."""

    def extended(f):
        return (lambda w: f(w / jnp.linalg.norm(w))) if radial else f

    def A(f, u):
        g, q = extended(f), extended(logq)
        return jnp.trace(jax.hessian(g)(u)) + jax.grad(q)(u) @ jax.grad(g)(u)

    def h(u, v):
        return A(lambda w: A(lambda y: kernel(w, y), v), u)

    return evaluated(jax.vmap(jax.vmap(h, (None, 0)), (0, None)), x, x)


MU = np.array([0.48, 0.6, 0.64])
UNIT = np.random.default_rng(1).normal(size=(5, 3))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_harmonics_of_a_sphere_are_those_of_laplace_and_beltrami(degree):
    """Σ Y(x)Y(y) over a basis is Legendre's polynomial of x·y, up to a factor."""
    legendre = [lambda t: t, lambda t: (3 * t**2 - 1) / 2, lambda t: (5 * t**3 - 3 * t) / 2][degree - 1]
    expected = second_order(lambda x: 2.0 * MU @ x, lambda x, y: legendre(x @ y), UNIT, True)
    got = gs.stein_matrix(UNIT, gs.families.VonMisesFisher(MU, 2.0), operator=gs.Harmonics(degree))
    np.testing.assert_allclose(got / got[0, 0], expected / expected[0, 0], atol=1e-9)


@pytest.mark.parametrize(("d", "degree"), [(2, 3), (4, 2), (5, 3)])
def test_there_are_as_many_harmonics_as_there_should_be(d, degree):
    x = np.random.default_rng(2).normal(size=(9, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    problem = compose(x, gs.families.UniformOnSphere(d), operator=gs.Harmonics(degree))
    monomials = [_comb(k + d - 1, k) for k in (degree, degree - 2)]
    assert problem.features.tau.shape == (9, monomials[0] - monomials[1])
    # Under the uniform law A Y = −k(k + d − 2)Y, and Σ YY is Gegenbauer's polynomial.
    expected = eval_gegenbauer(degree, d / 2 - 1, x @ x.T) if d > 2 else np.cos(degree * np.arccos(_t(x)))
    h = problem.form.matrix()
    np.testing.assert_allclose(h / h[0, 0], expected / expected[0, 0], atol=1e-7)


def _comb(n, k):
    return int(np.prod([(n - i) / (i + 1) for i in range(k)]).round()) if k >= 0 else 0


def _t(x):
    return np.clip(x @ x.T, -1.0, 1.0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_harmonics_of_a_torus(degree):
    waves = [m for m in itertools.product(range(-3, 4), repeat=2) if sum(map(abs, m)) == degree]
    theta = np.random.default_rng(3).uniform(-3, 3, (5, 2))

    def logq(t):
        return jnp.cos(t[0]) + 0.5 * jnp.sin(t[0] - t[1])

    def kernel(t, u):  # each wave and its opposite are the same
        return sum(jnp.cos(jnp.asarray(m, float) @ (t - u)) for m in waves) / 2

    expected = second_order(logq, kernel, theta, False)
    with double_precision():
        score = np.asarray(jax.vmap(jax.grad(logq))(jnp.asarray(theta)))
    model = gs.Model(score=lambda t: score, domain=gs.Torus(2), batched=True)
    got = compose(theta, model, operator=gs.Harmonics(degree)).form.matrix()
    np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())


# --- Stein's identity ----------------------------------------------------------------------------


def mean_feature(data, model, operator, weights):
    """|E ξ| over E |ξ|, of every feature of finite rank, or of h(·, y) at the first three nodes."""
    problem = compose(data, model, operator=operator)
    form = problem.form
    if isinstance(form, LowRankForm):
        tau = form.tau
    else:
        tau = form.block(slice(0, form.n), slice(0, 3))
    w = weights / weights.sum()
    size = np.abs(tau).T @ w
    return np.abs(tau.T @ w)[size > 0] / size[size > 0]


def sphere_rule(density):
    t, w = np.polynomial.legendre.leggauss(40)
    angle = 2 * np.pi * (np.arange(80) + 0.3) / 80
    side = np.sqrt(1 - t**2)
    x = np.stack(
        [np.outer(side, np.cos(angle)), np.outer(side, np.sin(angle)), np.outer(t, np.ones(80))], 2
    ).reshape(-1, 3)
    return x, np.repeat(w, 80) * density(x)


@pytest.mark.parametrize(
    "operator",
    [
        gs.Tangential(),
        gs.Margin(0),
        gs.Pair(0, 2),
        gs.Direction([1, 2, -1]),
        gs.Moments(0),
        gs.Moments(2),
        gs.Harmonics(1),
        gs.Harmonics(3),
    ],
    ids=repr,
)
def test_the_identity_on_a_sphere(operator):
    x, w = sphere_rule(lambda x: np.exp(2.0 * x @ MU))
    assert mean_feature(x, gs.families.VonMisesFisher(MU, 2.0), operator, w).max() < 1e-10
    # And not with another density: the score matters.
    assert mean_feature(x, gs.families.VonMisesFisher(-MU, 2.0), operator, w).max() > 0.05


@pytest.mark.parametrize("operator", [gs.Margin(0), gs.Harmonics(1), gs.Harmonics(4)], ids=repr)
def test_the_identity_on_a_circle(operator):
    theta = 2 * np.pi * np.arange(200)[:, None] / 200 - np.pi
    w = np.exp(1.5 * np.cos(theta[:, 0] - 0.3))
    assert mean_feature(theta, gs.families.VonMises(0.3, 1.5), operator, w).max() < 1e-10
    assert mean_feature(theta, gs.families.VonMises(1.3, 1.5), operator, w).max() > 0.01


@pytest.mark.parametrize("bound", [None, 10])
@pytest.mark.parametrize("view", [gs.Margin, gs.Pair, gs.Counts], ids=lambda view: view.__name__)
def test_the_identity_on_a_lattice_of_three_levels(view, bound):
    lattice = gs.Lattice(3, 3)
    logq = np.random.default_rng(4).normal(size=(3, 3, 3))
    arguments = {gs.Margin: (1,), gs.Pair: (2, 0), gs.Counts: (2,)}[view]
    operator = view(*arguments, gs.Difference(bound))

    def model(table):
        def logpdf(x):
            return table[tuple(lattice.encode(x).T)]

        return gs.Model(logpdf=logpdf, domain=lattice)

    states = lattice.states()
    w = np.exp(logq[tuple(lattice.encode(states).T)])
    assert mean_feature(states, model(logq), operator, w).max() < 1e-12
    assert mean_feature(states, model(-logq), operator, w).max() > 0.05


def test_counts_see_nothing_but_their_coordinates():
    """A joint law with the right margins has E τ = 0 for Counts(1), and not for Counts(2)."""
    lattice = gs.Lattice(2, 2)
    model = gs.Model(logpdf=lambda x: 0.0 * x[:, 0], domain=lattice)
    w = np.where(lattice.states()[:, 0] == lattice.states()[:, 1], 0.4, 0.1)
    assert mean_feature(lattice.states(), model, gs.Counts(1), w).max() < 1e-12
    assert mean_feature(lattice.states(), model, gs.Counts(2), w).max() > 0.3


LINE = np.polynomial.hermite_e.hermegauss(60)


@pytest.mark.parametrize(
    "operator",
    [
        gs.Moments(0),
        gs.Moments(1),
        gs.Moments(2),
        gs.Moments(4),
        gs.Margin(1),
        gs.Pair(0, 1),
        gs.Direction([1, 2]),
    ],
    ids=repr,
)
def test_the_identity_in_the_plane(operator):
    node, weight = LINE
    root = np.linalg.cholesky([[2.0, 0.6], [0.6, 1.0]])
    x = np.array(list(itertools.product(node[15:45], repeat=2))) @ root.T
    w = np.outer(weight[15:45], weight[15:45]).ravel()
    model, other = (gs.families.Normal([0, 0], a * root @ root.T) for a in (1.0, 1.4))
    # A kernel is integrated less exactly than a polynomial.
    assert mean_feature(x, model, operator, w).max() < (1e-6 if isinstance(operator, gs.Moments) else 1e-4)
    # Odd features do not see a scale.
    if not isinstance(operator, gs.Moments) or operator.degree % 2:
        assert mean_feature(x, other, operator, w).max() > 0.03


@pytest.mark.parametrize("censoring", [None, 0.6])
def test_the_identity_of_durations_holds_whatever_the_censoring_is(censoring):
    """∫₀^c [w − W] du − (1 − c)W(c) = 0 with W(u) = ∫₀ᵘ w/(1 − s) ds, which is infinite at the end."""
    node, weight = np.polynomial.legendre.leggauss(60)
    s, w = (node + 1) / 2, weight / 2
    end = 1.0 if censoring is None else censoring
    # u = end·(1 − s⁴): the logarithm of 1 − u is smooth in s where it matters.
    u, w, event = end * (1 - s**4), end * 4 * s**3 * w, np.ones(60, bool)
    if censoring is not None:
        u, w, event = np.append(u, censoring), np.append(w, 1 - censoring), np.append(event, False)
    data = gs.Censored(-2.0 * np.log1p(-u), event)
    assert mean_feature(data, gs.families.Exponential(2.0), gs.Timing(4), w).max() < 1e-8
    assert mean_feature(data, gs.families.Exponential(1.0), gs.Timing(4), w).max() > 0.1


# --- against draws -------------------------------------------------------------------------------


def drawn(operator, x, model):
    return compose(x, model, operator=operator, seeds=(1, 2, 3)).features.tau


def test_drawn_moments_are_moments_less_those_of_the_draws():
    rng = np.random.default_rng(5)
    linear = np.array([[3.0, 0.0], [-1.0, 0.2]])
    model = gs.families.Normal([1, -2], linear @ linear.T)
    x = rng.normal(size=(400, 2))
    tau = drawn(gs.DrawnMoments(2, gs.MeanEmbedding(50)), [1, -2] + x @ linear.T, model)
    # In whitened coordinates, up to a rotation and the error of 20 000 draws.
    second = x.T @ x / 400 - np.eye(2)
    assert np.linalg.norm(tau.mean(axis=0)) == pytest.approx(np.linalg.norm(second), abs=0.06)
    first = drawn(gs.DrawnMoments(1, gs.MeanEmbedding(50)), [1, -2] + x @ linear.T, model).mean(axis=0)
    assert np.linalg.norm(first) == pytest.approx(np.linalg.norm(x.mean(axis=0)), abs=0.03)


def test_means_are_those_of_all_draws_though_units_are_those_of_some():
    """4 000 draws would leave errors of .016, and the million of these one of .001."""
    model = gs.families.Normal([0.0, 0.0])
    x = 0.1 * model.sample(50, rng=1)
    tau = drawn(gs.DrawnMoments(1, gs.MeanEmbedding(20_000)), x, model)
    mean, centre = tau.mean(axis=0), x.mean(axis=0)
    units = np.linalg.norm(tau - mean) / np.linalg.norm(x - centre)
    assert units == pytest.approx(1.0, abs=0.05)
    assert np.linalg.norm(mean) / units == pytest.approx(np.linalg.norm(centre), abs=0.004)


def test_drawn_radii_have_unit_variance_and_are_uncorrelated():
    model = gs.families.Normal([0.0] * 3)
    tau = drawn(gs.DrawnRadius(gs.MeanEmbedding(5)), model.sample(20_000, rng=1), model)
    np.testing.assert_allclose(np.cov(tau, rowvar=False), 1.2 * np.eye(2), atol=0.25)
    r2 = (model.sample(20_000, rng=1) ** 2).sum(axis=1)
    assert abs(np.corrcoef(tau[:, 0], r2)[0, 1]) > 0.9


def test_levels_of_a_normal_law_are_those_of_the_chi_squared_one():
    """−2 log q is χ² with d degrees of freedom up to a constant, so P(q(Y) < q(x)) = P(χ² > ‖x‖²)."""
    model = gs.families.Normal([0.0] * 3)
    x = 1.3 * np.random.default_rng(4).normal(size=(200, 3))
    # A polynomial of the first degree on (0, 1) with mean zero and variance one.
    expected = np.sqrt(3) * (2 * chi2.sf((x**2).sum(axis=1), 3) - 1)
    tau = drawn(gs.DrawnLevel(2, gs.MeanEmbedding(400)), x, model)
    np.testing.assert_allclose(tau[:, 0], expected, atol=5 * np.sqrt(1 / 400))
    assert tau[:, 0].mean() == pytest.approx(expected.mean(), abs=0.02)


def test_levels_see_neither_units_nor_the_constant():
    x = np.random.default_rng(6).normal(size=(150, 2))

    def seen(scale, constant):
        def logpdf(z):
            return constant - ((z / scale) ** 2).sum(axis=1) / 2 - ((z[:, 0] / scale[0]) ** 4)

        def sample(n, rng):
            return scale * rng.normal(size=(n, 2))

        model = gs.Model(logpdf=logpdf, sample=sample, domain=gs.Euclidean(2), batched=True)
        return drawn(gs.DrawnLevel(), scale * x, model)

    np.testing.assert_allclose(seen(np.ones(2), 0.0), seen(np.array([1e-3, 50.0]), 7.0), atol=1e-12)


def test_levels_see_what_moments_and_margins_do_not():
    """Sign flips of pairs keep all margins, means and variances of a law on two of four quarters."""
    rng = np.random.default_rng(8)
    model = gs.families.GaussianMixture([0.5, 0.5], [[2, 2], [-2, -2]], 0.3 * np.eye(2))
    x = model.sample(120, rng=9)
    x[:, 0] *= rng.choice([-1, 1], 120)
    mean = drawn(gs.DrawnLevel(1), x, model).mean()
    assert mean < -0.5  # half of the points are less probable than nearly all draws


def test_a_level_needs_a_log_density_and_the_collection_one_that_is_not_flat():
    square = gs.Box([0, 0], [1, 1])
    bare = gs.Model(score=np.negative, sample=lambda n, rng: rng.normal(size=(n, 2)), domain=gs.Euclidean(2))
    x = np.random.default_rng(1).uniform(size=(60, 2))
    with pytest.raises(gs.InputError, match=r"has none\. Give the model `logpdf`"):
        gs.ksd_test(x, bare, operator=gs.DrawnLevel())
    for model, there in (
        (bare, False),
        (gs.families.Uniform(square), False),
        (gs.families.Normal([0, 0]), True),
    ):
        members = gs.aggregated_test(x, model, null=gs.MonteCarlo(19), rng=1).members
        assert any(isinstance(member.operator, gs.DrawnLevel) for member in members) is there


def test_pairs_of_the_second_degree_are_rank_correlations():
    """Spearman's correlation of a normal law with correlation r is (6/π) arcsin(r/2)."""
    x = gs.families.Normal([0, 0], [[1, 0.5], [0.5, 1]]).sample(4000, rng=3)
    tau = drawn(gs.DrawnPairs(2), x, gs.families.Normal([0, 0]))
    assert tau.mean(axis=0) == pytest.approx(6 / np.pi * np.arcsin(0.25), abs=4 / np.sqrt(4000))


def test_pairs_of_the_third_degree_are_bends():
    """For u uniform on (0, 1) and v = |2u − 1|, E ω₂(u)ω₁(v) = √15/4 and E ω₁(u)ω₂(v) = 0."""
    u = np.random.default_rng(2).uniform(size=4000)
    square = gs.families.Uniform(gs.Box([0, 0], [1, 1]))
    tau = drawn(gs.DrawnPairs(3), np.column_stack([u, np.abs(2 * u - 1)]), square)
    np.testing.assert_allclose(tau.mean(axis=0), [0.0, np.sqrt(15) / 4], atol=6 / np.sqrt(4000))


def test_pairs_do_not_see_units_and_need_two_columns():
    x = np.random.default_rng(6).normal(size=(100, 3))
    scale = np.array([1e-6, 1.0, 1e4])
    plain = drawn(gs.DrawnPairs(3), x, gs.families.Normal(np.zeros(3)))
    other = drawn(gs.DrawnPairs(3), scale * x, gs.families.Normal(np.zeros(3), np.diag(scale**2)))
    assert plain.shape == (100, 6)
    np.testing.assert_allclose(plain, other, atol=1e-9)
    with pytest.raises(gs.InputError, match=r"pairs of columns, but data on Euclidean\(1\) have one"):
        gs.ksd_test(x[:, 0], gs.families.Normal(0), operator=gs.DrawnPairs())
    with pytest.raises(gs.InputError, match="`degree` of DrawnPairs must be an integer of at least 2"):
        gs.DrawnPairs(1)


def test_the_collection_has_pairs_where_there_are_some():
    spins = gs.families.Ising(0.2 * (np.eye(4, k=1) + np.eye(4, k=-1)))
    for model, degrees in (
        (gs.families.Normal(0.0), []),
        (gs.families.Normal([0.0, 0.0]), [2, 3]),
        (spins, [2]),
        (gs.families.Normal(np.zeros(30)), []),
    ):
        members = gs.aggregated_test(model.sample(60, rng=1), model, null=gs.MonteCarlo(19), rng=1).members
        found = [member.operator for member in members if isinstance(member.operator, gs.DrawnPairs)]
        assert [operator.degree for operator in found] == degrees


def test_what_is_uniform_has_no_levels_and_rounding_is_not_taken_for_some():
    square = gs.families.Uniform(gs.Box([0, 0], [1, 1]))
    with pytest.raises(gs.InputError, match=r"all places are equally probable\. Use MeanEmbedding\(\)"):
        gs.ksd_test(square.sample(60, rng=1), square, operator=gs.DrawnLevel())

    def model(noise):
        def logpdf(z):
            return 700.0 + np.where(z[:, 0] < 0.5, 0.0, 1.0) + noise * np.sin(1e6 * z[:, 0])

        return gs.Model(
            logpdf=logpdf, sample=lambda n, rng: rng.uniform(size=(n, 1)), domain=gs.Box(0, 1), batched=True
        )

    x = np.random.default_rng(3).uniform(size=(50, 1))
    exact, rounded = (drawn(gs.DrawnLevel(), x, model(noise)) for noise in (0.0, 1e-13))
    np.testing.assert_array_equal(exact, rounded)
    assert len(np.unique(drawn(gs.DrawnLevel(), x, model(1e-6)).round(6), axis=0)) > 40


def test_levels_where_the_density_is_zero_or_infinite():
    model = gs.families.Gamma(0.5, 1.0)
    draws = gs.Model(
        logpdf=lambda z: np.where(z[:, 0] > 0, model.logpdf(np.maximum(z, 1e-300)), np.inf),
        sample=lambda n, rng: rng.gamma(0.5, 1.0, (n, 1)),
        domain=gs.Euclidean(1),
        batched=True,
    )
    x = np.array([[0.0], [5.0], [1e9]])  # infinite, small, and zero but for underflow
    tau = drawn(gs.DrawnLevel(1, gs.MeanEmbedding(2000)), x, draws)
    np.testing.assert_allclose(tau[[0, 2], 0], [np.sqrt(3), -np.sqrt(3)], atol=0.1)


def test_drawn_margins_do_not_see_the_scale_of_the_axis():
    """F(x) is the same for exp(x), and uniform under the model: Legendre polynomials have mean zero."""
    x = np.random.default_rng(6).normal(size=(300, 1))

    def model(transform):
        def sample(n, rng):
            return transform(rng.normal(size=(n, 1)))

        return gs.Model(score=np.negative, sample=sample, domain=gs.Euclidean(1), batched=True)

    one, other = (drawn(gs.DrawnMargins(), f(x), model(f)) for f in (np.positive, np.exp))
    np.testing.assert_allclose(one, other, atol=1e-12)
    assert np.abs(one).max() < 2 * np.sqrt(7)  # bounded


def test_simulated_samples_share_the_draws():
    model, count = gs.families.Normal([0.0, 0.0]), []

    def sample(n, rng):
        count.append(n)
        return rng.normal(size=(n, 2))

    counted = gs.Model(score=lambda x: -x, sample=sample, domain=gs.Euclidean(2), batched=True)
    x = model.sample(40, rng=1)
    gs.ksd_test(x, counted, operator=gs.DrawnMoments(2), null=gs.MonteCarlo(19), workers=1, rng=1)
    assert sum(n > 500 for n in count) <= 3  # the draws once, and those that the audits look at


# --- heavy tails -----------------------------------------------------------------------------------


def test_moments_that_the_tails_do_not_allow_are_refused_unless_simulated():
    model = gs.families.StudentT(2.0, [0.0, 0.0])
    x = model.sample(60, rng=1)
    with pytest.raises(gs.SteinIdentityError, match=r"no finite variance.*MonteCarlo"):
        gs.ksd_test(x, model, operator=gs.Moments(2), rng=1)
    assert gs.ksd_test(x, model, operator=gs.Moments(2), null=gs.MonteCarlo(39), rng=1).pvalue > 0.02
    four = gs.families.StudentT(4.0, [0.0, 0.0])
    with pytest.warns(gs.CalibrationWarning) as told:
        gs.ksd_test(four.sample(60, rng=1), four, operator=gs.Moments(2), rng=1)
    assert any("no fourth moments" in str(warning.message) for warning in told)


def test_drawn_moments_of_heavy_tails_are_refused_unless_simulated():
    model = gs.families.StudentT(5.0, [0.0, 0.0])
    x = model.sample(100, rng=1)
    with pytest.raises(gs.SteinIdentityError, match=r"carry DrawnMoments.*MonteCarlo"):
        gs.ksd_test(x, model, operator=gs.DrawnMoments(2), rng=1)
    assert gs.ksd_test(x, model, operator=gs.DrawnMoments(2), null=gs.MonteCarlo(39), rng=1).pvalue > 0.02


# --- level and power -------------------------------------------------------------------------------

NORMAL = gs.families.Normal([0.0] * 4)
LEVELS = {
    "Margin": (gs.Margin(1), NORMAL),
    "Pair": (gs.Pair(0, 1), NORMAL),
    "Direction": (gs.Direction([1, 1, 1, 1]), NORMAL),
    "Moments(0)": (gs.Moments(0), NORMAL),
    "Moments(1)": (gs.Moments(1), NORMAL),
    "Moments(2)": (gs.Moments(2), NORMAL),
    "DrawnMoments": (gs.DrawnMoments(2), NORMAL),
    "DrawnMargins": (gs.DrawnMargins(), gs.families.StudentT(3, [0.0] * 4)),
    "Moments, simplex": (gs.Moments(1), gs.families.Dirichlet([1.0] * 4)),
    "Margin, simplex": (gs.Margin(0), gs.families.Dirichlet([1.0] * 4)),
    "Moments, box": (gs.Moments(1), gs.families.Uniform(gs.Box(0, [1, 1]))),
    "Harmonics": (gs.Harmonics(2), gs.families.VonMisesFisher([0, 0, 1], 3.0)),
    "Counts": (gs.Counts(2), gs.families.CategoricalTable(np.outer([2, 3, 5], [2, 3, 5]))),
}


@trials(30, 400)
@pytest.mark.parametrize("name", LEVELS)
def test_level(name, trials):
    operator, model = LEVELS[name]
    null = gs.WildBootstrap(99)
    pvalues = [
        gs.ksd_test(model.sample(100, rng=k), model, operator=operator, null=null, rng=k).pvalue
        for k in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2, conservative=trials < 100)


@trials(30, 400)
def test_level_of_durations(trials):
    pvalues = []
    for k in range(trials):
        rng = np.random.default_rng([k, 4])
        event, censoring = rng.exponential(size=100), rng.exponential(2.0, size=100)
        data = gs.Censored(np.minimum(event, censoring), event <= censoring)
        model = gs.families.Exponential(1.0)
        null = gs.WildBootstrap(99)
        pvalues.append(gs.ksd_test(data, model, operator=gs.Timing(), null=null, rng=k).pvalue)
    check_level(pvalues, 0.05, 0.2, conservative=trials < 100)


def equally_correlated(n, rng, d=10, rho=0.15):
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))


def one_skewed(n, rng, d=10):
    x = rng.normal(size=(n, d))
    x[:, 3] = (rng.gamma(4.0, size=n) - 4.0) / 2.0
    return x


def heavy(n, rng, d=10):
    return rng.normal(size=(n, d)) * np.sqrt(6.0 / rng.chisquare(8, size=(n, 1)))


def one_pair(n, rng, d=10):
    x = rng.normal(size=(n, d))
    x[:, 7] = 0.45 * x[:, 2] + np.sqrt(1 - 0.45**2) * x[:, 7]
    return x


def oval(n, rng, d=5):
    x = rng.normal(size=(n, d)) * np.array([1.35, 1, 1, 1, 1])
    return x / np.linalg.norm(x, axis=1, keepdims=True)


TEN = gs.families.Normal([0.0] * 10)
FINDS = {
    "Margin": (gs.Margin(3), TEN, one_skewed),
    "Pair": (gs.Pair(2, 7), TEN, one_pair),
    "Direction": (gs.Direction([1] * 10), TEN, equally_correlated),
    "Moments": (gs.Moments(1), TEN, equally_correlated),
    "DrawnMoments": (gs.DrawnMoments(2), TEN, equally_correlated),
    "DrawnRadius": (gs.DrawnRadius(), TEN, heavy),
    "Harmonics": (gs.Harmonics(2), gs.families.UniformOnSphere(5), oval),
}


@pytest.mark.parametrize("name", FINDS)
def test_each_finds_what_it_is_for_and_the_plain_test_does_not(name):
    operator, model, sample = FINDS[name]
    found = {"plain": 0, "view": 0}
    null = gs.MonteCarlo(39) if name == "DrawnRadius" else gs.WildBootstrap(99)
    for k in range(12):
        x = sample(150, np.random.default_rng([k, 5]))
        found["plain"] += gs.ksd_test(x, model, null=gs.WildBootstrap(99), rng=k).pvalue <= 0.05
        found["view"] += gs.ksd_test(x, model, operator=operator, null=null, rng=k).pvalue <= 0.05
    assert found["view"] >= found["plain"] + 4, found


# --- what they are -----------------------------------------------------------------------------------

VIEWS = {
    "the distribution of `b`": gs.Margin(1),
    "`a` and `c` together": gs.Pair(0, 2),
    "the distribution of 1·`a` − 2·`c`": gs.Direction([1, 0, -2]),
    "scale and correlation of `a`, `b`, `c`": gs.Moments(1),
    "skewness of `a`, `b`, `c`": gs.Moments(2),
    "pair counts of `a`, `b`, `c`": gs.Counts(2),
    "the mean direction": gs.Harmonics(1),
    "variances and correlations": gs.DrawnMoments(2),
    "the distributions of single columns": gs.DrawnMargins(),
    "where columns lie": gs.DrawnMargins(1),
    "how probable observations are": gs.DrawnLevel(),
    "rank correlations of columns": gs.DrawnPairs(),
    "how many events there are, early and late": gs.Timing(),
    "the spread of residuals along covariate 1": gs.Residuals(1, 1, 2),
    "the tails of residuals": gs.DrawnResiduals(4, trend=0),
    "the distribution of residuals along all covariates": gs.DrawnRanks(2, trend=1, draws=20),
}


@pytest.mark.parametrize("words", VIEWS)
def test_views_say_what_they_look_at(words):
    view = VIEWS[words]
    assert isinstance(view, View)
    assert view.looks_at(["a", "b", "c"]) == words
    assert "`" not in view.looks_at()
    assert eval(f"gs.{view!r}").looks_at() == view.looks_at()
    assert repr(pickle.loads(pickle.dumps(view))) == repr(view)


@pytest.mark.parametrize(
    "operator", [gs.Margin(1), gs.Pair(0, 1), gs.Moments(0), gs.Moments(1), gs.DrawnMoments(1)], ids=repr
)
def test_other_points_are_seen_as_the_data_were(operator):
    """Beside the data, a row of the data has the features that it has among them, but for its own draws."""
    x = NORMAL.sample(60, rng=1) * [1.0, 10.0, 0.1, 1.0] + 1.0
    problem = compose(x, gs.families.Normal([1.0] * 4, np.diag([1.0, 100.0, 0.01, 1.0])), operator=operator)
    model, place = problem.model, problem.domain
    joint = problem.fitted_operator.features_beside(problem.features, model, place, x[:5])
    h = joint.form(problem.fitted_kernel).matrix()
    np.testing.assert_allclose(h[:60, :60], problem.form.matrix(), rtol=1e-9, atol=1e-9 * np.abs(h).max())
    if not isinstance(operator, gs.DrawnMoments):
        np.testing.assert_allclose(h[60:, :60], h[:5, :60], rtol=1e-9, atol=1e-9 * np.abs(h).max())
    result = gs.ksd_test(x, model, operator=operator, rng=1)
    assert result.witness(x[:5]).values.shape == (5,)


def test_finite_views_take_no_kernel_and_say_so():
    x = NORMAL.sample(50, rng=1)
    result = gs.ksd_test(x, NORMAL, operator=gs.Moments(1), rng=1)
    assert isinstance(result.kernel, OwnFunctions) and "own test functions" in str(result)
    with pytest.raises(gs.InputError, match="takes no kernel, got IMQ"):
        gs.ksd_test(x, NORMAL, operator=gs.Moments(1), kernel=IMQ(), rng=1)
    operators, null = [gs.Langevin(), gs.Moments(1), gs.Margin(2)], gs.WildBootstrap(99)
    joint = gs.aggregated_test(x, NORMAL, operators=operators, null=null, rng=1)
    assert [str(member.kernel) for member in joint.members].count("own test functions") == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Margin(-1), "`column` of Margin must be the place of a column"),
        (lambda: gs.Margin("income"), "`column` of Margin must be the place of a column"),
        (lambda: gs.Pair(1, 1), "two columns, got 1 twice"),
        (lambda: gs.Direction([0, 0]), "not all zero"),
        (lambda: gs.Direction([[1, 2]]), "`vector` of Direction must be a vector"),
        (lambda: gs.Moments(-1), "degree"),
        (lambda: gs.Moments(1.5), "degree"),
        (lambda: gs.Counts(3), "must be 1 or 2"),
        (lambda: gs.Harmonics(0), "degree"),
        (lambda: gs.Harmonics(1, gs.Langevin()), "must be SecondOrder"),
        (lambda: gs.DrawnMoments(1, gs.Langevin()), "must be MeanEmbedding"),
        (lambda: gs.Timing(2, gs.Martingale(None)), "must be Martingale"),
    ],
)
def test_what_is_no_view(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (gs.Margin(4), "column 4, but data on Euclidean.4. have the columns 0 to 3"),
        (gs.Pair(0, 9), "column 9"),
        (gs.Direction([1, 2]), "has 2 numbers, but data on .* have 4 columns"),
        (gs.Counts(), "states of a Lattice"),
        (gs.Harmonics(), "circles, tori and spheres"),
        (gs.Margin(0, gs.SecondOrder()), "cannot be looked at by Margin"),
        (gs.Moments(30), "test functions in 4 coordinates, more than"),
        (gs.Tangential(), "works on a Sphere"),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value),
)
def test_views_where_there_is_nothing_to_look_at(operator, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(NORMAL.sample(30, rng=1), NORMAL, operator=operator, rng=1)


def test_views_on_other_domains_say_what_to_use():
    table = gs.families.CategoricalTable([0.2, 0.8])
    with pytest.raises(gs.InputError, match="Use Counts"):
        gs.ksd_test(table.sample(30, rng=1), table, operator=gs.Moments(), rng=1)
    angles = gs.families.VonMises(0.0, 1.0)
    with pytest.raises(gs.InputError, match="Use Harmonics"):
        gs.ksd_test(angles.sample(30, rng=1), angles, operator=gs.Moments(), rng=1)
    with pytest.raises(gs.InputError, match="needs 2 columns"):
        gs.ksd_test(table.sample(30, rng=1), table, operator=gs.Counts(2), rng=1)
    simplex = gs.families.Dirichlet([1.0, 1.0, 1.0])
    with pytest.raises(gs.InputError, match="same in all columns"):
        gs.ksd_test(simplex.sample(30, rng=1), simplex, operator=gs.Direction([2, 2, 2]), rng=1)
