"""Fitted models of lifelines: the same hazards, the same fits, and every message."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import goodstein as gs
from goodstein import families
from goodstein.adapters.durations import as_survival_model
from goodstein.errors import InputError, ScoreError
from goodstein.survival.data import Censored

lifelines = pytest.importorskip("lifelines")

BREAKS = [1.0, 3.0]


def test_ties_in_another_order_are_known_again_and_samples_without_a_maximum_are_left_out():
    from lifelines.datasets import load_rossi

    rossi = load_rossi()[["week", "arrest", "age", "mar", "prio"]]
    shuffled = rossi.sample(frac=1.0, random_state=1)
    fitted = lifelines.WeibullAFTFitter().fit(rossi, "week", "arrest")
    result = gs.ksd_test(shuffled, fitted, rng=1)
    assert isinstance(result.null, gs.FittedWildBootstrap)
    assert "Nothing found" in str(result.explain(rng=1))  # few are married: some samples have no such event
    # lifelines sorts the rows of Cox's model.
    cox = lifelines.CoxPHFitter().fit(rossi, "week", "arrest")
    report = gs.audit(cox, data=rossi)
    assert any("fitted coefficients" in check.message for check in report.checks), report
    with pytest.raises(InputError, match="no column 'age'"):
        gs.ksd_test(rossi.drop(columns="age"), fitted)
    additive = lifelines.AalenAdditiveFitter(coef_penalizer=1.0).fit(rossi, "week", "arrest")
    with pytest.raises(InputError, match="steps made of the data"):
        gs.ksd_test(rossi, additive)


def data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = 3 * rng.weibull(1.5, n)
    c = rng.exponential(6, n)
    return Censored(np.minimum(x, c), x <= c)


DATA = data()
EXACT = {
    "Exponential": (lambda: lifelines.ExponentialFitter(), families.Exponential.fit),
    "Weibull": (lambda: lifelines.WeibullFitter(), families.Weibull.fit),
    "LogNormal": (lambda: lifelines.LogNormalFitter(), families.LogNormal.fit),
    "LogLogistic": (lambda: lifelines.LogLogisticFitter(), families.LogLogistic.fit),
    "PiecewiseExponential": (
        lambda: lifelines.PiecewiseExponentialFitter(BREAKS),
        families.PiecewiseExponential.fitter(BREAKS),
    ),
}
OTHER = {
    "GeneralizedGamma": lambda: lifelines.GeneralizedGammaFitter(),
    "Spline": lambda: lifelines.SplineFitter(
        np.quantile(DATA.durations[DATA.event_observed], [0.1, 0.5, 0.9])
    ),
}
SMOOTH = {**{key: make for key, (make, _) in EXACT.items() if "Piecewise" not in key}, **OTHER}
T = np.array([0.3, 0.9, 1.4, 2.5, 4.0, 7.0])


@pytest.fixture(autouse=True)
def quiet():
    """What lifelines and autograd say about themselves is not our concern."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Output seems independent of input")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="lifelines|autograd.*")
        yield


def fitted(make):
    return make().fit(DATA.durations, DATA.event_observed)


# --- the same functions -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [*(make for make, _ in EXACT.values()), *OTHER.values()], ids=[*EXACT, *OTHER]
)
def test_hazards_are_those_of_the_fitter(make):
    fitter = fitted(make)
    model = as_survival_model(fitter)
    np.testing.assert_allclose(model.hazard(T), np.asarray(fitter.hazard_at_times(T)), rtol=1e-9)
    np.testing.assert_allclose(
        model.cumulative_hazard(T), np.asarray(fitter.cumulative_hazard_at_times(T)), rtol=1e-9
    )
    assert model.cumulative_hazard([0.0])[0] == 0


