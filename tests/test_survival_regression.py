"""Durations with late entry and covariates: operators, models, fits and what reads them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.stats

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from goodstein.data.rows import SeenTimes
from goodstein.stein.pairwise import Pairwise, repeated
from goodstein.survival.covariates import covariate_kernel
from goodstein.survival.cox import RiskSets
from goodstein.survival.residuals import Landmarks, weighted_events

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lifelines = pytest.importorskip("lifelines")


def scale(z):
    return np.exp(0.3 + 0.5 * z)


MODEL = gs.SurvivalRegression(
    cumulative_hazard=lambda t, z: (t / scale(z)) ** 1.5,
    hazard=lambda t, z: 1.5 / scale(z) * (t / scale(z)) ** 0.5,
    name="Weibull regression",
)


def draw(n=80, seed=1, late=True, covariates=1, entry=None):
    """From MODEL with censoring; half of the rows enter late, or all at a time."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4 * n, covariates))
    x, c = scale(z[:, 0]) * rng.weibull(1.5, 4 * n), rng.exponential(2.5, 4 * n)
    e = np.where(rng.random(4 * n) < 0.5 * late, rng.uniform(0, 0.7, 4 * n), 0.0)
    e = e if entry is None else np.full(4 * n, entry)
    seen = np.flatnonzero(np.minimum(x, c) > e)[:n]
    z, x, c, e = z[seen], x[seen], c[seen], e[seen]
    return gs.Censored(np.minimum(x, c), x <= c, e if late else None, z[:, 0] if covariates == 1 else z)


def frame_of(data):
    frame = pd.DataFrame(data.covariates, columns=list(data.covariate_names))
    return frame.assign(time=data.durations, dead=data.event_observed, entry=data.entry)


def weibull_fit(frame, **options):
    return lifelines.WeibullAFTFitter().fit(frame, "time", "dead", entry_col="entry", **options)


# Data.


def test_entries_and_covariates_go_where_the_rows_go():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "sex": [0, 1, 0, 1]})
    data = gs.Censored([5.0, 6.0, 7.0, 8.0], [1, 0, 1, 1], [0.0, 1.0, 2.0, 0.0], frame)
    assert data.covariate_names == ("age", "sex") and data.late
    assert data.describe() == "4 durations, 25 % censored, 2 entered late, 2 covariates"
    some = data.take(np.array([2, 1]))
    assert some.entry.tolist() == [2.0, 1.0] and some.covariates.tolist() == [[3.0, 0.0], [2.0, 1.0]]
    assert some.covariate_names == data.covariate_names
    assert list(data.as_columns()) == ["duration", "event", "entry", "age", "sex"]
    assert data.at_risk([0.5, 1.0, 1.5, 6.0]).tolist() == [2.0, 2.0, 3.0, 3.0]
    import pickle

    again = pickle.loads(pickle.dumps(data))
    assert again == data and again.covariate_names == data.covariate_names
    assert data != gs.Censored(data.durations, data.event_observed)
    read = gs.Censored.from_frame(
        frame.assign(t=data.durations, e=[1, 0, 1, 1], start=data.entry),
        durations="t",
        event_observed="e",
        entry="start",
        covariates=["age", "sex"],
    )
    assert read == data and "entry: column 'start'" in read.describe()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entry": [0.0, 2.0, 0.5]}, "enter when their duration has ended already"),
        ({"entry": [0.0, 0.1]}, "`durations` has 3 values and `entry` has 2"),
        ({"entry": [0.0, -0.1, 0.0]}, "`entry`"),
        ({"covariates": [[1.0], [np.nan], [2.0]]}, "`covariates`"),
        ({"covariates": [1.0, 2.0]}, "`covariates` has 2"),
        ({"covariates": pd.DataFrame({"arm": ["a", "b", "a"]})}, "get_dummies"),
    ],
)
def test_what_does_not_belong_together_is_refused(options, message):
    with pytest.raises(gs.InputError, match=re.escape(message)):
        gs.Censored([1.0, 2.0, 3.0], [1, 1, 0], **options)


def test_the_censoring_of_late_entries_is_later_than_they_are():
    data = draw(200)
    for _ in range(5):
        c = data.draw_censoring(200, np.random.default_rng(1), data.entry)
        assert (c > data.entry).all()
    again = data.drawn(MODEL, MODEL.domain, np.random.default_rng(2))
    assert (again.durations > data.entry).all() and np.array_equal(again.covariates, data.covariates)


# Operators.


