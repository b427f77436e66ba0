"""Near-linear tests against dense matrices, the exact test; bad input."""

from __future__ import annotations

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine import schemes, thin
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.engine.thin import thin_forms
from goodstein.families import Dirichlet, Exponential, Ising, Normal, VonMisesFisher
from goodstein.nulls.approximate import Projected, inverse_root
from goodstein.pipeline.compose import compose

PLANE = Normal([0.1, 0.0])
X = Normal([0.0, 0.0]).sample(700, rng=3)
FAST = gs.WildBootstrap(99)
SCHEMES = [
    IndependentSigns(5, 700, 30),
    IndependentSigns(5, 700, 30, 0.1, (0, 300)),
    IndependentSigns(5, 700, 30, 0.0, (0, 100, 250, 530)),
    OrthogonalSigns(5, 700, 30),
]


def dense_signs(scheme):
    """All signs of all draws, (draws, n), by asking for one row at a time."""
    if isinstance(scheme, IndependentSigns):
        return scheme.signs.astype(float)
    order, patterns = scheme.order(), []
    for vector in scheme.signs:
        for row in schemes.hadamard(scheme.blocks):
            signs = np.empty(scheme.n)
            signs[order] = vector * np.repeat(row, np.diff(scheme.edges))
            patterns.append(signs)
    return np.array(patterns[: scheme.count])


@pytest.mark.parametrize("scheme", SCHEMES, ids=["iid", "chain", "batches", "orthogonal"])
@pytest.mark.parametrize("held", [True, False], ids=["held", "streamed"])
def test_draws_of_a_thin_factor_are_quadratic_forms(scheme, held, monkeypatch):
    if not held:
        monkeypatch.setattr(schemes, "MOST_HELD", 0)
        monkeypatch.setattr(thin, "STEP", 256)
    tau = np.random.default_rng(1).standard_normal((700, 4))
    matrix = tau @ tau.T
    np.fill_diagonal(matrix, 0.0)
    statistic, draws = thin_forms(tau.__getitem__, 700, scheme, workers=2)
    signs = dense_signs(scheme)
    assert statistic == pytest.approx(matrix.sum() / (700 * 699), rel=1e-10)
    np.testing.assert_allclose(draws, np.einsum("bi,ij,bj->b", signs, matrix, signs) / (700 * 699), rtol=1e-9)


def test_landmarks_project_the_stein_matrix():
    form = compose(X, PLANE).form
    h = form.matrix()
    chosen = np.array([3, 50, 51, 420, 699])
    expected = h[:, chosen] @ np.linalg.pinv(h[np.ix_(chosen, chosen)]) @ h[chosen]
    rows = Projected(form, chosen, inverse_root(form.take(chosen).matrix()))
    psi = np.concatenate([rows(slice(0, 400)), rows(np.arange(400, 700))])
    np.testing.assert_allclose(psi @ psi.T, expected, atol=1e-10 * np.abs(h).max())
    # Equal landmarks add nothing: the matrix has no inverse and needs none.
    twice = np.append(chosen, 3)
    same = Projected(form, twice, inverse_root(form.take(twice).matrix()))(slice(0, 700))
    np.testing.assert_allclose(same @ same.T, expected, atol=1e-8 * np.abs(h).max())


def test_one_long_feature_does_not_hide_the_others():
    h = np.diag([1e14, 1.0, 2.0, 0.0])
    h[1, 2] = h[2, 1] = 0.5
    root = inverse_root(h)
    np.testing.assert_allclose(h @ root @ root.T @ h, h, rtol=1e-12)
    assert root.shape == (4, 3)


SPINS = Ising(0.2 * (np.ones((3, 3)) - np.eye(3)))
CASES = {
    "plane": (X, PLANE),
    "simplex": (Dirichlet([1.0, 2.0, 2.0]).sample(60, rng=1), Dirichlet([1.0, 2.0, 3.0])),
    "sphere": (VonMisesFisher([0, 0, 1.0], 2.0).sample(60, rng=1), VonMisesFisher([0, 1.0, 0], 2.0)),
    "lattice": (SPINS.sample(60, rng=1), SPINS),
    "durations": (gs.Censored(np.linspace(0.1, 2.0, 50), np.arange(50) % 3 > 0), Exponential(1.0)),
}