def test_a_regression_without_covariates_is_the_fitter_of_durations():
    """Accelerated failure times with an intercept alone are Weibull durations."""
    sample = data()
    frame = pd.DataFrame({"time": sample.durations, "seen": sample.event_observed})
    alone = lifelines.WeibullAFTFitter().fit(frame, "time", "seen")
    plain = lifelines.WeibullFitter().fit(sample.durations, sample.event_observed)
    model, expected = as_survival_model(alone), as_survival_model(plain)
    assert model.design.columns == ()
    np.testing.assert_allclose(model.log_medians(sample), np.log(plain.median_survival_time_), rtol=1e-4)
    given = model.given(sample)
    np.testing.assert_allclose(
        given.cumulative_hazard(sample.durations), expected.cumulative_hazard(sample.durations), rtol=1e-3
    )
    influence = model.influence(sample)
    assert influence.values.shape == (len(sample), 2)
    found = [gs.ksd_test(sample, fit, rng=1) for fit in (alone, plain)]
    assert found[0].pvalue == pytest.approx(found[1].pvalue, abs=0.05)


@pytest.mark.parametrize("make", SMOOTH.values(), ids=[*SMOOTH])
def test_the_derivative_is_that_of_the_fitters_log_hazard(make):
    fitter = fitted(make)
    h = 1e-4 * T
    log_hazard = [np.log(np.asarray(fitter.hazard_at_times(t))) for t in (T + h, T - h)]
    exact = (log_hazard[0] - log_hazard[1]) / (2 * h)
    got = as_survival_model(fitter).log_hazard_derivative(T)
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-6)


def test_a_jumping_hazard_has_no_derivative():
    model = as_survival_model(fitted(EXACT["PiecewiseExponential"][0]))
    with pytest.raises(ScoreError, match="jumps at its breakpoints"):
        model.log_hazard_derivative(T)


@pytest.mark.parametrize(
    "make", [*(make for make, _ in EXACT.values()), *OTHER.values()], ids=[*EXACT, *OTHER]
)
def test_draws_have_the_fitted_distribution(make):
    import scipy.stats

    fitter = fitted(make)
    x = as_survival_model(fitter).sample(1000, rng=1).durations
    assert scipy.stats.kstest(np.asarray(fitter.cumulative_density_at_times(x)), "uniform").pvalue > 0.01


def test_a_fitter_of_ones_own():
    import autograd.numpy as anp

    class Linear(lifelines.fitters.ParametricUnivariateFitter):
        _fitted_parameter_names = ["level_", "slope_"]  # noqa: RUF012 - as lifelines has it

        def _cumulative_hazard(self, params, times):
            return params[0] * times + params[1] * times**2 / 2 + 0 * anp.sum(params)

    fitter = Linear().fit(DATA.durations, DATA.event_observed)
    model = as_survival_model(fitter)
    np.testing.assert_allclose(model.hazard(T), fitter.level_ + fitter.slope_ * T, rtol=1e-10)
    np.testing.assert_allclose(
        model.log_hazard_derivative(T), fitter.slope_ / (fitter.level_ + fitter.slope_ * T), rtol=1e-6
    )
    assert model.name.startswith("Linear(level_=")


# --- the same fits ----------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "fit"), EXACT.values(), ids=[*EXACT])
@pytest.mark.parametrize("seed", [0, 1])
def test_our_fits_are_those_of_lifelines(make, fit, seed):
    sample = data(seed=seed)
    fitter = make().fit(sample.durations, sample.event_observed)
    ours = fit(sample)
    t, event = sample.durations, sample.event_observed
    likelihood = np.log(ours.hazard(t[event])).sum() - ours.cumulative_hazard(t).sum()
    assert likelihood >= fitter.log_likelihood_ - 1e-8
    assert likelihood == pytest.approx(fitter.log_likelihood_, abs=1e-3)
    np.testing.assert_allclose(ours.survival(T), np.asarray(fitter.survival_function_at_times(T)), atol=2e-3)


# --- what is kept of the fit ------------------------------------------------------------------


def test_name_and_durations():
    fitter = fitted(EXACT["Weibull"][0])
    model = as_survival_model(fitter)
    assert model.name == f"lifelines.WeibullFitter(lambda_={fitter.lambda_:.6g}, rho_={fitter.rho_:.6g})"
    fit = model.provenance
    assert (fit.method, len(fit.rows)) == ("maximum likelihood", len(DATA))
    assert fit.concerns(DATA) and not fit.concerns(data(seed=1))