def test_the_features_have_mean_zero_given_entry_and_covariates():
    """E[ξω | e, z] by quadrature over X given X > e, censored at a fixed time; ω = cos(2u + z)·(1 + z)."""
    z, e, c = 0.7, 0.4, 2.2

    def omega(t):
        u = -np.expm1(-MODEL.cumulative_hazard(np.atleast_1d(t), np.atleast_1d(z)))
        return np.cos(2 * u + z) * (1 + z)

    def density(t):
        hazard = MODEL.hazard(np.array([t]), np.array([z]))
        grown = MODEL.cumulative_hazard(np.array([t, e]), np.array([z, z]))
        return float(hazard[0] * np.exp(grown[1] - grown[0]))

    def feature(t, event):
        """From the operator's own coefficients: value·ω(end) + weight·dω/du + ω(start)."""
        features = gs.Martingale().in_time(MODEL, gs.Censored([t], [event], [e], [z]))
        u, start = features.end.points[0, 0], features.start.points[0, 0]
        slope = -2 * np.sin(2 * u + z) * (1 + z)
        ends = features.end.value[0, 0] * np.cos(2 * u + z) + features.start.value[0, 0] * np.cos(
            2 * start + z
        )
        return ends * (1 + z) + features.end.weight[0] * slope

    nodes, weights = np.polynomial.legendre.leggauss(40)
    t = e + (c - e) * (nodes + 1) / 2
    mean = sum(w * (c - e) / 2 * density(s) * feature(s, True) for s, w in zip(t, weights, strict=True))
    gone = sum(w * (c - e) / 2 * density(s) for s, w in zip(t, weights, strict=True))
    assert mean + (1 - gone) * feature(c, False) == pytest.approx(0.0, abs=1e-10)
    # By the definition: δ ∂_t ω/λ − (ω(t) − ω(e)).
    h = 1e-5
    slope = (omega(1.3 + h) - omega(1.3 - h)) / (2 * h) / MODEL.hazard(np.array([1.3]), np.array([z]))
    assert feature(1.3, True) == pytest.approx(float((slope - omega(1.3) + omega(e))[0]), abs=1e-8)


@pytest.mark.parametrize("late", [True, False])
def test_the_stein_matrix_is_that_of_the_definition(late):
    """h = ξ_i ξ_j k by finite differences of the kernel, for times as they are."""
    data = draw(6, late=late)
    operator = gs.Martingale(None, covariate_kernel=gs.Gaussian(0.8))
    kernel = gs.Gaussian(0.9)
    found = gs.stein_matrix(data, MODEL, operator=operator, kernel=kernel)
    t, e, z, events = data.durations, data.entry, data.z, data.event_observed
    rate = events / MODEL.hazard(t, z)

    def k(a, b):
        return np.exp(-((a - b) ** 2) / (2 * 0.9**2))

    def functional(f, i, h=1e-4):
        return rate[i] * (f(t[i] + h) - f(t[i] - h)) / (2 * h) - f(t[i]) + f(e[i])

    for i in range(6):
        for j in range(6):
            value = functional(lambda a, j=j: functional(lambda b, a=a: k(a, b), j), i)
            expected = value * np.exp(-((z[i] - z[j]) ** 2) / (2 * 0.8**2))
            assert found[i, j] == pytest.approx(expected, abs=2e-6)


def test_late_entry_at_zero_is_none():
    data = draw(40, late=False)
    late = gs.Censored(data.durations, data.event_observed, np.full(40, 1e-300), data.z)
    one, two = (gs.stein_matrix(x, MODEL, kernel=gs.IMQ(0.5)) for x in (data, late))
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_ignoring_late_entry_rejects_a_true_model():
    data = draw(200, entry=0.7)
    ignored = gs.Censored(data.durations, data.event_observed, covariates=data.z)
    assert gs.ksd_test(data, MODEL, rng=1).pvalue > 0.05
    assert gs.ksd_test(ignored, MODEL, rng=1).pvalue < 0.01
    assert gs.ksd_test(ignored, MODEL, operator=gs.Timing(), rng=1).pvalue < 0.01


def test_a_model_without_covariates_takes_data_that_have_some():
    """The covariates then must not matter, and here they do."""
    data = draw(200, late=False)
    alone = gs.Censored(data.durations, data.event_observed)
    model = gs.families.Weibull.fit(alone)
    assert gs.ksd_test(data, model, rng=1).pvalue < 0.05
    late = draw(200)
    with pytest.raises(gs.InputError, match="late entry"):
        gs.families.Weibull.fit(late)


@pytest.mark.parametrize("operator", [gs.Survival(), gs.ProportionalHazards()])
def test_operators_that_know_nothing_of_entries_say_so(operator):
    with pytest.raises(gs.InputError, match=r"Use Martingale\(\)"):
        gs.ksd_test(draw(30), scipy.stats.expon(), operator=operator)
    with pytest.raises(gs.InputError, match=r"Use Martingale\(\)"):
        gs.ksd_test(draw(30, late=False), MODEL, operator=operator)


# Models.


