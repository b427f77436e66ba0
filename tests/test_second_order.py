"""The second-order operator on R^d, spheres and tori against its definition, expansions and quadrature."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_legendre, ive, spherical_in

import goodstein as gs
from cases import RADIAL
from definitions import at_pairs, check_form, double_precision
from goodstein.operators.second_order import DiffusionForm, SphereForm


@pytest.fixture(autouse=True)
def double():
    """Other tests see JAX as it is."""
    with double_precision():
        yield


FAMILY = gs.families
RNG = np.random.default_rng(20_240_607)


KERNELS = {
    case.name: (case.kernel, case.profile) for case in RADIAL if case.kernel.analytic and not case.whitened
}


def directions(n, d, seed=1):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def twice(operator, phi, xs, ys):
    """A_x A_y φ(‖x − y‖²) at all pairs, with `operator` taking a function and returning one."""

    def h(x, y):
        return operator(lambda u: operator(lambda v: phi(jnp.sum((u - v) ** 2)))(y))(x)

    return at_pairs(h, xs, ys)


# --- R^d ---------------------------------------------------------------------------------------

MIXTURE = FAMILY.GaussianMixture([0.4, 0.6], [[0.0, 0.5], [1.0, -1.0]], [[[1.0, 0.3], [0.3, 0.5]], np.eye(2)])
NORMAL5 = FAMILY.Normal(np.linspace(-0.5, 0.5, 5), np.diag([0.5, 1, 1.5, 2, 1]))
STUDENT = FAMILY.StudentT(3.0, 0.3, 0.8)


def mixture_logpdf(x):
    parts = [
        jnp.log(w) - 0.5 * jnp.linalg.slogdet(c)[1] - 0.5 * (x - m) @ jnp.linalg.inv(c) @ (x - m)
        for w, m, c in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covs, strict=True)
    ]
    return jax.scipy.special.logsumexp(jnp.array(parts))


EUCLIDEAN = {
    "Student, R": (STUDENT, lambda x: -2 * jnp.log1p((x[0] - 0.3) ** 2 / (3 * 0.8)), 1),
    "mixture, R²": (MIXTURE, mixture_logpdf, 2),
    "normal, R⁵": (NORMAL5, lambda x: -0.5 * jnp.sum((x - NORMAL5.mean) ** 2 / jnp.diag(NORMAL5.cov)), 5),
}


def langevin_generator(logpdf):
    def operator(f):
        return lambda x: jnp.trace(jax.hessian(f)(x)) + jax.grad(logpdf)(x) @ jax.grad(f)(x)

    return operator


@pytest.mark.parametrize(
    ("case", "kernel"),
    [(case, "Gaussian") for case in EUCLIDEAN] + [("mixture, R²", kernel) for kernel in KERNELS][1:],
)
def test_the_generator_applied_twice_on_euclidean_space(case, kernel):
    model, logpdf, d = EUCLIDEAN[case]
    ours, phi = KERNELS[kernel]
    x = np.random.default_rng(2).normal(size=(5, d))
    expected = twice(langevin_generator(logpdf), phi, x, x)
    got = gs.stein_matrix(x, model, operator=gs.SecondOrder(), kernel=ours)
    assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_hand_case_on_the_line():
    """N(0, 1), Gaussian ℓ = 1: h = k·[(s + r)-polynomials], by expanding the derivatives by hand."""
    x, y = 0.5, -0.3
    r = x - y
    k = np.exp(-(r**2) / 2)
    # k has derivatives −r, r² − 1, 3r − r³, r⁴ − 6r² + 3 times k; ∂_y = −∂_x.
    d1, d2, d3, d4 = -r * k, (r**2 - 1) * k, (3 * r - r**3) * k, (r**4 - 6 * r**2 + 3) * k
    expected = d4 + (-x) * d3 - (-y) * d3 - (-x) * (-y) * d2
    got = gs.stein_matrix([[x], [y]], FAMILY.Normal(), operator=gs.SecondOrder(), kernel=gs.Gaussian(1.0))
    assert got[0, 1] == pytest.approx(expected, rel=1e-13)
    assert d1 == pytest.approx(-r * k)


def test_the_identity_on_the_line_by_quadrature():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    y = np.array([[0.7], [-1.9]])
    x = np.vstack([y, nodes[:, None]])
    for kernel in (gs.Gaussian(0.8), gs.IMQ(1.5)):
        h = gs.stein_matrix(x, FAMILY.Normal(), operator=gs.SecondOrder(), kernel=kernel)[:2, 2:]
        size = np.abs(h) @ weights / weights.sum()
        assert np.all(np.abs(h @ weights / weights.sum()) < 1e-4 * size)


def test_an_offset_of_a_million_does_no_harm():
    x = RNG.normal(size=(20, 3))
    shift = np.array([1e6, -2e6, 3e6])
    for kernel in (gs.Gaussian(1.3), gs.IMQ(0.7)):
        near = gs.stein_matrix(x, FAMILY.Normal(np.zeros(3)), operator=gs.SecondOrder(), kernel=kernel)
        far = gs.stein_matrix(x + shift, FAMILY.Normal(shift), operator=gs.SecondOrder(), kernel=kernel)
        assert_allclose(far, near, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("diffusion", [False, True])
def test_points_far_apart_in_bandwidths_use_differences_and_agree_with_products(diffusion):
    points, drift = RNG.normal(size=(12, 3)), RNG.normal(size=(12, 3))
    factor = RNG.normal(size=(12, 3, 3))
    matrix = factor @ factor.transpose(0, 2, 1) if diffusion else None
    form = DiffusionForm(points, drift, gs.IMQ(0.5), matrix)
    assert form.placed.close
    products = form.matrix()
    form.placed = replace(form.placed, close=False)
    assert_allclose(form.matrix(), products, rtol=1e-8, atol=1e-8 * np.abs(products).max())
    wide = DiffusionForm(points * 1e5, drift, gs.IMQ(0.5), matrix)
    assert not wide.placed.close
    assert np.isfinite(wide.matrix()).all()


def test_forms_are_pieces_of_one_positive_matrix():
    x = directions(30, 4)
    score = RNG.normal(size=x.shape)
    score -= (score * x).sum(axis=1, keepdims=True) * x
    factor = RNG.normal(size=(30, 4, 4))
    forms = [
        SphereForm(x, score, gs.IMQ(1.0)),
        DiffusionForm(x, score, gs.Gaussian(0.7)),
        DiffusionForm(x, score, gs.Gaussian(0.7), factor @ factor.transpose(0, 2, 1)),
    ]
    for form in forms:
        check_form(form)


# --- spheres -------------------------------------------------------------------------------------


def geodesic_generator(logpdf):
    """Δ and ⟨∇log q, ∇·⟩ along geodesics in an orthonormal frame; no coordinates of the sphere."""

    def operator(f):
        def value(x):
            frame = jnp.linalg.qr(jnp.column_stack([x, jnp.eye(len(x))[:, : len(x) - 1]]))[0][:, 1:].T

            def along(e, function):
                return lambda t: function(jnp.cos(t) * x + jnp.sin(t) * e)

            def each(e):
                first = jax.jacfwd(along(e, f))
                return jax.jacfwd(first)(0.0) + jax.jacfwd(along(e, logpdf))(0.0) * first(0.0)

            return jax.vmap(each)(frame).sum()

        return value

    return operator


A4 = np.array([[2.0, 0.3, 0, 0.1], [0.3, -1, 0.5, 0], [0, 0.5, 0.4, 0.2], [0.1, 0, 0.2, 0]])
AXES = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
SPHERES = {
    "vMF on the circle": (FAMILY.VonMisesFisher([0.6, 0.8], 1.5), lambda x: 1.5 * x @ jnp.array([0.6, 0.8])),
    "vMF on S²": (FAMILY.VonMisesFisher([0, 0.6, 0.8], 3.0), lambda x: 3 * x @ jnp.array([0, 0.6, 0.8])),
    "Kent": (
        FAMILY.Kent(AXES, 4.0, 1.5),
        lambda x: 4 * AXES[0] @ x + 1.5 * ((AXES[1] @ x) ** 2 - (AXES[2] @ x) ** 2),
    ),
    "Bingham on S³": (FAMILY.Bingham(A4), lambda x: x @ A4 @ x),
    "vMF on S⁴": (FAMILY.VonMisesFisher(np.eye(5)[2], 2.0), lambda x: 2 * x[2]),
}


@pytest.mark.parametrize(("case", "kernel"), [(case, "IMQ") for case in SPHERES] + [("Kent", "Gaussian")])
def test_the_generator_applied_twice_on_spheres(case, kernel):
    model, logpdf = SPHERES[case]
    ours, phi = KERNELS[kernel]
    x = directions(4, model.dim)
    expected = twice(geodesic_generator(logpdf), phi, x, x[:2])
    got = gs.stein_matrix(x, model, operator=gs.SecondOrder(), kernel=ours)[:, :2]
    assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_reference_value_on_the_sphere():
    h = gs.stein_matrix(
        [[1, 0, 0], [0.6, 0, 0.8]],
        FAMILY.VonMisesFisher([0, 0, 1], 2.0),
        operator=gs.SecondOrder(),
        kernel=gs.Gaussian(1.0),
    )
    assert np.e * h[0, 1] == pytest.approx(-6.78702810769, rel=1e-11)


def test_uniform_on_the_sphere_has_the_squared_laplacian_of_the_legendre_expansion():
    """e^(κt) = Σ (2l+1) i_l(κ) P_l(t), and Δ multiplies P_l by −l(l+1)."""
    kappa = 1.7
    x = directions(15, 3)
    h = gs.stein_matrix(
        x, FAMILY.UniformOnSphere(3), operator=gs.SecondOrder(), kernel=gs.Gaussian(kappa**-0.5)
    )
    t = np.clip(x @ x.T, -1, 1)
    degree = np.arange(60)
    weights = (2 * degree + 1) * spherical_in(degree, kappa) * (degree * (degree + 1.0)) ** 2
    expected = np.exp(-kappa) * sum(
        w * eval_legendre(int(k), t) for k, w in zip(degree, weights, strict=True)
    )
    assert_allclose(h, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("power_of_l", [2, 4], ids=["Coordinate", "SecondOrder"])
def test_uniform_on_the_circle_has_the_derivatives_of_the_fourier_series(power_of_l):
    """e^(κ cos Δ) = I₀ + 2 Σ I_l cos lΔ; ∂∂′ multiplies by l², the generator twice by l⁴."""
    kappa = 1.3
    theta = RNG.uniform(-5, 5, size=(15, 1))
    operator = gs.Coordinate() if power_of_l == 2 else gs.SecondOrder()
    h = gs.stein_matrix(theta, FAMILY.VonMises(0, 0), operator=operator, kernel=gs.Gaussian(kappa**-0.5))
    order = np.arange(60)
    expected = sum(2 * ive(k, kappa) * float(k) ** power_of_l * np.cos(k * (theta - theta.T)) for k in order)
    assert_allclose(h, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_sphere_is_the_diffusion_with_the_projector(d):
    """M = I − xxᵀ and b = s − (d − 1)x, through the general formula."""
    x = directions(25, d)
    score = RNG.normal(size=x.shape)
    score -= (score * x).sum(axis=1, keepdims=True) * x
    projector = np.eye(d) - x[:, :, None] * x[:, None, :]
    for kernel in (gs.Gaussian(0.6), gs.IMQ(0.4)):
        general = DiffusionForm(x, score - (d - 1) * x, kernel, projector)
        assert_allclose(SphereForm(x, score, kernel).matrix(), general.matrix(), rtol=1e-8, atol=1e-7)


def test_rotations_change_nothing():
    model = FAMILY.VonMisesFisher([0, 0, 0, 0, 1.0], 3.0)
    x = model.sample(40, rng=1)
    turn = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
    h = gs.stein_matrix(x, model, operator=gs.SecondOrder())
    turned = gs.stein_matrix(x @ turn.T, FAMILY.VonMisesFisher(turn[:, 4], 3.0), operator=gs.SecondOrder())
    assert_allclose(turned, h, rtol=1e-8, atol=1e-8)


def test_only_the_tangential_part_of_the_score_counts():
    model = FAMILY.Bingham(A4)
    x = model.sample(20, rng=1)
    for operator in (gs.SecondOrder(), gs.Coordinate()):
        plain = gs.stein_matrix(x, model, operator=operator)
        other = gs.stein_matrix(x, lambda u: 2 * u @ A4 + 7 * u, domain=gs.Sphere(4), operator=operator)
        assert_allclose(other, plain, rtol=1e-9, atol=1e-9)


def test_concentrated_directions_lose_no_digits():
    """κ = 10⁶ on S² is close to a normal law of variance 1/κ on the tangent plane, at scale 10⁻³."""
    kappa, scale = 1e6, 1e-3
    u = RNG.normal(size=(10, 2))
    v = np.hstack([u * scale, np.ones((10, 1))])
    x = v / np.linalg.norm(v, axis=1, keepdims=True)
    sphere = gs.stein_matrix(
        x, FAMILY.VonMisesFisher([0, 0, 1], kappa), operator=gs.SecondOrder(), kernel=gs.Gaussian(scale)
    )
    plane = gs.stein_matrix(u, FAMILY.Normal([0, 0]), operator=gs.SecondOrder(), kernel=gs.Gaussian(1.0))
    assert_allclose(sphere * scale**4, plane, rtol=1e-4, atol=1e-4)


def test_a_normal_law_restricted_to_the_sphere_is_von_mises_fisher():
    mu = np.array([0, 0.6, 0.8])
    model = FAMILY.VonMisesFisher(mu, 2.5)
    x = model.sample(30, rng=1)
    normal = FAMILY.Normal(2.5 * mu, np.eye(3))
    a = gs.ksd_test(x, model, rng=1)
    b = gs.ksd_test(x, normal, domain=gs.Sphere(3), rng=1)
    assert a.statistic == pytest.approx(b.statistic, rel=1e-10)
    assert a.pvalue == b.pvalue


# --- the torus --------------------------------------------------------------------------------------


def torus_logpdf(theta):
    """The sine model of Singh et al., with correlated angles."""
    return (
        1.2 * jnp.cos(theta[0] - 0.3)
        + 0.7 * jnp.cos(theta[1] + 1)
        + 0.9 * jnp.sin(theta[0] - 0.3) * jnp.sin(theta[1] + 1)
    )


TORUS = gs.Model(logpdf=torus_logpdf, domain=gs.Torus(2), name="sine model")


def chordal(phi):
    return lambda a, b: phi(2 * jnp.sum(1 - jnp.cos(a - b)))


@pytest.mark.parametrize("kernel", ["Gaussian", "IMQ"])
@pytest.mark.parametrize("operator", [gs.Coordinate(), gs.SecondOrder()], ids=repr)
def test_both_operators_on_the_torus_by_their_definition(operator, kernel):
    ours, phi = KERNELS[kernel]
    k = chordal(phi)
    theta = RNG.uniform(-4, 8, size=(5, 2))
    score = jax.grad(torus_logpdf)

    def second(f):
        return lambda u: jnp.trace(jax.hessian(f)(u)) + score(u) @ jax.grad(f)(u)

    def first(f, j):
        return lambda u: score(u)[j] * f(u) + jax.grad(f)(u)[j]

    def h(a, b):
        if isinstance(operator, gs.SecondOrder):
            return second(lambda u: second(lambda v: k(u, v))(b))(a)
        return sum(first(lambda u, j=j: first(lambda v: k(u, v), j)(b), j)(a) for j in range(2))

    expected = at_pairs(h, theta, theta)
    got = gs.stein_matrix(theta, TORUS, operator=operator, kernel=ours)
    assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_gaussian_kernel_on_the_torus_is_a_product():
    theta, width = RNG.uniform(0, 6, size=(6, 3)), 0.8
    kernel = gs.Gaussian(width)
    points = gs.Torus(3).embedded(theta)
    factors = np.exp((np.cos(theta[:, None] - theta) - 1) / width**2).prod(axis=2)
    assert_allclose(kernel(points, points), factors, rtol=1e-12)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (gs.Matern52(1.0), "Matern52 has only two derivatives.*Use Gaussian, IMQ or RationalQuadratic"),
        (gs.Whitened(), "SecondOrder needs a radial kernel.*kernel inside Whitened"),
    ],
    ids=["Matern52", "Whitened"],
)
def test_kernels_that_cannot_be_used_are_refused(kernel, message):
    x = FAMILY.Normal([0, 0]).sample(20, rng=1)
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(x, FAMILY.Normal([0, 0]), operator=gs.SecondOrder(), kernel=kernel)


def test_a_kernel_of_ones_own_with_too_few_derivatives_is_refused():
    class Own:
        def fitted(self, points):
            return self

        def profiles(self, rho, order=2):
            return [np.exp(-rho), -np.exp(-rho), np.exp(-rho)][: order + 1]

        def __repr__(self):
            return "Own()"

    x = FAMILY.Normal().sample(20, rng=1)
    with pytest.raises(gs.InputError, match=r"needs four derivatives.*Own\(\) returned fewer"):
        gs.ksd_test(x, FAMILY.Normal(), operator=gs.SecondOrder(), kernel=Own())


@pytest.mark.parametrize(
    "model",
    [FAMILY.Uniform(gs.Box(0, [1, 1])), FAMILY.Dirichlet([2, 2, 2]), FAMILY.Uniform(gs.Ball(3))],
    ids=lambda model: type(model.domain).__name__,
)
def test_domains_with_a_boundary_are_refused_with_advice(model):
    x = model.sample(20, rng=1)
    with pytest.raises(gs.SteinIdentityError, match=r"flux q∇f.*Use operator=Standardised\(\) there"):
        gs.ksd_test(x, model, operator=gs.SecondOrder())
    assert not gs.audit(model, operator=gs.SecondOrder(), rng=1).valid
    result = gs.ksd_test(x, model, operator=gs.SecondOrder(), audit=False, rng=1)
    assert "overruled" in result.notes[0]


def test_a_wrong_score_on_euclidean_space_is_found():
    wrong = gs.Model(
        score=lambda x: -2 * x, logpdf=lambda x: -0.5 * (x**2).sum(axis=1), domain=gs.Euclidean(2)
    )
    x = FAMILY.Normal([0, 0]).sample(50, rng=1)
    with pytest.raises(gs.SteinIdentityError, match="One of the two is wrong"):
        gs.ksd_test(x, wrong, operator=gs.SecondOrder(), rng=1)


def test_second_order_test_on_the_plane_end_to_end():
    model = FAMILY.Normal([0, 0])
    x = model.sample(200, rng=3)
    assert gs.ksd_test(x, model, operator=gs.SecondOrder(), rng=1).pvalue > 0.05
    assert gs.ksd_test(x + 0.5, model, operator=gs.SecondOrder(), rng=1).pvalue < 0.01
    one = gs.ksd_test(x, model, operator=gs.SecondOrder(), rng=1, workers=1)
    two = gs.ksd_test(x, model, operator=gs.SecondOrder(), rng=1, workers=2)
    assert one.pvalue == two.pvalue
    assert gs.audit(model, operator=gs.SecondOrder(), rng=1).valid
