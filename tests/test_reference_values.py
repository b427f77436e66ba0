"""Numbers that were found elsewhere: by symbolic differentiation, by hand, or by another implementation."""

from __future__ import annotations

import numpy as np
import pytest

import goodstein as gs
from definitions import BELL, TANGENTIAL
from goodstein.adapters import as_model
from goodstein.engine.reduce import quadratic_forms
from goodstein.families import Dirichlet, LogisticNormal, Normal, StudentT, Truncated
from goodstein.kernels import IMQ, Gaussian
from goodstein.stein.features import SteinFeatures, SteinForm

X, Y = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.1, 0.3])
DIRICHLET = Dirichlet([0.5, 0.7, 1.2])


def h(x, y, model, **options) -> float:
    return gs.stein_matrix(np.array([x, y]), model, **options)[0, 1]


def free_score(x):
    """Of the Dirichlet density in the first two parts u, the third being 1 − u₁ − u₂."""
    alpha = DIRICHLET.alpha
    return (alpha[:2] - 1) / x - (alpha[2] - 1) / (1 - x.sum(axis=1, keepdims=True))


FREE_PARTS = gs.Model(
    score=free_score, domain=gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]), name="Dirichlet in two parts"
)

# --- symbolic application of the definitions ------------------------------------------------------


def test_langevin_on_the_line():
    got = h([0.5], [-0.3], Normal(), operator=gs.Langevin(), kernel=Gaussian(1.0))
    assert got == pytest.approx(-0.312244085942, abs=5e-13)


def test_standardised_on_the_line():
    got = h([0.5], [-0.3], Normal(), operator=gs.Standardised(BELL), kernel=Gaussian(1.0))
    assert got == pytest.approx(-1.31424358000, abs=5e-12)


def test_standardised_in_the_disc():
    model = Truncated(Normal([0, 0], 1.0), gs.Ball(2))
    got = h([0.5, 0.2], [-0.1, 0.4], model, operator=gs.Standardised(gs.BallPower(2)), kernel=Gaussian(1.0))
    assert got == pytest.approx(0.251218525544, abs=5e-13)


def test_product_of_parts_on_the_simplex():
    got = h(X, Y, DIRICHLET, operator=gs.Standardised(gs.ProductOfParts()), kernel=Gaussian(0.5))
    assert got == pytest.approx(-0.00134820525407, abs=5e-15)


def test_mirrored_in_free_coordinates():
    """The published form drops the last part; it is the matrix operator with diag(u) − uuᵀ in the plane."""
    operator = gs.MatrixStandardised(
        lambda u: u[:, :, None] * np.eye(2) - u[:, :, None] * u[:, None, :], lambda u: 1 - 3 * u
    )
    got = h(X[:2], Y[:2], FREE_PARTS, operator=operator, kernel=Gaussian(0.5))
    assert got == pytest.approx(-0.244586378397, abs=5e-13)
    # Ours treats the parts alike, and is a different number.
    assert abs(h(X, Y, DIRICHLET, operator=gs.Mirrored(), kernel=Gaussian(0.5)) - got) > 0.01


# --- by hand --------------------------------------------------------------------------------------


def test_standard_normal_with_the_gaussian_kernel():
    """h = k(xx′ + 1 − 2r²)."""
    x = np.linspace(-2, 3, 9)
    r = x[:, None] - x
    expected = np.exp(-(r**2) / 2) * (np.outer(x, x) + 1 - 2 * r**2)
    got = gs.stein_matrix(x, Normal(), kernel=Gaussian(1.0))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_standard_normal_with_the_inverse_multiquadric():
    """With c = 1 + r²: h = xx′c^(−1/2) − r²c^(−3/2) + c^(−3/2) − 3r²c^(−5/2)."""
    x = np.linspace(-2, 3, 9)
    r = x[:, None] - x
    c = 1 + r**2
    expected = np.outer(x, x) * c**-0.5 + (1 - r**2) * c**-1.5 - 3 * r**2 * c**-2.5
    got = gs.stein_matrix(x, Normal(), kernel=IMQ(1.0))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_the_diagonal_is_the_squared_score_and_the_kernels_curvature():
    """h(x, x) = ‖s‖² + d/ℓ² for g = 1, for the Gaussian kernel and the inverse multiquadric alike."""
    model = StudentT(4, [0, 1, 2])
    x = np.random.default_rng(0).standard_normal((6, 3))
    for kernel in (Gaussian(0.7), IMQ(0.7)):
        expected = (model.score(x) ** 2).sum(axis=1) + 3 / 0.7**2
        np.testing.assert_allclose(np.diag(gs.stein_matrix(x, model, kernel=kernel)), expected, rtol=1e-13)


def drift(operator, model, x) -> np.ndarray:
    return operator.features(as_model(model), model.domain, x).value


