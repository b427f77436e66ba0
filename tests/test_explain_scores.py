"""Effects of models without a sampler, against truths that are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import goodstein as gs
from goodstein.data.points import Points
from goodstein.explain.affine import effects_of

COVARIANCE = np.array([[1.0, 0.98], [0.98, 1.0]])


def white(n=400, d=2, seed=1):
    """Rows whose sample mean is zero and whose sample covariance is one, exactly."""
    x = np.random.default_rng(seed).normal(size=(n, d))
    x -= x.mean(axis=0)
    return np.linalg.solve(np.linalg.cholesky(np.cov(x.T, bias=True).reshape(d, d)), x.T).T


def problem_of(x, score, domain=None):
    model = gs.Model(score=score, domain=domain or gs.Euclidean(x.shape[1]))
    return gs.ksd_test(x, model, null=gs.WildBootstrap(19), rng=1).asked[0]


def effects(x, score, domain=None):
    return effects_of(problem_of(x, score, domain)).values


def explained(x, score, domain=None):
    model = gs.Model(score=score, domain=domain or gs.Euclidean(x.shape[1]))
    return gs.ksd_test(x, model, null=gs.WildBootstrap(19), rng=1).explain()


# Normal models: the moments of the data are all that there is to know.


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    ("shift", "factor"),
    [(0.2, 1), (1, 1), (3, 1), (10, 1), (-10, 1), (0, 1.2), (0, 2), (0, 5), (0, 0.2), (3, 5), (-3, 0.2)],
)
def test_shift_and_spread_are_those_of_the_moments(d, shift, factor):
    x = white(d=d)
    x[:, 0] = factor * x[:, 0] + shift
    expected = {1: [shift, np.log(factor)], 2: [shift, 0, np.log(factor), 0, 0]}[d]
    # The last step leaves the square of an error of .01.
    assert_allclose(effects(x, lambda y: -y), expected, atol=0.001 * max(1, abs(shift)))


def test_shift_along_a_strong_correlation():
    inverse = np.linalg.inv(COVARIANCE)
    x = white() @ np.linalg.cholesky(COVARIANCE).T + 2.5
    found = explained(x, lambda y: -y @ inverse)
    assert {one.view for one in found.failing} == {"mean of column 0", "mean of column 1"}
    assert_allclose([one.effect for one in found.failing], 2.5, atol=0.02)
    # Only one of them moved, although both scores are off.
    x[:, 1] -= 2.5
    assert [one.view for one in explained(x, lambda y: -y @ inverse).failing] == ["mean of column 0"]


def test_mean_field_is_too_narrow_and_not_correlated():
    inverse = np.linalg.inv(COVARIANCE)
    narrow = 1.0 / np.sqrt(inverse[0, 0])  # which is what the best product of normal laws has
    found = explained(narrow * white(), lambda y: -y @ inverse)
    by_view = {one.view: one for one in found.findings}
    for view in ("spread of column 0", "spread of column 1"):
        assert by_view[view].fails
        assert_allclose(by_view[view].effect, narrow, rtol=0.02)
    assert_allclose(by_view["correlation of column 0, column 1"].effect, -0.98, atol=0.02)


# Other models: scipy's maximum likelihood in each column.


@pytest.mark.parametrize(
    ("law", "score"),
    [
        pytest.param(scipy.stats.t(3), lambda y: -4 * y / (3 + y**2), id="t"),
        pytest.param(scipy.stats.logistic(), lambda y: -np.tanh(y / 2), id="logistic"),
        pytest.param(scipy.stats.gumbel_r(), lambda y: np.exp(-y) - 1, id="gumbel"),
    ],
)
@pytest.mark.parametrize(("shift", "factor"), [(0.2, 1), (3, 1), (10, 1), (-10, 1), (0, 1.2), (0, 2), (3, 5)])
def test_skewed_and_heavy_tails(law, score, shift, factor):
    x = factor * law.rvs(size=(2000, 1), random_state=np.random.default_rng(2)) + shift
    fixed = {"f0": 3} if law.dist.name == "t" else {}
    *_, middle, scale = law.dist.fit(x, loc=shift, scale=factor, **fixed)
    # The change of the mean of the data, under x = middle + scale · y.
    expected = x.mean() - (x.mean() - middle) / scale
    found = effects(x, score)
    error = scale / np.sqrt(len(x))
    assert_allclose(found[0], expected, atol=error)
    assert_allclose(found[1], np.log(scale), atol=0.5 / np.sqrt(len(x)))
    assert_allclose([scale, middle], [factor, shift], atol=6 * error)


def test_parts_are_told_by_logarithms():
    # A perturbation moves log-ratios and nothing else.
    alpha, moved = np.array([2.0, 3.0, 4.0]), np.array([3.0, 1.0, 1.0])
    x = np.random.default_rng(3).dirichlet(alpha, 2000) * moved
    x /= x.sum(axis=1, keepdims=True)
    found = effects(x, lambda y: (alpha - 1) / y, gs.Simplex(3))
    expected = [np.log(3.0), -0.5 * np.log(3.0), -0.5 * np.log(3.0)]
    assert_allclose(found[:3], expected, atol=0.08)
    assert_allclose(found[3:6], 0.0, atol=0.06)


def mixture(y):
    """Score of two normal laws at −4 and 4."""
    return np.column_stack([4 * np.tanh(4 * y[:, 0]) - y[:, 0], -y[:, 1]])


@pytest.mark.parametrize(("middle", "expected"), [(2.0, -2.0), (12.0, 8.0)])
def test_of_several_modes_the_nearest_counts(middle, expected):
    found = explained(white() + np.array([middle, 0.0]), mixture)
    assert found.findings[0].view == "mean of column 0"
    assert_allclose(found.findings[0].effect, expected, atol=0.1)
    both = white() + np.column_stack([np.tile([-4.0, 4.0], 200), np.zeros(400)])
    assert not explained(both, mixture).failing


# Intervals, and where there are none.


def test_intervals_cover():
    score, inside = lambda y: -4 * y / (3 + y**2), []
    rng, trials, n = np.random.default_rng(4), 200, 100
    problem = problem_of(rng.standard_t(3, size=(n, 2)), score)
    for _ in range(trials):
        x = rng.standard_t(3, size=(n, 2)) * [2, 1] + [0, 3]
        found = effects_of(problem.with_data(Points(x)))
        if found is not None:
            errors = scipy.stats.t(n - 1).ppf(0.975) * found.influences.std(axis=0) / np.sqrt(n - 1)
            inside.append(np.abs(found.values - [0, 3, np.log(2), 0, 0]) <= errors)
    assert len(inside) >= 0.95 * trials
    low, high = scipy.stats.binom(len(inside), 0.95).ppf([0.0005, 0.9999])
    hits = np.sum(inside, axis=0)
    assert ((low <= hits) & (hits <= high)).all()


@pytest.mark.parametrize("side", [1, -1])
def test_on_a_box_the_direction_alone_is_told(side):
    x = np.random.default_rng(5).beta(4 + side, 4 - side, size=(200, 2))
    x[:, 1] = np.random.default_rng(6).beta(4, 4, size=200)
    found = explained(x, lambda y: 3 / y - 3 / (1 - y), gs.Box([0, 0], [1, 1])).findings[0]
    assert (found.view, found.unit, found.fails) == ("mean of column 0", "standardised Stein moment", True)
    assert side * found.effect > 0


def test_few_evaluations_of_the_score():
    # It is not evaluated where rows are resampled, nor at more than some rows where steps are taken.
    x, asked = white(2000) + 3, []

    def score(y):
        asked.append(len(y))
        return -y

    result = gs.ksd_test(x, gs.Model(score=score), null=gs.WildBootstrap(19), rng=1)
    asked.clear()
    result.explain()
    assert sum(asked) <= 4 * len(x)
