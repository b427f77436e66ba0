"""The wild bootstrap for fitted parameters: influence values, the corrected matrix, what it is for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.special import polygamma, psi

import goodstein as gs
from cases import OPERATORS
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import IndependentSigns
from goodstein.errors import CalibrationWarning, InputError
from goodstein.estimate import AnyDirichlet, AnyNormal, MinimumStein, ScoreMatching, TruncatedScoreMatching
from goodstein.families import (
    Bingham,
    Dirichlet,
    Exponential,
    Gamma,
    GaussianMixture,
    Gompertz,
    Ising,
    Laplace,
    LogisticNormal,
    LogisticNormalMixture,
    LogLogistic,
    LogNormal,
    Normal,
    PiecewiseExponential,
    Potts,
    StudentT,
    VonMises,
    VonMisesFisher,
    Weibull,
)
from goodstein.models.influence import Influence, of_equations, of_maximum
from goodstein.nulls.fitted import Corrections
from goodstein.pipeline.compose import compose
from goodstein.stein.features import joined_features
from levels import check_level, trials

FITTED = gs.FittedWildBootstrap(199)


def generator(*key):
    return np.random.default_rng([5, *key])


def censored(n=60, shape=1.5, seed=0):
    rng = generator(seed)
    event, end = rng.weibull(shape, n), rng.exponential(2.0, n)
    return gs.Censored(np.minimum(event, end), event <= end)


# --- influence values ------------------------------------------------------------------------------------


def test_influence_of_normal_is_that_of_moments_and_of_numerical_derivatives():
    x = generator(1).normal([1.0, 300.0], [2.0, 50.0], (40, 2)) @ [[1.0, 4.0], [0.0, 1.0]]
    q = Normal.fit(x)
    influence = q.influence(x)
    start = np.full(5, 1e-3)
    numerical = of_maximum(lambda by: q.moved(by).logpdf(x), start, influence.names)
    assert_allclose(influence.values, numerical, atol=2e-5)
    # In their own units: the mean moves by x − μ, the covariance by (x − μ)(x − μ)ᵀ − Σ.
    t = 1e-6 * influence.values[3]
    assert_allclose((q.moved(t).mean - q.mean) / 1e-6, x[3] - q.mean, rtol=1e-6)
    centred = x[3] - q.mean
    assert_allclose((q.moved(t).cov - q.cov) / 1e-6, np.outer(centred, centred) - q.cov, rtol=1e-4)


def test_influence_of_dirichlet_is_that_of_numerical_derivatives():
    x = Dirichlet([0.4, 2.0, 30.0]).sample(80, rng=1)
    q = Dirichlet.fit(x)
    influence = q.influence(x)
    numerical = of_maximum(lambda by: q.moved(by).logpdf(x), np.full(3, 1e-3), influence.names)
    assert_allclose(influence.values, numerical, atol=1e-4)


def test_influence_of_exponential_with_censoring():
    data = censored()
    q = Exponential.fit(data)
    expected = (data.durations / q.scale - data.event_observed) / data.event_observed.mean()
    assert_allclose(q.provenance.influence(data).values[:, 0], expected, atol=1e-6)


def test_influence_of_dirichlet():
    x = Dirichlet([0.7, 2.0, 5.0]).sample(50, rng=1)
    q = Dirichlet.fit(x)
    scores = np.log(x) - psi(q.alpha) + psi(q.alpha.sum())
    information = np.diag(polygamma(1, q.alpha)) - polygamma(1, q.alpha.sum())
    expected = np.linalg.solve(information, scores.T).T / q.alpha  # of log α
    assert_allclose(q.influence(x).values, expected, atol=1e-5)


FITS = [
    (Normal([0.0, 1.0]), Normal.fit),
    (StudentT(4.0, 0.0, 1.0), lambda x: StudentT.fit(x, df=4.0)),
    (StudentT(4.0, 0.0, 1.0), StudentT.fit),
    (Gamma(2.0, 3.0), Gamma.fit),
    (LogNormal(1.0, 0.5), LogNormal.fit),
    (Weibull(2.0, 1.5), Weibull.fit),
    (LogLogistic(2.0, 3.0), LogLogistic.fit),
    (Gompertz(0.5, 2.0), Gompertz.fit),
    (Exponential(2.0), lambda x: PiecewiseExponential.fit(x, [1.0])),
    (Dirichlet([1.0, 2.0, 3.0]), Dirichlet.fit),
    (LogisticNormal([0.0, 1.0]), LogisticNormal.fit),
    (VonMises(1.0, 2.0), VonMises.fit),
    (VonMisesFisher([0, 0.6, 0.8], 3.0), VonMisesFisher.fit),
    (Bingham(np.diag([2.0, 0.0, -2.0])), Bingham.fit),
    (Ising([[0.0, 0.4], [0.4, 0.0]], 0.2), Ising.fit),
    (
        Ising([[0.0, 0.4], [0.4, 0.0]], 0.2),
        lambda x: Ising.fit(x, method="pseudolikelihood"),
    ),
    (Potts(3, [[0.0, 0.7], [0.7, 0.0]], [0.0, 0.3, 0.1]), lambda x: Potts.fit(x, 3)),
    (GaussianMixture([0.4, 0.6], [-3, 3]), lambda x: GaussianMixture.fit(x, 2, rng=1)),
    (Normal([0.0]), lambda x: ScoreMatching().fit(x, AnyNormal()).model),
    (Dirichlet([1.0, 2.0, 3.0]), lambda x: TruncatedScoreMatching().fit(x, AnyDirichlet()).model),
    (Normal([0.0]), lambda x: MinimumStein().fit(x, AnyNormal()).model),
]


@pytest.mark.parametrize(("law", "fit"), FITS, ids=lambda value: type(value).__name__)
def test_influence_is_what_the_fit_changes_by_without_an_observation(law, fit):
    n = 120
    x = law.sample(n, rng=2)
    q = fit(x)
    influence = q.provenance.influence(x)
    assert_allclose(influence.values.mean(axis=0), 0.0, atol=2e-3)
    # The density of the fit to the others at some points, whatever the parameters are called.
    places = x[:25] if len(np.unique(x, axis=0)) > 30 else np.unique(x, axis=0)

    def relative(model):
        if isinstance(law, Exponential):  # the score of the piecewise one does not exist
            return model.cumulative_hazard(places)
        if isinstance(law, Ising | Potts):  # known up to a constant that depends on the parameters
            values = model.logpdf(places)
            return values - values.mean()
        values = gs.as_model(model).score(places)
        return values @ law.domain.basis.T if isinstance(law.domain, gs.Simplex) else values

    there = relative(q)
    for i in (0, 7):
        left = relative(fit(np.delete(x, i, axis=0))) - there
        told = relative(influence.model(-influence.values[i] / (n - 1))) - there
        assert np.linalg.norm(left - told) < 0.2 * np.linalg.norm(left) + 1e-4 * np.linalg.norm(there)


def test_influence_of_estimates_follows_the_rows():
    x = Normal([0.0, 1.0]).sample(40, rng=1)
    influence = ScoreMatching().fit(x, AnyNormal()).model.provenance.influence
    order = generator(3).permutation(40)
    assert_allclose(influence(x[order]).values, influence(x).values[order])
    with pytest.raises(InputError, match="fitted to other rows"):
        influence(x + 1.0)


def test_equations_have_the_influence_of_the_maximum():
    x = Gamma(2.0, 3.0).sample(50, rng=1)[:, 0]
    q = Gamma.fit(x)
    theta = np.array([q.shape, q.scale])

    def equations(by):
        a, scale = theta + by
        return np.column_stack([np.log(x / scale) - psi(a), x / scale - a])

    values = of_equations(equations, 1e-3 * theta, ("shape", "scale"))
    assert_allclose(values / theta, q.influence(x).values, atol=1e-4)


def test_singular_information_is_an_error():
    x = Normal(0.0).sample(30, rng=1)
    with pytest.raises(InputError, match=r"do not determine the parameters parameters\[0\], parameters\[1\]"):
        null = gs.FittedWildBootstrap(
            model=lambda t: Normal(t[0] + t[1]), parameters=[x.mean(), 0.0], influence="maximum likelihood"
        )
        gs.ksd_test(x, Normal(x.mean()), null=null)
    with pytest.raises(InputError, match="do not determine the parameter a"):
        of_maximum(lambda by: np.zeros(5), np.array([1e-3]), ["a"])


# --- the corrected matrix ---------------------------------------------------------------------------------


def langevin(x, mean, variance, width, grid):
    """The features a(x)·k(x, ·) + ∂k(x, ·) at a grid, (n, grid)."""
    k = np.exp(-((x[:, None] - grid) ** 2) / (2 * width**2))
    return (-(x - mean) / variance)[:, None] * k - (x[:, None] - grid) / width**2 * k


def test_corrected_matrix_of_maximum_likelihood_is_that_of_residuals():
    """ξ̃ are the residuals of a regression of ξ on the derivatives of the log density."""
    x = generator(4).normal(0.3, 1.4, 30)
    q = Normal.fit(x[:, None])
    problem = compose(x[:, None], q, None, gs.Langevin(), gs.Gaussian(0.8))
    z = (x - x.mean()) / x.std()
    psi = np.column_stack([z, z**2 - 1])
    hat = psi @ np.linalg.inv(psi.T @ psi) @ psi.T
    h, rest = problem.form.matrix(), np.eye(30) - hat
    scales = (1 - np.diag(hat)) ** -0.5
    (form,) = Corrections(FITTED.influence_on(problem)).forms([problem])
    assert_allclose(form.matrix(), scales[:, None] * scales * (rest @ h @ rest), atol=1e-6)
    assert_allclose(form.inner.matrix(), h)


def test_corrected_matrix_of_other_fits_has_the_derivatives_of_the_features():
    """D is the mean derivative of the features under the model, here by quadrature."""
    x = generator(4).normal(0.3, 1.4, 40)
    mean, variance, width = 0.1, 1.8, 0.8
    y = np.linspace(-9, 9, 4001)
    density = np.exp(-((y - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    weights = density * (y[1] - y[0])
    # ∂_a ξ_y = v_a(y) k(y, ·) in the coordinates (μ, log σ), and ⟨k(y, ·), ξ_i⟩ = ξ_i(y).
    v = np.stack([np.full(len(y), 1 / variance), 2 * (y - mean) / variance])
    c = langevin(x, mean, variance, width, y) @ (weights * v).T
    k = np.exp(-((y[::10, None] - y[::10]) ** 2) / (2 * width**2))
    thin = 10 * (weights * v)[:, ::10]
    d = thin @ k @ thin.T
    values = np.column_stack([x - mean, (x - mean) ** 2 / variance / 2 - 0.5])
    values -= values.mean(axis=0)
    theta = np.array([mean, 0.5 * np.log(variance)])
    model = gs.as_model(scipy.stats.norm(mean, variance**0.5))
    problem = compose(x[:, None], model, None, gs.Langevin(), gs.Gaussian(width))
    h = problem.form.matrix()
    expected = h + c @ values.T + values @ c.T + values @ d @ values.T

    def at(by):
        return scipy.stats.norm((theta + by)[0], np.exp((theta + by)[1]))

    influence = Influence(at, values, ("mu", "log sigma"))
    (form,) = Corrections(influence).forms([problem])
    correction = form.matrix() * (1 - 2 / 40) - h
    # 2000 draws know the mean of ξψ to within some parts in a hundred.
    assert np.linalg.norm(correction - (expected - h)) < 0.15 * np.linalg.norm(expected - h)


def test_without_a_sampler_derivatives_are_taken_at_the_observations():
    n, mean, variance = 40, 0.1, 1.8
    x = generator(4).normal(0.3, 1.4, (n, 2))

    def family(by):
        m, s = mean + by[0], np.sqrt(variance) * np.exp(by[1])
        return gs.Model(logpdf=lambda u: -((u - [m, 0.0]) ** 2).sum(axis=1) / (2 * s**2) - 2 * np.log(s))

    z = (x - [mean, 0.0]) / np.sqrt(variance)
    values = np.column_stack([x[:, 0], (x**2).sum(axis=1)])
    values -= values.mean(axis=0)
    problem = compose(x, family(np.zeros(2)), None, gs.Langevin(), gs.Gaussian(0.8))
    (form,) = Corrections(Influence(family, values, ("mu", "log sigma"))).forms([problem])
    psi = np.column_stack([z[:, 0] / np.sqrt(variance), (z**2).sum(axis=1)])
    psi -= psi.mean(axis=0)
    psi = psi @ np.linalg.inv(values.T @ psi / n)  # so that mean IF ψᵀ is the identity
    left = np.eye(n) - values @ psi.T / n  # ξ̃ = ξ − IF·mean ψξ
    hat = values @ np.linalg.inv(values.T @ values) @ values.T
    scales = (1 - np.diag(hat)) ** -0.5
    expected = scales[:, None] * scales * (left @ problem.form.matrix() @ left.T)
    assert_allclose(form.matrix(), expected, atol=2e-2 * abs(expected).max())


JOINED = [
    case
    for case in OPERATORS
    if case.name not in ("Papangelou", "Innovations", "GlauberFlips", "some flips")
    and not isinstance(case.operator, gs.MeanEmbedding | gs.Regularised)
]


@pytest.mark.parametrize("case", JOINED, ids=lambda case: case.name)
def test_joined_features_have_the_matrix_twice(case):
    problem = compose(case.data(40), case.model, operator=case.operator)
    joined = joined_features(problem.features, [problem.features])
    if joined is None:
        assert case.name in ("ProportionalHazards", "MeanEmbedding")
        return
    h = problem.form.matrix()
    assert_allclose(joined.form(problem.fitted_kernel).matrix(), np.tile(h, (2, 2)), atol=1e-9 * abs(h).max())


# --- the test ----------------------------------------------------------------------------------------------


def test_statistic_is_the_same_and_blocks_and_workers_do_not_matter():
    x = StudentT(5.0, [0.0, 0.0]).sample(300, rng=1)
    q = Normal.fit(x)
    result = gs.ksd_test(x, q, null=FITTED, rng=3)
    h = gs.stein_matrix(x, q)
    assert result.statistic == pytest.approx((h.sum() - np.trace(h)) / (300 * 299), rel=1e-6)
    again = gs.ksd_test(x, q, null=FITTED, rng=3, workers=2)
    assert_allclose(again.null_distribution, result.null_distribution)
    problem = compose(x, q)
    (form,) = Corrections(FITTED._influence(problem)).forms([problem])
    signs = IndependentSigns(1, 300, 50)
    first, second = (quadratic_forms(form, signs, tile=tile)[1] for tile in (64, 256))
    assert_allclose(first, second, atol=1e-5 * abs(first).max())
    assert_allclose(form.take(np.arange(50)).matrix(), form.matrix()[:50, :50])
    assert_allclose(form.diagonal(), form.matrix().diagonal())


def pvalues(law, fit, n, null, trials):
    """Of fits to samples of the true model."""
    for k in range(trials):
        x = law(n, k)
        yield null.calibrate(compose(x, fit(x)), workers=1, rng=generator(k)).pvalue


CASES = [
    (Normal(0.0), Normal.fit, 40),
    (Dirichlet([1.0, 2.0, 3.0]), Dirichlet.fit, 40),
    (Laplace(0.0), Laplace.fit, 50),
]


@trials(60, 1000)
@pytest.mark.parametrize(("law", "fit", "n"), CASES, ids=lambda value: type(value).__name__)
def test_level_where_the_plain_bootstrap_has_none(law, fit, n, trials):
    def sample(n, k):
        return law.sample(n, rng=generator(k))

    check_level(pvalues(sample, fit, n, FITTED, trials), 0.05, 0.2, 0.5)
    plain = np.fromiter(pvalues(sample, fit, n, gs.WildBootstrap(99), 40), float)
    assert (plain <= 0.2).mean() < 0.06


@trials(60, 1000)
def test_level_with_censoring(trials):
    found = pvalues(lambda n, k: censored(n, seed=k), Weibull.fit, 50, FITTED, trials)
    check_level(found, 0.05, 0.2, 0.5)


def test_used_by_default_for_the_very_rows_of_a_fit():
    x = Dirichlet([1.0, 2.0, 3.0]).sample(60, rng=1)
    q = Dirichlet.fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in (gs.ksd_test(x, q, rng=1), gs.ksd_test(x[::-1], q, rng=1)):
            assert result.null == gs.FittedWildBootstrap()
            assert "FittedWildBootstrap" in str(result)
        assert gs.ksd_test(Dirichlet([1.0, 2.0, 3.0]).sample(60, rng=2), q).null == gs.WildBootstrap()
        fitted = MinimumStein().fit(x, AnyDirichlet()).model
        assert gs.ksd_test(x, fitted, rng=1).null == gs.FittedWildBootstrap()
    with pytest.warns(CalibrationWarning, match="fitted to these very data|rows"):
        assert gs.ksd_test(x[:30], q).null == gs.WildBootstrap()
    few = x[:6]
    with pytest.warns(CalibrationWarning, match="fitted to these very data"):
        assert gs.ksd_test(few, Dirichlet.fit(few)).null == gs.WildBootstrap()


def test_aggregated_test_corrects_every_member():
    x = StudentT(2.5, 0.0, 1.0).sample(80, rng=1)
    result = gs.aggregated_test(x, Normal.fit(x), rng=1)
    assert isinstance(result.null, gs.FittedWildBootstrap) and result.pvalue < 0.01
    alone = gs.ksd_test(
        x, Normal.fit(x), operator=result.members[0].operator, kernel=result.members[0].kernel, rng=1
    )
    assert alone.statistic == pytest.approx(result.members[0].statistic, rel=1e-4)
    assert alone.pvalue == pytest.approx(result.members[0].pvalue, abs=0.03)


def test_a_fit_of_ones_own():
    x = StudentT(4.0, 1.0, 4.0).sample(100, rng=2)
    q = Normal.fit(x)
    theta = np.array([q.mean[0], np.sqrt(q.cov[0, 0])])

    def family(t):
        return scipy.stats.norm(t[0], t[1])

    def equations(data, t):
        z = (data[:, 0] - t[0]) / t[1]
        return np.column_stack([z, z**2 - 1])

    z = (x[:, 0] - theta[0]) / theta[1]
    values = theta[1] * np.column_stack([z, (z**2 - 1) / 2])
    expected = gs.ksd_test(x, q, null=FITTED, rng=1)
    for influence in ("maximum likelihood", equations, values):
        null = gs.FittedWildBootstrap(199, model=family, parameters=theta, influence=influence)
        result = gs.ksd_test(x, family(theta), null=null, rng=1)
        assert result.pvalue == pytest.approx(expected.pvalue, abs=0.03)
        assert "FittedWildBootstrap(n_resamples=199" in repr(result.null)
    durations = censored(80)
    fitted = Weibull.fit(durations)
    null = gs.FittedWildBootstrap(199, model=lambda t: Weibull(*t), parameters=[fitted.scale, fitted.shape])
    own = gs.ksd_test(durations, Weibull(fitted.scale, fitted.shape), null=null, rng=1)
    assert own.pvalue == pytest.approx(gs.ksd_test(durations, fitted, null=FITTED, rng=1).pvalue, abs=0.03)


def test_conditional_models_of_ones_own():
    rng = generator(9)
    x = rng.uniform(-2, 2, 150)
    y = 1 + 0.5 * x + rng.standard_normal(150)
    slope, intercept = np.polyfit(x, y, 1)

    def family(t):
        return gs.ConditionalModel.gaussian(lambda u: t[0] + t[1] * u, 1.0)

    def equations(data, t):
        residual = data.outcomes[:, 0] - t[0] - t[1] * data.covariates[:, 0]
        return np.column_stack([residual, residual * data.covariates[:, 0]])

    null = gs.FittedWildBootstrap(199, model=family, parameters=[intercept, slope], influence=equations)
    plain = gs.conditional_ksd_test(x, y, family([intercept, slope]), null=gs.WildBootstrap(199), rng=1)
    result = gs.conditional_ksd_test(x, y, family([intercept, slope]), null=null, rng=1)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-5)
    assert 0.01 < result.pvalue < plain.pvalue


MISTAKES = [
    (lambda: gs.FittedWildBootstrap(model=Normal), "together with the fitted `parameters`"),
    (lambda: gs.FittedWildBootstrap(model=3, parameters=[1.0]), "must be a function of the parameters"),
    (lambda: gs.FittedWildBootstrap(influence="score matching"), "goodstein.estimate"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_what_it_is_not_for():
    x = Normal(0.0).sample(60, rng=1)
    with pytest.raises(InputError, match="does not say how it was fitted"):
        gs.ksd_test(x, Normal(0.0), null=FITTED)
    with pytest.raises(InputError, match=r"not those that fit these data: .* standard errors away"):
        gs.ksd_test(Normal(1.0).sample(60, rng=2), Normal.fit(x), null=FITTED)
    with pytest.raises(InputError, match="was fitted to 60 rows, and these are 30"):
        gs.ksd_test(x[:30], Normal.fit(x), null=FITTED)
    with pytest.raises(InputError, match="too few for 2 fitted parameters"):
        gs.ksd_test(x[:4], Normal.fit(x[:4]), null=FITTED)
    with pytest.warns(CalibrationWarning, match="15 observations are few for 2"):
        result = gs.ksd_test(x[:15] ** 3, Normal.fit(x[:15] ** 3), null=FITTED)
    assert result.pvalue <= 0.05 and result.undecided()
    few = gs.ksd_test(x[:15], Normal.fit(x[:15]), rng=1)
    assert few.null == gs.ParametricBootstrap(n_resamples=499) and not few.undecided()
    with pytest.raises(InputError, match="tests some of the observations"):
        gs.ksd_test(x, Normal.fit(x), null=FITTED, operator=gs.Regularised(draws=0))
    data = censored()
    with pytest.raises(InputError, match="does not know how the features of ProportionalHazards"):
        gs.ksd_test(data, Weibull.fit(data), null=FITTED, operator=gs.ProportionalHazards())
    bad = gs.FittedWildBootstrap(model=Normal, parameters=[x.mean()], influence=np.zeros((3, 1)))
    with pytest.raises(InputError, match=r"expected finite numbers of shape \(60, 1\)"):
        gs.ksd_test(x, Normal(x.mean()), null=bad)


def test_mixtures_under_a_wide_kernel_are_corrected():
    """A dozen parameters leave a tenth of the features, which is no rounding."""
    law = LogisticNormalMixture([0.5, 0.5], [[-2.0, 0.0], [2.0, 0.0]])
    found = [
        gs.ksd_test(x, LogisticNormalMixture.fit(x, 2, rng=0), null=FITTED, rng=1).pvalue
        for x in (law.sample(200, rng=seed) for seed in range(20))
    ]
    assert np.median(found) < 0.9  # uncorrected they are all about one
