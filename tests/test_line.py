"""Draws along a line from a score or a log density alone, against distribution functions of SciPy."""

import pickle

import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from goodstein.models.line import Coordinate, along_line

INF = np.inf
LAWS = {
    "normal": (scipy.stats.norm(), lambda x: -x, (-INF, INF)),
    "far from zero": (scipy.stats.norm(1e6, 0.01), lambda x: -1e4 * (x - 1e6), (-INF, INF)),
    "log-gamma": (scipy.stats.loggamma(0.3), lambda x: 0.3 - np.exp(x), (-INF, INF)),
    "Gumbel": (scipy.stats.gumbel_r(), lambda x: np.exp(-x) - 1, (-INF, INF)),
    "Cauchy": (scipy.stats.cauchy(), lambda x: -2 * x / (1 + x**2), (-INF, INF)),
    "heavier": (scipy.stats.t(0.3), lambda x: -1.3 * x / (0.3 + x**2), (-INF, INF)),
    "a jump": (scipy.stats.laplace(), lambda x: -np.sign(x), (-INF, INF)),
    "unbounded at zero": (scipy.stats.gamma(0.2), lambda x: -0.8 / x - 1, (0.0, INF)),
    "a half-line from 5": (scipy.stats.expon(5), lambda x: -np.ones_like(x), (5.0, INF)),
    "downwards": (scipy.stats.gumbel_l(), lambda x: 1 - np.exp(x), (-INF, INF)),
    "Pareto": (scipy.stats.pareto(1), lambda x: -2 / x, (1.0, INF)),
    "uniform": (scipy.stats.uniform(), lambda x: 0 * x, (0.0, 1.0)),
    "beta": (scipy.stats.beta(2, 3), lambda x: 1 / x - 2 / (1 - x), (0.0, 1.0)),
    "arcsine": (scipy.stats.beta(0.5, 0.5), lambda x: 0.5 / (1 - x) - 0.5 / x, (0.0, 1.0)),
}


def error(line, cdf):
    """The largest error of the distribution function at the nodes, and the draws' own p-value."""
    x = line.coordinate.at(line.nodes)[0]
    draws = line.sample(20_000, np.random.default_rng(1))
    return np.abs(cdf(x[1:]) - line._below).max(), scipy.stats.kstest(draws, cdf).pvalue


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("logs", [False, True])
def test_the_distribution_function_is_right(name, logs):
    law, score, (lower, upper) = LAWS[name]
    place = Coordinate.near(lower, upper, law.rvs(30, random_state=1))
    line = along_line(law.logpdf if logs else score, place, logs=logs)
    off, pvalue = error(line, law.cdf)
    assert off < 2e-5 and pvalue > 0.001


@pytest.mark.parametrize("where", [0.0, 30.0, -1000.0])
def test_the_data_say_where_to_begin_and_nothing_else(where):
    place = Coordinate.near(-INF, INF, where + np.random.default_rng(1).normal(size=20))
    off, _ = error(along_line(lambda x: -x, place, logs=False), scipy.stats.norm.cdf)
    assert off < 2e-5


@pytest.mark.parametrize("near", [0.0, 100.0])
def test_shares_of_modes_far_apart_come_through_a_valley_of_e_to_the_minus_5000(near):
    def score(x):
        return (100 * np.tanh(100 * x - 0.5 * np.log(0.7 / 0.3)) - x).ravel()

    place = Coordinate.near(-INF, INF, near + np.random.default_rng(1).normal(size=20))
    draws = along_line(score, place, logs=False).sample(20_000, np.random.default_rng(2))
    assert np.mean(draws < 0) == pytest.approx(0.7, abs=0.015)


@pytest.mark.parametrize(
    ("score", "ends"),
    [
        (lambda x: 0 * x, (-INF, INF)),  # flat
        (lambda x: -x / (1 + x**2), (-INF, INF)),  # 1/|x|
        (lambda x: np.where(np.abs(x) < 3, -x, np.nan), (-INF, INF)),  # known only there
        (lambda x: -0.8 / x + 0.8 / (1 - x), (0.0, 1.0)),  # too much next to one to be told from it
        (lambda x: -x + np.random.default_rng().normal(size=len(x)), (-INF, INF)),
    ],
    ids=["flat", "too heavy", "local", "at an edge", "random"],
)
def test_nothing_is_drawn_where_that_is_not_safe(score, ends):
    assert along_line(score, Coordinate.near(*ends, np.linspace(0.2, 0.8, 9)), logs=False) is None


def test_a_model_draws_once_it_was_told_where_its_data_are():
    model, x = gs.Model(score=lambda x: 0.3 - np.exp(x)), np.linspace(-5, 1, 30)[:, None]
    assert not model.has_sample and not model.on(gs.Euclidean(1)).has_sample
    told = model.on(gs.Euclidean(1)).near(x)
    assert told.has_sample and told.sample(5, rng=1).shape == (5, 1)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(told.line)).sample(5, np.random.default_rng(1)), told.sample(5, rng=1)[:, 0]
    )
    assert not gs.Model(score=lambda x: 0.3 - np.exp(float(x))).on(gs.Euclidean(1)).near(x).has_sample
    assert not gs.Gradients(-x).on(gs.Euclidean(1)).near(x).has_sample
    half = gs.Model(score=lambda x: -x).on(gs.Box([0.0], [INF])).near(np.abs(x))
    assert scipy.stats.kstest(half.sample(2000, rng=1)[:, 0], scipy.stats.halfnorm.cdf).pvalue > 0.001


def test_the_result_tells_where_draws_come_from():
    x = np.random.default_rng(1).normal(size=40)
    result = gs.aggregated_test(x, lambda x: -x, null=gs.MonteCarlo(19), rng=1)
    assert result.details["draws of the model"].startswith("along the line, by the integral of its score")
    result = gs.aggregated_test(x, gs.Model(logpdf=lambda x: -(x**2) / 2), null=gs.MonteCarlo(19), rng=1)
    assert "by its log density from" in str(result)


def test_refitted_scores_can_be_drawn_from_too():
    def fit(x):
        mean = np.mean(x)
        return lambda x: mean - x

    x = np.random.default_rng(1).normal(size=40)
    assert gs.aggregated_test(x, fit(x), null=gs.ParametricBootstrap(fit, 19), rng=1).pvalue > 0.05


def test_a_score_that_refuses_points_far_out_is_asked_for_nearer_ones():
    """A model wrapped in another one raises where its score overflows, for all points of a call."""
    inner = gs.Model(score=lambda x: np.exp(-x) - 1, batched=True)
    x = scipy.stats.gumbel_r.rvs(size=(50, 1), random_state=1)
    with pytest.raises(gs.errors.ScoreError):
        inner.score(np.array([[-800.0]]))
    outer = gs.Model(score=inner.score, domain=gs.Euclidean(1), batched=True).near(x)
    draws = outer.sample(20_000, rng=1)[:, 0]
    assert scipy.stats.kstest(draws, scipy.stats.gumbel_r.cdf).pvalue > 0.001
