"""Models of durations, forms of censored data, and the censoring distribution."""

from __future__ import annotations

import pickle

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from test_survival import DATA, GAUSSIAN, LINEAR, censored, linear_cumulative, linear_hazard

# Samples as small as those of most tests here are too small for the bootstrap, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:In the time watched")

# --- models ----------------------------------------------------------------------------------------------

TIMES = np.array([1e-3, 0.2, 1.0, 2.7, 6.0])
SCIPY = {
    "expon": (scipy.stats.expon(scale=2.0), lambda t: 0.5 + 0 * t, lambda t: 0 * t),
    "weibull": (scipy.stats.weibull_min(0.6), lambda t: 0.6 * t**-0.4, lambda t: -0.4 / t),
    "weibull-scale": (
        scipy.stats.weibull_min(3.0, scale=2.0),
        lambda t: 3 * t**2 / 8,
        lambda t: 2 / t,
    ),
    "gamma": (
        scipy.stats.gamma(2.0),
        lambda t: t / (1 + t),
        lambda t: 1 / t - 1 / (1 + t),
    ),
    "lomax": (scipy.stats.lomax(3.0), lambda t: 3 / (1 + t), lambda t: -1 / (1 + t)),
    "fisk": (
        scipy.stats.fisk(2.0),
        lambda t: 2 * t / (1 + t**2),
        lambda t: 1 / t - 2 * t / (1 + t**2),
    ),
    "gompertz": (scipy.stats.gompertz(0.5), lambda t: 0.5 * np.exp(t), lambda t: 1 + 0 * t),
}


@pytest.mark.parametrize("name", SCIPY)
def test_hazards_of_scipy_distributions_are_those_of_the_textbook(name):
    rv, hazard, slope = SCIPY[name]
    model = as_survival_model(rv)
    np.testing.assert_allclose(model.hazard(TIMES), hazard(TIMES), rtol=1e-9)
    expected = [scipy.integrate.quad(hazard, 0, t, epsabs=0)[0] for t in TIMES]
    np.testing.assert_allclose(model.cumulative_hazard(TIMES), expected, rtol=1e-8)
    np.testing.assert_allclose(model.log_hazard_derivative(TIMES), slope(TIMES), rtol=1e-6, atol=1e-7)


def test_distributions_of_scipys_new_infrastructure_are_taken():
    new = scipy.stats.make_distribution(scipy.stats.weibull_min)(c=3.0)
    old = scipy.stats.weibull_min(3.0)
    data = censored(as_survival_model(old), 30, rng=3)
    for operator in (gs.Martingale(), gs.Survival()):
        one, other = (gs.ksd_test(data, model, operator=operator, rng=1) for model in (new, old))
        assert one.statistic == pytest.approx(other.statistic, rel=1e-6)
    assert len(as_survival_model(new).sample(5, rng=1)) == 5


def test_a_distribution_function_that_rounds_to_one_breaks_nothing():
    rv = scipy.stats.weibull_min(2.0)
    t = np.array([0.5, 1.0, 20.0, 30.0, 40.0])
    assert (rv.cdf(t[2:]) == 1.0).all()
    assert (rv.sf(t[-1:]) == 0.0).all()
    np.testing.assert_allclose(as_survival_model(rv).hazard(t), 2 * t, rtol=1e-12)
    data = gs.Censored(t, [1, 1, 1, 0, 1])
    for operator in (gs.Martingale(), gs.Martingale("hazard"), gs.Martingale(None), gs.Survival()):
        assert np.isfinite(gs.stein_matrix(data, rv, operator=operator, kernel=GAUSSIAN)).all()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (scipy.stats.weibull_min(0.5), np.inf),
        (scipy.stats.weibull_min(2.0), 0.0),
        (scipy.stats.expon(scale=0.25), 4.0),
        (scipy.stats.lognorm(1.0), 0.0),
        (scipy.stats.expon(loc=1.0), 0.0),
        (LINEAR, 0.7),
        (LINEAR.proportional(2.0), 1.4),
        (gs.SurvivalModel(hazard=lambda t: 0.5 / np.sqrt(t), cumulative_hazard=np.sqrt), np.inf),
        (
            gs.SurvivalModel(
                hazard=lambda t: np.sin(t) / t, cumulative_hazard=lambda t: scipy.special.sici(t)[0]
            ),
            1,
        ),
        (gs.SurvivalModel(hazard=lambda t: t**2 / t, cumulative_hazard=lambda t: t**2 / 2), 0.0),
    ],
    ids=["inf", "zero", "expon", "lognorm", "late", "linear", "scaled", "root", "nan-limit", "nan-zero"],
)
def test_the_hazard_at_zero_or_its_limit(model, expected):
    assert as_survival_model(model).hazard_at_zero == pytest.approx(expected, abs=1e-8)


