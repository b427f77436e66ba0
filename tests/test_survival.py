"""Right-censored durations: operators, their identities, null distributions, levels.

Definitions are written anew in JAX and applied to the kernel twice; Stein's identity is integrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from definitions import assert_same, at_pairs
from goodstein.adapters.durations import as_survival_model
from goodstein.pipeline.compose import compose
from levels import check_level, trials

# Samples as small as those of most tests here are too small for the bootstrap, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:In the time watched")


def linear_hazard(t):
    return 0.7 + t


def linear_cumulative(t):
    return 0.7 * t + 0.5 * t**2


LINEAR = gs.SurvivalModel(hazard=linear_hazard, cumulative_hazard=linear_cumulative, name="linear")
RATE = 0.4  # of the exponential censoring time


def censored(model, n: int, rng: int, rate: float = RATE) -> gs.Censored:
    """Draws from a model with exponential censoring."""
    generator = np.random.default_rng(rng)
    x = model.sample(n, generator).durations
    c = generator.exponential(1.0 / rate, size=n)
    return gs.Censored(np.minimum(x, c), x <= c)


DATA = censored(LINEAR, 12, rng=1)
GAUSSIAN, IMQ = gs.Gaussian(0.8), gs.IMQ(0.8)


# --- reference values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "events", "expected"),
    [
        (gs.Martingale(None), [1, 0], -0.289088649546),
        (gs.Martingale(None), [1, 1], -0.140823838420),
        (gs.Survival(), [1, 0], -1.03744418178),
        (gs.Survival(), [1, 1], -0.521783302352),
    ],
    ids=["martingale-censored", "martingale", "survival-censored", "survival"],
)
def test_reference_values(operator, events, expected):
    """From a symbolic application of the definitions, λ₀ = 0.7 + t, ℓ = 1, t = 0.6 and 1.3."""
    h = gs.stein_matrix(gs.Censored([0.6, 1.3], events), LINEAR, operator=operator, kernel=gs.Gaussian(1.0))
    assert h[0, 1] == pytest.approx(expected, abs=1e-10, rel=1e-10)


# --- the definitions, applied twice to the kernel ------------------------------------------------------


def gaussian(x, y):
    return jnp.exp(-((x - y) ** 2) / (2 * 0.8**2))


def imq(x, y):
    return (1 + (x - y) ** 2 / 0.8**2) ** -0.5


@dataclass(frozen=True)
class Definition:
    """T ω at one observation (t, δ), and the function through which test functions see the time."""

    name: str
    operator: object
    apply: object  # (omega, t, delta, n/Y) -> number
    scale: object = staticmethod(lambda t: t)
    pin: object = staticmethod(lambda t: 1.0)


def martingale(omega, t, delta, _):
    return delta * jax.grad(omega)(t) / linear_hazard(t) - (omega(t) - omega(0.0))


def survival(omega, t, delta, _):
    flux = jax.grad(lambda x: omega(x) * linear_hazard(x))(t) / linear_hazard(t)
    return delta * flux - linear_hazard(t) * omega(t) + linear_hazard(0.0) * omega(0.0)


def proportional(omega, t, delta, share):
    return share * delta * jax.grad(lambda x: omega(x) * linear_hazard(x))(t) / linear_hazard(t)


def pinned(t):
    return t * jnp.maximum(1 - t / 1.1, 0.0) ** 2


DEFINITIONS = [
    Definition("martingale", gs.Martingale(None), martingale),
    Definition("cdf", gs.Martingale(), martingale, lambda t: 1 - jnp.exp(-linear_cumulative(t))),
    Definition("hazard", gs.Martingale("hazard"), martingale, linear_cumulative),
    Definition("survival", gs.Survival(), survival),
    Definition("proportional", gs.ProportionalHazards(1.1), proportional, pin=pinned),
]


@pytest.mark.parametrize(("kernel", "function"), [(GAUSSIAN, gaussian), (IMQ, imq)], ids=["gaussian", "imq"])
@pytest.mark.parametrize("case", DEFINITIONS, ids=lambda case: case.name)
def test_the_stein_matrix_is_the_operator_applied_twice_to_the_kernel(case, kernel, function):
    t, delta = DATA.durations, DATA.event_observed.astype(float)
    share = len(t) / np.array([(t >= time).sum() for time in t])

    def k(x, y):
        return case.pin(x) * case.pin(y) * function(case.scale(x), case.scale(y))

    def h(one, other):
        def inner(x):
            return case.apply(lambda y: k(x, y), other[0], other[1], other[2])

        return case.apply(inner, one[0], one[1], one[2])

    z = np.column_stack([t, delta, share])
    expected = at_pairs(h, z, z)
    got = gs.stein_matrix(DATA, LINEAR, operator=case.operator, kernel=kernel)
    visible = np.diag(expected) > 0
    assert_same(got[np.ix_(visible, visible)], expected[np.ix_(visible, visible)], 1e-7, case.name)
    assert not got[~visible].any()


def test_the_order_of_the_observations_is_kept():
    order = np.random.default_rng(2).permutation(len(DATA))
    for case in DEFINITIONS:
        h = gs.stein_matrix(DATA, LINEAR, operator=case.operator, kernel=GAUSSIAN)
        moved = gs.stein_matrix(DATA.take(order), LINEAR, operator=case.operator, kernel=GAUSSIAN)
        np.testing.assert_allclose(moved, h[np.ix_(order, order)], rtol=1e-9, atol=1e-12)


# --- Stein's identity, by quadrature -------------------------------------------------------------------

NODES, WEIGHTS = (array * 7.0 for array in np.polynomial.legendre.leggauss(300))
NODES = NODES + 7.0  # [0, 14]: S₀(14) < 1e-46


def law(model):
    """Weights of an event and of a censoring at every node: f₀S_C and f_C S₀."""
    survivor = np.exp(-model.cumulative_hazard(NODES))
    return (
        WEIGHTS * model.hazard(NODES) * survivor * np.exp(-RATE * NODES),
        WEIGHTS * RATE * np.exp(-RATE * NODES) * survivor,
    )


HUMP = gs.SurvivalModel(
    hazard=lambda t: 1 + np.sin(2 * t) ** 2,
    cumulative_hazard=lambda t: 1.5 * t - np.sin(4 * t) / 8,
    name="hump",
)


@pytest.mark.parametrize(
    "operator",
    [gs.Martingale(), gs.Martingale("hazard"), gs.Martingale(None), gs.Survival()],
    ids=["cdf", "hazard", "none", "survival"],
)
@pytest.mark.parametrize("model", [LINEAR, HUMP], ids=lambda model: model.name)
@pytest.mark.parametrize("kernel", [GAUSSIAN, IMQ], ids=["gaussian", "imq"])
def test_the_stein_kernel_has_mean_zero_at_every_observation(operator, model, kernel):
    assert sum(weights.sum() for weights in law(model)) == pytest.approx(1.0, abs=1e-11)
    n, y = len(NODES), gs.Censored([0.0, 0.3, 0.3, 1.2, 2.5, 2.5], [0, 1, 0, 0, 1, 0])
    everything = gs.Censored(
        np.concatenate([y.durations, NODES, NODES]),
        np.concatenate([y.event_observed, np.ones(n, bool), np.zeros(n, bool)]),
    )
    h = gs.stein_matrix(everything, model, operator=operator, kernel=kernel)[: len(y), len(y) :]
    mean, size = h @ np.concatenate(law(model)), np.abs(h) @ np.concatenate(law(model))
    assert np.abs(mean / size)[1:].max() < 1e-8
    assert abs(mean[0]) < 1e-8


@pytest.mark.parametrize("operator", [gs.Martingale(None), gs.Survival()], ids=["martingale", "survival"])
@pytest.mark.parametrize("model", [LINEAR, HUMP], ids=lambda model: model.name)
def test_without_the_boundary_term_the_mean_is_off_by_exactly_that_term(operator, model):
    """E[Tω] = −ω(0), or −λ₀(0)ω(0), for a test function that does not vanish at zero."""

    def omega(x):
        return np.cos(1.3 * x + 0.4), -1.3 * np.sin(1.3 * x + 0.4)

    value, slope = omega(NODES)
    mean = 0.0
    for weights, event in zip(law(model), (True, False), strict=True):
        data = gs.Censored(NODES, np.full(len(NODES), event))
        features = operator.features(model, model.domain, data)
        mean += weights @ (features.value[:, 0] * value + features.weight * slope)
    assert features.anchor_value == pytest.approx(
        {"Martingale": 1.0}.get(type(operator).__name__, model.hazard(0))
    )
    assert mean == pytest.approx(-features.anchor_value * np.cos(0.4), abs=1e-9)


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_the_proportional_operator_has_mean_zero_whatever_the_factor(factor):
    """With n/Y at its limit 1/S_T: ∫(ωλ₀)′/λ₀ · (1/S_T) · γλ₀S_T dt = 0 for all ω = w·k(·, y)."""
    horizon = 1.4
    t = horizon * (np.polynomial.legendre.leggauss(60)[0] + 1) / 2
    weights = horizon * np.polynomial.legendre.leggauss(60)[1] / 2
    data = gs.Censored(t, np.ones(len(t), bool))
    true = LINEAR.proportional(factor)
    features = gs.ProportionalHazards(horizon).features(LINEAR, LINEAR.domain, data)
    at_risk = np.array([(t >= time).mean() for time in t])
    for y in (0.0, 0.4, 1.0, 2.0):
        k = np.exp(-((t - y) ** 2) / 2)
        per_event = (features.value[:, 0] * k - features.weight * (t - y) * k) * at_risk
        assert weights @ (per_event * true.hazard(t)) == pytest.approx(0.0, abs=1e-9)
        assert np.abs(weights @ np.abs(per_event * true.hazard(t))) > 0.05


# --- relations among the operators -----------------------------------------------------------------------


def test_on_the_scale_of_the_cumulative_hazard_both_operators_are_one():
    v = gs.Censored(LINEAR.cumulative_hazard(DATA.durations), DATA.event_observed)
    one = gs.stein_matrix(DATA, LINEAR, operator=gs.Martingale("hazard"), kernel=GAUSSIAN)
    other = gs.stein_matrix(v, scipy.stats.expon(), operator=gs.Survival(), kernel=GAUSSIAN)
    third = gs.stein_matrix(v, scipy.stats.expon(), operator=gs.Martingale(None), kernel=GAUSSIAN)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one, third, rtol=1e-9, atol=1e-12)


def test_on_the_scale_of_the_distribution_function_every_model_is_uniform():
    u = gs.Censored(1 - np.exp(-LINEAR.cumulative_hazard(DATA.durations)), DATA.event_observed)
    one = gs.stein_matrix(DATA, LINEAR, operator=gs.Martingale(), kernel=GAUSSIAN)
    other = gs.stein_matrix(u, scipy.stats.uniform(), operator=gs.Martingale(None), kernel=GAUSSIAN)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("transform", ["cdf", "hazard"])
def test_other_units_of_time_change_nothing(transform):
    """Neither do other functions of time: T² is exponential where T is Weibull with shape 2."""
    data = gs.Censored(DATA.durations * 30.0, DATA.event_observed)
    squared = gs.Censored((DATA.durations) ** 2, DATA.event_observed)
    results = [
        gs.ksd_test(x, model, operator=gs.Martingale(transform), rng=1)
        for x, model in (
            (DATA, scipy.stats.weibull_min(2)),
            (data, scipy.stats.weibull_min(2, scale=30.0)),
            (squared, scipy.stats.expon()),
        )
    ]
    assert results[0].statistic == pytest.approx(results[1].statistic, rel=1e-9)
    assert results[0].statistic == pytest.approx(results[2].statistic, rel=1e-9)
    assert len({result.pvalue for result in results}) == 1


def test_the_boundary_term_is_the_kernel_of_functions_minus_their_value_at_zero():
    """h is δω′/λ₀ − ω applied twice to K(x,y) − K(x,0) − K(0,y) + K(0,0), which is pinned at zero."""

    def pinned_kernel(x, y):
        return gaussian(x, y) - gaussian(x, 0.0) - gaussian(0.0, y) + gaussian(0.0, 0.0)

    expected = without_boundary_term(pinned_kernel, DATA)
    got = gs.stein_matrix(DATA, LINEAR, operator=gs.Martingale(None), kernel=GAUSSIAN)
    assert_same(got, expected, 1e-9)


def test_a_pinned_kernel_needs_no_boundary_term():
    """K(x,y) − K(x,0)K(0,y)/K(0,0): another statistic with mean zero; the kernel itself has a bias."""

    def projected(x, y):
        return gaussian(x, y) - gaussian(x, 0.0) * gaussian(0.0, y) / gaussian(0.0, 0.0)

    n = len(NODES)
    y = gs.Censored([0.3, 1.2, 2.5], [1, 0, 1])
    everything = gs.Censored(
        np.concatenate([y.durations, NODES, NODES]), np.concatenate([y.event_observed, np.arange(2 * n) < n])
    )
    weights = np.concatenate(law(LINEAR))
    bias = [without_boundary_term(k, everything)[:3, 3:] @ weights for k in (projected, gaussian)]
    assert np.abs(bias[0]).max() < 1e-8
    assert np.abs(bias[1]).max() > 0.1


def without_boundary_term(k, data):
    def apply(omega, t, delta):
        return delta * jax.grad(omega)(t) / linear_hazard(t) - omega(t)

    def h(a, b):
        return apply(lambda x: apply(lambda y: k(x, y), b[0], b[1]), a[0], a[1])

    z = np.column_stack([data.durations, data.event_observed.astype(float)])
    return at_pairs(h, z, z)


def test_the_proportional_statistic_does_not_depend_on_the_factor():
    for factor in (0.01, 7.0):
        one, other = (
            gs.ksd_test(DATA, model, operator=gs.ProportionalHazards(), rng=1)
            for model in (LINEAR, LINEAR.proportional(factor))
        )
        assert one.statistic == pytest.approx(other.statistic, rel=1e-6)
        assert one.pvalue == other.pvalue


def test_events_precede_censorings_in_the_number_at_risk():
    data = gs.Censored([2.0, 1.0, 2.0, 3.0, 2.0], [1, 1, 0, 1, 1])
    assert data.at_risk().tolist() == [4, 5, 4, 1, 4]
    assert data.at_risk([0.0, 2.0, 2.5, 9.0]).tolist() == [5, 4, 1, 0]


# --- null distributions -------------------------------------------------------------------------------------


def fit_exponential(data: gs.Censored):
    """Maximum likelihood: events over total time."""
    return scipy.stats.expon(scale=data.durations.sum() / data.event_observed.sum())


@pytest.mark.parametrize("operator", [gs.Martingale(), gs.Survival(), gs.ProportionalHazards()], ids=repr)
@pytest.mark.parametrize("method", ["montecarlo", "parametric"])
def test_simulated_nulls_run_and_do_not_depend_on_the_workers(operator, method):
    data = censored(as_survival_model(scipy.stats.expon()), 40, rng=2)
    model = fit_exponential(data)
    null = gs.MonteCarlo(39) if method == "montecarlo" else gs.ParametricBootstrap(fit_exponential, 39)
    results = [
        gs.ksd_test(data, model, operator=operator, null=null, workers=workers, rng=3) for workers in (1, 2)
    ]
    assert results[0].pvalue == results[1].pvalue
    np.testing.assert_array_equal(results[0].null_distribution, results[1].null_distribution)
    assert results[0].pvalue > 0.05
    assert results[0].notes == ()


def test_simulation_of_proportional_hazards_takes_the_factor_from_the_data():
    """Durations of mean 30 with λ₀ = 1: simulated ones must have that mean too."""
    data = gs.Censored(np.random.default_rng(1).exponential(30.0, size=200))
    problem = compose(data, scipy.stats.expon(), operator=gs.ProportionalHazards())
    simulated = problem.simulate(np.random.default_rng(2))
    assert simulated.durations.mean() == pytest.approx(30.0, rel=0.25)
    assert problem.model.name == "hazard proportional to that of scipy.stats.expon()"


def test_a_model_that_was_fitted_to_the_same_data_is_noticed():
    data = censored(as_survival_model(scipy.stats.expon()), 30, rng=2)
    model = gs.SurvivalModel(
        hazard=lambda t: 1.0, cumulative_hazard=lambda t: t, name="fit", fitted_to=data.durations[::-1]
    )
    for null in (gs.WildBootstrap(99), gs.MonteCarlo(19)):
        with pytest.warns(gs.CalibrationWarning, match=r"fit was fitted to these very data.*conservative"):
            result = gs.ksd_test(data, model, null=null, rng=1)
        assert "ParametricBootstrap" in result.notes[0]
    other = censored(as_survival_model(scipy.stats.expon()), 30, rng=3)
    again = gs.ParametricBootstrap(lambda _: model, 19)
    for result in (
        gs.ksd_test(other, model, null=gs.MonteCarlo(19), rng=1),
        gs.ksd_test(data, model, null=again, rng=1),
    ):
        assert not any("fitted" in note for note in result.notes)


# --- levels -------------------------------------------------------------------------------------------------


def end_of_study(n, rng):
    return np.full(n, 0.9)


def thirty_percent(n, rng):
    return rng.exponential(2.3, size=n)


@pytest.mark.parametrize(
    ("operator", "shape", "censoring"),
    [
        (gs.Martingale(), 1.0, thirty_percent),
        (gs.Martingale(None), 1.0, thirty_percent),
        (gs.ProportionalHazards(), 1.0, thirty_percent),
        (gs.ProportionalHazards(), 2.0, end_of_study),
    ],
    ids=["cdf", "none", "proportional", "proportional-end-of-study"],
)
@trials(80, 250)
def test_the_level_is_kept_at_100_durations(operator, shape, censoring, trials):
    model = scipy.stats.weibull_min(shape)
    found = []
    for trial in range(trials):
        rng = np.random.default_rng([20, trial])
        x, c = rng.weibull(shape, size=100), censoring(100, rng)
        data = gs.Censored(np.minimum(x, c), x <= c)
        problem = compose(data, model, operator=operator)
        found.append(gs.WildBootstrap(199).calibrate(problem, workers=1, rng=rng).pvalue)
    check_level(found, 0.05, 0.2)


def test_wrong_models_are_rejected():
    data = censored(as_survival_model(scipy.stats.weibull_min(2.0)), 100, rng=3)
    for operator in (gs.Martingale(), gs.Martingale("hazard"), gs.Martingale(None), gs.Survival()):
        assert gs.ksd_test(data, scipy.stats.expon(), operator=operator, rng=1).pvalue <= 0.01
    proportional = partial(gs.ksd_test, data, operator=gs.ProportionalHazards(), rng=1)
    assert proportional(scipy.stats.expon()).pvalue <= 0.01
    assert proportional(scipy.stats.weibull_min(2.0, scale=9.0)).pvalue > 0.05
