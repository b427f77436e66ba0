"""Families of directions: densities, scores, samplers and fits against independent answers; messages."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose

import goodstein as gs
from goodstein.families import Bingham, Kent, UniformOnSphere, VonMises, VonMisesFisher
from goodstein.families.directions import concentration, log_bessel, mean_resultant

MU = np.array([0.48, 0.6, 0.64])
A = np.array([[3.0, 0.5, 0.0], [0.5, -1.0, 0.4], [0.0, 0.4, 0.0]])
AXES = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]


def sphere_rule(nodes=60):
    """Points and weights on S², exact for polynomials of degree 2·nodes − 1 in the first coordinate."""
    t, w = leggauss(nodes)
    phi = 2 * np.pi * np.arange(2 * nodes) / (2 * nodes)
    t, phi = (g.ravel() for g in np.meshgrid(t, phi, indexing="ij"))
    s = np.sqrt(1 - t**2)
    return np.column_stack([t, s * np.cos(phi), s * np.sin(phi)]), np.repeat(w, 2 * nodes) * np.pi / nodes


X, W = sphere_rule()


def test_the_parameters_show():
    assert repr(Kent(np.eye(3), 2, 1)) == "Kent(axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], kappa=2, beta=1)"
    axes = np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
    text = "Kent(mean=[0.667, -0.333, 0.667], major=[0.667, 0.667, -0.333], kappa=2, beta=1)"
    assert repr(Kent(axes, 2, 1)) == text
    assert repr(Bingham(A)) == "Bingham([[3, 0.5, 0], [0.5, -1, 0.4], [0, 0.4, 0]])"
    # The eigenvalues of D + 11ᵀ c are not those of D, and are compared with another routine's.
    wide = np.diag([1.0, 2.0, 3.0, 4.0]) / 3 + 1 / 7
    values = ", ".join(f"{value:.3g}" for value in sorted(np.linalg.eigvals(wide).real))
    assert repr(Bingham(wide)) == f"Bingham(d=4, eigenvalues=[{values}])"


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.5, 4.0, 300.0, 1e7])
def test_von_mises_equals_scipy(kappa):
    theta = np.linspace(-6, 6, 20)
    ours = VonMises(0.3, kappa).logpdf(theta)
    if kappa == 0:
        assert_allclose(ours, -np.log(2 * np.pi))
        return
    assert_allclose(ours, scipy.stats.vonmises(kappa, loc=0.3).logpdf(theta), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5, 20])
@pytest.mark.parametrize("kappa", [0.1, 2.0, 50.0, 1e4])
def test_von_mises_fisher_equals_scipy(d, kappa):
    mu = np.ones(d) / np.sqrt(d)
    x = UniformOnSphere(d).sample(5, rng=1)
    theirs = scipy.stats.vonmises_fisher(mu, kappa).logpdf(x)
    assert_allclose(VonMisesFisher(mu, kappa).logpdf(x), theirs, rtol=1e-9)


def test_von_mises_fisher_integrates_to_one_and_zero_is_uniform():
    assert W.sum() == pytest.approx(4 * np.pi)
    assert (W * np.exp(VonMisesFisher(MU, 3.0).logpdf(X))).sum() == pytest.approx(1.0, rel=1e-10)
    assert_allclose(VonMisesFisher(MU, 0.0).logpdf(X), UniformOnSphere(3).logpdf(X))
    assert_allclose(np.exp(UniformOnSphere(3).logpdf(X)), 1 / (4 * np.pi))


@pytest.mark.parametrize(("d", "kappa"), [(2, 0.5), (2, 30.0), (3, 2.0), (3, 1e4), (6, 8.0), (6, 0.0)])
def test_von_mises_fisher_cosines_have_their_distribution(d, kappa):
    """The density of t = μ·x is (1 − t²)^((d−3)/2) e^(κt); in the angle it is smooth."""
    mu = np.eye(d)[-1]
    x = VonMisesFisher(mu, kappa).sample(4000, rng=2)
    angle = np.linspace(0, np.pi if kappa < 100 else 0.08, 20_001)
    density = np.sin(angle) ** (d - 2) * np.exp(kappa * (np.cos(angle) - 1))
    cdf = scipy.integrate.cumulative_trapezoid(density, angle, initial=0)
    drawn = np.arctan2(np.linalg.norm(x[:, :-1], axis=1), x[:, -1])
    assert scipy.stats.kstest(drawn, lambda t: np.interp(t, angle, cdf / cdf[-1])).pvalue > 0.01
    # The rest is uniform: its mean vanishes within four standard errors.
    around = x[:, :-1] / np.linalg.norm(x[:, :-1], axis=1, keepdims=True)
    assert np.abs(around.mean(axis=0)).max() < 4 / np.sqrt(4000)


def quadrature_moments(model):
    q = W * np.exp(model.logpdf(X) - model.logpdf(X).max())
    q /= q.sum()
    return q @ X, np.einsum("n,ni,nj->ij", q, X, X), q


@pytest.mark.parametrize(
    "model",
    [
        Bingham(A),
        Bingham(np.diag([-8.0, 0, 0])),
        Kent(AXES, 6.0, 2.0),
        Kent(AXES, 2.0, 4.0),
        Kent(AXES, 0, 0),
    ],
    ids=["Bingham", "girdle", "Kent", "bimodal Kent", "uniform Kent"],
)
def test_samplers_have_the_moments_of_the_density(model):
    n = 20_000
    x = model.sample(n, rng=4)
    mean, second, _ = quadrature_moments(model)
    assert_allclose(x.mean(axis=0), mean, atol=4.5 / np.sqrt(n))
    assert_allclose(x.T @ x / n, second, atol=4.5 / np.sqrt(n))
    # A finer look: the shares of the sphere's octants.
    octant = ((x > 0) * [4, 2, 1]).sum(axis=1)
    inside = [(W * np.exp(model.logpdf(X)))[((X > 0) * [4, 2, 1]).sum(axis=1) == k].sum() for k in range(8)]
    expected = n * np.array(inside) / sum(inside)
    # The rule itself resolves an octant to about a percent.
    assert ((np.bincount(octant, minlength=8) - expected) ** 2 / expected).sum() < 60


def test_bingham_in_high_dimension_has_the_moments_of_importance_sampling():
    a = np.diag([4.0, 2.0, 0, 0, -1, -3.0])
    x = Bingham(a).sample(20_000, rng=1)
    u = UniformOnSphere(6).sample(200_000, rng=2)
    weight = np.exp(np.einsum("ni,ij,nj->n", u, a, u))
    assert_allclose((x**2).mean(axis=0), (weight @ u**2) / weight.sum(), atol=0.01)


# --- fits ---------------------------------------------------------------------------------------------


def test_von_mises_fit_equals_scipy():
    theta = VonMises(2.9, 1.4).sample(300, rng=1)
    kappa, loc, _ = scipy.stats.vonmises.fit(theta[:, 0], fscale=1)
    ours = VonMises.fit(theta)
    assert ours.kappa == pytest.approx(kappa, rel=1e-5)
    assert np.cos(ours.mean - loc) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("d", "kappa"), [(2, 0.4), (3, 5.0), (6, 40.0)])
def test_von_mises_fisher_fit_equals_scipy(d, kappa):
    x = VonMisesFisher(np.eye(d)[0], kappa).sample(400, rng=1)
    mu, estimate = scipy.stats.vonmises_fisher.fit(x)
    ours = VonMisesFisher.fit(x)
    assert_allclose(ours.mu, mu, rtol=1e-9, atol=1e-12)
    assert ours.kappa == pytest.approx(estimate, rel=1e-6)


def test_score_matching_fits_are_exact_in_expectation():
    """At the population the linear systems are solved by the true parameters: quadrature as a sample."""
    rng = np.random.default_rng(3)
    for model in (Bingham(A), Kent(AXES, 6.0, 2.0)):
        _, _, q = quadrature_moments(model)
        x = X[rng.choice(len(X), size=400_000, p=q)]
        fitted = type(model).fit(x)
        if isinstance(model, Bingham):
            assert_allclose(fitted.A, A - np.trace(A) / 3 * np.eye(3), atol=0.06)
        else:
            assert fitted.kappa == pytest.approx(6.0, abs=0.1)
            assert fitted.beta == pytest.approx(2.0, abs=0.08)
            assert_allclose(np.abs(fitted.axes @ AXES.T), np.eye(3), atol=0.03)


def test_a_kent_fit_of_nearly_uniform_directions_stays_in_the_family():
    for seed in range(10):
        fitted = Kent.fit(UniformOnSphere(3).sample(15, rng=seed))
        assert fitted.kappa >= 0 and fitted.beta >= 0


# --- Bessel functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0.0, 0.5, 3.0, 49.5, 499.0])
@pytest.mark.parametrize("kappa", [1e-3, 1.0, 30.0, 1e4])
def test_bessel_functions_keep_their_recurrence(order, kappa):
    """I_ν = I_(ν+2) + 2(ν+1)/κ I_(ν+1), also where the values are below any float."""
    logs = [log_bessel(order + k, kappa) for k in range(3)]
    right = np.logaddexp(logs[2], np.log(2 * (order + 1) / kappa) + logs[1])
    assert logs[0] == pytest.approx(right, rel=1e-10, abs=1e-9)


def test_the_half_order_bessel_function_is_a_hyperbolic_sine():
    for kappa in (0.1, 2.0, 20.0):
        assert log_bessel(0.5, kappa) == pytest.approx(np.log(np.sqrt(2 / (np.pi * kappa)) * np.sinh(kappa)))
        assert mean_resultant(kappa, 3) == pytest.approx(1 / np.tanh(kappa) - 1 / kappa, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 10, 300])
@pytest.mark.parametrize("kappa", [1e-2, 1.0, 50.0, 1e5])
def test_the_concentration_inverts_the_mean_resultant(d, kappa):
    length = mean_resultant(kappa, d)
    assert concentration(1.0 - length, d) == pytest.approx(kappa, rel=1e-6)


@pytest.mark.parametrize("sd", [1e-4, 1e-5, 1e-7])
def test_very_concentrated_directions_are_fitted_like_normal_data(sd):
    """Where circle and sphere are flat, 1/κ is the variance, and its maximum likelihood fit is known."""
    steps = np.random.default_rng(1).normal(0.0, sd, (500, 2))
    angles = 1.0 + steps[:, :1]
    assert VonMises.fit(angles).kappa == pytest.approx(1 / angles.var(), rel=1e-5)
    vectors = np.column_stack([np.ones(500), steps])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert VonMisesFisher.fit(vectors).kappa == pytest.approx(2 / steps.var(axis=0).sum(), rel=1e-5)


@pytest.mark.parametrize("kappa", [1e4, 1e12, 1e18, 1e22])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_very_concentrated_directions_are_drawn_like_normal_data(d, kappa):
    """Where the sphere is flat, κ‖x − μ‖² has the χ² distribution with d − 1 degrees of freedom."""
    model = VonMisesFisher(np.eye(d)[1], kappa)
    around = np.delete(model.sample(2000, rng=1), 1, axis=1)
    assert scipy.stats.kstest(kappa * (around**2).sum(axis=1), scipy.stats.chi2(d - 1).cdf).pvalue > 1e-3


def test_axes_in_single_precision_are_orthonormal_up_to_rounding():
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0].astype(np.float32)
    assert_allclose(Kent(axes, 6.0, 2.0).axes, axes)
    with pytest.raises(gs.InputError, match="makes them so") as error:
        Kent(axes.round(3), 6.0, 2.0)
    remedy = str(error.value.remedy).split(" makes")[0]
    Kent(eval(remedy, {"np": np, "axes": axes.round(3)}), 6.0, 2.0)


@pytest.mark.parametrize("order", [0.0, 0.5, 4.5])
def test_far_out_bessel_functions_satisfy_their_recurrence(order):
    """I_ν − I_{ν+2} = 2(ν + 1)/κ · I_{ν+1}, where SciPy has no values any more, too."""
    for kappa in (1e8, 1e10, 1e13):
        ratio = [mean_resultant(kappa, int(2 * (order + shift))) for shift in (1, 2)]
        assert 1.0 / ratio[0] - ratio[1] == pytest.approx(2 * (order + 1) / kappa, rel=1e-2, abs=1e-15)


# --- messages -------------------------------------------------------------------------------------------

CLOSE = [[1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VonMises(0, -1), "`kappa`: must not be negative, got -1"),
        (lambda: VonMises([0, 1], 1), "`mean`: expected one angle"),
        (lambda: VonMises(np.nan, 1), "`mean`: 1 of 1 entries are not finite"),
        (lambda: VonMisesFisher([0, 0, 2], 1), "expected a unit vector, got one of norm 2. Divide it"),
        (lambda: VonMisesFisher([0, 0, 0], 1), "expected a unit vector, got one of norm 0. It has no dir"),
        (lambda: VonMisesFisher([1.0], 1), "expected a vector of at least 2"),
        (lambda: VonMisesFisher([0, 0, 1], -2), "`kappa`: must not be negative, got -2"),
        (lambda: VonMisesFisher([0, 0, 1], [1, 2]), "`kappa`: expected one number"),
        (lambda: UniformOnSphere(1), "`d` must be at least 2"),
        (lambda: Bingham([[1, 2], [0, 1]]), "`A`: must be symmetric, but A and its transpose differ by 2"),
        (lambda: Bingham([1, 2]), "`A`: expected a square matrix"),
        (lambda: Kent(np.eye(3) * 1.1, 1, 0), r"rows must be orthonormal, but their scalar.*by 0\.21"),
        (lambda: Kent(np.eye(4), 1, 0), r"the three axes as rows, \(3, 3\)"),
        (lambda: Kent(np.eye(3), 1, -1), "`beta`: must not be negative"),
        (lambda: VonMises.fit([[0.0, 1], [1, 1]]), "expected one column of angles, got 2"),
        (lambda: VonMises.fit([1.0, 1.0]), "all directions are equal"),
        (lambda: VonMisesFisher.fit(CLOSE), "all directions are equal"),
        (lambda: VonMisesFisher.fit([[1, 1, 0], [1, 0, 0]]), r"1 of 2 rows \(row 0\) are not unit vectors"),
        (lambda: Bingham.fit(CLOSE), "do not determine a Bingham distribution"),
        (lambda: Kent.fit(CLOSE), "all directions are equal"),
        (lambda: Kent.fit([[1, 0, 0], [-1, 0, 0]]), "the mean vector is zero"),
        (lambda: Kent.fit([[1, 0], [0, 1]]), "lives in R³, got 2 columns"),
        (lambda: VonMisesFisher.fit([1.0, 1.0]), "got 1 column"),
    ],
)
def test_messages(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()


def test_opposite_directions_have_no_mean_and_fit_the_uniform_law():
    assert VonMisesFisher.fit([[0, 1, 0], [0, -1, 0]]).kappa == 0.0


def test_fits_that_serve_the_parametric_bootstrap():
    theta = VonMises(0.5, 2.0).sample(60, rng=1)
    null = gs.ParametricBootstrap(VonMises.fit, 19)
    assert gs.ksd_test(theta, VonMises.fit(theta), null=null, rng=1).pvalue > 0.05
