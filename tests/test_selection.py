"""Choosing on a split: the criterion, the split, what is dropped, refusals, level and power."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
import scipy.stats
from scipy.stats import binom

import goodstein as gs
from goodstein.auxiliary.criterion import power_criterion
from goodstein.kernels import IMQ, Gaussian, Hamming, Median
from goodstein.pipeline.compose import compose
from goodstein.stein.forms import DenseForm
from goodstein.tests_of_fit.select import SCALES
from goodstein.tests_of_fit.selection import Selection
from levels import check_level, trials

NORMAL = gs.families.Normal
FAST = gs.WildBootstrap(99)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def ripple(n: int, generator: np.random.Generator) -> np.ndarray:
    """N(0, 1) times 1 + .8 cos(3πx): the same moments, nearly, at another scale."""
    x = generator.standard_normal(8 * n)
    kept = x[generator.random(8 * n) * 1.8 < 1 + 0.8 * np.cos(3 * np.pi * x)]
    return kept[:n, None]


# --- the criterion --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [12, 300, 700])
def test_criterion_by_brute_force(n):
    """Row by row from the whole matrix, over one block and over several."""
    x = rng().standard_normal((n, 2)) + 0.2
    problem = compose(x, NORMAL([0, 0]), None, gs.Langevin(), IMQ(1.3))
    h = gs.stein_matrix(x, NORMAL([0, 0]), operator=gs.Langevin(), kernel=IMQ(1.3))
    np.fill_diagonal(h, 0.0)
    means = h.sum(axis=1) / (n - 1)
    got = power_criterion(problem.form)
    assert got.u == pytest.approx(problem.statistic(), rel=1e-9)
    assert got.sigma == pytest.approx(2 * np.std(means, ddof=1), rel=1e-9)
    small = 1e-4 * math.sqrt((h**2).sum() / (n * (n - 1)))
    assert got.value == pytest.approx(means.mean() / (got.sigma + small), rel=1e-9)


def test_sigma_has_the_factor_four():
    """n·Var U over many samples of an alternative, by simulation, is σ² and not a quarter of it."""
    n, kernel = 150, Gaussian(1.0)
    values = []
    for trial in range(600):
        x = 0.7 + rng(trial).standard_normal((n, 1))
        values.append(compose(x, NORMAL(), None, None, kernel).statistic(1))
    simulated = n * np.var(values, ddof=1)
    x = 0.7 + rng(10_000).standard_normal((3000, 1))
    sigma = power_criterion(compose(x, NORMAL(), None, None, kernel).form).sigma
    # Of 600 variances the standard error is 6 %; the term of order 1/n adds about as much.
    assert simulated == pytest.approx(sigma**2, rel=0.25)


def test_criterion_does_not_depend_on_the_scale_of_g_and_survives_a_constant_matrix():
    h = rng().standard_normal((20, 20))
    h = h @ h.T
    one, two = power_criterion(DenseForm(h)), power_criterion(DenseForm(49.0 * h))
    assert two.value == pytest.approx(one.value)
    flat = power_criterion(DenseForm(np.ones((20, 20))))
    assert math.isfinite(flat.value) and flat.value == pytest.approx(1e4)
    assert power_criterion(DenseForm(np.zeros((20, 20)))).value == 0.0


# --- what is chosen -------------------------------------------------------------------------------


def test_table_is_that_of_the_training_rows_and_the_best_is_chosen():
    x = ripple(200, rng())
    selection = gs.select(x, NORMAL(), rng=1)
    assert isinstance(selection, Selection)
    train = x[selection.train]
    assert selection.n_train == len(train) == 60 and selection.n_test == 140
    values = [c.criterion for c in selection.candidates]
    assert values == sorted(values, reverse=True) and len(values) == len(SCALES)
    for candidate in selection.candidates:
        form = compose(train, NORMAL(), None, candidate.operator, candidate.kernel).form
        assert power_criterion(form).value == pytest.approx(candidate.criterion, rel=1e-9)
    widths = sorted(c.kernel.bandwidth for c in selection.candidates)
    np.testing.assert_allclose(widths, sorted(Median(scale)(train) for scale in SCALES))
    assert selection.kernel is selection.candidates[0].kernel and selection.criterion == values[0]
    # The period of the ripple is two thirds; the median distance is about one.
    assert selection.kernel.bandwidth < 0.4


def test_tested_is_the_rest_with_what_was_fixed_on_the_training_rows():
    x = rng().gamma(2.0, size=(90, 1))
    model = gs.families.Gamma(2.0)
    selection = gs.select(x, model, operators=[gs.Standardised()], kernels=[IMQ()], rng=1)
    rest = np.delete(x, selection.train, axis=0)
    result = selection.test(rng=3)
    again = gs.ksd_test(
        rest, model, operator=selection.operator, kernel=selection.kernel, rng=3
    )  # the operator takes them: they are no training rows
    assert result.pvalue == again.pvalue and result.n == len(rest) == 63
    assert result.operator.auxiliary.scale == (float(np.median(x[selection.train])),)
    assert result.kernel.bandwidth == pytest.approx(Median()(x[selection.train]))
    assert result.details["n_train"] == 27
    assert result.details["power criterion"] == selection.criterion
    assert "n_train" in str(result)


def test_same_seed_same_choice_whatever_the_workers():
    x = ripple(150, rng())
    first, second = (gs.select(x, NORMAL(), rng=5) for _ in range(2))
    np.testing.assert_array_equal(first.train, second.train)
    assert not np.array_equal(first.train, gs.select(x, NORMAL(), rng=6).train)
    assert first.test(rng=1).pvalue == second.test(rng=1, workers=2).pvalue
    copy = pickle.loads(pickle.dumps(first))
    assert copy.test(rng=1).pvalue == first.test(rng=1).pvalue


def test_all_ways_to_name_candidates():
    model = gs.families.Uniform(gs.Box([0, 0], [1, 1]))
    x = model.sample(80, rng=1)
    own = gs.Auxiliary(lambda x: (x * (1 - x)).prod(axis=1))
    mixed = gs.select(x, model, operators=[own, gs.Mirrored(), None, gs.BoundaryDistance()], rng=1)
    named = {(repr(c.operator), repr(c.kernel)) for c in mixed.candidates}
    assert len(named) == 4 * len(SCALES)
    assert repr(gs.Standardised(own)) in {operator for operator, _ in named}
    grid = gs.select(x, model, operators=[gs.Mirrored(), own], kernels=[IMQ(1.0), Gaussian()], rng=1)
    assert len(grid.candidates) == 4
    alone = gs.select(x, model, operators=gs.Mirrored(), kernels=IMQ(1.0), rng=1)
    assert len(alone.candidates) == 1


def test_invalid_candidates_are_dropped_openly():
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    x = model.sample(100, rng=1)
    wanted = [gs.GeometricMean(), gs.Mirrored(), gs.Langevin(), gs.Difference()]
    selection = gs.select(x, model, operators=wanted, rng=1)
    reasons = {repr(c.operator): c.dropped for c in selection.dropped}
    assert set(reasons) == {"Standardised(auxiliary=GeometricMean())", "Langevin()", "Difference()"}
    assert "Stein's identity fails" in reasons["Langevin()"]
    (unsuited,) = gs.select(x, model, operators=gs.LogRatio(), kernels=[IMQ(), Hamming()], rng=1).dropped
    assert "no derivatives" in unsuited.dropped
    assert repr(selection.operator) == "Mirrored()"
    assert "Not considered: Langevin(). Near the face" in str(selection)
    assert math.isnan(selection.dropped[0].criterion)
    overruled = gs.select(x, model, operators=[gs.Langevin(), gs.Mirrored()], audit=False, rng=1)
    assert not overruled.dropped
    with pytest.raises(gs.SteinIdentityError, match=r"None of the 1 candidates can be used. Langevin\(\): "):
        gs.select(x, model, operators=[gs.Langevin()], rng=1)


def test_ways_to_read_a_selection():
    selection = gs.select(ripple(100, rng()), NORMAL(), rng=1)
    text = str(selection)
    assert text.startswith("Selection for Normal") and "30 training rows; 70 rows are left" in text
    assert text.splitlines()[3].startswith("  Langevin()")
    assert selection._repr_html_().count("<tr>") == 1 + len(SCALES)
    record = json.loads(json.dumps(selection.to_dict()))
    assert record["n_train"] == 30 and len(record["candidates"]) == len(SCALES)
    assert "rest=" not in repr(selection)


# --- every kind of data ---------------------------------------------------------------------------


def censored(n: int = 80) -> gs.Censored:
    event, censoring = rng().weibull(1.5, n), rng(2).exponential(2.0, n)
    return gs.Censored(np.minimum(event, censoring), event <= censoring)


ISING = gs.families.Ising(0.2 * (1 - np.eye(3)))
KINDS = {
    "simplex": (gs.families.Dirichlet([0.5, 0.5, 0.5]), None, {"LogRatio", "Mirrored", "Standardised"}),
    "box": (gs.families.Uniform(gs.Box([0, 0], [1, 1])), None, {"Mirrored", "Standardised"}),
    "ball": (gs.families.Uniform(gs.Ball(2)), None, {"Standardised"}),
    "circle": (gs.families.VonMises(0.0, 1.0), None, {"Coordinate", "SecondOrder"}),
    "sphere": (gs.families.UniformOnSphere(3), None, {"Coordinate", "SecondOrder"}),
    "lattice": (ISING, None, {"Difference"}),
    "durations": (scipy.stats.expon(), censored(), {"Martingale", "Survival"}),
    "scipy": (scipy.stats.norm(), rng().standard_normal(80), {"Langevin"}),
}


@pytest.mark.filterwarnings("ignore::goodstein.CalibrationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_domain(kind):
    model, data, operators = KINDS[kind]
    data = model.sample(80, rng=1) if data is None else data
    selection = gs.select(data, model, rng=1)
    considered = {repr(c.operator).partition("(")[0] for c in selection.candidates if c.dropped is None}
    assert considered == operators
    null = gs.MonteCarlo(19) if kind in ("lattice", "sphere") else FAST
    result = selection.test(null=null, rng=1)
    assert result.n == 56 and 0 < result.pvalue <= 1
    for bad in (data, data.take(selection.train) if kind == "durations" else data[selection.train]):
        with pytest.raises(gs.InputError, match="this selection was chosen"):
            selection.test(bad)


def test_a_model_that_was_fitted_to_all_rows_is_named():
    data = censored()
    model = gs.SurvivalModel(hazard=np.ones_like, cumulative_hazard=lambda t: t)
    assert gs.select(data, model, rng=1).test(null=FAST, rng=1).notes == ()
    model = gs.SurvivalModel(hazard=np.ones_like, cumulative_hazard=lambda t: t, fitted_to=data)
    with pytest.warns(gs.CalibrationWarning, match=r"was fitted to these \d+ rows and \d+ others"):
        gs.select(data, model, rng=1).test(null=FAST, rng=1)


# --- refusals -------------------------------------------------------------------------------------


def test_refuses_the_rows_it_was_chosen_on():
    x = ripple(120, rng())
    selection = gs.select(x, NORMAL(), rng=1)
    with pytest.raises(gs.InputError, match=r"`data`: 36 of 120 rows .* 36 training rows .* this selection"):
        selection.test(x)
    for operator in (selection.operator, pickle.loads(pickle.dumps(selection.operator))):
        with pytest.raises(gs.InputError, match=r"training rows on which this Langevin\(\) was chosen"):
            gs.ksd_test(x, NORMAL(), operator=operator, kernel=selection.kernel)
        fresh = ripple(50, rng(9))
        assert gs.ksd_test(fresh, NORMAL(), operator=operator, null=gs.MonteCarlo(19), rng=1).n == 50
    assert selection.test(ripple(50, rng(9)), null=FAST, rng=1).n == 50


def test_operator_keeps_what_the_operator_inside_has():
    model = gs.families.Uniform(gs.Box([0, 0], [1, 1]))
    chosen = gs.select(model.sample(60, rng=1), model, rng=1).operator
    x, normals = np.array([[0.5, 0.01]]), np.array([[0.0, 1.0]])
    inside = chosen.operator.boundary_weight(model.domain, x, normals)
    np.testing.assert_array_equal(chosen.boundary_weight(model.domain, x, normals), inside)
    assert gs.audit(model, operator=chosen, rng=1).valid
    spins = gs.select(ISING.sample(100, rng=1), ISING, rng=1).operator
    states = ISING.sample(20, rng=1)
    checks = spins.conditions(gs.as_model(ISING), ISING.domain, states, rng())
    assert next(check.name for check in checks) == "positive probabilities"
    posterior = gs.Posterior(
        lambda theta: -theta, lambda theta, y: y - theta, np.zeros((9, 1)), gs.Euclidean(1)
    )
    x = rng().standard_normal((60, 1)) / np.sqrt(10)
    guarded = gs.select(x, posterior, operators=[gs.Stochastic(3)], rng=1).operator
    assert repr(guarded.seeded(4)) == repr(guarded.operator.seeded(4))
    with pytest.raises(gs.InputError, match="training rows"):
        gs.ksd_test(x, posterior, operator=guarded, rng=1)


def test_a_learnt_g_is_not_chosen_on_the_rows_it_was_learnt_on():
    x = rng().standard_normal((120, 1))
    g = gs.auxiliary.learn(x[:40], NORMAL(), rng=1)
    selection = gs.select(x[40:], NORMAL(), operators=[g, gs.Langevin()], rng=1)
    assert any("learn(40 rows" in repr(c.operator) for c in selection.candidates)
    refused = gs.select(x, NORMAL(), operators=[g, gs.Langevin()], rng=1)
    assert "training rows" in refused.dropped[0].dropped


POINTS = rng().standard_normal((60, 1))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"train_fraction": 1.0}, "`train_fraction` must be a number between 0 and 1"),
        ({"train_fraction": True}, "`train_fraction` must be a number between 0 and 1"),
        ({"data": POINTS[:25]}, "25 rows make 8 to choose on and 17 to test on"),
        ({"operators": []}, "`operators` is empty"),
        ({"kernels": []}, "`kernels` is empty"),
        ({"operators": ["langevin"]}, "A candidate must be an operator such as"),
        ({"operators": [gs.Langevin]}, "A candidate must be an operator such as"),
        ({"kernels": ["gaussian"]}, "`kernels` must be kernels such as"),
        ({"data": [[np.nan]] * 60}, "hold NaN"),
        ({"domain": gs.Box(0, 1)}, "lie outside"),
        ({"rng": -1}, "`rng` must be"),
    ],
)
def test_bad_input(options, told):
    data = options.pop("data", POINTS)
    with pytest.raises(gs.InputError, match=told):
        gs.select(data, NORMAL(), **options)


def test_bad_input_of_the_test():
    selection = gs.select(POINTS, NORMAL(), rng=1)
    with pytest.raises(gs.InputError, match="`null` must be a null method"):
        selection.test(null="wild")
    with pytest.raises(gs.InputError, match="2 columns"):
        selection.test(np.zeros((30, 2)))


# --- level and power ------------------------------------------------------------------------------


@trials(100, 300)
def test_level_of_selecting_and_testing(trials):
    """At level .1; and on the same rows it is far from it, which is what all refusals are for."""
    found, cheated = [], 0
    for trial in range(trials):
        x = rng(3000 + trial).standard_normal((70, 1))
        selection = gs.select(x, NORMAL(), rng=trial)
        found.append(selection.test(null=FAST, workers=1, rng=trial).pvalue)
        inner = selection.operator.operator
        options = {"operator": inner, "kernel": selection.kernel, "null": FAST, "workers": 1, "rng": trial}
        cheated += gs.ksd_test(x[selection.train], NORMAL(), **options).pvalue <= 0.1
    check_level(found, 0.1, 0.2)
    assert cheated > binom.ppf(0.99, trials, 0.1)


def test_power_where_the_median_bandwidth_is_bad():
    """A ripple: on seven tenths of the rows the chosen bandwidth sees what the median does not on all."""
    chosen, median, trials = 0, 0, 40
    for trial in range(trials):
        x = ripple(200, rng(trial))
        chosen += gs.select(x, NORMAL(), rng=trial).test(null=FAST, workers=1, rng=1).pvalue <= 0.05
        median += gs.ksd_test(x, NORMAL(), null=FAST, workers=1, rng=1).pvalue <= 0.05
    assert chosen >= 34 and median <= 12
