"""Moves between isolated modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import goodstein as gs
from goodstein.operators.mode_search import find_modes
from goodstein.operators.perturbed import moved
from goodstein.pipeline.compose import compose
from goodstein.tests_of_fit.default_members import default_collection

FAMILY = gs.families
UNLIKE = FAMILY.GaussianMixture([0.6, 0.4], [-4.0, 5.0], [1.0, 0.3])
PLANE = FAMILY.GaussianMixture(
    [0.5, 0.3, 0.2], [[-6, 0], [6, 0], [0, 9]], [np.eye(2), [[2, 1.2], [1.2, 1]], 0.2 * np.eye(2)]
)


def bare(family, **more):
    return gs.Model(logpdf=family.logpdf, domain=family.domain, name="bare", **more)


def lumpy(x):
    """Two modes of different shapes, neither of which is normal: a logistic one, and x⁴ with a slope."""
    return np.logaddexp(st.logistic.logpdf(x[:, 0], -8, 0.5), -((x[:, 0] - 4) ** 4) + 0.4 * x[:, 0])


# --- the move ------------------------------------------------------------------------------------


@pytest.mark.parametrize("logpdf", [UNLIKE.logpdf, lumpy], ids=["unlike", "lumpy"])
def test_the_features_have_mean_zero_by_quadrature(logpdf):
    """E_q τ_j over the line: the move leaves the model as it is, with maps that do not fit it as well."""
    model = gs.Model(logpdf=logpdf, domain=gs.Euclidean(1))
    x = np.linspace(-25, 25, 400_001)[:, None]
    q = np.exp(logpdf(x))
    for starts in ([-4.0, 5.0], [-7.5, 3.9]):
        modes = find_modes(model, gs.Euclidean(1), x[::4000], np.array(starts)[:, None])
        assert len(modes) == 2
        features = moved(modes, model, gs.Euclidean(1), x)
        assert np.abs(q @ features.tau / q.sum()).max() < 2e-5
        assert features.probabilities.min(axis=1).max() > 0.05  # points are moved


def test_detailed_balance_in_the_plane():
    """q(x) P(x → y) dx = q(y) P(y → x) dy at single points, with the Jacobian of the map by differences."""
    model, plane = gs.as_model(PLANE), gs.Euclidean(2)
    modes = find_modes(model, plane, PLANE.sample(100, rng=1))
    assert len(modes) == 3
    x = PLANE.sample(40, rng=2)
    labels = modes.labels(x)
    p = moved(modes, model, plane, x).probabilities
    for i, row in enumerate(labels):
        for j in set(range(3)) - {row}:

            def to(u, a=row, b=j):
                return modes.place(modes.standardised(u)[a], b)

            y = to(x[i : i + 1])
            if modes.labels(y)[0] != j:
                assert p[i, j] == 0
                continue
            jacobian = (to(x[i] + 1e-6 * np.eye(2)) - to(x[i] - 1e-6 * np.eye(2))) / 2e-6
            back = moved(modes, model, plane, y).probabilities[0, row]
            density = np.exp(model.logpdf(np.vstack([x[i], y[0]])))
            there = density[1] * abs(np.linalg.det(jacobian)) * back
            np.testing.assert_allclose(density[0] * p[i, j], there, rtol=1e-6)


def test_two_normal_modes_that_are_alike_leave_a_binomial_test():
    model = FAMILY.GaussianMixture([0.5, 0.5], [-6.0, 6.0], 1.0)
    x = FAMILY.GaussianMixture([0.62, 0.38], [-6.0, 6.0], 1.0).sample(100, rng=3)
    found = gs.ksd_test(x, bare(model), operator=gs.Perturbed(), null=gs.WildBootstrap(9999), rng=1)
    exact = st.binomtest(int((x < 0).sum()), 100, 0.5).pvalue
    assert found.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact / 9999))


def test_labels_drawn_anew_have_the_law_of_the_statistic():
    """Against the statistics of fresh data at the same places z, by the definition of U."""
    rng = np.random.default_rng(1)
    model, line = gs.as_model(UNLIKE), gs.Euclidean(1)
    x = UNLIKE.sample(30, rng=4)
    modes = find_modes(model, line, x)
    features = moved(modes, model, line, x)
    p, w = features.probabilities, features.weights
    values = []
    for _ in range(4000):
        label = (rng.uniform(size=30) < p[:, 1]).astype(int)
        tau = w * (np.eye(2)[label] - p)
        h = tau @ tau.T
        values.append((h.sum() - np.trace(h)) / (30 * 29))
    drawn = features.form(None).redrawn(4000, np.random.default_rng(2))
    assert st.ks_2samp(np.round(values, 9), np.round(drawn, 9)).pvalue > 1e-3


SETTINGS = [
    pytest.param(UNLIKE, True, id="line, draws"),
    pytest.param(UNLIKE, False, id="line"),
    pytest.param(PLANE, True, id="plane, draws", marks=pytest.mark.slow),
    pytest.param(PLANE, False, id="plane", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("law", "sampler"), SETTINGS)
def test_the_level_is_kept(law, sampler):
    model = bare(law, score=law.score, **({"sample": law.sample} if sampler else {}))
    null = gs.WildBootstrap(199)
    found = [
        gs.ksd_test(law.sample(60, rng=s), model, operator=gs.Perturbed(), null=null, rng=s).pvalue
        for s in range(100)
    ]
    assert np.sum(np.array(found) <= 0.05) <= 13  # Binomial(100, .05) exceeds 13 with probability 4e-4


@pytest.mark.parametrize("law", [UNLIKE, PLANE], ids=["line", "plane"])
def test_wrong_shares_are_seen(law):
    x = FAMILY.GaussianMixture(np.roll(law.weights, 1), law.means, law.covs).sample(150, rng=1)
    assert gs.ksd_test(x, bare(law), operator=gs.Perturbed(), rng=1).pvalue <= 0.01
    assert gs.ksd_test(x, bare(law), rng=1).pvalue > 0.05


def test_a_mode_that_is_missing_among_the_data_is_found():
    x = FAMILY.Normal([-6.0, 0.0]).sample(100, rng=1)
    result = gs.ksd_test(x, bare(PLANE), operator=gs.Perturbed(), rng=1)
    assert result.pvalue <= 0.01
    assert "3 modes" in " ".join(check.message for check in result.audit.checks)


def test_simulated_samples_are_moved_between_the_same_modes():
    x = UNLIKE.sample(80, rng=1)
    operator = gs.Perturbed()
    assert gs.ksd_test(x, UNLIKE, operator=operator, null=gs.MonteCarlo(99), rng=1).pvalue > 0.05
    model = gs.as_model(UNLIKE)
    assert operator.found(model, model.domain, x) is operator.found(model, model.domain, x[:5])


def test_rows_that_depend_on_each_other_have_signs():
    """A chain that changes its mode rarely: labels drawn anew would reject it."""
    rng = np.random.default_rng(1)
    label = np.cumsum(rng.uniform(size=600) < 0.05) % 2
    x = np.where(label, -5.0, 5.0) + rng.standard_normal(600)
    model = bare(FAMILY.GaussianMixture([0.5, 0.5], [-5.0, 5.0], 1.0))
    with pytest.warns(gs.CalibrationWarning, match="depend on each other"):
        dependent = gs.ksd_test(x, model, operator=gs.Perturbed(), rng=1)
    assert dependent.pvalue > 0.01


@pytest.mark.parametrize(
    ("family", "count"),
    [
        (FAMILY.Normal([0.0, 0.0]), 0),
        (FAMILY.StudentT(2.0, [0.0, 0.0]), 0),
        (FAMILY.GaussianMixture([0.5, 0.5], [-1.5, 1.5], 1.0), 0),
        (FAMILY.GaussianMixture([0.5, 0.5], [[-6.0] * 5, [6.0] * 5], [1.0, 0.2]), 2),
        (FAMILY.GaussianMixture([0.5, 0.5], [[-5e3, 0.0], [5e3, 0.0]], np.diag([1e6, 1e-4])), 2),
    ],
    ids=["normal", "student", "one piece", "five dimensions", "units"],
)
def test_modes_that_lie_apart_are_found_and_no_others(family, count):
    for model in (gs.as_model(family), gs.as_model(bare(family))):
        modes = find_modes(model, family.domain, family.sample(120, rng=1))
        assert len(modes) == count
        if count:
            order = np.argsort(modes.centres[:, 0])
            np.testing.assert_allclose(modes.centres[order], family.means, rtol=1e-3, atol=1e-3)
            covs = modes.factors @ modes.factors.transpose(0, 2, 1)
            np.testing.assert_allclose(covs[order], family.covs, rtol=1e-2, atol=1e-6)
            np.testing.assert_allclose(modes.shares, 0.5, atol=0.01)


def test_ridges_are_no_modes():
    rng = np.random.default_rng(1)
    ring = gs.Model(logpdf=lambda x: -0.5 * ((np.sqrt((x**2).sum(axis=1)) - 5) / 0.3) ** 2, name="ring")
    angle, radius = rng.uniform(0, 2 * np.pi, 300), 5 + 0.3 * rng.standard_normal(300)
    around = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    banana = gs.Model(
        logpdf=lambda x: -(x[:, 0] ** 2) / 18 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.2) ** 2, name="banana"
    )
    a = 3 * rng.standard_normal(300)
    bent = np.column_stack([a, a**2 + 0.2 * rng.standard_normal(300)])
    for model, x in ((ring, around), (banana, bent)):
        assert len(find_modes(model, gs.Euclidean(2), x)) == 0


def test_in_a_box_points_do_not_leave_it():
    box = gs.Box(0.0, 1.0)
    model = FAMILY.Truncated(FAMILY.GaussianMixture([0.5, 0.5], [0.1, 0.8], [0.0025, 0.0016]), box)
    x = np.linspace(0, 1, 200_001)[1:-1, None]
    wrapped = gs.as_model(model)
    modes = find_modes(wrapped, box, model.sample(100, rng=1))
    features = moved(modes, wrapped, box, x)
    q = np.exp(model.logpdf(x))
    assert len(modes) == 2 and np.abs(q @ features.tau / q.sum()).max() < 5e-5


def test_what_cannot_be_moved_is_refused():
    x = UNLIKE.sample(50, rng=1)
    with pytest.raises(gs.InputError, match="has only a score"):
        gs.ksd_test(x, UNLIKE.score, operator=gs.Perturbed(), rng=1)
    with pytest.raises(gs.SteinIdentityError, match="No two modes"):
        gs.ksd_test(x, FAMILY.Normal(0.0, 9.0), operator=gs.Perturbed(), rng=1)
    with pytest.raises(gs.InputError, match="at least two points"):
        gs.Perturbed([1.0])
    with pytest.raises(gs.InputError, match="takes no kernel"):
        gs.ksd_test(x, UNLIKE, operator=gs.Perturbed(), kernel=gs.IMQ(), rng=1)
    with pytest.raises(gs.InputError, match="1 coordinates"):
        gs.ksd_test(x, UNLIKE, operator=gs.Perturbed([[0, 0], [1, 1]]), rng=1)
    with pytest.raises(gs.InputError, match="full-dimensional"):
        gs.ksd_test(np.full((5, 3), 1 / 3), FAMILY.Dirichlet([1, 1, 1]), operator=gs.Perturbed(), rng=1)


def test_a_collection_asks_for_moves_where_modes_lie_apart():
    problem = compose(UNLIKE.sample(80, rng=1), bare(UNLIKE))
    (member,) = default_collection(problem)["modes"]
    assert isinstance(member.operator, gs.Perturbed)
    assert len(member.operator.found(problem.model, problem.domain, problem.observations)) == 2
    assert "modes" not in default_collection(compose(UNLIKE.sample(80, rng=1), UNLIKE.score))
    assert "modes" not in default_collection(compose(FAMILY.Normal().sample(80, rng=1), FAMILY.Normal()))
    x = FAMILY.GaussianMixture([0.3, 0.7], UNLIKE.means, UNLIKE.covs).sample(100, rng=1)
    both = gs.aggregated_test(x, bare(UNLIKE), operators=[gs.Langevin(), gs.Perturbed()], rng=1)
    assert both.pvalue <= 0.01 and isinstance(both.operator, gs.Perturbed)