def test_the_limit_at_zero_is_scaled_once():
    sinc = gs.SurvivalModel(
        hazard=lambda t: np.sin(t) / t, cumulative_hazard=lambda t: scipy.special.sici(t)[0]
    )
    assert sinc.proportional(2.0).proportional(1.5).hazard_at_zero == pytest.approx(3.0, rel=1e-9)


def test_a_hazard_in_jax_is_differentiated_automatically_and_in_double_precision():
    def hazard(t):
        return jnp.exp(jnp.sin(3 * t))

    def cumulative(t):
        nodes, weights = np.polynomial.legendre.leggauss(40)
        grid = t[:, None] * (nodes + 1) / 2
        return (np.exp(np.sin(3 * grid)) * weights).sum(axis=1) * t / 2

    model = gs.SurvivalModel(hazard=hazard, cumulative_hazard=cumulative)
    np.testing.assert_allclose(model.hazard(TIMES), np.exp(np.sin(3 * TIMES)), rtol=1e-14)
    np.testing.assert_allclose(model.log_hazard_derivative(TIMES), 3 * np.cos(3 * TIMES), rtol=1e-12)
    copied = pickle.loads(pickle.dumps(LINEAR))
    np.testing.assert_array_equal(copied.hazard(TIMES), LINEAR.hazard(TIMES))


def test_numbers_stand_for_constant_hazards():
    constant = gs.SurvivalModel(hazard=lambda t: 2.0, cumulative_hazard=lambda t: 2.0 * t)
    expon = scipy.stats.expon(scale=0.5)
    for operator in (gs.Martingale(), gs.Survival()):
        h = gs.stein_matrix(DATA, constant, operator=operator, kernel=GAUSSIAN)
        np.testing.assert_allclose(
            h, gs.stein_matrix(DATA, expon, operator=operator, kernel=GAUSSIAN), atol=1e-8
        )


def test_models_without_a_sampler_are_sampled_by_inversion():
    t = LINEAR.sample(2000, rng=1).durations
    # 0.7t + t²/2 = −log u by the quadratic formula: the same draws, exactly.
    v = np.random.default_rng(1).standard_exponential(2000)
    np.testing.assert_allclose(t, -0.7 + np.sqrt(0.49 + 2 * v), rtol=1e-9)
    late = gs.SurvivalModel(
        hazard=lambda t: np.where(t < 1, 0.0, 1e-3), cumulative_hazard=lambda t: 1e-3 * np.maximum(t - 1, 0)
    )
    np.testing.assert_allclose(late.quantile([1e-6, 1.0, 30.0]), [1.001, 1001.0, 30001.0], rtol=1e-9)