def test_one_of_both_functions_suffices():
    t, z = np.array([0.3, 1.0, 4.0]), np.array([-1.0, 0.0, 1.0])
    by_rate = gs.SurvivalRegression(hazard=MODEL._functions["hazard"])
    np.testing.assert_allclose(by_rate.cumulative_hazard(t, z), MODEL.cumulative_hazard(t, z), rtol=1e-10)
    by_sum = gs.SurvivalRegression(cumulative_hazard=MODEL._functions["cumulative_hazard"])
    np.testing.assert_allclose(by_sum.hazard(t, z), MODEL.hazard(t, z), rtol=1e-8)
    np.testing.assert_allclose(MODEL.quantile(MODEL.cumulative_hazard(t, z), z), t, rtol=1e-9)
    drawn = MODEL.sample(np.zeros(2000), rng=1)
    assert (
        scipy.stats.kstest(drawn.durations, scipy.stats.weibull_min(1.5, scale=scale(0.0)).cdf).pvalue > 0.01
    )
    with pytest.raises(gs.InputError, match="needs `cumulative_hazard` or `hazard`"):
        gs.SurvivalRegression()
    with pytest.raises(gs.InputError, match="model of durations given covariates, and these have none"):
        gs.ksd_test([1.0, 2.0, 3.0], MODEL)


def test_two_functions_that_disagree_are_found():
    wrong = gs.SurvivalRegression(cumulative_hazard=lambda t, z: t, hazard=lambda t, z: 2.0 + 0 * t)
    with pytest.raises(gs.SteinIdentityError, match="One of them is wrong"):
        gs.ksd_test(draw(30), wrong)


class Forest:
    """What an estimator of scikit-survival looks like, with step functions for its predictions."""

    class Step:
        def __init__(self, x, y):
            self.x, self.y = x, y

    def predict_cumulative_hazard_function(self, x):
        grid = np.linspace(0.01, 12.0, 1500)
        return np.array([self.Step(grid, MODEL.cumulative_hazard(grid, np.full(1500, row[0]))) for row in x])