COMPOSITIONS = np.vstack([np.random.default_rng(1).dirichlet([1, 1, 1], 6), [[0.0, 0.4, 0.6]], [[0, 0, 1]]])


def test_drifts_of_a_dirichlet_model():
    """α_i ∏_{j≠i} x_j for g = ∏x and α − α₀x mirrored, finite at zeros; V(α − α₀x) in log-ratios."""
    alpha, basis = DIRICHLET.alpha, gs.Simplex(3).basis
    x = COMPOSITIONS
    others = np.stack([x[:, 1] * x[:, 2], x[:, 0] * x[:, 2], x[:, 0] * x[:, 1]], axis=1)
    got = drift(gs.Standardised(gs.ProductOfParts()), DIRICHLET, x)
    np.testing.assert_allclose(got, (alpha * others) @ basis.T, atol=1e-15)
    expected = (alpha - alpha.sum() * x) @ basis.T
    np.testing.assert_allclose(drift(gs.Mirrored(), DIRICHLET, x), expected, atol=1e-15)
    np.testing.assert_allclose(drift(gs.LogRatio(), DIRICHLET, x[:6]), expected[:6], atol=1e-14)


def test_the_drift_of_a_logistic_normal_model_in_log_ratios_is_linear():
    """−Σ⁻¹(y − μ): in these coordinates the model is normal."""
    mean, cov = np.array([0.3, -0.2]), np.array([[0.8, 0.3], [0.3, 0.5]])
    y = np.random.default_rng(0).standard_normal((5, 2))
    x = gs.Simplex(3).from_logratio(y)
    expected = Normal(mean, cov).score(y)
    np.testing.assert_allclose(drift(gs.LogRatio(), LogisticNormal(mean, cov), x), expected, rtol=1e-11)
    compared = gs.stein_matrix(y, Normal(mean, cov), kernel=IMQ(1.0))
    got = gs.stein_matrix(x, LogisticNormal(mean, cov), kernel=IMQ(1.0))
    np.testing.assert_allclose(got, compared, rtol=1e-10, atol=1e-12)


def test_the_divergence_of_the_tangential_field_in_a_ball():
    """Σ_i ∂_i(δ_ij − x_i x_j) = −(d + 1)x_j; for the uniform density this is all of the drift."""
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (5, 3))
    np.testing.assert_allclose(drift(TANGENTIAL, gs.families.Uniform(gs.Ball(3)), x), -4 * x)


def test_a_constant_kernel_leaves_the_product_of_the_drifts():
    for operator in (gs.Mirrored(), gs.LogRatio(), gs.Standardised(), gs.Standardised(gs.BoundaryDistance())):
        b = drift(operator, DIRICHLET, COMPOSITIONS[:6])
        got = gs.stein_matrix(COMPOSITIONS[:6], DIRICHLET, operator=operator, kernel=Gaussian(1e7))
        np.testing.assert_allclose(got, b @ b.T, atol=1e-12)


def test_uniform_density_on_an_interval():
    """g = x(1−x), so b = 1 − 2x, and h = k[bb′ + (bg′ − b′g)r/ℓ² + gg′(1/ℓ² − r²/ℓ⁴)] at two points."""
    x, y, width = 0.3, 0.8, 0.5
    g, other_g, b, other_b, r = x * (1 - x), y * (1 - y), 1 - 2 * x, 1 - 2 * y, x - y
    k = np.exp(-(r**2) / (2 * width**2))
    slope = (b * other_g - other_b * g) * r / width**2
    expected = k * (b * other_b + slope + g * other_g * (1 / width**2 - r**2 / width**4))
    got = h([x], [y], gs.families.Uniform(gs.Box(0, 1)), kernel=Gaussian(width))
    assert got == pytest.approx(expected, rel=1e-13)


# --- another implementation ------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "nv", "u"), [(1000, 20.3937413222, 4.32200888e-4), (4000, 19.989412056, None)])
def test_standard_normal_in_ten_dimensions(n, nv, u):
    """X = default_rng(0).standard_normal((n, 10)), IMQ with ℓ = 1: values of a full-matrix implementation."""
    x = np.random.default_rng(0).standard_normal((n, 10))
    form = SteinForm(SteinFeatures(x, -x), IMQ(1.0))
    statistic, _ = quadratic_forms(form, None)
    assert (n - 1) * statistic + form.diagonal().mean() == pytest.approx(nv, rel=5e-11)
    if u is not None:
        assert statistic == pytest.approx(u, rel=5e-9)
        result = gs.ksd_test(x, Normal(np.zeros(10), 1.0), kernel=IMQ(1.0), rng=0)
        assert result.statistic == pytest.approx(u, rel=5e-9)
        matrix = gs.stein_matrix(x, Normal(np.zeros(10), 1.0), kernel=IMQ(1.0))
        assert matrix.sum() / n == pytest.approx(nv, rel=5e-11)
