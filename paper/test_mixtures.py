"""The mixtures that the paper fits, against the definition, and what is found of known truths."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import goodstein as gs
from goodstein.estimate import MinimumStein, ScoreMatching, TruncatedScoreMatching
from goodstein.estimate.base import Sample
from goodstein.estimate.score_matching import MatchingObjective, _weights
from goodstein.numerics.frameworks import Jax
from levels import trials

sys.path.insert(0, str(Path(__file__).parent))
from mixtures import Mixture

sys.path.pop(0)

FAMILY = gs.families
RNG = np.random.default_rng(20_260_716)
SQUARE = gs.Box([0, 0], [1, 1])
HOUSE = gs.Polygon([(0, 0), (1.2, 0), (1.2, 1), (0.6, 0.7), (0, 1)])
POINTS = np.random.default_rng(0).normal(size=(12, 2))


def objective_of(family, sample: Sample, auxiliary) -> MatchingObjective:
    return MatchingObjective(family.scores(sample), *_weights(auxiliary, sample), 1.0)


def log_mixture(x, weights, means, scales):
    """log Σ_c w_c N(x; μ_c, σ_c²I) as it is defined, for JAX."""

    def density(mean, scale):
        return jax.scipy.stats.multivariate_normal.pdf(x, mean, scale**2 * jnp.eye(len(x)))

    return jnp.log(weights @ jax.vmap(density)(means, scales))


def test_objective_and_gradient_against_jax_autodiff():
    x = RNG.normal(size=(12, 3)) * [1.0, 2.0, 0.5] + [5.0, 0.0, -1.0]
    scores = Mixture(3).scores(Sample(x, gs.Box([-20] * 3, [20] * 3)))
    theta = scores.starts(2, np.random.default_rng(1))[1]
    theta = theta + 0.1 * RNG.normal(size=theta.shape)

    with Jax().context():  # double precision

        def row(point, *parameters):
            return jax.grad(log_mixture)(point, *parameters), jax.hessian(log_mixture)(point, *parameters)

        derivatives = jax.jit(jax.vmap(row, (0, None, None, None)))

        def defined(t):
            """Score and its derivatives at each row, from the log density alone."""
            found = scores.parameters(t)
            s, h = derivatives(x, found["weights"], found["means"], found["scales"])
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


def test_ties_raise_the_floor():
    x = RNG.uniform(size=(1000, 2))
    floor = Mixture(2).scores(Sample(x, SQUARE)).floor
    x[:3] = x[0]
    assert Mixture(2).scores(Sample(x, SQUARE)).floor == pytest.approx(floor * 3**0.5, rel=0.1)
    x[:900] = x[0]
    fit = TruncatedScoreMatching(starts=1).fit(x, Mixture(2), domain=SQUARE, rng=0)
    assert np.isfinite(fit.theta).all()


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
    fit = TruncatedScoreMatching().fit(x, Mixture(1, scale=1.0), domain=region)
    low = x.min() - 0.5 * np.ptp(x)
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


def test_on_the_whole_space_a_mixture_is_score_matched_without_weights():
    x = FAMILY.GaussianMixture([0.5, 0.5], [-2.0, 2.0], 1.0).sample(3000, rng=1)
    fit = ScoreMatching(starts=2).fit(x, Mixture(2), rng=1)
    np.testing.assert_allclose(fit.parameters["means"].ravel(), [-2, 2], atol=0.2)
    assert isinstance(fit.model, FAMILY.GaussianMixture)


def test_minimum_stein_of_a_mixture_recovers_it_and_never_goes_below_zero():
    truth = FAMILY.GaussianMixture([0.5, 0.5], [[0.1, 0.2], [0.8, 0.7]], [0.03, 0.03])
    x = FAMILY.Truncated(truth, SQUARE).sample(1000, rng=1)
    fit = MinimumStein(starts=2).fit(x, Mixture(2), domain=SQUARE, rng=1)
    assert fit.objective > 0
    assert (np.abs(fit.parameters["means"] - truth.means) < 3.5 * fit.standard_errors["means"]).all()


def test_bootstrap_of_a_mixture_keeps_its_components_apart():
    truth = FAMILY.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.8, 0.6]], [0.02, 0.02])
    x = FAMILY.Truncated(truth, SQUARE).sample(600, rng=1)
    fit = TruncatedScoreMatching(starts=2).fit(x, Mixture(2), domain=SQUARE, rng=1)
    bootstrap = fit.bootstrap(60, rng=1)
    np.testing.assert_allclose(bootstrap.standard_errors["means"], fit.standard_errors["means"], rtol=0.5)
    text = str(bootstrap)
    assert "means[1, 0]" in text and "60 resamples" in text
    assert ">means[1, 0]</th>" in bootstrap._repr_html_()


def test_a_long_table_is_cut():
    x = np.random.default_rng(1).uniform(size=(400, 2))
    fit = TruncatedScoreMatching(starts=1, max_iterations=2).fit(x, Mixture(8), domain=SQUARE, rng=1)
    assert not fit.converged
    assert "more in .parameters" in str(fit) and "did not converge: raise `max_iterations`" in str(fit)


def test_minimum_stein_influences_are_derivatives_of_the_pairwise_kernel():
    x = POINTS[:12]
    family = Mixture(2, smallest_scale=0.05)
    fit = MinimumStein(kernel=gs.Gaussian(1.0), starts=1, max_iterations=3).fit(x, family, rng=1)
    problem, scores, theta = fit._problem, fit._problem.scores, fit._coordinates

    def rows(t):
        return gs.stein_matrix(x, scores.model(t), kernel=gs.Gaussian(1.0)).mean(axis=1)

    influences = problem.influences(theta)
    value, gradient = problem.value_and_gradient(theta)
    assert value == pytest.approx(rows(theta).mean())
    for j, unit in enumerate(np.eye(len(theta))):
        expected = (rows(theta + 1e-5 * unit) - rows(theta - 1e-5 * unit)) / 2e-5
        np.testing.assert_allclose(influences[:, j], 2 * expected, atol=1e-6)
        assert gradient[j] == pytest.approx(expected.mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("x", "family", "message"),
    [
        (np.repeat([[0.2, 0.3], [0.4, 0.1]], 20, axis=0), Mixture(3), "2 distinct rows are too few for 3"),
        (np.repeat([[0.2, 0.3], [0.4, 0.1]], 20, axis=0), Mixture(2), "coincide with one of 2 points"),
    ],
)
def test_data_without_a_fit_are_refused(x, family, message):
    with pytest.raises(gs.InputError, match=message):
        TruncatedScoreMatching().fit(x, family, domain=SQUARE)
