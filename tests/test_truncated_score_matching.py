"""Truncated score matching: its objective against the definition, and what it finds of known truths."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from goodstein.estimate import (
    AnyDirichlet,
    AnyNormal,
    ExponentialFamily,
    Mixture,
    Parametric,
    ScoreMatching,
    SquaredDistance,
    TruncatedScoreMatching,
)
from goodstein.estimate.base import Sample
from goodstein.estimate.score_matching import MatchingObjective, _weights
from goodstein.numerics.frameworks import Jax
from levels import trials

FAMILY = gs.families
RNG = np.random.default_rng(20_260_716)
SQUARE = gs.Box([0, 0], [1, 1])
HOUSE = gs.Polygon([(0, 0), (1.2, 0), (1.2, 1), (0.6, 0.7), (0, 1)])


def objective_of(family, sample: Sample, auxiliary) -> MatchingObjective:
    return MatchingObjective(family.scores(sample), *_weights(auxiliary, sample), 1.0)


# the objective


def log_mixture(x, weights, means, covariances):
    """log Σ_c w_c N(x; μ_c, Σ_c) as it is defined, for JAX."""

    def density(mean, covariance):
        return jax.scipy.stats.multivariate_normal.pdf(x, mean, covariance)

    return jnp.log(weights @ jax.vmap(density)(means, covariances))


def covariances_of(parameters, d: int):
    if "covariances" in parameters:
        return parameters["covariances"]
    scales = np.asarray(parameters["scales"])
    scales = np.repeat(scales[:, None], d, axis=1) if scales.ndim == 1 else scales
    return np.stack([np.diag(row**2) for row in scales])


@pytest.mark.parametrize("covariance", ["spherical", "diagonal", "full"])
def test_mixture_objective_and_gradient_against_jax_autodiff(covariance):
    x = RNG.normal(size=(12, 3)) * [1.0, 2.0, 0.5] + [5.0, 0.0, -1.0]
    scores = Mixture(3, covariance).scores(Sample(x, gs.Box([-20] * 3, [20] * 3)))
    theta = scores.starts(2, np.random.default_rng(1))[1]
    theta = theta + 0.1 * RNG.normal(size=theta.shape)

    with Jax().context():  # double precision

        def row(point, *parameters):
            return jax.grad(log_mixture)(point, *parameters), jax.hessian(log_mixture)(point, *parameters)

        derivatives = jax.jit(jax.vmap(row, (0, None, None, None)))

        def defined(t):
            """Score and its derivatives at each row, from the log density alone."""
            found = scores.parameters(t)
            s, h = derivatives(x, found["weights"], found["means"], covariances_of(found, 3))
            return np.asarray(s), np.diagonal(np.asarray(h), axis1=1, axis2=2)

        s, curvature = defined(theta)
        units = 1e-5 * np.eye(len(theta))
        near = [(defined(theta + unit), defined(theta - unit)) for unit in units]
    evaluation = scores.evaluate(theta, slice(0, 12))
    np.testing.assert_allclose(evaluation.score, s, atol=1e-10)
    np.testing.assert_allclose(evaluation.second, curvature, atol=1e-9)
    slope = RNG.normal(size=(12, 3))
    for columns in (1, 3):  # one g for all coordinates, and one for each
        weight = RNG.uniform(0.1, 1.0, size=(12, columns)) * np.ones((12, 3))

        def losses(score, second, weight=weight):
            return (weight * (score**2 + 2 * second) + 2 * slope * score).sum(axis=1)

        objective = MatchingObjective(scores, weight, slope, 1.0)
        value, gradient = objective.value_and_gradient(theta)
        assert value == pytest.approx(losses(s, curvature).mean(), abs=1e-10)
        rows = objective.influences(theta)
        for j, (ahead, behind) in enumerate(near):
            expected = (losses(*ahead) - losses(*behind)) / 2e-5
            np.testing.assert_allclose(rows[:, j], expected, atol=2e-6)
            assert gradient[j] == pytest.approx(expected.mean(), abs=1e-6)


def test_rows_in_blocks_and_counts_change_nothing():
    x = RNG.uniform(size=(200, 2))
    objective = objective_of(Mixture(3), Sample(x, SQUARE), gs.BoundaryDistance())
    theta = objective.scores.starts(1, np.random.default_rng(0))[0]
    value, gradient = objective.value_and_gradient(theta)
    objective.scores.block = 7
    counted = objective.value_and_gradient(theta, np.ones(200))
    assert counted[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(counted[1], gradient, atol=1e-12)
    # A row that is counted twice is a row that occurs twice.
    counts = np.ones(200)
    counts[:50] = 2
    twice = objective_of(Mixture(3, scale=0.2), Sample(x, SQUARE), gs.BoundaryDistance())
    doubled = objective_of(
        Mixture(3, scale=0.2), Sample(np.vstack([x, x[:50]]), SQUARE), gs.BoundaryDistance()
    )
    at = twice.scores.starts(1, np.random.default_rng(0))[0]
    means, _, logs = twice.scores._split(at)
    moved = (twice.scores.center + twice.scores.unit * means - doubled.scores.center) / doubled.scores.unit
    same = np.concatenate([moved.ravel(), doubled.scores.contrasts @ logs])
    assert twice.value_and_gradient(at, counts)[0] == pytest.approx(
        doubled.value_and_gradient(same)[0], rel=1e-10
    )


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
    objective = objective_of(Mixture(2), sample, auxiliary.fitted(sample.data, sample.domain))
    own = -(x[:, None] - 1.0) / 0.49
    constant = expected_distance(own, 0.0 * own, objective.weight, p)
    for start in objective.scores.starts(4, np.random.default_rng(3)):
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

    for family in (Mixture(1, scale=sigma), ExponentialFamily(linear, base=base)):
        fit = TruncatedScoreMatching().fit(x, family, domain=region, rng=1)
        assert fit.theta[-1] == pytest.approx(expected, abs=1e-7)
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
    estimates = np.array(
        [
            TruncatedScoreMatching()
            .fit(model.sample(2000, rng=r), Mixture(1, scale=1.0), domain=region)
            .theta[1]
            for r in range(30)
        ]
    )
    error = estimates.std(ddof=1) / np.sqrt(30)
    assert abs(estimates.mean() + 1.0) < 3 * error
    assert error < 0.03
    assert FAMILY.Normal.fit(model.sample(2000, rng=0)).mean[0] > 0.4


@trials(20, 50)
def test_a_known_truncated_mixture_is_recovered(trials):
    truth = FAMILY.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.9, 0.6]], [0.04, 0.04])
    model = FAMILY.Truncated(truth, HOUSE)
    estimator = TruncatedScoreMatching(starts=2)
    fits = [estimator.fit(model.sample(1000, rng=r), Mixture(2), domain=HOUSE, rng=r) for r in range(trials)]
    assert all(fit.converged and np.isfinite(fit.objective) for fit in fits)
    known = {"weights": truth.weights, "means": truth.means, "scales": np.array([0.2, 0.2])}
    for name, value in known.items():
        found = np.stack([fit.parameters[name] for fit in fits])
        error = found.std(axis=0, ddof=1) / np.sqrt(len(fits))
        assert (np.abs(found.mean(axis=0) - value) < 4 * error).all(), name
        assert np.abs(found - value).max() < 0.2, name
        # The standard errors that a single fit reports are of the right size, too.
        reported = np.median([fit.standard_errors[name] for fit in fits[:20]], axis=0)
        np.testing.assert_allclose(reported, found.std(axis=0, ddof=1), rtol=2.5 / np.sqrt(trials))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_other_covariances_are_recovered(covariance):
    covs = [[[0.03, 0.0], [0.0, 0.08]], [[0.05, 0.0], [0.0, 0.02]]]
    if covariance == "full":
        covs[0][0][1] = covs[0][1][0] = 0.02
    truth = FAMILY.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.9, 0.6]], covs)
    x = FAMILY.Truncated(truth, HOUSE).sample(8000, rng=1)
    fit = TruncatedScoreMatching(starts=2).fit(x, Mixture(2, covariance), domain=HOUSE, rng=1)
    errors = fit.standard_errors
    assert (np.abs(fit.parameters["means"] - truth.means) < 3.5 * errors["means"]).all()
    if covariance == "full":
        assert (np.abs(fit.parameters["covariances"] - covs) < 3.5 * errors["covariances"]).all()
    else:
        expected = np.sqrt(np.array(covs)[:, [0, 1], [0, 1]])
        assert (np.abs(fit.parameters["scales"] - expected) < 3.5 * errors["scales"]).all()


# collapse


def test_the_objective_falls_without_limit_as_a_component_collapses_on_a_datum():
    x = RNG.uniform(0.2, 0.8, size=(50, 2))
    objective = objective_of(Mixture(2, smallest_scale=1e-5), Sample(x, SQUARE), gs.BoundaryDistance())
    scores = objective.scores
    g = float(gs.BoundaryDistance().evaluate(x[:1], SQUARE)[0][0])
    values = []
    for scale in (1e-2, 1e-3, 1e-4):
        theta = np.concatenate([scores.z[0], [0.0, 0.0], np.log([scale / scores.unit, 1.0]), [0.0]])
        values.append(objective.value_and_gradient(theta)[0])
    assert values[0] > values[1] > values[2]
    # Like −2g·d/(nσ²), which is all that the component sees.
    assert values[2] == pytest.approx(-2 * g * 2 / 50 / 1e-8, rel=1e-3)


def test_with_the_floor_no_fit_diverges_and_the_fit_says_where_the_floor_is():
    model = FAMILY.Truncated(FAMILY.Normal([0.5, 0.5], 0.1), SQUARE)
    reached = 0
    for r in range(9):
        x = model.sample(40, rng=r)
        fit = TruncatedScoreMatching(starts=2).fit(x, Mixture(4), domain=SQUARE, rng=r)
        scales = fit.parameters["scales"]
        assert np.isfinite(fit.theta).all() and np.isfinite(fit.objective)
        low = [name for name in fit.at_bounds if name.startswith("scales") and scales[int(name[7])] < 0.3]
        if low:
            reached += 1
            floor = min(scales[int(name[7])] for name in low)
            assert (scales >= 0.999 * floor).all()
            assert any(f"is at its floor, {floor:.4g}" in note for note in fit.notes)
            assert all(np.isnan(fit.standard_errors["scales"][int(name[7])]) for name in low)
    assert reached > 1
    for covariance in ("diagonal", "full"):
        family = Mixture(3, covariance, smallest_scale=0.08)
        fit = TruncatedScoreMatching(starts=2).fit(model.sample(60, rng=3), family, domain=SQUARE, rng=3)
        scales = fit.parameters.get("scales")
        if scales is None:
            scales = np.sqrt(np.linalg.eigvalsh(fit.parameters["covariances"]))
        assert scales.min() >= 0.08 * (1 - 1e-9)
        assert np.isfinite(fit.theta).all()


def test_ties_raise_the_floor():
    x = RNG.uniform(size=(1000, 2))
    floor = Mixture(2).scores(Sample(x, SQUARE)).floor
    x[:3] = x[0]
    assert Mixture(2).scores(Sample(x, SQUARE)).floor == pytest.approx(floor * 3**0.5, rel=0.1)
    x[:900] = x[0]
    fit = TruncatedScoreMatching(starts=1).fit(x, Mixture(2), domain=SQUARE, rng=0)
    assert np.isfinite(fit.theta).all()


# what a fit is


def test_components_are_ordered_and_the_estimate_moves_with_the_data():
    truth = FAMILY.GaussianMixture([0.3, 0.3, 0.4], [[0.9, 0.2], [0.1, 0.8], [0.5, 0.5]], 0.02)
    x = FAMILY.Truncated(truth, SQUARE).sample(1500, rng=1)
    fit = TruncatedScoreMatching(starts=3).fit(x, Mixture(3), domain=SQUARE, rng=1)
    means = fit.parameters["means"]
    assert (np.diff(means[:, 0]) > 0).all()
    far = gs.Box([5000, 5000], [6000, 6000])
    moved = TruncatedScoreMatching(starts=3).fit(5000 + 1000 * x, Mixture(3), domain=far, rng=1)
    np.testing.assert_allclose((moved.parameters["means"] - 5000) / 1000, means, atol=1e-5)
    np.testing.assert_allclose(moved.parameters["scales"] / 1000, fit.parameters["scales"], atol=1e-5)
    np.testing.assert_allclose(moved.parameters["weights"], fit.parameters["weights"], atol=1e-5)
    np.testing.assert_allclose(moved.standard_errors["means"] / 1000, fit.standard_errors["means"], rtol=1e-3)


def test_distances_to_the_boundary_are_computed_once_whatever_the_number_of_steps(monkeypatch):
    calls = []
    feet = gs.Polygon._feet
    monkeypatch.setattr(gs.Polygon, "_feet", lambda self, x: calls.append(len(x)) or feet(self, x))
    x = FAMILY.Truncated(FAMILY.Normal([0.5, 0.4], 0.1), HOUSE).sample(300, rng=1)
    counts = []
    for starts, steps in ((1, 5), (3, 200)):
        calls.clear()
        TruncatedScoreMatching(starts=starts, max_iterations=steps).fit(x, Mixture(3), domain=HOUSE, rng=1)
        counts.append(calls.count(300))
    assert counts[0] == counts[1] <= 3


def test_the_same_seed_gives_the_same_fit_and_one_start_is_among_many():
    x = FAMILY.Truncated(FAMILY.Normal([0.5, 0.4], 0.1), HOUSE).sample(300, rng=1)
    one, two = (TruncatedScoreMatching(starts=3).fit(x, Mixture(3), domain=HOUSE, rng=5) for _ in range(2))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert len(one.starts) == 3 and one.objective == min(one.starts)
    assert FAMILY.Truncated(FAMILY.Normal([0, 0]), HOUSE).domain == one.model.domain
    np.testing.assert_array_equal(one.refit(x).score(x), one.model.score(x))


def test_means_stay_within_the_margin_and_the_fit_says_so():
    region = gs.Box(0.0, 1.0)
    x = np.sort(np.random.default_rng(1).beta(1, 6, size=400))
    fit = TruncatedScoreMatching().fit(x, Mixture(1, scale=1.0, margin=0.1), domain=region)
    low = x.min() - 0.1 * np.ptp(x)
    assert fit.parameters["means"][0, 0] == pytest.approx(low)
    assert fit.at_bounds == ("means[0, 0]",)
    assert "is at the end of its range" in fit.notes[0]
    assert "At a bound, and so without standard errors: means[0, 0]." in str(fit)


def test_superfluous_components_are_named():
    truth = FAMILY.Truncated(FAMILY.Normal([0.5, 0.5], 0.04), SQUARE)
    x = truth.sample(500, rng=2)
    notes = []
    for r in range(5):
        fit = TruncatedScoreMatching(starts=1).fit(x, Mixture(4, scale=0.2), domain=SQUARE, rng=r)
        light = np.flatnonzero(fit.parameters["weights"] * 500 < 1)
        if light.size:
            notes.append(fit.notes)
            assert any("less than that of one observation" in note for note in fit.notes)
    assert notes


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


def test_on_the_whole_space_a_mixture_is_score_matched_without_weights():
    x = FAMILY.GaussianMixture([0.5, 0.5], [-2.0, 2.0], 1.0).sample(3000, rng=1)
    fit = ScoreMatching(starts=2).fit(x, Mixture(2), rng=1)
    np.testing.assert_allclose(fit.parameters["means"].ravel(), [-2, 2], atol=0.2)
    assert isinstance(fit.model, FAMILY.GaussianMixture)