def test_a_bounded_cumulative_hazard_leaves_some_without_the_event():
    cured = gs.SurvivalModel(
        hazard=lambda t: np.exp(-t), cumulative_hazard=lambda t: -np.expm1(-t), name="cured"
    )
    with pytest.raises(gs.SamplingError, match=r"cumulative hazard of cured is bounded: \d+ of 200 draws"):
        cured.sample(200, rng=1)
    data = gs.Censored(np.linspace(0.1, 3.0, 200), np.arange(200) % 2)
    with pytest.raises(gs.SamplingError, match="neither an event nor a censoring time"):
        data.drawn(cured, None, np.random.default_rng(1))
    ending = gs.Censored(data.durations, np.append(data.event_observed[:-1], False))
    assert (~ending.drawn(cured, None, np.random.default_rng(1)).event_observed).mean() > np.exp(-1)


def test_objects_with_hazards_are_models():
    class Own:
        hazard_at_zero = 0.7

        def hazard(self, t):
            return linear_hazard(t)

        def cumulative_hazard(self, t):
            return linear_cumulative(t)

        def sample(self, n, rng):
            return LINEAR.sample(n, rng).durations[:, None]

        def __repr__(self):
            return "Own()"

    model = as_survival_model(Own())
    assert model.name == "Own()"
    assert gs.ksd_test(DATA, Own(), rng=1).pvalue == gs.ksd_test(DATA, LINEAR, rng=1).pvalue
    assert model.sample(7, rng=1) == LINEAR.sample(7, rng=1)


# --- data ---------------------------------------------------------------------------------------------------


def test_censored_data_are_a_value():
    data = gs.Censored([3, 1, 2], [True, False, True])
    assert data == gs.Censored(np.array([3.0, 1.0, 2.0]), [1, 0, 1.0])
    assert data != gs.Censored([3, 1, 2], [True, True, True])
    assert len({data, gs.Censored([3, 1, 2], [1, 0, 1])}) == 1
    assert pickle.loads(pickle.dumps(data)) == data
    assert len(data) == 3
    assert data.censoring_rate == pytest.approx(1 / 3)
    assert repr(data) == "Censored(3 durations, 33 % censored)"
    assert gs.Censored([1.0, 2.0]).describe() == "2 durations, none censored"
    assert data.take([2, 0]) == gs.Censored([2, 3], [1, 1])
    with pytest.raises(ValueError, match="read-only"):
        data.durations[0] = 7.0
    with pytest.raises(AttributeError, match="immutable"):
        data.durations = [1.0]


def forms(data: gs.Censored):
    t, d = data.durations, data.event_observed
    first = np.argsort(~d, kind="stable")
    structured = np.array(list(zip(d, t, strict=True)), dtype=[("status", "?"), ("weeks", "<f8")])
    frames = pd.DataFrame({"time": t, "dead": d.astype(int)}), pl.DataFrame({"dead": d, "time": t})
    pandas, polars = (
        gs.Censored.from_frame(frame, durations="time", event_observed="dead") for frame in frames
    )
    return {
        "scipy": (scipy.stats.CensoredData.right_censored(t, ~d), first),
        "scikit-survival": (structured, np.arange(len(t))),
        "pandas": (pandas, np.arange(len(t))),
        "polars": (polars, np.arange(len(t))),
    }


@pytest.mark.parametrize("form", ["scipy", "scikit-survival", "pandas", "polars"])
def test_other_forms_of_the_same_data_give_the_same_matrix(form):
    data, order = forms(DATA)[form]
    options = {"operator": gs.Martingale(), "kernel": GAUSSIAN}
    got, expected = (gs.stein_matrix(x, LINEAR, **options) for x in (data, DATA.take(order)))
    np.testing.assert_array_equal(got, expected)
    if form in ("scipy", "scikit-survival"):  # these say by themselves what they are
        np.testing.assert_array_equal(gs.stein_matrix(data, LINEAR, kernel=GAUSSIAN), expected)
        np.testing.assert_array_equal(
            gs.stein_matrix(data, scipy.stats.expon(), kernel=GAUSSIAN),
            gs.stein_matrix(DATA.take(order), scipy.stats.expon(), kernel=GAUSSIAN),
        )
    else:
        result = gs.ksd_test(data, LINEAR, operator=gs.Martingale(), rng=1)
        assert "durations: column 'time', events: column 'dead'" in str(result)
        assert data == DATA


