"""Estimation: families, the minimum Stein discrepancy, standard errors, and every refusal."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import polygamma

import goodstein as gs
from goodstein.estimate import (
    AnyDirichlet,
    AnyExponential,
    AnyGamma,
    AnyNormal,
    Bootstrap,
    ExponentialFamily,
    Fit,
    MinimumStein,
    Parametric,
    ScoreMatching,
    SquaredDistance,
    TruncatedScoreMatching,
)
from goodstein.estimate.base import AffineScores, Sample
from goodstein.numerics.frameworks import Jax

FAMILY = gs.families
SQUARE = gs.Box([0, 0], [1, 1])
POINTS = np.random.default_rng(3).normal(size=(80, 2)) @ [[1.0, 0.4], [0.0, 0.6]] + [2.0, -1.0]
INSIDE = np.random.default_rng(4).uniform(0.05, 0.95, size=(60, 2))
COMPOSITIONS = FAMILY.Dirichlet([1.5, 2.0, 3.0]).sample(80, rng=5)


# closed forms


def test_score_matching_of_a_normal_is_the_moments_of_the_sample():
    x = POINTS * [100.0, 0.01] + [1e4, 3.0]
    fit = ScoreMatching().fit(x, AnyNormal())
    np.testing.assert_allclose(fit.parameters["mean"], x.mean(axis=0), rtol=1e-9)
    covariance = np.cov(x, rowvar=False, bias=True)
    np.testing.assert_allclose(fit.parameters["covariance"], covariance, rtol=1e-6)
    # The sandwich is then that of the moments themselves, fourth moments included.
    centred = x - x.mean(axis=0)
    np.testing.assert_allclose(fit.standard_errors["mean"], x.std(axis=0) / np.sqrt(80), rtol=1e-4)
    products = centred[:, :, None] * centred[:, None, :]
    np.testing.assert_allclose(
        fit.standard_errors["covariance"], products.std(axis=0) / np.sqrt(80), rtol=1e-4
    )
    assert fit.converged and fit.starts == (fit.objective,) and fit.at_bounds == ()


def test_exponential_is_the_mean_with_its_standard_error():
    x = FAMILY.Exponential(3.0).sample(200, rng=1)
    fit = TruncatedScoreMatching().fit(x, AnyExponential())
    assert fit.parameters["scale"] == pytest.approx(x.mean())
    assert fit.standard_errors["scale"] == pytest.approx(x.std() / np.sqrt(200), rel=1e-6)
    assert fit.model == FAMILY.Exponential(fit.parameters["scale"])
    low, high = fit.confidence_interval(0.9)["scale"]
    assert (low + high) / 2 == pytest.approx(x.mean())
    assert high - low == pytest.approx(2 * 1.6448536 * fit.standard_errors["scale"])
    part = gs.Box(0, 4)
    cut = TruncatedScoreMatching().fit(
        FAMILY.Truncated(FAMILY.Exponential(3.0), part).sample(5000, rng=1), AnyExponential(), domain=part
    )
    assert abs(cut.parameters["scale"] - 3.0) < 3 * cut.standard_errors["scale"]
    assert cut.model.domain == part


def test_dirichlet_closed_form_against_direct_minimisation_in_a_chart():
    # Written out in two orthonormal coordinates y of the plane Σx = 1, x = 1/3 + yB, all by autodiff.
    with Jax().context():
        basis = jnp.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / jnp.sqrt(jnp.array([[2.0], [6.0]]))
        y = jnp.asarray(COMPOSITIONS) @ basis.T

        def log(y, alpha):
            return ((alpha - 1) * jnp.log(1 / 3 + y @ basis)).sum()

        def weight(y):
            return (1 / 3 + y @ basis).prod() ** 2

        def loss(y, alpha):
            s = jax.grad(log)(y, alpha)
            divergence = jnp.trace(jax.hessian(log)(y, alpha))
            return weight(y) * (s @ s + 2 * divergence) + 2 * jax.grad(weight)(y) @ s

        @jax.jit
        def objective(alpha):
            return jax.vmap(loss, (0, None))(y, alpha).mean()

        both = jax.jit(jax.value_and_grad(lambda alpha: 1e4 * objective(alpha)))
        found = minimize(
            lambda a: tuple(map(np.asarray, both(a))), np.ones(3), jac=True, options={"gtol": 1e-9}
        ).x
        fit = TruncatedScoreMatching().fit(COMPOSITIONS, AnyDirichlet())
        np.testing.assert_allclose(fit.parameters["alpha"], found, rtol=1e-6)
        assert fit.objective == pytest.approx(float(objective(fit.theta)), rel=1e-8)


def test_gamma_closed_form_against_direct_minimisation():
    x = FAMILY.Gamma(2.0, 3.0).sample(200, rng=1)[:, 0]

    def objective(theta):
        s, second = (theta[0] - 1) / x - theta[1], -(theta[0] - 1) / x**2
        return (x**2 * (s**2 + 2 * second) + 4 * x * s).mean()

    shape, rate = minimize(objective, [1.0, 1.0]).x
    fit = TruncatedScoreMatching().fit(x, AnyGamma())
    assert fit.parameters["shape"] == pytest.approx(shape, rel=1e-4)
    assert fit.parameters["scale"] == pytest.approx(1 / rate, rel=1e-4)


def quartic(x):
    return np.hstack([x, x**2, x[:, :1] * x[:, 1:]])


def quartic_jax(x):
    return jnp.hstack([x, x**2, x[:, :1] * x[:, 1:]])


def quartic_gradient(x):
    out = np.zeros((len(x), 2, 5))
    out[:, 0, 0] = out[:, 1, 1] = 1.0
    out[:, 0, 2], out[:, 1, 3] = 2 * x[:, 0], 2 * x[:, 1]
    out[:, 0, 4], out[:, 1, 4] = x[:, 1], x[:, 0]
    return out


def quartic_second(x):
    out = np.zeros((len(x), 2, 5))
    out[:, 0, 2] = out[:, 1, 3] = 2.0
    return out


def quartic_laplacian(x):
    return quartic_second(x).sum(axis=1)


def log_quartic(x, theta):
    return (x @ theta[:2]) + (x**2 @ theta[2:4]) + x[:, 0] * x[:, 1] * theta[4]


def log_quartic_of_one(x, theta):
    return x @ theta[:2] + x**2 @ theta[2:4] + x[0] * x[1] * theta[4]


def log_quartic_jax(x, theta):
    return jnp.dot(x, theta[:2]) + jnp.dot(x**2, theta[2:4]) + x[:, 0] * x[:, 1] * theta[4]


def score_quartic(x, theta):
    return theta[:2] + 2 * x * theta[2:4] + theta[4] * x[:, ::-1]


START = np.array([1.0, 1.0, -1.0, -1.0, 0.5])

WAYS = {
    "numpy statistic": ExponentialFamily(quartic),
    "jax statistic": ExponentialFamily(quartic_jax),
    "derivatives given": ExponentialFamily(quartic, gradient=quartic_gradient, laplacian=quartic_second),
    "laplacian given": ExponentialFamily(quartic, gradient=quartic_gradient, laplacian=quartic_laplacian),
    "log density": Parametric(log_quartic, start=START),
    "jax log density": Parametric(log_quartic_jax, start=START),
    "score": Parametric(score=score_quartic, start=START),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("estimator", [TruncatedScoreMatching(), MinimumStein()], ids=["TruncSM", "MinStein"])
def test_one_family_in_many_forms_has_one_estimate_and_one_standard_error(way, estimator):
    expected = estimator.fit(INSIDE, WAYS["derivatives given"], domain=SQUARE)
    fit = estimator.fit(INSIDE, WAYS[way], domain=SQUARE)
    errors = np.sqrt(np.diag(expected.covariance))
    assert fit.converged
    assert (np.abs(fit.theta - expected.theta) < 2e-3 * errors).all()
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), errors, rtol=1e-3)
    np.testing.assert_allclose(fit.model.score(INSIDE), score_quartic(INSIDE, fit.theta), atol=1e-4)
    if way == "score":  # what the fit does is known from derivatives of a log density
        with pytest.warns(gs.CalibrationWarning, match="fitted to these very data"):
            result = gs.ksd_test(INSIDE, fit.model, rng=1)
        assert result.null == gs.WildBootstrap()
    else:
        assert gs.ksd_test(INSIDE, fit.model, rng=1).pvalue > 0.01


def test_a_function_of_one_point_is_as_good_as_one_of_all():
    one, all_ = (
        TruncatedScoreMatching().fit(INSIDE[:8], Parametric(function, start=START), domain=SQUARE)
        for function in (log_quartic_of_one, log_quartic)
    )
    np.testing.assert_allclose(one.theta, all_.theta, rtol=1e-6)


def test_natural_parameters_agree_with_the_normal_family():
    fit = TruncatedScoreMatching().fit(INSIDE * 0.5, WAYS["derivatives given"], domain=SQUARE)
    theta = fit.theta
    precision = -np.array([[2 * theta[2], theta[4]], [theta[4], 2 * theta[3]]])
    normal = TruncatedScoreMatching().fit(INSIDE * 0.5, AnyNormal(), domain=SQUARE)
    np.testing.assert_allclose(normal.parameters["covariance"], np.linalg.inv(precision), rtol=1e-7)
    np.testing.assert_allclose(normal.parameters["mean"], np.linalg.solve(precision, theta[:2]), rtol=1e-7)


def test_a_base_measure_and_names():
    def statistic(x):
        return x[:, 0]

    def base(x):
        return -(x[:, 0] ** 2) / 2

    x = np.random.default_rng(1).normal(0.7, 1.0, size=500)
    fit = ScoreMatching().fit(x, ExponentialFamily(statistic, names=["mean"], base=base))
    assert fit.parameters == {"mean": pytest.approx(x.mean(), abs=1e-9)}
    assert fit.names == ("mean",)
    np.testing.assert_allclose(fit.model.score(x[:, None])[:, 0], x.mean() - x, atol=1e-6)


# minimum Stein discrepancy


def tangential_field(x):
    return np.eye(2) - x[:, :, None] * x[:, None, :]


def tangential_divergence(x):
    return -3.0 * x


@dataclass(frozen=True)
class Doubled:
    """An operator that nobody has registered: twice the Langevin operator."""

    def features(self, model, domain, data):
        return gs.SteinFeatures(data, 2 * model.score(data), np.full(len(data), 2.0))


DISC = FAMILY.Truncated(FAMILY.Normal([0.3, 0.0], 0.3), gs.Ball(2)).sample(60, rng=2)

DISCREPANCIES = {
    "Langevin, Gaussian": (POINTS, None, None, gs.Gaussian(1.0)),
    "Langevin, whitened IMQ": (POINTS, None, None, gs.Whitened(gs.IMQ(1.0))),
    "Langevin, sum": (POINTS, None, gs.Langevin(), gs.IMQ(0.5) + gs.Gaussian(2.0)),
    "an operator of one's own": (POINTS, None, Doubled(), None),
    "box": (INSIDE, SQUARE, None, None),
    "scalar weight": (INSIDE, SQUARE, gs.Standardised(gs.BoundaryDistance()), gs.Gaussian(0.3)),
    "matrix weight": (DISC, gs.Ball(2), gs.MatrixStandardised(tangential_field, tangential_divergence), None),
}


@pytest.mark.parametrize("case", DISCREPANCIES)
def test_minimum_stein_is_where_the_statistic_of_the_test_has_its_minimum(case):
    x, domain, operator, kernel = DISCREPANCIES[case]
    family = ExponentialFamily(quartic, gradient=quartic_gradient, laplacian=quartic_second)
    fit = MinimumStein(operator, kernel).fit(x, family, domain=domain)
    fixed = {"operator": operator, "kernel": kernel or gs.IMQ(), "domain": domain}

    def statistic(theta):
        return gs.stein_matrix(x, lambda y: score_quartic(y, theta), **fixed).mean()

    assert fit.objective == pytest.approx(statistic(fit.theta), rel=1e-8)
    result = gs.ksd_test(x, lambda y: score_quartic(y, fit.theta), **fixed, rng=1, audit=False)
    assert result.v_statistic == pytest.approx(fit.objective, rel=1e-8)
    size = 1.0 + np.abs(fit.theta)
    found = minimize(lambda t: statistic(t * size), START / size, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found.x * size, fit.theta, atol=2e-3 * size.max())
    assert found.fun >= fit.objective - 1e-12
    # A minimum has a gradient of zero, and the influences add up to it.
    assert (
        np.abs(fit._problem.influences(fit._coordinates).mean(axis=0)).max() < 1e-8 * fit._problem.scale * 1e3
    )


@pytest.mark.parametrize(
    "operator", [None, gs.Mirrored(), gs.Standardised(), gs.Standardised(SquaredDistance())], ids=repr
)
def test_minimum_stein_recovers_a_dirichlet(operator):
    truth = np.array([0.5, 1.0, 2.0])
    x = FAMILY.Dirichlet(truth).sample(1500, rng=1)
    fit = MinimumStein(operator).fit(x, AnyDirichlet())
    errors = fit.standard_errors["alpha"]
    assert (np.abs(fit.parameters["alpha"] - truth) < 3.5 * errors).all()
    assert errors.max() < 0.3


def test_minimum_stein_influences_are_derivatives_of_the_pairwise_kernel():
    x = POINTS[:12]
    fit = MinimumStein(kernel=gs.Gaussian(1.0)).fit(x, AnyNormal())
    problem, scores, theta = fit._problem, fit._problem.scores, fit._coordinates

    def rows(t):
        return gs.stein_matrix(x, scores.model(t), kernel=gs.Gaussian(1.0)).mean(axis=1)

    influences = problem.influences(theta)
    value, gradient = problem.value_and_gradient(theta)
    assert value == pytest.approx(rows(theta).mean())
    for j, unit in enumerate(np.eye(len(theta))):
        expected = (rows(theta + 1e-5 * unit) - rows(theta - 1e-5 * unit)) / 2e-5
        np.testing.assert_allclose(influences[:, j], 2 * expected, atol=1e-6)
        assert gradient[j] == pytest.approx(expected.mean(), abs=1e-6)


def test_more_rows_than_are_kept_in_memory_change_nothing(monkeypatch):
    expected = MinimumStein().fit(INSIDE, WAYS["derivatives given"], domain=SQUARE)
    covariance = expected.covariance
    monkeypatch.setattr("goodstein.estimate.stein.MOST_KEPT", 10)
    monkeypatch.setattr("goodstein.estimate.stein.BLOCK_NUMBERS", 7 * len(INSIDE))
    fit = MinimumStein().fit(INSIDE, WAYS["derivatives given"], domain=SQUARE)
    np.testing.assert_allclose(fit.theta, expected.theta, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-8)


# standard errors


CLOSED = {
    "TruncSM, normal mean on an interval": (
        TruncatedScoreMatching(),
        ExponentialFamily(lambda x: 4.0 * x, base=lambda x: -2.0 * x[:, 0] ** 2),
        FAMILY.Truncated(FAMILY.Normal(0.2, 0.25), gs.Box(0, 1.5)),
        [0.2],
    ),
    "TruncSM, Dirichlet": (
        TruncatedScoreMatching(),
        AnyDirichlet(),
        FAMILY.Dirichlet([1.0, 2.0, 3.0]),
        [1, 2, 3],
    ),
    "MinimumStein, Dirichlet": (MinimumStein(), AnyDirichlet(), FAMILY.Dirichlet([1.0, 2.0, 3.0]), [1, 2, 3]),
}


@pytest.mark.parametrize("case", CLOSED)
def test_sandwich_standard_errors_against_the_spread_of_many_estimates(case):
    estimator, family, model, truth = CLOSED[case]
    heavy = isinstance(estimator, MinimumStein)
    repetitions, n = (120, 200) if heavy else (200, 300)
    fits = [estimator.fit(model.sample(n, rng=r), family, domain=model.domain) for r in range(repetitions)]
    estimates = np.array([fit.theta for fit in fits])
    covariances = np.array([fit.covariance for fit in fits])
    errors = np.sqrt(covariances.diagonal(axis1=1, axis2=2))
    free = errors.mean(axis=0) > 0
    ratio = np.median(errors, axis=0)[free] / estimates.std(axis=0, ddof=1)[free]
    # A standard deviation of r estimates has a relative error of about 1/√(2r), and a share of .95 one of
    # √(.05·.95/r): the bounds are three and more of them away.
    assert (np.abs(ratio - 1) < 3.5 / np.sqrt(2 * repetitions)).all(), ratio
    covered = (np.abs(estimates - truth) <= 1.96 * errors)[:, free].mean(axis=0)
    assert (np.abs(covered - 0.95) < 0.04 + 1 / repetitions).all(), covered


def test_bootstrap_agrees_with_the_sandwich_and_does_not_depend_on_workers():
    x = FAMILY.Dirichlet([1.0, 2.0, 3.0]).sample(300, rng=1)
    for estimator in (TruncatedScoreMatching(), MinimumStein()):
        fit = estimator.fit(x, AnyDirichlet())
        bootstrap = fit.bootstrap(200, rng=1)
        np.testing.assert_allclose(
            bootstrap.standard_errors["alpha"], fit.standard_errors["alpha"], rtol=0.25
        )
        low, high = bootstrap.confidence_interval()["alpha"]
        assert ((low < fit.parameters["alpha"]) & (fit.parameters["alpha"] < high)).all()
        assert bootstrap.failed == 0 and bootstrap.draws.shape == (200, 3)
        np.testing.assert_allclose(np.sqrt(np.diag(bootstrap.covariance)), bootstrap.standard_errors["alpha"])
        with ThreadPoolExecutor(2) as pool:
            again = [fit.bootstrap(20, rng=1, workers=workers).draws for workers in (1, 2, pool)]
        for draws in again:
            np.testing.assert_array_equal(draws, bootstrap.draws[:20])


def test_resamples_that_cannot_be_fitted_are_counted():
    x = np.random.default_rng(1).uniform(size=30)  # hardly normal: some resamples have no positive precision
    fit = TruncatedScoreMatching().fit(x[x > 0.05], AnyNormal(), domain=gs.Box(0, 1))
    bootstrap = fit.bootstrap(100, rng=1)
    assert 0 < bootstrap.failed < 100
    assert len(bootstrap.draws) == 100 - bootstrap.failed
    assert f"{bootstrap.failed} more could not be fitted" in str(bootstrap)


def test_maximum_likelihood_is_more_precise_but_not_by_orders():
    # A sanity check of scale: the sandwich must not be below the Cramér-Rao bound of the Dirichlet.
    alpha = np.array([2.0, 3.0, 4.0])
    fit = TruncatedScoreMatching().fit(FAMILY.Dirichlet(alpha).sample(5000, rng=1), AnyDirichlet())
    information = np.diag(polygamma(1, alpha)) - polygamma(1, alpha.sum())
    bound = np.sqrt(np.diag(np.linalg.inv(information)) / 5000)
    ratio = fit.standard_errors["alpha"] / bound
    assert ((ratio > 1) & (ratio < 2.5)).all()


# what a fit is


def test_a_fit_is_frozen_readable_and_can_be_pickled():
    fit = TruncatedScoreMatching().fit(COMPOSITIONS, AnyDirichlet())
    assert isinstance(fit, Fit)
    with pytest.raises(FrozenInstanceError):
        fit.objective = 0.0
    assert fit.names == ("alpha[0]", "alpha[1]", "alpha[2]")
    np.testing.assert_array_equal(fit.theta, fit.parameters["alpha"])
    text = str(fit)
    assert text.startswith("TruncatedScoreMatching: AnyDirichlet()")
    assert f"{fit.theta[0]:.4g}" in text and "80 observations on Simplex(3)" in text
    assert ">alpha[0]</th>" in fit._repr_html_()
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    assert again.model == fit.model == FAMILY.Dirichlet(fit.theta)
    for estimator, family in ((MinimumStein(), WAYS["jax log density"]), (MinimumStein(), AnyNormal())):
        one = estimator.fit(INSIDE, family, domain=SQUARE)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(one)).covariance, one.covariance, rtol=1e-9)


def test_the_model_can_be_tested_simulated_and_refitted():
    half, other = COMPOSITIONS[:40], COMPOSITIONS[40:]
    fit = TruncatedScoreMatching().fit(half, AnyDirichlet())
    assert gs.ksd_test(other, fit.model, null=gs.MonteCarlo(49), rng=1).pvalue > 0.02
    null = gs.ParametricBootstrap(fit.refit, 19)
    result = gs.ksd_test(half, fit.model, null=null, rng=1)  # the fit's own model: no warning
    assert result.notes == ()
    x = FAMILY.Truncated(FAMILY.Normal([0.4, 0.5], 0.1), SQUARE).sample(200, rng=1)
    cut = TruncatedScoreMatching().fit(x, AnyNormal(), domain=SQUARE)
    assert cut.model.domain == SQUARE and len(cut.model.sample(10, rng=1)) == 10
    gs.ksd_test(x, cut.model, null=gs.ParametricBootstrap(cut.refit, 3), rng=1)


def test_a_family_of_ones_own_needs_no_registration():
    class Shifted:
        """A Laplace-like density with a location."""

        start = (0.0,)
        names = ("location",)

        def score(self, x, theta):
            return -jnp.tanh(x - theta)

    x = np.random.default_rng(1).logistic(1.0, 0.5, size=400)
    fit = ScoreMatching().fit(x, Shifted())
    assert abs(fit.parameters["location"] - 1.0) < 4 * fit.standard_errors["location"]

    class Tilted:
        """The protocol itself: exp(θx) on an interval."""

        def scores(self, sample: Sample):
            return TiltedScores(sample)

    class TiltedScores(AffineScores):
        def __init__(self, sample):
            ones = np.ones((len(sample), 1, 1))
            super().__init__(["slope"], ones, 0 * ones)

        def parameters(self, theta):
            return {"slope": float(theta[0])}

        def model(self, theta):
            return gs.Model(score=lambda x: np.full_like(x, theta[0]), domain=gs.Box(0, 1))

    u = np.random.default_rng(1).uniform(size=4000)
    y = np.log1p(u * np.expm1(2.0)) / 2.0  # density ∝ exp(2x)
    fit = TruncatedScoreMatching().fit(y, Tilted(), domain=gs.Box(0, 1))
    assert abs(fit.parameters["slope"] - 2.0) < 3 * fit.standard_errors["slope"]


def test_bounds_several_starts_and_a_sampler_of_a_parametric_family():
    def log_density(x, theta):
        return -((x[:, 0] - theta[0]) ** 2) / 2

    def sample(n, theta, rng):
        return rng.normal(theta[0], 1.0, size=(n, 1))

    x = np.random.default_rng(1).normal(1.0, 1.0, size=200)
    family = Parametric(
        log_density, start=[[0.0], [0.4]], names=["mean"], bounds=[(None, 0.5)], sample=sample
    )
    fit = ScoreMatching().fit(x, family)
    assert fit.parameters["mean"] == pytest.approx(0.5) and fit.at_bounds == ("mean",)
    assert len(fit.starts) == 2
    assert np.isnan(fit.standard_errors["mean"])
    assert len(fit.model.sample(5, rng=1)) == 5
    half_line = gs.Orthant(1)
    cut = TruncatedScoreMatching().fit(np.abs(x), family, domain=half_line)
    assert (cut.model.sample(50, rng=1) >= 0).all()


# refusals


def refused(match, estimator, data, family, error=gs.InputError, **options):
    with pytest.raises(error, match=match):
        estimator.fit(data, family, **options)


TRUNCATED, MATCHING, STEIN = TruncatedScoreMatching(), ScoreMatching(), MinimumStein()


@pytest.mark.parametrize("estimator", [TRUNCATED, STEIN], ids=["TruncSM", "MinStein"])
def test_data_and_domains_that_do_not_fit_are_refused(estimator):
    refused("`data` has 3 columns", estimator, np.ones((5, 3)), AnyNormal(), domain=SQUARE)
    outside = INSIDE.copy()
    outside[7] = 2.0
    refused(
        r"1 of 60 rows \(row 7\) lie outside Box",
        estimator,
        outside,
        AnyNormal(),
        gs.DomainError,
        domain=SQUARE,
    )
    refused("hold NaN", estimator, INSIDE * np.nan, AnyNormal(), domain=SQUARE)
    refused("`domain` must be a domain such as", estimator, INSIDE, AnyNormal(), domain=(0, 1))
    refused(
        "none of them",
        estimator,
        COMPOSITIONS / np.linalg.norm(COMPOSITIONS, axis=1, keepdims=True),
        AnyNormal(),
        gs.DomainError,
        domain=gs.Sphere(3),
    )
    refused(
        "family on R.d, and rows of",
        estimator,
        COMPOSITIONS,
        AnyNormal(),
        gs.DomainError,
        domain=gs.Simplex(3),
    )
    refused(
        "family on R.d, and rows of",
        estimator,
        COMPOSITIONS,
        AnyNormal(),
        gs.DomainError,
        domain=gs.Simplex(3),
    )
    refused("a family on a Simplex", estimator, INSIDE, AnyDirichlet(), gs.DomainError, domain=SQUARE)
    refused(
        "2 rows are too few for the 5 parameters",
        estimator,
        INSIDE[:2],
        WAYS["derivatives given"],
        domain=SQUARE,
    )
    refused("4 rows are too few for the 5 parameters", estimator, INSIDE[:4], AnyNormal(), domain=SQUARE)
    refused("`rng` must be None", estimator, INSIDE, AnyNormal(), domain=SQUARE, rng="x")


def test_a_boundary_or_none_where_the_other_is_needed():
    refused(
        r"Box.* has a boundary.*TruncatedScoreMatching\(\)",
        MATCHING,
        INSIDE,
        AnyNormal(),
        gs.DomainError,
        domain=SQUARE,
    )
    refused(
        r"Euclidean\(2\) has no boundary.*ScoreMatching\(\)", TRUNCATED, POINTS, AnyNormal(), gs.DomainError
    )
    with pytest.raises(gs.DomainError, match="no boundary"):
        SquaredDistance().evaluate(POINTS, gs.Euclidean(2))


def test_weights_that_are_wrong_are_refused():
    def one(x):
        return np.ones(len(x))

    def negative(x):
        return -x.prod(axis=1) * (1 - x).prod(axis=1)

    def zeros(x):
        return np.zeros(x.shape)

    def per_part(x):
        return x

    refused(
        "does not vanish at the face x_1 = 0",
        TruncatedScoreMatching(gs.Auxiliary(one, zeros)),
        INSIDE,
        AnyNormal(),
        domain=SQUARE,
    )
    refused(
        "is negative at 60 of 60 rows",
        TruncatedScoreMatching(gs.Auxiliary(negative, zeros)),
        INSIDE,
        AnyNormal(),
        domain=SQUARE,
    )
    on_edge = np.column_stack([np.zeros(20), np.linspace(0.1, 0.9, 20)])
    refused("is zero at all 20 observations", TRUNCATED, on_edge, WAYS["derivatives given"], domain=SQUARE)
    refused(
        "must be scalar", TruncatedScoreMatching(gs.Auxiliary(per_part, zeros)), COMPOSITIONS, AnyDirichlet()
    )
    refused(
        "not their sum. Or use BoundaryDistance",
        TruncatedScoreMatching(gs.BoxProduct()),
        INSIDE,
        WAYS["laplacian given"],
        domain=SQUARE,
    )
    with pytest.raises(gs.InputError, match="`auxiliary` must be an auxiliary function"):
        TruncatedScoreMatching(one)


def test_operators_that_cannot_estimate_are_refused():
    @dataclass(frozen=True)
    class Squared:
        def features(self, model, domain, data):
            return gs.SteinFeatures(data, model.score(data) ** 2)

    refused("not affine in the score", MinimumStein(Squared()), POINTS, AnyNormal())
    refused("has no features", MinimumStein(gs.SecondOrder()), POINTS, AnyNormal())
    refused(
        "does not vanish at the face x_1 = 0", MinimumStein(gs.Langevin()), INSIDE, AnyNormal(), domain=SQUARE
    )
    with pytest.raises(gs.InputError, match="`operator` must be an operator"):
        MinimumStein(operator="Langevin")
    with pytest.raises(gs.InputError, match="`kernel` must be a kernel"):
        MinimumStein(kernel=1.0)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: TruncatedScoreMatching(starts=0), "`starts` must be an integer"),
        (lambda: ScoreMatching(max_iterations=0), "`max_iterations` must be an integer"),
        (lambda: MinimumStein(starts=1.5), "`starts` must be an integer"),
        (lambda: ExponentialFamily(3), "`statistic` of ExponentialFamily must be a function"),
        (lambda: ExponentialFamily(quartic, gradient=quartic), "belong together"),
        (lambda: Parametric(start=[0.0]), "needs a `log_density` or a `score`"),
        (lambda: Parametric(log_quartic), "needs a `start`"),
        (lambda: Parametric(3, start=[0.0]), "`log_density` of Parametric must be a function"),
        (lambda: Parametric(log_quartic, start=np.zeros((2, 2, 2))), r"shape \(p,\) or \(s, p\)"),
        (lambda: Parametric(log_quartic, start=[1.0, np.nan]), "`start` must be finite numbers"),
        (lambda: Parametric(log_quartic, start=[1.0], names=["a", "b"]), "`names` has 2 entries"),
        (
            lambda: Parametric(log_quartic, start=[1.0], bounds=[(0, 1)] * 2),
            "`bounds` of Parametric must be 1 pairs",
        ),
        (lambda: Parametric(log_quartic, start=[1.0], bounds=[(1, 0)]), "lower must be below upper"),
        (lambda: Parametric(log_quartic, start=[2.0], bounds=[(0, 1)]), "`start` is outside of `bounds`"),
    ],
)
def test_parts_that_make_no_sense_are_refused_at_once(make, match):
    with pytest.raises(gs.InputError, match=match):
        make()


def test_families_that_are_none_are_refused():
    refused("`family` is the class AnyDirichlet", TRUNCATED, COMPOSITIONS, AnyDirichlet)
    refused(
        "`family` must be a family such as AnyDirichlet", TRUNCATED, COMPOSITIONS, FAMILY.Dirichlet([1, 1, 1])
    )
    refused("`family` must be a family such as AnyDirichlet", TRUNCATED, COMPOSITIONS, "Dirichlet")


def test_data_that_a_family_cannot_describe_are_refused():
    zero = COMPOSITIONS.copy()
    zero[3] = [0.0, 0.4, 0.6]
    refused(r"1 of 80 rows \(row 3\) hold parts that are zero", TRUNCATED, zero, AnyDirichlet())
    refused(
        r"hold zeros, where the score of AnyGamma\(\) is infinite", TRUNCATED, [0.0, 1.0, 2.0], AnyGamma()
    )
    refused("on the half-line, and `data` have 2 columns", TRUNCATED, INSIDE, AnyGamma())
    refused(
        "are negative, where AnyExponential",
        TRUNCATED,
        [-1.0, 1.0, 2.0],
        AnyExponential(),
        domain=gs.Box(-2, 5),
    )
    refused(
        "column 0 is constant",
        TRUNCATED,
        np.column_stack([np.full(20, 0.5), INSIDE[:20, 0]]),
        AnyNormal(),
        domain=SQUARE,
    )
    refused(
        "is not positive definite",
        TRUNCATED,
        np.random.default_rng(0).beta(0.4, 0.4, size=100),
        AnyNormal(),
        domain=gs.Box(0, 1),
    )
    refused(
        "1/scale is .* and no Exponential distribution has that",
        TRUNCATED,
        np.random.default_rng(0).beta(5, 1, size=100),
        AnyExponential(),
        domain=gs.Box(0, 1),
    )
    refused(
        "no Gamma distribution has that",
        TRUNCATED,
        np.random.default_rng(0).beta(5, 1, size=100),
        AnyGamma(),
        domain=gs.Box(0, 1),
    )
    with pytest.raises(gs.InputError, match="no Dirichlet distribution has that"):
        AnyDirichlet().scores(Sample(COMPOSITIONS, gs.Simplex(3))).parameters(np.array([1.0, -0.2, 1.0]))


def test_functions_that_cannot_be_used_are_refused():
    def redundant(x):
        return np.hstack([x, x.sum(axis=1, keepdims=True)])

    def constant(x):
        return np.hstack([x, np.ones((len(x), 1))])

    def infinite(x):
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(x - 0.5, 0))

    def log_infinite(x, theta):
        return theta[0] * jnp.log(jnp.maximum(x[:, 0] - 0.5, 0))

    def log_numpy(x, theta):
        return theta[0] * np.log(x[:, 0])

    family = ExponentialFamily(redundant, names=["a", "b", "c"])
    refused(
        r"is singular: moving the parameters along .*·a .*·b .*·c", TRUNCATED, INSIDE, family, domain=SQUARE
    )
    refused(
        "does not depend on 'theta\\[2\\]'", TRUNCATED, INSIDE, ExponentialFamily(constant), domain=SQUARE
    )
    refused(
        "`statistic` of ExponentialFamily is not finite",
        TRUNCATED,
        INSIDE,
        ExponentialFamily(infinite),
        gs.ScoreError,
        domain=SQUARE,
    )
    refused(
        "returned shape .* expected \\(60, p\\)",
        TRUNCATED,
        INSIDE,
        ExponentialFamily(lambda x: x.T),
        domain=SQUARE,
    )
    refused(
        "`names` of ExponentialFamily has 1 entries",
        TRUNCATED,
        INSIDE,
        ExponentialFamily(quartic, names=["a"]),
        domain=SQUARE,
    )
    wrong = ExponentialFamily(quartic, gradient=quartic, laplacian=quartic_second)
    refused("`gradient` of ExponentialFamily returned shape", TRUNCATED, INSIDE, wrong, domain=SQUARE)
    wrong = ExponentialFamily(quartic, gradient=quartic_gradient, laplacian=lambda x: x)
    refused("`laplacian` of ExponentialFamily returned shape", TRUNCATED, INSIDE, wrong, domain=SQUARE)
    refused(
        r"not finite at \d+ of 60 rows .* with the parameters `start`",
        TRUNCATED,
        INSIDE,
        Parametric(log_infinite, start=[1.0]),
        gs.ScoreError,
        domain=SQUARE,
    )
    refused(
        r"`log_density` of Parametric\(log_numpy, p=1\) cannot be differentiated .* Write it with jax.numpy",
        TRUNCATED,
        INSIDE,
        Parametric(log_numpy, start=[1.0]),
        gs.ScoreError,
        domain=SQUARE,
    )
    on_edge = INSIDE.copy()
    on_edge[5, 0] = 0.0
    refused(
        r"1 of 60 rows \(row 5\) lie on the boundary .*Write it with JAX",
        TRUNCATED,
        on_edge,
        WAYS["numpy statistic"],
        gs.ScoreError,
        domain=SQUARE,
    )
    for way in ("jax statistic", "log density"):
        assert TRUNCATED.fit(on_edge, WAYS[way], domain=SQUARE).converged


def test_a_search_that_leaves_the_family_says_where():
    def log_density(x, theta):
        return -(x[:, 0] ** 2) * jnp.sqrt(theta[0] - 0.9)

    x = np.random.default_rng(1).normal(0, 3.0, size=200)
    family = Parametric(log_density, start=[1.0])
    refused(r"The objective is not finite on the way .* Give `bounds`", MATCHING, x, family)
    bounded = Parametric(log_density, start=[1.0], bounds=[(0.9001, None)])
    with np.errstate(invalid="ignore"):
        assert MATCHING.fit(x, bounded).parameters["theta"][0] > 0.9


def test_levels_and_counts_of_a_fit_are_checked():
    fit = TRUNCATED.fit(COMPOSITIONS, AnyDirichlet())
    with pytest.raises(gs.InputError, match="`level` must be a number between 0 and 1"):
        fit.confidence_interval(95)
    with pytest.raises(gs.InputError, match="`resamples` must be an integer of at least 2"):
        fit.bootstrap(1)
    with pytest.raises(gs.InputError, match="`workers` must be"):
        fit.bootstrap(10, workers=0)
    with pytest.raises(gs.InputError, match="`level` must be a number"):
        fit.bootstrap(5, rng=1).confidence_interval(0.0)


def test_a_bootstrap_without_fits_is_refused(monkeypatch):
    fit = TRUNCATED.fit(COMPOSITIONS, AnyDirichlet())
    monkeypatch.setattr("goodstein.estimate.fit.Resampled.__call__", lambda self, k: None)
    with pytest.raises(gs.InputError, match="Of 5 resamples 0 could be fitted"):
        fit.bootstrap(5)
    assert Bootstrap.__doc__
