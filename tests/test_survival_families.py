"""Families of lifetimes: hazards, densities, samplers and fits against independent answers; every message."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import goodstein as gs
from cases import LIFETIMES
from definitions import evaluated
from goodstein.errors import InputError, ScoreError, SteinIdentityError
from goodstein.families import (
    Exponential,
    Gamma,
    Gompertz,
    LogLogistic,
    LogNormal,
    PiecewiseExponential,
    Weibull,
)
from goodstein.survival.data import Censored

SMOOTH = LIFETIMES[:-1]
LAWS = [
    scipy.stats.expon(scale=2.0),
    scipy.stats.weibull_min(0.7, scale=2.0),
    scipy.stats.expon(scale=3.0),
    scipy.stats.weibull_min(2.5, scale=0.5),
    scipy.stats.lognorm(0.8, scale=math.exp(0.3)),
    scipy.stats.lognorm(2.0, scale=math.exp(-2.0)),
    scipy.stats.fisk(0.6, scale=2.0),
    scipy.stats.fisk(1.0, scale=1.5),
    scipy.stats.fisk(3.0, scale=0.5),
    scipy.stats.gamma(0.5, scale=2.0),
    scipy.stats.expon(scale=2.0),
    scipy.stats.gamma(4.0, scale=0.5),
    scipy.stats.gompertz(0.25, scale=0.5),
    scipy.stats.expon(scale=2.0),
]
CASES = list(zip(SMOOTH, LAWS, strict=True))


@pytest.fixture(params=CASES, ids=lambda case: repr(case[0]))
def case(request):
    return request.param


def derivative(function, t):
    """Central differences of order four with a step of a thousandth of t."""
    h = 1e-3 * t
    return (8 * (function(t + h) - function(t - h)) - function(t + 2 * h) + function(t - 2 * h)) / (12 * h)


def survived(law, t):
    """log S by scipy; where S is nearly one, from the other side."""
    return np.where(law.cdf(t) < 0.5, np.log1p(-law.cdf(t)), law.logsf(t))


# --- against scipy ----------------------------------------------------------------------------


def test_densities_and_hazards_agree_with_scipy(case):
    family, law = case
    t = law.ppf(np.linspace(1e-4, 1 - 1e-4, 101))
    np.testing.assert_allclose(family.logpdf(t[:, None]), law.logpdf(t), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(family.survival(t), law.sf(t), rtol=1e-10)
    np.testing.assert_allclose(family.cumulative_hazard(t), -survived(law, t), rtol=1e-9)
    np.testing.assert_allclose(family.hazard(t), np.exp(law.logpdf(t) - survived(law, t)), rtol=1e-9)


def test_score_is_the_derivative_of_scipys_log_density(case):
    family, law = case
    t = law.ppf(np.linspace(0.02, 0.98, 49))
    np.testing.assert_allclose(
        family.score(t[:, None])[:, 0], derivative(law.logpdf, t), rtol=1e-7, atol=1e-8
    )


def test_log_hazard_derivative_is_that_of_scipys_log_hazard(case):
    family, law = case
    t = law.ppf(np.linspace(0.02, 0.98, 49))
    exact = derivative(lambda t: law.logpdf(t) - survived(law, t), t)
    np.testing.assert_allclose(family.log_hazard_derivative(t), exact, rtol=1e-6, atol=1e-7)


def test_derivatives_agree_with_automatic_ones():
    norm, special = jax.scipy.stats.norm, jax.scipy.special

    def log_normal(t):
        z = (jax.numpy.log(t) - 0.3) / 0.8
        return norm.logpdf(z) - jax.numpy.log(0.8 * t) - norm.logsf(z)

    def gamma(t):
        log_tail = jax.numpy.log(special.gammaincc(0.5, t / 2.0))
        return -0.5 * jax.numpy.log(t / 2.0) - t / 2.0 - jax.numpy.log(2.0) - special.gammaln(0.5) - log_tail

    t = np.array([0.05, 0.4, 1.0, 2.5, 9.0])
    for family, log_hazard in ((LogNormal(0.3, 0.8), log_normal), (Gamma(0.5, 2.0), gamma)):
        values, exact = (evaluated(jax.vmap(f), t) for f in (log_hazard, jax.grad(log_hazard)))
        np.testing.assert_allclose(np.log(family.hazard(t)), values, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(family.log_hazard_derivative(t), exact, rtol=1e-8, atol=1e-10)


# --- laws of all families ---------------------------------------------------------------------


@pytest.mark.parametrize("family", SMOOTH, ids=repr)
def test_score_and_density_follow_from_the_hazard(family):
    t = family.sample(50, rng=1)[:, 0]
    np.testing.assert_allclose(
        family.score(t[:, None])[:, 0],
        family.log_hazard_derivative(t) - family.hazard(t),
        rtol=1e-8,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        family.logpdf(t[:, None]),
        np.log(family.hazard(t)) - family.cumulative_hazard(t),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("family", LIFETIMES, ids=repr)
def test_cumulative_hazard_is_the_integral_of_the_hazard(family):
    for low, high in ((0.2, 0.7), (0.7, 2.0)):
        ends = [point for point in (1.0, 3.0) if low < point < high]
        exact, _ = scipy.integrate.quad(lambda t: float(family.hazard(t)), low, high, points=ends or None)
        assert np.diff(family.cumulative_hazard([low, high]))[0] == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("family", LIFETIMES, ids=repr)
def test_draws_have_the_distribution(family):
    x = family.sample(4000, rng=7)
    assert x.shape == (4000, 1)
    # Λ of a lifetime is a standard exponential variate.
    result = scipy.stats.kstest(family.cumulative_hazard(x[:, 0]), scipy.stats.expon.cdf)
    assert result.pvalue > 0.01
    np.testing.assert_array_equal(x, family.sample(4000, rng=np.random.default_rng(7)))
    assert family.sample(0, rng=1).shape == (0, 1)


def test_draws_agree_with_scipy(case):
    family, law = case
    assert scipy.stats.kstest(family.sample(4000, rng=8)[:, 0], law.cdf).pvalue > 0.01


@pytest.mark.parametrize("family", LIFETIMES, ids=repr)
def test_hazards_keep_the_shape_of_the_times(family):
    for t in (1.0, [0.5, 2.0], np.ones((3, 1))):
        for function in (family.hazard, family.cumulative_hazard, family.survival):
            assert function(t).shape == np.shape(t)
    assert family.logpdf([0.5, 1.0]).shape == family.logpdf([[0.5], [1.0]]).shape == (2,)


@pytest.mark.parametrize("family", LIFETIMES, ids=repr)
def test_before_time_zero(family):
    assert family.hazard(-1.0) == 0
    assert family.cumulative_hazard(-1.0) == 0
    assert family.survival(-1.0) == 1
    assert family.logpdf([-1.0]) == -np.inf
    if family in SMOOTH:
        assert np.isnan(family.log_hazard_derivative(-1.0))
        assert np.isnan(family.score([-1.0]))


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (Exponential(2.0), 0.5),
        (Weibull(2.0, 0.7), np.inf),
        (Weibull(2.0, 1.0), 0.5),
        (Weibull(2.0, 1.5), 0.0),
        (LogNormal(0.0, 1.0), 0.0),
        (LogLogistic(2.0, 0.7), np.inf),
        (LogLogistic(2.0, 1.0), 0.5),
        (LogLogistic(2.0, 1.5), 0.0),
        (Gamma(0.5, 2.0), np.inf),
        (Gamma(1.0, 2.0), 0.5),
        (Gamma(2.0, 2.0), 0.0),
        (Gompertz(0.3, 2.0), 0.3),
        (PiecewiseExponential([1.0], [0.4, 2.0]), 0.4),
    ],
    ids=repr,
)
def test_hazard_at_zero(family, expected):
    assert family.hazard_at_zero == expected
    assert family.cumulative_hazard(0.0) == 0
    with np.errstate(divide="ignore"):
        assert family.logpdf([0.0]) == pytest.approx(np.log(expected))


# --- tails ------------------------------------------------------------------------------------


def test_gamma_tail_where_the_survival_function_underflows():
    # Shape 3: Q(3, x) = e^{-x}(1 + x + x²/2), so Λ and λ are elementary.
    x = np.array([400.0, 574.0, 580.0, 700.0, 800.0, 1e4, 1e8])
    family = Gamma(3.0, 2.0)
    polynomial = 1 + x + x**2 / 2
    np.testing.assert_allclose(family.cumulative_hazard(2 * x), x - np.log(polynomial), rtol=1e-14)
    np.testing.assert_allclose(family.hazard(2 * x), x**2 / 2 / polynomial / 2, rtol=1e-12)
    exact = ((2 / x) - (1 + x) / polynomial) / 2
    np.testing.assert_allclose(family.log_hazard_derivative(2 * x), exact, rtol=1e-6, atol=1e-15)


def test_gamma_tail_of_a_large_shape_is_continuous():
    # On both sides of where the continued fraction takes over; the hazard is smooth there.
    family = Gamma(1e4)
    t = np.linspace(1.30e4, 1.40e4, 201)
    slope = np.diff(family.cumulative_hazard(t)) / np.diff(t)
    np.testing.assert_allclose(slope, family.hazard((t[1:] + t[:-1]) / 2), rtol=1e-5)
    assert family.cumulative_hazard(t[0]) < 575 < family.cumulative_hazard(t[-1])


def test_log_normal_tails():
    z = np.array([-40.0, -10.0, -1.0, 0.0, 5.0, 40.0, 1e4])
    family = LogNormal(1.0, 0.01)
    t = np.exp(1.0 + 0.01 * z)
    np.testing.assert_allclose(family.cumulative_hazard(t), -scipy.stats.norm.logsf(z), rtol=1e-8)
    # Mills: the standard normal hazard is z + 1/z − 2/z³ + O(z⁻⁵).
    far = np.array([50.0, 1e3, 1e4])
    t = np.exp(1.0 + 0.01 * far)
    np.testing.assert_allclose(family.hazard(t), (far + 1 / far - 2 / far**3) / (0.01 * t), rtol=1e-7)
    exact = ((1 / far - 2 / far**3) / 0.01 - 1) / t
    np.testing.assert_allclose(family.log_hazard_derivative(t), exact, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "leading"),
    [
        (Weibull(2.0, 0.7), lambda t: (t / 2) ** 0.7),
        (LogLogistic(2.0, 0.7), lambda t: (t / 2) ** 0.7),
        (Gamma(0.5, 2.0), lambda t: np.sqrt(t / 2) / math.gamma(1.5)),
        (Gompertz(0.5, 2.0), lambda t: 0.5 * t),
    ],
    ids=["Weibull", "LogLogistic", "Gamma", "Gompertz"],
)
def test_tiny_cumulative_hazards_keep_their_digits(family, leading):
    t = np.array([1e-60, 1e-40])
    np.testing.assert_allclose(family.cumulative_hazard(t), leading(t), rtol=1e-12)


def test_scores_need_no_scipy():
    code = (
        "import sys; from goodstein.families import *\n"
        "for q in (Exponential(), Weibull(), LogNormal(), LogLogistic(), Gamma(), Gompertz()):\n"
        "    x = q.sample(3, 0); q.score(x); q.logpdf(x)\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'scipy'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.stdout.strip() == "[]", run.stderr


# --- the piecewise exponential ----------------------------------------------------------------


def test_the_identity_fails_where_the_density_jumps():
    # E[s f + f′] = Σ (jumps of q f): what a test by the score would take for a misfit.
    family = PiecewiseExponential([1.0], [0.5, 2.0])

    def integrand(t):
        q = math.exp(float(family.logpdf([t])[0]))
        return q * (-float(family.hazard(t)) * t * math.exp(-t) + (1 - t) * math.exp(-t))

    total, _ = scipy.integrate.quad(integrand, 0, 40, points=[1.0], limit=200)
    jump = (0.5 - 2.0) * math.exp(-0.5) * math.exp(-1.0)
    assert total == pytest.approx(jump, rel=1e-6)
    with pytest.raises(ScoreError, match=r"jumps at its breakpoints.*Use Martingale\(\)"):
        family.score([[0.5]])
    with pytest.raises(ScoreError, match="use its derivative of the hazard"):
        family.log_hazard_derivative([0.5])
    with pytest.raises(ScoreError, match="jumps at its breakpoints"):
        gs.ksd_test(family.sample(20, rng=1), family, rng=1)


def test_equal_pieces_are_an_exponential():
    one, many = Exponential(2.0), PiecewiseExponential([1.0, 3.0], [0.5, 0.5, 0.5])
    none = PiecewiseExponential([], [0.5])
    t = np.array([0.0, 0.5, 1.0, 2.0, 10.0])
    for family in (many, none):
        np.testing.assert_allclose(family.cumulative_hazard(t), one.cumulative_hazard(t))
        np.testing.assert_allclose(family.score(t), one.score(t))
        np.testing.assert_array_equal(family.log_hazard_derivative(t), 0)


def test_a_piece_without_hazard_is_left_alone():
    family = PiecewiseExponential([1.0, 2.0], [1.0, 0.0, 3.0])
    x = family.sample(5000, rng=1)[:, 0]
    assert not ((x > 1) & (x <= 2)).any()
    assert (x > 2).mean() == pytest.approx(math.exp(-1), abs=0.02)
    np.testing.assert_allclose(family.hazard([1.0, 1.5, 2.0, 2.1]), [1.0, 0.0, 0.0, 3.0])
    assert family.logpdf([1.5]) == -np.inf


def test_piecewise_fit_counts_events_and_exposure():
    data = Censored([1.0, 2.0, 2.0, 5.0, 0.5], [1, 1, 0, 1, 0])
    family = PiecewiseExponential.fit(data, [1.0, 2.0])
    # Exposure: 4·1 + .5; three lives reach 2; one lives 3 more. The event at 1 is in the first piece.
    np.testing.assert_allclose(family.hazards, [1 / 4.5, 1 / 3, 1 / 3])
    fitter = pickle.loads(pickle.dumps(PiecewiseExponential.fitter([1.0, 2.0])))
    assert fitter(data) == family
    assert repr(fitter) == "PiecewiseExponential.fitter([1, 2])"


# --- fits -------------------------------------------------------------------------------------


def censored_sample(family, n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = family.sample(n, rng)[:, 0]
    c = rng.exponential(2 * np.median(x), n)
    return Censored(np.minimum(x, c), x <= c)


def log_likelihood(family, data):
    t, event = np.asarray(data.durations), np.asarray(data.event_observed)
    return np.log(family.hazard(t[event])).sum() - family.cumulative_hazard(t).sum()


FITTED = [
    (Exponential(2.0), lambda q: scipy.stats.expon(scale=q.scale), "expon"),
    (Weibull(2.0, 0.7), lambda q: scipy.stats.weibull_min(q.shape, scale=q.scale), "weibull_min"),
    (Weibull(0.01, 3.0), lambda q: scipy.stats.weibull_min(q.shape, scale=q.scale), "weibull_min"),
    (LogNormal(0.3, 0.8), lambda q: scipy.stats.lognorm(q.sigma, scale=math.exp(q.mu)), "lognorm"),
    (LogLogistic(2.0, 1.7), lambda q: scipy.stats.fisk(q.shape, scale=q.scale), "fisk"),
    (Gamma(0.5, 2.0), lambda q: scipy.stats.gamma(q.shape, scale=q.scale), "gamma"),
    (Gamma(4.0, 2.0), lambda q: scipy.stats.gamma(q.shape, scale=q.scale), "gamma"),
    (Gompertz(0.5, 2.0), lambda q: scipy.stats.gompertz(q.rate / q.growth, scale=1 / q.growth), "gompertz"),
]


@pytest.mark.parametrize(("family", "law", "name"), FITTED, ids=[repr(case[0]) for case in FITTED])
@pytest.mark.parametrize("censoring", [True, False], ids=["censored", "complete"])
def test_fits_agree_with_scipy(family, law, name, censoring):
    data = censored_sample(family)
    if not censoring:
        data = Censored(data.durations, np.ones(len(data.durations), bool))
    fitted = type(family).fit(data)
    t, event = data.durations, data.event_observed
    pair = scipy.stats.CensoredData(uncensored=t[event], right=t[~event])
    distribution = getattr(scipy.stats, name)
    with np.errstate(all="ignore"):
        theirs = distribution.fit(pair, floc=0)
    frozen = distribution(*theirs)
    mine, other = (
        law(fitted).logpdf(t[event]).sum() + law(fitted).logsf(t[~event]).sum(),
        frozen.logpdf(t[event]).sum() + frozen.logsf(t[~event]).sum(),
    )
    assert mine >= other - 1e-7  # scipy stops a little short of the maximum
    assert mine == pytest.approx(other, abs=1e-3)
    quantiles = [0.1, 0.5, 0.9]
    np.testing.assert_allclose(law(fitted).ppf(quantiles), frozen.ppf(quantiles), rtol=5e-3)


@pytest.mark.parametrize("family", [case[0] for case in FITTED], ids=repr)
@pytest.mark.parametrize("censoring", [True, False], ids=["censored", "complete"])
def test_no_parameters_nearby_are_likelier(family, censoring):
    data = censored_sample(family, seed=1)
    if not censoring:
        data = Censored(data.durations, np.ones(len(data.durations), bool))
    fitted = type(family).fit(data)
    values = [getattr(fitted, name) for name in fitted._parameters]
    best = log_likelihood(fitted, data)
    for i in range(len(values)):
        for factor in (1 - 1e-3, 1 + 1e-3):
            moved = [v * factor if i == j else v for j, v in enumerate(values)]
            assert log_likelihood(type(fitted)(*moved), data) < best
    # First order: the likelihood is as flat as its curvature allows.
    for i in range(len(values)):
        near = [
            log_likelihood(type(fitted)(*[v * f if i == j else v for j, v in enumerate(values)]), data)
            for f in (1 - 1e-4, 1 + 1e-4)
        ]
        slope, curvature = (near[1] - near[0]) / 2e-4, (2 * best - sum(near)) / 1e-8
        assert abs(slope / curvature) < 1e-6


@pytest.mark.parametrize("family", [*(case[0] for case in FITTED), LIFETIMES[-1]], ids=repr)
def test_fits_find_the_parameters_of_many_draws(family):
    fit = PiecewiseExponential.fitter([1.0, 3.0]) if family == LIFETIMES[-1] else type(family).fit
    data = censored_sample(family, 10_000, seed=2)
    t = family.sample(9, rng=1)[:, 0]
    np.testing.assert_allclose(fit(data).survival(t), family.survival(t), atol=0.025)


@pytest.mark.parametrize("family", [case[0] for case in FITTED], ids=repr)
def test_fits_are_equivariant_and_take_all_forms_of_data(family):
    x = family.sample(60, rng=3)
    fitted = type(family).fit(x)
    for same in (x[:, 0], x[:, 0].tolist(), Censored(x[:, 0], np.ones(60))):
        assert type(family).fit(same) == fitted
    far = type(family).fit(1e6 * x)
    t = x[:5, 0]
    np.testing.assert_allclose(far.survival(1e6 * t), fitted.survival(t), rtol=1e-6)


def test_lives_censored_at_once_tell_nothing():
    data = Censored([1.0, 2.0, 4.0, 0.0, 0.0], [1, 1, 1, 0, 0])
    for family in (Weibull, LogNormal, LogLogistic, Gamma, Gompertz, Exponential):
        assert family.fit(data) == family.fit([1.0, 2.0, 4.0])


def test_a_falling_hazard_fits_no_growth():
    x = Weibull(1.0, 0.5).sample(200, rng=1)
    fitted = Gompertz.fit(x)
    assert fitted.growth == 0
    assert fitted.rate == pytest.approx(1 / x.mean())


@pytest.mark.parametrize("a", [0.0, 1e-8, 0.3, 0.6, 5.0, 50.0, 900.0])
def test_gompertz_exposure_and_its_derivative(a):
    from goodstein.families.gompertz import _exposure

    s = np.array([1e-9, 0.01, 0.3, 0.9, 1.0])
    value, slope = _exposure(a, s)
    exact = [scipy.integrate.quad(lambda u: math.exp(a * (u - 1)), 0, end, epsabs=0)[0] for end in s]
    by_a = [scipy.integrate.quad(lambda u: u * math.exp(a * (u - 1)), 0, end, epsabs=0)[0] for end in s]
    np.testing.assert_allclose(value, exact, rtol=1e-10)
    np.testing.assert_allclose(slope, by_a, rtol=1e-10)


# --- plain points -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", SMOOTH, ids=repr)
def test_plain_points_can_be_tested(family):
    result = gs.ksd_test(family.sample(100, rng=5), family, rng=5)
    assert result.pvalue > 0.01
    assert result.model == repr(family)
    assert gs.audit(family, rng=1).valid


def test_plain_points_of_another_law_are_rejected():
    x = Weibull(1.0, 2.0).sample(100, rng=1)
    null = gs.ParametricBootstrap(Exponential.fit, 99)
    assert gs.ksd_test(x, Exponential.fit(x), null=null, rng=1).pvalue == 0.01
    assert gs.ksd_test(x, Exponential(1.0), null=gs.MonteCarlo(99), rng=1).pvalue == 0.01
    null = gs.ParametricBootstrap(Weibull.fit, 99)
    assert gs.ksd_test(x, Weibull.fit(x), null=null, rng=1).pvalue > 0.05


# --- censored durations -----------------------------------------------------------------------


@pytest.mark.parametrize("family", LIFETIMES, ids=repr)
def test_censored_durations_can_be_tested(family):
    result = gs.ksd_test(censored_sample(family, seed=4), family, rng=1)
    assert result.pvalue > 0.01
    assert result.model == repr(family)


def test_censored_durations_of_another_law_are_rejected():
    data = censored_sample(Weibull(1.0, 2.5))
    fitted = Exponential.fit(data)
    result = gs.ksd_test(data, fitted, rng=1)
    assert result.pvalue < 0.01 and isinstance(result.null, gs.FittedWildBootstrap)
    with pytest.warns(gs.CalibrationWarning, match=r"fitted to these very data.*ParametricBootstrap\(\)"):
        assert gs.ksd_test(data, fitted, null=gs.WildBootstrap(), rng=1).pvalue < 0.01
    # The same law, not fitted to them, and other data: nothing to warn of.
    assert gs.ksd_test(data, Exponential(fitted.scale), rng=1).pvalue < 0.01
    gs.ksd_test(censored_sample(Weibull(1.0, 2.5), 40, seed=7), fitted, rng=1)


def test_a_jumping_hazard_can_be_tested_by_martingales_only():
    family = LIFETIMES[-1]
    data = censored_sample(family, 60)
    for operator in (gs.Survival(), gs.ProportionalHazards()):
        with pytest.raises(SteinIdentityError, match=r"jumps at t = 1.*Use Martingale\(\)"):
            gs.ksd_test(data, family, operator=operator, rng=1)
        with pytest.raises(ScoreError, match="jumps at its breakpoints"):
            gs.ksd_test(data, family, operator=operator, rng=1, audit=False)
    fit = PiecewiseExponential.fitter([1.0, 3.0])
    result = gs.ksd_test(data, fit(data), null=gs.ParametricBootstrap(fit, 19), rng=1)
    assert result.pvalue > 0.05
    assert "PiecewiseExponential.fitter([1, 3])" in str(result)


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Exponential(0.0), "`scale` must be a positive number"),
        (lambda: Exponential([1.0, 2.0]), r"`scale` must be a positive number, got \[1\.0, 2\.0\]"),
        (lambda: Weibull(1.0, -1.0), "`shape` must be a positive number"),
        (lambda: Weibull(np.nan, 1.0), "`scale` must be a positive number"),
        (lambda: LogNormal("a", 1.0), "`mu` must be a number in .*, got 'a'"),
        (lambda: LogNormal([0.0, 1.0], 1.0), r"`mu` must be a number in .*, got \[0\.0, 1\.0\]"),
        (lambda: LogNormal(0.0, 0.0), "`sigma` must be a positive number"),
        (lambda: LogLogistic(1.0, 0.0), "`shape` must be a positive number"),
        (lambda: Gamma(0.0, 1.0), "`shape` must be a positive number"),
        (lambda: Gompertz(0.0, 1.0), "`rate` must be a positive number"),
        (
            lambda: Gompertz(1.0, -0.1),
            r"`growth` must be a number of at least 0.*never end, got -0\.1",
        ),
        (lambda: PiecewiseExponential([1.0], [1.0]), "1 breakpoints make 2 pieces, got 1 hazards"),
        (lambda: PiecewiseExponential([0.0], [1.0, 1.0]), "`breakpoints` must be positive numbers"),
        (
            lambda: PiecewiseExponential([2.0, 1.0], [1.0] * 3),
            r"`breakpoints`: must increase, got \[2.0, 1.0\]",
        ),
        (lambda: PiecewiseExponential([1.0], [-1.0, 1.0]), "`hazards` must be numbers of at least 0"),
        (
            lambda: PiecewiseExponential([1.0], [1.0, 0.0]),
            "the last one is 0, so that some lives would never end",
        ),
        (lambda: Weibull(1.0, 1.0).hazard("x"), "`t` must be real numbers, got 'x'"),
        (lambda: Weibull(1.0, 1.0).score([[1.0, 2.0]]), r"`x`: expected shape \(n, 1\), got \(1, 2\)"),
        (lambda: PiecewiseExponential.fit([1.0, 2.0], [3.0]), "no events after the last breakpoint, 3, so"),
        (lambda: Exponential.fit([0.0, 0.0]), "all durations are 0, so Exponential has no scale"),
        (
            lambda: Gompertz.fit(1000 + np.array([0.0, 1e-3, 2e-3])),
            "fitted Gompertz hazard at time 0 underflows",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("family", [Exponential, Weibull, LogNormal, LogLogistic, Gamma, Gompertz])
def test_nothing_is_fitted_without_events(family):
    data = Censored([1.0, 2.0, 3.0], [0, 0, 0])
    with pytest.raises(InputError, match=f"none of the 3 durations ends with an event, so {family.__name__}"):
        family.fit(data)


def test_piecewise_fit_needs_events():
    with pytest.raises(InputError, match="none of the 2 durations ends with an event"):
        PiecewiseExponential.fit(Censored([1.0, 2.0], [0, 0]), [1.0])


@pytest.mark.parametrize("family", [Weibull, LogNormal, LogLogistic, Gamma])
def test_events_at_time_zero_cannot_be_fitted(family):
    data = Censored([0.0, 0.0, 3.0, 4.0], [0, 1, 1, 1])
    with pytest.raises(InputError, match=r"1 of 4 rows \(row 1\) hold events at time 0.*more finely"):
        family.fit(data)


@pytest.mark.parametrize("family", [Weibull, LogNormal, LogLogistic, Gamma, Gompertz])
def test_events_all_at_the_latest_time_cannot_be_fitted(family):
    data = Censored([1.0, 3.0, 3.0, 3.0], [0, 1, 1, 0])
    with pytest.raises(InputError, match="all events happen at the latest time, 3, so the likelihood"):
        family.fit(data)
    # One life that goes on beyond them makes the maximum finite.
    assert family.fit(Censored([1.0, 3.0, 3.0, 4.0], [0, 1, 1, 0])).survival(4.0) > 0.1


def test_a_fit_that_does_not_converge_says_so():
    from goodstein.families.durations import maximise

    with pytest.raises(InputError, match="fit of Gamma did not converge"):
        maximise(lambda p: (float(p[0]), np.ones(1)), [0.0], "Gamma")
    with pytest.raises(InputError, match="fit of Gamma did not converge"):
        maximise(lambda p: (math.nan, np.ones(1)), [0.0], "Gamma")


def test_the_tail_of_a_huge_gamma_shape_says_where_it_stops(monkeypatch):
    monkeypatch.setattr("goodstein.families.gamma.MOST_TERMS", 2)
    with pytest.raises(InputError, match=r"tail of Gamma.*cannot be evaluated at 1400 times its scale"):
        Gamma(3.0, 1.0).hazard(1400.0)
