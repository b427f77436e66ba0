"""Truncated score matching: its objective against the definition, and what it finds of known truths."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from goodstein.estimate import (
    AnyDirichlet,
    AnyNormal,
    ExponentialFamily,
    Parametric,
    SquaredDistance,
    TruncatedScoreMatching,
)
from goodstein.estimate.base import Sample
from goodstein.estimate.score_matching import MatchingObjective, _weights

FAMILY = gs.families
RNG = np.random.default_rng(20_260_716)
SQUARE = gs.Box([0, 0], [1, 1])
HOUSE = gs.Polygon([(0, 0), (1.2, 0), (1.2, 1), (0.6, 0.7), (0, 1)])


def objective_of(family, sample: Sample, auxiliary) -> MatchingObjective:
    return MatchingObjective(family.scores(sample), *_weights(auxiliary, sample), 1.0)


# the objective


def test_rows_in_blocks_and_counts_change_nothing():
    x = RNG.uniform(size=(200, 2))
    objective = objective_of(AnyNormal(), Sample(x, SQUARE), gs.BoundaryDistance())
    theta = np.array([0.1, -0.2, 1.2, 0.3, 0.8])
    value, gradient = objective.value_and_gradient(theta)
    objective.scores.block = 7
    counted = objective.value_and_gradient(theta, np.ones(200))
    assert counted[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(counted[1], gradient, atol=1e-12)


def legendre(low: float, high: float, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (low + high) / 2 + (high - low) / 2 * nodes, (high - low) / 2 * weights


def expected_distance(score, other, weight, density) -> float:
    return float((density * (weight * (score - other) ** 2).sum(axis=1)).sum())


@pytest.mark.parametrize("auxiliary", [gs.BoundaryDistance(), gs.BoxProduct(), SquaredDistance()], ids=repr)
def test_objective_is_the_weighted_distance_of_scores_up_to_a_constant_on_an_interval(auxiliary):
    # E_p ℓ(θ) = E_p g(s_p − s_θ)² − E_p g s_p², by quadrature on both sides of the kink of g.
    parts = [legendre(0.0, 1.0), legendre(1.0, 2.0)]
    x, w = (np.concatenate(part) for part in zip(*parts, strict=True))
    p = scipy.stats.truncnorm(-1.0 / 0.7, 1.0 / 0.7, loc=1.0, scale=0.7).pdf(x) * w
    assert p.sum() == pytest.approx(1.0)
    sample = Sample(x[:, None], gs.Box(0, 2))
    objective = objective_of(AnyNormal(), sample, auxiliary.fitted(sample.data, sample.domain))
    own = -(x[:, None] - 1.0) / 0.49
    constant = expected_distance(own, 0.0 * own, objective.weight, p)
    for start in np.array([[0.0, 1.0], [0.3, 2.0], [-1.0, 0.4]]):
        score = objective.scores.evaluate(start, slice(0, len(x))).score
        expected = expected_distance(own, score, objective.weight, p) - constant
        assert objective.value_and_gradient(start, p)[0] == pytest.approx(expected, abs=1e-9)


def test_objective_is_the_tangential_distance_of_scores_on_the_simplex():
    u, wu = legendre(0.0, 1.0, 40)
    v, wv = legendre(0.0, 1.0, 40)
    first, second = (grid.ravel() for grid in np.meshgrid(u, v, indexing="ij"))
    x = np.column_stack([first, (1 - first) * second, (1 - first) * (1 - second)])
    w = np.outer(wu, wv).ravel() * (1 - first)
    p = scipy.stats.dirichlet([3.0, 4.0, 5.0]).pdf(x.T / x.sum(axis=1)) * w
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    sample = Sample(x, gs.Simplex(3))
    objective = objective_of(AnyDirichlet(), sample, gs.ProductOfParts())
    project = np.eye(3) - 1 / 3
    own = (np.array([2.0, 3.0, 4.0]) / x) @ project
    g = x.prod(axis=1)[:, None]
    constant = expected_distance(own, 0.0, g, p)
    for alpha in ([2.0, 2.0, 2.0], [1.2, 5.0, 3.0]):
        other = ((np.array(alpha) - 1) / x) @ project
        expected = expected_distance(own, other, g, p) - constant
        assert objective.value_and_gradient(np.array(alpha), p)[0] == pytest.approx(expected, abs=1e-10)


def test_simplex_estimate_does_not_depend_on_how_the_density_is_extended_off_it():
    x = FAMILY.Dirichlet([2.0, 3.0, 4.0]).sample(200, rng=1)

    def extended(x):
        return jnp.log(x) + (1 - x.sum(axis=1, keepdims=True)) * jnp.array([3.0, -50.0, 7.0])

    def base(x):
        return -jnp.log(x).sum(axis=1)

    estimator = TruncatedScoreMatching(gs.BoundaryDistance())
    one = estimator.fit(x, AnyDirichlet())
    other = estimator.fit(x, ExponentialFamily(extended, base=base), domain=gs.Simplex(3))
    np.testing.assert_allclose(other.theta, one.theta, rtol=1e-8)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-6)


# closed forms and known answers


def test_known_scale_in_one_dimension_has_the_closed_form():
    sigma, region = 0.7, gs.Box(0, 2)
    x = FAMILY.Truncated(FAMILY.Normal(0.2, sigma**2), region).sample(300, rng=1)
    x[:3, 0] = [0.0, 2.0, 0.0]  # on the boundary: no weight, but a slope
    g = np.minimum(x, 2 - x)[:, 0]
    slope = np.where(x[:, 0] < 1, 1.0, -1.0)
    expected = ((g * x[:, 0]).mean() - sigma**2 * slope.mean()) / g.mean()

    def linear(x):
        return jnp.asarray(x) / sigma**2

    def base(x):
        return -(jnp.asarray(x)[:, 0] ** 2) / (2 * sigma**2)

    fit = TruncatedScoreMatching().fit(x, ExponentialFamily(linear, base=base), domain=region)
    assert fit.theta[0] == pytest.approx(expected, abs=1e-7)
    # Without the slope of the rows on the boundary it would be another value.
    inside = slope[3:].sum() / 300
    assert abs((g @ x[:, 0] / 300 - sigma**2 * inside) / g.mean() - expected) > 1e-3


REGIONS = {
    "ball": (gs.Ball(2), [0.4, 0.1]),
    "box": (gs.Box([0, -1], [1.5, 1]), [0.2, 0.3]),
    "orthant": (gs.Orthant(2), [0.1, 0.5]),
    "polygon": (HOUSE, [0.3, 0.9]),
    "polytope": (gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1.5]), [0.8, 0.2]),
}


@pytest.mark.parametrize("name", REGIONS)
def test_truncated_normal_is_found_on_every_region(name):
    region, mean = REGIONS[name]
    x = FAMILY.Truncated(FAMILY.Normal(mean, [[0.2, 0.05], [0.05, 0.1]]), region).sample(6000, rng=3)
    fit = TruncatedScoreMatching().fit(x, AnyNormal(), domain=region)
    truth = np.concatenate([mean, [0.2, 0.05, 0.05, 0.1]])
    errors = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(fit.theta - truth) < 3.5 * errors).all()
    assert errors[:2].max() < 0.1
    diagonal = gs.BoxProduct() if isinstance(region, gs.Box) else None
    if diagonal is not None:
        again = TruncatedScoreMatching(diagonal).fit(x, AnyNormal(), domain=region)
        assert (np.abs(again.theta - truth) < 3.5 * np.sqrt(np.diag(again.covariance))).all()


def test_it_is_right_where_moments_of_the_truncated_sample_are_far_off():
    region = gs.Box(0.0, np.inf)
    model = FAMILY.Truncated(FAMILY.Normal(-1.0, 1.0), region)
    unit = ExponentialFamily(lambda x: x, base=lambda x: -(jnp.asarray(x)[:, 0] ** 2) / 2)
    fits = [TruncatedScoreMatching().fit(model.sample(2000, rng=r), unit, domain=region) for r in range(30)]
    estimates = np.array([fit.theta[0] for fit in fits])
    error = estimates.std(ddof=1) / np.sqrt(30)
    assert abs(estimates.mean() + 1.0) < 3 * error
    assert error < 0.03
    assert FAMILY.Normal.fit(model.sample(2000, rng=0)).mean[0] > 0.4


def test_a_weight_that_cannot_make_up_for_an_infinite_density_is_refused():
    # With g = distance and α = ½ the fit would tend to α = 1, and nothing would be wrong to look at.
    x = FAMILY.Dirichlet([0.5, 0.5, 0.5]).sample(400, rng=1)
    with pytest.raises(gs.InputError, match=r"Near the face x_1 = 0 .* like δ\^-0\.\d+ .*SquaredDistance"):
        TruncatedScoreMatching(gs.BoundaryDistance()).fit(x, AnyDirichlet())
    for auxiliary in (None, SquaredDistance()):
        fit = TruncatedScoreMatching(auxiliary).fit(x, AnyDirichlet())
        assert np.abs(fit.theta - 0.5).max() < 4 * np.sqrt(np.diag(fit.covariance)).max()

    def log_density(x, theta):
        return ((theta - 1) * jnp.log(x)).sum(axis=-1)

    family = Parametric(log_density, start=[0.6, 0.6, 0.6], bounds=[(0.05, 0.9)] * 3)
    with pytest.raises(gs.InputError, match="Their exponents must add up to more than 1"):
        TruncatedScoreMatching(gs.BoundaryDistance()).fit(x, family, domain=gs.Simplex(3))