def test_a_plain_array_holds_durations_that_all_ended_in_the_event():
    t = DATA.durations
    expected = gs.stein_matrix(gs.Censored(t), LINEAR, kernel=GAUSSIAN)
    for data in (t, t[:, None], list(t), pd.Series(t), pl.Series(t), pd.DataFrame({"t": t})):
        got = gs.stein_matrix(data, LINEAR, operator=gs.Martingale(), kernel=GAUSSIAN)
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(gs.stein_matrix(t, LINEAR, kernel=GAUSSIAN), expected)


def test_the_default_operator_is_the_model_free_martingale():
    result = gs.ksd_test(DATA, scipy.stats.expon(), rng=1)
    assert result.operator == gs.Martingale("cdf")
    assert isinstance(result.kernel, gs.IMQ)
    assert f"12 durations, {100 * (1 - DATA.event_observed.mean()):.0f} % censored" in str(result)
    assert result.to_dict()["model"] == "scipy.stats.expon()"


# --- censoring times ---------------------------------------------------------------------------------------


def test_the_kaplan_meier_estimate_is_that_of_scipy_with_events_and_censorings_exchanged():
    data = censored(LINEAR, 60, rng=5)
    times, survival = data.kaplan_meier_censoring()
    exchanged = scipy.stats.CensoredData.right_censored(data.durations, data.event_observed)
    expected = scipy.stats.ecdf(exchanged).sf
    keep = np.isin(expected.quantiles, times)
    np.testing.assert_allclose(times, expected.quantiles[keep])
    np.testing.assert_allclose(survival, expected.probabilities[keep], rtol=1e-12)


def test_ties_in_the_kaplan_meier_estimate_of_the_censoring_time():
    """At t = 2 one of three is dead before the other two could be censored: 1 − 1/2."""
    data = gs.Censored([1.0, 2.0, 2.0, 3.0], [1, 1, 0, 0])
    times, survival = data.kaplan_meier_censoring()
    assert times.tolist() == [2.0, 3.0]
    assert survival.tolist() == [0.5, 0.0]


def test_what_the_estimate_leaves_over_is_never_censored():
    assert np.isinf(gs.Censored([1.0, 2.0]).draw_censoring(50, np.random.default_rng(1))).all()
    drawn = gs.Censored([1.0, 2.0, 3.0], [0, 1, 1]).draw_censoring(6000, np.random.default_rng(1))
    assert set(drawn) == {1.0, np.inf}
    assert (drawn == 1.0).mean() == pytest.approx(1 / 3, abs=0.03)


def test_resampled_data_have_the_models_law_and_the_datas_censoring():
    """P(T > t) = S₀(t)·Ĝ(t), and the share of events up to t is ∫ f₀ Ĝ."""
    data = censored(LINEAR, 80, rng=7)
    rng = np.random.default_rng(8)
    drawn = [data.drawn(LINEAR, None, rng) for _ in range(150)]
    t = np.concatenate([sample.durations for sample in drawn])
    d = np.concatenate([sample.event_observed for sample in drawn])
    assert all(len(sample) == len(data) for sample in drawn)
    times, survival = data.kaplan_meier_censoring()

    def g(x):
        return np.append(1.0, survival)[np.searchsorted(times, x, side="right")]

    grid = np.linspace(0.01, 2.5, 30)
    np.testing.assert_allclose(
        [(t > x).mean() for x in grid], np.exp(-linear_cumulative(grid)) * g(grid), atol=0.02
    )
    fine = np.linspace(0, 2.5, 20001)
    density = linear_hazard(fine) * np.exp(-linear_cumulative(fine)) * g(fine)
    expected = np.interp(grid, fine, np.append(0, scipy.integrate.cumulative_trapezoid(density, fine)))
    np.testing.assert_allclose([(d & (t <= x)).mean() for x in grid], expected, atol=0.02)
    assert set(t[~d]) <= set(times)