def test_whole_weights_count_rows():
    fitter = lifelines.WeibullFitter().fit([1.0, 2.0, 3.0], [1, 1, 0], weights=[2, 1, 3])
    np.testing.assert_array_equal(as_survival_model(fitter).provenance.rows.values[:, 0], [1, 1, 2, 3, 3, 3])


@pytest.mark.parametrize("name", ["Weibull", "GeneralizedGamma"])
def test_models_can_be_sent_to_other_processes(name):
    model = as_survival_model(fitted(SMOOTH[name]))
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.hazard(T), model.hazard(T))


# --- tests ------------------------------------------------------------------------------------


def weibull(sample):
    return lifelines.WeibullFitter().fit(sample.durations, sample.event_observed)


@pytest.mark.parametrize(
    "make", [*(make for make, _ in EXACT.values()), *OTHER.values()], ids=[*EXACT, *OTHER]
)
def test_fitters_are_models_of_censored_data(make):
    fitter = fitted(make)
    ours = type(fitter).__name__ not in ("GeneralizedGammaFitter", "SplineFitter")
    told = (
        nullcontext()
        if ours
        else pytest.warns(gs.errors.CalibrationWarning, match="fitted to these very data")
    )
    with told:
        result = gs.ksd_test(DATA, fitter, operator=gs.Martingale(), rng=1)
    assert isinstance(result.null, gs.FittedWildBootstrap) == ours and 0 < result.pvalue <= 1
    assert result.model.startswith("lifelines.")


def test_the_same_fit_gives_the_same_test():
    ours = families.Weibull.fit(DATA)
    a = gs.ksd_test(DATA, weibull(DATA), rng=1)
    b = gs.ksd_test(DATA, ours, rng=1)
    assert a.statistic == pytest.approx(b.statistic, rel=1e-3, abs=1e-6)
    assert a.pvalue == pytest.approx(b.pvalue, abs=0.02)


@pytest.mark.filterwarnings("ignore:.*L-BFGS-B:DeprecationWarning")  # lifelines and newer scipy
def test_the_parametric_bootstrap_refits_with_lifelines():
    null = gs.ParametricBootstrap(weibull, 9)
    result = gs.ksd_test(data(80), weibull(data(80)), null=null, rng=1)
    assert result.pvalue > 0.1


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lifelines.WeibullFitter(), r"lifelines' WeibullFitter is not fitted yet. Call \.fit"),
        (
            lambda: lifelines.KaplanMeierFitter().fit(DATA.durations, DATA.event_observed),
            r"KaplanMeierFitter is a step function made of the data.*no hazard",
        ),
        (
            lambda: lifelines.NelsonAalenFitter().fit(DATA.durations, DATA.event_observed),
            "NelsonAalenFitter is a step function made of the data",
        ),
        (lambda: lifelines.CoxPHFitter(), r"CoxPHFitter is not fitted yet.*regression"),
        (lambda: lifelines.WeibullAFTFitter(), r"WeibullAFTFitter is not fitted yet. Call \.fit\(df"),
        (
            lambda: lifelines.WeibullFitter().fit_left_censoring(DATA.durations, DATA.event_observed),
            r"fitted to left-censored durations. Only right-censored.*families.Weibull",
        ),
        (
            lambda: lifelines.WeibullFitter().fit_interval_censoring(DATA.durations, DATA.durations + 0.1),
            "fitted to interval-censored durations",
        ),
    ],
    ids=["not fitted", "Kaplan-Meier", "Nelson-Aalen", "Cox", "AFT", "left", "interval"],
)
def test_messages(make, message):
    with pytest.raises(InputError, match=message):
        as_survival_model(make())


def test_entries_that_were_lost_are_missed():
    late = gs.Censored(DATA.durations, DATA.event_observed, 0.5 * DATA.durations)
    fitter = lifelines.WeibullFitter().fit(DATA.durations, DATA.event_observed, entry=late.entry)
    assert 0 < gs.ksd_test(late, fitter, rng=1).pvalue <= 1
    with pytest.raises(InputError, match=r"have no entry time here, but had one.*Censored\(.*entry\)"):
        gs.ksd_test(DATA, fitter, rng=1)