def test_estimators_with_step_functions_are_models():
    data = draw(100, covariates=2)
    model = as_survival_model(Forest())
    expected = MODEL.cumulative_hazard(data.durations, data.covariates[:, 0])
    np.testing.assert_allclose(model.cumulative_hazard(data.durations, data.covariates), expected, atol=2e-3)
    assert gs.ksd_test(data, Forest(), rng=1).pvalue > 0.05
    far = gs.Censored([50.0, 1.0], covariates=[[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(gs.InputError, match="beyond the last time"):
        gs.ksd_test(far, Forest())


class Scaled:
    """A step function as scikit-survival has them: multiples a·y + b of values that all rows share."""

    def __init__(self, x, y, a):
        self.x, self.y, self.a = x, y, a

    def __call__(self, x):
        assert np.isin(x, self.x).all()
        return self.a * self.y[np.searchsorted(self.x, x)]


class Proportional:
    """A Cox model of two covariates as scikit-survival has it; without events between 2 and 3, nor from 9."""

    feature_names_in_ = np.array(["dose", "age"], dtype=object)
    beta = np.array([0.7, -0.2])

    def predict_cumulative_hazard_function(self, x):
        assert list(x.columns) == ["dose", "age"]
        grid = np.linspace(0.05, 12.0, 240)
        grown = np.cumsum(np.where(((grid > 2.0) & (grid <= 3.0)) | (grid > 9.0), 0.0, 0.05))
        return [Scaled(grid, grown, np.exp(row @ self.beta)) for row in x.to_numpy()]


def test_steps_of_scikit_survival_are_multiples_and_may_stand_still():
    model, z = as_survival_model(Proportional()), np.array([[1.0, 0.5], [0.0, 2.0]])
    factor = np.exp(z @ Proportional.beta)
    np.testing.assert_allclose(model.cumulative_hazard([1.0, 1.0], z), factor, rtol=1e-12)
    # From 2 to 3.05 the hazard is what came at 3.05, spread evenly; after 9 there is none.
    np.testing.assert_allclose(model.hazard([2.5, 2.5], z), 0.05 / 1.05 * factor, rtol=1e-9)
    np.testing.assert_allclose(model.hazard([9.5, 9.5], z), 0.0)
    np.testing.assert_allclose(model.cumulative_hazard([9.5, 11.0], z), 8.0 * factor, rtol=1e-12)


def test_covariates_of_scikit_survival_go_by_their_names():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(150, 2))
    t = np.minimum(rng.exponential(np.exp(-z @ Proportional.beta)), 1.9)
    frame = pd.DataFrame(z, columns=["dose", "age"])
    y = np.array(list(zip(t < 1.9, t, strict=True)), dtype=[("event", bool), ("time", float)])
    expected = gs.ksd_test(gs.Censored(t, t < 1.9, covariates=frame), Proportional(), rng=1).pvalue
    assert expected > 0.05
    others = [
        gs.Censored(t, t < 1.9, covariates=frame[["age", "dose"]].assign(more=1.0)),
        gs.Censored(t, t < 1.9, covariates=z),
        (frame, y),
    ]
    for data in others:
        assert gs.ksd_test(data, Proportional(), rng=1).pvalue == expected
    assert gs.ksd_test(Proportional(), (frame, y), rng=1).pvalue == expected
    with pytest.raises(gs.InputError, match="have no 'dose'"):
        gs.ksd_test(gs.Censored(t, covariates=frame[["age"]]), Proportional())
    late = gs.Censored(np.append(t[1:], 10.0), covariates=frame)
    with pytest.raises(gs.InputError, match=r"event after the last step.*up to t = 9"):
        gs.ksd_test(late, Proportional())


class Kept(Forest):
    """An estimator that keeps the times at which its durations ended, as those of scikit-survival do."""

    def __init__(self, durations):
        self.unique_times_ = np.unique(durations)


@pytest.mark.parametrize("days", [True, False], ids=["days", "not rounded"])
def test_estimators_that_keep_their_times_are_known_to_have_been_fitted(days):
    data, other = draw(100, covariates=2), draw(100, covariates=2, seed=8)
    if days:  # some of them tied
        data, other = (
            one.seen_at(np.ceil(50 * one.durations) / 50, one.event_observed) for one in (data, other)
        )
        assert len(np.unique(data.durations)) < 95 and np.isin(other.durations, data.durations).any()
    with pytest.warns(
        gs.CalibrationWarning, match="fitted to these very data, as the times that it keeps tell"
    ):
        result = gs.ksd_test(data, Kept(data.durations), rng=1)
    assert "Cannot decide" in str(result)
    for rows in (other, data.take(np.arange(50))) if days else (other,):
        gs.ksd_test(rows, Kept(data.durations), rng=1)  # a part of tied rows is not told from others
    weeks = data.seen_at(np.ceil(3 * data.durations), data.event_observed)
    assert not SeenTimes(np.unique(weeks.durations)).among(weeks).any()  # any data would have these


# Fits.


def test_a_fit_of_lifelines_may_come_before_its_frame():
    frame = frame_of(draw(80))
    fitted = weibull_fit(frame)
    for test in (gs.ksd_test, gs.aggregated_test):
        assert test(fitted, frame, rng=1).pvalue == test(frame, fitted, rng=1).pvalue
    assert gs.check(fitted, frame, rng=1).test.pvalue == gs.check(frame, fitted, rng=1).test.pvalue


def fitters():
    yield lifelines.WeibullAFTFitter(), {}
    yield lifelines.LogNormalAFTFitter(), {"ancillary": True}
    yield lifelines.LogLogisticAFTFitter(), {"formula": "z + I(z**2)"}
    constant = {"sigma_": "1", "lambda_": "1"}
    yield lifelines.GeneralizedGammaRegressionFitter(), {"regressors": {"mu_": "z", **constant}}
    yield lifelines.CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=3), {}


@pytest.mark.parametrize(("fitter", "options"), list(fitters()), ids=lambda x: type(x).__name__)
def test_regressions_of_lifelines_are_read_with_their_frame(fitter, options):
    data = draw(150)
    frame = frame_of(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter.fit(frame, "time", "dead", entry_col="entry", **options)
    model = as_survival_model(fitter)
    rows = model.read(frame, "test")
    assert np.array_equal(rows.entry, data.entry) and np.array_equal(rows.durations, data.durations)
    theirs = fitter.predict_cumulative_hazard(frame.iloc[:4].assign(entry=0), times=[0.5, 1.5]).to_numpy()
    ours = model.cumulative_hazard(np.full(4, 1.5), rows.covariates[:4])
    np.testing.assert_allclose(ours, theirs[1], rtol=1e-6)
    assert model.log_likelihood(rows).sum() == pytest.approx(fitter.log_likelihood_, rel=1e-8)
    result = gs.ksd_test(frame, fitter, rng=1)
    assert result.pvalue > 0.01 and "FittedWildBootstrap" in repr(result.null)


def test_influences_are_what_leaving_a_row_out_does():
    data = draw(120)
    frame = frame_of(data)
    fitted = as_survival_model(weibull_fit(frame))
    influence = fitted.influence(data)
    scaled = fitted.design.scaled(data.covariates)
    refit = fitted.provenance.refit
    np.testing.assert_allclose(refit(data).coefficients, fitted.coefficients, atol=1e-4)
    for row in (3, 17):
        without = refit(data.take(np.delete(np.arange(120), row))).coefficients
        moved = (refit(data).coefficients - without) * 120
        expected = scaled @ influence.values[row]
        assert np.abs(moved - expected).max() < 0.15 * np.abs(expected).max()


def test_regressions_are_looked_at_with_a_wide_kernel():
    """It sees a wrong form of a covariate, in four of six samples of 200 or more."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=200)
        t = np.exp(0.5 * z + 0.25 * (z**2 - 1.0)) * rng.weibull(1.5, 200)
        frame = pd.DataFrame({"time": t, "dead": 1, "z": z})
        result = gs.ksd_test(frame, lifelines.WeibullAFTFitter().fit(frame, "time", "dead"), rng=1)
        found += result.pvalue <= 0.05
    assert found >= 4
    assert result.operator.transform == "cdf" and result.kernel == gs.Gaussian(0.5)


def data_named(data, model):
    frame = pd.DataFrame(data.covariates, columns=list(model.design.columns))
    return gs.Censored(data.durations, data.event_observed, data.entry, frame)


def test_a_wrong_form_is_found_and_a_right_one_is_not():
    rng = np.random.default_rng(4)
    z = rng.normal(size=400)
    t = np.exp(0.4 * z**2) * rng.weibull(1.5, 400)
    frame = pd.DataFrame({"time": t, "dead": 1, "entry": 0.0, "z": z})
    assert gs.ksd_test(frame, weibull_fit(frame), rng=1).pvalue < 0.01
    assert gs.ksd_test(frame, weibull_fit(frame, formula="z + I(z**2)"), rng=1).pvalue > 0.05
    again = gs.ParametricBootstrap(n_resamples=19)
    assert gs.ksd_test(frame, weibull_fit(frame), null=again, rng=1).pvalue == 0.05


def test_a_fit_of_ones_own_is_corrected_for_by_its_likelihood():
    data = draw(150)

    def family(theta):
        return gs.SurvivalRegression(
            cumulative_hazard=lambda t, z: (t / np.exp(theta[0] + theta[1] * z)) ** np.exp(theta[2])
        )

    def loss(theta):
        return -family(theta).log_likelihood(data).mean()

    theta = scipy.optimize.minimize(loss, [0.0, 0.0, 0.0]).x
    null = gs.FittedWildBootstrap(model=family, parameters=theta)
    assert gs.ksd_test(data, family(theta), null=null, rng=1).pvalue > 0.05


def test_univariate_fits_with_late_entry_are_models():
    data = draw(200)
    alone = gs.Censored(data.durations, data.event_observed, data.entry)
    fitter = lifelines.WeibullFitter().fit(data.durations, data.event_observed, entry=data.entry)
    result = gs.ksd_test(alone, fitter, rng=1)
    assert "FittedWildBootstrap" in repr(result.null) and result.pvalue > 0.01
    again = gs.ksd_test(alone, fitter, null=gs.ParametricBootstrap(n_resamples=19), rng=1)
    assert again.pvalue > 0.05


def test_what_cannot_be_tested_is_refused_with_what_to_do():
    frame = frame_of(draw(60)).assign(high=lambda f: f.time + 0.5)
    between = lifelines.WeibullAFTFitter().fit_interval_censoring(
        frame[["time", "high", "z"]], "time", "high"
    )
    with pytest.raises(gs.InputError, match=r"interval-censored.*right-censored"):
        gs.ksd_test(frame, between)
    censored = scipy.stats.CensoredData(interval=[[1.0, 2.0], [2.0, 3.0]])
    with pytest.raises(gs.InputError, match=r"interval.*middles"):
        gs.ksd_test(censored, scipy.stats.expon())
    with pytest.raises(gs.InputError, match="not fitted yet"):
        gs.ksd_test(frame, lifelines.WeibullAFTFitter())
    fitted = weibull_fit(frame.drop(columns="high"))
    with pytest.raises(gs.InputError, match="no column 'time'"):
        gs.ksd_test(frame.drop(columns="time"), fitted)
    with pytest.raises(gs.InputError, match=r"data frame of pandas.*got ndarray"):
        gs.ksd_test(np.ones(5), fitted)
    with pytest.raises(gs.InputError, match="swapped"):
        gs.ksd_test(fitted, np.ones(5))
    strata = frame[["time", "dead", "z"]].assign(s=np.arange(60) % 2)
    with pytest.raises(gs.InputError, match="stratum"):
        gs.ksd_test(strata, lifelines.CoxPHFitter().fit(strata, "time", "dead", strata="s"))


def test_a_part_of_the_rows_of_a_fit_is_warned_of():
    frame = frame_of(draw(100))
    fitted = weibull_fit(frame)
    with pytest.warns(gs.CalibrationWarning, match="was fitted to"):
        gs.ksd_test(frame.iloc[:60], fitted, rng=1)


@pytest.mark.parametrize("name", ["WeibullAFTFitter", "LogNormalAFTFitter", "CoxPHFitter"])
def test_a_part_of_tied_rows_is_known_again_by_what_the_fit_predicts(name):
    from lifelines.datasets import load_rossi

    rossi = load_rossi()  # 432 people, whose weeks are tied, 318 of them at 52
    fitted = getattr(lifelines, name)().fit(rossi, "week", "arrest")
    model = as_survival_model(fitted)
    part = rossi.sample(frac=0.3, random_state=1).reset_index(drop=True)
    assert model.provenance.rows.among(model.read(part, "a test")).all()
    rng = np.random.default_rng(1)
    again = rossi.assign(week=np.where(rossi["arrest"] == 1, rng.permutation(rossi["week"]) % 40 + 1, 52))
    assert not model.provenance.rows.among(model.read(again, "a test")).any()  # the same people once more
    half = rossi.iloc[::2]
    model = as_survival_model(getattr(lifelines, name)().fit(half, "week", "arrest"))
    assert not model.provenance.rows.among(model.read(rossi.iloc[1::2], "a test")).any()


# Cox.


def cox_fit(frame, **options):
    return lifelines.CoxPHFitter().fit(frame, "time", "dead", entry_col="entry", **options)


def test_the_sums_are_those_of_martingale_residuals():
    """Σ_i ξ_i ω = Σ_i ψ(z_i)·M̂_i for ω = ψ(z), M̂ the residuals of lifelines; and none is left of ω = z."""
    data = draw(80, covariates=2, late=False)
    frame = frame_of(data).drop(columns="entry")
    fitter = lifelines.CoxPHFitter().fit(frame, "time", "dead")
    model = as_survival_model(fitter)
    rows = model.read(frame, "test")
    residuals = fitter.compute_residuals(frame, "martingale").sort_index()["martingale"].to_numpy()
    given = model.given(rows)
    ours = rows.event_observed - given.cumulative_hazard(rows.durations)
    np.testing.assert_allclose(ours, residuals, atol=1e-9)
    fixed = gs.CoxModel(fitter.params_.to_numpy())

    def squares(x, y):
        return (x**2).sum(axis=1)[:, None] * (y**2).sum(axis=1)

    operator = gs.CoxResiduals(1, covariate_kernel=squares).fitted(rows, None)
    tau = operator.features(fixed, None, rows).tau
    functions = Landmarks.of(operator.covariate_kernel, rows.covariates)
    scale_of = functions(rows.covariates)[0, 0] / (rows.covariates[0] ** 2).sum()
    expected = scale_of * (rows.covariates**2).sum(axis=1) @ residuals
    assert tau[:, 0].sum() == pytest.approx(expected, abs=1e-8)

    def linear(x, y):
        return x @ y.T

    left = gs.CoxResiduals(1, covariate_kernel=linear).fitted(rows, None).features(model, None, rows)
    np.testing.assert_allclose(left.tau[:, :2], 0.0, atol=1e-9)


def test_the_correction_for_coefficients_is_the_derivative_of_the_sum():
    """Σξ at β moves by −D·Δβ: the covariances in risk sets are the slopes of the sums."""
    data = draw(60)
    operator = gs.CoxResiduals(2).fitted(data, None)
    h = 1e-5
    up, down = (operator.features(gs.CoxModel([-0.7 + s * h]), None, data).tau.sum(axis=0) for s in (1, -1))
    slope = (up - down) / (2 * h)
    with_fit = operator.features(gs.CoxModel([-0.7], fitted_to=data), None, data).tau
    without = operator.features(gs.CoxModel([-0.7]), None, data).tau

    def linear(x, y):
        return x @ y.T

    unit = gs.CoxResiduals(1, covariate_kernel=linear).fitted(data, None)
    u_up, u_down, u = (
        unit.features(gs.CoxModel([-0.7 + s * h]), None, data).tau[:, 0].sum() for s in (1, -1, 0)
    )
    expected = slope / ((u_up - u_down) / (2 * h)) * u
    np.testing.assert_allclose(without.sum(axis=0) - with_fit.sum(axis=0), expected, atol=1e-6)


def test_cox_fits_are_tested_with_their_frame():
    data = draw(200, seed=3)
    frame = frame_of(data)
    result = gs.ksd_test(frame, cox_fit(frame), rng=1)
    assert result.pvalue > 0.05 and "accounted for" in str(result.audit)
    rng = np.random.default_rng(2)
    z = rng.normal(size=250)
    bent = pd.DataFrame(
        {"time": np.exp(0.5 * z**2) * rng.exponential(size=250), "dead": 1, "z": z, "entry": 0.0}
    )
    assert gs.ksd_test(bent, cox_fit(bent), rng=1).pvalue < 0.01
    with pytest.raises(gs.InputError, match="fitted to some of these"):
        gs.ksd_test(frame.iloc[:100], cox_fit(frame))
    with pytest.raises(gs.InputError, match=r"CoxResiduals\(\)"):
        gs.ksd_test(frame, cox_fit(frame), operator=gs.Martingale())
    with pytest.raises(gs.InputError, match="for models with an unknown baseline"):
        gs.ksd_test(data, MODEL, operator=gs.CoxResiduals())
    with pytest.raises(gs.InputError, match="coefficients of 2 covariates"):
        gs.ksd_test(data, gs.CoxModel([1.0, 2.0]))


def three(n, seed, together=0.0):
    """Exponential durations with three covariates, of which the first two act together too."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    z[:, 2] = z[:, 2] > 0
    t = rng.exponential(np.exp(-z @ [0.6, -0.4, 0.5] - together * z[:, 0] * z[:, 1]))
    c = rng.exponential(3.0, n)
    return pd.DataFrame({"t": np.minimum(t, c), "e": t <= c, "a": z[:, 0], "b": z[:, 1], "c": z[:, 2]})


def test_looks_of_cox_residuals_along_covariates_are_sums_of_martingale_residuals():
    """Those of lifelines, times products of ranks: Σ ξ ω = Σ ω(z) M̂, with coefficients fixed beforehand."""
    frame = three(80, 1)
    fitter = lifelines.CoxPHFitter().fit(frame, "t", "e")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        residuals = fitter.compute_residuals(frame, "martingale")["martingale"].loc[frame.index].to_numpy()
    z = frame[["a", "b", "c"]].to_numpy()
    data = gs.Censored(frame["t"], frame["e"], covariates=z)
    model = gs.CoxModel(fitter.params_.to_numpy())
    for operator in (gs.CoxResiduals(0, covariate=1, trend=2), gs.CoxResiduals(0, trend=1, pairs=True)):
        fitted = operator.fitted(data, None)
        values = fitted.trends(z)
        np.testing.assert_allclose(values.T @ values / len(z), np.eye(values.shape[1]), atol=1e-10)
        tau = fitted.features(model, None, data).tau
        np.testing.assert_allclose(tau.sum(axis=0), values.T @ residuals, atol=1e-6)
    ranks = np.column_stack([(scipy.stats.rankdata(column) - 0.5) / len(z) for column in z.T]) - 0.5
    products = np.column_stack(
        [np.ones(len(z)), ranks, *(ranks[:, i] * ranks[:, j] for i, j in ((0, 1), (0, 2), (1, 2)))]
    )
    assert np.linalg.lstsq(values, products, rcond=None)[1].max() < 1e-18  # the same functions


def test_a_collection_for_cox_sees_what_two_covariates_do_together():
    names = "how many events there are where two covariates are large or small together"
    bent, straight = three(150, 3, together=0.8), three(150, 3)
    wrong, right = (
        gs.aggregated_test(one, lifelines.CoxPHFitter().fit(one, "t", "e"), rng=1) for one in (bent, straight)
    )
    assert wrong.pvalue < 0.01 and right.pvalue > 0.05
    first = min(wrong.members, key=lambda member: member.adjusted_pvalue)
    assert first.looks_at == names
    looks = [member.looks_at for member in right.members]
    # Of an arm of a trial the equations of the fit leave no form to look at.
    assert looks.count("how many events there are along `c`") == 0
    assert looks.count("how many events there are along `c`, early and late") == 1
    dummies = gs.Censored(bent["t"], bent["e"], covariates=np.eye(3)[np.arange(150) % 3][:, :2])
    model = gs.CoxModel(
        lifelines.CoxPHFitter().fit(dummy_frame(dummies), "t", "e").params_, fitted_to=dummies
    )
    assert names not in [member.looks_at for member in gs.aggregated_test(dummies, model, rng=1).members]


def dummy_frame(data):
    z = data.covariates
    return pd.DataFrame({"t": data.durations, "e": data.event_observed, "x": z[:, 0], "y": z[:, 1]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.CoxResiduals(0, pairs=True), "needs a `trend`"),
        (lambda: gs.CoxResiduals(0, covariate=1, trend=1, pairs=True), "all covariates"),
        (lambda: gs.CoxResiduals(0, covariate=1), "needs a `trend`"),
        (lambda: gs.CoxResiduals(0, gs.Gaussian(1.0), trend=1), "not both"),
        (lambda: gs.Timing(0, trend=1, pairs=3), "True or False"),
        (lambda: gs.CoxResiduals(0, covariate=3, trend=1).fitted(draw(20), None), "columns 0 to 0"),
    ],
)
def test_looks_along_covariates_that_cannot_be_are_refused(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()
    assert repr(gs.CoxResiduals(1, covariate=0, trend=2)) == "CoxResiduals(1, covariate=0, trend=2)"
    assert repr(gs.Timing(0, trend=1, pairs=True)) == "Timing(0, trend=1, pairs=True)"


# What is said and drawn.


@pytest.fixture(scope="module")
def bent():
    """Durations with a bent effect of the dose and none of the arm."""
    rng = np.random.default_rng(4)
    dose = rng.normal(size=300)
    time = np.exp(0.5 * dose**2) * rng.weibull(1.2, 300)
    return pd.DataFrame({"time": time, "dead": 1, "dose": dose, "arm": np.arange(300) % 2})


def test_the_covariate_whose_form_is_wrong_is_named(bent):
    result = gs.ksd_test(bent, lifelines.CoxPHFitter().fit(bent, "time", "dead"), rng=1)
    explanation = result.explain(rng=1)
    failing = [finding.view for finding in explanation.findings if finding.fails]
    assert failing and all("dose" in view for view in failing)
    assert not any("arm is 0" in finding.view and "," not in finding.view for finding in explanation.findings)
    assert not any("fitted" in note for note in explanation.notes)
    assert any("dose" in text.get_text() for text in result.plot().texts)
    with pytest.raises(gs.InputError, match="no probability transform"):
        result.plot("transform")
    with pytest.raises(gs.InputError, match="counts who is at risk"):
        result.witness([1.0, 2.0])


def test_views_of_a_cox_model_are_score_tests():
    """Sum and variance against differences of the partial likelihood with a coefficient for the group."""
    data = draw(60)
    z, t = data.z, data.durations
    frame = pd.DataFrame({"time": t, "dead": data.event_observed, "entry": data.entry, "z": z})
    fitter = lifelines.CoxPHFitter().fit(frame, "time", "dead", entry_col="entry")
    model = as_survival_model(fitter)
    group = (z > 0.3).astype(float)

    def partial(beta, gamma):
        risk = beta * (z - z.mean()) + gamma * group
        total = 0.0
        for i in np.flatnonzero(data.event_observed):
            there = (t >= t[i]) & ((data.entry < t[i]) | (data.entry == 0))
            total += risk[i] - np.log(np.exp(risk[there]).sum())
        return total

    beta, h = float(fitter.params_["z"]), 1e-3
    slope = (partial(beta, h) - partial(beta, -h)) / (2 * h)
    middle = partial(beta, 0.0)
    own = [-(partial(beta + a, b) + partial(beta - a, -b) - 2 * middle) / h**2 for a, b in ((0, h), (h, 0))]
    cross = -(partial(beta + h, h) - partial(beta + h, -h) - partial(beta - h, h) + partial(beta - h, -h))
    expected = own[0] - (cross / (4 * h**2)) ** 2 / own[1]
    rows = model.read(frame, "test")
    sets = RiskSets.of(rows, model.factors(rows))
    ones = np.ones((1, len(sets.times)))
    features, variances = weighted_events(sets, rows, group[:, None], ones, fitted=True)
    assert features.sum() == pytest.approx(slope, abs=1e-4)
    assert variances[0] == pytest.approx(expected, rel=1e-4)
    fixed = weighted_events(sets, rows, group[:, None], ones, fitted=False)[1]
    assert fixed[0] == pytest.approx(own[0], rel=1e-4)


def test_ratios_are_of_events_seen_and_expected():
    data = draw(200)
    result = gs.ksd_test(data, MODEL, rng=1)
    found = {finding.view: finding.effect for finding in result.explain(rng=1).findings}
    low = data.z <= np.quantile(data.z, 1 / 3)
    grown = MODEL.cumulative_hazard(data.durations, data.z) - MODEL.cumulative_hazard(data.entry, data.z)
    view = next(name for name in found if "z is up to" in name)
    assert found[view] == pytest.approx(data.event_observed[low].sum() / grown[low].sum())
    assert found["hazard over all time"] == pytest.approx(data.event_observed.sum() / grown.sum())


def test_a_true_model_stays_within_the_bands():
    result = gs.ksd_test(draw(150), MODEL, rng=1)
    assert result.plot("transform").get_title(loc="left") == "Within the bands"
    assert result.plot().get_title(loc="left") == "Nothing fails that was looked at"
    with pytest.raises(gs.InputError, match="late entry or covariates"):
        result.tolerance()


def _fitted(columns: int = 1, rows: int = 120):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(rows, columns))
    frame = pd.DataFrame(z, columns=[f"x{k}" for k in range(columns)])
    frame["time"] = rng.weibull(1.5, rows) * np.exp(0.3 * z[:, 0])
    return frame, lifelines.WeibullAFTFitter().fit(frame, "time")


def test_a_fit_that_stopped_short_is_told_and_nothing_advised_that_refuses_it():
    frame, fitter = _fitted()
    fitter.params_ = fitter.params_ + 0.2
    with pytest.warns(gs.CalibrationWarning, match=r"stopped short, and .* standard errors away"):
        result = gs.ksd_test(frame, fitter, rng=1)
    assert not any("Use null=FittedWildBootstrap" in note for note in result.notes)
    with pytest.raises(gs.InputError, match=r"to these data stopped short.*centred and scaled"):
        gs.ksd_test(frame, fitter, null=gs.FittedWildBootstrap(), rng=1)


def test_a_fit_to_more_rows_is_told_with_both_numbers():
    frame, fitter = _fitted()
    with pytest.warns(gs.CalibrationWarning, match="was fitted to these 90 rows and 30 others"):
        gs.ksd_test(frame.iloc[:90], fitter, rng=1)


def test_a_name_holds_some_of_many_covariates_only():
    frame, fitter = _fitted(12, 200)
    result = gs.ksd_test(frame, fitter, rng=1)
    assert result.model.endswith("and 5 more)")
    assert "12 covariates" in result.summary()


@pytest.mark.parametrize("columns", [1, 3])
def test_a_kernel_looked_up_has_the_values_of_the_kernel(columns):
    rows = np.random.default_rng(1).normal(size=(60, columns))
    points = np.tile(rows, (5, 1))
    kernel = covariate_kernel(None, rows)
    gram, which = repeated(kernel, points)
    plain = Pairwise(kernel, points)
    at = plain.placed(points)
    some, others = slice(30, 170), slice(100, 290)
    assert np.allclose(gram(which[some], which[others]), plain(at[some], at[others]), rtol=1e-12, atol=1e-14)
    assert np.allclose(gram.diagonal(which), plain.diagonal(at), rtol=1e-12)
    assert repeated(kernel, np.random.default_rng(2).normal(size=(300, columns))) is None
    assert repeated(kernel, points[:150]) is None