@pytest.mark.filterwarnings("ignore::goodstein.CalibrationWarning")
@pytest.mark.parametrize("name", CASES)
def test_all_landmarks_are_the_exact_test(name):
    data, model = CASES[name]
    options = {"null": gs.WildBootstrap(99, signs="iid"), "rng": 1}
    exact = gs.ksd_test(data, model, **options)
    landmarks = gs.ksd_test(data, model, approximate=gs.Nystrom(10_000), **options)
    assert landmarks.pvalue == exact.pvalue
    assert landmarks.statistic == pytest.approx(exact.statistic, rel=1e-6)
    spread = exact.null_distribution.std()
    np.testing.assert_allclose(landmarks.null_distribution, exact.null_distribution, atol=1e-4 * spread)
    assert landmarks.v_statistic == pytest.approx(exact.v_statistic, rel=1e-6)


def test_neither_workers_nor_tiles_count(monkeypatch):
    options = {"null": FAST, "rng": 1, "approximate": gs.Nystrom(30)}
    one = gs.ksd_test(X, PLANE, workers=1, **options)
    monkeypatch.setattr(thin, "STEP", 256)
    two = gs.ksd_test(X, PLANE, workers=2, **options)
    assert one.pvalue == two.pvalue
    assert one.statistic == pytest.approx(two.statistic, rel=1e-10)
    again = gs.ksd_test(X, PLANE, workers=1, **options)
    assert (again.null_distribution == two.null_distribution).all()


def test_landmarks_are_made_for_few_rows_at_a_time(monkeypatch):
    asked = []
    original = Projected.__call__

    def spied(self, index):
        asked.append(index.stop - index.start if isinstance(index, slice) else len(index))
        return original(self, index)

    monkeypatch.setattr(Projected, "__call__", spied)
    x = Normal([0.0, 0.0]).sample(5000, rng=1)
    result = gs.ksd_test(x, PLANE, approximate=gs.Nystrom(), null=FAST, rng=1)
    assert sum(asked) == 5000 and max(asked) <= thin.STEP
    assert result.details["approximation"] == "283 landmarks (Nyström)"
    assert result.title.endswith("approximate") and "283 landmarks" in result.statistic_name
    assert result.pvalue == 0.01


def test_dependent_rows_are_allowed_for():
    steps = np.random.default_rng(4).standard_normal(600)
    x = np.empty(600)
    x[0] = steps[0]
    for i in range(1, 600):
        x[i] = 0.9 * x[i - 1] + np.sqrt(1 - 0.81) * steps[i]
    options = {"approximate": gs.Nystrom(40), "rng": 1}
    with pytest.warns(gs.CalibrationWarning, match="depend on each other"):
        found = gs.ksd_test(x, Normal(0, 1), **options)
    blind = gs.ksd_test(x, Normal(0, 1), null=gs.WildBootstrap(flip=0.5), **options)
    assert np.std(found.null_distribution) > 2 * np.std(blind.null_distribution)
    assert found.pvalue > 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"approximate": 100}, r"`approximate` must be Nystrom\(\) or None, got 100"),
        (
            {"approximate": gs.Nystrom(), "null": gs.MonteCarlo(9)},
            "`null` must be a WildBootstrap where the st",
        ),
        ({"approximate": gs.Nystrom(), "operator": gs.Moments(1)}, "exact test is linear in n already"),
        ({"approximate": gs.Nystrom(), "tolerance": 0.1}, "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(X, PLANE, rng=1, **options)


def test_a_model_that_was_fitted_to_the_data_is_refused():
    with pytest.raises(gs.InputError, match=r"does not take account of a fit.*gs\.split"):
        gs.ksd_test(X, Normal.fit(X), approximate=gs.Nystrom(), rng=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Nystrom(1), "`landmarks` of Nystrom must be an integer of at least 2"),
        (lambda: gs.Nystrom("all"), "`landmarks` of Nystrom"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()
