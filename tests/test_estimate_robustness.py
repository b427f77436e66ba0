"""Estimation under hostile conditions: units, offsets, rows next to the boundary, careless functions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

import goodstein as gs
from goodstein.estimate import (
    AnyDirichlet,
    AnyExponential,
    AnyGamma,
    AnyNormal,
    ExponentialFamily,
    MinimumStein,
    Parametric,
    ScoreMatching,
    SquaredDistance,
    TruncatedScoreMatching,
)

FAMILY = gs.families
NORMAL = np.random.default_rng(0).standard_normal(300) + 0.3
POSITIVE = np.random.default_rng(1).exponential(size=200)
UNIT = gs.Box(0, 1)


# units and offsets


def logistic_estimate(x, scale):
    """Location of a logistic density by score matching, from the definition: s = (1 − 2p)/scale."""

    def objective(location):
        p = expit((x - location * scale) / scale)
        return ((1 - 2 * p) ** 2 - 4 * p * (1 - p)).mean()

    return minimize_scalar(objective, bounds=(-3, 3), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize("start", [0.0, 1.0], ids=["at zero", "in units"])
@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6, 1e9])
def test_units_of_a_parametric_family_do_not_matter(unit, start):
    def log_density(x, theta):
        u = (x[:, 0] - theta[0]) / unit
        return -u - 2 * jnp.log1p(jnp.exp(-u))

    fit = ScoreMatching().fit(NORMAL * unit, Parametric(log_density, start=[start * unit]))
    assert fit.converged and fit.notes == ()
    assert fit.theta[0] / unit == pytest.approx(logistic_estimate(NORMAL, 1.0), abs=1e-5)
    # The sandwich at one unit, as derived by hand: J″ and the variance of ∂J.
    p = expit(NORMAL - fit.theta[0] / unit)
    v = p * (1 - p)
    slope = 4 * (1 - 2 * p) * v + 4 * v * (1 - 2 * p)
    curvature = (-8 * v * (1 - 2 * p) ** 2 + 16 * v**2).mean()
    expected = slope.std() / abs(curvature) / np.sqrt(300)
    assert fit.standard_errors["theta"][0] / unit == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_an_offset_costs_a_parametric_family_nothing(offset):
    def log_density(x, theta):
        return -jnp.log(jnp.cosh(x[:, 0] - theta[0]))

    near, far = (
        ScoreMatching().fit(NORMAL + shift, Parametric(log_density, start=[shift + 0.5]))
        for shift in (0.0, offset)
    )
    assert far.theta[0] - offset == pytest.approx(near.theta[0], abs=1e-6)
    assert far.standard_errors["theta"][0] == pytest.approx(near.standard_errors["theta"][0], rel=1e-4)


def test_a_start_of_another_order_of_magnitude_is_no_hindrance():
    def log_density(x, theta):
        return -(((x[:, 0] - theta[0]) / theta[1]) ** 2) / 2

    for offset, scale in ((0.0, 100.0), (1e6, 0.1), (1e6, 100.0)):
        x = NORMAL + offset
        family = Parametric(log_density, start=[0.0, scale], bounds=[(None, None), (1e-6, None)])
        fit = ScoreMatching().fit(x, family)
        np.testing.assert_allclose(fit.theta - [offset, 0], [x.mean() - offset, x.std()], atol=1e-5)
        assert fit.standard_errors["theta"][0] == pytest.approx(x.std() / np.sqrt(300), rel=1e-4)


@pytest.mark.parametrize("bounds", [(1e-6, 1e6), (1e-9, 1e12), (1e-12, None)])
@pytest.mark.parametrize("unit", [1e-7, 1.0])
def test_a_bound_far_away_is_not_taken_for_reached(bounds, unit):
    def log_density(x, theta):
        return -((x[:, 0] / theta[0]) ** 2) / 2

    x = NORMAL * unit
    low = min(bounds[0], 1e-3 * unit)
    fit = ScoreMatching().fit(x, Parametric(log_density, start=[1.5 * unit], bounds=[(low, bounds[1])]))
    assert fit.at_bounds == ()
    assert fit.theta[0] == pytest.approx(np.sqrt((x**2).mean()), rel=1e-6)
    assert fit.standard_errors["theta"][0] > 0


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("family", [AnyExponential(), AnyGamma()], ids=repr)
@pytest.mark.parametrize("estimator", [TruncatedScoreMatching(), MinimumStein()], ids=["TruncSM", "MinStein"])
def test_units_of_ready_families_do_not_matter(estimator, family, unit):
    one, other = (estimator.fit(POSITIVE * scale, family) for scale in (1.0, unit))
    assert other.parameters["scale"] / unit == pytest.approx(one.parameters["scale"], rel=1e-9)
    assert other.standard_errors["scale"] / unit == pytest.approx(one.standard_errors["scale"], rel=1e-6)
    assert "std. error" in str(other)


def test_standard_errors_keep_their_digits_far_from_zero():
    x = np.random.default_rng(2).normal(size=(200, 2))
    fit = ScoreMatching().fit(x + 1e8, AnyNormal())
    np.testing.assert_allclose(fit.standard_errors["mean"], x.std(axis=0) / np.sqrt(200), rtol=1e-2)


# the boundary


@pytest.mark.parametrize("operator", [None, gs.Mirrored(), gs.Standardised()], ids=repr)
def test_parts_that_are_almost_zero_do_not_spoil_the_minimum_stein_discrepancy(operator):
    x = FAMILY.Dirichlet([0.1, 0.1, 2.0]).sample(300, rng=1)
    assert 0 < x.min() < 1e-25
    fit = MinimumStein(operator).fit(x, AnyDirichlet())
    matrix = gs.stein_matrix(x, FAMILY.Dirichlet(fit.theta), operator=operator)
    assert fit.objective == pytest.approx(matrix.mean(), rel=1e-8)
    for factor in (0.99, 1.01):  # it is a minimum of what the test computes
        other = gs.stein_matrix(x, FAMILY.Dirichlet(fit.theta * factor), operator=operator)
        assert other.mean() > matrix.mean()
    assert (np.abs(fit.theta - [0.1, 0.1, 2.0]) < 3 * fit.standard_errors["alpha"]).all()


def log_parts(x):
    return jnp.log(x)


def minus_log_parts(x):
    return -jnp.log(x).sum(axis=1)


def test_digits_that_are_lost_next_to_a_face_are_noticed():
    family = ExponentialFamily(log_parts, base=minus_log_parts)
    x = FAMILY.Dirichlet([0.1, 0.1, 2.0]).sample(200, rng=1)
    with pytest.raises(gs.InputError, match=r"no digits left. Use TruncatedScoreMatching\(\)"):
        MinimumStein().fit(x, family, domain=gs.Simplex(3))
    x = FAMILY.Dirichlet([0.5, 0.5, 2.0]).sample(200, rng=1)
    fit = MinimumStein().fit(x, family, domain=gs.Simplex(3))
    np.testing.assert_allclose(fit.theta, MinimumStein().fit(x, AnyDirichlet()).theta, rtol=1e-6)


def beta_density(x, theta):
    return (theta[0] - 1) * jnp.log(x[:, 0]) + (theta[1] - 1) * jnp.log1p(-x[:, 0])


def test_a_pole_that_the_weight_hides_is_found_without_a_closed_form():
    # With g = δ the estimate tends to (1, 1), a flat density with tiny standard errors.
    x = np.random.default_rng(0).beta(0.5, 0.5, size=1000)
    family = Parametric(beta_density, start=[1.0, 1.0])
    with pytest.raises(gs.InputError, match=r"exponents must add up to more than 1.*SquaredDistance\(\)"):
        TruncatedScoreMatching().fit(x, family, domain=UNIT)
    # With the weight that the message names, the search finds what the normal equations give.
    fit = TruncatedScoreMatching(SquaredDistance()).fit(x, family, domain=UNIT)
    g, slope = np.minimum(x, 1 - x) ** 2, 2 * np.minimum(x, 1 - x) * np.where(x < 0.5, 1, -1)
    first, second = np.stack([1 / x, -1 / (1 - x)]), -np.stack([x**-2.0, (1 - x) ** -2.0])
    expected = -np.linalg.solve((g * first) @ first.T, (first * slope + second * g).sum(axis=1))
    np.testing.assert_allclose(fit.theta - 1, expected, atol=1e-5)


def beta_statistic(x):
    return np.hstack([np.log(x), np.log1p(-x)])


def beta_gradient(x):
    return np.stack([1 / x, -1 / (1 - x)], axis=2)


def beta_laplacian(x):
    return np.stack([-(x**-2), -((1 - x) ** -2)], axis=2)


def test_standard_errors_that_are_too_small_come_with_a_note():
    family = ExponentialFamily(beta_statistic, gradient=beta_gradient, laplacian=beta_laplacian)
    draws = np.random.default_rng(0).beta(1.3, 1.3, size=(30, 500))
    covered = {}
    for auxiliary in (gs.BoundaryDistance(), SquaredDistance()):
        fits = [TruncatedScoreMatching(auxiliary).fit(x, family, domain=UNIT) for x in draws]
        noted = [any("no finite variance" in note for note in fit.notes) for fit in fits]
        assert all(noted) if auxiliary == gs.BoundaryDistance() else not any(noted)
        inside = [np.abs(fit.theta - 0.3) < 1.96 * fit.standard_errors["theta"] for fit in fits]
        covered[repr(auxiliary)] = np.mean(inside, axis=0)
    # About .67 and .95; the bounds are more than two Monte Carlo errors away.
    assert (covered["BoundaryDistance()"] < 0.87).all()
    assert (covered["SquaredDistance()"] > 0.84).all()


@pytest.mark.parametrize("family", [AnyExponential(), AnyGamma()], ids=repr)
@pytest.mark.parametrize("domain", [gs.Euclidean(1), gs.Box(-2, 50)], ids=repr)
def test_a_domain_beyond_the_half_line_is_refused(family, domain):
    for estimator in (ScoreMatching(), TruncatedScoreMatching(), MinimumStein()):
        if domain.has_boundary is not isinstance(estimator, ScoreMatching):
            with pytest.raises(gs.DomainError, match=r"reaches beyond Box\(\[0, inf\)\)"):
                estimator.fit(POSITIVE, family, domain=domain)


@pytest.mark.parametrize("estimator", [ScoreMatching(), MinimumStein()], ids=["SM", "MinStein"])
def test_a_lattice_is_refused(estimator):
    x = np.random.default_rng(0).integers(0, 3, size=(50, 2))
    with pytest.raises(gs.DomainError, match=r"Lattice\(3, 2\) is none of them"):
        estimator.fit(x, AnyNormal(), domain=gs.Lattice([0, 1, 2], 2))


# functions


def test_functions_that_work_in_place_do_no_harm():
    def log_density(x, theta):
        x -= theta[0]
        return -(x[:, 0] ** 2) / 2

    def score(x, theta):
        x -= theta[0]
        return -x

    def statistic(x):
        x *= 2.0
        return np.hstack([x, x**2])

    x = NORMAL + 3.0
    for family in (Parametric(log_density, start=[0.0]), Parametric(score=score, start=[0.0])):
        assert ScoreMatching().fit(x, family).theta[0] == pytest.approx(x.mean(), abs=1e-6)
    theta = ScoreMatching().fit(x, ExponentialFamily(statistic)).theta
    assert -theta[0] / (4 * theta[1]) == pytest.approx(x.mean(), abs=1e-6)


def test_jax_functions_are_called_in_double_precision_throughout():
    x = np.array([1 - 1e-9, 0.2, 0.4, 0.5, 0.7, 0.8])  # the first is 1 in single precision
    family = Parametric(beta_density, start=[2.0, 2.0])
    one = TruncatedScoreMatching(SquaredDistance()).fit(x, family, domain=UNIT)

    def statistic(x):
        return jnp.hstack([jnp.log(x), jnp.log1p(-x)])

    def gradient(x):
        return jnp.stack([1 / jnp.asarray(x), -1 / (1 - jnp.asarray(x))], axis=2)

    def laplacian(x):
        return jnp.stack([-(jnp.asarray(x) ** -2), -((1 - jnp.asarray(x)) ** -2)], axis=2)

    exact = ExponentialFamily(beta_statistic, gradient=beta_gradient, laplacian=beta_laplacian)
    expected = TruncatedScoreMatching(SquaredDistance()).fit(x, exact, domain=UNIT).theta
    np.testing.assert_allclose(one.theta - 1, expected, rtol=1e-6)
    for family in (
        ExponentialFamily(statistic),
        ExponentialFamily(statistic, gradient=gradient, laplacian=laplacian),
    ):
        fit = TruncatedScoreMatching(SquaredDistance()).fit(x, family, domain=UNIT)
        np.testing.assert_allclose(fit.theta, expected, rtol=1e-10)


def test_of_a_score_and_a_log_density_the_score_is_taken():
    class Both:
        start = (0.0,)

        def score(self, x, theta):
            return theta - x

        def log_density(self, x, theta):
            raise AssertionError("not needed")

    assert ScoreMatching().fit(NORMAL, Both()).theta[0] == pytest.approx(NORMAL.mean())


def test_a_search_that_has_run_away_is_noticed():
    def cauchy(x, theta):
        return -jnp.log1p((x[:, 0] - theta[0]) ** 2)

    lost = ScoreMatching().fit(NORMAL + 10, Parametric(cauchy, start=[0.0]))
    assert any("no closer to the data than a flat density" in note for note in lost.notes)
    found = ScoreMatching().fit(NORMAL + 10, Parametric(cauchy, start=[np.median(NORMAL + 10)]))
    assert found.notes == () and abs(found.theta[0] - 10.3) < 1


def test_two_parameters_of_one_name_are_refused():
    with pytest.raises(gs.InputError, match="`names` of Parametric has 'a' twice"):
        Parametric(beta_density, start=[1.0, 1.0], names=["a", "a"])
    with pytest.raises(gs.InputError, match="`names` of ExponentialFamily has 'b' twice"):
        ExponentialFamily(beta_statistic, names=["b", "b"])


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(gs.InputError, match="all 20 rows are equal"):
        ScoreMatching().fit(np.full(20, 3.0), Parametric(beta_density, start=[1.0, 1.0]))


# the rest


def test_a_long_bootstrap_table_is_cut():
    fit = ScoreMatching().fit(np.random.default_rng(1).normal(size=(200, 6)), AnyNormal())
    text = str(fit.bootstrap(4, rng=1))
    assert "more in .draws" in text and len(text.splitlines()) < 32


def test_parameters_in_parts_have_the_same_influences(monkeypatch):
    x = np.random.default_rng(2).normal(size=(60, 2))
    whole = MinimumStein().fit(x, AnyNormal()).covariance
    monkeypatch.setattr("goodstein.estimate.stein.MOST_NUMBERS", 2 * 60 * 4)
    np.testing.assert_allclose(MinimumStein().fit(x, AnyNormal()).covariance, whole, rtol=1e-9)
